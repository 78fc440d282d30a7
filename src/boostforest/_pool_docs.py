"""Docstrings of parameters that several pool forests share, written once."""

from __future__ import annotations

from collections.abc import Callable

from ._docs import Class, fill_docstring

_HEAD = """\
n_estimators : int, default={n}
    Number of members.
"""

_ESTIMATOR = """\
estimator : estimator or list of estimators, default=None
    What the members are: a scikit-learn {kind} with any settings, or several of them for a mixture. None: a
    :class:`~sklearn.tree.DecisionTree{Kind}`. Wherever it takes a `random_state`, each member gets its own.
"""

_POOLS = """\
pools : dict or list of dict, default=None
    Parameters that each member draws for itself: the name of a parameter (``ridge__alpha`` inside a pipeline) and
    its pool, which is a value, a sequence of values or a distribution with an `rvs` method as in `scipy.stats`. A
    value that is a sequence itself goes into a list: ``[(50,), (100,)]``. For a mixture: a list with one dict per
    estimator, or one dict for all.
weights : list of float, default=None
    Shares of the estimators in a mixture; None: the same for all. They are kept as closely as whole members allow,
    also by the first members of the forest.
"""

_LEAF = """\
min_samples_leaf : int, sequence or distribution, default=(5, 6, …, 15)
    Pool of the rows that each leaf must have: every member draws its own value.
"""

_SAMPLING = """\
bootstrap : bool, default=True
    Fit each member to rows drawn with replacement; otherwise to all rows.
max_samples : int, float or None, default=None
    Rows to draw for each member: their number, or a share of the rows, whatever they weigh. None: as many as there are.
"""

_MAX_FEATURES = """\
max_features : int, float, {"sqrt", "log2"} or None, default=None
    Columns to draw, without replacement, for each member: their number, or a share of all. None: all of them. This
    may be a pool, too.
"""

_OOB = """\
oob_score : bool, str or callable, default=False
    Estimate the score from the rows that each member has not drawn: {score}, one of scikit-learn's scorers by its
    name ("neg_log_loss", "roc_auc", …) or made by `make_scorer`, or `metric(y_true, y_pred)`. Metrics that call their
    second argument `y_score` or `y_proba`, and `log_loss`, get probabilities. Rows count their `sample_weight`, if the
    metric takes weights; rows of weight 0 never count.
"""

_CLASS_WEIGHT = """\
class_weight : dict, "balanced", "balanced_subsample" or None, default=None
    Weights of the classes; they multiply `sample_weight`. "balanced_subsample" balances within each drawn replica,
    by weights that are passed on to the members.
"""

_END = """\
warm_start : bool, default=False
    Keep the members of the last fit and add to them up to `n_estimators`.
n_jobs : int or None, default=None
    Members to fit at the same time, through joblib; None is 1 unless a joblib context says otherwise, -1 all cores.
    Trees of scikit-learn and of this package are fitted in threads, other estimators in processes, unless
    ``joblib.parallel_config`` names another backend. Predictions run in threads.
random_state : int, RandomState instance, Generator or None, default=None
    Seed. The same seed gives the same members, for any `n_jobs`.
verbose : int, default=0
    Above 0: draw a progress bar on standard error.
"""

_ATTRIBUTES = """\
estimators_ : list of estimators
    The fitted members.{codes}
estimators_features_ : list of ndarray
    The columns that each member was given.
estimators_samples_ : list of ndarray
    The rows that each member was fitted to; not stored, but drawn again from the seeds.
member_params_ : list of dict
    The parameters that each member has drawn from its pools.
member_seeds_ : ndarray of shape (n_estimators,)
    Seed of each member.
feature_importances_ : ndarray of shape (n_features_in_,)
    Mean share of each feature in the members' importances, if all members have them.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if the training table had any.
"""

_TARGET = {
    "regression": """\
oob_score_ : float
    Out-of-bag score, with `oob_score`.
oob_prediction_ : ndarray of shape (n_samples,)
    Out-of-bag prediction of every training row, NaN for a row that every member has drawn; with `oob_score`.
""",
    "classification": """\
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_classes_ : int
    Number of classes.
oob_score_ : float
    Out-of-bag score, with `oob_score`.
oob_decision_function_ : ndarray of shape (n_samples, n_classes)
    Out-of-bag probabilities of every training row, NaN for a row that every member has drawn; with `oob_score`.
""",
}


def describe_pool_forest(
    task: str, named: bool = False, own: str = _LEAF, n_estimators: int = 250
) -> Callable[[Class], Class]:
    """Fill ``{parameters}`` and ``{attributes}`` in the docstring of a pool forest; ``own``: what a named one adds."""
    regression = task == "regression"
    kind = "regressor" if regression else "classifier"
    parameters = [
        "" if named else _ESTIMATOR.format(kind=kind, Kind=kind.capitalize()),
        _HEAD.format(n=n_estimators),
        own if named else _POOLS,
        _SAMPLING,
        "" if named else _MAX_FEATURES,
        _OOB.format(score="R²" if regression else "the accuracy"),
        "" if regression else _CLASS_WEIGHT,
        _END,
    ]
    codes = "" if regression else " They know the classes by their positions in `classes_`: 0, 1, …"
    attributes = _ATTRIBUTES.format(codes=codes) + _TARGET[task]
    return fill_docstring({"parameters": "".join(parameters), "attributes": attributes})
