"""Arrays: weights of rows, figures of columns, values of trees, and columns that must stay as they were checked."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from .typing import Array, Floats, Indices

_WHOLE, _MOST_TIMES = 1e-12, 1e9  # what rounding makes of a whole multiple; the largest that is taken for one


def check_sample_weight(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights as an array, None for none."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    try:
        weight = np.asarray(sample_weight).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must hold numbers.") from error
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1D array or scalar, got {weight.ndim}D array.")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}!")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight must be finite; it contains NaN or infinity.")
    if (weight < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    if not weight.any():
        raise ValueError("sample_weight must not be zero everywhere: give at least one row a weight above zero.")
    return weight


def check_offset(offset: Any, n_rows: int, n_outputs: int) -> Floats | None:
    """Return an offset as an array of rows × outputs, None for none."""
    if offset is None:
        return None
    if isinstance(offset, numbers.Number) and n_outputs == 1:
        offset = np.full(n_rows, offset)
    try:
        values = np.asarray(offset).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("offset must hold numbers.") from error
    expected = (n_rows,) if n_outputs == 1 else (n_rows, n_outputs)
    if values.shape != expected:
        per = "a number per row" if n_outputs == 1 else "a number per row and output"
        raise ValueError(f"offset must have {per}, shape {expected}; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("offset must be finite; it contains missing values or infinity.")
    return np.ascontiguousarray(values.reshape(n_rows, n_outputs))


def weight_in_rows(weight: Floats) -> Floats:
    """Return how many rows each row counts as, whatever the unit of the weights.

    Repeated rows should grow the tree that their weights grow, so 1, 2, 3, … must stay; but no unit should matter, so
    100, 200, 300, … must become the same. Weights without a common unit are taken as shares: their mean is 1.
    """
    weight = weight / weight.max()
    with np.errstate(over="ignore"):
        times = weight / weight[weight > 0].min()
    whole: Floats = np.round(times)
    # Up to _MOST_TIMES this is far above the rounding of a division, and far below the chance of a coincidence.
    if times.max() <= _MOST_TIMES and (np.abs(times - whole) <= _WHOLE * times).all():
        return whole
    return np.asarray(weight * (np.count_nonzero(weight) / weight.sum()))


def class_weights(class_weight: Any, classes: Array, codes: Indices, weight: Floats | None) -> Floats:
    """Return the weight of every row that follows from its class."""
    if isinstance(class_weight, str) and class_weight in ("balanced", "balanced_subsample"):
        per_class = np.bincount(codes, weights=weight, minlength=len(classes))
        factors = per_class.sum() / (len(classes) * np.where(per_class > 0, per_class, 1.0))
    elif isinstance(class_weight, dict):
        if not all(isinstance(w, numbers.Real) and 0 <= float(w) < np.inf for w in class_weight.values()):
            raise ValueError(f"class_weight must hold finite weights of at least 0; got {class_weight!r}.")
        factors = compute_class_weight(class_weight, classes=classes, y=classes[codes])
        if not factors.any():
            raise ValueError(f"class_weight must not be zero for all classes; got {class_weight!r}.")
    else:
        raise ValueError(
            "class_weight must be None, a dict, 'balanced' or, in a forest, 'balanced_subsample'; "
            f"got {class_weight!r}."
        )
    return np.asarray(factors, dtype=np.float64)[codes]


def mean_and_deviation(values: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return weighted mean and standard deviation of each column without its missing values; 1 for a constant one."""
    if weight is not None:  # what does not count may be anything
        values, weight = values[weight > 0], weight[weight > 0]
    missing = np.isnan(values)
    known = np.where(missing, 0.0, values)
    if weight is None and not missing.any():
        share: Any = 1 / len(values)
    else:
        counted = ~missing * (1.0 if weight is None else weight[:, None])
        total = counted.sum(axis=0)
        share = counted / np.where(total > 0, total, 1.0)
    largest = np.abs(known).max(axis=0)
    # Sums and squares of very large or very small values leave the range of floats: then in units of the largest.
    unit = np.where((largest > 1e100) | (largest < 1e-100), largest, 1.0)
    unit[unit == 0] = 1.0
    known = known / unit
    mean = (known * share).sum(axis=0)
    deviation = np.sqrt(((known - mean) ** 2 * share).sum(axis=0))
    # A standard deviation within the rounding of the mean counts as 0.
    usable = (deviation > 10 * np.finfo(np.float64).eps * np.abs(mean)) & (
        deviation * unit >= np.finfo(np.float64).tiny
    )
    return mean * unit, np.where(usable, deviation * unit, 1.0)


def read_only(array: Array) -> Array:
    """Return the array itself, which can no longer be written to."""
    array.flags.writeable = False
    return array


class ReadOnlyColumns:
    """A dataclass of arrays that the core follows without looking twice: what was checked must stay as it is."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # copies and pickles do not keep the flag


class PerTree(Sequence[Any]):
    """A sequence that keeps each of its different values once, and for each tree the place of its own.

    Small forests are fitted in milliseconds, so what is done with a value is done once, not once per tree.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Sequence[Any], places: Indices) -> None:
        self.values = values  #: some may be those of no tree
        self.places = places

    @classmethod
    def same(cls, value: Any, n: int) -> PerTree:
        """Return one value for all trees."""
        return cls([value], np.zeros(n, dtype=np.intp))

    @classmethod
    def of(cls, values: Iterable[Any]) -> PerTree:
        """Return values of the trees one after another; what is the same object is kept once."""
        number: dict[int, int] = {}
        kept: list[Any] = []
        places = []
        for value in values:
            place = number.setdefault(id(value), len(kept))
            if place == len(kept):
                kept.append(value)
            places.append(place)
        return cls(kept, np.array(places, dtype=np.intp))

    @classmethod
    def combined(cls, make: Callable[..., Any], parts: Sequence[PerTree]) -> PerTree:
        """Return what is made of one value of each part; trees that have the same ones share it."""
        combinations = list(zip(*(part.places.tolist() for part in parts), strict=True))
        number = {places: i for i, places in enumerate(dict.fromkeys(combinations))}
        made = [make(*(part.values[i] for part, i in zip(parts, places, strict=True))) for places in number]
        return cls(made, np.array([number[places] for places in combinations], dtype=np.intp))

    @classmethod
    def joined(cls, parts: Sequence[PerTree]) -> PerTree:
        """Return the values of several forests, one after another."""
        own = cls.of(value for part in parts for value in part.values)
        first, places = 0, []
        for part in parts:
            places.append(own.places[first : first + len(part.values)][part.places])
            first += len(part.values)
        return cls(own.values, np.concatenate(places))

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, which: int) -> Any: ...
    @overload
    def __getitem__(self, which: slice) -> PerTree: ...
    def __getitem__(self, which: int | slice) -> Any:
        return self.take(which) if isinstance(which, slice) else self.values[self.places[which]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.places.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerTree | list) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"PerTree.of({list(self)!r})"

    def take(self, trees: Any) -> PerTree:
        """Return the values of some trees: a slice, their numbers, or a mask."""
        return PerTree(self.values, self.places[trees])

    def compact(self) -> PerTree:
        """Return the same without values that no tree has."""
        if len(self.values) == 1:
            return self
        used, places = np.unique(self.places, return_inverse=True)
        return PerTree([self.values[place] for place in used.tolist()], places)

    def repeated(self, times: Array) -> PerTree:
        """Return every value so many times, one after another."""
        return PerTree(self.values, self.places.repeat(times))

    def encoded(self, encode: Callable[..., Any], *more: Any) -> Floats:
        """Return what the trees' values stand for: a number of each tree, or a row for each of several numbers."""
        codes = np.array([encode(value, *more) for value in self.values], dtype=np.float64)
        return codes.T.take(self.places, axis=-1)


TreeParams: TypeAlias = dict[str, PerTree]  # by parameter
