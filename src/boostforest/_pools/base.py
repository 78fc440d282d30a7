"""Fitting and prediction of pool forests: bagging with random parameters over any scikit-learn estimators."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.arrays import check_sample_weight
from .._base.declare import check_arguments
from .._base.draws import entropy_of, tree_seeds
from .._base.sampling import Sampling
from .._base.typing import Array, Entropy, Floats, Indices, Labels, Seeds
from .._estimator.arguments import ClassArguments
from .._estimator.classifier import StagedLabelsMixin, combine_class_weight, find_classes
from .._estimator.docs import CLASS_ATTRIBUTES, CLASSIFICATION, OOB_ATTRIBUTES, REGRESSION
from .._estimator.forest import BaggingMixin
from .._estimator.scoring import score_rows
from .._estimator.snapshot import fitted_aside, on_snapshot
from .._features.features import with_columns_of_fit
from . import jobs
from .docs import ATTRIBUTES, POOL_FOREST
from .members import Columns, Kind, check_kinds, draw_members, picks_columns_by_name, tags_of


class PoolForestBase(BaggingMixin, BaseEstimator, metaclass=ABCMeta):
    """Fitting and prediction over a list of members."""

    _member_noun = "member"
    _words = POOL_FOREST
    _attributes = ATTRIBUTES + OOB_ATTRIBUTES
    _task: ClassVar[str]

    max_features: Any = None  # forests without such an argument give every member all columns

    estimators_: list[Any]
    estimators_features_: list[Columns]
    member_params_: list[dict[str, Any]]
    member_seeds_: Seeds
    n_features_in_: int
    oob_score_: float
    _entropy: Entropy
    _draws: tuple[Any, ...] | None  # how all members were drawn, None if not alike
    _sampling: Sampling  # of the last fit
    _n_rows: int
    _keeps_frames: bool

    @abstractmethod
    def _declared(self) -> tuple[Any, Any, Any]:
        """Return what the members are made of: estimator or estimators, their pools and weights."""

    # ------------------------------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: None = None) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table, of whatever kind the members take: NumPy, pandas, polars, or a sparse matrix. A data frame
            reaches the members as one if it has columns that are not numbers, or if a member has a
            ``ColumnTransformer``; otherwise as an array.
        y : array-like of shape (n_samples,)
            Target values, or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. With bootstrap they are the probabilities that a row is drawn, as in
            scikit-learn's forests, and what the row counts in the out-of-bag score; without, they are passed on to the
            members as they are.
        offset : None
            Refused: members are other estimators, which have none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if offset is not None:
            raise ValueError(
                f"{type(self).__name__} takes no offset, since its members are other estimators; BoostForestRegressor "
                "and BoostForestClassifier take one."
            )
        with fitted_aside(self) as twin:
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        kinds = check_kinds(*self._declared(), self._task)
        check_arguments(self)
        self._check_bagging()
        kept = self._kept_members(len(getattr(self, "estimators_", ())))
        X, y = self._check_training_table(X, y, kinds, first=kept == 0)
        weight = check_sample_weight(sample_weight, len(y))
        codes = self._encode_target(y, first=kept == 0)
        own_weight = weight
        weight, balance = self._combine_class_weight(codes, weight)
        sampling = self._make_sampling(len(y), weight, balance, own_weight)
        self._draws = self._draws_of_all(sampling, len(y), getattr(self, "_draws", None), kept)
        if sampling.weight is not None:
            jobs.check_takes_weights(kinds, "Weights without bootstrap are passed on to the members")
        if balance:
            jobs.check_takes_weights(kinds, "class_weight='balanced_subsample' gives the members weights")
        if kept == 0:
            self._entropy = entropy_of(self.random_state)
            self.estimators_, self.estimators_features_, self.member_params_ = [], [], []
        seeds = tree_seeds(self._entropy, int(self.n_estimators))
        members = draw_members(kinds, self.max_features, seeds[kept:], kept, self.n_features_in_)
        fitted = jobs.fit_members(members, X, codes, sampling, self._n_classes, self.n_jobs, self.verbose)
        self.estimators_ = self.estimators_ + fitted
        self.estimators_features_ = self.estimators_features_ + [member.columns for member in members]
        self.member_params_ = self.member_params_ + [member.params for member in members]
        self.member_seeds_, self._sampling, self._n_rows = seeds, sampling, len(y)
        self._judge_out_of_bag(X, y)

    def _judge_out_of_bag(self, X: Any, y: Labels) -> None:
        """Set the out-of-bag figures, or remove those of an earlier fit."""
        for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
            self.__dict__.pop(name, None)
        if not self._needs_out_of_bag():
            return
        total, n_members = jobs.sum_out_of_bag(self._members(), X, self._sampling, self._n_classes, self.n_jobs)
        seen = n_members[:, 0] > 0
        self._warn_if_always_drawn(seen)
        with np.errstate(invalid="ignore"):
            outputs = self._set_out_of_bag(total / n_members)
        classes, weight = getattr(self, "classes_", None), self._sampling.sample_weight
        self.oob_score_ = score_rows(self.oob_score, y, outputs, classes, seen, weight)

    @abstractmethod
    def _set_out_of_bag(self, mean: Floats) -> Floats:
        """Keep the out-of-bag outputs of the training rows, and return them as scorers take them."""

    def _check_training_table(self, X: Any, y: Any, kinds: list[Kind], first: bool) -> tuple[Any, Array]:
        """Check the shapes of table and target; what the cells may be is the members' business."""
        numeric = self._task == "regression"
        keeps_frames = jobs.is_frame(X) and (np.asarray(X[:0]).dtype == object or picks_columns_by_name(kinds))
        if not first and keeps_frames != self._keeps_frames:
            raise ValueError("X must be the same kind of table as in the first fit with warm_start=True.")
        self._keeps_frames = keeps_frames
        if not keeps_frames:
            checked: tuple[Any, Any] = validate_data(self, X, y, reset=first, y_numeric=numeric, **self._table_checks())
            return checked
        validate_data(self, X, reset=first, skip_check_array=True)
        return X, check_X_y(np.zeros((len(X), 1)), y, y_numeric=numeric)[1]

    def _table_checks(self) -> dict[str, Any]:
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        return {"accept_sparse": sparse, "dtype": None, "ensure_all_finite": False}

    @property
    def _n_classes(self) -> int:
        """Number of classes, 0 in regression."""
        return 0

    def _combine_class_weight(self, y: Any, weight: Floats | None) -> tuple[Floats | None, bool]:
        """Return the weights with the class weights in them, and whether classes are balanced per replica."""
        return weight, False

    @abstractmethod
    def _encode_target(self, y: Any, first: bool) -> Array:
        """Return the target as the members get it."""

    # --------------------------------------------------------------------------------------------------- prediction

    def _member_tags(self) -> list[Any]:
        estimator = self._declared()[0]
        members = [tags_of(e) for e in (estimator if isinstance(estimator, list | tuple) else [estimator])]
        return [tags for tags in members if tags is not None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = self._member_tags()
        for name in ("sparse", "allow_nan", "categorical", "string"):  # what all members take
            taken = bool(members) and all(getattr(member.input_tags, name) for member in members)
            setattr(tags.input_tags, name, taken)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def _members(self) -> list[jobs.Fitted]:
        seeds = self.member_seeds_.tolist()
        return [jobs.Fitted(*parts) for parts in zip(self.estimators_, self.estimators_features_, seeds, strict=True)]

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = with_columns_of_fit(self, X)
        if not self._keeps_frames:
            return validate_data(self, X, reset=False, **self._table_checks())
        if not jobs.is_frame(X):
            raise ValueError(
                "X must be a data frame with the columns of the training table: the members were fitted to one."
            )
        return validate_data(self, X, reset=False, skip_check_array=True)

    def _mean_output(self, X: Any) -> Floats:
        """Return the mean of the members' predictions (one column) or probabilities."""
        X = self._check_rows(X)
        mean: Floats = jobs.sum_outputs(self._members(), X, self._n_classes, self.n_jobs) / len(self.estimators_)
        return mean

    def _staged_means(self, X: Any) -> Iterator[Floats]:
        """Yield the mean over the first 1, 2, … members."""
        X = self._check_rows(X)
        total: Any = 0.0
        for i, member in enumerate(self._members()):
            total = total + jobs.member_output(member, X, None, self._n_classes)
            yield total / (i + 1)

    # --------------------------------------------------------------------------------------------------- inspection

    @property
    @on_snapshot
    def feature_importances_(self) -> Floats:
        """Share of each feature in the members' own importances, mean over the members, where all have them."""
        check_is_fitted(self)
        shares = np.zeros(self.n_features_in_)
        for i, (estimator, columns) in enumerate(zip(self.estimators_, self.estimators_features_, strict=True)):
            own = getattr(estimator, "feature_importances_", None)
            if own is None:
                name = type(estimator).__name__
                raise AttributeError(f"feature_importances_ is not there: member {i} ({name}) has none.")
            total = np.sum(own)
            shares[columns] += np.asarray(own) / (total if total > 0 else 1.0)
        return shares / len(self.estimators_)

    @property
    @on_snapshot
    def estimators_samples_(self) -> list[Indices]:
        """The rows that each member was fitted to, as often as it drew them; drawn again from the seeds."""
        check_is_fitted(self)
        if self._draws is None:
            raise AttributeError(
                "estimators_samples_ is not there: between warm starts the rows, weights or bootstrap settings changed."
            )
        if not self._sampling.bootstrap:
            return [np.arange(self._n_rows)] * len(self.estimators_)
        return [jobs.drawn_rows(int(seed), self._n_rows, self._sampling) for seed in self.member_seeds_]


class PoolRegressor(RegressorMixin, PoolForestBase):
    """Targets and predictions of pool forests for regression."""

    _task = "regression"
    _words = REGRESSION

    oob_prediction_: Floats

    def _encode_target(self, y: Any, first: bool) -> Floats:
        return np.asarray(y, dtype=np.float64)

    def _set_out_of_bag(self, mean: Floats) -> Floats:
        self.oob_prediction_ = mean[:, 0]
        return self.oob_prediction_

    @on_snapshot
    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Mean of the members' predictions.
        """
        return self._mean_output(X)[:, 0]

    @on_snapshot
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict with the first member, the first two, and so on.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Prediction of the members so far.
        """
        for mean in self._staged_means(X):
            yield mean[:, 0]


class PoolClassifier(ClassArguments, StagedLabelsMixin, PoolForestBase):
    """Labels and probabilities of pool forests for classification."""

    _words = CLASSIFICATION | {"codes": " They know the classes by their positions in `classes_`: 0, 1, …"}
    _attributes = CLASS_ATTRIBUTES

    classes_: Labels
    n_classes_: int
    oob_decision_function_: Floats

    @property
    def _n_classes(self) -> int:
        return self.n_classes_

    def _encode_target(self, y: Any, first: bool) -> Indices:
        self.classes_ = find_classes(y, None if first else self.classes_)
        self.n_classes_ = len(self.classes_)
        codes: Indices = np.searchsorted(self.classes_, y)
        return codes

    def _combine_class_weight(self, y: Any, weight: Floats | None) -> tuple[Floats | None, bool]:
        return combine_class_weight(self.class_weight, self.classes_, y, weight, self.bootstrap)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kinds = [member.classifier_tags for member in self._member_tags()]
        tags.classifier_tags.multi_class = all(kind is None or kind.multi_class for kind in kinds)
        return tags

    def _set_out_of_bag(self, mean: Floats) -> Floats:
        self.oob_decision_function_ = mean
        return mean

    @on_snapshot
    def _probabilities(self, X: Any) -> tuple[Labels, Floats]:
        mean = self._mean_output(X)  # checks that there is a fit
        return self.classes_, mean

    @on_snapshot
    def _staged_probabilities(self, X: Any) -> Iterator[tuple[Labels, Floats]]:
        return ((self.classes_, p) for p in self._staged_means(X))
