"""Explaining rows: checks, the background, contributions block by block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._base.arrays import check_offset
from .._base.memory import refuse_if_too_much
from .._base.progress import Progress
from .._base.typing import Floats
from .._features.frames import as_frame, in_order
from .._model.model import Model
from .contributions import Shares, along_paths, columns_of_features, interventional
from .explanation import Explanation
from .links import Level, Link, find_link

OUTPUTS = ("prediction", "score", "probability")
ALGORITHMS = ("interventional", "path")
_VALUES_AT_ONCE = 2**22  # contributions against single background rows that are kept at a time


@dataclass(frozen=True)
class Request:
    """What is to be explained, and how."""

    output: str = "prediction"
    algorithm: str = "interventional"
    interactions: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (("output", OUTPUTS), ("algorithm", ALGORITHMS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
        if not isinstance(self.interactions, bool | np.bool_):
            raise ValueError(f"interactions must be True or False; got {self.interactions!r}.")
        if self.interactions and self.algorithm == "path":
            raise ValueError("interactions=True needs algorithm='interventional'; got 'path'.")


def explain(
    model: Model,
    X: Any,
    background: Any,
    request: Request,
    owner: str,
    threads: int,
    verbose: int,
    offset: Any = None,
) -> Explanation:
    """Return what each column adds to the outputs of the rows of a table; ``owner`` is who messages name."""
    if model.columns.models:
        raise ValueError("explain needs node models of the core, and some trees have their models in Python.")
    link = find_link(model, request.output)
    rows = model.features.transform(X, owner)
    added = check_offset(offset, len(rows), model.loss.n_outputs)
    if added is not None and model.loss.n_classes and (request.output != "score" or model.n_trees > 1):
        raise ValueError(
            "explain takes an offset of classes only for output='score' of a single tree: the mean probabilities of a "
            "forest do not add up with it; explain without offset."
        )
    others = _background(model, background, owner)
    _check(model, link, request, len(rows), len(others))
    data = _data(model, X)
    names = model.features.names
    progress = Progress(len(rows) * len(link.parts), "rows") if verbose else None
    explained = _Explained(model, link, request, others, threads, progress)
    values, noise, base = explained.of(rows)
    if added is not None:
        values, noise, base = _with_offset(model, request.output, values, noise, base, added)
    if progress is not None:
        progress.close()
    return Explanation(
        values,
        base,
        data,
        [f"x{j}" for j in range(model.features.n_columns)] if names is None else [str(name) for name in names],
        [str(label) for label in model.loss.classes] if base.ndim == 2 else None,  # type: ignore[attr-defined]
        noise,
        interactions=bool(request.interactions),
    )


def _with_offset(
    model: Model, output: str, values: Floats, noise: Floats, base: Floats, offset: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return values, noise and base values of rows that have an offset, and with them the background."""
    is_factor = model.loss.link == _core.Link.LOG or getattr(model.loss, "predicts_exponential", False)
    if is_factor and output == "prediction":
        factor = np.exp(offset[:, 0])
        wide = factor.reshape(-1, *[1] * (values.ndim - 1))
        return values * wide, noise * wide, base * factor
    return values, noise, base + model.loss.offset_scores(offset).reshape(base.shape) * model.loss.unit


def _background(model: Model, background: Any, owner: str) -> Floats:
    """Return the features of the background: rows that were given, or those that the fit has kept."""
    columns_of_features(model)  # raises where features are not of one column
    if background is None:
        kept = model.known.background.table
        if kept is None:
            raise ValueError(
                "background is needed: a model that was loaded has no training rows, so pass some, such as 100 of them."
            )
        encoder = model.features.encoder
        return kept if encoder is None else encoder.transform(kept)
    if _n_rows(background) == 0:
        raise ValueError("background must have at least one row; got 0 rows.")
    try:
        return model.features.transform(background, owner)
    except ValueError as error:
        raise ValueError(f"background must be a table like that of the fit: {error}") from error


def _n_rows(table: Any) -> int | None:
    shape = getattr(table, "shape", None)
    return int(shape[0]) if shape else len(table) if hasattr(table, "__len__") else None


def _check(model: Model, link: Link, request: Request, n_rows: int, n_others: int) -> None:
    """Refuse what takes too much time or memory, or is not there."""
    column_of, n_columns = columns_of_features(model)
    n_outputs, columns = model.columns.n_outputs, model.columns
    closed = all(part.has_closed_forms(model) for part in link.parts)
    if request.algorithm == "path" and not all(part.has_paths(model) for part in link.parts):
        raise ValueError(
            "algorithm='path' needs trees without monotonic_cst, of at most 200 levels, and a loss without logarithms; "
            "use algorithm='interventional'."
        )
    if request.interactions:
        bends = any(part.link != _core.Link.IDENTITY for part in link.parts) or bool(columns.sum_path.any())
        n_seen = len(np.unique(column_of[columns.seen_features])) if (columns.n_inputs > 0).any() else 0
        if (bends and n_seen > _core.MOST_PAIRED) or (not closed and n_columns > _core.MOST_PAIRED):
            raise ValueError(
                f"interactions=True goes through all sets of the columns that node models see, and the sets of "
                f"{n_seen if closed else n_columns} columns are too many: there may be {_core.MOST_PAIRED}; use fewer "
                "model_features."
            )
    per_row = n_columns**2 if request.interactions else n_columns
    results = 3.0 * n_rows * per_row * n_outputs
    scratch = 0.0 if link.is_linear else 4.0 * n_others * per_row * n_outputs
    what = f"Explaining {n_rows:,} rows" + (f" with {n_columns**2:,} interactions" if request.interactions else "")
    refuse_if_too_much(8 * (results + scratch), what, ["fewer rows at a time", "fewer columns"])


def _data(model: Model, X: Any) -> Any:
    """Return the columns of the fit as an array of what the user has."""
    frame = as_frame(X)
    if frame is None:
        return np.asarray(X)
    names = model.features.names
    return (frame if names is None else in_order(frame, list(names), more=True)).to_numpy()


class _Explained:
    """One call: contributions to the trees, led to what the user sees."""

    def __init__(
        self, model: Model, link: Link, request: Request, others: Floats, threads: int, progress: Progress | None
    ) -> None:
        self._model, self._link, self._request, self._others = model, link, request, others
        self._threads, self._progress, self._done = threads, progress, 0
        self._by_path = request.algorithm == "path"

    def of(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values, noise and base values of rows of features."""
        found = [self._block(rows[block], level) for block, level in self._blocks(rows)]
        values, variance, base = (np.concatenate(parts) for parts in zip(*found, strict=True))
        noise = np.sqrt(variance)
        if self._request.interactions:
            n = self._model.features.n_columns
            values, noise = (a.reshape(len(rows), n, n, *a.shape[2:]) for a in (values, noise))
        return values, noise, base

    def _blocks(self, rows: Floats) -> Iterator[tuple[slice, Level]]:
        """Yield as many rows at a time as fit in memory with their contributions."""
        size = max(len(rows), 1)
        if not self._link.is_linear:
            n_columns, n_outputs = self._model.features.n_columns, self._model.columns.n_outputs
            per_row = len(self._others) * n_columns ** (1 + self._request.interactions) * n_outputs
            size = max(self._threads, _VALUES_AT_ONCE // per_row)
        for first in range(0, len(rows), size):
            block = slice(first, first + size)
            yield block, self._link.level(rows[block], self._threads)

    def _block(self, rows: Floats, level: Level) -> tuple[Floats, Floats, Floats]:
        link = self._link
        shares, others = self._contributions(rows)
        slopes = link.slopes(level, others)
        values = np.sum([_led(share.values, slope) for share, slope in zip(shares, slopes, strict=True)], axis=0)
        variance = np.zeros_like(values)
        for share, slope in zip(shares, slopes, strict=True):
            if share.variance is not None:
                variance += _led(share.variance, slope**2) / share.variance.shape[1]
        base = link.outputs(others).mean(axis=0)
        base = np.broadcast_to(base, (len(rows), *base.shape)).copy()
        if base.ndim == 1:
            values, variance = values[..., 0], variance[..., 0]
        return np.asarray(values), variance, base

    def _contributions(self, rows: Floats) -> tuple[list[Shares], Level]:
        """Return the contributions to each part of the forest, and what its trees add up to for the background."""
        model, threads, others = self._model, self._threads, self._others
        shares, bases = [], []
        for part in self._link.parts:
            if self._by_path:
                share, base = along_paths(model, part, rows, others, threads, self._report(len(rows)))
                bases.append(base[None])
            else:
                apart, pairs = not self._link.is_linear, bool(self._request.interactions)
                report = self._report(len(rows))
                share = interventional(model, part, rows, others, apart, pairs, threads, report)
            shares.append(share)
            self._done += len(rows)
        if self._by_path:
            return shares, Level(bases[0], bases[1] if len(bases) > 1 else None)
        return shares, self._link.level(others, threads)

    def _report(self, n_rows: int) -> Any:
        """Return what the core tells how many of these rows are done."""
        if self._progress is None:
            return None
        before, draw = self._done, self._progress
        return lambda done: draw(before + min(done, n_rows))


def _led(values: Floats, slopes: Floats) -> Floats:
    """Return the mean over the background of contributions times slopes: rows × columns × outputs."""
    pairs = np.broadcast_to(slopes, (*values.shape[:2], *slopes.shape[2:]))
    led: Floats = np.einsum("rzpm,rzkm->rpk", values, pairs) / values.shape[1]
    return led
