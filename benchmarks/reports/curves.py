"""Curves: the score against the number of base learners, or against the leaves of each."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from benchmarks.reports import text
from benchmarks.reports.results import BlockResult, Row
from benchmarks.running.problem import HIGHER_IS_BETTER


class Curves(NamedTuple):
    """Means over the repeats at every point, by dataset and learner."""

    points: list[int]
    by_dataset: dict[str, dict[str, list[float]]]
    average: dict[str, list[float]]  # over the datasets that all learners have


def points_of(row: Row) -> list[dict[str, float]]:
    """Return the metrics at every size of a finished curve."""
    return json.loads(row["curve"])


def _sizes(result: BlockResult, dataset: str, learner: str) -> list[float] | None:
    rows = [points_of(row) for row in result.rows(dataset, learner).values()]
    if not rows:
        return None
    return np.mean([[point[result.metric] for point in row] for row in rows], axis=0).tolist()


def _leaves(result: BlockResult, dataset: str, learner: str) -> list[float] | None:
    figures = [result.figure(dataset, learner, result.metric, setting) for setting in result.settings]
    return None if any(figure is None for figure in figures) else [figure.mean for figure in figures if figure]


def read(kind: str, result: BlockResult) -> Curves:
    """Return the curves of a block."""
    one = _sizes if kind == "sizes" else _leaves
    by_dataset: dict[str, dict[str, list[float]]] = {}
    for dataset in result.datasets:
        found = {name: one(result, dataset, name) for name in result.learners}
        whole = {name: values for name, values in found.items() if values is not None}
        if whole:
            by_dataset[dataset] = whole
    ranked = result.ranked(result.metric)
    common = [found for found in by_dataset.values() if all(name in found for name in ranked)]
    average = {name: np.mean([found[name] for found in common], axis=0).tolist() for name in (ranked if common else [])}
    return Curves(list(result.block.points), by_dataset, average)


def sentence(kind: str, result: BlockResult, found: Curves) -> str:
    """Say on how many datasets the base is ahead: at the largest size, or each learner with its best leaves."""
    base, sign = result.block.base, 1 if HIGHER_IS_BETTER[result.metric] else -1
    n_ahead = n = 0
    for curves in found.by_dataset.values():
        if base not in curves or len(curves) < len(result.learners):
            continue
        scores = {
            name: sign * values[-1] if kind == "sizes" else max(sign * value for value in values)
            for name, values in curves.items()
        }
        n += 1
        n_ahead += scores[base] >= max(scores.values())
    if n == 0:
        return ""
    where = f"With {found.points[-1]} base learners" if kind == "sizes" else "Each with its best number of leaves,"
    return f"{where} {base} is first, or level with the first, on {n_ahead} of {text.plural(n, 'dataset')}."
