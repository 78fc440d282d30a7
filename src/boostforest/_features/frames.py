"""Tables as users have them, frames above all, read column by column."""

import datetime
import math
import numbers
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from .._base.typing import Array, Floats, Mask

Values: TypeAlias = list[Any]  # Python's values of a column, None where one is missing

_KINDS_OF_TIME: dict[str, tuple[type, ...]] = {
    "dates": (datetime.date, np.datetime64),
    "times": (datetime.time,),
    "durations": (datetime.timedelta, np.timedelta64),
}
_NUMBERS = (numbers.Real, Decimal, np.bool_)
_WIDE = (nw.Int128, nw.UInt128)  # NumPy has no such integers
_SHOWN = 5  # names in a message


class Column:
    """One column of a table."""

    def __init__(self, label: str, source: Any) -> None:
        self.label = label  # its name or number, for messages
        self._source = source  # a narwhals series, or a column of an array

    def __len__(self) -> int:
        return len(self._source)

    @property
    def has_category_type(self) -> bool:
        """Whether its type says that these are categories; text among objects is known by its values."""
        return isinstance(self._source, nw.Series) and self._source.dtype in (nw.Categorical, nw.Enum, nw.String)

    @property
    def is_called_category(self) -> bool:
        """Whether somebody has made it categories, rather than text."""
        return isinstance(self._source, nw.Series) and self._source.dtype in (nw.Categorical, nw.Enum)

    @property
    def kind_of_time(self) -> str | None:
        """What its type says: "dates", "times" of a day or "durations"; None: none of them, or objects that may be."""
        if not isinstance(self._source, nw.Series) or not self._source.dtype.is_temporal():
            return None
        if self._source.dtype == nw.Duration:
            return "durations"
        return "times" if self._source.dtype == nw.Time else "dates"

    def seconds(self, kind: str) -> Floats:
        """Return it as this kind of time in seconds, NaN where one is missing; dates as local time, since 1970."""
        source = self._source
        if isinstance(source, nw.Series) and source.dtype == nw.Datetime and kind == "dates":
            return _in_seconds(source.dt.replace_time_zone(None).to_numpy(), kind)
        values = source.to_list() if isinstance(source, nw.Series) else source.tolist()
        return _in_seconds(values, kind)

    def read(self, as_values: bool) -> Floats | Values:
        """Return a column of plain numbers as such, unless its values are wanted, and any other as values."""
        source = self._source
        if isinstance(source, nw.Series):
            if as_values or not _is_plain_number(source.dtype):
                return self._series_values(source)
            source = source.to_numpy()
        found = None if as_values else _to_floats(source)
        if found is not None:
            return self._finite(found)
        if source.dtype.kind in "mM":
            raise self._no_category()
        return [None if _is_missing(v) else v for v in source.tolist()]

    def _series_values(self, series: nw.Series[Any]) -> Values:
        if series.dtype.is_temporal():
            raise self._no_category()
        values = series.to_list()
        for i in np.flatnonzero(series.is_null().to_numpy()):
            values[i] = None
        # A float series may hold both: polars and pyarrow tell NaN from null.
        return [None if _is_missing(v) else v for v in values] if series.dtype.is_float() else values

    def kind_of(self, values: Values) -> str:
        """Return what the values are: "numbers", "text", a kind of time or, all missing, "nothing"; refuse the rest."""
        types = {type(v) for v in values if not _is_missing(v)}
        for kind, of_kind in _KINDS_OF_TIME.items():  # a timedelta64 is an integer too
            if types and all(issubclass(t, of_kind) for t in types):
                return kind
        texts = {t for t in types if issubclass(t, str)}
        others = {t for t in types - texts if not issubclass(t, _NUMBERS)}
        if others:
            name = min(t.__name__ for t in others)
            raise ValueError(f"Column {self.label} of X must hold numbers or text; got values of type {name}.")
        if texts and texts != types:
            raise ValueError(f"Column {self.label} of X mixes text and numbers: turn all of it into one of them.")
        return "text" if texts else "numbers" if types else "nothing"

    def to_numbers(self, values: Values) -> Floats:
        """Return values that are numbers as float64, NaN where one is missing."""
        try:
            return self._finite(np.array([math.nan if v is None else float(v) for v in values]))
        except OverflowError:
            raise self._is_infinite() from None

    def _finite(self, array: Floats) -> Floats:
        if np.isinf(array).any():
            raise self._is_infinite()
        return array

    def _is_infinite(self) -> ValueError:
        return ValueError(
            f"Input X contains infinity or a value too large for dtype('float64') in column {self.label}."
        )

    def _no_category(self) -> ValueError:
        return ValueError(
            f"Column {self.label} of X holds dates or times, which are not categories: leave it out of "
            "categorical_features."
        )


def _in_seconds(values: Any, kind: str) -> Floats:
    """Return dates, times of a day or durations in seconds."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "mM":
        found = [None if _is_missing(value) else value for value in values]
        if kind == "times":
            clock = [
                math.nan if t is None else 3600 * t.hour + 60 * t.minute + t.second + 1e-6 * t.microsecond
                for t in found
            ]
            return np.array(clock, dtype=np.float64)
        if kind == "dates":
            found = [t.replace(tzinfo=None) if isinstance(t, datetime.datetime) else t for t in found]
        values = np.array(found, dtype="datetime64[us]" if kind == "dates" else "timedelta64[us]")
    if kind == "dates":
        values = values.astype("datetime64[us]").astype("timedelta64[us]")
    return np.asarray(values / np.timedelta64(1, "s"), dtype=np.float64)


def _is_missing(value: object) -> bool:
    if isinstance(value, float | np.floating | Decimal):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # pandas need not be there


def _to_floats(array: Array) -> Floats | None:
    """Return numbers, and objects or text that stand for numbers, as float64; None for anything else."""
    if array.dtype.kind not in "biufOU":
        return None
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_plain_number(dtype: Any) -> bool:
    return bool(dtype.is_float() or dtype == nw.Boolean or (dtype.is_integer() and dtype not in _WIDE))


def array_columns(array: Array) -> list[Column]:
    """Return the columns of an array."""
    return [Column(str(j), array[:, j]) for j in range(array.shape[1])]


# --------------------------------------------------------------------------------------------------------------- frames


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return X if it is a frame that narwhals reads (pandas, polars, pyarrow and others), else None."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"X must have columns of different names: {' '.join(str(error).split())}.") from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy table ({type(X).__name__}) and has no rows yet: collect it first.")
    return frame if isinstance(frame, nw.DataFrame) else None


def frame_columns(frame: nw.DataFrame[Any]) -> list[Column]:
    """Return the columns of a frame."""
    return [
        Column(repr(name) if isinstance(name, str) else str(name), series)
        for name, series in zip(frame.columns, frame.iter_columns(), strict=True)
    ]


def plain_matrix(frame: nw.DataFrame[Any]) -> Array | None:
    """Return a frame of plain numbers as a matrix at once, None if a column is something else."""
    if not all(_is_plain_number(dtype) for dtype in frame.schema.dtypes()):
        return None
    matrix = frame.to_numpy()
    if matrix.dtype.kind not in "biuf" or np.isinf(matrix).any():
        return None  # read column by column, it can be said where the infinity is
    return matrix


def in_order(frame: nw.DataFrame[Any], names: Sequence[str], more: bool) -> nw.DataFrame[Any]:
    """Return the frame with the columns of the fit in their order, or say which are missing and which unknown.

    ``more``: there may be unknown ones beside them, such as the target; they are left out.
    """
    columns = list(frame.columns)
    if columns == list(names) or not all(isinstance(name, str) for name in columns):
        return frame  # without names it is the place that counts
    missing = sorted(set(names) - set(columns))
    unknown = sorted(set(columns) - set(names))
    if missing or (unknown and not more):
        wrong = [
            f"{_some(which)} {'is' if len(which) == 1 else 'are'} {what}"
            for which, what in ((missing, "missing"), (unknown, "unknown"))
            if which
        ]
        raise ValueError(f"The feature names should match those that were passed during fit: {', '.join(wrong)}.")
    return frame.select(list(names))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


# ------------------------------------------------------------------------- columns that tell one row from another

#: Words of a name: with the first different integers are enough, with the others they must be 1, 2, 3, …
KEYS = frozenset({"id", "ids", "key", "uuid", "guid", "rowid", "unnamed"})
COUNTS = frozenset({"index", "idx", "row", "rownames", "rownum", "no", "nr", "number", "obs", "case", "record"})
FEW = 20  # rows: too few to tell text that never comes again
MOSTLY = 0.9  # of the values are different: these are not categories
_SEVERAL = 2.5  # words of a text on average
_MANY = 100  # rows that are numbered 1, 2, 3, … in their order, whatever the column is called


def kind_of_text(values: Values) -> str:
    """Return what a column of text holds: "categories", "free text" or "identifiers"."""
    known = [value for value in values if value is not None]
    n_distinct = len(set(known))
    if len(known) < FEW or n_distinct <= MOSTLY * len(known):
        return "categories"
    if sum(len(text.split()) for text in known) > _SEVERAL * len(known):
        return "free text"
    return "identifiers" if n_distinct == len(known) else "categories"


def words_of_name(name: str) -> set[str]:
    """Return the words of the name of a column."""
    return set(re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower().replace(":", " ").split())


def row_numbers(frame: nw.DataFrame[Any]) -> list[str]:
    """Return the columns of integers that are identifiers, by their names or since they number the rows in order."""
    whole = [name for name, dtype in frame.schema.items() if isinstance(name, str) and dtype.is_integer()]
    if len(frame.columns) == 1 or len(frame) < FEW:
        return []
    return [name for name in whole if _is_row_number(words_of_name(name), frame.get_column(name).to_numpy())]


def _is_row_number(words: set[str], values: Array) -> bool:
    if values.dtype.kind not in "iu":  # missing values, or integers that NumPy has not
        return False
    if len(values) >= _MANY and (values[1:] - values[:-1] == 1).all():
        return True
    if not words & (KEYS | COUNTS) or len(np.unique(values)) < len(values):
        return False
    return bool(words & KEYS) or int(values.max()) - int(values.min()) + 1 == len(values)


# ------------------------------------------------------------------------------------------------ categorical_features


def declared_categories(given: Any, n_columns: int, names: Sequence[str] | None) -> Mask | None:
    """Return the columns that ``categorical_features`` lists, None for "from_dtype": the table says it."""
    mask = np.zeros(n_columns, dtype=np.bool_)
    if given is None:
        return mask
    if isinstance(given, str):
        if given == "from_dtype":
            return None
        raise ValueError(f"categorical_features must be {_ALLOWED}; got {given!r}.")
    items = list(given) if isinstance(given, Sequence | np.ndarray) or hasattr(given, "__array__") else None
    if items is None or len({_item_kind(item) for item in items}) > 1 or (items and _item_kind(items[0]) == "?"):
        raise ValueError(f"categorical_features must be {_ALLOWED}; got {given!r}.")
    if not items:
        return mask
    kind = _item_kind(items[0])
    if kind == "mask":
        if len(items) != n_columns:
            raise ValueError(
                f"categorical_features as a mask must have one value per column; got {len(items)} for {n_columns}."
            )
        return np.array(items, dtype=np.bool_)
    if kind == "number":
        for item in items:
            if not 0 <= item < n_columns:
                raise ValueError(f"categorical_features must be columns from 0 to {n_columns - 1}; got {item}.")
        mask[[int(item) for item in items]] = True
        return mask
    if names is None:
        raise ValueError(f"categorical_features has the name {items[0]!r}, but X has no names of columns.")
    unknown = [item for item in items if item not in names]
    if unknown:
        raise ValueError(f"categorical_features has the name {unknown[0]!r}, which is not a column of X.")
    mask[[list(names).index(item) for item in items]] = True
    return mask


_ALLOWED = '"from_dtype", None, or a list of names, of numbers or of a boolean for each column'


def _item_kind(item: object) -> str:
    if isinstance(item, bool | np.bool_):
        return "mask"
    if isinstance(item, numbers.Integral):
        return "number"
    return "name" if isinstance(item, str) else "?"
