"""Words of docstrings that differ between trees and forests, regression and classification, and fitted attributes."""

_POOLS = """\
Notes
-----
Any of the tree's parameters (`node_model` to `{last}`) may also be a pool: a sequence of values, or a distribution with
an `rvs` method as in `scipy.stats`. Every tree draws its own value."""

REGRESSION = {
    "kind": "regressor",
    "Kind": "Regressor",
    "criteria": '{"xgb", "mse"}',
    "label_criteria": "the decrease of the labels' squared error",
    "scaled": "features and target",
    "predicted": " Predictions are in the units of the data either way. (With a log link the target is divided by its "
    "mean.)",
    "outputs": "",
    "constrained": "",
    "score": "R²",
    "and_calibrate": "",
    "calibrated": "",
    "other_losses": ', and with the losses "quantile" and "absolute_error" and functions',
    "gpu_losses": " of squared errors",
    "fast": "a single stage, with larger leaves from 8,000 rows and 20 features on",
    "fewer": ' Of more than 8,000 rows `preset="fast"` has as many fewer, and 50 at least.',
    "pools": _POOLS.format(last="clip"),
    "oob_outputs": "oob_prediction_ : ndarray of shape (n_samples,)\n    Out-of-bag prediction",
}

CLASSIFICATION = {
    "kind": "classifier",
    "Kind": "Classifier",
    "criteria": '{"xgb", "gini", "c45"}',
    "label_criteria": "the labels' Gini decrease, or C4.5's gain ratio",
    "scaled": "the features",
    "predicted": "",
    "outputs": ", per class",
    "constrained": " For two classes, on the probability of the second; not for more.",
    "score": "the accuracy",
    "and_calibrate": " and `calibrate`",
    "calibrated": ", calibrated probabilities",
    "other_losses": "",
    "gpu_losses": "",
    "fast": "a single stage of trees with large leaves, calibrated",
    "fewer": "",
    "pools": _POOLS.format(last="batch_size"),
    "oob_outputs": "oob_decision_function_ : ndarray of shape (n_samples, n_classes)\n    Out-of-bag probabilities",
}

TREE = {
    "shorthands": '"elm" and "svr" have the defaults of their objects, in forests the pools of the paper.',
    "or_balanced": "",
    "but_weights": ".",
}

FOREST = {
    "shorthands": '"elm" and "svr" draw their parameters from the pools of the paper.',
    "or_balanced": ', "balanced_subsample"',
    "but_weights": """, except in out-of-bag scores, intervals and sets. "balanced_subsample" balances within each drawn
replica.""",
    "member": "tree",
    "members": "trees",
    "grow": "Grow each tree on",
    "to": "on",
    "jobs": """Threads to use, or processes where the node model is in Python; None is 1 unless a joblib context says
otherwise, -1 all. In a context of Dask, Ray or Spark their workers grow the trees, unless it is 1.""",
}

ATTRIBUTES = """\
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
    Share of each column in the gain of the splits; with other losses than squared errors the mean of that over trees.
slope_importances_ : ndarray of shape (n_features_in_,)
    Mean slope over the training rows times the column's standard deviation: what one standard deviation adds to the
    prediction, or to its logarithm where the loss has a log link. Without a sign for more than two classes and for
    categories of several features.
n_nodes_, n_leaves_ : ndarray of shape (n_trees,)
    Nodes and leaves of each tree.
model_size_ : int
    Bytes of the fitted model.
"""

STAGE_ATTRIBUTES = """\
n_stages_ : int
    Stages that the forest has.
steps_ : ndarray of shape (n_stages_,)
    What each stage counts. With one number of stages that was set, and for classes without boosted stages, 1 for the
    first; else found out of bag.
stages_ : Stages
    `stages_.ends` has the number of trees up to the end of each stage; `stages_.units`, if there are boosted stages,
    what the sum over the trees of each stage is divided by: their number or, if it is boosted, that of its bags.
oob_losses_ : ndarray of shape (n_stages_,)
    Mean out-of-bag loss after each stage (squared error in units of the target's standard deviation, log-loss, or the
    deviance of the target over its mean), unless the forest is the paper's. Boosted stages are weighed together, so all
    of them have the last loss.
pool_report_ : list of dict
    What an adaptive pool has tried: the round, the settings, the out-of-bag loss and its change against the first
    settings, and the share of the forest's trees that they have got. `split_features` are numbers of features there,
    which are those of the columns unless some have categories. `boostforest.plot.pool` draws it.
calibration_ : Calibration
    `calibration_.factor` multiplies the scores; 1 without calibration.
"""

CLASS_ATTRIBUTES = """\
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_classes_ : int
    Number of classes.
"""

OOB_ATTRIBUTES = """\
oob_score_ : float
    Out-of-bag score, with `oob_score`.
{oob_outputs} of every training row, NaN for a row that every {member} has drawn; with `oob_score`.
"""
