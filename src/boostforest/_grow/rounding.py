"""How few digits the coefficients of a forest need: as many as the out-of-bag loss can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._base.typing import Floats
from .._model.columns import DTYPES, is_finite
from .._model.model import Model
from .data import TrainingData
from .objective import Objective

TOLERANCE = 0.001  # by which the loss may rise


def with_smallest_dtype(model: Model, data: TrainingData, threads: int) -> Model:
    """Return the model with coefficients of the smallest type whose out-of-bag loss is within a thousandth of its own.

    Without out-of-bag rows predictions of the training rows may move by a thousandth of their standard deviation.
    """
    judge = _Judge(model, data, threads)
    for dtype in reversed(DTYPES[1:]):
        short = replace(model, columns=model.columns.astype(dtype))
        if is_finite(short.columns, model.columns) and judge.accepts(short):
            return short
    return model


class _Judge:
    """Compares rounded forests with the one that was grown."""

    def __init__(self, model: Model, data: TrainingData, threads: int) -> None:
        self._data, self._threads = data, threads
        self._objective = Objective(data.loss, data.y, data.sampling.sample_weight, data.offset)
        self._loss = self._out_of_bag_loss(model)
        self._outputs: Floats | None = model.outputs(data.X, threads, data.offset) if np.isnan(self._loss) else None

    def accepts(self, short: Model) -> bool:
        if self._outputs is None:
            return self._out_of_bag_loss(short) <= (1 + TOLERANCE) * self._loss
        change = short.outputs(self._data.X, self._threads, self._data.offset) - self._outputs
        return float(np.sqrt(np.mean(change**2))) <= TOLERANCE * float(self._outputs.std())

    def _out_of_bag_loss(self, model: Model) -> float:
        if not self._data.sampling.bootstrap:
            return np.nan
        data = self._data
        outputs, seen = model.out_of_bag_outputs(data.X, data.sampling, self._threads, data.offset)
        return self._objective.figure(outputs, seen)
