"""Where tables come from: files of any kind that DuckDB reads, SQLite, a query, standard input."""

import contextlib
import glob
import lzma
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .csv_files import connection_error, literal, read_csv
from .messages import Refused, count_text, cut, cut_quotes, some
from .table import Table
from .text_files import open_bytes, read_text

MOST_THREADS = 4
_EXCEL = {b"PK\x03\x04": "an Excel file or another archive", b"\xd0\xcf\x11\xe0": "a file of Excel or Word"}
_SQLITE = b"SQLite format 3\x00"
_PARQUET = b"PAR1"
# Types that Arrow or pandas have not, and what becomes of them.
_PLAIN = {
    "JSON": "{}->>'$'",
    "UUID": "{}::VARCHAR",
    "ENUM": "{}::VARCHAR",
    "HUGEINT": "{}::DOUBLE",
    "UHUGEINT": "{}::DOUBLE",
}


@dataclass(frozen=True)
class Source:
    """What the user says of a table: where it is, and how it is to be read."""

    path: Path | None
    sql: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    others: tuple[Path, ...] = ()  #: Parquet files that belong to the same table

    @property
    def label(self) -> str:
        """What messages call it."""
        if self.path is None:
            return "the query"
        if self.others:
            return f"{self.path} and {count_text(len(self.others), 'other')}"
        return "standard input" if str(self.path) == "-" else str(self.path)

    def files(self) -> list[str]:
        """Return the files that it may read, as far as they are named."""
        if self.path is not None:
            return [str(self.path), *map(str, self.others)]
        return [name for text in (self.sql or "").split("'")[1::2] for name in glob.glob(text, recursive=True)]


def read_table(source: Source) -> Table:
    """Read a table; what kind of file it is shows in its first bytes, not in its name."""
    with tempfile.TemporaryDirectory(prefix="boostforest-") as name, _connection(Path(name)) as connection:
        try:
            return _read(connection, source, Path(name))
        except OSError as error:
            raise Refused(f"{source.label} cannot be read: {error.strerror or error}") from error
        except EOFError as error:
            raise Refused(f"{source.label} cannot be read: it is cut off") from error
        except (zlib.error, lzma.LZMAError, connection_error()) as error:
            raise Refused(f"{source.label} cannot be read: {_first_line(error)}") from error


@contextlib.contextmanager
def _connection(folder: Path) -> Iterator[Any]:
    """Open a DuckDB that has no network, few threads, and leaves nothing behind."""
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise Refused('tables are read with duckdb: pip install "boostforest[cli]"') from error
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,  # a query does not see Python's variables
        "temp_directory": str(folder / "spilled"),
        "threads": min(MOST_THREADS, os.cpu_count() or 1),
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        yield connection


def _stored(path: Path, folder: Path) -> Path:
    """Return a file that can be read again and again."""
    if str(path) != "-":
        return path
    copy = folder / "input"
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return copy


def _read(connection: Any, source: Source, folder: Path) -> Table:
    if source.path is None:
        return _read_query(connection, source)
    path, label = _stored(source.path, folder), source.label
    if path.is_dir() or source.others:
        return _read_parquet(connection, path, source)
    with path.open("rb") as file:
        begin = file.read(16)
    for magic, what in _EXCEL.items():
        if begin.startswith(magic):
            raise Refused(f"{label} is {what}: save the table as CSV or Parquet first")
    if begin.startswith(_SQLITE):
        return _read_sqlite(connection, path, source)
    if source.sql is not None:
        raise Refused(f"--sql and TABLE together need an SQLite file: name {label} in the query, FROM {literal(label)}")
    if begin.startswith(_PARQUET) or path.name.lower().endswith((".parquet", ".pq")):
        return _read_parquet(connection, path, source)
    with open_bytes(path) as opened:
        first = opened.read(4096).lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0")[:1]
    chunks = read_text(path, label, source.encoding)
    if first in (b"[", b"{"):
        return _read_json(connection, chunks, source, folder)
    header = read_csv(connection, chunks, folder, label, source.separator)
    return Table(connection, _content(connection), label, header.names, source.decimal, n_skipped=header.n_skipped)


def _only_csv(source: Source, kind: str) -> None:
    for option, value in (("--sep", source.separator), ("--encoding", source.encoding)):
        if value is not None and not (option == "--encoding" and kind == "JSON"):
            raise Refused(f"{option} is for CSV files; {source.label} is {kind}")


def _read_json(connection: Any, chunks: Iterator[str], source: Source, folder: Path) -> Table:
    _only_csv(source, "JSON")
    copy = folder / "table.json"
    with copy.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(chunks)
    names = _create(connection, f"FROM read_json({literal(copy)}, sample_size=-1)", source.label, copy)
    table = _table(connection, names, source)
    if names == ["json"] or all(column.kind == "nested" for column in table.columns.values()):
        raise Refused(f'{source.label} must hold one JSON object for every row, such as {{"area": 85, "price": 310}}')
    return table


def is_parquet(path: Path) -> bool:
    """Tell whether a path is a folder, or a Parquet file by its first bytes or its name."""
    if str(path) == "-" or not path.exists():
        return False
    if path.is_dir() or path.name.lower().endswith((".parquet", ".pq")):
        return True
    with path.open("rb") as file:
        return file.read(4) == _PARQUET


def parquet_files(paths: Sequence[Path], label: str) -> list[Path]:
    """Return the Parquet files that files and folders stand for, all with the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(file for ending in ("parquet", "pq") for file in path.rglob(f"*.{ending}") if file.is_file())
        found = [file for file in found if not any(p.startswith((".", "_")) for p in file.relative_to(path).parts)]
        if not found:
            raise Refused(f"the folder {path} holds no Parquet files (.parquet)")
        files += found
    first: list[str] | None = None
    for file in files:
        if len(paths) > 1 and not is_parquet(file):
            raise Refused(f"several tables have to be Parquet files; {file} is not one")
        try:
            names = pq.read_schema(file).names
        except (pa.ArrowException, ValueError) as error:
            shown = label if len(files) == 1 else str(file)
            raise Refused(f"{shown} cannot be read: {cut_quotes(str(error))}") from error
        first = names if first is None else first
        if differing := {*names} ^ {*first}:
            raise Refused(f"{files[0]} and {file} have different columns, such as {cut(min(differing))}")
    return files


def keys_of_folders(files: Iterable[Path], roots: Sequence[Path]) -> set[str]:
    """Return the columns that names of folders hold: "year" of year=2024/part.parquet."""
    below = [file.relative_to(root) for file in files for root in roots if root in file.parents]
    return {part.split("=")[0] for path in below for part in path.parts[:-1] if "=" in part}


def table_of_sample(source: Source, content: Any) -> Table:
    """Return some rows of a table that is not read whole: they tell what its columns hold."""
    import pyarrow as pa

    declared = {field.name for field in content.schema if pa.types.is_dictionary(field.type)}
    with tempfile.TemporaryDirectory(prefix="boostforest-") as name, _connection(Path(name)) as connection:
        return _table(connection, content.schema.names, source, declared, content)


def _read_parquet(connection: Any, path: Path, source: Source) -> Table:
    import pyarrow.parquet as pq

    _only_csv(source, "Parquet")
    roots = [path, *source.others]
    files = parquet_files(roots, source.label)
    schema, keys = pq.read_schema(files[0]), keys_of_folders(files, roots)
    outside = {part.split("=")[0] for part in path.resolve().parts if "=" in part} - keys
    names = ", ".join(literal(glob.escape(str(file))) for file in files)
    leave_out = f" EXCLUDE ({', '.join(map(_quoted, sorted(outside)))})" if outside and keys else ""
    found = _create(
        connection,
        f"SELECT *{leave_out} FROM read_parquet([{names}], union_by_name=true, hive_partitioning={bool(keys)})",
        source.label,
    )
    stored = schema.names
    remembered = (schema.pandas_metadata or {}).get("columns", [])
    declared = {column["field_name"] for column in remembered if column["pandas_type"] == "categorical"}
    return _table(connection, stored + found[len(stored) :], source, declared)


def _read_sqlite(connection: Any, path: Path, source: Source) -> Table:
    import pyarrow as pa

    _only_csv(source, "SQLite")
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        try:
            tables = [
                row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            ]
            tables = [name for name in tables if not name.startswith("sqlite_")]
            if source.sql is None and len(tables) != 1:
                example = f': say which with --sql "SELECT * FROM {tables[0]}"' if tables else ""
                raise Refused(f"{source.label} holds {len(tables)} tables ({some(tables)}){example}")
            cursor = database.execute(source.sql or f"SELECT * FROM {_quoted(tables[0])}")
            if cursor.description is None:
                raise Refused(f"--sql must be a query, SELECT …; got {cut(source.sql)}")
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            where = "--sql" if source.sql is not None else f"{source.label} cannot be read"
            raise Refused(f"{where}: {error}") from error
    columns = {
        f"c{j}": pa.array([None if row[j] is None else str(row[j]) for row in rows], pa.string())
        for j in range(len(names))
    }
    return _table(connection, names, source, content=pa.table(columns))


def _read_query(connection: Any, source: Source) -> Table:
    import duckdb

    query = str(source.sql)
    _only_csv(source, "a query: name such things in it, as in read_csv('table.csv', delim=';')")
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise Refused(f"--sql: {_first_line(error)}") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise Refused(f"--sql must be one query, SELECT …; got {cut(query)}")
    return _table(connection, _create(connection, query.strip().rstrip(";"), "--sql"), source)


def _create(connection: Any, query: str, label: str, copy: Path | None = None) -> list[str]:
    """Store the result of a query as "raw" with columns c0, c1, …, since DuckDB does not tell "Area" from "area"."""
    try:
        result = connection.sql(query)
        names, types = list(result.columns), [str(kind) for kind in result.types]
        numbers = ", ".join(f"c{j}" for j in range(len(names)))
        plain = ", ".join(_PLAIN.get(kind.split("(")[0], "{}").format(f"c{j}") for j, kind in enumerate(types))
        connection.execute(f"CREATE TABLE raw AS SELECT {plain} FROM ({query}) AS q({numbers})")
    except connection_error() as error:
        reason = _first_line(error).replace(f'in file "{copy}", ', "").replace(f'file "{copy}", ', "")
        raise Refused(f"{label}: {reason}") from error
    return names


def _content(connection: Any) -> Any:
    return connection.sql("FROM raw").to_arrow_table()


def _table(
    connection: Any, names: list[str], source: Source, declared: Iterable[str] = (), content: Any = None
) -> Table:
    again = [name for name, n in Counter(names).items() if n > 1]
    if again:
        raise Refused(f"{source.label} has two columns of the name {cut(again[0])}: rename one")
    content = _content(connection) if content is None else content
    return Table(connection, content, source.label, names, source.decimal, declared=frozenset(declared))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_line(error: Exception) -> str:
    """Return DuckDB's sentence without the hints and the picture of the query."""
    return cut_quotes(re.sub(r"^[\w ]+ Error: ", "", str(error)).split("\n")[0])
