"""Trees of a table that does not fit into memory: the rows that each one has drawn are gathered, part by part.

A tree needs no more than the rows that it has drawn, and draws are a function of its seed alone. One pass over the
parts hands every tree its rows, in memory or in files; then each tree is grown as on the whole table, to the last bit.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arrays import TreeParams
from .._base.memory import available_memory
from .._base.progress import Progress
from .._base.sampling import Sampling
from .._base.typing import Floats, Ints, Longs, Seeds
from .._features.sources import RowSource
from .data import TrainingData

_SHARE = 0.25  # of the available memory, for what was gathered and for the numbers of rows
_DENSE = 10  # a table with so many times as many rows as are drawn is counted through more slowly than draws are sorted
_MARGIN = 1.2  # room for trees that are larger than the first

GrowOne = Callable[[TrainingData, TreeParams, Seeds], dict[str, Any]]


class Drawn:
    """The rows of one tree: their numbers, and how often each was drawn."""

    def __init__(self, sampling: Sampling, seed: np.uint64) -> None:
        draws = sampling.draws(seed)
        if sampling.n_all > _DENSE * len(draws):
            self.rows, counts = np.unique(draws, return_counts=True)
        else:  # the same without sorting
            of_all = np.bincount(draws, minlength=sampling.n_all)
            self.rows = np.flatnonzero(of_all)
            counts = of_all[self.rows]
        self.counts: Ints = counts.astype(np.int32)

    def within(self, first: int, end: int) -> Longs:
        """Return the rows of a part, counted from its first."""
        a, b = np.searchsorted(self.rows, (first, end))
        return self.rows[a:b] - first


def grow_gathered(
    data: TrainingData,
    params: TreeParams,
    seeds: Seeds,
    grow_one: GrowOne,
    threads: int,
    progress: Progress | None,
) -> Iterator[dict[str, Any]]:
    """Yield the columns of a tree for each seed, grown on the rows that it draws from the data's source."""
    assert data.source is not None
    per_tree = 12.0 * data.sampling.n_draws
    at_once = max(1, int(_SHARE * available_memory() / per_tree))
    done = 0
    for first in range(0, len(seeds), at_once):
        some = seeds[first : first + at_once]
        drawn = [Drawn(data.sampling, seed) for seed in some]
        with Gathered(sum(len(d.rows) for d in drawn), data.X.shape[1]) as gathered:
            _gather(data, data.source, drawn, gathered, progress)
            counts = [own.counts for own in drawn]
            del drawn  # the numbers of the rows are not needed any more

            def grow(t: int, first: int = first, counts: Any = counts, gathered: Gathered = gathered) -> Any:
                own = {name: values[first + t : first + t + 1] for name, values in params.items()}
                tree = rows_of_tree(data, *gathered.rows(t), counts[t])
                return grow_one(tree, own, seeds[first + t : first + t + 1])

            with ThreadPoolExecutor(threads) as pool:
                for tree in pool.map(grow, range(len(some))):
                    yield tree
                    done += 1
                    if progress is not None:
                        progress(done)


class JoinedColumns:
    """Columns of trees, joined as they come: never are all trees there twice."""

    def __init__(self, n_trees: int) -> None:
        self._n_trees = n_trees
        self._columns: dict[str, Any] = {}
        self._used: dict[str, int] = {}

    def add(self, trees: dict[str, Any]) -> None:
        """Append trees; of the first ones it is seen how much room all will take."""
        share = (len(trees["tree_start"]) - 1) / self._n_trees
        for name, values in trees.items():
            if not isinstance(values, np.ndarray):
                self._columns[name] = self._columns.get(name, 0) + values
                continue
            is_start = name in ("tree_start", "hidden_start")
            n = self._used.get(name, int(is_start))
            end = n + len(values) - is_start
            if name not in self._columns:  # what is not touched costs nothing
                room = end if share == 1 else int(_MARGIN * end / share) + 1
                self._columns[name] = np.empty(room, dtype=values.dtype)
                self._columns[name][:n] = 0
            column = self._columns[name]
            if len(column) < end:
                column.resize(int(_MARGIN * end), refcheck=False)  # large arrays grow without a copy
            column[n:end] = column[n - 1] + values[1:] if is_start else values
            self._used[name] = end

    def columns(self) -> dict[str, Any]:
        """Return the columns of all trees."""
        for name, n in self._used.items():
            self._columns[name].resize(n, refcheck=False)
        return self._columns


def join_in_place(trees: Iterable[dict[str, Any]], n_trees: int) -> dict[str, Any]:
    """Return the columns of all trees."""
    joined = JoinedColumns(n_trees)
    for some in trees:
        joined.add(some)
    return joined.columns()


def rows_of_tree(data: TrainingData, X: Floats, y: Floats, counts: Ints) -> TrainingData:
    """Return the data of one tree, which has drawn these rows so often."""
    sampling = replace(data.sampling, drawn=counts, rows=None, n_all=0)
    return replace(data, X=X, y=y, sampling=sampling, source=None, kept=None)


def part_as_features(data: TrainingData, first: int, table: Any, target: Any) -> tuple[Floats, Floats]:
    """Return features and encoded target of a part; rows that the features were fitted to have those of that fit."""
    X = np.ascontiguousarray(data.features.transform(table, "BoostForest"))
    rows = data.sampling.rows
    assert rows is not None
    a, b = np.searchsorted(rows, (first, first + len(X)))
    if b > a:
        X = X if X.flags.writeable else X.copy()
        X[rows[a:b] - first] = data.X[a:b]
    return X, data.loss.encode(target)


def _gather(
    data: TrainingData, source: RowSource, drawn: list[Drawn], gathered: "Gathered", progress: Progress | None
) -> None:
    """Hand every tree its rows, in one pass over the parts."""
    reading = None if progress is None else Progress(source.n_rows, "rows read")
    for first, end, table, target in source.parts():
        X, y = part_as_features(data, first, table, target)
        for t, own in enumerate(drawn):
            rows = own.within(first, end)
            gathered.add(t, X[rows], y[rows])
        if reading is not None:
            reading(end)
    if reading is not None and progress is not None:
        reading.close()
        progress.restart()


class Gathered:
    """Rows for each tree: in memory if they are few, otherwise in temporary files."""

    def __init__(self, n_rows: int, n_features: int) -> None:
        self._n_features = n_features
        self._n_bytes = 8.0 * n_rows * (n_features + 1)
        self._in_memory = self._n_bytes <= _SHARE * available_memory()
        self._pieces: dict[int, list[tuple[Floats, Floats]]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Gathered":
        if not self._in_memory:
            free = shutil.disk_usage(tempfile.gettempdir()).free
            if self._n_bytes > free:
                raise OSError(
                    f"The rows of the trees take {self._n_bytes / 1e9:,.1f} GB in temporary files, and there are "
                    f"{free / 1e9:,.1f} GB left in {tempfile.gettempdir()}: use a smaller max_samples, fewer trees, or "
                    "another folder (TMPDIR)."
                )
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="boostforest-")))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, tree: int, X: Floats, y: Floats) -> None:
        """Add rows to those of a tree."""
        if self._in_memory:
            self._pieces.setdefault(tree, []).append((X, y))
            return
        for name, values in (("X", X), ("y", y)):
            with (self._folder / f"{tree}.{name}").open("ab") as file:
                values.tofile(file)

    def rows(self, tree: int) -> tuple[Floats, Floats]:
        """Return the rows of a tree, which are then forgotten."""
        if self._in_memory:
            pieces = self._pieces.pop(tree)
            return np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])
        X, y = (np.fromfile(file) for file in self._files(tree))
        for file in self._files(tree):
            file.unlink()
        return X.reshape(-1, self._n_features), y

    def _files(self, tree: int) -> Iterator[Path]:
        return (self._folder / f"{tree}.{name}" for name in ("X", "y"))
