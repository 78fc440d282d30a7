"""Results of experiments as a report needs them: figures per dataset and learner, averages, comparisons."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from boostforest_paper import data, experiments
from boostforest_paper.experiments import Block, Experiment
from boostforest_paper.reports import statistics
from boostforest_paper.reports.paper import Figure
from boostforest_paper.running import machine
from boostforest_paper.running.choose import Wish, choose_stored
from boostforest_paper.running.jobs import Job, Selection
from boostforest_paper.running.problem import HIGHER_IS_BETTER, MAIN
from boostforest_paper.running.store import Store

Row = Mapping[str, Any]
LEAST_SHARE = 0.8  # of the fits of the middle learner, for a place in averages and ranks


class Comparison(NamedTuple):
    """The base against one learner over the datasets that both have."""

    score: statistics.Score  # by the means
    better: frozenset[str]  # datasets on which the base is significantly better
    worse: frozenset[str]


class BlockResult:
    """One block: everything is found by (dataset, learner) under the names of the block's columns."""

    def __init__(self, selection: Selection, block: Block, rows: Mapping[Job, Row]) -> None:
        self.block = block
        self.task = block.task
        self.metric = MAIN[block.task]
        self.settings = selection.settings(block)
        self._rows: dict[tuple[str, str, str], dict[int, Row]] = {}
        self.failures: dict[Job, str] = {}
        self.n_wanted = self.n_done = 0
        for dataset in selection.datasets(block):
            for column in selection.columns(block):
                for setting in self.settings:
                    for repeat in range(selection.repeats):
                        self._take(selection.job(block, dataset, repeat, column, setting), column, rows)
        pairs = {(dataset, column) for dataset, column, _ in self._rows}
        self.datasets = [d for d in selection.datasets(block) if any((d, c) in pairs for c in block.learners)]
        self.learners = [c for c in block.learners if any((d, c) in pairs for d in self.datasets)]
        self.learners.sort(key=lambda name: name != block.base)  # the base first, the others as they are listed

    def _take(self, job: Job, column: str, rows: Mapping[Job, Row]) -> None:
        self.n_wanted += 1
        row = rows.get(job)
        if row is None:
            return
        if row["state"] == "done":
            self.n_done += 1
            self._rows.setdefault((job.dataset, column, job.setting), {})[job.repeat] = row
        elif row["state"] == "failed":
            self.failures[job] = row["error"]

    # --- Figures ---

    def rows(self, dataset: str, learner: str, setting: str | None = None) -> dict[int, Row]:
        """Return the finished fits of a cell by repeat."""
        return self._rows.get((dataset, learner, self.settings[0] if setting is None else setting), {})

    def values(self, dataset: str, learner: str, quantity: str, setting: str | None = None) -> dict[int, float]:
        """Return one quantity of a cell by repeat, where it is known."""
        return {
            repeat: value
            for repeat, row in self.rows(dataset, learner, setting).items()
            if (value := quantity_of(row, quantity)) is not None
        }

    def figure(self, dataset: str, learner: str, quantity: str, setting: str | None = None) -> Figure | None:
        """Return mean and standard deviation of a cell."""
        return figure_of(self.values(dataset, learner, quantity, setting).values())

    def shared_figures(self, dataset: str, quantity: str) -> list[Figure | None]:
        """Return mean and standard deviation of a line of cells over the repeats that all ranked learners share.

        Learners that are not ranked, and lines without a shared repeat, have what there is.
        """
        shared, ranked = self.shared(dataset, quantity), self.ranked(quantity)
        cells = {name: self.values(dataset, name, quantity) for name in self.learners}
        return [
            figure_of(cell[r] for r in (shared if shared and name in ranked else cell)) for name, cell in cells.items()
        ]

    def ranked(self, quantity: str) -> list[str]:
        """Return the learners that averages and ranks include: those with about as many fits as the others.

        A learner that has just begun would narrow the comparison of all others to the little it has.
        """
        counts = {c: sum(len(self.values(d, c, quantity)) for d in self.datasets) for c in self.learners}
        usual = sorted(filter(None, counts.values()))
        least = LEAST_SHARE * usual[(len(usual) - 1) // 2] if usual else 0
        return [c for c in self.learners if 0 < counts[c] >= least]

    def shared(self, dataset: str, quantity: str, setting: str | None = None) -> list[int]:
        """Return the repeats of a dataset that all ranked learners have: only these compare like with like."""
        repeats = [set(self.values(dataset, c, quantity, setting)) for c in self.ranked(quantity)]
        return sorted(set.intersection(*repeats)) if repeats else []

    def common(self, quantity: str, setting: str | None = None) -> list[str]:
        """Return the datasets that all ranked learners share a repeat of."""
        return [d for d in self.datasets if self.shared(d, quantity, setting)]

    def average(self, learner: str, quantity: str, setting: str | None = None) -> Figure | None:
        """Average the common datasets within each shared repeat; return mean and standard deviation over the repeats.

        Costs are averaged over the fits that every learner has scores of; a learner may lack them there.
        """
        judged_by = quantity if quantity in HIGHER_IS_BETTER else self.metric
        common = self.common(judged_by, setting)
        if not common or learner not in self.ranked(judged_by):
            return None
        repeats = set.intersection(*(set(self.shared(d, judged_by, setting)) for d in common))
        cells = [self.values(d, learner, quantity, setting) for d in common]
        if any(repeat not in cell for cell in cells for repeat in repeats):
            return None
        return figure_of([float(np.mean([cell[repeat] for cell in cells])) for repeat in sorted(repeats)])

    def means(self, quantity: str) -> np.ndarray:
        """Return means over the shared repeats, common datasets × ranked learners."""
        ranked = self.ranked(quantity)
        table = [
            [[self.values(d, c, quantity)[repeat] for repeat in self.shared(d, quantity)] for c in ranked]
            for d in self.common(quantity)
        ]
        return np.array([[np.mean(values) for values in row] for row in table]).reshape(-1, len(ranked))

    # --- Comparisons ---

    def average_ranks(self, quantity: str) -> dict[str, float]:
        """Return the average rank of every learner over the common datasets."""
        means = self.means(quantity)
        if not len(means):
            return {}
        table = statistics.ranks(means, HIGHER_IS_BETTER[quantity])
        return dict(zip(self.ranked(quantity), table.mean(axis=0).tolist(), strict=True))

    def friedman(self, quantity: str) -> statistics.Friedman | None:
        """Test whether the learners differ."""
        means = self.means(quantity)
        return statistics.friedman(means, HIGHER_IS_BETTER[quantity]) if len(means) else None

    def compare(self, learner: str, quantity: str) -> Comparison | None:
        """Hold the base against a learner: paired t-tests over the repeats, corrected over the datasets."""
        base = self.block.base
        if base not in self.learners or learner == base:
            return None
        pairs = {d: pair for d in self.datasets if (pair := self._pair(d, learner, quantity))}
        if not pairs:
            return None
        tests = [
            statistics.paired_p_value(*pair) if len(pair[0]) >= statistics.LEAST_REPEATS else 1.0
            for pair in pairs.values()
        ]
        adjusted = statistics.benjamini_hochberg(tests)
        sign = 1 if HIGHER_IS_BETTER[quantity] else -1
        means = {d: (float(np.mean(mine)), float(np.mean(theirs))) for d, (mine, theirs) in pairs.items()}
        gains = {
            d: sign * (means[d][0] - means[d][1]) for d, p in zip(pairs, adjusted, strict=True) if p < statistics.ALPHA
        }
        return Comparison(
            statistics.win_tie_loss(*np.array(list(means.values())).T, HIGHER_IS_BETTER[quantity]),
            frozenset(dataset for dataset, gain in gains.items() if gain > 0),
            frozenset(dataset for dataset, gain in gains.items() if gain < 0),
        )

    def _pair(self, dataset: str, learner: str, quantity: str) -> tuple[list[float], list[float]] | None:
        """Return the values of the base and of a learner in the repeats that both have."""
        base, other = (self.values(dataset, name, quantity) for name in (self.block.base, learner))
        repeats = sorted(base.keys() & other.keys())
        return ([base[r] for r in repeats], [other[r] for r in repeats]) if repeats else None

    # --- Facts ---

    def every_row(self) -> list[Row]:
        """Return all finished fits."""
        return [row for cell in self._rows.values() for row in cell.values()]

    def repeats(self) -> tuple[int, int]:
        """Return the least and the most repeats that a cell has."""
        counts = [len(cell) for cell in self._rows.values()]
        return (min(counts), max(counts)) if counts else (0, 0)


def quantity_of(row: Row, quantity: str) -> float | None:
    """Return a column of a finished fit; "train_seconds" is all of the tuning and the fit, as the paper counts."""
    return row["tune_seconds"] + row["fit_seconds"] if quantity == "train_seconds" else row[quantity]


def figure_of(values: Iterable[float]) -> Figure | None:
    """Return mean and standard deviation of some values; None without any."""
    found = list(values)
    return Figure(float(np.mean(found)), float(np.std(found)), len(found)) if found else None


@dataclass
class Result:
    """One experiment."""

    experiment: Experiment
    tuning: str
    blocks: list[BlockResult]
    left_out: dict[str, str]
    machines: list[str]

    @property
    def versions(self) -> dict[str, list[str]]:
        """Return the versions that each learner ran with."""
        found: dict[str, set[str]] = {}
        for block in self.blocks:
            for row in block.every_row():
                found.setdefault(row["learner"], set()).add(row["version"])
        return {name: sorted(versions) for name, versions in sorted(found.items())}

    @property
    def notes(self) -> list[str]:
        """Return what a reader has to know about the data."""
        names = dict.fromkeys(name for block in self.blocks for name in block.datasets)
        return [f"{name}: {data.find(name).note}" for name in names if data.find(name).note]


def read_results(store: Store, wish: Wish) -> list[Result]:
    """Read the wished experiments, or all that were ever run, in the order of the registry; none without a result."""
    rows, runs, machines = store.rows(), store.runs(), store.machines()
    stored = {(job.dataset, job.learner) for job in rows}
    wanted = wish.experiments or [name for name in experiments.EXPERIMENTS if name in runs]
    results = []
    for name in wanted:
        experiment = experiments.find(name)
        run = runs.get(experiment.name)
        tuning = wish.tuning or (run.tuning if run else experiment.tuning)
        repeats = wish.repeats or 1 + max((job.repeat for job in rows), default=0)
        one = Wish([name], wish.datasets, wish.learners, tuning, repeats)
        (selection,) = choose_stored(one, stored, run.added if run else [])
        blocks = [BlockResult(selection, block, rows) for block in selection.experiment.blocks]
        blocks = [block for block in blocks if block.learners]
        if blocks:
            used = sorted({row["machine"] for block in blocks for row in block.every_row()})
            sentences = list(dict.fromkeys(machine.sentence(machines[number]) for number in used))
            left_out = _left_out(run.left_out if run else {}, experiment)
            results.append(Result(experiment, tuning, blocks, left_out, sentences))
    return results


def _left_out(left_out: dict[str, str], experiment: Experiment) -> dict[str, str]:
    """Keep what concerns this experiment: a run may have been asked for several."""
    names = {name for block in experiment.blocks for name in (*block.datasets, *block.learners)}
    return {name: reason for name, reason in left_out.items() if name in names}
