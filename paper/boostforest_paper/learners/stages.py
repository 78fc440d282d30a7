"""Parts of an ensemble: what its first members say, and how many of them are best."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from boostforest_paper.learners import Outputs, Params
from boostforest_paper.types import Floats


def average_of_members(model: Any, X: Floats, sizes: Sequence[int]) -> Outputs:
    """Average the first so many of ``estimators_``."""
    total: Any = 0.0
    done = 0
    for size in sizes:
        for tree in model.estimators_[done:size]:
            total = total + (tree.predict_proba(X) if hasattr(tree, "predict_proba") else tree.predict(X))
        done = size
        yield np.asarray(total) / size


def staged_outputs(model: Any, X: Floats, sizes: Sequence[int]) -> Outputs:
    """Take what the model's own staged methods yield."""
    staged = getattr(model, "staged_predict_proba", model.staged_predict)(X)
    done = 0
    for size in sizes:
        yield next(islice(staged, size - done - 1, None))
        done = size


def fit_best_stage(model: Any, X: Floats, y: npt.NDArray, X_judge: Floats, y_judge: npt.NDArray) -> Params:
    """Fit all rounds, then keep those with the least log-loss or squared error of the second part.

    Not the least error rate: after a few rounds at a small rate it may be perfect, with all probabilities near the
    mean, and after a fit to other rows the same rounds say one class to all. XGBoost and LightGBM stop by the log-loss,
    too.
    The model itself is cut to these rounds by a second fit: a round costs the same whoever asks for it.
    """
    model.fit(X, y)
    if hasattr(model, "classes_"):
        places = np.searchsorted(model.classes_, y_judge)
        hits = (p[np.arange(len(p)), places] for p in model.staged_predict_proba(X_judge))
        losses = [-np.mean(np.log(np.maximum(hit, 1e-15))) for hit in hits]
    else:
        losses = [np.mean((predicted - y_judge) ** 2) for predicted in model.staged_predict(X_judge)]
    best = int(np.argmin(losses)) + 1
    if best < len(losses):
        model.set_params(n_estimators=best).fit(X, y)
    return {"n_estimators": best}


def keep_best_members(model: Any, X: Floats, y: npt.NDArray, X_judge: Floats, y_judge: npt.NDArray) -> Params:
    """Fit a forest of independent members, then keep the first ones with the least error of the second part.

    Of equal numbers the largest: more members do no harm, and a few validation rows cannot tell them apart.
    """
    model.fit(X, y)
    errors = [np.mean(predicted != y_judge) for predicted in model.staged_predict(X_judge)]
    best = len(errors) - int(np.argmin(errors[::-1]))
    for name in ("estimators_", "estimators_features_", "member_params_", "member_seeds_"):
        setattr(model, name, getattr(model, name)[:best])
    return {"n_estimators": best}
