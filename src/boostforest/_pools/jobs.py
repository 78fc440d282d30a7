"""The work on the members of a pool forest, shared out by joblib: fitting, prediction, out-of-bag prediction.

All functions here are plain functions of picklable arguments, so any joblib backend can carry the fits. Members are
fitted on copies of the drawn rows, not on row counts as weights: most estimators count rows, not weights, where it
matters (``min_samples_leaf``), and forests came out worse with counts (docs/pool_forests.md).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from .._base.arrays import class_weights
from .._base.progress import Progress
from .._base.sampling import Sampling
from .._base.typing import Array, Floats, Indices
from .members import Columns, Kind, Member, make_estimator

Rows = Indices

_COMPILED = ("sklearn.tree.", "boostforest.tree", "boostforest.model_trees.")
_GROUP = 8  # members whose outputs are added up by one call: fixed, so that sums do not depend on n_jobs


class Fitted(NamedTuple):
    """One fitted member, and what its predictions need."""

    estimator: Any
    columns: Columns
    seed: int


# ----------------------------------------------------------------------------------------------------------- fitting


def fit_members(
    members: list[Member], X: Any, y: Array, sampling: Sampling, n_classes: int, n_jobs: Any, verbose: int
) -> list[Any]:
    """Fit all members; joblib's context decides where."""
    if not members:  # a warm start that adds none
        return []
    workers = int(joblib.effective_n_jobs(n_jobs))
    progress = Progress(len(members), "members") if verbose else None
    n_chunks = 1 if workers == 1 else 8 * workers
    chunks = _cut(members, max(n_chunks, 32) if progress else n_chunks)
    rounds = _cut(chunks, len(chunks) // workers) if progress else [chunks]
    prefer = "threads" if all(_releases_gil(member.estimator) for member in members) else "processes"
    fitted: list[Any] = []
    with Parallel(n_jobs=n_jobs, prefer=prefer) as parallel:
        for some in rounds:
            for estimators in parallel(delayed(_fit_chunk)(chunk, X, y, sampling, n_classes) for chunk in some):
                fitted += estimators
            if progress is not None:
                progress(len(fitted))
    if progress is not None:
        progress.close()
    return fitted


def _cut(items: list[Any], n_parts: int) -> list[list[Any]]:
    """Split a list into at most n parts of about the same length."""
    n = max(1, min(n_parts, len(items)))
    bounds = np.linspace(0, len(items), n + 1).astype(int)
    return [items[a:b] for a, b in pairwise(bounds.tolist())]


def _releases_gil(estimator: Any) -> bool:
    """Tell whether an estimator is known to compute outside Python, so that threads are as good as processes."""
    return type(estimator).__module__.startswith(_COMPILED)


def _fit_chunk(members: list[Member], X: Any, y: Array, sampling: Sampling, n_classes: int) -> list[Any]:
    return [_fit_member(member, X, y, sampling, n_classes) for member in members]


def _fit_member(member: Member, X: Any, y: Array, sampling: Sampling, n_classes: int) -> Any:
    rows = None
    weight = sampling.weight
    if sampling.bootstrap:
        rows = drawn_rows(member.seed, len(y), sampling)
        y = y[rows]
        if sampling.balance_classes:
            weight = class_weights("balanced", np.arange(n_classes), y, None)
    try:
        estimator = make_estimator(member)
        arguments = {} if weight is None else {"sample_weight": weight}
        estimator.fit(take(X, rows, member.columns), y, **arguments)
    except (MemoryError, Warning):  # a filter may turn warnings into errors
        raise
    except Exception as error:
        kind = next((k for k in (ValueError, TypeError) if isinstance(error, k)), RuntimeError)
        drawn = "".join(f", {name}={value!r}" for name, value in member.params.items())
        name = f"{type(member.estimator).__name__}{drawn}"
        raise kind(f"Member {member.number} ({name}) could not be fitted{_lacks(y, n_classes)}: {error}") from error
    return estimator


def _lacks(y: Array, n_classes: int) -> str:
    """Say that a replica lacks classes, which many estimators do not accept."""
    seen = len(np.unique(y)) if n_classes else 0
    return f" to a replica with {seen} of {n_classes} classes" if seen < n_classes else ""


def check_takes_weights(kinds: list[Kind], why: str) -> None:
    """Refuse weights that some estimator has no argument for."""
    for kind in kinds:
        if not has_fit_parameter(kind.estimator, "sample_weight"):
            raise ValueError(f"{why}, but the fit of {kind.name} takes no sample_weight.")


def drawn_rows(seed: int, n_rows: int, sampling: Sampling) -> Rows:
    """Return the rows of a bootstrap replica, repeated as often as they were drawn, in ascending order."""
    return np.repeat(np.arange(n_rows), sampling.counts(seed, n_rows))


def is_frame(X: Any) -> bool:
    """Tell whether a table is a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def take(X: Any, rows: Rows | None, columns: Columns) -> Any:
    """Return some rows (None: all) and columns of an array, a sparse matrix or a data frame."""
    cells = X.iloc if hasattr(X, "iloc") else X
    if rows is not None:
        X = cells[rows]
        cells = X.iloc if hasattr(X, "iloc") else X
    return X if len(columns) == X.shape[1] else cells[:, columns]


# -------------------------------------------------------------------------------------------------------- prediction


def member_output(member: Fitted, X: Any, rows: Rows | None, n_classes: int) -> Floats:
    """Return the prediction of one member (one column), or its probabilities of all classes of the forest."""
    X = take(X, rows, member.columns)
    estimator = member.estimator
    n_rows = X.shape[0]
    if n_classes == 0:
        return np.asarray(estimator.predict(X), dtype=np.float64).reshape(n_rows, 1)
    if not hasattr(estimator, "predict_proba"):
        votes = np.zeros((n_rows, n_classes))
        votes[np.arange(n_rows), np.asarray(estimator.predict(X)).astype(np.intp).ravel()] = 1
        return votes
    p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    seen = np.asarray(getattr(estimator, "classes_", range(n_classes))).astype(np.intp)
    if len(seen) == 1:
        p = np.ones((n_rows, 1))  # boosters return two columns
    if len(seen) == n_classes:
        return p
    probabilities = np.zeros((n_rows, n_classes))
    probabilities[:, seen] = p[:, : len(seen)]
    return probabilities


def sum_outputs(members: Sequence[Fitted], X: Any, n_classes: int, n_jobs: Any) -> Floats:
    """Add up the outputs of all members: rows × outputs."""

    def add(group: Sequence[Fitted]) -> Floats:
        return sum(member_output(member, X, None, n_classes) for member in group)  # type: ignore[return-value]

    total = np.zeros((X.shape[0], max(n_classes, 1)))
    for part in _in_groups(add, members, 1 if X.shape[0] == 1 else n_jobs):
        total += part
    return total


def sum_out_of_bag(
    members: Sequence[Fitted], X: Any, sampling: Sampling, n_classes: int, n_jobs: Any
) -> tuple[Floats, Floats]:
    """Add up, for each row, the outputs of the members that have not drawn it; return that and their number."""
    shape = (X.shape[0], max(n_classes, 1))

    def add(group: Sequence[Fitted]) -> tuple[Floats, Floats]:
        total, n = np.zeros(shape), np.zeros((shape[0], 1))
        for member in group:
            rows = np.flatnonzero(sampling.counts(member.seed, shape[0]) == 0)
            if len(rows) > 0:
                total[rows] += member_output(member, X, rows, n_classes)
                n[rows] += 1
        return total, n

    total, n_members = np.zeros(shape), np.zeros((shape[0], 1))
    for part, n in _in_groups(add, members, n_jobs):
        total += part
        n_members += n
    return total, n_members


def _in_groups(add: Callable[[Sequence[Fitted]], Any], members: Sequence[Fitted], n_jobs: Any) -> Iterator[Any]:
    """Yield what ``add`` makes of each group of members, in order; in threads, as sending members costs too much."""
    groups = [members[i : i + _GROUP] for i in range(0, len(members), _GROUP)]
    if len(groups) == 1 or joblib.effective_n_jobs(n_jobs) == 1:
        return map(add, groups)
    results: Iterator[Any] = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(add)(group) for group in groups
    )
    return results
