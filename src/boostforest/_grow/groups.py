"""Groups of trees with their out-of-bag outputs: what stages and adaptive pools are made of."""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._base.draws import tree_seeds
from .._base.progress import Progress
from .._base.typing import Floats, Seeds
from .._losses import OutOfBag
from .._model.model import Model
from ..nodes._native import Ridge
from .data import TrainingData
from .native import Request
from .objective import Objective
from .parameters import TREE_PARAMETERS

_SEEDS_AT_ONCE = 512

#: Tree parameters that differ from the estimator's own, and ``split_features``: numbers of features.
Settings = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Group:
    """Trees that were grown with the same settings from the same start."""

    settings: Settings
    model: Model
    oob: OutOfBag

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.model.n_trees


def draws_features(request: Request) -> bool:
    """Tell whether the models of a tree see some of the features only, as those of wide tables do."""
    models = request.pools["node_model"]
    return isinstance(models, list) and any(isinstance(m, Ridge) and m.max_features is not None for m in models)


class Growth:
    """Grows groups for one fit, and numbers their trees."""

    def __init__(self, request: Request, data: TrainingData, budget: int | None) -> None:
        cumulative = data.sampling.cumulative
        weight = None if cumulative is None else np.diff(cumulative, prepend=0.0)
        # Targets that count nothing may be anything: their losses must not overflow.
        y = data.y if weight is None else np.where(weight > 0, data.y.T, 0.0).T
        self.objective = Objective(data.loss, y, weight, data.offset)
        self.data, self.request = data.keeping_table(), request
        self.n_grown = 0
        self._next_seed = 0
        self._known_seeds = tree_seeds(request.entropy, _SEEDS_AT_ONCE)
        shows = request.verbose and budget is not None and data.source is None  # trees of a source have their own bar
        self._progress = Progress(budget) if shows and budget is not None else None

    def seeds(self, n: int) -> Seeds:
        """Return seeds that no tree has had yet."""
        first, self._next_seed = self._next_seed, self._next_seed + n
        if self._next_seed > len(self._known_seeds):  # more trees have the same first seeds
            self._known_seeds = tree_seeds(self.request.entropy, 2 * self._next_seed)
        return self._known_seeds[first : self._next_seed]

    def grow(self, settings: Settings, seeds: Seeds, start: Floats | None = None) -> Group:
        """Grow a tree for each seed. Those that start from scores give scores, others what the forest averages."""
        changed = {p.name: p.pool(settings[p.name]) for p in TREE_PARAMETERS if p.name in settings}
        data = replace(self.data, start=start)
        if "split_features" in settings:
            chosen = np.array(settings["split_features"], dtype=np.int32)
            data = replace(data, roles=replace(data.roles, split_features=chosen))
        model = self.request.grow(data, seeds, self.n_grown, changed, quiet=data.source is None)
        if "split_features" in settings:  # the forest that it will be a part of may split on others
            model = replace(model, columns=replace(model.columns, split_features=self.data.roles.split_features))
        self.n_grown += len(seeds)
        if self._progress is not None:
            self._progress(self.n_grown)
        return self._group(settings, model, start is not None)

    def first_trees(self, group: Group, n: int) -> Group:
        """Return the first trees of a group of the first stage."""
        return group if n == group.n_trees else self._group(group.settings, group.model.take(0, n), scores=False)

    def _group(self, settings: Settings, model: Model, scores: bool) -> Group:
        offset = None if scores else self.data.offset
        oob = model.out_of_bag(self.data.X, self.data.sampling, self.request.threads, scores, offset)
        return Group(settings, model, oob)

    def finish(self) -> None:
        """Close the progress bar."""
        if self._progress is not None:
            self._progress.close()


def joint_oob(groups: list[Group]) -> OutOfBag:
    """Return the out-of-bag sums over all groups."""
    return reduce(add, (g.oob for g in groups))
