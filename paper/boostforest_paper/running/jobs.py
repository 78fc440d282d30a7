"""Fits that an experiment asks for. A fit belongs to no experiment: several may ask for the same one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from boostforest_paper import data, learners
from boostforest_paper.experiments import LARGE, Block, Experiment


class Job(NamedTuple):
    """One fit, with its tuning, on one repeat of one dataset; these five fields name it."""

    dataset: str
    repeat: int
    learner: str
    setting: str  # "", "sizes:3,10,250" (a curve over the number of base learners) or "leaves:8" (of each tree)
    tuning: str  # "none", "random:N" or "grid"; "none" for all that have nothing to tune

    @property
    def points(self) -> list[int]:
        """Numbers of the setting."""
        return [int(value) for value in self.setting.partition(":")[2].split(",") if value]

    def __str__(self) -> str:
        setting = f", {self.setting}" if self.setting else ""
        return f"{self.learner} on {self.dataset}, repeat {self.repeat}{setting}"


class Selection(NamedTuple):
    """What is asked of an experiment."""

    experiment: Experiment
    tuning: str
    repeats: int
    usable: Mapping[str, str]  # datasets by the name in the experiment -> what stands in for it, itself as a rule
    learners: frozenset[str]  # that can be had
    repeats_of_large: int | None = None  # of large datasets, where they are fewer

    def datasets(self, block: Block) -> list[str]:
        """Return the datasets of a block that are there, under the names that they have in the store."""
        return [self.usable[name] for name in block.datasets if name in self.usable]

    def columns(self, block: Block) -> list[str]:
        """Return the learners of a block that are there."""
        return [name for name in block.learners if name in self.learners]

    def job(self, block: Block, dataset: str, repeat: int, column: str, setting: str = "") -> Job:
        """Return the fit of one cell."""
        name = block.runs(dataset, column)
        tuning = self.tuning if learners.find(name).grid is not None else "none"
        return Job(dataset, repeat, name, setting, tuning)

    def settings(self, block: Block) -> list[str]:
        """Return the settings in which every learner of a block runs."""
        if self.experiment.kind == "sizes":
            return ["sizes:" + ",".join(map(str, block.points))]
        return [f"leaves:{n}" for n in block.points] if self.experiment.kind == "leaves" else [""]

    def n_repeats(self, dataset: str) -> int:
        """Return how often a dataset is split."""
        few = self.repeats_of_large
        return self.repeats if few is None or data.find(dataset).n_rows < LARGE else few

    def jobs(self) -> Iterator[Job]:
        """Yield all fits, repeat by repeat, so that a run that is cut short has whole repeats."""
        for repeat in range(self.repeats):
            for block in self.experiment.blocks:
                for dataset in (d for d in self.datasets(block) if repeat < self.n_repeats(d)):
                    for column in self.columns(block):
                        if learners.find(column).fits(block.task, data.find(dataset).n_classes):
                            for setting in self.settings(block):
                                yield self.job(block, dataset, repeat, column, setting)


def all_jobs(selections: Iterable[Selection]) -> list[Job]:
    """Return the fits of several experiments, each once, the first repeats first."""
    jobs = dict.fromkeys(job for selection in selections for job in selection.jobs())
    return sorted(jobs, key=lambda job: job.repeat)
