"""Contributions of columns to what trees add up to, as the core computes them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _core
from .._base.typing import Floats, Ints
from .._core import Link
from .._model.model import Model

Report = Callable[[int], None] | None


@dataclass(frozen=True, eq=False)
class Part:
    """A weighted sum over some trees of what a link makes of their scores."""

    first: int
    last: int
    weights: Floats  #: of the trees first … last - 1
    link: Link  #: of the core

    def has_closed_forms(self, model: Model) -> bool:
        """Tell whether the contributions to these trees are sums over their nodes."""
        return _core.has_closed_forms(model.columns.model, self.link, self.first, self.last)

    def has_paths(self, model: Model) -> bool:
        """Tell whether these trees have path-dependent contributions."""
        return _core.has_paths(model.columns.model, self.link, self.first, self.last)

    def sums(self, model: Model, X: Floats, threads: int) -> Floats:
        """Return what the trees add up to, rows × outputs."""
        total = np.zeros((len(X), model.columns.n_outputs))
        changes = np.flatnonzero(np.diff(self.weights)) + 1
        for begin, end in zip((0, *changes), (*changes, len(self.weights)), strict=True):  # of the same weight
            trees = slice(self.first + begin, self.first + end)
            total += self.weights[begin] * model.sums(X, threads, self.link == Link.IDENTITY, trees)
        return total


@dataclass(frozen=True, eq=False)
class Shares:
    """What columns contribute; columns × columns, flat, where interactions are asked for."""

    values: Floats  #: rows × background rows × columns × outputs; background rows are 1 if they are averaged
    variance: Floats | None  #: of the values, as far as they were sampled; None: they are interactions


def columns_of_features(model: Model) -> tuple[Ints, int]:
    """Return the number of the column that each feature comes from, and the number of columns."""
    f = model.features
    if f.sparse is not None:
        raise ValueError(
            "A forest that was fitted on a wide sparse matrix cannot be explained: use feature_importances_."
        )
    origin = np.arange(f.n_columns) if f.encoder is None else f.encoder.origin
    return origin.astype(np.int32), f.n_columns


def _players(model: Model) -> tuple[Ints, int, Ints]:
    """Return for each feature which of the columns that have features it comes from, their number, and which they are.

    Columns that were left out have no features, and play no part.
    """
    seen, place = np.unique(columns_of_features(model)[0], return_inverse=True)
    return place.astype(np.int32), len(seen), seen


def _spread(shares: Floats, seen: Ints, model: Model, axes: tuple[int, ...] = (2,)) -> Floats:
    """Return shares of the players as those of all columns."""
    n_columns = model.features.n_columns
    for axis in axes if len(seen) < n_columns else ():
        wide = np.zeros((*shares.shape[:axis], n_columns, *shares.shape[axis + 1 :]))
        wide[(slice(None),) * axis + (seen,)] = shares
        shares = wide
    return shares


def interventional(
    model: Model, part: Part, X: Floats, others: Floats, apart: bool, pairs: bool, threads: int, report: Report
) -> Shares:
    """Compare rows with those of a background; ``apart``: with each of them, ``pairs``: interactions."""
    column_of, n_columns, seen = _players(model)
    f, n_outputs = model.features, model.columns.n_outputs
    shape = len(X), len(others) if apart else 1, n_columns, n_outputs
    values, variance = np.zeros((2, int(np.prod(shape))))
    interactions = np.zeros(len(values) * n_columns) if pairs else None
    _core.explain_interventional(
        model.columns.model, X, others, f.mean, f.scale, f.fill, column_of, n_columns, part.link, part.first,
        part.last, part.weights, apart, threads, values, variance, interactions, report,
    )  # fmt: skip
    if interactions is not None:
        spread = _spread(interactions.reshape(*shape[:2], n_columns, n_columns, n_outputs), seen, model, (2, 3))
        return Shares(spread.reshape(*shape[:2], -1, n_outputs), None)
    return Shares(_spread(values.reshape(shape), seen, model), _spread(variance.reshape(shape), seen, model))


def along_paths(
    model: Model, part: Part, X: Floats, others: Floats, threads: int, report: Report
) -> tuple[Shares, Floats]:
    """Return path-dependent contributions, and what the trees add up to when nothing is known."""
    column_of, n_columns, seen = _players(model)
    f, n_outputs = model.features, model.columns.n_outputs
    values, base = np.zeros(len(X) * n_columns * n_outputs), np.zeros(n_outputs)
    _core.explain_path(
        model.columns.model, X, others, f.mean, f.scale, f.fill, column_of, n_columns, part.link, part.first,
        part.last, part.weights, threads, values, base, report,
    )  # fmt: skip
    shares = _spread(values.reshape(len(X), 1, n_columns, n_outputs), seen, model)
    return Shares(shares, np.zeros_like(shares)), base
