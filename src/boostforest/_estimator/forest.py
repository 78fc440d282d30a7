"""What is specific to a forest of the core: growth in stages or at once, out-of-bag figures, its trees."""

from __future__ import annotations

import inspect
import numbers
from abc import abstractmethod
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._base.draws import tree_seeds
from .._base.sampling import Sampling
from .._base.typing import Floats, Ints, Labels, Longs, Mask
from .._features.roles import ROLES
from .._grow.calibrate import fit_calibration
from .._grow.data import TrainingData
from .._grow.groups import Growth
from .._grow.native import Request
from .._grow.parameters import TREE_PARAMETERS
from .._grow.report import plot_pool, pool_report
from .._grow.staged import LEAST_TREES, StageGrower
from .._model.model import CALIBRATIONS, Calibration, Known, Model, Stages
from ..nodes._native import FOREST_SHORTHANDS
from .bagging import BaggingMixin
from .base import BoostEstimator
from .fitted import FromModel

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"n_stages": 1, "pool": "uniform", "calibrate": False},
    "best": {"n_stages": "auto", "pool": "adaptive", "calibrate": "auto"},
}
POOLS = ("uniform", "adaptive")
_MORE_TREES = {"paper": 1, "best": 2}  # trees that a preset grows, in multiples of n_estimators
_LEAST_ADAPTIVE = 80  # trees: eight for each setting of the first round, and some of what is found
_SHARED = ("dtype", "loss", "scale", "categorical_features", "max_one_hot", "missing_fill", "missing_indicator", *ROLES)


@dataclass(frozen=True)
class Plan:
    """The arguments of a forest, with the preset's values for those that were left open."""

    budget: int | None  #: trees to grow; None: as many as it takes
    n_stages: int | str
    calibrate: Any  #: False, or how
    own: Set[str] | None  #: tree parameters that an adaptive pool leaves alone; None: the pool is uniform

    @property
    def is_plain(self) -> bool:
        """Whether it is the paper's forest."""
        return self.budget is not None and self.n_stages == 1 and not self.calibrate and self.own is None


class ForestMixin(BaggingMixin, BoostEstimator):
    """Fitting a forest, and what it has beside its trees."""

    _tree_class: type[BoostEstimator]
    _shorthands = FOREST_SHORTHANDS

    preset: str
    n_stages: Any
    pool: Any

    # ------------------------------------------------------------------------------------------------------ fitting

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_bagging()
        self._plan()

    def _check_n_estimators(self) -> None:
        if not (isinstance(self.n_estimators, str) and self.n_estimators == "auto"):
            super()._check_n_estimators()

    def _plan(self) -> Plan:
        return read_plan(self, self._task)

    def _continued(self) -> Model | None:
        before = self._model if self.warm_start and self.__sklearn_is_fitted__() else None
        if before is not None:
            self._kept_members(before.n_trees)
        return before

    def _needs_out_of_bag(self) -> bool:
        return super()._needs_out_of_bag() or not self._plan().is_plain

    def _grow(self, request: Request, data: TrainingData, y: Labels, before: Model | None) -> Model:
        if before is not None and before.known.losses is not None:
            raise ValueError(
                "warm_start=True cannot add to a forest that was fitted with stages, an adaptive pool, calibration or "
                "n_estimators='auto'; set warm_start=False."
            )
        kept = 0 if before is None else before.n_trees
        draws = self._draws_of_all(data.sampling, len(y), None if before is None else before.draws, kept)
        plan = self._plan()
        if plan.is_plain:
            model = self._grow_plainly(request, data, before)
            model = replace(model, draws=draws, calibration=Calibration(), known=Known())
            if not self._needs_out_of_bag():
                return model
            oob = model.out_of_bag(data.X, data.sampling, request.threads)
            with np.errstate(invalid="ignore"):
                return self._judged(model, oob.total / oob.n_trees, oob.seen, y, data.sampling)
        if plan.budget is not None:
            request.check_memory(data, plan.budget, copies=2)  # groups, and the trees joined
        growth = Growth(request, data, plan.budget)
        grown = StageGrower(growth, plan.budget, plan.n_stages, plan.own).grow()
        calibration = Calibration()
        if plan.calibrate and grown.seen.any() and data.loss.n_classes > 1:
            calibration = fit_calibration(plan.calibrate, growth.objective, grown.scores, grown.seen)
        report = None if plan.own is None else pool_report(grown.trials, growth.objective)
        known = Known(losses=np.array(grown.losses), pool_report=report)
        model = replace(grown.model, draws=draws, calibration=calibration, known=known)
        outputs = np.where(grown.seen[:, None], calibration.outputs(data.loss, grown.scores), np.nan)
        return self._judged(model, outputs, grown.seen, y, data.sampling)

    def _grow_plainly(self, request: Request, data: TrainingData, before: Model | None) -> Model:
        """Grow the trees that are not there yet, all at once."""
        kept = 0 if before is None else before.n_trees
        seeds = tree_seeds(request.entropy, int(self.n_estimators))[kept:]
        if before is None:
            return request.grow(data, seeds)
        return before + request.grow(data, seeds, kept) if len(seeds) else before

    def _judged(self, model: Model, outputs: Floats, seen: Mask, y: Labels, sampling: Sampling) -> Model:
        """Return the model with what its out-of-bag outputs tell; ``seen``: rows that have them."""
        self._warn_if_always_drawn(seen)
        return replace(model, known=self._learned_out_of_bag(model, outputs, seen, y, sampling))

    @abstractmethod
    def _learned_out_of_bag(self, model: Model, outputs: Floats, seen: Mask, y: Labels, sampling: Sampling) -> Known:
        """Return what is kept of the out-of-bag outputs, added to what the model knows already."""

    # --------------------------------------------------------------------------------------------------- inspection

    stages_ = FromModel[Stages](lambda m: m.stages, "Which trees belong to which stage, and what it counts.")
    calibration_ = FromModel[Calibration](lambda m: m.calibration, "How scores become probabilities.")
    oob_score_ = FromModel[float](lambda m: m.known.score, "Score on the rows that trees have not drawn.")
    oob_losses_ = FromModel[Floats](lambda m: m.known.losses, "Out-of-bag loss after each stage.")
    pool_report_ = FromModel[list[dict[str, Any]]](lambda m: m.known.pool_report, "What an adaptive pool has tried.")

    @property
    def n_stages_(self) -> int:
        """Stages that the forest has."""
        return len(self.stages_)

    @property
    def steps_(self) -> Floats:
        """What each stage counts: 1 for the first, for the others what was best out of bag."""
        return np.array(self.stages_.steps)

    def plot_pool(self, ax: Any = None) -> Any:
        """Draw what the adaptive pool has learned; needs matplotlib (``pip install "boostforest[plot]"``).

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new picture.

        Returns
        -------
        ax : matplotlib Axes
            Bars: the change of the out-of-bag loss by each setting that was tried. Green ones are in the forest.
        """
        report = self._fitted().known.pool_report
        if report is None:
            raise AttributeError("plot_pool needs a forest that was fitted with pool='adaptive' or preset='best'.")
        return plot_pool(report, ax)

    def _staged_outputs(self, X: Any) -> Iterator[tuple[Model, Floats]]:
        model, X = self._read(X)
        for outputs in model.staged_outputs(X, self._threads()):
            yield model, outputs

    def get_tree(self, i: int) -> Any:
        """Return one tree of the forest as an estimator of its own.

        Parameters
        ----------
        i : int
            Number of the tree; negative ones count from the end.

        Returns
        -------
        tree : BoostTreeRegressor or BoostTreeClassifier
            The fitted tree, with the parameters that it has drawn.
        """
        model = self._fitted()
        n_trees = model.n_trees
        if not isinstance(i, numbers.Integral) or not -n_trees <= int(i) < n_trees:
            raise IndexError(f"i must be the number of a tree from {-n_trees} to {n_trees - 1}; got {i!r}.")
        own = model.take(int(i) % n_trees, int(i) % n_trees + 1)
        params = {name: values[0] for name, values in own.params.items()}
        names = self._tree_class._get_param_names()
        params |= {name: getattr(self, name) for name in _SHARED if name in names}
        tree = self._tree_class(**{name: params[name] for name in names if name in params})
        tree._model = own
        tree.max_features = tree.tree_params_[0]["max_features"]
        return tree

    def apply(self, X: Any) -> Ints:
        """Return the leaf that each row falls into in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees)
            Number of the leaf's node within its tree.
        """
        return self._leaves(X)[1]

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, Longs]:
        """Return the nodes that each row visits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row visits the node; the nodes of all trees, tree after tree.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree ``t`` are ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1]``.
        """
        model, paths = self._paths(X)
        return paths, model.columns.tree_start.copy()


def learned(known: Any, method: str) -> Any:
    """Return what was kept of the out-of-bag rows, or say why there is nothing."""
    if known is None:
        raise AttributeError(
            f"{method} needs what the forest has learned out of bag: fit it with oob_score=True or preset='best'."
        )
    return known


# -------------------------------------------------------------------------------------------------------- presets


def read_plan(forest: Any, task: str) -> Plan:
    """Check the arguments, and that they go together."""
    if not isinstance(forest.preset, str) or forest.preset not in PRESETS:
        raise ValueError(f"preset must be 'paper' or 'best'; got {forest.preset!r}.")
    preset = PRESETS[forest.preset]
    asked = {name: value for name in preset if (value := getattr(forest, name, None)) is not None}
    _check("n_stages", asked, "None, 'auto' or an integer of at least 1", _is_stages)
    _check("pool", asked, "None, 'uniform' or 'adaptive'", lambda v: isinstance(v, str) and v in POOLS)
    shown = ", ".join(map(repr, CALIBRATIONS))
    _check("calibrate", asked, f"None, {shown}", lambda v: isinstance(v, bool | str) and v in CALIBRATIONS)
    plan = {**preset, **asked}
    if task == "regression":
        plan["calibrate"] = False
    auto = isinstance(forest.n_estimators, str)
    budget = None if auto else int(forest.n_estimators) * _MORE_TREES[forest.preset]
    own = _set_parameters(forest) if plan["pool"] == "adaptive" else None
    made = Plan(budget, plan["n_stages"], plan["calibrate"], own)
    if not made.is_plain:
        _check_out_of_bag(forest, made, asked)
    return made


def _check(name: str, asked: dict[str, Any], allowed: str, is_allowed: Any) -> None:
    if name in asked and not is_allowed(asked[name]):
        raise ValueError(f"{name} must be {allowed}; got {asked[name]!r}.")


def _is_stages(value: Any) -> bool:
    if isinstance(value, str):
        return value == "auto"
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1


def _check_out_of_bag(forest: Any, plan: Plan, asked: dict[str, Any]) -> None:
    """Refuse what cannot be judged out of bag."""
    reasons = {
        "preset='best'": forest.preset == "best",
        "pool='adaptive'": plan.own is not None,
        f"n_stages={plan.n_stages!r}": plan.n_stages != 1,
        f"calibrate={plan.calibrate!r}": bool(plan.calibrate),
        "n_estimators='auto'": plan.budget is None,
    }
    reason = next(name for name, holds in reasons.items() if holds)
    if not forest.bootstrap:
        raise ValueError(f"{reason} needs bootstrap=True: it is decided by the rows that a tree has not drawn.")
    if forest.warm_start:
        raise ValueError(f"{reason} does not go with warm_start=True: the trees depend on each other.")
    if plan.budget is None:
        return
    stages = 1 if plan.n_stages == "auto" else int(plan.n_stages)
    least = max(2 * LEAST_TREES * (stages - 1), _LEAST_ADAPTIVE if plan.own is not None else 1)
    if plan.budget < least:
        per = _MORE_TREES[forest.preset]
        raise ValueError(f"{reason} needs n_estimators of at least {-(-least // per)}; got {forest.n_estimators}.")


def _set_parameters(forest: Any) -> Set[str]:
    """Return the tree parameters that are not at their defaults."""
    defaults = inspect.signature(type(forest).__init__).parameters
    return {
        p.name
        for p in TREE_PARAMETERS
        if p.name in defaults and not _same(getattr(forest, p.name), defaults[p.name].default)
    }


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.array_equal(value, default))
