"""Fitting forests: bagging, whatever the members are; of the core's own trees growth in stages or at once."""

import hashlib
import inspect
import numbers
from abc import abstractmethod
from collections.abc import Callable, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from .._base.draws import tree_seeds
from .._base.sampling import Sampling
from .._base.threads import ONE_BLAS_THREAD
from .._base.typing import Floats, Labels, Mask
from .._base.validation import warn
from .._features.sources import RowSource
from .._grow.adaptive import PLENTY_OF_ROWS, affordable_trees, is_slow
from .._grow.boosted import can_boost, why_not_boosted
from .._grow.calibrate import fit_calibration
from .._grow.data import TrainingData
from .._grow.far_off import bounded_targets
from .._grow.groups import Growth, draws_features
from .._grow.native import Request
from .._grow.parameters import TREE_PARAMETERS
from .._grow.report import pool_report
from .._grow.staged import LEAST_TREES, StageGrower
from .._losses import ClassTargets, Loss
from .._model.model import CALIBRATIONS, Calibration, Known, Model
from ..nodes._native import FOREST_SHORTHANDS, Ridge, has_python_models
from .arguments import BaggingArguments, ForestArguments
from .base import n_threads
from .fitted_forest import FittedForestMixin
from .scoring import check_oob_score

PRESETS: dict[str, dict[str, Any]] = {
    "best": {"n_stages": "auto", "pool": "adaptive", "calibrate": "auto", "boost": True, "dtype": "auto"},
    "fast": {"n_stages": 1, "pool": "uniform", "calibrate": "temperature", "boost": False, "dtype": "auto"},
    "paper": {"n_stages": 1, "pool": "uniform", "calibrate": False, "boost": False, "dtype": "float64"},
}
POOLS = ("uniform", "adaptive")
_MOST_DRAWS = 2**31 - 1  # of one tree: how often it has drawn a row is kept in 32 bits
_LEAST_ADAPTIVE = 80  # trees: eight for each setting of the first round, and some of what is found
_FEW_TREES = 40  # fewer: preset="best" is a single stage
_COMPACT_LEAVES = tuple(range(15, 46))  # of preset="fast", for classes from so many rows on, fewer: as usual;
_ROWS_OF_COMPACT = 450
_COMPACT_COLUMNS = 20  #   in regression on tables of many rows and columns, whose node models have many slopes
_FULL_ROWS, _LEAST_OF_FAST = 8000, 50  # a table of twice as many rows has half of the trees there, but so many
_FEW_CLASSES = 5  # have second derivatives of their own in preset="best"
_FEW_LEAVES = (8, 16, 32)  # of a tree of preset="best" in classification, to begin with
_WIDE, _MUCH_WORK = 128, 3e6  # features, and rows × features × outputs: where there is more of both,
#: the models of a tree see an eighth of the features, and its splits are looked for in a tenth
_LEAST_SEEN, _SHARE_SEEN, _SHARE_SPLIT = 64, 8, 0.1
_LAMBDAS_OF_WIDE = (1.0, 10.0, 100.0)  # with many classes, where no others are tried
_CALIBRATIONS_IN_WORDS = ", ".join(map(repr, (None, *CALIBRATIONS)))


class BaggingMixin(BaggingArguments):
    """What every forest does, be its members compiled trees or foreign estimators."""

    _member_noun: ClassVar[str] = "tree"

    def _check_bagging(self) -> None:
        """Check the arguments that all forests have."""
        self._check_n_estimators()
        if not isinstance(self.verbose, numbers.Integral) or self.verbose < 0:
            raise ValueError(f"verbose must be an integer of at least 0; got {self.verbose!r}.")
        if not isinstance(self.oob_score, bool | np.bool_):
            check_oob_score(self.oob_score)
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError("max_samples needs bootstrap=True; set it to None or bootstrap to True.")
        if not self.bootstrap and self.oob_score:
            raise ValueError(f"oob_score needs bootstrap=True: without it every {self._member_noun} has seen all rows.")
        n_threads(self.n_jobs)

    def _check_n_estimators(self) -> None:
        n = self.n_estimators
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n_estimators must be an integer of at least 1; got {n!r}.")

    def _kept_members(self, n_fitted: int) -> int:
        """Return how many members of an earlier fit stay, of those that there are."""
        if not self.warm_start or n_fitted == 0:
            return 0
        if self.n_estimators < n_fitted:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_fitted} {self._member_noun}s there are when "
                "warm_start=True."
            )
        if self.n_estimators == n_fitted:
            warn(f"Warm-start fitting without increasing n_estimators does not fit new {self._member_noun}s.")
        return n_fitted

    def _make_sampling(
        self, n_rows: int, weight: Floats | None, balance: bool, sample_weight: Floats | None
    ) -> Sampling:
        if not self.bootstrap:
            return Sampling(weight=weight)
        return Sampling(
            bootstrap=True,
            n_draws=n_bootstrap_draws(self.max_samples, n_rows),
            cumulative=None if weight is None else np.cumsum(weight),
            balance_classes=balance,
            sample_weight=sample_weight,
        )

    def _needs_out_of_bag(self) -> bool:
        return bool(self.oob_score)

    def _draws_of_all(
        self, sampling: Sampling, n_rows: int, before: tuple[Any, ...] | None, kept: int
    ) -> tuple[Any, ...] | None:
        """Return how all members were drawn, None if not alike; ``before`` says it of those that stay."""
        draws = draws_of(sampling, n_rows)
        if kept == 0 or before == draws:
            return draws
        if self._needs_out_of_bag():
            raise ValueError(
                f"oob_score needs {self._member_noun}s that were all drawn alike: with warm_start=True keep bootstrap, "
                "max_samples, sample_weight and the number of rows of the first fit."
            )
        return None

    def _warn_if_always_drawn(self, seen: Mask) -> None:
        """Say that some rows have no out-of-bag prediction; ``seen`` are those that have."""
        if not seen.all():
            noun = self._member_noun
            warn(
                f"{(~seen).sum()} rows were drawn by every {noun} and have no out-of-bag prediction: use more "
                f"{noun}s (n_estimators) or draw fewer rows (max_samples)."
            )


def draws_of(sampling: Sampling, n_rows: int) -> tuple[bool, int, int, bytes]:
    """Return how members are drawn, as models keep it."""
    weights = b"" if sampling.cumulative is None else sampling.cumulative.tobytes()
    return sampling.bootstrap, n_rows, sampling.n_draws, hashlib.sha256(weights).digest()


def n_bootstrap_draws(max_samples: Any, n_rows: int) -> int:
    """Return how many rows a replica draws; a share is one of the rows, whatever they weigh."""
    if max_samples is None:
        return n_rows
    is_number = isinstance(max_samples, numbers.Integral) and not isinstance(max_samples, bool)
    if is_number and 1 <= int(max_samples) <= _MOST_DRAWS:
        return int(max_samples)
    if isinstance(max_samples, float | np.floating) and 0 < max_samples <= 1:
        return max(1, int(float(max_samples) * n_rows))
    raise ValueError(
        f"max_samples must be None, an integer from 1 to {_MOST_DRAWS} or a float in (0, 1]; got {max_samples!r}."
    )


class ForestMixin(ForestArguments, BaggingMixin, FittedForestMixin):
    """Fitting a forest of the core's trees."""

    _shorthands = FOREST_SHORTHANDS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_bagging()
        self._plan()

    def _check_source(self, source: RowSource, y: Any, sample_weight: Any, offset: Any) -> RowSource:
        wrong = {
            "y": (y is not None, "None: the source has the target"),
            "sample_weight": (sample_weight is not None, "None: all rows of a source weigh the same"),
            "offset": (offset is not None, "None with a source of rows"),
            "bootstrap": (not self.bootstrap, "True: a tree takes the rows of a source that it draws"),
            "n_estimators": (isinstance(self.n_estimators, str), "an integer with a source of rows"),
            "warm_start": (self.warm_start, "False with a source of rows"),
            "class_weight": (
                getattr(self, "class_weight", None) not in (None, "balanced_subsample"),
                'None or "balanced_subsample" with a source of rows',
            ),
        }
        for name, (is_wrong, allowed) in wrong.items():
            if is_wrong:
                raise ValueError(f"{name} must be {allowed}.")
        if has_python_models(self.node_model):
            raise ValueError("node_model must be one of the core's with a source of rows; others need a table.")
        if named := [name for name in self._plan().asked if not name.startswith("calibrate")]:
            raise ValueError(f"{named[0]} needs a table in memory: with a source of rows a forest is a single stage.")
        return source

    def _check_n_estimators(self) -> None:
        if not (isinstance(self.n_estimators, str) and self.n_estimators == "auto"):
            super()._check_n_estimators()

    def _plan(self) -> "Plan":
        return read_plan(self, self._task)

    def _dtype(self) -> str:
        if self.dtype is None and self.interaction_cst is not None:
            return "float64"  # rounded leaf by leaf, a sum over columns would no longer be one
        return self._plan().dtype

    def _continued(self) -> Model | None:
        before = self._model if self.warm_start and self.__sklearn_is_fitted__() else None
        if before is not None:
            self._kept_members(before.n_trees)
        return before

    def _needs_out_of_bag(self) -> bool:
        return super()._needs_out_of_bag() or not self._plan().is_plain

    def _pools_for(self, pools: dict[str, Any], data: TrainingData, n_rows: int) -> dict[str, Any]:
        changed = preset_settings(self, self._plan(), data, n_rows)
        return pools | {p.name: p.pool(changed[p.name]) for p in TREE_PARAMETERS if p.name in changed}

    def _grow(self, request: Request, data: TrainingData, y: Labels, before: Model | None) -> Model:
        if before is not None and before.known.losses is not None:
            raise ValueError(
                "warm_start=True cannot add to a forest that was fitted with stages, an adaptive pool, boosted trees, "
                "calibration or n_estimators='auto'; set it before the first fit, or to False."
            )
        kept = 0 if before is None else before.n_trees
        draws = self._draws_of_all(data.sampling, len(y), None if before is None else before.draws, kept)
        plan = self._plan()
        judges = bool(self.oob_score) or not plan.is_plain
        if data.source is not None:  # every stage, and every setting that is tried, would read the whole table again
            plan = replace(plan, budget=int(self.n_estimators), n_stages=1, own=None, boost=False)
        if self.boost and (reason := why_not_boosted(data)):
            raise ValueError(f"boost=True {reason}")
        if plan.is_plain:
            model = self._grow_plainly(request, data, before)
            model = replace(model, draws=draws, calibration=Calibration(), known=Known())
            if not judges:
                return model
            oob = model.out_of_bag(data.X, data.sampling, request.threads, offset=data.offset)
            with np.errstate(invalid="ignore"):
                return self._judged(model, oob.total / oob.n_trees, oob.seen, y, data)
        if plan.budget is not None:
            searches = self.preset == "best" and plan.own is not None
            n_trees = affordable_trees(plan.budget, data, draws_features(request)) if searches else plan.budget
            plan = replace(plan, budget=n_trees)
            request.check_memory(data, n_trees, copies=2)  # groups, and the trees joined
        growth = Growth(request, data, plan.budget)
        boost = plan.boost and (bool(self.boost) or can_boost(data))  # asked for by name, it may take its time
        few_leaves = _has_few_leaves(self, plan, data.loss, len(y))
        # Products of many rows would start threads of BLAS, which go on waiting for more when there is none.
        with ONE_BLAS_THREAD if len(y) >= PLENTY_OF_ROWS else nullcontext():
            grown = StageGrower(growth, plan.budget, plan.n_stages, plan.own, boost, few_leaves).grow()
        calibration = Calibration()
        if plan.calibrate and grown.seen.any() and data.loss.n_classes > 1:
            calibration = fit_calibration(plan.calibrate, growth.objective, grown.scores, grown.seen)
        report = None if plan.own is None else pool_report(grown.trials, growth.objective)
        known = Known(losses=np.array(grown.losses), pool_report=report)
        model = replace(grown.model, draws=draws, calibration=calibration, known=known)
        outputs = np.where(grown.seen[:, None], calibration.outputs(data.loss, grown.scores, data.offset), np.nan)
        return self._judged(model, outputs, grown.seen, y, data)

    def _bounded_target(self, request: Request, data: TrainingData, before: Model | None) -> Floats | None:
        if self.preset == "paper" or self.warm_start or before is not None or data.source is not None:
            return None
        labels = bounded_targets(request, data)
        if labels is None:
            return None
        n = int(np.count_nonzero(labels != data.y))
        warn(
            f"{n} of {labels.size} targets are far off what the other rows say, and count as if they were nearer: the "
            "predictions of all other rows would suffer. preset='paper' takes all targets as they are."
        )
        return labels

    def _grow_plainly(self, request: Request, data: TrainingData, before: Model | None) -> Model:
        """Grow the trees that are not there yet, all at once."""
        kept = 0 if before is None else before.n_trees
        seeds = tree_seeds(request.entropy, self._number_of_trees(data))[kept:]
        if before is None:
            return request.grow(data, seeds)
        return before + request.grow(data, seeds, kept) if len(seeds) else before

    def _number_of_trees(self, data: TrainingData) -> int:
        """Return how many trees a single stage has: in regression on many rows the preset "fast" has fewer."""
        asked = int(self.n_estimators)
        if self.preset != "fast" or data.loss.n_classes or self.warm_start or data.source is not None:
            return asked
        return min(asked, max(_LEAST_OF_FAST, asked * _FULL_ROWS // len(data.y)))

    def _judged(self, model: Model, outputs: Floats, seen: Mask, y: Labels, data: TrainingData) -> Model:
        """Return the model with what its out-of-bag outputs tell; ``seen``: rows that have them."""
        if self.oob_score or self._plan().asked:  # otherwise nobody has asked for out-of-bag predictions
            self._warn_if_always_drawn(seen)
        return replace(model, known=self._learned_out_of_bag(model, outputs, seen, y, data))

    def _draws_of_fit(self, y: Floats, weight: Floats | None) -> tuple[Floats | None, Sampling | None]:
        model = self._fitted()
        combined, balance = self._combine_class_weight(model.loss, y, weight)
        if model.draws is None or not model.draws[0]:
            return combined, None
        sampling = self._make_sampling(len(y), combined, balance, weight)
        if tuple(model.draws) != draws_of(sampling, len(y)):
            raise ValueError(
                "X and y are the rows of the fit, so sample_weight must be that of the fit, too, and so must "
                "bootstrap, max_samples and class_weight."
            )
        return combined, sampling

    @abstractmethod
    def _learned_out_of_bag(self, model: Model, outputs: Floats, seen: Mask, y: Labels, data: TrainingData) -> Known:
        """Return what is kept of the out-of-bag outputs, added to what the model knows already."""


# -------------------------------------------------------------------------------------------------------- presets


@dataclass(frozen=True)
class Plan:
    """The arguments of a forest, with the preset's values for those that were left open and can be had."""

    budget: int | None  #: trees to grow; None: as many as it takes
    n_stages: int | str
    calibrate: Any  #: False, or how
    boost: bool  #: boosted stages, if they are worth it
    dtype: str  #: of the coefficients
    own: Set[str] | None  #: tree parameters that an adaptive pool leaves alone; None: the pool is uniform
    asked: tuple[str, ...]  #: what was asked for by name and is judged out of bag, as it is written

    @property
    def is_plain(self) -> bool:
        """Whether it is one forest of which nothing is judged out of bag."""
        is_one_forest = self.n_stages == 1 and not self.calibrate and not self.boost
        return self.budget is not None and is_one_forest and self.own is None


def read_plan(forest: Any, task: str) -> Plan:
    """Check the arguments, and that they go together; of the preset only what goes with them is taken."""
    if not isinstance(forest.preset, str) or forest.preset not in PRESETS:
        raise ValueError(f"preset must be 'best', 'fast' or 'paper'; got {forest.preset!r}.")
    preset = PRESETS[forest.preset]
    asked = {name: value for name in preset if (value := getattr(forest, name, None)) is not None}
    _check("n_stages", asked, "None, 'auto' or an integer of at least 1", _is_stages)
    _check("pool", asked, "None, 'uniform' or 'adaptive'", lambda v: isinstance(v, str) and v in POOLS)
    _check("boost", asked, "None, True or False", lambda v: isinstance(v, bool))
    _check("calibrate", asked, _CALIBRATIONS_IN_WORDS, lambda v: isinstance(v, bool | str) and v in CALIBRATIONS)
    plan = preset | dict.fromkeys(_excluded(forest), None) | asked
    plan = {name: PRESETS["paper"][name] if value is None else value for name, value in plan.items()}
    if task == "regression":
        plan["calibrate"] = False
    budget = None
    if not isinstance(forest.n_estimators, str):
        searches = plan["pool"] == "adaptive" or plan["n_stages"] != 1
        budget = int(forest.n_estimators) * (2 if forest.preset == "best" and searches else 1)
    own = _set_parameters(forest) if plan["pool"] == "adaptive" else None
    judged = {name for name in asked if plan[name] != PRESETS["paper"][name]}
    named = [f"{name}={asked[name]!r}" for name in ("pool", "n_stages", "boost", "calibrate") if name in judged]
    named += ["n_estimators='auto'"] if budget is None else []
    made = Plan(budget, plan["n_stages"], plan["calibrate"], plan["boost"], plan["dtype"], own, tuple(named))
    if named:
        _check_out_of_bag(forest, made, judged)
    return made


def _excluded(forest: Any) -> Set[str]:
    """Return the parts of a preset that other arguments exclude; without a word, as nobody has asked for them."""
    if not isinstance(getattr(forest, "loss", ""), str):
        return {"n_stages", "pool", "calibrate", "boost"}  # what it minimises is not known, only how it bends
    if forest.warm_start:
        return {"n_stages", "pool", "calibrate", "boost", "dtype"}  # no tree comes later
    if not forest.bootstrap:
        return {"n_stages", "pool", "calibrate", "boost"}  # these are decided out of bag
    n_trees = forest.n_estimators
    few = not isinstance(n_trees, str) and n_trees < _FEW_TREES
    if few or has_python_models(forest.node_model):  # those take their time
        return {"n_stages", "pool", "boost"}
    return {"boost"} if forest.monotonic_cst is not None else set()


def preset_settings(forest: Any, plan: Plan, data: TrainingData, n_rows: int) -> dict[str, Any]:
    """Return the tree parameters that the preset has of its own, unless they were set."""
    loss, settings = data.loss, _wide_settings(forest, data)
    if loss.n_classes == 0:
        large = n_rows >= _FULL_ROWS and data.X.shape[1] >= _COMPACT_COLUMNS
        if forest.preset == "fast" and large and "min_samples_leaf" not in _set_parameters(forest):
            settings["min_samples_leaf"] = _COMPACT_LEAVES
        return settings
    if isinstance(loss, ClassTargets) and forest.shared_hessian is None:
        settings["shared_hessian"] = True  # one Gram matrix for all targets
    if forest.preset == "paper":
        return settings
    few = forest.preset == "best" and loss.n_classes <= _FEW_CLASSES
    if plan.calibrate and loss.n_classes > 2 and not few and forest.shared_hessian is None:  # quick, but too cautious
        settings["shared_hessian"] = True
    large = n_rows >= _ROWS_OF_COMPACT
    if forest.preset == "fast" and large and "min_samples_leaf" not in _set_parameters(forest):
        settings["min_samples_leaf"] = _COMPACT_LEAVES
    if _has_few_leaves(forest, plan, loss, n_rows):
        settings["max_leaf_nodes"] = _FEW_LEAVES
    return settings


def _wide_settings(forest: Any, data: TrainingData) -> dict[str, Any]:
    """Return what trees of wide tables have of their own: each sees some of the features only."""
    roles = data.roles
    n_seen = data.X.shape[1] if roles.model_features is None else len(roles.model_features)
    constrained = roles.monotonic_cst is not None or roles.interactions is not None
    if forest.preset == "paper" or constrained or forest.device != "cpu":
        return {}
    if n_seen <= _WIDE or data.X.size * data.loss.n_outputs <= _MUCH_WORK or _has_levels(data):
        return {}
    own = _set_parameters(forest)
    if "node_model" in own:
        return {}
    settings = {
        "node_model": Ridge(max_features=max(n_seen // _SHARE_SEEN, _LEAST_SEEN)),
        "max_features": _SHARE_SPLIT,
    }
    if is_slow(data):
        settings["reg_lambda"] = _LAMBDAS_OF_WIDE
    return {name: value for name, value in settings.items() if name not in own}


def _has_levels(data: TrainingData) -> bool:
    """Tell whether most features have two values, or come from a sparse matrix: no feature stands for another then."""
    if data.features.sparse is not None or data.source is not None:
        return True
    X, low, high = data.X, np.fmin.reduce(data.X), np.fmax.reduce(data.X)
    varied = low < high
    has_two = ((low == X) | (high == X) | np.isnan(X)).all(axis=0)
    return bool(has_two[varied].sum() > varied.sum() / 2)


def _has_few_leaves(forest: Any, plan: Plan, loss: Loss, n_rows: int) -> bool:
    """Tell whether trees begin with few leaves: where classes are calibrated, and settings are looked for."""
    searches = forest.preset == "best" and plan.own is not None and "max_leaf_nodes" not in plan.own
    return searches and bool(plan.calibrate) and loss.n_classes > 1 and n_rows >= _ROWS_OF_COMPACT


def _check(name: str, asked: dict[str, Any], allowed: str, is_allowed: Any) -> None:
    if name in asked and not is_allowed(asked[name]):
        raise ValueError(f"{name} must be {allowed}; got {asked[name]!r}.")


def _is_stages(value: Any) -> bool:
    if isinstance(value, str):
        return value == "auto"
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1


def _check_out_of_bag(forest: Any, plan: Plan, judged: Set[str]) -> None:
    """Refuse what was asked for by name and cannot be judged out of bag."""
    reason = plan.asked[0]
    if not forest.bootstrap:
        raise ValueError(f"{reason} needs bootstrap=True: it is decided by the rows that a tree has not drawn.")
    if forest.warm_start:
        raise ValueError(f"{reason} does not go with warm_start=True: the trees depend on each other.")
    if "boost" in judged and forest.monotonic_cst is not None:
        raise ValueError("boost=True does not go with monotonic_cst: boosted trees keep no constraints.")
    if plan.budget is None:
        return
    stages = int(plan.n_stages) if "n_stages" in judged and plan.n_stages != "auto" else 1
    least = max(2 * LEAST_TREES * (stages - 1), _LEAST_ADAPTIVE if "pool" in judged else 1)
    if plan.budget < least:
        per = plan.budget // int(forest.n_estimators)
        raise ValueError(f"{reason} needs n_estimators of at least {-(-least // per)}; got {forest.n_estimators}.")


def _set_parameters(forest: Any) -> Set[str]:
    """Return the tree parameters that are not at their defaults."""
    defaults = _signature(type(forest).__init__)
    return {
        p.name
        for p in TREE_PARAMETERS
        if p.name in defaults and not _same(getattr(forest, p.name), defaults[p.name].default)
    }


@cache
def _signature(function: Callable[..., None]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.array_equal(value, default))
