"""What is particular to a forest of the core: growth in stages or at once, prediction, its trees."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ._bagging import LEFT_OUT, BaggingPart, Sampling
from ._base import BoostBase
from ._calibration import Calibration, fit_calibration
from ._columns import ROLES
from ._draws import tree_seeds
from ._growth import Growth, join
from ._memory import check_trees
from ._objective import Objective, OutOfBag
from ._parameters import draw_tree_params
from ._plan import read_plan
from ._pool_report import plot_pool, pool_report
from ._python_grower import TrainingData
from ._python_predict import add_out_of_bag
from ._snapshot import on_snapshot
from ._stages import StageGrower, Stages
from ._threads import n_threads
from ._tree import TreePart
from .nodes._native import FOREST_SHORTHANDS

Floats = npt.NDArray[np.float64]


class ForestPart(BaggingPart, BoostBase):
    """What is particular to a forest."""

    _tree_class: type[TreePart]
    _shorthands = FOREST_SHORTHANDS

    preset: str
    n_stages: Any
    pool: Any

    stages_: Stages
    calibration_: Calibration
    oob_losses_: Floats
    pool_report_: list[dict[str, Any]]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_bagging()
        read_plan(self)

    def _check_n_estimators(self) -> None:
        if not (isinstance(self.n_estimators, str) and self.n_estimators == "auto"):
            super()._check_n_estimators()

    def _n_trees(self) -> int:
        return int(self.n_estimators)

    def _grow_all(self, data: TrainingData, pools: dict[str, Any], kept: int) -> None:
        if kept > 0 and hasattr(self, "oob_losses_"):
            raise ValueError(
                "warm_start=True cannot add to a forest that was fitted with stages, an adaptive pool, calibration or "
                "n_estimators='auto'; set warm_start=False."
            )
        for name in ("oob_losses_", "pool_report_", "_oob_state"):
            self.__dict__.pop(name, None)
        self.calibration_ = Calibration()
        plan = read_plan(self)
        if plan.is_plain:
            super()._grow_all(data, pools, kept)
            self.stages_ = Stages((self.forest_.n_trees,), (1.0,))
            return
        if plan.budget is not None:  # groups are checked as they are grown: this is to know before the first
            params = draw_tree_params(pools, tree_seeds(self._entropy, plan.budget), self._task, self._shorthands)
            check_trees(data, params, self.dtype, n_threads(self.n_jobs), copies=2)  # groups, and the trees joined
        growth = Growth(self, data, pools, plan.budget)
        grown = StageGrower(growth, plan.budget, plan.n_stages, plan.own).grow()
        self.forest_, self.tree_seeds_, self._tree_params = join(grown.groups)
        self.stages_, self.oob_losses_ = grown.stages, np.array(grown.losses)
        if plan.own is not None:
            self.pool_report_ = pool_report(grown.trials, growth.objective)
        if plan.calibrate and grown.seen.any() and data.n_classes > 1:
            self.calibration_ = fit_calibration(plan.calibrate, growth.objective, grown.scores, grown.seen)
        self._oob_state = self.calibration_.outputs(growth.objective, grown.scores), grown.seen

    def _oob_means(self, X: Floats, sampling: Sampling) -> tuple[Floats, npt.NDArray[np.bool_]]:
        if "_oob_state" not in self.__dict__:
            return super()._oob_means(X, sampling)
        outputs, seen = self.__dict__.pop("_oob_state")
        return np.where(seen[:, None], outputs, np.nan), seen

    @on_snapshot
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
        check_is_fitted(self)
        if not hasattr(self, "pool_report_"):
            raise AttributeError("plot_pool needs a forest that was fitted with pool='adaptive' or preset='best'.")
        return plot_pool(self.pool_report_, ax)

    def _needs_out_of_bag(self) -> bool:
        return super()._needs_out_of_bag() or not read_plan(self).is_plain

    def _from_out_of_bag(self, name: str, method: str) -> Any:
        """Return what was kept of the out-of-bag rows, or say why there is nothing."""
        if name not in self.__dict__:
            raise AttributeError(
                f"{method} needs what the forest has learned out of bag: fit it with oob_score=True or preset='best'."
            )
        return self.__dict__[name]

    # --------------------------------------------------------------------------------------------------- prediction

    @property
    def n_stages_(self) -> int:
        """Stages that the forest has."""
        check_is_fitted(self)
        return len(self.stages_.steps)

    @property
    def steps_(self) -> Floats:
        """What each stage counts: 1 for the first, for the others what was best out of bag."""
        check_is_fitted(self)
        return np.array(self.stages_.steps)

    @property
    def _predicts_plainly(self) -> bool:
        return len(self.stages_.steps) == 1 and self.calibration_.is_identity

    def _tree_weights(self) -> Floats | None:
        if self.n_stages_ == 1 and self.calibration_.factor == 1.0:
            return None
        return self.stages_.tree_weights() * self.calibration_.factor

    def _mean_output(self, X: Floats, probability: bool) -> Floats:
        if self._predicts_plainly:
            return super()._mean_output(X, probability)
        means = [
            self._sum_trees(X, probability and stage == 0, slice(first, end)) / (end - first)
            for stage, (first, end) in enumerate(self.stages_.parts)
        ]
        return self._combine(means)

    def _combine(self, means: list[Floats]) -> Floats:
        """Return the output that the means of the first stages make."""
        objective = Objective(np.empty(0), getattr(self, "n_classes_", 0))
        scores = objective.scores(means[0])
        for step, mean in zip(self.stages_.steps[1:], means[1:], strict=False):
            scores = scores + step * mean
        return self.calibration_.outputs(objective, scores)

    def _staged_means(self, X: Floats, probability: bool) -> Iterator[Floats]:
        if self._predicts_plainly:
            yield from super()._staged_means(X, probability)
            return
        means: list[Floats] = []
        for stage, (first, end) in enumerate(self.stages_.parts):
            total = np.zeros((len(X), self.forest_.n_outputs))
            for t in range(first, end):
                total += self._sum_trees(X, probability and stage == 0, slice(t, t + 1))
                yield self._combine([*means, total / (t + 1 - first)])
            means.append(total / (end - first))

    def _n_fitted(self) -> int:
        return self.forest_.n_trees if self.__sklearn_is_fitted__() else 0

    def _sum_out_of_bag(self, X: Floats, sampling: Sampling) -> tuple[Floats, Floats]:
        oob = self._oob_sums(X, sampling, self._task == "classification")
        return oob.total, oob.n_trees

    def _oob_sums(self, X: Floats, sampling: Sampling, probability: bool) -> OutOfBag:
        """Add up the outputs of the trees that have not drawn a row."""
        total, squares = np.zeros((2, len(X), self.forest_.n_outputs))
        n_trees = np.zeros((len(X), 1))
        threads = n_threads(self.n_jobs)
        if self.forest_.models:
            draws = (sampling.n_draws, sampling.cumulative)
            add_out_of_bag(self, X, probability, *draws, threads, total, n_trees, squares)
        else:
            self.forest_.model.predict_oob(
                X,
                self.feature_mean_,
                self.feature_scale_,
                probability,
                self.tree_seeds_,
                sampling.n_draws,
                sampling.cumulative,
                threads,
                total,
                n_trees,
                self.fill_,
                squares,
            )
        return OutOfBag(total, squares, n_trees)

    @on_snapshot
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
        check_is_fitted(self)
        n_trees = self.forest_.n_trees
        if not isinstance(i, numbers.Integral) or not -n_trees <= int(i) < n_trees:
            raise IndexError(f"i must be the number of a tree from {-n_trees} to {n_trees - 1}; got {i!r}.")
        i %= n_trees
        params = self.tree_params_[i]
        names = self._tree_class._get_param_names()
        shared = ("dtype", "scale", "categorical_features", "max_one_hot", "missing_fill", "missing_indicator", *ROLES)
        params |= {name: getattr(self, name) for name in shared}
        tree = self._tree_class(**{name: params[name] for name in names if name in params})
        own = {
            "forest_": self.forest_.take(i),
            "tree_seeds_": self.tree_seeds_[i : i + 1],
            "_tree_params": {name: values[i : i + 1] for name, values in self._tree_params.items()},
        }
        of_forests = ("stages_", "calibration_", "pool_report_", "oob_losses_", *LEFT_OUT)
        not_shared = {*own, *of_forests, "oob_score_", "oob_prediction_", "oob_decision_function_", "_draws"}
        if self._task == "regression" and i >= self.stages_.ends[0]:
            own["target_mean_"] = 0.0  # it corrects the stages before it
        fitted = {k: v for k, v in vars(self).items() if k.endswith("_") or k.startswith("_")}
        tree.__dict__.update({k: v for k, v in fitted.items() if k not in not_shared} | own)
        return tree

    @on_snapshot
    def apply(self, X: Any) -> npt.NDArray[np.int32]:
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
        return self._leaves(X)

    @on_snapshot
    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
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
        return self._paths(X), self.forest_.tree_start.copy()
