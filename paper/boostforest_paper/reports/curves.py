"""Curves: the score against the number of base learners, or against the leaves of each."""

import json
from typing import NamedTuple

import numpy as np

from boostforest_paper.reports import text
from boostforest_paper.reports.results import BlockResult, Row
from boostforest_paper.running.problem import HIGHER_IS_BETTER


class Curves(NamedTuple):
    """Means over the repeats at every point, by dataset and learner."""

    points: list[int]
    by_dataset: dict[str, dict[str, list[float]]]
    average: dict[str, list[float]]  # over the datasets that all learners have


def points_of(row: Row) -> list[dict[str, float]]:
    """Return the metrics at every size of a finished curve."""
    return json.loads(row["curve"])


def _sizes(result: BlockResult, dataset: str, learner: str, repeats: set[int]) -> list[float] | None:
    rows = result.rows(dataset, learner)
    if not rows:
        return None
    curves = [[point[result.metric] for point in points_of(rows[repeat])] for repeat in repeats or rows]
    return np.mean(curves, axis=0).tolist()


def _leaves(result: BlockResult, dataset: str, learner: str, repeats: set[int]) -> list[float] | None:
    cells = [result.values(dataset, learner, result.metric, setting) for setting in result.settings]
    if not all(cells):
        return None
    return [float(np.mean([cell[repeat] for repeat in repeats or cell])) for cell in cells]


def read(kind: str, result: BlockResult) -> Curves:
    """Return the curves of a block, over the repeats that all ranked learners share where there are such."""
    one = _sizes if kind == "sizes" else _leaves
    ranked = result.ranked(result.metric)
    by_dataset: dict[str, dict[str, list[float]]] = {}
    for dataset in result.datasets:
        shared = set.intersection(*(set(result.shared(dataset, result.metric, s)) for s in result.settings))
        found = {name: one(result, dataset, name, shared if name in ranked else set()) for name in result.learners}
        whole = {name: values for name, values in found.items() if values is not None}
        if whole:
            by_dataset[dataset] = whole
    common = [found for found in by_dataset.values() if all(name in found for name in ranked)]
    average = {name: np.mean([found[name] for found in common], axis=0).tolist() for name in (ranked if common else [])}
    return Curves(list(result.block.points), by_dataset, average)


def sentence(kind: str, result: BlockResult, found: Curves) -> str:
    """Say on how many datasets the base is ahead: at the largest size, or each learner with its best leaves."""
    base, sign = result.block.base, 1 if HIGHER_IS_BETTER[result.metric] else -1
    ranked = result.ranked(result.metric)
    common = [
        curves for curves in found.by_dataset.values() if base in ranked and all(name in curves for name in ranked)
    ]
    if not common:
        return ""
    n_ahead = 0
    for curves in common:
        scores = {
            name: sign * curves[name][-1] if kind == "sizes" else max(sign * value for value in curves[name])
            for name in ranked
        }
        n_ahead += scores[base] >= max(scores.values())
    sizes = f"With {found.points[-1]} base learners"
    where = sizes if kind == "sizes" else "Each with the number of leaves that the test parts like best,"
    begun = len(result.block.datasets) - len(common)
    rest = f" ({begun} not finished)" if begun else ""
    datasets = text.plural(len(common), "dataset")
    return f"{where} {base} is first, or level with the first, on {n_ahead} of {datasets}{rest}."
