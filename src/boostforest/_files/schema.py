"""All that a model file holds: the one list that writes, reads, checks and documents it.

To add something to the format: a :class:`Field` here, and its two directions in ``codec``. ``docs/dev/format.md`` shows
the lists as tables, and a test compares them.
"""

from .field import (
    ALWAYS,
    ASCENDING,
    BIT,
    CALENDAR_ORIGIN,
    CALENDAR_PARTS,
    CLIP_RANGE,
    COLUMN_KINDS,
    DRAWS,
    ENTROPY,
    FACTOR,
    FEW_FEATURES,
    FILL,
    FINITE,
    IS_NULL_OR_NUMBER,
    IS_OBJECT,
    LEVEL_END,
    LOSS,
    NO_REGRESSOR,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    SOME_TREES,
    SPARSE_CHOSEN,
    SPLIT_FEATURES,
    STAGE_END,
    STAGE_STEP,
    STAGE_UNITS,
    TARGET,
    TARGET_END,
    TWO_ROWS,
    WEIGHTS,
    Field,
    Schema,
    When,
    check_basis,
    check_classes,
    check_columns,
    check_knots,
    check_levels,
    check_names,
    check_sparse,
    check_sums,
    check_weights_of_rows,
    starts,
)

# -------------------------------------------------------------------------------------------------------- the tensors

_REGRESSORS = When("regressors", optional=False, task="regression")
_CLASSIFIERS = When("classifiers", optional=False, task="classification")
_HIDDEN = When("with a hidden layer")
_NETWORKS = When("with networks")
_STAGES = When("several stages, or a step other than 1", forests=True)
_STAGES_WITH_UNITS = When(
    "with boosted stages, a first step other than 1 or one above 1", forests=True, needs="stage_end"
)
_KNOTS = When("calibrated by a line", task="classification", forests=True)
_LEFT_OUT = When("with intervals", task="regression", forests=True)
_LOCAL = When("with intervals of local width", task="regression", forests=True, needs="residuals")
_SETS = When("with sets of classes", task="classification", forests=True)
_COLUMNS = When("if a column is not one feature")
_SPARSE = When("fitted on a wide sparse matrix")
_DATES = When("with dates", needs="column_kind")
_FLOATS = "F64, F32, F16"

TENSORS = (
    Field("tree_start", "I64", "trees + 1", "first node of every tree, and the number of nodes at the end", ALWAYS),
    Field(
        "kind", "U8", "trees",
        "node model: 0 constant, 1 linear in the features, 2 linear in the units of a hidden layer, 255 networks",
        ALWAYS,
    ),
    Field(
        "sum_path", "BOOL", "trees",
        "1: a score is the sum of the clipped models on the path; 0: the leaf's model alone", ALWAYS, (check_sums,),
    ),
    Field("tree_seeds", "U64", "trees", "seed of every tree", ALWAYS),
    Field("feature", "I32", "nodes", "split feature, −1 for a leaf", ALWAYS),
    Field("threshold", "F64", "nodes", "scaled `x[feature] <= threshold` goes left", ALWAYS, (FINITE,)),
    Field("missing_left", "U8", "nodes", "1: a missing value goes left; 0: right", ALWAYS, (BIT,)),
    Field(
        "left", "I32", "nodes",
        "left child, counted from the root of its tree; the right one is `left + 1`; 0 for a leaf", ALWAYS,
    ),
    Field(
        "n_samples", "F32, F64", "nodes",
        "weight of the training rows that reached the node; F64 here and in the next two only in older files",
        ALWAYS, (FINITE, check_weights_of_rows),
    ),
    Field("loss", "F32, F64", "nodes", "training loss after the node's model; all 0: not kept", ALWAYS),
    Field("gain", "F32, F64", "nodes", "gain of the split", ALWAYS),
    Field("lower", "clip range", "nodes", "lower end of the clip range of the node's model, −∞ for none", ALWAYS),
    Field("upper", "clip range", "nodes", "upper end of the clip range, ∞ for none", ALWAYS, (CLIP_RANGE,)),
    Field(
        "params", f"coefficient, {_FLOATS}", "any",
        "the models, one behind the other in the order of their nodes; per output: intercept, then the slopes if it is "
        "linear (one per feature that models see)", ALWAYS, (FINITE,),
    ),
    Field(
        "exponent", "I8", "any",
        "per model and output: its coefficients are the whole numbers in `params` times 2 to this power",
        When("with `dtype` int8"), since=3,
    ),
    Field(
        "param_start", "I64", "nodes",
        "first coefficient of the node's model in `params`, −1 for none; it must be what follows from the order",
        When("older files"),
    ),
    Field(
        "hidden_start", "I64", "trees + 1",
        "first value of every tree's layer in `hidden`, and the number of values at the end", _HIDDEN, since=2,
    ),
    Field(
        "hidden", "F64", "any",
        "for every tree of kind 2 the biases of its units, then for every feature that models see their weights. Unit "
        "k of a scaled row is 1 / (1 + exp(−bias_k − Σ_j weight_jk x_j))", _HIDDEN, (FINITE,), 2,
    ),
    Field(
        "network", "I64", "nodes",
        "the node's network among those of its node model, −1 for none (a root that is split)", _NETWORKS, since=2,
    ),
    Field(
        "network.<i>.<name>", "F32, F16, I64", "networks, …",
        "parameter or buffer `<name>` of all networks of the i-th node model, in the order in which trees have them",
        _NETWORKS, since=2,
    ),
    Field(
        "split_features", "I32", "any", "the features that may be split on, ascending, at least one",
        When("if not all may be"), (SPLIT_FEATURES,), 2,
    ),
    Field(
        "model_features", "I32", "any", "the features that node models see, ascending; may be empty",
        When("if not all are seen"), since=2,
    ),
    Field(
        "monotonic_cst", "I8", "features", "1 or −1 if the score rises or falls with the feature, 0: free",
        When("with constraints"), since=2,
    ),
    Field("feature_mean", "F64", "features", "a row is scaled to `(x − mean) / scale`", ALWAYS, (FINITE,)),
    Field("feature_scale", "F64", "features", "likewise", ALWAYS, (FINITE, POSITIVE)),
    Field(
        "feature_deviation", "F64", "features", "standard deviation in the training table", ALWAYS,
        (FINITE, POSITIVE),
    ),
    Field(
        "target_mean", "F64", "()",
        "score × scale + mean is the prediction or, where the loss has a log link, its logarithm (a forest averages "
        "the predictions of its trees); 0, and the scale 1, with several targets", _REGRESSORS, (FINITE,),
    ),
    Field("target_scale", "F64", "()", "likewise", _REGRESSORS, (FINITE, POSITIVE)),
    Field(
        "target_end", "I32", "targets", "number of outputs up to the end of each target; `loss` has the rest of them",
        When("with several targets"), (TARGET_END,), 4,
    ),
    Field(
        "stage_end", "I64", "stages", "number of trees up to the end of each stage", _STAGES, (STAGE_END,), 2,
    ),
    Field(
        "stage_step", "F64", "stages",
        "what each stage counts: 1 for the first (with `stage_units` from 0 on), from 1e-100 to 1000 for the others",
        _STAGES,
        (FINITE, STAGE_STEP), 2,
    ),
    Field(
        "stage_units", "I64", "stages",
        "what the sum over the trees of each stage is divided by: its trees or, if it is boosted, its bags, whose "
        "trees have the same seed", _STAGES_WITH_UNITS, (STAGE_UNITS,), 3,
    ),
    Field("oob_loss", "F64", "stages", "out-of-bag loss after each stage", When("if known", forests=True), since=2),
    Field(
        "calibration_factor", "F64", "()", "factor of the scores, at least 1e-100",
        When("calibrated by a factor", task="classification", forests=True), (FINITE, FACTOR), 2,
    ),
    Field(
        "knot_start", "I64", "outputs + 1",
        "per output the corners of a rising line from probabilities to calibrated ones: first corner of every output, "
        "and their number at the end; in between straight, outside constant", _KNOTS, (starts("knots", least=1),), 2,
    ),
    Field("knot_x", "F64", "knots", "probability at a corner", _KNOTS, (FINITE, check_knots), 2),
    Field(
        "knot_y", "F64", "knots", "calibrated one, above 0 and below 1", _KNOTS,
        (FINITE, check_knots, PROBABILITY), 2,
    ),
    Field(
        "residuals", "F64", "residuals",
        "absolute out-of-bag errors of some training rows, in units of the target's standard deviation", _LEFT_OUT,
        (FINITE, NOT_NEGATIVE), 2,
    ),
    Field(
        "absent", "U8", "(trees, ⌈residuals / 8⌉)",
        "a bit per tree and row, highest first, 1: the tree has not drawn the row", _LEFT_OUT, since=2,
    ),
    Field(
        "residual_weight", "F64", "residuals", "weights of these rows, if not all the same",
        When("with `residuals`", task="regression", forests=True, needs="residuals"), (FINITE, WEIGHTS), 2,
    ),
    Field(
        "residual_negative", "U8", "⌈residuals / 8⌉",
        "a bit per row of `residuals`, highest first, 1: its target is below what was predicted out of bag", _LOCAL,
        (TWO_ROWS,), 5,
    ),
    Field(
        "leaf_tree", "I64", "sharing", "trees whose leaves tell which of these rows are near to another, ascending",
        _LOCAL, (SOME_TREES,), 5,
    ),
    Field(
        "residual_leaf", "I32, U16, U8", "(sharing, residuals)",
        "for each of these trees and rows the leaf of the row, counted among the leaves of the tree", _LOCAL, since=5,
    ),
    Field(
        "conformity", "F64", "conformity",
        "for some training rows 1 − out-of-bag probability of the true class, ascending", _SETS,
        (FINITE, ASCENDING), 2,
    ),
    Field(
        "conformity_weight", "F64", "conformity", "weights of these rows, if not all the same",
        When("with `conformity`", task="classification", forests=True, needs="conformity"), (FINITE, WEIGHTS), 2,
    ),
    Field(
        "column_kind", "U8", "columns",
        "what became of a column: 0 one feature, 1 and a missing indicator, 2 a feature for each level (for "
        "the second of two levels), 3 means of the target, 4 nothing, 5 parts of dates, 6 64 features of hashed words, "
        "7 means of the target and three orders of the levels (since version 7)",
        _COLUMNS, (COLUMN_KINDS,), 2,
    ),
    Field(
        "calendar_parts", "U8", "columns",
        "what became of a date, the sum of 1 days since the origin, 2 sine and cosine of the year, 4 day of the month, "
        "8 weekday (1 to 7) with sine and cosine, 16 hour with sine and cosine of the day, 32 missing indicator; a "
        "time of a day is 16 (and 32)", _DATES, (CALENDAR_PARTS,), 3,
    ),
    Field(
        "calendar_origin", "F64", "columns", "in seconds since 1970, local time", _DATES, (FINITE, CALENDAR_ORIGIN), 3,
    ),
    Field(
        "sparse_chosen", "I32", "any", "columns of a wide sparse matrix that are features as they are, ascending",
        _SPARSE, (SPARSE_CHOSEN,), 3,
    ),
    Field(
        "sparse_intercept", "F64", "any", "intercepts of the linear scores that are the other features", _SPARSE,
        (FINITE, check_sparse), 3,
    ),
    Field(
        "sparse_coef", "F64", "any", "slopes of these scores: for every column one per score", _SPARSE,
        (FINITE, check_sparse), 3,
    ),
    Field(
        "sparse_deviation", "F64", "columns", "standard deviation of each column", _SPARSE, (FINITE, NOT_NEGATIVE), 3,
    ),
    Field(
        "level_start", "I64", "columns + 1", "first level of every column, and the number of levels at the end",
        _COLUMNS, (starts("levels"),), 2,
    ),
    Field("level_missing", "BOOL", "columns", "1: missing ones are a level, behind the others", _COLUMNS, since=2),
    Field("level_is_text", "BOOL", "columns", "1: the levels are text; 0: numbers", _COLUMNS, since=2),
    Field("level_end", "I64", "levels", "where each level's text ends in `level_text`", _COLUMNS, (LEVEL_END,), 2),
    Field(
        "level_text", "U8", "any",
        "UTF-8 (lone surrogates as three bytes), numbers as digits, integers of at most 400; ascending within a column",
        _COLUMNS, since=2,
    ),
    Field(
        "class_basis", "F64", "any",
        "for every class what it counts in each of the combinations of classes whose means stand for levels",
        When("with means and many classes or targets", needs="level_means"),
        (FINITE, check_basis), 3,
    ),
    Field(
        "level_means", "F64", "any",
        "columns of kinds 3 and 7, one behind the other: for every level (then the missing ones) the mean of the "
        "target, or the share of each class (of the second of two); for combinations of classes where there is "
        "`class_basis`; then, of kind 7, its places in the orders",
        _COLUMNS, (FINITE, check_levels), 2,
    ),
    Field(
        "fill", "F64", "(features + 1, features)",
        "centre, then precision of a normal distribution of the scaled features; a missing value is filled with what "
        "it expects, given the rest of the row. Without it: with 0, the mean. At most 256 features",
        When("with missing values"), (FEW_FEATURES, FILL), 2,
    ),
    Field(
        "classes", "any", "classes; (classes, width)",
        "the labels, ascending: numbers or booleans of any type. Strings are U32, rows of code points, filled up with "
        "0. Several targets have theirs in `loss`", _CLASSIFIERS, (check_classes,),
    ),
    Field(
        "coded.<name>", "U8", "any",
        "the column `<name>` in fewer bytes, in the place of that tensor; see [Coded columns](#coded-columns)",
        When("where it is shorter"), since=3,
    ),
    Field(
        "metadata.<name>", "U8", "any",
        "the metadata field `<name>` as ASCII text, where the header has no room for it; it is missing there then",
        When("long headers"),
    ),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------- the metadata

_HEAD = When("in all versions")

METADATA = (
    Field("format", "text", "", "`boostforest`", _HEAD),
    Field("format_version", "text", "", "`6`, or the lowest from `2` on that has all that is there", _HEAD),
    Field("boostforest_version", "text", "", "the version that wrote the file, for messages only", _HEAD),
    Field(
        "estimator", "text", "", "`BoostTreeRegressor`, `BoostTreeClassifier`, `BoostForestRegressor` or "
        "`BoostForestClassifier`", _HEAD,
    ),
    Field(
        "params", "JSON", "",
        'object: the constructor\'s parameters. A list is a list; `{"tuple": […]}`, `{"range": [start, stop, step]}` '
        'and `{"dict": [key, value, key, value, …]}` are what they say (integers that are keys below 2⁶⁴), '
        '`{"groups": [[…], …]}` a list of lists; everything '
        "inside is a number, a string, true, false or null. A node model is "
        '`{"ELM": {"n_hidden": …, "reg_lambda": …}}`, or `Constant`, `Ridge`, `LinearSVR` with their parameters, each '
        "written like one of the constructor's; also inside a list or a tuple, and in `tree_params`. A `TorchNode` is "
        'a string: `TorchNode ` and JSON of its parameters; `module` is `{"MLP": {…}}` or `{"CNN": {…}}` with their '
        "parameters, or null for a module of the user's own",
        ALWAYS,
    ),
    Field(
        "not_stored", "JSON", "", "list: the parameters that could not be stored and stand as null in `params`", ALWAYS,
    ),
    Field("n_features", "JSON", "", "integer: columns of the table", ALWAYS, (check_columns,)),
    Field("feature_names", "JSON", "", "list of strings, or null", ALWAYS, (check_names,)),
    Field(
        "classes", "JSON", "", '`"number"`, `"string"` or `"object"` (strings that pandas held), null for a regressor',
        ALWAYS, (NO_REGRESSOR,),
    ),
    Field(
        "tree_params", "JSON", "",
        "object: for every tree parameter the list of what the trees have drawn; one value stands for all trees, and "
        '`{"runs": [value, n, value, n, …]}` for n trees each (since version 4)',
        ALWAYS, (IS_OBJECT,),
    ),
    Field(
        "entropy", "JSON", "", 'what all seeds follow from: an integer in base 16 (`"0x2a"`), or a list of such',
        ALWAYS, (ENTROPY,),
    ),
    Field(
        "draws", "JSON", "",
        "how all trees of a forest drew their rows: `[bootstrap, rows, draws, SHA-256 of the cumulative weights]`; "
        "null if not alike, or for a tree", ALWAYS, (DRAWS,),
    ),
    Field(
        "target", "JSON", "",
        "SHA-256 of the target that a forest was fitted to, as float64: by it `compress` knows the training rows",
        ALWAYS, (TARGET,), since=4, default="null",
    ),
    Field(
        "oob_score", "JSON", "", "the out-of-bag score, or null", ALWAYS,
        (IS_NULL_OR_NUMBER,),
    ),
    Field(
        "dtype", "JSON", "",
        '`"float64"`, `"float32"`, `"float16"` or (since version 3) `"int8"`: the type of the coefficients in memory. '
        '`lower` and `upper` have it in the file too, F16 with `"int8"`; `params` may have another, but for `"int8"`, '
        'and is read as this one. Without it: `"float64"`', ALWAYS, since=2,
        default='"float64"',
    ),
    Field(
        "loss", "JSON", "",
        'the regressor\'s loss and the numbers that it keeps, `{"poisson": {"information": …}}`; not there for squared '
        "error, nor in classifiers. Several targets: "
        '`{"squared_errors": {"mean": […], "scale": […]}}`, or `{"class_targets": [{"int64": [0, 1]}, …]}`, for every '
        "target the type of its labels (one of NumPy's, `str` or `object`) and these, ascending",
        ALWAYS, (LOSS,), since=2, default="null",
    ),
    Field(
        "coded", "text", "",
        "JSON: an object that has for the name of every coded column its type and its number of values: "
        '`{"feature": ["I32", 5000]}`', When("with coded columns"), since=3,
    ),
    Field("sha256", "text", "", "the checksum", _HEAD),
)  # fmt: skip

FORMAT = Schema(TENSORS, METADATA)
