"""Groups of trees with their out-of-bag outputs: what stages and adaptive pools are made of."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from ._columns import ForestColumns
from ._draws import Seeds, tree_seeds
from ._objective import Floats, Objective, OutOfBag
from ._parameters import TREE_PARAMETERS, TreeParams, draw_tree_params
from ._progress import Progress
from ._python_grower import TrainingData

if TYPE_CHECKING:
    from ._forest_part import ForestPart

#: Tree parameters that differ from the estimator's own, and ``split_features``: numbers of features.
Settings = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """Trees that were grown with the same settings from the same start."""

    settings: Settings
    columns: ForestColumns
    seeds: Seeds
    params: TreeParams
    oob: OutOfBag

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.columns.n_trees


class Growth:
    """Grows groups for one fit, and numbers their trees."""

    def __init__(self, forest: ForestPart, data: TrainingData, pools: dict[str, Any], budget: int | None) -> None:
        cumulative = data.sampling.cumulative
        weight = None if cumulative is None else np.diff(cumulative, prepend=0.0)
        # Targets that count nothing may be anything: their losses must not overflow.
        y = data.y if weight is None else np.where(weight > 0, data.y, 0.0)
        self.objective = Objective(y, data.n_classes, weight)
        self.data, self._forest, self._pools = data, forest, pools
        self.n_grown = 0
        self._next_seed = 0
        self._progress = Progress(budget) if forest.verbose and budget is not None else None

    def seeds(self, n: int) -> Seeds:
        """Return seeds that no tree has had yet."""
        first, self._next_seed = self._next_seed, self._next_seed + n
        return tree_seeds(self._forest._entropy, self._next_seed)[first:]

    def grow(self, settings: Settings, seeds: Seeds, start: Floats | None = None) -> Group:
        """Grow a tree for each seed. Those that start from scores give scores, others what the forest averages."""
        forest = self._forest
        changed = {p.name: p.pool(settings[p.name]) for p in TREE_PARAMETERS if p.name in settings}
        params = draw_tree_params(self._pools | changed, seeds, forest._task, forest._shorthands)
        self.data.roles.check_fit(self.data.n_classes, params["node_model"])
        data = replace(self.data, start=start)
        if "split_features" in settings:
            data.roles = replace(data.roles, split_features=np.array(settings["split_features"], dtype=np.int32))
        columns = forest._grow(data, params, seeds, self.n_grown, quiet=True)
        columns = replace(columns, split_features=self.data.roles.split_features)
        self.n_grown += len(seeds)
        if self._progress is not None:
            self._progress(self.n_grown)
        return self._group(settings, columns, seeds, params, start is not None)

    def first_trees(self, group: Group, n: int, scores: bool = False) -> Group:
        """Return the first trees of a group."""
        if n == group.n_trees:
            return group
        params = {name: values[:n] for name, values in group.params.items()}
        return self._group(group.settings, group.columns.take(0, n), group.seeds[:n], params, scores)

    def _group(
        self, settings: Settings, columns: ForestColumns, seeds: Seeds, params: TreeParams, scores: bool
    ) -> Group:
        view = copy.copy(self._forest)  # the forest as if it had these trees alone
        view.forest_, view.tree_seeds_, view._tree_params = columns, seeds, params
        probability = self.objective.n_classes > 0 and not scores
        oob = view._oob_sums(self.data.X, self.data.sampling, probability)
        return Group(settings, columns, seeds, params, oob)

    def finish(self) -> None:
        """Close the progress bar."""
        if self._progress is not None:
            self._progress.close()


def join(groups: list[Group]) -> tuple[ForestColumns, Seeds, TreeParams]:
    """Return the trees of all groups."""
    if len(groups) == 1:
        return groups[0].columns, groups[0].seeds, groups[0].params
    columns = ForestColumns.concatenate([g.columns for g in groups])
    params = {name: [v for g in groups for v in g.params[name]] for name in groups[0].params}
    return columns, np.concatenate([g.seeds for g in groups]), params


def joint_oob(groups: list[Group]) -> OutOfBag:
    """Return the out-of-bag sums over all groups."""
    return reduce(add, (g.oob for g in groups))
