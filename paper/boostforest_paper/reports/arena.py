"""All tables of an experiment as one field, whatever their task: Elo, ranks, improvability, costs, as TabArena has."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from boostforest_paper import data
from boostforest_paper.reports import statistics, text
from boostforest_paper.reports.results import Result
from boostforest_paper.reports.tables import Cell, Table, TableRow
from boostforest_paper.running.problem import HIGHER_IS_BETTER
from boostforest_paper.types import Floats, Task

ANCHOR = "RandomForest"  # has an Elo of 1000
MEASURES: dict[str, dict[Task, str]] = {
    "log-loss or RMSE": {"classification": "log_loss", "regression": "rmse"},
    "error rate or MAE": {"classification": "accuracy", "regression": "mae"},
}
LARGE = 4000  # rows
SIZES: dict[str, Callable[[int], bool]] = {
    "all tables": lambda n: True,
    f"tables of less than {LARGE:,} rows": lambda n: n < LARGE,
    f"tables of {LARGE:,} rows and more": lambda n: n >= LARGE,
}
TRAIN_SHARE = 0.8  # of the rows
HEAD = ("Elo", "95 %", "average rank", "improvability", "s per 1,000 rows", "model size")


class Field(NamedTuple):
    """Learners on the tables that all of them share."""

    learners: list[str]
    datasets: list[str]
    losses: Floats  # datasets × learners, means over the shared repeats
    seconds: Floats  # processor time for 1,000 training rows, fit and prediction: other work does not count
    n_bytes: Floats  # of the model

    def of_size(self, fits: Callable[[int], bool]) -> "Field":
        """Return the tables with such a number of rows."""
        chosen = np.array([fits(data.find(name).n_rows) for name in self.datasets], dtype=bool)
        names = [name for name, is_chosen in zip(self.datasets, chosen, strict=True) if is_chosen]
        return Field(self.learners, names, *(values[chosen] for values in self[2:]))


class Standing(NamedTuple):
    """One learner in a field."""

    name: str
    elo: float
    interval: tuple[float, float]  # 95 %, by bootstrap over the tables
    rank: float  # average
    improvability: float
    behind_base: int  # tables on which the base has the smaller loss
    seconds: float  # median over the tables
    n_bytes: float  # likewise


def read(result: Result, measure: str) -> Field:
    """Return the losses of the learners that have about as many fits as the others in every task."""
    quantities = {block.task: MEASURES[measure][block.task] for block in result.blocks}
    ranked = [set(block.ranked(quantities[block.task])) for block in result.blocks]
    names = [name for name in result.blocks[0].block.learners if all(name in some for some in ranked)]
    datasets: list[str] = []
    rows: list[list[tuple[float, float, float]]] = []
    for block in result.blocks:
        quantity = quantities[block.task]
        means, columns = block.means(quantity), block.ranked(quantity)
        for dataset, line in zip(block.common(quantity), means, strict=True):
            losses = 1 - line if HIGHER_IS_BETTER[quantity] else line
            thousands = TRAIN_SHARE * data.find(dataset).n_rows / 1000
            datasets.append(dataset)
            costs = [[block.figure(dataset, n, q) for q in ("cpu_seconds", "model_bytes")] for n in names]
            rows.append(
                [
                    (losses[columns.index(n)], s.mean / thousands if s else np.nan, b.mean if b else np.nan)
                    for n, (s, b) in zip(names, costs, strict=True)
                ]
            )
    values = np.array(rows, dtype=float).reshape(len(rows), len(names), 3)
    return Field(names, datasets, *np.moveaxis(values, 2, 0))


def standings(field: Field, base: str) -> list[Standing]:
    """Return the learners, best Elo first; none where there is nothing to compare with."""
    if ANCHOR not in field.learners or len(field.learners) < 2 or not field.datasets:
        return []
    anchor = field.learners.index(ANCHOR)
    elos, intervals = statistics.elo(field.losses, anchor), statistics.elo_intervals(field.losses, anchor)
    ranks = statistics.ranks(field.losses, higher_is_better=False).mean(axis=0)
    gaps = statistics.improvability(field.losses)
    first = field.losses[:, [field.learners.index(base)]] if base in field.learners else np.full((1, 1), np.nan)
    behind = (first < field.losses).sum(axis=0)
    seconds, n_bytes = np.median(field.seconds, axis=0), np.median(field.n_bytes, axis=0)
    found = [
        Standing(*values)
        for values in zip(
            field.learners, elos, map(tuple, intervals.T), ranks, gaps, behind, seconds, n_bytes, strict=True
        )
    ]
    return sorted(found, key=lambda standing: -standing.elo)


def tables(result: Result) -> Iterator[Table]:
    """Yield a table per measure and size."""
    base = result.blocks[0].block.base
    for measure in MEASURES:
        whole = read(result, measure)
        for size, fits in SIZES.items():
            field = whole.of_size(fits)
            found = standings(field, base)
            if found:
                n = text.plural(len(field.datasets), "table")
                head = [*HEAD[:4], f"{base} better", *HEAD[4:]]
                lines = [_line(standing, base, found) for standing in found]
                yield Table(f"{measure}, {size} ({n})", head, lines, corner="learner")


def _line(standing: Standing, base: str, all_of_them: list[Standing]) -> TableRow:
    best_rank, best_gap = min(s.rank for s in all_of_them), min(s.improvability for s in all_of_them)
    cells = [
        Cell(f"{standing.elo:.0f}", standing is all_of_them[0]),
        Cell("{:.0f} to {:.0f}".format(*standing.interval)),
        Cell(f"{standing.rank:.2f}", standing.rank == best_rank),
        Cell(f"{100 * standing.improvability:.1f} %", standing.improvability == best_gap),
        Cell("" if standing.name == base else str(standing.behind_base)),
        Cell("–" if np.isnan(standing.seconds) else text.seconds(standing.seconds)),
        Cell("–" if np.isnan(standing.n_bytes) else text.size(standing.n_bytes)),
    ]
    for cell in cells:
        cell.is_base = standing.name == base
    return TableRow(standing.name, cells)


LEGEND = (
    f"Elo by Bradley–Terry from who has the smaller loss on which table, {ANCHOR} = 1000; intervals by bootstrap over "
    "the tables. Improvability: by which share of its loss a learner is behind the best one of a table, the mean over "
    "tables. The next column says on how many tables the learner named there has the smaller loss. Processor "
    "time of fit and prediction per 1,000 training rows and length of the pickle are medians over tables."
)
