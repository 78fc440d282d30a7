"""Prediction by trees whose node models are in Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from .. import _core
from ..nodes._python import Floats, Ints, NodeFitter, fitter_for, seen_values
from .columns import ForestColumns

if TYPE_CHECKING:
    from .._estimator.base import BoostBase


class ScaledRows:
    """Rows as the trees see them, for prediction."""

    def __init__(self, X: Floats, mean: Floats, scale: Floats, fill: Floats | None) -> None:
        self.missing = np.isnan(X)
        self.values: Floats = _core.filled_rows(X, mean, scale, fill).reshape(X.shape)


def add_trees(estimator: BoostBase, X: Floats, probability: bool, trees: range, n_jobs: int, out: Floats) -> None:
    """Add the scores or probabilities of some trees to ``out``, rows × outputs, in their order."""
    forest = estimator.forest_
    rows = ScaledRows(X, estimator.feature_mean_, estimator.feature_scale_, estimator.fill_)
    seen = seen_values(rows.values, forest.model_features)
    node_models = estimator._tree_params["node_model"]
    for model, run in groupby(trees, key=lambda t: node_models[t] if forest.in_python[t] else None):
        own = list(run)
        if model is None:
            mean, scale = estimator.feature_mean_, estimator.feature_scale_
            forest.model.predict(X, mean, scale, probability, own[0], own[-1] + 1, n_jobs, out, estimator.fill_)
            continue
        fitter = fitter_for(model, seen, forest.n_outputs, estimator._task)
        # Sums in the order of the trees: the same for any number of threads.
        with fitter.limits():
            jobs = (delayed(_tree_output)(forest, t, rows, fitter, probability) for t in own)
            threads = n_jobs if fitter.predicts_on_threads else 1
            for output in Parallel(n_jobs=threads, prefer="threads", return_as="generator")(jobs):
                out += output.T


def add_out_of_bag(
    estimator: BoostBase, X: Floats, probability: bool, n_draws: int, cumulative: Floats | None, n_jobs: int,
    total: Floats, n_trees: Floats, squares: Floats | None = None,
) -> None:  # fmt: skip
    """Add the outputs of each tree to the rows that it has not drawn, and count the trees of each row."""
    for tree, seed in enumerate(estimator.tree_seeds_):
        rows = np.flatnonzero(_core.bootstrap_counts(int(seed), len(X), n_draws, cumulative) == 0)
        if len(rows) > 0:
            part = np.zeros((len(rows), total.shape[1]))
            add_trees(estimator, X[rows], probability, range(tree, tree + 1), n_jobs, part)
            total[rows] += part
            n_trees[rows] += 1
            if squares is not None:
                squares[rows] += part**2


def python_models_size(forest: ForestColumns, node_models: list[Any]) -> int:
    """Return the bytes of all models in Python."""
    nothing = np.empty((0, len(forest.seen_features)))
    size = 0
    for tree in np.flatnonzero(forest.in_python):
        fitter = fitter_for(node_models[tree], nothing, forest.n_outputs, "regression")
        models = forest.models[forest.tree_start[tree] : forest.tree_start[tree + 1]]
        size += sum(fitter.n_bytes(model) for model in models if model is not None)
    return size


def _tree_output(forest: ForestColumns, tree: int, rows: ScaledRows, fitter: NodeFitter, probability: bool) -> Floats:
    """Return scores or probabilities of all rows by one tree: outputs × rows."""
    first = int(forest.tree_start[tree])
    scores = np.zeros((forest.n_outputs, len(rows.values)))
    visits = [(node, here) for node, here in _visits(forest, tree, rows) if forest.models[node] is not None]
    asked = [(forest.models[node], here, f"node {node - first} of tree {tree}") for node, here in visits]
    for (node, here), output in zip(visits, fitter.outputs(asked), strict=True):
        scores[:, here] += np.clip(output, forest.lower[node], forest.upper[node])
    return _core.probabilities(scores).reshape(scores.shape) if probability else scores


def _visits(forest: ForestColumns, tree: int, rows: ScaledRows) -> Iterator[tuple[int, Ints]]:
    """Yield every node of a tree that rows come to, and those rows."""
    first = int(forest.tree_start[tree])
    todo = [(first, np.arange(len(rows.values), dtype=np.int32))]
    while todo:
        node, here = todo.pop()
        if len(here) == 0:
            continue
        yield node, here
        feature = forest.feature[node]
        if feature >= 0:
            left = rows.values[here, feature] <= forest.threshold[node]
            left[rows.missing[here, feature]] = bool(forest.missing_left[node])
            child = first + int(forest.left[node])
            todo += [(child + 1, here[~left]), (child, here[left])]
