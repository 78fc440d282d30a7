"""A table, and what its columns hold: numbers as people write them, dates, truth values, text."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from .messages import Refused, count_text, cut, cut_name
from .written_numbers import NO_NUMBER, Readings, ambiguous, is_number, read_numbers

# What pandas takes for a missing value, as well.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
_DAYS = (
    "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%Y.%m.%d", "%d-%b-%Y",
    "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %H:%M")
_HAS_YEAR = (
    r"\d{4}|\d\D\d{1,2}\D\d\d|^\d+:\d\d|-\w+-"  # or is a time; 1 2 3 is neither, though DuckDB reads it as a date
)
_THOUSANDS = r"^[-+]?[1-9]\d{0,2}(\.\d{3})+$"  # 1.234: one and a bit, or with a decimal comma more than a thousand
_SPACES = " \t\n\r\v\f\u00a0"
MOST_TEXT = 0.5  # a text column with more numbers than this share is a column of numbers with something in it


@dataclass
class Column:
    """What a column holds."""

    name: str
    kind: str  #: "whole", "number", "truth", "time", "text", "nested" or "empty"
    values: Any  #: of Arrow
    text: Any = None  #: the text of the file, if it was read as text
    readings: Readings | None = None  #: numbers that are not written as computers do
    decimal: str | None = None  #: the sign that these are read with
    trouble: Refused | None = None  #: what the user has to decide before the column can be used
    n_marks: int = 0  #: signs such as "-" or "?", which are missing values in a column of numbers

    @property
    def is_number(self) -> bool:
        """Whether it can be used as a number."""
        return self.kind in ("whole", "number", "truth")

    @property
    def is_time(self) -> bool:
        """Whether it can be used as dates, times of a day or durations."""
        return self.kind == "time" and bool(pa.types.is_temporal(self.values.type))

    @property
    def n_given(self) -> int:
        """Number of values that are not missing."""
        return len(self.values) - int(self.values.null_count)

    @property
    def n_distinct(self) -> int:
        """Number of different values."""
        return int(pc.count_distinct(self.values).as_py())


class Table:
    """The columns of a table by name, text among them read for what it holds."""

    def __init__(
        self,
        connection: Any,
        content: Any,
        label: str,
        names: Sequence[str],
        decimal: str | None = None,
        *,
        n_skipped: int = 0,
        declared: Collection[str] = (),
    ) -> None:
        self.label = label
        self.declared = declared  #: columns that the file itself calls categories
        self.n_rows = len(content)
        self.remarks: list[str] = []
        if n_skipped:
            self.remarks.append(f"{label}: {count_text(n_skipped, 'line')} above the names of columns not read")
        if self.n_rows == 0:
            raise Refused(f"{label} has no rows")
        columns = [_typed(name, values) for name, values in zip(names, content.columns, strict=True)]
        for column in columns:
            if column.kind == "text" and not (_as_numbers(column) or _as_times(connection, column)):
                self._find_numbers(column)
        self.columns = {column.name: column for column in self._named(columns)}
        self._settle_decimals(decimal)

    def _find_numbers(self, column: Column) -> None:
        """Tell text that holds numbers as people write them, and numbers with something else among them."""
        levels = column.text.combine_chunks().dictionary_encode()
        texts = levels.dictionary.to_pylist()
        try:
            readings = read_numbers(f"column {cut(column.name)} of {self.label}", texts)
        except Refused as error:
            column.trouble = error
            return
        if readings is not None:
            column.kind, column.readings = "number", readings.at(levels.indices.to_numpy(zero_copy_only=False))
            return
        is_word = np.array([not is_number(text) for text in texts] + [False])
        words = is_word[pc.fill_null(levels.indices, len(texts)).to_numpy(zero_copy_only=False)]
        if words.sum() < (1 - MOST_TEXT) * column.n_given:
            row = int(np.argmax(words))
            column.trouble = Refused(
                f"column {cut(column.name)} of {self.label} holds numbers and text, such as {cut(column.text[row])} in "
                f"row {row + 1:,}: correct it, or name it with --categorical {cut_name(column.name)}"
            )

    def _named(self, columns: list[Column]) -> list[Column]:
        """Leave out columns without a name that say nothing: empty ones, and the numbers of the rows in the first."""
        kept = []
        for j, column in enumerate(columns):
            if column.name:
                kept.append(column)
            elif j == 0 and column.kind == "whole" and column.n_distinct == self.n_rows:
                self.remarks.append(f"{self.label}: the first column has no name and holds numbers of rows: not used")
            elif column.kind != "empty":
                raise Refused(f"column {j + 1} of {self.label} has no name: give it one")
        return kept

    def _settle_decimals(self, given: str | None) -> None:
        """Decide what is a decimal sign where a column leaves it open: the user says it, or other columns show it."""
        plain = [column for column in self.columns.values() if column.kind == "number" and column.readings is None]
        written = [column for column in self.columns.values() if column.readings is not None]
        if not written and given is None:
            return
        seen = {column.readings.shown for column in written if column.readings is not None} - {None}
        open_ = [column for column in plain if column.text is not None and _could_be_thousands(column.text)]
        if len(open_) < len(plain):
            seen.add(".")
        shown = seen.pop() if len(seen) == 1 else None
        for column in [*written, *(open_ if "," in (given, shown) else [])]:
            readings = column.readings
            if readings is None:  # computers write 1.234 as well: only the user can say that it is a thousand
                readings = read_numbers(f"column {cut(column.name)} of {self.label}", column.text.to_pylist())
                assert readings is not None
                shown = None
            column.readings, column.decimal = readings, readings.only or given or shown
            if column.decimal is None:
                column.trouble = ambiguous(readings)

    def frame(self, names: Sequence[str], as_text: Collection[str] = ()) -> pd.DataFrame:
        """Return columns as pandas has them, those that are wanted as text as the file has it."""
        found = {}
        for name in names:
            column = self.columns[name]
            if name in as_text:
                found[name] = (_to_text(column.values) if column.text is None else column.text).to_pandas()
            elif column.trouble is not None:
                raise column.trouble
            elif column.readings is not None:
                found[name] = pd.Series(column.readings.values[str(column.decimal)])
            else:
                found[name] = column.values.to_pandas()
        return pd.DataFrame(found, index=range(self.n_rows))

    def said_of(self, names: Collection[str]) -> list[str]:
        """Return how the numbers of these columns were read, where it is not plain."""
        columns = [self.columns[name] for name in names]
        read = [
            f"{cut(c.name)} ({cut(r.text)} is {r.values[str(c.decimal)][r.example]:,.12g})"
            for c in columns
            if (r := c.readings) is not None and not c.trouble
        ]
        marked = [f"{cut(c.name)} ({c.n_marks:,})" for c in columns if c.n_marks]
        said = [f"read as numbers: {', '.join(read)}"] if read else []
        return said + ([f"signs such as '-' and '?' read as missing values: {', '.join(marked)}"] if marked else [])


def _typed(name: str, values: Any) -> Column:
    """Return a column by its type; what text holds is found out later."""
    kind, types = values.type, pa.types
    if types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        trimmed = pc.utf8_trim(values.cast(pa.string()), _SPACES)
        text = pc.if_else(pc.is_in(trimmed, pa.array(_MISSING)), None, trimmed)
        if text.null_count == len(text):
            return Column(name, "empty", text.cast(pa.float64()), text)
        return Column(name, "text", text, text)
    if values.null_count == len(values):
        return Column(name, "empty", pa.chunked_array([pa.nulls(len(values), pa.float64())]))
    if types.is_decimal(kind):
        return Column(name, "number", values.cast(pa.float64()))
    if types.is_temporal(kind) or types.is_interval(kind):
        return Column(name, "time", values)
    for is_kind, what in ((types.is_integer, "whole"), (types.is_floating, "number"), (types.is_boolean, "truth")):
        if is_kind(kind):
            return Column(name, what, values)
    return Column(name, "nested", values)


def _as_numbers(column: Column) -> bool:
    """Read text as plain numbers or truth values, if that is what all of it is."""
    marks = pc.is_in(column.text, pa.array(NO_NUMBER))
    n_marks = int(pc.sum(marks).as_py() or 0)
    text = pc.if_else(marks, None, column.text) if n_marks else column.text
    for kind, arrow_type in (("whole", pa.int64()), ("number", pa.float64())):
        try:
            values = text.cast(arrow_type)
        except pa.ArrowInvalid:
            continue
        if values.null_count == len(values) or pc.any(pc.match_substring(text, "x")).as_py():
            return False  # nothing but signs; 0x1F
        column.kind, column.values, column.n_marks = kind, values, n_marks
        return True
    truth = pc.is_in(pc.utf8_lower(column.text), pa.array(["true", "false"]))
    if int(pc.sum(truth).as_py()) == column.n_given:
        column.kind, column.values = "truth", pc.equal(pc.utf8_lower(column.text), "true")
        return True
    return False


def _as_times(connection: Any, column: Column) -> bool:
    """Tell whether text holds dates and times only, and read them if that can be done in one way; DuckDB knows them."""
    if not pc.all(pc.match_substring_regex(column.text, _HAS_YEAR)).as_py():
        return False
    levels = pa.table({"it": column.text.unique().drop_null()})
    if pc.max(pc.utf8_length(levels["it"])).as_py() > 40:
        return False
    ways = ["try_cast(it AS TIMESTAMP)", "try_cast(it AS TIME)"]
    ways += [f"try_strptime(it, '{day}{hour}')" for day, hour in product(_DAYS, _HOURS)]
    connection.register("levels", levels)
    any_way = ", ".join(f"{way}::VARCHAR" for way in ways)
    counts = ", ".join(f"count({way})" for way in ways)
    ((n, *by_way),) = connection.execute(f"SELECT count(coalesce({any_way})), {counts} FROM levels").fetchall()
    possible = [way for way, n_read in zip(ways, by_way, strict=True) if n_read == len(levels)]
    if possible[:1] == ways[:1]:  # as computers write them
        possible = ways[:1]
    if n == len(levels):
        column.kind = "time"
        readings = [connection.sql(f"SELECT it, {way} AS time FROM levels").to_arrow_table() for way in possible]
        if readings and all(other["time"].equals(readings[0]["time"]) for other in readings[1:]):
            place = pc.index_in(column.text, readings[0]["it"].combine_chunks())
            column.values = readings[0]["time"].take(place)
    connection.unregister("levels")
    return bool(n == len(levels))


def _could_be_thousands(text: Any) -> bool:
    """Whether all numbers with a point have three digits behind it."""
    pointed = pc.match_substring(text, ".")
    return bool(pc.all(pc.or_(pc.invert(pointed), pc.match_substring_regex(text, _THOUSANDS))).as_py())


def _to_text(values: Any) -> Any:
    try:
        return values.cast(pa.string())
    except pa.ArrowException:  # lists and records
        return pa.chunked_array([pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())])
