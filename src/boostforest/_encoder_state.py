"""How columns become features and what fills their gaps: tensors of a model file; see ``docs/format.md``."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._encoder import MAX_DIGITS, CategoryColumn, Level, NumberColumn, TableColumn, TableEncoder
from ._fill import MAX_FEATURES, is_distribution
from ._safetensors import Tensors

_NUMBER, _NUMBER_AND_INDICATOR, _ONE_HOT, _MEANS = range(4)
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_MAX_TWINS = 100  # numbers of one hash: more make looking them up slow, and only a file that was made for it has them

# Tensor -> type; all of them have one dimension.
TENSORS = {
    "column_kind": np.uint8,
    "level_start": np.int64,
    "level_missing": np.bool_,
    "level_is_text": np.bool_,
    "level_end": np.int64,
    "level_text": np.uint8,
    "level_means": np.float64,
}


def encode_encoder(encoder: TableEncoder | None) -> Tensors:
    """Return the tensors of an encoder, none for no encoder."""
    if encoder is None:
        return {}
    categories = [column if isinstance(column, CategoryColumn) else None for column in encoder.columns]
    texts = [
        str(level).encode("utf-8", "surrogatepass")
        for column in categories
        if column is not None
        for level in column.levels
    ]
    means = [column.means.reshape(-1) for column in categories if column is not None and column.means is not None]
    return {
        "column_kind": np.array([_kind(column) for column in encoder.columns], dtype=np.uint8),
        "level_start": np.cumsum([0, *(0 if c is None else len(c.levels) for c in categories)], dtype=np.int64),
        "level_missing": np.array([c is not None and c.missing for c in categories], dtype=np.bool_),
        "level_is_text": np.array([c is not None and c.is_text for c in categories], dtype=np.bool_),
        "level_end": np.cumsum([len(text) for text in texts], dtype=np.int64),
        "level_text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "level_means": np.concatenate([np.empty(0), *means]),
    }


def _kind(column: TableColumn) -> int:
    if isinstance(column, NumberColumn):
        return _NUMBER_AND_INDICATOR if column.indicator else _NUMBER
    return _ONE_HOT if column.means is None else _MEANS


def take_encoder(tensors: Tensors, n_targets: int) -> TableEncoder | None:
    """Take the tensors of an encoder out of those of a file, checked; None if there are none."""
    if not tensors.keys() & TENSORS.keys():
        return None
    if not tensors.keys() >= TENSORS.keys():
        raise ValueError(f"tensors are missing: {', '.join(sorted(TENSORS.keys() - tensors.keys()))}")
    own = {name: tensors.pop(name) for name in TENSORS}
    for name, array in own.items():
        if array.dtype != TENSORS[name] or array.ndim != 1:
            raise ValueError(f"tensor {name!r} must be {np.dtype(TENSORS[name])} and have one dimension")
    _check_places(own)
    levels = _decode_texts(own["level_text"], own["level_end"])
    start = own["level_start"].tolist()
    flags = zip(own["column_kind"].tolist(), own["level_is_text"].tolist(), own["level_missing"].tolist(), strict=True)
    columns: list[TableColumn] = []
    for j, (kind, is_text, missing) in enumerate(flags):
        if kind in (_NUMBER, _NUMBER_AND_INDICATOR):
            columns.append(NumberColumn(kind == _NUMBER_AND_INDICATOR))
        else:
            columns.append(CategoryColumn(_decode_levels(levels[start[j] : start[j + 1]], is_text), missing))
    return TableEncoder(_with_means(columns, own["column_kind"] == _MEANS, own["level_means"], n_targets))


def _check_places(own: Tensors) -> None:
    """Check that every column has its flags, that its levels are there, and that numbers have none."""
    kind, start, end = own["column_kind"], own["level_start"], own["level_end"]
    n = len(kind)
    if (
        n == 0
        or kind.max() > _MEANS
        or (len(start), len(own["level_missing"]), len(own["level_is_text"])) != (n + 1, n, n)
    ):
        raise ValueError("tensor 'column_kind' has unknown kinds, or others than it have a wrong length")
    if start[0] != 0 or start[-1] != len(end) or (start[1:] < start[:-1]).any():
        raise ValueError("tensor 'level_start' must ascend from 0 to the number of levels")
    bounds = np.concatenate([[0], end])
    if bounds[-1] != len(own["level_text"]) or (bounds[1:] < bounds[:-1]).any():
        raise ValueError("tensor 'level_end' must ascend to the length of 'level_text'")
    n_levels = np.diff(start) + own["level_missing"]
    is_category = kind >= _ONE_HOT
    if (is_category != (n_levels > 0)).any() or (own["level_is_text"] & (np.diff(start) == 0)).any():
        raise ValueError("a category needs levels, and a column of numbers has none")


def _decode_texts(text: npt.NDArray[np.uint8], end: npt.NDArray[np.int64]) -> list[str]:
    content = text.tobytes()
    bounds = [0, *end.tolist()]
    try:
        return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in itertools.pairwise(bounds)]
    except UnicodeDecodeError as error:
        raise ValueError("tensor 'level_text' is no UTF-8") from error


def _decode_levels(texts: list[str], is_text: bool) -> tuple[Level, ...]:
    """Return levels in their type, in ascending order and each once."""
    levels: list[Any] = texts if is_text else [_decode_number(text) for text in texts]
    if any(not a < b for a, b in itertools.pairwise(levels)):
        raise ValueError("the levels of a category must ascend")
    if not is_text and np.unique([hash(level) for level in levels], return_counts=True)[1].max(initial=0) > _MAX_TWINS:
        raise ValueError("too many levels of a category have the same hash")
    return tuple(levels)


def _decode_number(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"the level {text[:20]!r} is no number")
    return value


def _with_means(
    columns: list[TableColumn], has_means: npt.NDArray[np.bool_], means: npt.NDArray[np.float64], n_targets: int
) -> tuple[TableColumn, ...]:
    """Return the columns with the means of their levels."""
    if not np.isfinite(means).all():
        raise ValueError("tensor 'level_means' has values that are not finite")
    done = list(columns)
    at = 0
    for j in np.flatnonzero(has_means):
        column = columns[j]
        assert isinstance(column, CategoryColumn)
        size = column.n_levels * n_targets
        if at + size > len(means):
            raise ValueError("tensor 'level_means' is too short")
        done[j] = replace(column, means=means[at : at + size].reshape(-1, n_targets).copy())
        at += size
    if at != len(means):
        raise ValueError("tensor 'level_means' is too long")
    return tuple(done)


def checked_fill(fill: npt.NDArray[Any] | None, n_features: int) -> npt.NDArray[np.float64] | None:
    """Check what a file has to fill gaps with; None stands for the mean."""
    if fill is None:
        return None
    if fill.dtype != np.float64 or fill.shape != (n_features + 1, n_features) or n_features > MAX_FEATURES:
        raise ValueError(f"tensor 'fill' must be float64 and have a row more than the {n_features} features")
    if not is_distribution(fill):
        raise ValueError(
            "tensor 'fill' has values that are not finite, no symmetric precision, or a precision that is not positive"
        )
    return fill
