"""What is specific to a forest of the core: growth in stages or at once, out-of-bag figures, its trees."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._base.draws import tree_seeds
from .._base.sampling import Sampling
from .._base.typing import Floats, Ints, Labels, Longs, Mask
from .._features.roles import ROLES
from .._grow.calibrate import fit_calibration
from .._grow.data import TrainingData
from .._grow.groups import Growth, Request
from .._grow.plan import Plan, read_plan
from .._grow.report import plot_pool, pool_report
from .._grow.staged import StageGrower
from .._model.calibration import Calibration
from .._model.model import Known, Model
from .._model.stages import Stages
from ..nodes._native import FOREST_SHORTHANDS
from .bagging import BaggingMixin
from .base import BoostEstimator, FromModel

_SHARED = ("dtype", "scale", "categorical_features", "max_one_hot", "missing_fill", "missing_indicator", *ROLES)


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
        params |= {name: getattr(self, name) for name in _SHARED}
        names = self._tree_class._get_param_names()
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
