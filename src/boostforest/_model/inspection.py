"""Figures and tables about fitted trees, computed from their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._base.typing import Floats, Indices, Ints
from .._core import ModelKind
from .._losses.squared_error import SquaredError
from .columns import ForestColumns

if TYPE_CHECKING:
    import pandas as pd

    from .model import Model


_MAX_CONDITIONS = 10**8  # gigabytes of text
_DEEP = 1000  # levels: such a tree is a chain, whose conditions grow with the square of its depth


def gain_importances(forest: ForestColumns, weights: Floats | None = None) -> Floats:
    """Return the share of every feature in the gain of a tree, averaged over the trees that have splits."""
    return _mean_shares(_gains(forest, np.arange(forest.n_trees)), weights)


def _gains(forest: ForestColumns, member: Indices) -> Floats:
    """Return the gain of every feature in each member, members × features; ``member``: that a tree belongs to."""
    inner = forest.feature >= 0
    gain = np.zeros((int(member[-1]) + 1, forest.n_features))
    np.add.at(gain, (member[forest.tree_of_node[inner]], forest.feature[inner]), forest.gain[inner])
    return gain


def _mean_shares(gain: Floats, weights: Floats | None) -> Floats:
    total = gain.sum(axis=1)
    if not (total > 0).any():
        return np.zeros(gain.shape[1])
    of_trees = None if weights is None else weights[total > 0]
    shares: Floats = np.average(gain[total > 0] / total[total > 0, None], axis=0, weights=of_trees)
    return shares


def feature_importances(model: Model) -> Floats:
    """Return the share of every feature in the gain of the forest.

    Squared errors add up: a tree counts as much as its gain in the share of its stage, so that those that had nothing
    but noise to split on count little. Of other losses the share in each tree counts instead: where few rows are left,
    a small λ lets the gain of a single split exceed all others in the forest. Stages count as in predictions, and a bag
    of boosted trees is one member of its stage.
    """
    stages = model.stages
    members = [[(t, t + 1) for t in range(model.n_trees)]] if len(stages) == 1 else stages.members(model.seeds)
    sizes = [end - first for stage in members for first, end in stage]
    gain = _gains(model.columns, np.repeat(np.arange(len(sizes)), sizes))
    counts, steps = np.array([len(stage) for stage in members]), np.array(stages.steps)
    if model.loss.name == SquaredError.name:
        return _mean_shares(np.add.reduceat(gain, np.cumsum(counts) - counts), steps)
    return _mean_shares(gain, np.repeat(steps / counts, counts))


def _path_sums(forest: ForestColumns, models: Floats) -> Floats:
    """Add to every node's model those above it, in trees that keep them apart."""
    sums = np.nan_to_num(models)
    apart = np.flatnonzero(forest.sum_path[forest.tree_of_node] & (forest.depth > 0))
    downward = apart[np.argsort(forest.depth[apart], kind="stable")]
    levels = np.flatnonzero(np.diff(forest.depth[downward])) + 1
    for nodes in np.split(downward, levels):
        sums[nodes] += sums[forest.parent[nodes]]
    return sums


def mean_slopes(forest: ForestColumns, weights: Floats | None) -> Floats:
    """Return the mean slope of the score over training rows, outputs × features, in scaled units; clipping ignored."""
    if (forest.kind == ModelKind.HIDDEN).any():
        raise AttributeError(
            "slope_importances_ needs node models with slopes, and those on a hidden layer (ELM) have none; use "
            "feature_importances_ or sklearn.inspection.permutation_importance."
        )
    leaves = np.flatnonzero(forest.feature < 0)
    trees = forest.tree_of_node[leaves]
    rows = forest.n_samples[leaves].astype(np.float64)
    shares = rows / np.maximum(np.bincount(trees, rows, forest.n_trees), np.finfo(np.float64).tiny)[trees]
    of_leaves = shares / forest.n_trees if weights is None else shares * weights[trees]
    slopes = _path_sums(forest, forest.linear_models())[leaves, :, 1:]
    means: Floats = np.tensordot(of_leaves, slopes, axes=1)
    return means


def slope_importances(model: Model) -> Floats:
    """Return the signed mean effect of one standard deviation of each column."""
    if model.columns.models:
        raise AttributeError(
            "slope_importances_ needs linear models of the core at all nodes, and some trees have their models in "
            "Python; use feature_importances_."
        )
    f = model.features
    effects: Floats = mean_slopes(model.columns, model.tree_weights()) / f.scale * f.deviation * model.loss.unit
    if f.sparse is not None:
        effects = f.sparse.effects_by_column(effects, f.deviation)
    elif f.encoder is not None:
        effects = f.encoder.effects_by_column(effects)
    root_mean_square: Floats = np.hypot.reduce(effects, axis=0) / np.sqrt(len(effects))
    return effects.ravel() if len(effects) == 1 else root_mean_square


def decision_paths(forest: ForestColumns, leaves: Ints) -> sparse.csr_matrix:
    """Return which nodes each row visits, given its leaves: rows × nodes of the whole forest."""
    node = (leaves + forest.tree_start[:-1]).reshape(-1)
    row = np.repeat(np.arange(len(leaves)), leaves.shape[1])
    rows, nodes = [row], [node]
    while node.size:
        node = forest.parent[node]
        row, node = row[node >= 0], node[node >= 0]
        rows.append(row)
        nodes.append(node)
    at = np.array([np.concatenate(rows), np.concatenate(nodes)])
    return sparse.csr_matrix((np.ones(at.shape[1], dtype=np.int64), at), shape=(len(leaves), len(forest.feature)))


def _paths_and_rules(forest: ForestColumns, names: list[str], thresholds: Floats) -> tuple[list[str], list[str]]:
    """Return for every node the turns that lead to it and the conditions that its rows meet."""
    n, deepest, n_conditions = len(forest.feature), int(forest.depth.max(initial=0)), int(forest.depth.sum())
    if deepest > _DEEP and n_conditions > _MAX_CONDITIONS:
        raise ValueError(
            f"to_dataframe writes all conditions on the path to each node, and {n_conditions} are too many: the "
            f"trees are up to {deepest} levels deep. The columns of forest_ have the splits."
        )
    paths, rules = [""] * n, [""] * n
    for node in range(n):  # parents come before their children
        parent = forest.parent[node]
        if parent < 0:
            continue
        is_left = forest.left[parent] + forest.tree_start[forest.tree_of_node[node]] == node
        condition = f"{names[forest.feature[parent]]} {'<=' if is_left else '>'} {thresholds[parent]:.6g}"
        paths[node] = paths[parent] + ("L" if is_left else "R")
        rules[node] = f"{rules[parent]} and {condition}" if rules[parent] else condition
    return paths, rules


def _models_in_user_units(model: Model) -> tuple[Floats, Floats, Floats]:
    """Return intercept, slopes and hidden weights of every node's model for raw features and the raw target."""
    forest = model.columns
    linear, hidden = forest.linear_models(), forest.hidden_models()
    slopes = linear[:, :, 1:] / model.features.scale
    on_layer = forest.kind[forest.tree_of_node] == 2
    intercept = np.where(on_layer[:, None], hidden[:, :, 0], linear[:, :, 0] - slopes @ model.features.mean)
    root = forest.tree_start[:-1]
    bare = root[forest.sum_path & ~forest.has_model[root]]  # stands for the mean of the target
    intercept[bare] = 0.0
    slopes[bare[~on_layer[bare]]] = 0.0
    units = forest.n_inputs[forest.tree_of_node[bare]][:, None, None]
    hidden[bare, :, 1:] = np.where(
        on_layer[bare][:, None, None] & (np.arange(hidden.shape[2] - 1) < units), 0.0, np.nan
    )
    whole = ~forest.sum_path[forest.tree_of_node] | (forest.depth == 0)
    scale = model.loss.unit
    return intercept * scale + whole[:, None] * model.loss.origin, slopes * scale, hidden[:, :, 1:] * scale


def leaf_models(model: Model) -> Floats:
    """Return the whole linear model of every leaf in user units: nodes × outputs × (1 + features); clipping ignored."""
    intercept, slopes, _ = _models_in_user_units(model)
    return _path_sums(model.columns, np.concatenate([intercept[:, :, None], slopes], axis=2))


def raw_thresholds(model: Model) -> Floats:
    """Return the thresholds of all nodes in the units of the features, NaN for leaves."""
    forest, features = model.columns, model.features
    at = np.maximum(forest.feature, 0)
    return np.where(forest.feature >= 0, forest.threshold * features.scale[at] + features.mean[at], np.nan)


def _coefficients(model: Model, names: list[str]) -> dict[str, Floats]:
    """Return the columns with intercepts, slopes and hidden weights."""
    forest = model.columns
    intercept, slopes, hidden = _models_in_user_units(model)
    in_python = forest.in_python[forest.tree_of_node]
    intercept[in_python], slopes[in_python] = np.nan, np.nan
    table = {}
    for output in range(forest.n_outputs):
        label = f"_{model.loss.output_names[output]}" if forest.n_outputs > 1 else ""
        table[f"intercept{label}"] = intercept[:, output]
        if (forest.kind < ModelKind.HIDDEN).any():
            table |= {f"slope{label}_{name}": slopes[:, output, j] for j, name in enumerate(names)}
        table |= {f"hidden{label}_{k}": hidden[:, output, k] for k in range(hidden.shape[2])}
    return table


def nodes_frame(model: Model) -> pd.DataFrame:
    """Return the table that ``to_dataframe`` describes."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('to_dataframe needs pandas: pip install "boostforest[frames]".') from error
    forest = model.columns
    names = model.feature_names
    is_inner = forest.feature >= 0
    thresholds = raw_thresholds(model)
    paths, rules = _paths_and_rules(forest, names, thresholds)
    start = forest.tree_start[forest.tree_of_node]
    table: dict[str, Any] = {
        "tree": forest.tree_of_node,
        "node": np.arange(len(start)) - start,
        "parent": np.where(forest.parent < 0, -1, forest.parent - start),
        "depth": forest.depth,
        "path": paths,
        "rule": rules,
        "feature": [names[f] if f >= 0 else None for f in forest.feature],
        "threshold": thresholds,
        "missing": [
            ("left" if left else "right") if f >= 0 else None
            for f, left in zip(forest.feature, forest.missing_left, strict=True)
        ],
        "n": forest.n_samples.astype(np.float64),
        "gain": np.where(is_inner, forest.gain.astype(np.float64), np.nan),
    }
    if forest.loss is not None:
        table["loss"] = forest.loss.astype(np.float64)
    if forest.models:
        table["model"] = [None if model is None else " ".join(repr(model).split()) for model in forest.models]
    if not forest.in_python.all():
        table |= _coefficients(model, names)
    starts = (forest.depth == 0) & forest.sum_path[forest.tree_of_node]
    mean = np.where(starts, model.loss.origin, 0.0)
    table["lower"] = forest.lower.astype(np.float64) * model.loss.unit + mean
    table["upper"] = forest.upper.astype(np.float64) * model.loss.unit + mean
    return pd.DataFrame(table)
