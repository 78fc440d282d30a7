"""Fitting and prediction of trees and forests: arguments in, one model out. A tree is a forest of one."""

from __future__ import annotations

import copy
import hashlib
import numbers
import os
from abc import abstractmethod
from collections.abc import Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import joblib
import joblib.parallel
import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import check_offset, check_sample_weight, weight_in_rows
from .._base.declare import check_arguments
from .._base.draws import choose_rows, entropy_of, tree_seeds
from .._base.sampling import Sampling
from .._base.typing import Entropy, Floats, Ints, Labels, Longs
from .._base.validation import classes_as_numbers
from .._explain.judged import JudgedRows, judged_rows
from .._features.encoder import check_encoding
from .._features.features import Columns, Features, fit_features, read_training
from .._features.roles import Roles, read_roles
from .._features.sources import RowSource
from .._features.targets import check_numbers, read_known, read_several
from .._files.files import save
from .._grow.data import TrainingData
from .._grow.native import Request
from .._grow.parameters import ClassificationTreeArguments, RegressionTreeArguments, TreeArguments, tree_pools
from .._grow.rounding import first_dtype, with_smallest_dtype
from .._losses import REGRESSION_LOSSES, AcceleratedFailureTime, ClassTargets, Loss, OwnLoss, Several, SquaredErrors
from .._losses.aft import concordance, read_times
from .._losses.several import classes_loss
from .._model import inspection
from .._model.background import Background
from .._model.model import Model
from ..nodes._native import SHORTHANDS, NodeModel
from . import docs
from .arguments import ClassArguments, LossArguments, TableArguments
from .classifier import LabelsMixin, classes_of, combine_class_weight, find_classes, most_probable
from .explained import ExplainedMixin
from .fitted import FittedMixin, FromModel
from .targets import (
    all_classes,
    all_right,
    check_several,
    class_targets,
    count_classes,
    number_of_target,
    require_one,
    weights_of_classes,
    why_not_several,
)

if TYPE_CHECKING:
    from .._base.engine import Engine

Class = TypeVar("Class", bound=type)

MOST_JUDGES = 200_000  # rows of a source that features are fitted to, and that judge the trees out of bag
_BACKGROUND_ROWS = 100  # that explanations compare with
_MANY_ROWS, _BLOCK_ROWS = 20_000, 4096  # that other engines predict, and at a time: fewer are quicker done here

#: The estimators that model files can hold, by name.
STORED: dict[str, Any] = {}


def stored(cls: Class) -> Class:
    """Let model files hold an estimator."""
    STORED[cls.__name__] = cls
    return cls


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for, as joblib sees it here (nested calls get one)."""
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}.")
    if n_jobs is not None and n_jobs >= 2**31:
        raise ValueError(f"n_jobs must be below 2**31, and -1 stands for all cores; got {n_jobs!r}.")
    if n_jobs == 1:  # a question that joblib takes longer to answer than some predictions do
        return 1
    return 1 if _other_engine() is not None else int(joblib.effective_n_jobs(n_jobs))


def _other_engine() -> Any:
    """Return joblib's active backend if it is not one of its own, which work on this machine."""
    backend, _ = joblib.parallel.get_active_backend()
    return None if type(backend).__module__ == "joblib._parallel_backends" else backend


def engine_of(n_jobs: int | None) -> AbstractContextManager[Engine | None]:
    """Return the context of joblib's engine whose workers do the work; None: our own threads."""
    backend = None if n_jobs == 1 else _other_engine()
    if backend is None:
        return nullcontext()
    from .._base.engines import make_engine

    return make_engine(backend) or nullcontext()


def _outputs_on_worker(model: Model, X: Floats, offset: Floats | None) -> Floats:
    return model.outputs(X, 1, offset)


class Given(NamedTuple):
    """What a fit is given, read and checked."""

    X: Any  #: the columns as numbers, see ``_features``
    y: Any
    columns: Columns
    weight: Floats | None  #: of the rows, without that of classes
    offset: Floats | None  #: in the units of the target
    source: RowSource | None  #: has more rows than are here, maybe
    rows: Longs | None  #: those of the source that are here


class BoostEstimator(ExplainedMixin, FittedMixin, TableArguments, TreeArguments):
    """Arguments in, one model out; everything else is read from the model."""

    _attributes = docs.ATTRIBUTES

    _task: ClassVar[str]
    _shorthands: ClassVar[dict[str, NodeModel]] = SHORTHANDS
    _left_open: ClassVar[Set[str]] = frozenset()  # tree parameters that a preset decides where they are None

    _model: Model  # all that a fit has learned, set in one assignment

    # ------------------------------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table: NumPy, pandas, polars, pyarrow, nested lists, or a sparse matrix of SciPy. Missing values
            and, in frames, categories and dates are taken as they are. Of forests also a table that is read in parts,
            with its target, from `boostforest.sources`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values, or class labels; None if X has them. Several targets are learned together, by one forest.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; only their ratios matter, and rows of weight 0 are as good as left out.
            With bootstrap they are the probabilities that a row is drawn, as in scikit-learn's forests, and what the
            row counts in everything that is judged out of bag: scores, stages, pools, calibration, intervals and sets.
            Without bootstrap they are rows: if all weights are whole multiples of the smallest, that one counts as one
            row and the others as so many, as if the rows were repeated; otherwise the mean of the weights above 0
            counts as one row. `min_samples_leaf` counts these.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            What is added to the score of each row before any tree: to the prediction itself under squared error and
            losses like it, to its logarithm under those with a log link (the logarithm of the exposure of counts), to
            the log-odds of the second of two classes, or to the scores of each of more classes; of several targets
            side by side. Predictions without an offset are those at 0.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with engine_of(getattr(self, "n_jobs", 1)) as engine:
            self._model = self._fit_model(X, y, sample_weight, offset, engine)
        return self

    def _fit_model(self, X: Any, y: Any, sample_weight: Any, offset: Any, engine: Engine | None) -> Model:
        asked = tree_pools(self, self._task, self._left_open)
        if self.interaction_cst is not None:
            asked["clip"] = [False]  # what is clipped is not a sum
        self._check_parameters()
        before, threads = self._continued(), self._threads()
        entropy = entropy_of(getattr(self, "random_state", None)) if before is None else before.entropy
        given = self._read_training(X, y, sample_weight, offset, before, entropy)
        dtype = self._dtype() if before is None else before.columns.dtype.name
        chooses = dtype == "auto"
        data = self._prepare(given, given.y, before, entropy, threads, chooses)
        if chooses:
            dtype = first_dtype(data, asked["reg_lambda"], scaled=self.scale)
        pools = self._pools_for(asked, data, len(given.y))
        verbose, device = getattr(self, "verbose", 0), getattr(self, "device", "cpu")
        request = Request(pools, self._shorthands, entropy, dtype, threads, verbose, engine, device)
        request.check_device(data, asked)
        request.warn_if_unsplittable(data)
        bounded = self._bounded_target(request, replace(data, y=given.y, offset=given.offset), before)
        if bounded is not None:  # everything that follows from the target anew
            data = self._prepare(given, bounded, before, entropy, threads, chooses)
        model = self._grow(request, data, given.y, before)
        weight, _ = self._combine_class_weight(data.loss, data.y, given.weight)
        some = choose_rows(entropy, len(given.y), _BACKGROUND_ROWS, weight)
        background = Background(None if sparse.issparse(given.X) else given.X[some])
        digest = hashlib.sha256(data.loss.encode(given.y).tobytes()).digest()
        model = replace(model, known=replace(model.known, background=background, target=digest))
        return with_smallest_dtype(model, data, threads) if chooses else model

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, before: Model | None, entropy: Entropy
    ) -> Given:
        """Read and check what a fit is given."""
        source = rows = None
        if isinstance(X, RowSource):
            source = self._check_source(X, y, sample_weight, offset)
            rows = choose_rows(entropy, source.n_rows, MOST_JUDGES, None)
            X, y = source.rows(rows)
        y = self._read_target(y)
        several = self._read_several(y, before)
        if several is not None and source is not None:
            raise ValueError("A source of rows must have one target; give several as a table in memory.")
        X, y, columns = read_training(
            X,
            y if several is None else np.zeros(len(several)),
            numeric=self._task == "regression",
            categorical=self.categorical_features,
            text=self.text,
            owner=type(self).__name__,
            known=None if before is None else before.features.columns,
        )
        y = y if several is None else several
        weight = check_sample_weight(sample_weight, len(y))
        if weight is not None and not getattr(self, "bootstrap", False):
            weight = weight_in_rows(weight)
        in_units = None if offset is None else check_offset(offset, len(y), self._n_scores(y, before))
        return Given(X, y, columns, weight, in_units, source, rows)

    def _prepare(
        self, given: Given, y: Any, before: Model | None, entropy: Entropy, threads: int, chooses: bool
    ) -> TrainingData:
        """Return what trees are grown from, for the target as it is or bounded; ``chooses``: coefficients' type."""
        source = given.source
        labels = y if source is None or self._task == "regression" else source.labels()
        loss = self._make_loss(labels, given.weight, given.offset, before)
        encoded = loss.encode(y)
        offset = None if given.offset is None else loss.offset_scores(given.offset)
        weight, balance = self._combine_class_weight(loss, encoded, given.weight)
        sampling = self._make_sampling(len(y), weight, balance, given.weight)
        if source is not None and source.n_rows > len(y):
            sampling = self._make_sampling(source.n_rows, None, balance, None)
            n_draws = min(MOST_JUDGES, sampling.n_draws) if self.max_samples is None else sampling.n_draws
            sampling = replace(sampling, n_draws=n_draws, rows=given.rows, n_all=source.n_rows)
        else:
            source = None  # all rows are here
        of_rows = loss, encoded, weight
        if before is None:
            features, X, roles = fit_features(given.X, given.columns, *of_rows, vars(self), entropy, threads, offset)
        else:
            features, X, roles = self._features_again(given.X, *of_rows, offset, before)
        if before is None and isinstance(loss, AcceleratedFailureTime):
            # its spread is that of what features leave over
            loss = loss.settled(features.standardised(X), y, given.weight, given.offset)
            encoded = loss.encode(y)
        return TrainingData(
            X, features, encoded, loss, sampling, roles, offset, source=source, short_thresholds=chooses
        )

    def _features_again(
        self, X: Any, loss: Loss, y: Floats, weight: Floats | None, offset: Floats | None, before: Model
    ) -> tuple[Features, Any, Roles]:
        """Return the features of an earlier fit, the table in them, and what columns are for."""
        features = before.features
        of_means = weight if offset is None else loss.category_weight(weight, offset)
        X = features.transform_training(X, loss.category_targets(y, offset), of_means, before.entropy)
        roles = read_roles(vars(self), features.n_columns, features.names, features.encoder)
        roles.check_same(before.columns)
        if self.dtype not in (None, "auto", before.columns.dtype.name):
            raise ValueError(
                f"warm_start=True goes on with the dtype of the first fit, {before.columns.dtype.name!r}; "
                f"got {self.dtype!r}."
            )
        return features, X, roles

    def _check_source(self, source: RowSource, y: Any, sample_weight: Any, offset: Any) -> RowSource:
        """Refuse a table that is read in parts, unless the estimator can take one."""
        raise TypeError(f"X must be a table in memory: {type(self).__name__} does not read rows from a source.")

    def _dtype(self) -> str:
        """Return the type of coefficients that is asked for."""
        return str(self.dtype)

    def _read_target(self, y: Any) -> Any:
        """Return a target as one value per row, or several."""
        return y

    def _read_several(self, y: Any, before: Model | None) -> Any:
        """Return several targets, checked but for classes; None: there is one."""
        several = None if getattr(y, "ndim", 0) == 1 and not sparse.issparse(y) else read_several(y)
        if several is not None:
            check_several(self, several.shape[1], before)
        elif before is not None and isinstance(before.loss, Several):
            first = len(before.loss.parts)
            raise ValueError(f"warm_start=True goes on with the targets of the first fit, {first}; y has 1 target.")
        return several

    def _pools_for(self, pools: dict[str, Any], data: TrainingData, n_rows: int) -> dict[str, Any]:
        """Return the pools that trees draw from; ``pools`` are as the arguments have them."""
        return pools

    def _bounded_target(self, request: Request, data: TrainingData, before: Model | None) -> Floats | None:
        """Return the target with what is far off bounded; None: all is taken as it is.

        ``data`` has target and offset in the user's units here.
        """
        return None

    def _grow(self, request: Request, data: TrainingData, y: Labels, before: Model | None) -> Model:
        """Grow the trees that are not there yet; ``y`` is the target as the user has it."""
        return request.grow(data, tree_seeds(request.entropy, 1))

    def _check_parameters(self) -> None:
        """Check the arguments that are not tree parameters."""
        check_arguments(self)
        if not isinstance(self.missing_fill, str) or self.missing_fill not in ("linear", "mean"):
            raise ValueError(f'missing_fill must be "linear" or "mean"; got {self.missing_fill!r}.')
        check_encoding(self.max_one_hot, self.missing_indicator)

    def _continued(self) -> Model | None:
        """Return the model that a fit goes on with; None: it starts anew."""
        return None

    def _make_sampling(
        self, n_rows: int, weight: Floats | None, balance: bool, sample_weight: Floats | None
    ) -> Sampling:
        """Return how trees get their rows; ``sample_weight`` is the user's part of the weights."""
        return Sampling(weight=weight)

    def _n_scores(self, y: Any, before: Model | None) -> int:
        """Return how many scores a row will have."""
        return 1

    @abstractmethod
    def _make_loss(self, y: Any, weight: Floats | None, offset: Floats | None, before: Model | None) -> Loss:
        """Return the loss for a target, that of the earlier fit if it goes on with one."""

    def _combine_class_weight(self, loss: Loss, y: Floats, weight: Floats | None) -> tuple[Floats | None, bool]:
        """Return the weights with the class weights in them, and whether classes are balanced per replica."""
        return weight, False

    # --------------------------------------------------------------------------------------------------- prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.categorical = tags.input_tags.string = self.categorical_features is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _fitted(self) -> Model:
        """Return the model; a method asks once, so that a fit in another thread cannot come between."""
        if not self.__sklearn_is_fitted__():  # asked first: scikit-learn's check makes all tags
            check_is_fitted(self)
        model, device = self._model, getattr(self, "device", "cpu")
        return model if model.device == device else replace(model, device=device)

    def _threads(self) -> int:
        return n_threads(getattr(self, "n_jobs", None))

    def _read(self, X: Any) -> tuple[Model, Floats]:
        """Return the model and the features of some rows."""
        model = self._fitted()
        return model, model.features.transform(X, type(self).__name__)

    def _read_with(self, X: Any, offset: Any, alone: str | None = None) -> tuple[Model, Floats, Floats | None]:
        """Return the model, the features of some rows and their offset in scores; ``alone``: what needs one target."""
        if alone is not None:
            require_one(self._fitted(), alone)
        model, X = self._read(X)
        own = None if offset is None else check_offset(offset, len(X), model.loss.n_outputs)
        return model, X, None if own is None else model.loss.offset_scores(own)

    def _outputs(self, X: Any, offset: Any = None) -> tuple[Model, Floats]:
        """Return the model and what it predicts, rows × outputs."""
        model, X, in_scores = self._read_with(X, offset)

        def block(a: int, b: int) -> tuple[Floats, Floats | None]:
            rows = slice(a * _BLOCK_ROWS, b * _BLOCK_ROWS)
            return X[rows], None if in_scores is None else np.ascontiguousarray(in_scores[rows])

        with engine_of(getattr(self, "n_jobs", 1) if len(X) >= _MANY_ROWS else 1) as engine:
            if engine is None:
                return model, model.outputs(X, self._threads(), in_scores)
            n_blocks = -(-len(X) // _BLOCK_ROWS)
            return model, np.concatenate(
                [*engine.run_in_groups(_outputs_on_worker, [engine.share(model)], n_blocks, block)]
            )

    def _judged_rows(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> JudgedRows:
        model = self._fitted()
        return judged_rows(model, X, y, sample_weight, offset, type(self).__name__, self._draws_of_fit)

    def _draws_of_fit(self, y: Floats, weight: Floats | None) -> tuple[Floats | None, Sampling | None]:
        """Return the weights of the fit and how its trees got their rows; None: all of them have seen all rows."""
        return self._combine_class_weight(self._fitted().loss, y, weight)[0], None

    def _leaves(self, X: Any) -> tuple[Model, Ints]:
        model, X = self._read(X)
        return model, model.leaves(X, self._threads())

    def _paths(self, X: Any) -> tuple[Model, sparse.csr_matrix]:
        model, leaves = self._leaves(X)
        return model, inspection.decision_paths(model.columns, leaves)

    # -------------------------------------------------------------------------------------------------------- files

    def save_model(self, path: str | os.PathLike[str], dtype: str | None = None) -> None:
        """Write the fitted model to a file that ``boostforest.load_model`` reads; no pickle.

        The file is in the safetensors layout and holds everything but what there is for each training row: out-of-bag
        predictions, and with several targets what intervals and quantiles need (files of `get_target` have it).
        Parameters that are distributions, functions or random generators come back as their defaults; a warning names
        them. A file that is there already is replaced at once, or stays whole.

        Parameters
        ----------
        path : str or path-like
            The file, by custom ``*.safetensors``.
        dtype : {"float64", "float32", "float16", "int8"}, default=None
            Type of the coefficients in the file. None: as the model has them, and the loaded one predicts the same to
            the bit. Fewer digits make the file smaller and round the coefficients; loaded, they have the model's own
            type again, but int8 stays int8; int8 in another type has that type when it is loaded. Thresholds are never
            rounded: every row keeps its leaf.

        See Also
        --------
        boostforest.load_model : Read the file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from boostforest import BoostTreeRegressor, load_model
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = BoostTreeRegressor(random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tree.save_model(Path(folder) / "tree.safetensors", dtype="float32")
        ...     loaded = load_model(Path(folder) / "tree.safetensors")
        >>> bool(abs(loaded.predict(X) - tree.predict(X)).max() < 1e-3)
        True
        """
        name = type(self).__name__
        if STORED.get(name) is not type(self):
            raise ValueError(f"save_model can store {', '.join(STORED)}, but not a class of your own; got {name}.")
        save(name, STORED, self.get_params(deep=False), self._fitted(), path, dtype)

    def get_target(self, i: int) -> Self:
        """Return the model of one of several targets as an estimator of its own.

        What needs a single target (explanations, effects, intervals, quantiles, sets of classes, reports, exports) can
        be had of it.

        Parameters
        ----------
        i : int
            Number of the target, its column in `y`; negative ones count from the end.

        Returns
        -------
        estimator : object
            The same trees, with the predictions of this target alone.

        Examples
        --------
        >>> import numpy as np
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> targets = np.column_stack([y, X[:, 2]])
        >>> forest = BoostForestRegressor(20, random_state=0).fit(X[:, [0, 3, 8]], targets)
        >>> forest.predict(X[:5, [0, 3, 8]]).shape
        (5, 2)
        >>> forest.get_target(0).explain(X[:5, [0, 3, 8]]).values.shape
        (5, 3)
        """
        model = self._fitted()
        number = number_of_target(model, i)
        own = copy.copy(self)
        own._model = model.of_target(number) if isinstance(model.loss, Several) else model
        return own

    def _check_arguments(self) -> None:
        """Check all arguments as a fit does."""
        tree_pools(self, self._task, self._left_open)
        self._check_parameters()


class BoostRegressor(RegressorMixin, BoostEstimator, RegressionTreeArguments, LossArguments):
    """Predictions of a regressor made of trees."""

    _task = "regression"
    _words = docs.REGRESSION

    target_mean_ = FromModel[float](lambda m: m.loss.origin, "What is added to the trees' scores.")
    target_scale_ = FromModel[float](lambda m: m.loss.unit, "Units of the target per unit of score.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        positive_only = [name for name, loss in REGRESSION_LOSSES.items() if loss.positive_only]
        tags.target_tags.positive_only = isinstance(self.loss, str) and self.loss in positive_only
        tags.target_tags.multi_output = why_not_several(self) is None
        return tags

    def _read_several(self, y: Any, before: Model | None) -> Any:
        several = super()._read_several(y, before)
        return None if several is None else check_numbers(several)

    def _n_scores(self, y: Any, before: Model | None) -> int:
        return 1 if y.ndim == 1 else int(y.shape[1])

    def _make_loss(self, y: Any, weight: Floats | None, offset: Floats | None, before: Model | None) -> Loss:
        if y.ndim == 2:
            return SquaredErrors.fit(y, weight, self.scale, offset) if before is None else before.loss
        if not isinstance(self.loss, str):
            if before is not None and getattr(before.loss, "function", None) is not self.loss:
                raise ValueError("warm_start=True goes on with the loss of the first fit; got another one.")
            return OwnLoss(function=self.loss) if before is None else before.loss
        loss = REGRESSION_LOSSES[self.loss]
        own = {name: getattr(self, name) for name in loss.takes}
        if before is None:
            return loss.fit(y, weight, self.scale, offset, **own)
        if before.loss.name != self.loss:
            raise ValueError(
                f"warm_start=True goes on with the loss of the first fit, {before.loss.name!r}; got {self.loss!r}."
            )
        for name, value in own.items():
            if (first := getattr(before.loss, name)) != value:
                raise ValueError(f"warm_start=True goes on with the {name} of the first fit, {first}; got {value!r}.")
        return before.loss

    def _read_target(self, y: Any) -> Any:
        if not isinstance(self.loss, str) or self.loss != AcceleratedFailureTime.name:
            return y
        if not isinstance(score := getattr(self, "oob_score", False), bool | np.bool_):
            raise ValueError(
                f"oob_score must be True or False with loss='aft', where it is the concordance index; got {score!r}."
            )
        return read_times(y)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the coefficient of determination R² or, with `loss="aft"`, the concordance index.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or as in `fit`
            Their target.

        Returns
        -------
        score : float
            At most 1; of several targets the mean over them. The concordance index is the share of pairs of rows, of
            those whose order is known, that are predicted in their order.
        """
        if not isinstance(self._fitted().loss, AcceleratedFailureTime):
            from sklearn.metrics import r2_score

            return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))
        times = read_times(y)
        return concordance(times, self.predict(X, offset), check_sample_weight(sample_weight, len(times)))

    def predict(self, X: Any, offset: Any = None) -> Floats:
        """Predict the target.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values, in the units of the training target.
        """
        model, outputs = self._outputs(X, offset)
        return model.loss.decode(outputs)


def _has_one_target(estimator: Any) -> bool:
    """Tell whether there is a decision function: scikit-learn's checks allow none beside a list of classes."""
    if estimator.__sklearn_is_fitted__() and isinstance(estimator._model.loss, Several):
        raise AttributeError("decision_function needs one target: get_target(i) is the model of one.")
    return True


class BoostClassifier(ClassArguments, LabelsMixin, BoostEstimator, ClassificationTreeArguments):
    """Probabilities and labels of a classifier made of trees."""

    _words = docs.CLASSIFICATION
    _attributes = docs.CLASS_ATTRIBUTES

    classes_ = FromModel[Any](lambda m: all_classes(m.loss), "The classes, in ascending order; a list of several.")
    n_classes_ = FromModel[Any](lambda m: count_classes(m.loss), "Number of classes; a list of several targets.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = why_not_several(self) is None
        return tags

    def _n_scores(self, y: Any, before: Model | None) -> int:
        if y.ndim == 2:
            return class_targets(y, None if before is None else before.loss).n_outputs
        labels = [label for label in y if label is not None]  # missing ones are refused later
        n_classes = len(np.unique(labels)) if before is None else before.loss.n_classes
        return 1 if n_classes <= 2 else n_classes

    def _make_loss(self, y: Any, weight: Floats | None, offset: Floats | None, before: Model | None) -> Loss:
        if y.ndim == 2:
            return class_targets(y, None if before is None else before.loss)
        classes = find_classes(y, None if before is None else classes_of(before.loss))
        if before is not None:
            return before.loss
        classes_as_numbers(classes)  # what can be fitted can be saved
        return classes_loss(classes)

    def _combine_class_weight(self, loss: Loss, y: Floats, weight: Floats | None) -> tuple[Floats | None, bool]:
        if isinstance(loss, ClassTargets):
            return weights_of_classes(self.class_weight, loss, y, weight), False
        return combine_class_weight(self.class_weight, classes_of(loss), y, weight, getattr(self, "bootstrap", False))

    def _probabilities(self, X: Any, offset: Any = None) -> tuple[Labels, Floats]:
        model, outputs = self._outputs(X, offset)
        return all_classes(model.loss), model.loss.decode(outputs)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their classes.

        Returns
        -------
        score : float
            From 0 to 1; of several targets the share of rows whose classes are all predicted.
        """
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, offset)
        if predicted.ndim == 1:
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        loss = self._fitted().loss
        assert isinstance(loss, ClassTargets)
        weight = check_sample_weight(sample_weight, len(predicted))
        return all_right(read_known(loss, y, len(predicted)), predicted, weight)

    def predict_proba(self, X: Any, offset: Any = None) -> Any:
        """Predict the probability of each class.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes), or a list of them
            Probabilities, classes in the order of ``classes_``. Those of a forest are the mean over its trees. Several
            targets have a list of such arrays.
        """
        return self._probabilities(X, offset)[1]

    def predict(self, X: Any, offset: Any = None) -> Labels:
        """Predict the class.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The most probable class of each row.
        """
        return most_probable(self._probabilities(X, offset))

    @available_if(_has_one_target)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, offset: Any = None) -> Floats:
        """Compute the decision function: scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            As in `fit`; None: 0.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            A tree's own scores (the log-odds of the second of two classes; the arguments of the softmax of more). A
            forest averages probabilities, so there it is the log-odds, or the logarithms, of these averages. There is
            none of several targets.
        """
        model, X, in_scores = self._read_with(X, offset)
        if model.n_trees == 1:
            score = model.sums(X, self._threads(), scores=True, offset=in_scores)
        else:
            tiny = np.finfo(np.float64).tiny
            p = model.outputs(X, self._threads(), in_scores)
            score = np.log(np.maximum(p, tiny))
            if model.loss.n_outputs == 1:
                score -= np.log(np.maximum(1 - p, tiny))
        return score[:, 0] if model.loss.n_outputs == 1 else score
