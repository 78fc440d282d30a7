"""Docstrings of parameters that several classes share, written once."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_TREE = """\
node_model : {{"ridge", "constant", "elm", "svr"}}, object of `boostforest.nodes` or regressor, default="ridge"
    What sits at the nodes: a ridge regression on all features, a constant, an extreme learning machine (a ridge
    regression on random hidden units), a linear support vector regression, or any regressor with `fit` and `predict`.
    {shorthands}
criterion : {criteria}, default="xgb"
    What a split maximises: the boosting gain, or {label_criteria}.
min_samples_leaf : int, default={min_samples_leaf}
    Rows that each side of a split must have (weights count, see `fit`).
reg_lambda : float, default={reg_lambda}
    Penalty λ on the squared slopes of the ridge and ELM models, unless they have one of their own, and in the gain.
max_leaf_nodes : int, default=None
    Leaves that a tree may have. The leaf of the highest loss is split first. None: no limit.
max_depth : int, default=None
    Splits between the root and a leaf at the most. None: no limit.
max_features : int, float, {{"sqrt", "log2"}} or None, default=1.0
    Features that are tried at a node: their number or share. More are tried only while none has a valid split.
n_cuts : int, default=1
    Random thresholds that are tried per feature.
batch_size : int, default=1000
    A node with more rows is split, and its models are fitted, on that many random ones. None: always on all.
"""

_LOSS = """\
loss : {{"squared_error", "poisson"}}, default="squared_error"
    What trees minimise. "poisson": the deviance of counts, or of other targets that are not negative. Node models are
    then on a log scale, where they start from the mean of the target, and a forest averages the predictions of its
    trees: all are positive.
"""

_CLIP = """\
clip : bool, default=True
    Keep the output of each node's model within the range of what it was fitted to.
"""

_SCALE = {
    "regression": """\
scale : bool, default=True
    Divide features and target by their standard deviation, after subtracting their mean, so that `reg_lambda` means the
    same in any units. Predictions are in the units of the data either way. (`loss="poisson"` divides the target by its
    mean.)
""",
    "classification": """\
scale : bool, default=True
    Divide the features by their standard deviation, after subtracting their mean, so that `reg_lambda` means the same
    in any units.
""",
}

_TABLE = """\
categorical_features : "from_dtype", list of str, int or bool, or None, default="from_dtype"
    Which columns are categories: their names, their numbers, or a mask. "from_dtype": the columns of a frame that hold
    text or have a categorical type, none of an array. None: none. Unknown categories at predict count as missing.
max_one_hot : int or None, default=3
    A category of up to that many levels becomes a feature of 0 and 1 for each of them. One of more levels is replaced
    by the mean of the target over its rows{outputs}; in training over rows of other folds, so that no row sees its own.
    None: always a feature for each level.
missing_fill : {{"linear", "mean"}}, default="linear"
    What node models take for a missing value: what the other values of the row make likely, by linear regression on
    them, or the mean. The splits learn the side where missing values go. "linear" is "mean" if the training table has
    no missing value or more than 256 features.
missing_indicator : {{"auto", True, False}}, default="auto"
    Whether a column of numbers with missing values brings a second feature, 1 where they are. "auto": if the others
    are all the same. Missing categories always are a level of their own.
"""

_ROLES = """\
split_features, model_features : sequence of str, int or bool, default=None
    Columns that may be split on, and columns that enter the node models: their names, their numbers, or a mask. None:
    all. `max_features` counts among the features that may be split on. Without any model column, nodes are constants.
monotonic_cst : sequence of int, dict of str to int or None, default=None
    1: predictions must not fall where the column rises, all others equal; -1: they must not rise; 0: free. One value
    per column, or a dict from names of columns.{which} Missing values are outside of the order. Needs ridge or constant
    nodes.
"""

_MONOTONE_OUTPUT = {
    "regression": "",
    "classification": " For two classes, on the probability of the second; not for more.",
}

_CLASS_WEIGHT = """\
class_weight : dict, "balanced"{more} or None, default=None
    Weights of the classes; they multiply `sample_weight`, except in out-of-bag scores, intervals and sets.{note}
"""

_RANDOM_STATE = """\
random_state : int, RandomState instance, Generator or None, default=None
    Seed. The same seed gives the same trees, for any number of threads.
"""

_FOREST_HEAD = """\
n_estimators : int or "auto", default=250
    Number of trees. "auto": as many as it takes until more of them could lower the out-of-bag error by half a percent
    at the most. With `pool="adaptive"` or several stages it is the number of trees that are grown; those that were only
    tried are not kept. `preset="best"` grows up to twice as many.
"""

_FOREST_TAIL = """\
bootstrap : bool, default=True
    Grow each tree on rows drawn with replacement; otherwise on all rows.
max_samples : int, float or None, default=None
    Rows to draw for each tree: their number, or a share of the rows, whatever they weigh. None: as many as there are.
oob_score : bool, str or callable, default=False
    Estimate the score from the rows that each tree has not drawn: {score}, one of scikit-learn's scorers by its
    name ("neg_log_loss", "roc_auc", …) or made by `make_scorer`, or `metric(y_true, y_pred)`. Metrics that call their
    second argument `y_score` or `y_proba`, and `log_loss`, get probabilities. Rows count their `sample_weight`, if the
    metric takes weights; rows of weight 0 never count.
"""

_FOREST_END = """\
warm_start : bool, default=False
    Keep the trees of the last fit and add to them up to `n_estimators`.
n_jobs : int or None, default=None
    Threads to use, or processes where the node model is in Python; None is 1 unless a joblib context says otherwise,
    -1 all.
"""

_VERBOSE = """\
verbose : int, default=0
    Above 0: draw a progress bar on standard error.
"""

_BEYOND = """\
preset : {{"paper", "best"}}, default="paper"
    What `n_stages`, `pool`{and_calibrate} stand for where they are None. "paper": the forest of the paper. "best":
    several stages and an adaptive pool{calibrated}, all decided out of bag; about 2.5 times the time of a fit.
n_stages : int, "auto" or None, default=None
    Stages of the forest. Each one is a forest that starts from the out-of-bag predictions of those before it and
    corrects what they leave over; its share, from 0 to 1, is what lowers the out-of-bag loss most. The first stage has
    half of the trees. "auto": up to three, while the out-of-bag loss falls. None: as the preset has it (1, "auto").
pool : {{"uniform", "adaptive"}} or None, default=None
    "uniform": every tree draws its parameters from the pools as they are given. "adaptive": small groups of trees try
    other leaf sizes, penalties, numbers of thresholds, shares of features and node models; their out-of-bag losses
    decide how the rest is grown. Parameters that are not at their defaults stay as they are. None: as the preset has
    it.
"""

_CALIBRATE = """\
calibrate : {{False, "temperature", "isotonic", "auto"}} or None, default=None
    Calibrate probabilities by what was seen out of bag: all log-odds times one factor, or a rising step function
    per class; "auto" is the factor. None: as the preset has it (False, "auto").
"""

_DTYPE = """\
dtype : {"float64", "float32", "float16"}, default="float64"
    Type of the coefficients of a fitted model in memory. They are computed in float64 and rounded once, when a node is
    finished; thresholds are not. With 20 features float32 takes 0.57 and float16 0.35 of the memory; predictions moved
    by up to 1e-7 and 2e-3 standard deviations of the target on small tables.
"""

_ATTRIBUTES = """\
n_features_in_ : int
    Number of columns of the training table.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, if the training table had any.
is_categorical_ : ndarray of shape (n_features_in_,) or None
    Which columns are categories; None if none is.
encoder_ : TableEncoder or None
    How columns became features: `encoder_.columns` has the levels, `encoder_.origin` the number of the column that each
    feature comes from. None: every column is a feature.
fill_ : ndarray of shape (1 + n_features, n_features) or None
    Centre and precision of a normal distribution of the scaled features, by which missing values are filled; None: with
    the mean.
forest_ : ForestColumns
    The fitted tree or trees as flat arrays.
tree_params_ : list of dict
    The parameters that each tree has drawn.
tree_seeds_ : ndarray of shape (n_trees,)
    Seed of each tree.
feature_importances_ : ndarray of shape (n_features_in_,)
    Share of each column in the gain of a tree, mean over the trees.
slope_importances_ : ndarray of shape (n_features_in_,)
    Mean slope over the training rows times the column's standard deviation: what one standard deviation adds to the
    prediction, or to its logarithm where the loss has a log link. Without a sign for more than two classes and for
    categories of several features.
n_nodes_, n_leaves_ : ndarray of shape (n_trees,)
    Nodes and leaves of each tree.
model_size_ : int
    Bytes of the fitted model.
"""

_TARGET_ATTRIBUTES = {
    "regression": "",
    "classification": """\
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_classes_ : int
    Number of classes.
""",
}

_STAGE_ATTRIBUTES = """\
n_stages_ : int
    Stages that the forest has.
steps_ : ndarray of shape (n_stages_,)
    What each stage counts; 1 for the first.
stages_ : Stages
    `stages_.ends` has the number of trees up to the end of each stage.
oob_losses_ : ndarray of shape (n_stages_,)
    Mean out-of-bag loss after each stage (squared error in units of the target's standard deviation, log-loss, or the
    deviance of counts over their mean), unless the forest is the paper's.
pool_report_ : list of dict
    What an adaptive pool has tried: the round, the settings, the out-of-bag loss and its change against the first
    settings, and the share of the forest's trees that they have got. `split_features` are numbers of features there,
    which are those of the columns unless some have categories. `plot_pool` draws it.
calibration_ : Calibration
    `calibration_.factor` multiplies the scores; 1 without calibration.
"""

_OOB_ATTRIBUTES = {
    "regression": """\
oob_score_ : float
    Out-of-bag score, with `oob_score`.
oob_prediction_ : ndarray of shape (n_samples,)
    Out-of-bag prediction of every training row, NaN for a row that every tree has drawn; with `oob_score`.
""",
    "classification": """\
oob_score_ : float
    Out-of-bag score, with `oob_score`.
oob_decision_function_ : ndarray of shape (n_samples, n_classes)
    Out-of-bag probabilities of every training row, NaN for a row that every tree has drawn; with `oob_score`.
""",
}

_NOTE = """\
Any of the tree's parameters (`node_model` to {last}) may also be a pool: a sequence of values, or a distribution with
an `rvs` method as in `scipy.stats`. Every tree draws its own value.
"""


def describe(task: str, forest: bool) -> Callable[[Class], Class]:
    """Fill ``{parameters}``, ``{attributes}`` and ``{pools}`` in the docstring of an estimator."""
    regression = task == "regression"
    tree = _TREE.format(
        criteria='{"xgb", "mse"}' if regression else '{"xgb", "gini", "c45"}',
        label_criteria="the decrease of the labels' squared error"
        if regression
        else "the labels' Gini decrease, or C4.5's gain ratio",
        shorthands='"elm" and "svr" draw their parameters from the pools of the paper.'
        if forest
        else '"elm" and "svr" have the defaults of their objects, in forests the pools of the paper.',
        min_samples_leaf="(5, 6, …, 15)" if forest else "10",
        reg_lambda="(1e-4, 1e-3, 1e-2, 1e-1, 1)" if forest else "0.1",
    )
    tree += _CLIP if regression else ""
    class_weight = _CLASS_WEIGHT.format(
        more=', "balanced_subsample"' if forest else "",
        note=' "balanced_subsample" balances within each drawn replica.' if forest else "",
    )
    parameters = [
        _FOREST_HEAD if forest else "",
        _LOSS.format() if regression else "",
        tree,
        _SCALE[task],
        _TABLE.format(outputs="" if regression else ", per class"),
        _ROLES.format(which=_MONOTONE_OUTPUT[task]),
        _FOREST_TAIL.format(score="R²" if regression else "the accuracy") if forest else "",
        "" if regression else class_weight,
        _FOREST_END if forest else "",
        _RANDOM_STATE,
        _VERBOSE if forest else "",
        _BEYOND.format(
            and_calibrate="" if regression else " and `calibrate`",
            calibrated="" if regression else ", calibrated probabilities",
        )
        if forest
        else "",
        _CALIBRATE.format() if forest and not regression else "",
        _DTYPE,
    ]
    attributes = _TARGET_ATTRIBUTES[task] + _ATTRIBUTES
    attributes += _STAGE_ATTRIBUTES + _OOB_ATTRIBUTES[task] if forest else ""
    blocks = {
        "parameters": "".join(parameters),
        "attributes": attributes,
        "pools": _NOTE.format(last="`clip`" if regression else "`batch_size`"),
    }
    return fill_docstring(blocks)


def fill_docstring(blocks: dict[str, str]) -> Callable[[Class], Class]:
    """Put blocks of text where a docstring has their names in braces on a line of their own."""

    def fill(cls: Class) -> Class:
        doc = cls.__doc__ or ""
        for name, block in blocks.items():
            doc = doc.replace(f"    {{{name}}}\n", textwrap.indent(block, "    "))
        cls.__doc__ = doc
        return cls

    return fill
