"""The learners that experiments name, in one registry.

To add one, register a function that makes an unfitted estimator. ::

    from boostforest_paper.learners import Settings, learner

    @learner("Ridge", "scikit-learn", tasks=("regression",), grid={"alpha": [0.1, 1.0, 10.0]})
    def ridge(settings: Settings, **params):
        from sklearn.linear_model import Ridge

        return Ridge(**params)

Packages are imported inside the function: where that raises ImportError the learner is left out, and said so. A file
with these lines is enough: ``boostforest-paper run EXPERIMENT --plugin FILE.py --learners Ridge``. `imported` registers
an estimator that needs no such function.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any, Literal, NamedTuple

import numpy.typing as npt

from boostforest_paper.names import Registry
from boostforest_paper.types import Floats, Task

Params = dict[str, Any]
Grid = Mapping[str, Sequence[Any]]
Outputs = Iterator[npt.NDArray]  # probabilities or predictions of growing parts of an ensemble
# Fits the model to one part, stops when a second part says so, and returns what a later fit without a second part has
# to use, the number of rounds for example. The model must predict with these rounds afterwards.
Stop = Callable[[Any, Floats, npt.NDArray, Floats, npt.NDArray], Params]
BOTH: tuple[Task, ...] = ("classification", "regression")


class Settings(NamedTuple):
    """What an estimator is made for."""

    task: Task
    n_rows: int  # of the whole dataset: the paper's grids depend on it
    n_classes: int  # 0 for regression
    seed: int
    threads: int

    def pick(self, classifier: Any, regressor: Any) -> Any:
        """Return the one of the task."""
        return classifier if self.task == "classification" else regressor


@dataclass(frozen=True)
class Learner:
    """A learner by its name."""

    name: str
    make: Callable[..., Any]  # called with Settings and parameters; raises ImportError where it cannot be had
    package: str  # distribution, or module of one, whose version is written down
    tasks: tuple[Task, ...] = BOTH
    max_classes: int | None = None
    grid: Grid | Callable[[Settings], Grid] | None = None  # the paper's values to try; None: there is nothing to tune
    judge: Literal["validation", "oob"] = "validation"  # what chooses among the candidates
    stop: Stop | None = None
    staged: Callable[[Any, Floats, Sequence[int]], Outputs] | None = None  # outputs of the first so many members
    leaves: Callable[[int], Params] | None = None  # parameters that limit the leaves of a tree
    scales_itself: bool = False  # gets the raw table; the others get z-scored features and labels
    frames: Callable[[Any], Any] | None = None  # gives an estimator what it needs to take frames of numbers and text
    warm_up: bool = False  # it compiles itself at its first use, which no time should contain
    fixed: Params = field(default_factory=dict)  # parameters that are not tuned

    def build(self, settings: Settings, params: Params) -> Any:
        """Make an unfitted estimator."""
        return self.make(settings, **{**self.fixed, **params})

    def on_frames(self, estimator: Any) -> Any:
        """Return an estimator that takes frames as they come."""
        if self.frames is None:
            raise TypeError(f"{self.name} does not take frames of numbers and text")
        return self.frames(estimator)

    def grid_of(self, settings: Settings) -> Grid:
        """Return the values to try of the parameters that are not fixed."""
        grid = self.grid(settings) if callable(self.grid) else self.grid or {}
        return {name: values for name, values in grid.items() if name not in self.fixed}

    def fits(self, task: Task, n_classes: int) -> bool:
        """Whether it can learn such a table."""
        return task in self.tasks and (self.max_classes is None or n_classes <= self.max_classes)

    def missing(self) -> str | None:
        """Say why it cannot be had here; None if it can."""
        try:
            self.build(Settings(self.tasks[0], 100, 2 if self.tasks[0] == "classification" else 0, 0, 1), {})
        except ImportError as error:
            return str(error).split(" (")[0]  # what follows is a path of this machine
        return None

    def version(self) -> str:
        """Return the version of its package."""
        return _version(self.package)


@cache
def _version(package: str) -> str:
    """Return the version of a distribution, or of the one that brings a module of this name."""
    with suppress(PackageNotFoundError):
        return version(package)
    brings = packages_distributions().get(package)
    return version(brings[0]) if brings else "unknown"


LEARNERS: Registry[Learner] = Registry("learner")
register, find = LEARNERS.register, LEARNERS.find


def learner(name: str, package: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a learner; the options are the fields of `Learner`."""

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        register(Learner(name, make, package, **options))
        return make

    return decorate


def variant(name: str, of: str, *, tasks: tuple[Task, ...] | None = None, **fixed: Any) -> Learner:
    """Register a learner under another name, with some parameters fixed."""
    base = LEARNERS[of]
    return register(replace(base, name=name, tasks=tasks or base.tasks, fixed={**base.fixed, **fixed}))


def imported(
    name: str,
    package: str,
    path: str,
    *,
    seed: str = "random_state",
    threads: str = "n_jobs",
    needs: str = "",
    defaults: Params | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Register an estimator by where it is found.

    Parameters
    ----------
    name, package
        As of a `Learner`.
    path : str
        "module:Class", where "{}" in the name of the class is Classifier or Regressor.
    seed, threads : str
        What its parameters for these are called; "" where it has none.
    needs : str
        Another module without which it does not work.
    defaults : dict
        Parameters that it has unless something else is said; they may be tuned.
    **options
        Other fields of the `Learner`.
    """

    def make(settings: Settings, **params: Any) -> Any:
        if needs:
            import_module(needs)
        module, _, written = path.partition(":")
        found = getattr(import_module(module), written.format(settings.pick("Classifier", "Regressor")))
        given = {seed: settings.seed, threads: settings.threads, **(defaults or {}), **params}
        return found(**{key: value for key, value in given.items() if key})

    return learner(name, package, **options)(make)


from boostforest_paper.learners import baselines, boosters, forests, own, peers  # noqa: E402, F401 - they fill the registry
