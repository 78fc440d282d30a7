"""Several targets: reading them, and what can be had of one target alone."""

import numbers
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .._base.arrays import class_weights
from .._base.typing import Array, Floats, Labels
from .._base.validation import classes_as_numbers, warn
from .._losses import ClassTargets, CrossEntropy, Loss, Several
from .._losses.several import classes_loss
from .._model.model import Model
from ..nodes._native import has_python_models


def class_targets(y: Array, before: Loss | None) -> ClassTargets:
    """Return the loss of several classifications, that of an earlier fit if it goes on with one."""
    for k, column in enumerate(y.T):
        which = f"target {k} of {y.shape[1]}"
        is_text = column.dtype == object and all(isinstance(value, str) for value in column)
        if not is_text and any(value is None or value != value for value in column.tolist()):
            raise ValueError(f"y has missing labels in {which}; leave out these rows.")
        if (kind := type_of_target(_plain(column))) not in ("binary", "multiclass"):
            raise ValueError(f"y must have classes; {which} has {kind} values.")
    if before is not None:
        assert isinstance(before, ClassTargets)
        for k, part in enumerate(before.parts):
            if not np.isin(y[:, k], part.classes).all():
                raise ValueError(
                    f"y must have no other classes than in the first fit with warm_start=True; target {k} has."
                )
        return before
    parts = []
    for k, column in enumerate(y.T):
        classes = np.unique(_plain(column))
        classes_as_numbers(classes)  # what can be fitted can be saved
        if len(classes) == 1:
            warn(f"y has one class only ({classes.tolist()[0]!r}) in target {k}: the model will always predict it.")
        parts.append(classes_loss(classes))
    return ClassTargets(tuple(parts))


def _plain(column: Array) -> Array:
    """Return a column of objects that are all of one type as that type."""
    return np.array(column.tolist()) if column.dtype == object else column


def check_several(estimator: Any, n_targets: int, before: Model | None) -> None:
    """Refuse what was asked for by name and cannot be had with several targets."""
    got = f"y has {n_targets} targets"
    if before is not None and len(getattr(before.loss, "parts", ())) != n_targets:
        first = len(before.loss.parts) if isinstance(before.loss, Several) else 1
        raise ValueError(f"warm_start=True goes on with the targets of the first fit, {first}; {got}.")
    if (reason := why_not_several(estimator)) is not None:
        raise ValueError(f"{reason}; {got}.")


def why_not_several(estimator: Any) -> str | None:
    """Return which argument excludes several targets, as the beginning of a sentence; None if none does."""
    loss = getattr(estimator, "loss", "squared_error")
    if not isinstance(loss, str) or loss != "squared_error":
        shown = repr(loss) if isinstance(loss, str) else "a loss of your own"
        return f"loss must be 'squared_error' with several targets; got {shown}"
    if estimator.monotonic_cst is not None:
        return "monotonic_cst needs one target"
    criteria = estimator.criterion if isinstance(estimator.criterion, list | tuple) else [estimator.criterion]
    if wrong := [c for c in criteria if isinstance(c, str) and c in ("gini", "c45")]:
        return f"criterion must be 'xgb' with several classifications; got {wrong[0]!r}"
    if has_python_models(estimator.node_model):
        return "node_model must be one of the core's with several targets"
    if (device := getattr(estimator, "device", "cpu")) not in ("cpu", "auto"):
        return f"device must be 'cpu' or 'auto' with several targets; got {device!r}"
    if (calibrate := getattr(estimator, "calibrate", None)) == "isotonic":
        return f"calibrate must be False, 'temperature' or 'auto' with several targets; got {calibrate!r}"
    if (weight := getattr(estimator, "class_weight", None)) == "balanced_subsample":
        return f"class_weight must be None, 'balanced' or a list of dicts with several targets; got {weight!r}"
    return None


def weights_of_classes(class_weight: Any, loss: ClassTargets, y: Floats, weight: Floats | None) -> Floats | None:
    """Return the weights with those of the classes of all targets in them: their product, as in scikit-learn."""
    if class_weight is None:
        return weight
    n = len(loss.parts)
    each = class_weight if isinstance(class_weight, list) else [class_weight] * n
    if isinstance(class_weight, dict) or len(each) != n:
        raise ValueError(
            f"class_weight must be None, 'balanced' or a list of {n} dicts, one for each target; got {class_weight!r}."
        )
    product = np.ones(len(y)) if weight is None else weight.copy()
    for k, part in enumerate(loss.parts):
        product *= class_weights(each[k], part.classes, y[:, k].astype(np.intp), weight)
    return product


def all_classes(loss: Loss) -> Any:
    """Return the classes, of several targets as a list."""
    if isinstance(loss, ClassTargets):
        return [part.classes for part in loss.parts]
    assert isinstance(loss, CrossEntropy)
    return loss.classes


def count_classes(loss: Loss) -> Any:
    """Return the number of classes, of several targets as a list."""
    return [part.n_classes for part in loss.parts] if isinstance(loss, ClassTargets) else loss.n_classes


def all_right(y: Array, predicted: Labels, weight: Floats | None) -> float:
    """Return the share of rows whose classes are all predicted."""
    return float(np.average((y == predicted).all(axis=1), weights=weight))


def require_one(model: Model, what: str) -> Model:
    """Refuse several targets."""
    if isinstance(model.loss, Several):
        n = len(model.loss.parts)
        raise ValueError(f"{what} needs one target, and the model has {n}: get_target(i) is the model of one.")
    return model


def number_of_target(model: Model, i: Any) -> int:
    """Check the number of a target; negative ones count from the end."""
    n = len(model.loss.parts) if isinstance(model.loss, Several) else 1
    if not isinstance(i, numbers.Integral) or isinstance(i, bool) or not -n <= int(i) < n:
        raise IndexError(f"i must be the number of a target from {-n} to {n - 1}; got {i!r}.")
    return int(i) % n
