"""What a page tells: the rows, what was predicted of them and how, and simple models beside it."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .._base.typing import Floats, Labels, Longs, Mask
from .._estimator.targets import require_one
from .._explain.effects import column_names
from .._explain.judged import JudgedRows, read_target
from .._explain.permutation import PermutationImportances
from .._features.features import read_rows
from .._features.frames import as_frame
from .._model.model import Model
from . import baselines
from .figures import Figures, class_figures, loss_figures, losses_of

_FEWEST_JUDGED, _MOST_JUDGED = 200, 4000  # rows that importances are judged by
_MOST_SHUFFLED = 80_000  # the same, times columns
_MOST_BASELINE = 20_000  # rows that simple models are fitted to
_MOST_INTERVALS = 4000  # rows that have their prediction intervals computed


@dataclass(frozen=True)
class Row:
    """Figures of one model."""

    name: str
    figures: Figures
    is_honest: bool = True  #: it has not seen the rows that it is judged by


@dataclass(frozen=True, eq=False)
class Intervals:
    """Prediction intervals."""

    rows: Longs  #: that have them
    ends: Floats  #: of all rows, NaN of others


def thinned(rows: Longs, most: int) -> Longs:
    """Return at most so many of some rows, evenly spaced."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]


def take(X: Any, rows: Longs) -> Any:
    """Return some rows of a table of any kind."""
    frame = as_frame(X)
    if frame is None:
        return np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)[rows]
    return frame[rows.tolist()].to_native()


class Facts:
    """A fitted estimator, a table with its target, and what follows from them; computed once, when it is asked for."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, target: str | None) -> None:
        self.estimator, self.X = estimator, X
        require_one(estimator._fitted(), "report")
        self.rows: JudgedRows = estimator._judged_rows(X, y, sample_weight)
        model = self.model
        self.table = read_rows(X, model.features.columns, type(estimator).__name__)
        self.y = np.asarray(read_target(model.loss, y, len(self.table)))
        self.names = column_names(model.features)
        own = getattr(y, "name", None)
        self.target = str(target if target is not None else own if own is not None else "the target")

    # ---------------------------------------------------------------------------------------------------- what it is

    @property
    def model(self) -> Model:
        """The fitted model."""
        return self.rows.model

    @property
    def classes(self) -> Labels | None:
        """The classes; None in regression."""
        return self.model.loss.classes if self.model.loss.n_classes else None  # type: ignore[attr-defined]

    @property
    def noun(self) -> str:
        """What the estimator is called in sentences."""
        return "forest" if hasattr(self.estimator, "get_tree") else "tree"

    @property
    def weight(self) -> Floats | None:
        """Weights of the rows."""
        return self.rows.weight

    @property
    def out_of_bag(self) -> bool:
        """Whether the rows are those of the fit, and each is judged by the trees that have not drawn it."""
        return self.rows.sampling is not None

    @property
    def knows_its_rows(self) -> bool:
        """Whether the model can tell the rows of its fit from others; one from a file cannot."""
        return self.model.known.target is not None

    @cached_property
    def labels(self) -> list[str]:
        """What rows are called: by the index of a frame, or by their numbers from 0."""
        index = getattr(self.X, "index", None) if as_frame(self.X) is not None else None
        numbers = range(len(self.table)) if index is None else index
        return [str(label) for label in numbers]

    @cached_property
    def counted(self) -> Longs:
        """Rows that have any weight, and a prediction by which they are judged."""
        has_weight = self.judged[1] if self.weight is None else self.judged[1] & (self.weight > 0)
        return np.flatnonzero(has_weight)

    # --------------------------------------------------------------------------------------------------- predictions

    @cached_property
    def predicted(self) -> Floats:
        """Predictions by all trees: numbers, or probabilities of classes."""
        predict = self.estimator.predict if self.classes is None else self.estimator.predict_proba
        return np.asarray(predict(self.X))

    @cached_property
    def judged(self) -> tuple[Floats, Mask]:
        """Predictions that rows are judged by, out of bag if they can be, and which rows have them."""
        if not self.out_of_bag:
            return self.predicted, np.ones(len(self.y), dtype=bool)
        outputs, seen = self.rows.outputs(self.estimator._threads())
        return np.where(_like(seen, self.predicted), self.model.loss.decode(outputs), self.predicted), seen

    @cached_property
    def losses(self) -> Floats:
        """Loss of every row."""
        return losses_of(self.model.loss, self.y, self.judged[0])

    @cached_property
    def intervals(self) -> Intervals | None:
        """The 90 % intervals of some rows; None without them, or where the rows are those of the fit."""
        if self.rows.is_training or self.model.known.left_out is None:
            return None
        rows = thinned(self.counted, _MOST_INTERVALS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # too few rows to tell: there are none
            ends = np.asarray(self.estimator.predict_interval(take(self.X, rows)))
        if not np.isfinite(ends).all():
            return None
        of_all = np.full((len(self.y), 2), np.nan)
        of_all[rows] = ends
        return Intervals(rows, of_all)

    # ------------------------------------------------------------------------------------------------------- figures

    def _figures(self, predicted: Floats, rows: Longs) -> Figures:
        weight = None if self.weight is None else self.weight[rows]
        if self.classes is None:
            return loss_figures(self.model.loss, predicted, self.y[rows], weight)
        return class_figures(self.classes, predicted, self.y[rows], weight)

    @cached_property
    def scores(self) -> list[Row]:
        """Figures of the estimator, and of two simple models; the first is the one that counts."""
        every, noun = self.counted, f"this {self.noun}"
        rows = [Row(noun, self._figures(self.judged[0][every], every), self.out_of_bag or not self.rows.is_training)]
        if self.out_of_bag:
            rows[0] = Row(f"{noun}, out of bag", rows[0].figures)
            rows.append(
                Row(
                    f"{noun}, all trees (they have seen these rows)", self._figures(self.predicted[every], every), False
                )
            )
        elif self.rows.is_training:
            rows[0] = Row(f"{noun} (it has seen these rows)", rows[0].figures, False)
        return rows + self._baselines()

    def _baselines(self) -> list[Row]:
        rows = thinned(self.counted, _MOST_BASELINE)
        X = baselines.design(self.table[rows], self.model.features.columns)
        weight = None if self.weight is None else self.weight[rows]
        found = baselines.cross_validated(self.model.loss, X, self.y[rows], weight)
        if found is None:
            return []
        linear = "linear model" if self.classes is None else "logistic regression"
        names = baselines.constant_name(self.model.loss), linear
        return [Row(name, self._figures(predicted, rows)) for name, predicted in zip(names, found, strict=True)]

    @cached_property
    def importances(self) -> PermutationImportances:
        """Importances of the columns by shuffling."""
        most = int(np.clip(_MOST_SHUFFLED // len(self.names), _FEWEST_JUDGED, _MOST_JUDGED))
        repeats = 3 if 3 * len(self.counted) <= most else 1
        found = self.estimator.permutation_importances(self.X, self.y, self.weight, n_repeats=repeats, max_rows=most)
        assert isinstance(found, PermutationImportances)
        return found


def _like(rows: Mask, predicted: Floats) -> Mask:
    return rows if predicted.ndim == 1 else rows[:, None]


class Numbers(RegressorMixin, BaseEstimator):
    """Predictions that are known already, of the rows with the numbers in a table, in the shape of a regressor."""

    def __init__(self, predicted: Floats, intervals: Floats | None) -> None:
        self.predicted, self.intervals = predicted, intervals

    def fit(self, X: Any, y: Any) -> "Numbers":
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Longs) -> Floats:
        """Return the predictions of some rows."""
        return np.asarray(self.predicted[X])

    def predict_interval(self, X: Longs, coverage: float = 0.9) -> Floats:
        """Return the intervals of some rows."""
        if self.intervals is None:
            raise AttributeError("there are no intervals")
        return np.asarray(self.intervals[X])


class Probabilities(ClassifierMixin, BaseEstimator):
    """The same for classes."""

    def __init__(self, predicted: Floats, classes_: Labels) -> None:
        self.predicted, self.classes_ = predicted, classes_

    def fit(self, X: Any, y: Any) -> "Probabilities":
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Longs) -> Floats:
        """Return the probabilities of some rows."""
        return np.asarray(self.predicted[X])
