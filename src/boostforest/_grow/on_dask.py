"""The rows of a Dask collection: trees are grown by the workers that have the partitions.

Workers get all features, if that is less to move than the rows of the trees; otherwise partitions are split where they
are, and the rows of a group of trees come together in the task that grows it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from .._base.arrays import TreeParams
from .._base.dask_engine import DaskEngine
from .._base.engine import Shared
from .._base.typing import Floats, Labels, Seeds
from .._features.sources import Rows, RowSource
from .data import TrainingData
from .gathered import Drawn, GrowOne, part_as_features, rows_of_tree

_SHARE = 0.25  # of the workers' memory, for the rows that were gathered for the trees of one pass, or for the table
_GROUPS_PER_WORKER = 4  # groups of trees that are grown by one task each
_MOST_PIECES = 64  # of a group of trees: more are joined first, since every piece of every group is a task
_TRIES = 4  # of a pass over the partitions, if workers are lost


class DaskRows(RowSource):
    """The partitions of a Dask collection."""

    def __init__(self, X: Any, y: Any, engine: DaskEngine) -> None:
        self._engine, self._client = engine, engine.client
        self._X, self._y = partitions(X, "X"), partitions(y, "y")
        counts = [_known_lengths(given) or self._map(_lengths, p) for given, p in ((X, self._X), (y, self._y))]
        if counts[0] != counts[1]:
            raise ValueError(
                f"X and y must have partitions of the same lengths; got {_shown(counts[0])} and {_shown(counts[1])}."
            )
        if sum(counts[0]) == 0:
            raise ValueError("X must have rows; all of its partitions are empty.")
        self._lengths = counts[0]

    @property
    def lengths(self) -> Sequence[int]:
        return self._lengths

    def read(self, part: int) -> tuple[Any, Labels]:
        table, target = self._client.gather(self._client.compute([self._X[part], self._y[part]]))
        return table, np.asarray(target)

    def take(self, table: Any, rows: Rows) -> Any:
        return _take(table, rows)

    def join(self, tables: list[Any]) -> Any:
        return _join(tables)

    def rows(self, numbers: Rows) -> tuple[Any, Labels]:
        wanted = [numbers[slice(*np.searchsorted(numbers, bounds))] - bounds[0] for bounds in pairwise(self.starts)]
        used = [part for part, own in enumerate(wanted) if len(own)]
        arguments = [(self._X[part], self._y[part], wanted[part]) for part in used]
        tables, targets = zip(*self._run(_take_both, arguments), strict=True)
        return _join(list(tables)), np.concatenate(targets)

    def labels(self) -> Labels:
        return np.unique(np.concatenate(self._map(_labels, [self._y[p] for p in self._used])))

    @cached_property
    def _used(self) -> list[int]:
        return [part for part, length in enumerate(self._lengths) if length]

    def _map(self, function: Callable[..., Any], parts: Sequence[Any]) -> list[Any]:
        return self._run(function, [(part,) for part in parts])

    def _run(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what a function makes of partitions, on the workers that have them."""
        import dask

        futures = self._client.compute([dask.delayed(function)(*own) for own in arguments])
        return [self._engine.wait(future) for future in futures]

    def grow(
        self,
        data: TrainingData,
        params: TreeParams,
        seeds: Seeds,
        grow_one: GrowOne,
        threads: int,
        progress: Callable[[int], None] | None,
    ) -> Iterator[dict[str, Any]]:
        """Grow a tree for each seed where the partitions are; see ``grow_gathered``."""
        shared = self._engine.share(replace(data, source=None, kept=None))
        memory = [worker["memory_limit"] or 2**32 for worker in self._workers] or [2**32]
        per_row = 8.0 * (data.X.shape[1] + 3)
        fits = self.n_rows * per_row <= _SHARE * min(memory)
        if fits and self.n_rows * len(memory) <= len(seeds) * data.sampling.n_draws:  # less to move
            grow = self._grow_on_whole_table(shared, params, seeds, grow_one, progress)
        else:
            at_once = max(1, int(_SHARE * sum(memory) / (per_row * data.sampling.n_draws)))
            grow = self._grow_in_passes(shared, params, seeds, grow_one, progress, at_once)
        yield from grow

    @property
    def _workers(self) -> list[dict[str, Any]]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"].values())

    def _grow_on_whole_table(
        self,
        shared: Shared,
        params: TreeParams,
        seeds: Seeds,
        grow_one: GrowOne,
        progress: Callable[[int], None] | None,
    ) -> Iterator[dict[str, Any]]:
        """Grow trees on workers that have all features, which takes less moving than the rows of many trees."""

        def features(shared: Shared) -> list[Any]:
            parts = [self._client.compute([self._X[p], self._y[p]]) for p in self._used]
            starts = [int(self.starts[p]) for p in self._used]
            return [
                self._engine.submit(_features, [shared.handle, *part], (first,), priority=1)
                for first, part in zip(starts, parts, strict=True)
            ]

        def task(a: int, b: int) -> tuple[Any, ...]:
            own = {name: values[a:b] for name, values in params.items()}
            return self.starts[[*self._used, -1]], own, seeds[a:b], grow_one

        groups = self._engine.run_in_groups(
            _grow_on_features, [shared, Shared(shared, features)], len(seeds), task, progress
        )
        for group in groups:
            yield from group

    def _grow_in_passes(
        self,
        shared: Shared,
        params: TreeParams,
        seeds: Seeds,
        grow_one: GrowOne,
        progress: Callable[[int], None] | None,
        at_once: int,
    ) -> Iterator[dict[str, Any]]:
        """Grow some trees at a time, whose rows fit into the memory of the workers."""
        from distributed import CancelledError, KilledWorker

        for first in range(0, len(seeds), at_once):
            some = slice(first, first + at_once)
            own = {name: values[some] for name, values in params.items()}
            for left in reversed(range(_TRIES)):
                try:
                    trees = self._grow_some(shared.handle, own, seeds[some], grow_one)
                    break
                except (CancelledError, KilledWorker) as error:
                    if left == 0:
                        raise RuntimeError(f"The Dask cluster has lost a task {_TRIES} times: {error}") from error
                    shared.send_again()
            yield from trees
            if progress is not None:
                progress(first + len(trees))

    def _grow_some(self, shared: Any, params: TreeParams, seeds: Seeds, grow_one: GrowOne) -> list[dict[str, Any]]:
        """Grow trees whose rows fit into the workers' memory: parts are split, groups of trees take their pieces."""
        client, submit, n = self._client, self._engine.submit, len(seeds)
        n_groups = min(n, _GROUPS_PER_WORKER * self._engine.n_workers)
        bounds = np.linspace(0, n, n_groups + 1).astype(int).tolist()
        groups = list(pairwise(bounds))
        drawn = [submit(_draw, [shared], (seeds[a:b],), priority=1) for a, b in groups]
        parts = [client.compute([self._X[p], self._y[p]]) for p in self._used]
        pieces = [  # before the next part is made, so that parts do not wait for each other in memory
            submit(_split, [shared, *part, drawn], (int(self.starts[p]), int(self.starts[p + 1])), priority=1)
            for p, part in zip(self._used, parts, strict=True)
        ]
        del parts
        size = -(-len(pieces) // _MOST_PIECES)
        if size > 1:
            joined = [pieces[i : i + size] for i in range(0, len(pieces), size)]
            pieces = [client.submit(_join_pieces, some, pure=False) for some in joined]
            del joined
        trees = []
        for g, (a, b) in enumerate(groups):
            own = [client.submit(itemgetter(g), piece, pure=False) for piece in pieces]
            task = {name: values[a:b] for name, values in params.items()}, seeds[a:b], grow_one
            trees.append(submit(_grow_group, [shared, own, drawn[g]], task))
        del pieces, own
        try:
            return [tree for group in trees for tree in self._engine.wait(group)]
        finally:
            client.cancel([group for group in trees if not group.done()], force=True)


# ------------------------------------------------------------------------------------------------- what workers do


def _lengths(part: Any) -> int:
    return len(part)


def _labels(part: Any) -> Labels:
    return np.unique(np.asarray(part))


def _take(table: Any, rows: Rows) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _join(tables: list[Any]) -> Any:
    if not hasattr(tables[0], "iloc"):
        return np.concatenate(tables)
    import pandas as pd

    return pd.concat(tables, ignore_index=True)


def _take_both(table: Any, target: Any, rows: Rows) -> tuple[Any, Labels]:
    return _take(table, rows), np.asarray(target)[rows]


def _draw(data: TrainingData, seeds: Seeds) -> list[Drawn]:
    return [Drawn(data.sampling, seed) for seed in seeds]


def _features(data: TrainingData, table: Any, target: Any, first: int) -> tuple[Floats, Floats]:
    return part_as_features(data, first, table, np.asarray(target))


def _grow_on_features(
    data: TrainingData,
    parts: list[tuple[Floats, Floats]],
    starts: Rows,
    params: TreeParams,
    seeds: Seeds,
    grow_one: GrowOne,
) -> list[dict[str, Any]]:
    """Grow trees on the rows that they draw from all parts, the first rows of which have these numbers."""
    X, y = np.empty((data.sampling.n_draws, data.X.shape[1])), np.empty(data.sampling.n_draws)  # of one tree at a time
    trees = []
    for t, seed in enumerate(seeds):
        drawn, n = Drawn(data.sampling, seed), 0
        for (part_X, part_y), bounds in zip(parts, pairwise(starts), strict=True):
            rows = drawn.within(*bounds)
            own = slice(n, n := n + len(rows))
            part_X.take(rows, axis=0, out=X[own], mode="clip")  # "raise" would take a copy first
            part_y.take(rows, out=y[own], mode="clip")
        of_tree = {name: values[t : t + 1] for name, values in params.items()}
        trees.append(grow_one(rows_of_tree(data, X[:n], y[:n], drawn.counts), of_tree, seeds[t : t + 1]))
    return trees


def _split(
    data: TrainingData, table: Any, target: Any, drawn: list[list[Drawn]], first: int, end: int
) -> list[list[tuple[Floats, Floats]]]:
    """Return the rows of a part that each tree of each group has drawn."""
    X, y = _features(data, table, target, first)
    rows = [[tree.within(first, end) for tree in group] for group in drawn]
    return [[(X[own], y[own]) for own in group] for group in rows]


def _join_pieces(pieces: list[list[list[tuple[Floats, Floats]]]]) -> list[list[tuple[Floats, Floats]]]:
    """Return what some splits have for each tree of each group, joined."""
    return [
        [
            (np.concatenate([X for X, _ in tree]), np.concatenate([y for _, y in tree]))
            for tree in zip(*own, strict=True)
        ]
        for own in zip(*pieces, strict=True)
    ]


def _grow_group(
    data: TrainingData,
    pieces: list[list[tuple[Floats, Floats]]],
    drawn: list[Drawn],
    params: TreeParams,
    seeds: Seeds,
    grow_one: GrowOne,
) -> list[dict[str, Any]]:
    trees = []
    for t, tree in enumerate(drawn):
        X, y = (np.concatenate([piece[t][i] for piece in pieces]) for i in (0, 1))
        own = {name: values[t : t + 1] for name, values in params.items()}
        trees.append(grow_one(rows_of_tree(data, X, y, tree.counts), own, seeds[t : t + 1]))
    return trees


# ------------------------------------------------------------------------------------------------- Dask collections


def is_collection(X: Any) -> bool:
    return hasattr(X, "to_delayed")


def partitions(X: Any, name: str) -> list[Any]:
    """Return the partitions of a collection; those of an array hold whole rows."""
    if not is_collection(X):
        raise TypeError(f"{name} must be a Dask array, data frame or series; got {type(X).__name__}.")
    if hasattr(X, "rechunk") and X.ndim == 2:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def _known_lengths(X: Any) -> list[int] | None:
    """Return the lengths of an array's chunks, unless they would have to be computed."""
    chunks = X.chunks[0] if hasattr(X, "rechunk") else (np.nan,)
    return None if np.isnan(chunks).any() else [int(n) for n in chunks]


def _shown(lengths: Sequence[int]) -> str:
    return f"{list(lengths[:5])}{' …' if len(lengths) > 5 else ''}"
