"""What the boosted classifiers share: the training table, members, and predictions stage by stage."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.tree import BaseDecisionTree
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from .._product import Array, Entropy, Floats, Indices, check_sample_weight, entropy_of, seeded_clone, tree_seeds
from .base import Baseline
from .checks import check_integer
from .predicting import StagesMixin

Codes = Indices


class Training(NamedTuple):
    """The rows that count."""

    X: Any
    codes: Codes  #: positions of the labels in ``classes_``
    weight: Floats  #: all above 0; a row of weight 2 counts as two


class Members:
    """Makes, fits and asks the members of an ensemble; trees get a table that need not be checked each time."""

    def __init__(self, owner: str, base: Any, regress: bool) -> None:
        kind, is_kind = ("regressor", is_regressor) if regress else ("classifier", is_classifier)
        if isinstance(base, type) or not all(callable(getattr(base, name, None)) for name in ("fit", "predict")):
            raise TypeError(f"estimator must be a {kind} of scikit-learn, or None; got {base!r}.")
        if not is_kind(base):
            raise ValueError(f"estimator must be a {kind}; got {base!r}.")
        if not has_fit_parameter(base, "sample_weight"):
            raise ValueError(f"{type(base).__name__} doesn't support sample_weight, which {owner} needs.")
        self.base = base
        self._options = {"check_input": False} if isinstance(base, BaseDecisionTree) else {}

    @property
    def dtype(self) -> Any:
        """What the table has to be: trees work on single precision."""
        return np.float32 if self._options else np.float64

    def fit(self, X: Any, y: Any, weight: Floats, seed: int) -> Any:
        """Return a fitted member."""
        return seeded_clone(self.base, seed).fit(X, y, sample_weight=weight, **self._options)

    def predict(self, member: Any, X: Any) -> Array:
        """Return what a member predicts: codes of classes, or numbers."""
        return np.asarray(member.predict(X, **self._options))


class BoostedClassifier(StagesMixin, Baseline):
    """Fitting, and predictions from scores."""

    _only_two_classes: ClassVar[bool] = False

    n_estimators: Any
    random_state: Any

    # ------------------------------------------------------------------------------------------------------ fitting

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        entropy = entropy_of(self.random_state)
        self._boost(self._read_training(X, y, sample_weight), entropy)

    @abstractmethod
    def _boost(self, training: Training, entropy: Entropy) -> None:
        """Fit the members; all random numbers follow from ``entropy``."""

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, 1)

    def _table_dtype(self) -> Any:
        """Return the type of numbers that the members want."""
        return np.float32

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        X, y = validate_data(self, X, y, dtype=self._table_dtype(), order="C")
        weight = check_sample_weight(sample_weight, len(y))
        check_classification_targets(y)
        self._set_classes(np.unique(y))
        codes = np.searchsorted(self.classes_, y)
        if weight is None:
            return Training(X, codes, np.ones(len(y)))
        rows = np.flatnonzero(weight)
        if len(np.unique(codes[rows])) < 2:
            raise ValueError(
                "y contains 1 class after sample_weight trimmed classes with zero weights, while a minimum of 2 "
                "classes are required."
            )
        return Training(X[rows], codes[rows], weight[rows])

    def _set_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise ValueError(f"y contains {len(classes)} class, while a minimum of 2 classes are required.")
        if self._only_two_classes and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(classes)} classes; {type(self).__name__} separates two, OneVsRestClassifier makes more of it."
            )
        self.classes_, self.n_classes_ = classes, len(classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._only_two_classes
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    # --------------------------------------------------------------------------------------------------- prediction

    @abstractmethod
    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield the scores after each stage: rows for two classes, rows × classes for more."""

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=self._table_dtype(), order="C")

    def _stages(self, X: Any) -> Iterator[Floats]:
        yield from self._staged_scores(self._check_rows(X))


class BoostedEstimators(BoostedClassifier):
    """Boosting of the user's ``estimator``, or of trees where that is None."""

    _tree: ClassVar[BaseDecisionTree]

    estimator: Any

    def _members(self) -> Members:
        base = self._tree if self.estimator is None else self.estimator
        return Members(type(self).__name__.removesuffix("Classifier"), base, regress=is_regressor(self._tree))

    def _table_dtype(self) -> Any:
        return self._members().dtype


def member_seeds(entropy: Entropy, n: int) -> list[int]:
    """Return a seed for each of n members."""
    return [int(seed) for seed in tree_seeds(entropy, n)]


def stream_of(entropy: Entropy) -> np.random.Generator:
    """Return the random numbers that an ensemble itself uses, apart from those of its members."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(0,)))


def two_columns(p: Floats) -> Floats:
    """Return the probabilities of both classes, given that of the second."""
    return np.column_stack([1 - p, p])
