"""Whether data are what they should be: the checksum of a file, the fingerprint of a table that came another way."""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from boostforest_paper.data.folder import ANOTHER_FOLDER

DIGITS = 5  # significant digits that a fingerprint looks at: sources round differently behind them


class DataError(Exception):
    """Data that are not what they should be; the sentence names the dataset."""


class NotAtHandError(Exception):
    """Data that cannot be had here; the sentence says why."""


def check_file(name: str, path: Path, sha256: str) -> None:
    """Refuse a file with another checksum than the one that the figures were made with."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise DataError(
            f"{name} is refused: {path.name} has the checksum {found[:12]}…, not {sha256[:12]}… as the data that the "
            "figures were made with; fetch it again or name another folder with --data DIR."
        )


def check_fingerprint(name: str, source: str, frame: pd.DataFrame, expected: str) -> None:
    """Refuse a table with other values, in whatever order, than the one that the figures were made with."""
    found = fingerprint(frame)
    if found != expected:
        raise DataError(
            f"{name} is refused: the table from {source} has the fingerprint {found}, not {expected} as the data that "
            f"the figures were made with; {ANOTHER_FOLDER}."
        )


def fingerprint(frame: pd.DataFrame) -> str:
    """Return a checksum of a table's values that is the same for any order of rows and columns and any level names."""
    digests = sorted(_column_digest(frame[column]) for column in frame)
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column as numbers where every value is one, as it came otherwise."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    try:
        return pd.to_numeric(column.astype(object))
    except (ValueError, TypeError):
        return column


def _column_digest(column: pd.Series) -> str:
    # The target of a classification is a column of strings whatever its names: only how often each occurs counts.
    values = column if column.name == "target" else as_numbers(column)
    if pd.api.types.is_numeric_dtype(values):
        content = _rounded(values.to_numpy(dtype=float)).tobytes()
    else:
        counts = values.value_counts(dropna=False).to_numpy(dtype=np.int64)
        content = np.sort(counts).astype("<i8").tobytes()
    return hashlib.sha256(content).hexdigest()


def _rounded(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return sorted pairs of exponent and leading digits: integers, so that no last bit can differ."""
    known = values[np.isfinite(values) & (values != 0)]
    exponent = np.floor(np.log10(np.abs(known))).astype(np.int64)
    digits = np.rint(known / 10.0 ** (exponent - (DIGITS - 1))).astype(np.int64)
    overflow = np.abs(digits) == 10**DIGITS
    exponent[overflow] += 1
    digits[overflow] //= 10
    pairs = np.stack([exponent, digits], axis=1)
    counts = [[(values == 0).sum(), (~np.isfinite(values)).sum()]]
    return np.concatenate([counts, pairs[np.lexsort(pairs.T)]]).astype("<i8")
