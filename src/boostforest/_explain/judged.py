"""Rows with their targets that a model is judged by: out of bag if they are those of its fit."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from .._base.arrays import check_offset, check_sample_weight
from .._base.sampling import Sampling
from .._base.typing import Floats, Longs, Mask
from .._features.features import read_rows
from .._features.targets import read_known
from .._losses import CrossEntropy, Loss, Several
from .._model.model import Model, Places

#: The weights of a fit, and how its trees got their rows, None: not so that they can be judged out of bag. They follow
#: from the encoded target and the user's weights.
Draws = Callable[[Floats, Floats | None], tuple[Floats | None, Sampling | None]]


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows as the trees see them, and what is known of them."""

    model: Model
    X: Floats  #: features
    y: Floats  #: target as the core takes it
    weight: Floats | None  #: of the user; None: all the same
    is_training: bool  #: the rows of the fit, in order
    sampling: Sampling | None  #: how all trees have drawn from them; None: not judged out of bag
    offset: Floats | None = None  #: in scores, rows × outputs

    def outputs(self, threads: int, X: Floats | None = None, numbers: Longs | None = None) -> tuple[Floats, Mask]:
        """Return outputs, out of bag if they can be, and which rows have them; of changed rows with these numbers."""
        X = self.X if X is None else X
        offset = self.offset
        if offset is not None and numbers is not None:
            offset = np.ascontiguousarray(offset[numbers])
        if self.sampling is None:
            return self.model.outputs(X, threads, offset), np.ones(len(X), dtype=bool)
        return self.model.out_of_bag_outputs(X, self.sampling, threads, offset, Places(len(self.y), numbers))

    def losses(self, outputs: Floats, numbers: Longs) -> Floats:
        """Return the losses of outputs for the rows with these numbers."""
        loss = self.model.loss
        return loss.losses(self.y[numbers], loss.scores(outputs))


def read_target(loss: Loss, y: Any, n_rows: int) -> Any:
    """Return a target as the user has it, checked."""
    if isinstance(loss, Several):
        return read_known(loss, y, n_rows)
    y = column_or_1d(y)
    check_consistent_length(np.empty((n_rows, 0)), y)
    if not isinstance(loss, CrossEntropy):
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    unknown = y[~np.isin(y, loss.classes)]
    if len(unknown):
        raise ValueError(f"y has the class {unknown.tolist()[0]!r}, which the fit has not seen.")
    return y


def judged_rows(model: Model, X: Any, y: Any, sample_weight: Any, offset: Any, owner: str, draws: Draws) -> JudgedRows:
    """Return rows of a table with their target; ``owner`` is who messages name."""
    features, loss = model.features, model.loss
    table = read_rows(X, features.columns, owner)
    encoded = loss.encode(read_target(loss, y, len(table)))
    own = check_sample_weight(sample_weight, len(table))
    known = check_offset(offset, len(table), loss.n_outputs)
    in_scores = None if known is None else loss.offset_scores(known)
    if not _are_of_fit(model, table, encoded):
        transformed = table if features.encoder is None else features.encoder.transform(table)
        return JudgedRows(model, transformed, encoded, own, False, None, in_scores)
    weight, sampling = draws(encoded, own)
    of_means = weight if in_scores is None else loss.category_weight(weight, in_scores)
    seen = features.transform_training(table, loss.category_targets(encoded, in_scores), of_means, model.entropy)
    return JudgedRows(model, seen, encoded, own, True, sampling, in_scores)


def _are_of_fit(model: Model, table: Floats, encoded: Floats) -> bool:
    """Tell whether rows are those of the fit: the same targets, and the rows that were kept of the table."""
    if model.known.target != hashlib.sha256(encoded.tobytes()).digest():
        return False
    kept = model.known.background.table
    return kept is None or _has_rows(table, kept)


def _has_rows(table: Floats, kept: Floats) -> bool:
    """Tell whether all of some rows are in a table, in the same order."""
    wanted, at = [row.tobytes() for row in np.ascontiguousarray(kept)], 0
    for row in np.ascontiguousarray(table):
        if at < len(wanted) and row.tobytes() == wanted[at]:
            at += 1
    return at == len(wanted)
