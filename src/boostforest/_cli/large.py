"""Parquet files that do not fit into memory: some of their rows tell what columns hold, then all are read in parts."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._base.memory import available_memory
from .._estimator.base import MOST_JUDGES
from .._features.sources import ParquetRows
from .features import Choice, choose_features
from .messages import Refused, count_text, cut, cut_name
from .problem import make_estimator, parameters
from .sources import Source, is_parquet, keys_of_folders, parquet_files, table_of_sample
from .tables import guess_task

_COPIES = 5  # of a table that is read whole: in DuckDB, Arrow and pandas, as features, and scaled
_GROUPS, _ROWS_OF_GROUP = 16, 2_000  # of the rows that tell what columns hold


def goes_in_parts(source: Source, asked: bool | None) -> bool:
    """Tell whether a table is read in parts: if that is asked for, or it is too large to be read whole."""
    roots = _roots(source)
    if not roots or not all(map(is_parquet, roots)) or source.sql is not None:
        if asked:
            raise Refused(f"--out-of-core needs Parquet files; {source.label} is not one")
        return False
    if asked is not None:
        return asked
    n_rows, n_bytes = _size(parquet_files(roots, source.label))
    return n_rows > MOST_JUDGES and _COPIES * n_bytes > available_memory()


def _roots(source: Source) -> list[Path]:
    return [] if source.path is None else [source.path, *source.others]


def _size(files: Sequence[Path]) -> tuple[int, float]:
    """Return the rows of files, and their bytes in memory."""
    import pyarrow.parquet as pq

    found = [pq.read_metadata(file) for file in files]
    groups = [data.row_group(g) for data in found for g in range(data.num_row_groups)]
    return sum(data.num_rows for data in found), float(sum(group.total_byte_size for group in groups))


class LargeProblem:
    """What is to be learnt from files that are read in parts; as ``Problem``."""

    y = weight = None

    def __init__(
        self, source: Source, choice: Choice, task: str, drop_missing: bool, params: list[str],
        say: Callable[[str], None], arguments: dict[str, Any],
    ) -> None:  # fmt: skip
        roots = _roots(source)
        files = parquet_files(roots, source.label)
        _refuse_what_needs_memory(source, choice, drop_missing, keys_of_folders(files, roots))
        table = table_of_sample(source, _sample(files))
        choice.check(table)
        features, left_out = choose_features(table, choice)
        for name in [*features, choice.target]:
            column = table.columns[name]
            if column.text is not None and column.kind != "text" and name not in choice.categorical:
                raise Refused(
                    f"column {cut(name)} of {table.label} holds numbers as text, which are not read in parts: write "
                    f"them as numbers, or leave the column out with --drop {cut_name(name)}"
                )
        self.X = ParquetRows(files, choice.target, features)
        if n_missing := self.X.n_missing_targets:
            raise Refused(
                f"the target {cut(choice.target)} is missing in {n_missing:,} of {self.X.n_rows:,} rows of "
                f"{table.label}: complete it"
            )
        y = table.frame([choice.target])[choice.target].dropna()
        self.task, reason = guess_task(table.columns[choice.target], y, table.label, task)
        self.n_rows, self.n_features = self.X.n_rows, len(features)
        if left_out is not None:
            warnings.warn(left_out, stacklevel=2)
        say(
            f"{table.label}: {count_text(self.n_rows, 'row')}, {count_text(self.n_features, 'feature')}, read in "
            f"parts; target {cut(choice.target)}: {self.task}, {reason} among {count_text(table.n_rows, 'row')}"
        )
        if self.n_rows > MOST_JUDGES:
            say(
                f"each tree takes {MOST_JUDGES:,} rows unless --param max_samples says otherwise, {MOST_JUDGES:,} rows "
                "judge it out of bag, and the forest is a single stage"
            )
        arguments = arguments | parameters(params)
        if choice.categorical:
            text = [name for name in features if table.columns[name].kind == "text" or name in table.declared]
            arguments["categorical_features"] = [*dict.fromkeys([*choice.categorical, *text])]
        self.estimator = make_estimator(self.task, arguments)


def _refuse_what_needs_memory(source: Source, choice: Choice, drop_missing: bool, keys: set[str]) -> None:
    wrong = {
        "--weight": choice.weight is not None,
        "--drop-missing-target": drop_missing,
        "--sep": source.separator is not None,
        "--encoding": source.encoding is not None,
        "--decimal": source.decimal is not None,
    }
    for option, is_given in wrong.items():
        if is_given:
            raise Refused(f"{option} cannot be with Parquet files that are read in parts")
    if keys:
        raise Refused(
            f"the folder {source.label} has a column in names of folders, {cut(min(keys))}: write it to the files"
        )


def _sample(files: Sequence[Path]) -> Any:
    """Return the first rows of some row groups, from the first to the last."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = [(file, pq.read_metadata(file)) for file in files]
    groups = [(file, g) for file, data in opened for g in range(data.num_row_groups) if data.row_group(g).num_rows > 0]
    if not groups:
        raise Refused(f"{files[0]} has no rows")
    chosen = np.unique(np.linspace(0, len(groups) - 1, _GROUPS).round().astype(int))
    batches: list[Any] = []
    for file, group in (groups[i] for i in chosen):
        batch = next(pq.ParquetFile(file).iter_batches(_ROWS_OF_GROUP, row_groups=[group]))
        batches.append(pa.table(batch).select(batches[0].schema.names if batches else batch.schema.names))
    return pa.concat_tables(batches, promote_options="permissive")
