"""CSV files: DuckDB's sniffer says what separates and quotes, the names are ours to find, and DuckDB reads the rows.

Left alone the sniffer takes one short row for another separator, and skips a line that does not fit, be it the header.
So it is asked for the dialect only, and the rows are read strictly, without anything left to guess.
"""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .messages import Refused, count_text, cut, some

_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)*|[.,]\d+)([eE][-+]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")  # or a date
_HEAD_ROWS = 200


@dataclass
class Dialect:
    """What separates and quotes."""

    separator: str
    quote: str = '"'
    escape: str = '"'

    def reader(self, lines: Any, strict: bool = False) -> Any:
        """Return Python's reader of the same dialect."""
        csv.field_size_limit(sys.maxsize)
        doubled = self.escape == self.quote
        return csv.reader(
            lines,
            delimiter=self.separator,
            quotechar=self.quote,
            doublequote=doubled,
            escapechar=None if doubled else self.escape,
            strict=strict,
        )


@dataclass
class Header:
    """The names of the columns, and where the rows begin."""

    names: list[str]
    n_lines: int  #: of the file, up to the last one of the names
    n_skipped: int  #: lines above the names that hold something


def read_csv(connection: Any, chunks: Iterator[str], folder: Path, label: str, separator: str | None) -> Header:
    """Read a CSV file into DuckDB's table "raw", all of it text, in columns c0, c1, …; return the names."""
    head = next(chunks, "")
    if not head.strip():
        raise Refused(f"{label} is empty")
    dialect = _sniff(connection, head, folder, separator)
    header = _find_header(dialect, head, label)
    body = folder / "body.csv"
    with body.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head[_after_line(head, header.n_lines) :])
        file.writelines(chunks)
    columns = ", ".join(f"'c{j}': 'VARCHAR'" for j in range(len(header.names)))
    try:
        connection.execute(
            f"CREATE TABLE raw AS FROM read_csv({literal(body)}, auto_detect=false, header=false, "
            f"delim={literal(dialect.separator)}, quote={literal(dialect.quote)}, escape={literal(dialect.escape)}, "
            rf"comment='', new_line='\n', strict_mode=true, null_padding=false, ignore_errors=false, "
            f"columns={{{columns}}})"
        )
    except connection_error() as error:
        raise _explained(error, dialect, body, header, label) from error
    return header


def literal(value: object) -> str:
    """Return text as SQL writes it."""
    return "'" + str(value).replace("'", "''") + "'"


def connection_error() -> type[Exception]:
    """Return what DuckDB's errors are."""
    import duckdb

    error: type[Exception] = duckdb.Error
    return error


def _sniff(connection: Any, head: str, folder: Path, separator: str | None) -> Dialect:
    """Return what DuckDB finds in the beginning of a file."""
    sample = folder / "head.csv"
    with sample.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head[: head.rfind("\n") + 1] or head)
    given = f", delim={literal(separator)}" if separator else ""
    found: list[Dialect] = []
    for more in [", quote='\"'", ""] if '"' in head else [""]:  # ' is an apostrophe more often than a quotation mark
        try:
            ((delimiter, quote, escape, n_columns),) = connection.execute(
                "SELECT nullif(Delimiter, '(empty)'), Quote, Escape, len(Columns) "
                f"FROM sniff_csv({literal(sample)}, null_padding=true, comment=''{given}{more})"
            ).fetchall()
        except connection_error():
            continue  # what is wrong will be said when the rows are read
        dialect = Dialect(separator or delimiter or ",")
        if quote == "'" and '"' not in head and _all_quote(head, dialect.separator):
            dialect.quote = dialect.escape = quote
        elif escape == "\\" and not _is_regular(head, dialect):
            dialect.escape = escape
        if n_columns > 1 or separator:
            found.append(dialect)
    first_line = head.split("\n")[0]
    if not any(dialect.separator in first_line for dialect in found):  # names, or a title
        found = [d for d in map(Dialect, ",;\t|") if d.separator in first_line and _is_regular(head, d)] + found
    return found[0] if found else Dialect(separator or ",")


def _all_quote(head: str, separator: str) -> bool:
    """Whether every ' stands around a cell, none is an apostrophe."""
    around = rf"(?:^|(?<={re.escape(separator)}))'[^'\n]*'(?={re.escape(separator)}|$)"
    return "'" not in re.sub(around, "", head, flags=re.MULTILINE)


def _is_regular(head: str, dialect: Dialect) -> bool:
    """Whether all rows have the same number of values if quotation marks in cells are doubled."""
    try:
        return len({len(fields) for fields in dialect.reader(io.StringIO(head), strict=True) if fields}) == 1
    except csv.Error:
        return False


def _after_line(text: str, n: int) -> int:
    """Return where the line after the first n begins."""
    place = 0
    for _ in range(n):
        place = text.find("\n", place) + 1
        if place == 0:
            return len(text)
    return place


# --------------------------------------------------------------------------------------------------------------- names


def _find_header(dialect: Dialect, head: str, label: str) -> Header:
    """Return the names: the first line with as many values as the rows have, or with fewer if the rest is empty."""
    if len(dialect.separator) > 1:
        head_lines: Any = (line.replace(dialect.separator, "\x1f") for line in io.StringIO(head))
        reader = Dialect("\x1f", dialect.quote, dialect.escape).reader(head_lines)
    else:
        reader = dialect.reader(io.StringIO(head))
    records: list[list[str]] = []
    ends: list[int] = []
    for fields in reader:
        if any(field.strip() for field in fields):
            records.append([field.strip() for field in fields])
            ends.append(reader.line_num)
        if len(records) == _HEAD_ROWS:
            break
    widths = Counter(len(fields) for fields in records if len(fields) > 1)
    width = max(widths, key=lambda n: (widths[n], n)) if widths else 1
    first = next(i for i, fields in enumerate(records) if len(fields) == width)
    rows = [fields for fields in records[first:] if len(fields) == width]
    above = records[first - 1] if first else None
    if above is not None and (len(above) > 1 or width == 2):
        if not any(any(fields[len(above) :]) for fields in rows):
            first, rows = first - 1, [above, *rows]  # every row ends in a separator, the header does not
        elif len(above) == width - 1 and not _are_names(rows[0], rows[1:]) and _are_names(["", *above], rows):
            raise Refused(
                f"{label} names {count_text(len(above), 'column')} but has {width} values in a row: name all columns"
            )
    names = records[first]
    if not _are_names(names, rows[1:]):
        raise Refused(f"{label} has no names of columns, its first line holds {some(names, 4)}: put names above it")
    while names and not names[-1]:
        names.pop()  # DuckDB sees to it that nothing but empty cells is below
    _check_names(names, label)
    return Header(names, ends[first], first)


def _are_names(names: list[str], rows: list[list[str]]) -> bool:
    """Tell names from values: they are not numbers, and do not come again below."""
    doubts = 0
    for j, name in enumerate(names):
        below = [fields[j] for fields in rows if j < len(fields) and fields[j]]
        is_number = _NUMBER.fullmatch(name) is not None
        numbers = sum(_NUMBER.fullmatch(value) is not None for value in below)
        if name and not is_number and below and 2 * numbers > len(below):
            return True
        doubts += is_number or (name != "" and name in below)
    return 2 * doubts < sum(map(bool, names)) or not rows


def _check_names(names: list[str], label: str) -> None:
    places: dict[str, int] = {}
    for j, name in enumerate(names):
        if name and name in places:
            raise Refused(
                f"{label} has two columns of the name {cut(name)}, number {places[name] + 1} and {j + 1}: rename one"
            )
        places[name] = j


# ------------------------------------------------------------------------------------------------------- what is wrong


def _explained(error: Exception, dialect: Dialect, body: Path, header: Header, label: str) -> Refused:
    """Return where the rows stop being those of a table; DuckDB's sentence would have ten lines."""
    begin = header.n_lines
    with body.open(encoding="utf-8", newline="\n") as file:
        reader = dialect.reader(file, strict=True) if len(dialect.separator) == 1 else iter(())
        try:
            for fields in reader:
                width = len(fields)
                while width > len(header.names) and not fields[width - 1]:
                    width -= 1
                if fields and width != len(header.names):
                    return Refused(
                        f"line {begin + 1} of {label} has {count_text(width, 'value')} where {len(header.names)} "
                        "columns are named: correct it, or say with --sep what separates the values if it is not "
                        f"{cut(dialect.separator)}"
                    )
                begin = header.n_lines + reader.line_num
        except csv.Error:
            return Refused(f"line {begin + 1} of {label} has a quotation mark that is not closed, or is not doubled")
    return Refused(f"{label} cannot be read: {str(error).splitlines()[0]}")
