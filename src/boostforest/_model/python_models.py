"""Prediction by trees whose node models are in Python."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from .. import _core
from .._base.typing import Floats, Ints
from .._core import Link
from .._features.features import Features
from ..nodes._fitters import fitter_for
from ..nodes._python import NodeFitter, seen_values
from .columns import ForestColumns


class ScaledRows:
    """Rows as the trees see them, for prediction."""

    def __init__(self, X: Floats, features: Features) -> None:
        self.missing = np.isnan(X)
        self.values: Floats = _core.filled_rows(X, features.mean, features.scale, features.fill).reshape(X.shape)


def add_trees(
    forest: ForestColumns,
    node_models: Sequence[Any],
    features: Features,
    task: str,
    X: Floats,
    link: Link,
    trees: range,
    n_jobs: int,
    out: Floats,
    offset: Floats | None = None,
) -> None:
    """Add what the link makes of the scores of some trees to ``out``, rows × outputs, in their order.

    ``offset``: what is added to the scores of each tree before, rows × outputs.
    """
    rows = ScaledRows(X, features)
    seen = seen_values(rows.values, forest.model_features)
    for model, run in groupby(trees, key=lambda t: node_models[t] if forest.in_python[t] else None):
        own = list(run)
        if model is None:
            scaling = features.mean, features.scale
            forest.model.predict(X, *scaling, link, own[0], own[-1] + 1, n_jobs, out, features.fill, offset)
            continue
        fitter = fitter_for(model, seen, forest.n_outputs, task)
        # Sums in the order of the trees: the same for any number of threads.
        with fitter.limits():
            jobs = (delayed(_tree_output)(forest, t, rows, fitter, link, offset) for t in own)
            threads = n_jobs if fitter.predicts_on_threads else 1
            for output in Parallel(n_jobs=threads, prefer="threads", return_as="generator")(jobs):
                out += output.T


def python_models_size(forest: ForestColumns, node_models: Sequence[Any]) -> int:
    """Return the bytes of all models in Python."""
    nothing = np.empty((0, len(forest.seen_features)))
    size = 0
    for tree in np.flatnonzero(forest.in_python).tolist():
        fitter = fitter_for(node_models[tree], nothing, forest.n_outputs, "regression")
        models = forest.models[forest.tree_start[tree] : forest.tree_start[tree + 1]]
        size += sum(fitter.n_bytes(model) for model in models if model is not None)
    return size


def _tree_output(
    forest: ForestColumns, tree: int, rows: ScaledRows, fitter: NodeFitter, link: Link, offset: Floats | None
) -> Floats:
    """Return what the link makes of the scores of all rows by one tree: outputs × rows."""
    first = int(forest.tree_start[tree])
    shape = forest.n_outputs, len(rows.values)
    scores = np.zeros(shape) if offset is None else np.array(offset.T, order="C")
    visits = [(node, here) for node, here in _visits(forest, tree, rows) if forest.models[node] is not None]
    asked = [(forest.models[node], here, f"node {node - first} of tree {tree}") for node, here in visits]
    for (node, here), output in zip(visits, fitter.outputs(asked), strict=True):
        scores[:, here] += np.clip(output, forest.lower[node], forest.upper[node])
    return scores if link == Link.IDENTITY else _core.outputs(scores, link).reshape(scores.shape)


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
