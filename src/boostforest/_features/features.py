"""How a table becomes what trees see: features of its columns, their scaling, what stands in for missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.draws import fold_numbers
from .._base.memory import FEWER_CLASSES, refuse_if_too_much
from .._base.typing import Entropy, Floats, Labels
from .._base.validation import mean_and_deviation
from .._losses import Loss
from .encoder import N_FOLDS, TableEncoder, count_features, fit_encoder
from .imputer import fit_fill, rescale
from .read import Columns, read_rows
from .roles import Roles, read_roles

_TABLES, _TARGETS = 3, 3  # matrices of features, and of targets, that are there while categories become features


@dataclass(frozen=True, eq=False)
class Features:
    """What was learned from the columns of the training table."""

    n_columns: int
    names: Labels | None  #: of the columns; None if they have none
    encoder: TableEncoder | None  #: None: every column is a feature as it is
    mean: Floats  #: subtracted from each feature,
    scale: Floats  #:   which is then divided by this
    deviation: Floats  #: standard deviation of each feature, whether they are scaled or not
    fill: Floats | None = None  #: what missing values are filled with, see ``imputer``; None: the mean

    @cached_property
    def columns(self) -> Columns:
        """The columns as they are read."""
        return Columns(self.n_columns, self.names, {} if self.encoder is None else self.encoder.categories)

    def transform(self, X: Any, owner: str) -> Floats:
        """Return the features of the rows of a table; ``owner`` is the estimator that messages name."""
        rows = read_rows(X, self.columns, owner)
        return rows if self.encoder is None else self.encoder.transform(rows)

    def transform_training(self, X: Floats, targets: Floats, weight: Floats | None, entropy: Entropy) -> Floats:
        """Return the features of training rows: no mean has seen the target of the row it stands in."""
        return _training_features(self.encoder, X, targets, weight, entropy)

    def by_column(self, values: Floats) -> Floats:
        """Add up figures of features over those that come from the same column of the table."""
        return values if self.encoder is None else self.encoder.sum_by_column(values)

    def feature_names(self, loss: Loss) -> list[str]:
        """Return the names of the features: of the columns, or of what became of them."""
        columns = [f"x{j}" for j in range(self.n_columns)] if self.names is None else [str(name) for name in self.names]
        return columns if self.encoder is None else self.encoder.feature_names(columns, loss.category_target_names)

    @property
    def nbytes(self) -> int:
        """Bytes of all that prediction needs."""
        own = self.mean.nbytes + self.scale.nbytes + (0 if self.fill is None else self.fill.nbytes)
        return own + (0 if self.encoder is None else self.encoder.nbytes)


def fit_features(
    X: Floats,
    columns: Columns,
    loss: Loss,
    y: Floats,
    weight: Floats | None,
    arguments: Mapping[str, Any],
    entropy: Entropy,
    threads: int,
) -> tuple[Features, Floats, Roles]:
    """Decide how columns become features; return that, the features of the training rows, and their roles.

    ``X`` is the table as ``read_training`` gives it, ``y`` the encoded target; ``arguments`` are those of estimators.
    """
    if columns.categories:
        n_targets = len(loss.category_target_names)
        n_features = count_features(columns.n, columns.categories, n_targets, arguments["max_one_hot"])
        _check_memory(len(X), columns.n, n_features, n_targets)
    targets = loss.category_targets(y) if columns.categories else np.empty((len(y), 0))
    options = arguments["max_one_hot"], arguments["missing_indicator"]
    encoder = fit_encoder(X, columns.categories, targets, weight, *options)
    X = _training_features(encoder, X, targets, weight, entropy)
    roles = read_roles(arguments, columns.n, columns.names, encoder)
    mean, deviation = mean_and_deviation(X, weight)
    centre = mean if arguments["scale"] else np.zeros_like(mean)
    scale = deviation if arguments["scale"] else np.ones_like(mean)
    fill = None
    if arguments["missing_fill"] == "linear" and np.isnan(X).any():
        fill = fit_fill(X, weight, mean, deviation, entropy, threads, roles.filled_together(X.shape[1]))
        fill = None if fill is None else rescale(fill, (mean - centre) / scale, deviation / scale)
    return Features(columns.n, columns.names, encoder, centre, scale, deviation, fill), X, roles


def _training_features(
    encoder: TableEncoder | None, X: Floats, targets: Floats, weight: Floats | None, entropy: Entropy
) -> Floats:
    if encoder is None:
        return X
    return encoder.transform_training(X, targets, weight, fold_numbers(entropy, len(X), N_FOLDS))


def _check_memory(n_rows: int, n_columns: int, n_features: int, n_targets: int) -> None:
    """Refuse a table that there is not enough memory for, after its categories have become features."""
    n_bytes = 8.0 * n_rows * (_TABLES * n_features + _TARGETS * n_targets)
    what = f"{n_features:,} features, which {n_columns:,} columns and their categories become"
    if n_targets > 2:
        refuse_if_too_much(n_bytes, f"{what} with {n_targets:,} classes,", [FEWER_CLASSES, "fewer text columns"])
    else:
        refuse_if_too_much(n_bytes, f"{what},", ["a smaller max_one_hot", "fewer text columns"])
