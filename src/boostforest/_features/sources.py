"""Tables that do not fit into memory: parts that are read one after the other."""

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._base.typing import Labels, Longs

Rows = Longs


class RowSource(ABC):
    """A table with its target, in parts. What is learned from it does not depend on where one part ends."""

    #: Grows trees where the parts are, as ``grow_gathered`` does here; None: here.
    grow: Callable[..., Iterable[dict[str, Any]]] | None = None

    @property
    @abstractmethod
    def lengths(self) -> Sequence[int]:
        """Number of rows of each part."""

    @abstractmethod
    def read(self, part: int) -> tuple[Any, Labels]:
        """Return a part: a table as estimators take it, and the target of its rows."""

    @abstractmethod
    def take(self, table: Any, rows: Rows) -> Any:
        """Return some rows of a part's table."""

    @abstractmethod
    def join(self, tables: list[Any]) -> Any:
        """Return the rows of several tables in one."""

    @cached_property
    def starts(self) -> Rows:
        """Number of the first row of each part, and the number of all rows at the end."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return int(self.starts[-1])

    def parts(self) -> Iterator[tuple[int, int, Any, Labels]]:
        """Yield first row, end, table and target of each part that has rows."""
        for part, length in enumerate(self.lengths):
            if length > 0:
                yield int(self.starts[part]), int(self.starts[part + 1]), *self.read(part)

    def rows(self, numbers: Rows) -> tuple[Any, Labels]:
        """Return the rows with these numbers, which are ascending."""
        tables, targets = [], []
        for part in np.unique(np.searchsorted(self.starts, numbers, side="right") - 1).tolist():
            first, end = np.searchsorted(numbers, self.starts[part : part + 2])
            table, target = self.read(part)
            own = numbers[first:end] - self.starts[part]
            tables.append(self.take(table, own))
            targets.append(target[own])
        return self.join(tables), np.concatenate(targets)

    def labels(self) -> Labels:
        """Return the different values of the target, ascending."""
        found = [np.unique(target) for _, _, _, target in self.parts()]
        return np.unique(np.concatenate(found))


class ArrayRows(RowSource):
    """Arrays on disk (`np.memmap`) as a table that is read in parts.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The columns, numbers alone.
    y : ndarray of shape (n_samples,)
        The target.
    block : int, default=262144
        Rows that are read at a time.

    See Also
    --------
    ParquetRows : The same for Parquet files.

    Examples
    --------
    >>> import numpy as np
    >>> from boostforest import BoostForestRegressor
    >>> from boostforest.sources import ArrayRows
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))  # or np.load("X.npy", mmap_mode="r")
    >>> forest = BoostForestRegressor(20, random_state=0).fit(ArrayRows(X, X[:, 0] * X[:, 1]))
    >>> forest.predict(X[:5]).shape
    (5,)
    """

    def __init__(self, X: Any, y: Any, block: int = 2**18) -> None:
        if getattr(X, "ndim", 0) != 2 or getattr(y, "ndim", 0) != 1 or len(X) != len(y) or len(X) == 0:
            raise ValueError(
                f"X and y must be arrays of shapes (n, features) and (n,); got {np.shape(X)} and {np.shape(y)}."
            )
        if not isinstance(block, int) or block < 1:
            raise ValueError(f"block must be an integer of at least 1; got {block!r}.")
        self._X, self._y, self._block = X, y, block

    @cached_property
    def lengths(self) -> Sequence[int]:
        n = len(self._X)
        return [min(self._block, n - first) for first in range(0, n, self._block)]

    def read(self, part: int) -> tuple[Any, Labels]:
        own = slice(int(self.starts[part]), int(self.starts[part + 1]))
        return np.asarray(self._X[own]), np.asarray(self._y[own])

    def take(self, table: Any, rows: Rows) -> Any:
        return table[rows]

    def join(self, tables: list[Any]) -> Any:
        return np.concatenate(tables)


class ParquetRows(RowSource):
    """Parquet files as one table that is read in parts, their row groups.

    Parameters
    ----------
    path : str, path-like or list of these
        Files, patterns (`"big/*.parquet"`) or folders, in the order of their names; of a folder all `*.parquet` in it.
    target : str
        The column to predict.
    columns : list of str, default=None
        The columns to predict from; None: all others.

    See Also
    --------
    ArrayRows : The same for arrays on disk.

    Examples
    --------
    >>> from boostforest import BoostForestRegressor
    >>> from boostforest.sources import ParquetRows
    >>> rows = ParquetRows("big/*.parquet", target="price")  # doctest: +SKIP
    >>> forest = BoostForestRegressor(random_state=0).fit(rows)  # doctest: +SKIP
    """

    def __init__(self, path: Any, target: str, columns: Sequence[str] | None = None) -> None:
        import pyarrow.parquet as pq

        self.files = _parquet_files(path)
        opened = [pq.ParquetFile(file) for file in self.files]
        names = opened[0].schema_arrow.names
        for file, other in zip(self.files, opened, strict=True):
            if missing := sorted({*names} ^ {*other.schema_arrow.names}):
                raise ValueError(
                    f"path must name files of equal columns; {file} and {self.files[0]} differ: {missing}."
                )
        schema = opened[0].schema_arrow
        for file, other in zip(self.files, opened, strict=True):
            for name in names if columns is None else [*columns, target]:
                if name in names and other.schema_arrow.field(name).type != schema.field(name).type:
                    raise ValueError(
                        f"path must name files of equal columns; {name!r} is {schema.field(name).type} in "
                        f"{self.files[0]} and {other.schema_arrow.field(name).type} in {file}."
                    )
        wanted = [name for name in names if name != target] if columns is None else list(columns)
        if absent := [name for name in [target, *wanted] if name not in names]:
            raise ValueError(f"target and columns must be columns of the files, which have no {absent}.")
        self._target, self._columns = target, wanted
        self._groups: list[tuple[str, int]] = []
        self._lengths: list[int] = []
        self.n_missing_targets = 0  #: as far as the files tell without being read
        for file, other in zip(self.files, opened, strict=True):
            for group in range(other.num_row_groups):
                self._groups.append((file, group))
                about = other.metadata.row_group(group)
                self._lengths.append(about.num_rows)
                known = [about.column(j) for j in range(about.num_columns)]
                counts = [c.statistics.null_count for c in known if c.path_in_schema == target and c.statistics]
                self.n_missing_targets += sum(counts)
        if sum(self._lengths) == 0:
            raise ValueError("The files have no rows.")

    @property
    def lengths(self) -> Sequence[int]:
        return self._lengths

    def read(self, part: int) -> tuple[Any, Labels]:
        import pyarrow.parquet as pq

        file, group = self._groups[part]
        table = pq.ParquetFile(file).read_row_group(group, columns=[*self._columns, self._target])
        target = table.column(self._target)
        if target.null_count:
            raise ValueError(f"target must be complete; {self._target!r} is missing in rows of {file}.")
        return table.select(self._columns), _to_numpy(target)

    def labels(self) -> Labels:
        import pyarrow.parquet as pq

        found = [pq.read_table(file, columns=[self._target]).column(0).unique().drop_null() for file in self.files]
        return np.unique(np.concatenate([_to_numpy(some) for some in found if len(some)]))

    def take(self, table: Any, rows: Rows) -> Any:
        return table.take(rows)

    def join(self, tables: list[Any]) -> Any:
        import pyarrow as pa

        return pa.concat_tables(tables)


def _to_numpy(target: Any) -> Labels:
    """Return a target as labels or numbers, text as NumPy has it."""
    import pyarrow as pa

    if pa.types.is_dictionary(target.type):
        target = target.cast(target.type.value_type)
    if pa.types.is_decimal(target.type):
        target = target.cast(pa.float64())
    values = np.asarray(target.to_numpy(zero_copy_only=False) if isinstance(target, pa.Array) else target.to_numpy())
    return values.astype(str) if values.dtype == object else values


def _parquet_files(path: Any) -> list[str]:
    """Return the files that names, patterns and folders stand for."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    files: list[str] = []
    for name in map(str, given):
        there = Path(name)
        found = (
            [name]
            if there.is_file()
            else sorted(glob.glob(f"{glob.escape(name)}/*.parquet" if there.is_dir() else name))
        )
        if not found:
            raise FileNotFoundError(f"path must name Parquet files; there are none at {name!r}.")
        files += found
    return files
