"""The out-of-bag score: by the usual metric, by another, or by one of scikit-learn's scorers.

Metrics are imported where they are used: they take as long as the rest of the package, and most fits need none.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .._base.typing import Array, Floats, Indices, Mask
from .targets import all_right

_PROBABILITIES = ("y_proba", "y_prob", "y_score")  # what metrics of probabilities call their second argument


class _Regressed(RegressorMixin, BaseEstimator):
    """What a scorer asks for predictions: it knows them by the numbers of the rows."""

    def __init__(self, outputs: Floats) -> None:
        self.outputs = outputs

    def predict(self, X: Indices) -> Floats:
        return np.asarray(self.outputs[X[:, 0]])


class _Classified(ClassifierMixin, BaseEstimator):
    """What a scorer asks for classes and probabilities."""

    def __init__(self, outputs: Floats, classes_: Array) -> None:
        self.outputs, self.classes_ = outputs, classes_

    def predict_proba(self, X: Indices) -> Floats:
        return np.asarray(self.outputs[X[:, 0]])

    def predict(self, X: Indices) -> Array:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def check_oob_score(oob_score: Any) -> None:
    """Check the argument of that name, which is not True or False."""
    if callable(oob_score):
        return
    if isinstance(oob_score, str):
        from sklearn.metrics import get_scorer

        try:
            get_scorer(oob_score)
        except ValueError:
            pass
        else:
            return
    raise ValueError(
        "oob_score must be True, False, the name of a scorer of scikit-learn such as 'neg_log_loss', a scorer made by "
        f"make_scorer, or a function of y_true and y_pred; got {oob_score!r}."
    )


def score_rows(how: Any, y: Array, outputs: Floats, classes: Array | None, rows: Mask, weight: Floats | None) -> float:
    """Score some rows, those of weight 0 left out; NaN without any.

    ``outputs`` are predictions or, of ``classes``, probabilities; ``how`` is the argument ``oob_score``.
    """
    if weight is not None:
        rows = rows & (weight > 0)
        weight = weight[rows]
    if not rows.any():
        return float("nan")
    from sklearn.metrics import accuracy_score, get_scorer, make_scorer, r2_score

    if not isinstance(how, str) and not callable(how):
        how = r2_score if classes is None else accuracy_score
    y, outputs = y[rows], outputs[rows]
    if classes is not None and _wants_probabilities(how):
        how = make_scorer(how, response_method="predict_proba")
    if isinstance(how, str) or _is_scorer(how):
        estimator = _Regressed(outputs) if classes is None else _Classified(outputs, classes)
        return _by_scorer(get_scorer(how), y, estimator, weight)
    predicted = outputs if classes is None else classes[outputs.argmax(axis=1)]
    return how(y, predicted, **_weights(how, weight))  # type: ignore[no-any-return]


def score_several(how: Any, y: Array, predicted: Array, rows: Mask, weight: Floats | None) -> float:
    """Score the classes of several targets of some rows: the share of rows that have all of them right, or a metric."""
    if weight is not None:
        rows = rows & (weight > 0)
        weight = weight[rows]
    if not rows.any():
        return float("nan")
    y, predicted = y[rows], predicted[rows]
    if callable(how) and not _is_scorer(how) and not _wants_probabilities(how):
        return how(y, predicted, **_weights(how, weight))  # type: ignore[no-any-return]
    if isinstance(how, str) or callable(how):
        raise ValueError(
            "oob_score must be True, False or a function of y_true and y_pred with several classifications; got "
            f"{how!r}."
        )
    return all_right(y, predicted, weight)


def _by_scorer(scorer: Any, y: Array, estimator: Any, weight: Floats | None) -> float:
    numbers = np.arange(len(y))[:, None]
    try:
        if weight is not None and "sample_weight" in _parameters(scorer):
            try:
                return float(scorer(estimator, numbers, y, sample_weight=weight))
            except TypeError:  # scorers pass on weights whether or not their metric takes them
                pass
        return float(scorer(estimator, numbers, y))
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"oob_score could not be computed from out-of-bag predictions: {error}") from error


def _weights(metric: Callable[..., Any], weight: Floats | None) -> dict[str, Floats]:
    return {} if weight is None or "sample_weight" not in _parameters(metric) else {"sample_weight": weight}


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function; none if it does not tell."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _is_scorer(function: Any) -> bool:
    """Tell whether a function is called with an estimator, a table and a target, not with two targets."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in _parameters(function).values() if p.kind in positional and p.default is p.empty]
    return len(needed) == 3


def _wants_probabilities(how: Any) -> bool:
    if isinstance(how, str):
        return False
    from sklearn.metrics import d2_log_loss_score, log_loss

    if how in (log_loss, d2_log_loss_score):  # before scikit-learn 1.9 their argument is called y_pred
        return True
    return list(_parameters(how))[1:2] in [[name] for name in _PROBABILITIES]
