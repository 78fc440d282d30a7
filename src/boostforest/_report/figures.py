"""Figures of predictions: how far they are from what was observed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.typing import Floats, Labels, Mask
from .._losses import Loss

Figures = dict[str, float | None]

#: Name -> whether more is better; None: neither.
MORE_IS_BETTER: dict[str, bool | None] = {
    "accuracy": True, "balanced accuracy": True, "ROC AUC": True, "R²": True, "share below": None,
}  # fmt: skip


def class_figures(classes: Labels, probability: Floats, y: Labels, weight: Floats | None) -> Figures:
    """Return the figures of probabilities; None for those that these rows do not define."""
    from sklearn import metrics

    predicted = classes[probability.argmax(axis=1)]
    truth = classes[:, None] == y  # classes × rows
    counted = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    area: Callable[..., float] = metrics.roc_auc_score
    areas = [
        area(truth[c], probability[:, c], sample_weight=weight)
        for c in range(len(truth))
        if 0 < truth[c, counted].sum() < counted.sum()
    ]
    return {
        "accuracy": float(metrics.accuracy_score(y, predicted, sample_weight=weight)),
        "balanced accuracy": _balanced_accuracy(truth, y == predicted, weight),
        "log-loss": _log_loss(classes, probability, y, weight),
        "ROC AUC": float(np.mean(areas)) if areas else None,
    }


def _log_loss(classes: Labels, probability: Floats, y: Labels, weight: Floats | None) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(y, probability, labels=classes, sample_weight=weight)) if len(classes) > 1 else 0.0


def _balanced_accuracy(truth: Mask, hit: Mask, weight: Floats | None) -> float:
    """Return the mean over the classes that there are; scikit-learn warns of classes that were only predicted."""
    of_rows = np.ones(len(hit)) if weight is None else weight
    sums = truth @ of_rows
    return float(np.mean((truth @ (of_rows * hit))[sums > 0] / sums[sums > 0]))


def number_figures(predicted: Floats, y: Floats, weight: Floats | None) -> Figures:
    """Return the figures of predicted numbers; None for those that these rows do not define."""
    from sklearn import metrics

    counted = y if weight is None else y[weight > 0]
    return {
        "RMSE": float(metrics.root_mean_squared_error(y, predicted, sample_weight=weight)),
        "MAE": float(metrics.mean_absolute_error(y, predicted, sample_weight=weight)),
        "R²": float(metrics.r2_score(y, predicted, sample_weight=weight)) if np.ptp(counted) > 0 else None,
    }


def losses_of(loss: Loss, y: Any, predicted: Floats) -> Floats:
    """Return the losses of predictions in the user's units, or of probabilities, against the user's target."""
    if loss.n_classes:
        outputs = predicted if loss.n_outputs > 1 else 1 - predicted[:, [0]]  # the probability of the second of two
    else:
        start, end = (float(loss.decode(np.full((1, 1), at))[0]) for at in (0.0, 1.0))  # a line, whatever the loss
        outputs = ((predicted - start) / (end - start))[:, None]
    return loss.losses(loss.encode(y), loss.scores(outputs))


def loss_figures(loss: Loss, predicted: Floats, y: Floats, weight: Floats | None) -> Figures:
    """Return the figures of predicted numbers, that of the loss first."""
    name, value = loss.figure(float(np.average(losses_of(loss, y, predicted), weights=weight)))
    if not loss.predicts_mean:
        return {name: value, "share below": float(np.average(y <= predicted, weights=weight))}
    return {name: value} | number_figures(predicted, y, weight)
