"""Which columns of a table are features: what the user says, and what is left out since nothing can be learnt of it."""

import re
from dataclasses import dataclass, field

import pyarrow.compute as pc

from .._features.frames import COUNTS, FEW, KEYS, MOSTLY, words_of_name
from .messages import Refused, cut, cut_name, some
from .table import Column, Table

TIMES, LISTS = "dates or times that can be read in several ways", "lists or records"
_SENTENCE = 30  # characters of a text on average


@dataclass
class Choice:
    """What the user says of the columns."""

    target: str
    drop: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    categorical: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    weight: str | None = None

    def check(self, table: Table) -> None:
        """Refuse names that the table does not have, and one column in two roles."""
        roles: dict[str, str] = {}
        options: dict[str, list[str]] = {
            "--target": [self.target], "--drop": self.drop, "--id": self.ids, "--keep": self.keep,
            "--weight": [] if self.weight is None else [self.weight], "--categorical": self.categorical,
        }  # fmt: skip
        for option, names in options.items():
            for name in names:
                known_column(table, name, option)
                before = roles.setdefault(name, option)
                if before != option and {before, option} != {"--keep", "--categorical"}:
                    raise Refused(f"{option} {cut(name)} is a column that {before} names as well")

    @property
    def others(self) -> set[str | None]:
        """Columns that are not features."""
        return {self.target, self.weight, *self.drop, *self.ids}


def known_column(table: Table, name: str, option: str) -> Column:
    """Return a column of a table by its name."""
    if name not in table.columns:
        names = list(table.columns)
        hint = one_column_hint(table)
        raise Refused(f"{option}: {table.label} has no column {cut(name)}; its columns are {some(names)}{hint}")
    return table.columns[name]


def one_column_hint(table: Table) -> str:
    """Return what may be wrong with a table of one column."""
    only = next(iter(table.columns), "")
    return ": say with --sep what separates them" if len(table.columns) == 1 and re.search(r"\W", only) else ""


# ------------------------------------------------------------------------------------------------------------ features


def choose_features(table: Table, choice: Choice) -> tuple[list[str], str | None]:
    """Return the names of the features, and what to say of those that are left out though nobody has named them."""
    left_out: dict[str, list[str]] = {}
    features = []
    for name, column in table.columns.items():
        if name in choice.others:
            continue
        reason = None if name in choice.categorical else _useless(table, column)
        if name in choice.keep and reason in (TIMES, LISTS):
            raise Refused(f"--keep {cut_name(name)}: the column holds {reason}: {_readable(name, reason)}")
        if reason is None or (name in choice.keep and reason != "nothing"):
            features.append(name)
        else:
            left_out.setdefault(reason, []).append(name)
    if not features:
        raise Refused(
            f"{table.label} has no column to learn from besides the target {cut(choice.target)}"
            + (f"; {_left_out(left_out)}" if left_out else one_column_hint(table))
        )
    return features, f"{table.label}: {_left_out(left_out)}" if left_out else None


def _left_out(left_out: dict[str, list[str]]) -> str:
    said = "left out: " + ", ".join(f"{some(names)} ({reason})" for reason, names in left_out.items())
    if left_out.keys() - {"nothing", TIMES, LISTS}:
        said += "; --keep NAME keeps a column"
    return said + (f"; {_readable(left_out[TIMES][0], TIMES)}" if TIMES in left_out else "")


def _readable(name: str, reason: str) -> str:
    shown = name if name.isidentifier() else "NAME"
    how = f"strptime({shown}, '%d/%m/%Y')" if reason == TIMES else f"{shown}[1]"
    what = "write them as 2024-12-31" if reason == TIMES else "turn them into numbers"
    return f'{what}, as in --sql "SELECT *, {how} AS {"day" if reason == TIMES else "first"} FROM …"'


def _useless(table: Table, column: Column) -> str | None:
    """Return what a column holds if nothing can be learnt from it, None for a feature."""
    if column.kind in ("empty", "time", "nested"):
        return None if column.is_time else {"empty": "nothing", "time": TIMES, "nested": LISTS}[column.kind]
    if column.kind not in ("whole", "text") or column.trouble is not None:
        return None
    words, distinct = words_of_name(column.name), column.n_distinct
    if column.kind == "whole":
        if distinct < table.n_rows or not words & (KEYS | COUNTS):
            return None
        ends = pc.min_max(column.values).as_py()
        return "identifier" if words & KEYS or ends["max"] - ends["min"] + 1 == distinct else None
    if words & KEYS and distinct == table.n_rows:
        return "identifier"
    if table.n_rows < FEW or distinct <= MOSTLY * column.n_given:
        return None
    return (
        "free text"
        if pc.mean(pc.utf8_length(column.text)).as_py() > _SENTENCE
        else "identifier or name: nearly all are different"
    )
