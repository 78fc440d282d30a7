"""Bins of features: what the histograms of piecewise linear trees are made of."""

from dataclasses import dataclass

import numpy as np

from .._product import Bytes, Floats, Indices, Ints

WIDTH = 256  # values per feature in the core's tables, used or not


@dataclass(eq=False, frozen=True)
class Bins:
    """The bins of a table, ascending in every feature."""

    codes: Bytes  #: rows × features: number of the bin that a value falls into
    n: Ints  #: bins per feature
    mean: Floats  #: features × 256: mean of the values in a bin
    end: Floats  #: features × 256: values up to it fall into the bin or one before; infinity for the last


def make_bins(X: Floats, weight: Floats, max_bins: int) -> Bins:
    """Make at most ``max_bins`` bins of every column, of about the same weight; few distinct values get one each."""
    n_rows, n_features = X.shape
    bins = Bins(
        np.empty((n_rows, n_features), dtype=np.uint8),
        np.empty(n_features, dtype=np.int32),
        np.zeros((n_features, WIDTH)),
        np.full((n_features, WIDTH), np.inf),
    )
    for j in range(n_features):
        order = np.argsort(X[:, j])
        values = X[order, j]
        first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        distinct, weights = values[first], np.add.reduceat(weight[order], first)
        labels = group_values(weights, max_bins)
        n = int(labels[-1]) + 1
        bins.n[j] = n
        bins.codes[order, j] = np.repeat(labels, np.diff(np.r_[first, n_rows]))
        bins.mean[j, :n] = np.bincount(labels, weights * distinct) / np.bincount(labels, weights)
        last = np.flatnonzero(labels[1:] != labels[:-1])  # the last value of each bin but the last one
        middle = distinct[last] + (distinct[last + 1] - distinct[last]) / 2
        bins.end[j, : n - 1] = np.where(middle < distinct[last + 1], middle, distinct[last])  # neighbouring floats
    return bins


def group_values(weights: Floats, max_bins: int) -> Indices:
    """Return the number of the bin of each distinct value, ascending, given their weights.

    A value that outweighs a bin has one of its own, so that one common value does not use up the others' bins.
    """
    if len(weights) <= max_bins:
        return np.arange(len(weights))
    heavy = weights * max_bins > weights.sum()
    n_rest = max_bins - 2 * int(heavy.sum())  # a heavy value may part a bin in two
    if n_rest < 1:
        heavy[:] = False
        n_rest = max_bins
    rest = np.where(heavy, 0.0, weights)
    middle = np.cumsum(rest) - rest / 2
    group = np.minimum(np.floor(middle / rest.sum() * n_rest), n_rest - 1)
    changes = (group[1:] != group[:-1]) | heavy[1:] | heavy[:-1]
    labels: Indices = np.r_[0, np.cumsum(changes)]
    return labels
