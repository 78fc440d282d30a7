"""Sparse matrices of many columns: some columns as they are, and all of them in linear scores.

A node's regression cannot take thousands of columns, and a tree would split on few of them. So some are features as
they are, half of them those that correlate most with the target, half those with the most values; and a ridge
regression of the target on all columns gives one more feature for each target. In training a row's score comes from the
other folds, as the means of categories do (``levels``): no row sees its own target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from .._base.threads import ONE_BLAS_THREAD
from .._base.typing import Floats, Ints, Longs

MAX_DENSE = 256  # columns: a sparse matrix of no more is as good as a dense one
N_CHOSEN = 144  # columns that are features as they are
_PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0)  # of the squared coefficients, in units of a column's mean variance
_STEPS, _TOLERANCE = 100, 1e-3  # of the conjugate gradients


@dataclass(frozen=True, eq=False)
class SparseColumns:
    """What becomes of the columns of a sparse matrix."""

    chosen: Ints  #: columns that are features as they are, ascending
    coef: Floats  #: columns × targets: the linear scores
    intercept: Floats  #: of the scores
    deviation: Floats  #: standard deviation of each column

    @property
    def nbytes(self) -> int:
        """Bytes of all of it."""
        return self.chosen.nbytes + self.coef.nbytes + self.intercept.nbytes + self.deviation.nbytes

    def features(self, X: sparse.csr_matrix) -> Floats:
        """Return the features of rows: the chosen columns, then the scores."""
        return np.column_stack([X[:, self.chosen].toarray(), X @ self.coef + self.intercept])

    def feature_names(self, names: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Return the names of the features, given those of the columns and of the targets."""
        return [names[j] for j in self.chosen] + [f"all columns:{target}" for target in targets]

    def sum_by_column(self, values: Floats) -> Floats:
        """Share figures of features out to the columns: those of a score by what the columns move it."""
        moved = np.abs(self.coef) * self.deviation[:, None]
        total = moved.sum(axis=0)
        sums: Floats = (moved / np.where(total > 0, total, 1.0)) @ values[len(self.chosen) :]
        sums[self.chosen] += values[: len(self.chosen)]
        return sums

    def effects_by_column(self, effects: Floats, deviation: Floats) -> Floats:
        """Return signed effects of one standard deviation of every column, outputs × columns, given the features'."""
        n = len(self.chosen)
        found: Floats = effects[:, n:] / deviation[n:] @ (self.coef * self.deviation[:, None]).T
        found[:, self.chosen] += effects[:, :n]
        return found


def fit_sparse(
    X: sparse.csr_matrix, targets: Floats, weight: Floats | None, folds: Longs, chosen: Ints | None = None
) -> tuple[SparseColumns, Floats]:
    """Return what becomes of the columns, and the training rows; ``chosen``: those of an earlier fit."""
    w = np.full(len(targets), 1 / len(targets)) if weight is None else weight / weight.sum()
    mean = X.T @ w
    variance = np.maximum(X.multiply(X).T @ w - mean**2, 0.0)
    deviation = np.sqrt(variance)
    if chosen is None:
        strength = np.abs(X.T @ (w[:, None] * (targets - w @ targets))).max(axis=1)
        np.divide(strength, deviation, out=strength, where=deviation > 0)
        strong = np.argsort(-strength, kind="stable")[: N_CHOSEN // 2]
        n_values = np.bincount(X.indices, minlength=X.shape[1])
        n_values[strong] = -1
        # Columns that act together with others need not correlate with the target, but few rows show nothing.
        frequent = np.argsort(-n_values, kind="stable")[: N_CHOSEN - len(strong)]
        chosen = np.sort(np.concatenate([strong, frequent])).astype(np.int32)
    with ONE_BLAS_THREAD:
        scores, penalty = _scores_of_other_folds(X, targets, w, folds)
        coef, intercept = _ridge(X, targets, w, penalty)
    columns = SparseColumns(chosen, coef, intercept, deviation)
    return columns, np.column_stack([X[:, chosen].toarray(), scores])


def _scores_of_other_folds(X: sparse.csr_matrix, targets: Floats, w: Floats, folds: Longs) -> tuple[Floats, float]:
    """Return for every row the scores that the other folds give it, and the penalty that is best for them."""
    parts = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
    best: tuple[float, Floats, float] | None = None
    for penalty in _PENALTIES:
        scores = np.empty_like(targets)
        for rows in parts:
            others = np.setdiff1d(np.arange(len(targets)), rows, assume_unique=True)
            coef, intercept = _ridge(X[others], targets[others], w[others], penalty)
            scores[rows] = X[rows] @ coef + intercept
        error = float(w @ ((targets - scores) ** 2).sum(axis=1))
        if best is None or error < best[0]:
            best = error, scores, penalty
        else:  # it only rises from here
            break
    assert best is not None
    return best[1], best[2]


def _ridge(X: sparse.csr_matrix, targets: Floats, w: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Return coefficients and intercepts of a weighted ridge regression, by conjugate gradients."""
    total = w.sum()
    w = w * len(w) / total if total > 0 else np.ones(len(w))
    mean, target_mean = X.T @ w / len(w), w @ targets / len(w)

    def apply(v: Any) -> Any:
        along = mean @ v
        return X.T @ (w * (X @ v)) - len(w) * mean * along + penalty * v

    operator: Any = LinearOperator((X.shape[1], X.shape[1]), matvec=apply, dtype=np.float64)
    right = X.T @ (w[:, None] * (targets - target_mean)) - np.outer(mean, w @ (targets - target_mean))
    coef = np.column_stack([cg(operator, column, rtol=_TOLERANCE, maxiter=_STEPS)[0] for column in right.T])
    return coef, target_mean - mean @ coef


def check_values(X: Any) -> None:
    """Refuse stored values that are missing or infinite."""
    data = X.tocsr().data
    if data.dtype.kind != "f":
        return
    if np.isnan(data).any():
        raise ValueError("Input X contains NaN: a sparse matrix must not have missing values, make it dense.")
    if np.isinf(data).any():
        raise ValueError("Input X contains infinity: a sparse matrix must hold finite numbers.")
