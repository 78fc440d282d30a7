"""The experiments by the paper's names, in one registry: which learners on which datasets, and how it is shown.

To add one, register it with its blocks: a block is one table or one row of pictures. ::

    from boostforest_paper.experiments import Block, experiment

    experiment("mine", "My question?", Block("regression", ("BH", "CCS"), ("BoostForest", "Ridge")))
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from boostforest_paper.names import Registry
from boostforest_paper.types import Task

Kind = Literal["table", "sizes", "leaves", "robustness", "times", "arena"]
LARGE = 1500  # rows of a dataset from which fewer repeats are enough


@dataclass(frozen=True)
class Block:
    """Learners that are compared with each other on some datasets."""

    task: Task
    datasets: tuple[str, ...]
    learners: tuple[str, ...]
    base: str = "BoostForest"  # which one the others are tested against
    title: str = ""
    points: tuple[int, ...] = ()  # sizes of the ensembles, or leaves of the trees, where that is what varies
    instead: dict[tuple[str, str], str] = field(default_factory=dict)  # (dataset, learner) -> the variant that runs

    def runs(self, dataset: str, learner: str) -> str:
        """Return the learner that runs in this cell of the table."""
        return self.instead.get((dataset, learner), learner)


@dataclass(frozen=True)
class Experiment:
    """One table or figure."""

    name: str
    question: str
    blocks: tuple[Block, ...]
    kind: Kind = "table"
    repeats: int = 10
    repeats_of_large: int | None = None  # of datasets of LARGE rows or more, where they differ
    tuning: str = "none"  # unless the command line says something else
    limit: float | None = None  # seconds after which a fit has failed, unless the command line says something else
    in_paper: bool = False  # whether the paper's figures are to stand beside ours
    note: str = ""  # what differs from the paper


EXPERIMENTS: Registry[Experiment] = Registry("experiment")
register, find = EXPERIMENTS.register, EXPERIMENTS.find


def experiment(name: str, question: str, *blocks: Block, **options: Any) -> Experiment:
    """Register an experiment; the options are the other fields of `Experiment`."""
    return register(Experiment(name, question, blocks, **options))


from boostforest_paper.experiments import beyond, missing, paper, pools, real, times, today  # noqa: E402, F401 - they fill the registry
