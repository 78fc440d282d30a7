"""The arguments that estimators have beside those of their trees, declared once."""

from typing import Any

from .._base.declare import BOOL, argument, between, choice, declared, matching, or_else
from .._features.text import CHOICES
from .._grow.parameters import TreeArguments
from .._losses import REGRESSION_LOSSES
from .._losses.aft import DISTRIBUTIONS
from .._losses.own import is_own
from .._model.columns import DTYPES

FOR_TESTS = "torch:cpu"  # a device: the GPU's code on the CPU, slowly
LEAF_POOL = tuple(range(5, 16))  # the paper's


@declared
class TableArguments:
    """How BoostTree and BoostForest read a table, and how they keep what they have learned."""

    scale: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        Divide {scaled} by their standard deviation, after subtracting their mean, so that `reg_lambda` means the same
        in any units.{predicted}""",
    )
    categorical_features: Any = argument(
        default="from_dtype",
        doc=""""from_dtype", list of str, int or bool, or None
        Which columns are categories: their names, their numbers, or a mask. "from_dtype": the columns of a frame that
        hold text (but for what `text` says) or have a categorical type, none of an array. None: none. Unknown
        categories at predict count as missing.""",
    )
    max_one_hot: int | None = argument(
        default=3,
        doc="""int or None
        A category of up to that many levels becomes a feature of 0 and 1 for each of them. One of more levels is
        replaced by the mean of the target, all other columns being equal{outputs}; in training that of other folds, so
        that no row sees its own. None: always a feature for each level.""",
    )
    text: str = argument(
        default="drop",
        rule=choice(dict.fromkeys(CHOICES, 0)),
        doc="""{"drop", "hash", "category"}
        What becomes of a column of a frame that holds free text (nearly all values different, several words) and is not
        named in `categorical_features`: it is left out, with a warning that names it; its words become 64 features by
        hashing; or it is a category. Identifiers, text that is different in every row, are left out too, unless it is
        "category".""",
    )
    missing_fill: Any = argument(
        default="linear",
        doc="""{"linear", "mean"}
        What node models take for a missing value: what the other values of the row make likely, by linear regression on
        them, or the mean. The splits learn the side where missing values go. "linear" is "mean" if the training table
        has no missing value or more than 256 features.""",
    )
    missing_indicator: Any = argument(
        default="auto",
        doc="""{"auto", True, False}
        Whether a column of numbers with missing values brings a second feature, 1 where they are. "auto": if the others
        are all the same. Missing categories always are a level of their own.""",
    )
    split_features: Any = argument(
        default=None,
        doc="""sequence of str, int or bool
        Columns that may be split on: their names, their numbers, or a mask. None: all. `max_features` counts among the
        features that may be split on.""",
    )
    model_features: Any = argument(
        default=None,
        doc="""sequence of str, int or bool
        Columns that enter the node models, likewise. Without any, nodes are constants.""",
    )
    monotonic_cst: Any = argument(
        default=None,
        doc="""sequence of int, dict of str to int or None
        1: predictions must not fall where the column rises, all others equal; -1: they must not rise; 0: free. One
        value per column, or a dict from names of columns.{constrained} Missing values are outside of the order. Needs
        ridge or constant nodes.""",
    )
    interaction_cst: Any = argument(
        default=None,
        doc="""{"pairwise", "no_interactions"}, sequence of sets of str or int, or None
        Which columns may act together: a tree's score is then a sum of functions, each of the columns of one set, by
        their names or numbers. Columns in no set are one together. "no_interactions" is a set for each column,
        "pairwise" one for each two. With it nodes are not clipped, and missing values count as the mean in node models.
        Needs ridge, constant or SVR nodes, and goes without `monotonic_cst`.""",
    )
    random_state: Any = argument(
        default=None,
        doc="""int, RandomState instance, Generator or None
        Seed. The same seed gives the same trees, for any number of threads.""",
    )
    dtype: Any = argument(
        default="float64",
        rule=choice(dict.fromkeys((*DTYPES, "auto"), 0)),
        doc="""{"float64", "float32", "float16", "int8", "auto"}
        Type of the coefficients of a fitted model in memory. They are computed in float64 and rounded once, when a node
        is finished; thresholds are not. With 20 features float32 takes 0.57 and float16 0.35 of the memory; predictions
        moved by up to 1e-7 and 2e-3 standard deviations of the target on small tables. "int8" takes 0.25: whole numbers
        in units that a tree's models share, larger ones for the few that need them; there thresholds have as few digits
        as part the training rows alike, `loss` and `gain` of the nodes two. Losses changed by up to a thousandth.
        "auto": the smallest of them whose out-of-bag loss is within a thousandth of float64's (without out-of-bag rows:
        that moves predictions of the training rows by less than a thousandth of their standard deviation); figures out
        of bag are those before rounding.""",
    )


@declared
class LossArguments:
    """What regressors may minimise."""

    loss: Any = argument(
        default="squared_error",
        rule=or_else(choice(dict.fromkeys(REGRESSION_LOSSES, 0)), "a function", is_own),
        doc="""{"squared_error", "huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie", "aft"}, function
        What trees minimise. "huber" and "absolute_error" bound what a far-off target counts; "quantile" predicts the
        `quantile` of the target instead of its mean. Three are deviances: "poisson" of counts, or other targets that
        are not negative, "gamma" of targets above 0 whose standard deviation goes with the mean, "tweedie" of targets
        with zeros between these. Node models are then on a log scale, where they start from the mean of the target, and
        a forest averages the predictions of its trees: all are positive. "aft" is for times until an event, some of
        them censored: `y` has two columns, time and event (1: seen), or is a structured array of both, and the median
        time is predicted. A function of your own, of a target and scores, returns first and second derivatives by the
        scores; a ``scipy.LowLevelCallable`` does so compiled. Scores are predicted as they are; presets then have a
        single stage.""",
    )
    quantile: float = argument(
        default=0.5,
        rule=between(0, 1),
        doc="""float
        With `loss="quantile"`: which quantile to predict, above 0 and below 1.""",
    )
    power: float = argument(
        default=1.5,
        rule=between(1, 2),
        doc="""float
        With `loss="tweedie"`: the power of the mean that the variance goes with, above 1 and below 2.""",
    )
    distribution: str = argument(
        default="normal",
        rule=choice(dict.fromkeys(DISTRIBUTIONS, 0)),
        doc="""{"normal", "logistic", "extreme_value"}
        With `loss="aft"`: the distribution of the noise of log times (of times: log-normal, log-logistic, Weibull).""",
    )


@declared
class ClassArguments:
    """What classifiers have beside."""

    class_weight: Any = argument(
        default=None,
        doc="""dict, "balanced"{or_balanced} or None
        Weights of the classes; they multiply `sample_weight`{but_weights}""",
    )


@declared
class BaggingArguments:
    """Those of all forests."""

    n_estimators: Any = argument(
        default=250,
        kw_only=False,
        doc="""int
        Number of {members}.""",
    )
    bootstrap: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        {grow} rows drawn with replacement; otherwise {to} all rows.""",
    )
    max_samples: Any = argument(
        default=None,
        doc="""int, float or None
        Rows to draw for each {member}: their number, or a share of the rows, whatever they weigh. None: as many as
        there are.""",
    )
    oob_score: Any = argument(
        default=False,
        doc="""bool, str or callable
        Estimate the score from the rows that each {member} has not drawn: {score}, one of scikit-learn's scorers by its
        name ("neg_log_loss", "roc_auc", …) or made by `make_scorer`, or `metric(y_true, y_pred)`. Metrics that call
        their second argument `y_score` or `y_proba`, and `log_loss`, get probabilities. Rows count their
        `sample_weight`, if the metric takes weights; rows of weight 0 never count.""",
    )
    warm_start: bool = argument(
        default=False,
        rule=BOOL,
        doc="""bool
        Keep the {members} of the last fit and add to them up to `n_estimators`.""",
    )
    n_jobs: int | None = argument(
        default=None,
        doc="""int or None
        {jobs}""",
    )
    random_state: Any = argument(
        default=None,
        doc="""int, RandomState instance, Generator or None
        Seed. The same seed gives the same {members}, for any `n_jobs`.""",
    )
    verbose: int = argument(
        default=0,
        doc="""int
        Above 0: draw a progress bar on standard error.""",
    )


@declared
class ForestArguments(BaggingArguments, TreeArguments):
    """Those of BoostForest."""

    min_samples_leaf: Any = argument(default=LEAF_POOL)
    reg_lambda: Any = argument(default=(1e-4, 1e-3, 1e-2, 1e-1, 1.0))

    n_estimators: int | str = argument(
        default=250,
        kw_only=False,
        doc="""int or "auto"
        Number of trees. "auto": as many as it takes until more of them could lower the out-of-bag error by half a
        percent at the most. With `pool="adaptive"` or several stages it is the number of trees that are grown; those
        that were only tried are not kept. `preset="best"` then grows up to twice as many, in regression from 300 rows
        on 1.4 times, from 8,000 rows on 1.05 times as many (120 at least); with more than five classes and more
        than 25,000 rows times classes fewer, down to 65, in a single stage (of wide tables twice as many).{fewer}""",
    )
    preset: str = argument(
        default="best",
        doc="""{"best", "fast", "paper"}
        What `n_stages`, `pool`, `boost`{and_calibrate} stand for where they are None. "best": several stages, an
        adaptive pool and boosted trees{calibrated}, all decided out of bag. "fast": {fast}. "paper": the forest of the
        paper. In wide tables of many rows or classes the trees of "best" and "fast" see a part of the features each
        (`Ridge(max_features=...)`). Parts that the other arguments exclude are left out without a word: all of them
        without bootstrap and with `warm_start`; stages, adaptive pool and boosted trees with fewer than 40 trees and
        with node models in Python; boosted trees with `monotonic_cst`. Only what is asked for by its own name and
        cannot be had is an error. `stages_`, `pool_report_` and `calibration_` tell what the forest has got.""",
    )
    dtype: Any = argument(
        default=None,
        rule=choice(dict.fromkeys((*DTYPES, "auto"), 0), none=True),
        doc="""{"float64", "float32", "float16", "int8", "auto"} or None
        Type of the coefficients of a fitted model in memory and in files. They are computed in float64 and rounded at
        the end. "int8": whole numbers in units that a tree's models share, larger ones for the few that need them; with
        20 features it takes 0.25 of the memory, float16 0.35, float32 0.57. "auto": the smallest of them whose
        out-of-bag loss is within a thousandth of float64's (without out-of-bag rows: that moves predictions of the
        training rows by less than a thousandth of their standard deviation), in units as large as that allows; figures
        out of bag are those before rounding. With "int8" and "auto" thresholds have as few digits as part the training
        rows alike, and with "int8" `loss` and `gain` of the nodes two. None: "float64" with `preset="paper"`, with
        `warm_start` and with `interaction_cst`, otherwise "auto".""",
    )
    n_stages: int | str | None = argument(
        default=None,
        doc="""int, "auto" or None
        Stages of the forest. Each one is a forest that starts from the out-of-bag predictions of those before it and
        corrects what they leave over; its share, from 0 to 1, is what lowers the out-of-bag loss most. The first stage
        has half of the trees. "auto": up to three, while the out-of-bag loss falls; in regression all of them are then
        multiplied by the factor, near 1, that is best out of bag. None: as the preset has it.""",
    )
    pool: str | None = argument(
        default=None,
        doc="""{"uniform", "adaptive"} or None
        "uniform": every tree draws its parameters from the pools as they are given. "adaptive": small groups of trees
        try other leaf sizes, penalties, numbers of thresholds, shares of features and node models; their out-of-bag
        losses decide how the rest is grown. Parameters that are not at their defaults stay as they are. None: as the
        preset has it.""",
    )
    device: str = argument(
        default="cpu",
        rule=matching("'cpu', 'cuda', 'cuda:0', 'cuda:1', … or 'auto'", rf"cpu|auto|cuda(:\d+)?|{FOR_TESTS}"),
        doc="""{"cpu", "cuda", "cuda:0", …, "auto"}
        Where trees are grown and evaluated. "cuda": on a GPU, with PyTorch (`pip install "boostforest[torch]"`); the
        draws are the same, so that the trees are those of the CPU up to rounding, and the same GPU gives the same
        forest every time. A GPU grows ridge and constant trees{gpu_losses}, without `monotonic_cst`, `interaction_cst`
        and `max_leaf_nodes`; whatever else a preset tries, and boosted trees, are grown on the CPU. "auto": on a GPU,
        if there is one, where that is faster. A fitted model predicts on the CPU where there is no GPU.""",
    )
    boost: bool | None = argument(
        default=None,
        doc="""bool or None
        Whether bags of boosted trees may join the forest, beside it or on top of it, with weights that are best out of
        bag; what does not lower the out-of-bag loss is left out. They come on top of `n_estimators`. Left out, too,
        in tables of fewer than 150 rows, or of more than 3,000,000 rows × features (× classes, if more than
        two){other_losses}. Not with `monotonic_cst`. None: as the preset has it.""",
    )
