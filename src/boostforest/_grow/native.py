"""What a fit asks of its trees, and growing them: in the core or, where the node model is Python's, in Python."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import _core
from .._base.arrays import TreeParams
from .._base.draws import tree_seeds
from .._base.memory import SMALL
from .._base.progress import Progress
from .._base.threads import BLAS_FEATURES, ONE_BLAS_THREAD
from .._base.typing import Entropy, Floats, Seeds
from .._base.validation import warn
from .._features.roles import Roles
from .._losses import OwnLoss
from .._model.columns import ForestColumns
from .._model.model import Model, Stages
from ..nodes._native import NodeModel, largest_hidden_layer, most_hidden_units, python_trees
from .data import TrainingData
from .memory import check_trees
from .parameters import draw_tree_params, encode_tree_params, largest, smallest

if TYPE_CHECKING:
    from .._base.engine import Engine

#: Trees of a forest, by their numbers, ascending.
Piece = tuple[list[int], ForestColumns]

_GROWING_AT_ONCE = 160  # trees, at the most: one on each of 64 threads, with its scratch memory


@dataclass(frozen=True, eq=False)
class Request:
    """What an estimator asks of the trees of one fit."""

    pools: dict[str, Any]  #: of the tree parameters
    shorthands: dict[str, NodeModel]  #: what the names of node models stand for
    entropy: Entropy  #: what all seeds follow from
    dtype: str  #: of the coefficients
    threads: int
    verbose: int = 0
    engine: Engine | None = None  #: of joblib, whose workers grow the trees; None: our own threads
    device: str = "cpu"  #: where trees are grown, as in the argument ``device``

    def draw(self, seeds: Seeds, task: str, changed: dict[str, Any] | None = None) -> TreeParams:
        """Draw the parameters of a tree for each seed; ``changed`` are pools instead of the request's own."""
        return draw_tree_params(self.pools | (changed or {}), seeds, task, self.shorthands)

    def warn_if_unsplittable(self, data: TrainingData) -> None:
        """Say that no tree can split, rather than silently return one model each."""
        sampling, least = data.sampling, smallest(self.pools["min_samples_leaf"])
        if least is None:
            return
        total = float(len(data.y) if sampling.weight is None else sampling.weight.sum())
        total = sampling.n_draws if sampling.bootstrap else total
        weighted = sampling.weight is not None or sampling.cumulative is not None
        batch_size = None if weighted else largest(self.pools["batch_size"])  # rows of a batch may weigh anything
        needs = f"min_samples_leaf={least} needs at least {2 * least} rows to split"
        if batch_size is not None and batch_size < min(total, 2 * least):
            warn(
                f"{needs}, and batch_size={batch_size} takes fewer: every tree is a single node model. Use a larger "
                "one, or None."
            )
        elif total < 2 * least:
            warn(
                f"{needs} (weights count), got {total:g}: every tree is a single node model. Use a smaller "
                "min_samples_leaf."
            )

    def check_device(self, data: TrainingData, asked: dict[str, Any]) -> None:
        """Refuse a device that is not there, or cannot do what is asked for."""
        if self.device != "cpu":
            from .on_device import check_request

            check_request(data, asked, self.device)

    def check_memory(self, data: TrainingData, n_trees: int, copies: int) -> None:
        """Refuse so many trees before the first is grown, if there is not enough memory for ``copies`` of them."""
        n_hidden = most_hidden_units(self.pools["node_model"], self.shorthands)
        if copies * _bytes_at_most(data, n_trees, n_hidden) <= SMALL:
            return
        params = self.draw(tree_seeds(self.entropy, n_trees), data.loss.task)
        check_trees(data, params, self.dtype, self.threads, copies)

    def grow(
        self,
        data: TrainingData,
        seeds: Seeds,
        first_number: int = 0,
        changed: dict[str, Any] | None = None,
        quiet: bool = False,
    ) -> Model:
        """Grow a tree for each seed; ``changed`` are pools instead of the request's own."""
        params = self.draw(seeds, data.loss.task, changed)
        if any(role is not None for role in vars(data.roles).values()):
            data.roles.check_fit(data.loss.n_classes, params["node_model"])
        columns = grow_trees(
            data,
            params,
            seeds,
            dtype=self.dtype,
            threads=self.threads,
            verbose=0 if quiet else self.verbose,
            first_number=first_number,
            engine=self.engine,
            device=self.device,
        )
        stages = Stages((len(seeds),))
        return Model(data.features, data.loss, columns, seeds, params, self.entropy, stages, device=self.device)


def grow_trees(
    data: TrainingData,
    params: TreeParams,
    seeds: Seeds,
    *,
    dtype: str,
    threads: int,
    verbose: int = 0,
    first_number: int = 0,
    engine: Engine | None = None,
    device: str = "cpu",
) -> ForestColumns:
    """Grow a tree for each seed; ``first_number`` is the first tree's number in messages."""
    n_hidden = largest_hidden_layer(params["node_model"])
    if _bytes_at_most(data, len(seeds), n_hidden) > SMALL:  # most tables are small, and their fits take milliseconds
        check_trees(data, params, dtype, threads)
    pieces: list[Piece] = []
    if device != "cpu":
        from .on_device import grow_where_possible

        try:
            pieces += grow_where_possible(data, params, seeds, dtype, threads, verbose, device)
        except FloatingPointError:
            raise _too_large(dtype) from None
    if in_python := python_trees(params["node_model"]):
        from .python.grower import grow_in_python, make_plans

        data = data.keeping_table()
        plans = make_plans(params, seeds, in_python, first_number, data.n_split_features)
        trees = grow_in_python(data, plans, threads, verbose)
        pieces += [([t], tree.astype(dtype)) for t, tree in zip(in_python, trees, strict=True)]
    done = {t for piece, _ in pieces for t in piece}
    if rest := [t for t in range(len(seeds)) if t not in done]:
        own = params if not done else {name: values.take(rest) for name, values in params.items()}
        pieces.append((rest, _grow_in_core(data, own, seeds[rest], dtype, threads, verbose, engine)))
    return _in_order(pieces)


def _in_order(pieces: list[Piece]) -> ForestColumns:
    if len(pieces) == 1:
        return pieces[0][1]
    trees = {t: columns.take(i) for piece, columns in pieces for i, t in enumerate(piece)}
    return ForestColumns.concatenate([trees[t] for t in range(len(trees))])


def _bytes_at_most(data: TrainingData, n_trees: int, n_hidden: float) -> float:
    """Return more bytes than trees and tables take, by a short calculation: every row a leaf."""
    n_rows, n_features = data.X.shape
    per_node = 64 + 8 * data.loss.n_outputs * (1 + max(n_features, n_hidden))
    per_tree = 2.0 * n_rows * per_node + 8.0 * n_hidden * (1 + n_features)
    return float(per_tree * (n_trees + _GROWING_AT_ONCE))


def _grow_in_core(
    data: TrainingData,
    params: TreeParams,
    seeds: Seeds,
    dtype: str,
    threads: int,
    verbose: int,
    engine: Engine | None,
) -> ForestColumns:
    progress = Progress(len(seeds)) if verbose else None
    if data.source is None and engine is None:
        columns = _core_columns(data, params, seeds, dtype, threads, progress)
    else:
        from .gathered import grow_gathered, join_in_place

        if data.source is not None:
            grow = data.source.grow or grow_gathered
            trees = grow(data, params, seeds, partial(_core_columns, dtype=dtype, threads=1), threads, progress)
        elif engine is not None:
            trees = engine.run_in_groups(
                _grow_on_worker,
                [data.shared(engine), engine.share(data.start)],
                len(seeds),
                lambda a, b: ({name: values[a:b] for name, values in params.items()}, seeds[a:b], data.roles, dtype),
                progress,
            )
        columns = join_in_place(trees, len(seeds))
    if progress is not None:
        progress.close()
    if n_unconverged := columns.pop("n_unconverged"):
        failed = f"LinearSVR failed to converge at {n_unconverged} nodes (counted once per class)"
        warn(f"{failed}: increase max_iter or tol.", ConvergenceWarning)
    _check_columns(columns, dtype)
    if dtype == "int8":
        columns["loss"] = None  # it is only looked at
    return ForestColumns(**columns, **data.kept_roles, **data.shape)


def _core_columns(
    data: TrainingData, params: TreeParams, seeds: Seeds, dtype: str, threads: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Return the columns of trees as the core has them."""
    widest = max(data.X.shape[1], largest_hidden_layer(params["node_model"]))
    with ONE_BLAS_THREAD if widest >= BLAS_FEATURES else nullcontext():
        sampling = data.sampling
        try:
            columns: dict[str, Any] = data.table(threads).grow(
                encode_tree_params(params, seeds, data.n_split_features),
                sampling.bootstrap,
                sampling.n_draws,
                sampling.cumulative,
                sampling.weight,
                sampling.balance_classes,
                threads,
                progress,
                data.roles.split_features,
                data.first_scores,
                dtype,
                data.short_thresholds,
                sampling.drawn,
                data.interactions,
            )
        except ValueError as error:
            own = data.loss.called.error if isinstance(data.loss, OwnLoss) else None
            raise (own or error) from None
    return columns


def _grow_on_worker(
    data: TrainingData, start: Floats | None, params: TreeParams, seeds: Seeds, roles: Roles, dtype: str
) -> dict[str, Any]:
    return _core_columns(replace(data, start=start, roles=roles), params, seeds, dtype, threads=1)


def _check_columns(columns: dict[str, Any], dtype: str) -> None:
    ranges_fit = dtype == "float64" or (columns["lower"].max() < np.inf and columns["upper"].min() > -np.inf)
    if not ranges_fit or not _are_finite(columns):
        raise _too_large(dtype)


def _too_large(dtype: str) -> ValueError:
    fewer = f" in dtype={dtype!r}" if dtype != "float64" else ""
    return ValueError(f"X or y has values too large to compute with{fewer}; rescale them, or use scale=True.")


def _are_finite(columns: dict[str, Any]) -> bool:
    if "exponent" in columns:
        return bool((columns["exponent"] < _core.NO_EXPONENT).all())
    return math.isfinite(columns["params"].sum(dtype=np.float64))
