"""What trees and forests share: fitting, prediction, inspection. A tree is a forest of one."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._base.draws import entropy_of, tree_seeds
from .._base.sampling import Sampling
from .._base.threads import n_threads
from .._base.typing import Floats, Ints, Labels, Longs, Mask, Seeds
from .._base.validation import check_sample_weight, check_table_parameters, warn_if_unsplittable, weight_in_rows
from .._features.encoder import TableEncoder
from .._features.features import fit_features
from .._features.read import read_training
from .._features.roles import read_roles
from .._files.files import save
from .._grow.data import TrainingData
from .._grow.groups import Request
from .._grow.parameters import largest, max_features_count, smallest, tree_pools
from .._losses import Loss
from .._model import inspection
from .._model.columns import DTYPES, ForestColumns
from .._model.model import Model
from ..nodes._native import SHORTHANDS, NodeModel

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Class = TypeVar("Class", bound=type)


class FromModel(Generic[T]):
    """An attribute that a fitted estimator has from its model."""

    def __init__(self, read: Callable[[Model], T | None], doc: str, may_be_none: bool = False) -> None:
        self._read, self.__doc__, self._may_be_none = read, doc, may_be_none

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> T:
        if estimator is None:
            return self  # type: ignore[return-value]
        value = self._read(estimator._fitted())
        if value is None and not self._may_be_none:
            raise AttributeError(f"this {type(estimator).__name__} has no {self._name}: its fit was not asked for it")
        return value  # type: ignore[return-value]

    def __set__(self, estimator: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} cannot be set: it follows from the fit")


#: The estimators that model files can hold, by name.
STORED: dict[str, Any] = {}


def stored(cls: Class) -> Class:
    """Let model files hold an estimator."""
    STORED[cls.__name__] = cls
    return cls


class BoostEstimator(BaseEstimator, metaclass=ABCMeta):
    """Arguments in, one model out; everything else is read from the model."""

    _task: ClassVar[str]
    _shorthands: ClassVar[dict[str, NodeModel]] = SHORTHANDS

    _model: Model  # all that a fit has learned, set in one assignment

    scale: bool
    categorical_features: Any
    max_one_hot: Any
    missing_indicator: Any
    missing_fill: Any
    split_features: Any
    model_features: Any
    monotonic_cst: Any
    dtype: str

    # ------------------------------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table: NumPy, pandas, polars, pyarrow or nested lists. Missing values and, in frames, categories
            are taken as they are.
        y : array-like of shape (n_samples,)
            Target values, or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; only their ratios matter, and rows of weight 0 are as good as left out.
            With bootstrap they are the probabilities that a row is drawn, as in scikit-learn's forests, and what the
            row counts in everything that is judged out of bag: scores, stages, pools, calibration, intervals and sets.
            Without bootstrap they are rows: if all weights are whole multiples of the smallest, that one counts as one
            row and the others as so many, as if the rows were repeated; otherwise the mean of the weights above 0
            counts as one row. `min_samples_leaf` counts these.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._model = self._fit_model(X, y, sample_weight)
        return self

    def _fit_model(self, X: Any, y: Any, sample_weight: Any) -> Model:
        pools = tree_pools(self, self._task)
        self._check_parameters()
        before = self._continued()
        X, y, columns = read_training(
            X,
            y,
            numeric=self._task == "regression",
            categorical=self.categorical_features,
            owner=type(self).__name__,
            known=None if before is None else before.features.columns,
        )
        own_weight = check_sample_weight(sample_weight, len(y))
        if own_weight is not None and not getattr(self, "bootstrap", False):
            own_weight = weight_in_rows(own_weight)
        loss = self._make_loss(y, own_weight, before)
        encoded = loss.encode(y)
        weight, balance = self._combine_class_weight(loss, encoded, own_weight)
        sampling = self._make_sampling(len(y), weight, balance, own_weight)
        entropy = entropy_of(getattr(self, "random_state", None)) if before is None else before.entropy
        arguments, threads = self.get_params(deep=False), self._threads()
        if before is None:
            features, X, roles = fit_features(X, columns, loss, encoded, weight, arguments, entropy, threads)
        else:
            features = before.features
            X = features.transform_training(X, loss.category_targets(encoded), weight, entropy)
            roles = read_roles(arguments, features.n_columns, features.names, features.encoder)
            roles.check_same(before.columns)
            if before.columns.dtype != self.dtype:
                raise ValueError(
                    f"warm_start=True goes on with the dtype of the first fit, {before.columns.dtype.name!r}; "
                    f"got {self.dtype!r}."
                )
        total = sampling.n_draws if sampling.bootstrap else len(y) if weight is None else weight.sum()
        batch_size = largest(pools["batch_size"]) if weight is None else None  # rows of a batch may weigh anything
        warn_if_unsplittable(smallest(pools["min_samples_leaf"]), float(total), batch_size)
        data = TrainingData(X, features, encoded, loss, sampling, roles)
        request = Request(pools, self._shorthands, entropy, self.dtype, threads, getattr(self, "verbose", 0))
        return self._grow(request, data, y, before)

    def _grow(self, request: Request, data: TrainingData, y: Labels, before: Model | None) -> Model:
        """Grow the trees that are not there yet; ``y`` is the target as the user has it."""
        return request.grow(data, tree_seeds(request.entropy, 1))

    def _check_parameters(self) -> None:
        """Check the arguments that are not tree parameters."""
        if not isinstance(self.scale, bool | np.bool_):
            raise ValueError(f"scale must be True or False; got {self.scale!r}.")
        if not isinstance(self.dtype, str) or self.dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {self.dtype!r}.")
        check_table_parameters(self.max_one_hot, self.missing_indicator, self.missing_fill)

    def _continued(self) -> Model | None:
        """Return the model that a fit goes on with; None: it starts anew."""
        return None

    def _make_sampling(
        self, n_rows: int, weight: Floats | None, balance: bool, sample_weight: Floats | None
    ) -> Sampling:
        """Return how trees get their rows; ``sample_weight`` is the user's part of the weights."""
        return Sampling(weight=weight)

    @abstractmethod
    def _make_loss(self, y: Any, weight: Floats | None, before: Model | None) -> Loss:
        """Return the loss for a target, that of the earlier fit if it goes on with one."""

    def _combine_class_weight(self, loss: Loss, y: Floats, weight: Floats | None) -> tuple[Floats | None, bool]:
        """Return the weights with the class weights in them, and whether classes are balanced per replica."""
        return weight, False

    # --------------------------------------------------------------------------------------------------- prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = self.categorical_features is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _fitted(self) -> Model:
        """Return the model; a method asks once, so that a fit in another thread cannot come between."""
        check_is_fitted(self)
        return self._model

    def _threads(self) -> int:
        return n_threads(getattr(self, "n_jobs", None))

    def _read(self, X: Any) -> tuple[Model, Floats]:
        """Return the model and the features of some rows."""
        model = self._fitted()
        return model, model.features.transform(X, type(self).__name__)

    def _outputs(self, X: Any) -> tuple[Model, Floats]:
        """Return the model and what it predicts, rows × outputs."""
        model, X = self._read(X)
        return model, model.outputs(X, self._threads())

    def _leaves(self, X: Any) -> tuple[Model, Ints]:
        model, X = self._read(X)
        return model, model.leaves(X, self._threads())

    def _paths(self, X: Any) -> tuple[Model, sparse.csr_matrix]:
        model, leaves = self._leaves(X)
        return model, inspection.decision_paths(model.columns, leaves)

    # --------------------------------------------------------------------------------------------------- inspection

    forest_ = FromModel[ForestColumns](lambda m: m.columns, "The trees, as flat columns.")
    tree_seeds_ = FromModel[Seeds](lambda m: m.seeds, "Seed of each tree.")
    n_features_in_ = FromModel[int](lambda m: m.features.n_columns, "Number of columns of the training table.")
    feature_names_in_ = FromModel[Labels](lambda m: m.features.names, "Names of the columns, if they have any.")
    encoder_ = FromModel[TableEncoder | None](
        lambda m: m.features.encoder, "How columns become features; None: as they are.", may_be_none=True
    )
    feature_mean_ = FromModel[Floats](lambda m: m.features.mean, "What is subtracted from each feature.")
    feature_scale_ = FromModel[Floats](lambda m: m.features.scale, "What each feature is divided by.")
    feature_deviation_ = FromModel[Floats](lambda m: m.features.deviation, "Standard deviation of each feature.")
    fill_ = FromModel[Floats | None](
        lambda m: m.features.fill, "What missing values are filled with; None: the mean.", may_be_none=True
    )

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the gain of a tree, mean over the trees; adds up to 1 (all 0 without a split)."""
        model = self._fitted()
        return model.features.by_column(inspection.gain_importances(model.columns, model.tree_weights()))

    @property
    def slope_importances_(self) -> Floats:
        """Mean over the training rows of how much one standard deviation of a column moves the prediction, signed.

        The slope in a row's leaf times the column's standard deviation, averaged over rows and trees: in units of the
        target in regression, of the trees' log-odds in classification. Effects that differ in sign from leaf to leaf
        cancel, so noise is near 0, and so is a column whose effect rises and falls alike: `feature_importances_` shows
        that it matters.

        With more than two classes, whose effects add up to about 0, it is the root mean square over the classes,
        without a sign. Of a column that became several features (categories, marks of missing values) it is the root
        of the sum of squares over them, with the sign of the number if it is one. Clipping is ignored. ELM models have
        no slopes: with them there is no such attribute.
        """
        return inspection.slope_importances(self._fitted())

    @property
    def is_categorical_(self) -> Mask | None:
        """Which columns of the table are categories; None if none is."""
        encoder = self._fitted().features.encoder
        mask = None if encoder is None else encoder.is_categorical
        return mask if mask is not None and mask.any() else None

    @property
    def tree_params_(self) -> list[dict[str, Any]]:
        """The parameters that each tree has drawn; ``max_features`` as the number of features."""
        model = self._fitted()
        trees = [dict(zip(model.params, values, strict=True)) for values in zip(*model.params.values(), strict=True)]
        for tree in trees:
            tree["max_features"] = max_features_count(tree["max_features"], model.columns.n_split_features)
        return trees

    @property
    def n_nodes_(self) -> Longs:
        """Nodes of each tree."""
        return np.diff(self.forest_.tree_start)

    @property
    def n_leaves_(self) -> Longs:
        """Leaves of each tree."""
        return (self.n_nodes_ + 1) // 2

    @property
    def model_size_(self) -> int:
        """Bytes of everything that prediction needs."""
        return self._fitted().nbytes

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per node, in the units of the data.

        Needs pandas (``pip install "boostforest[frames]"``).

        Returns
        -------
        nodes : pandas.DataFrame
            ``tree``, ``node``, ``parent``, ``depth``, ``path`` ("LR": left, then right), ``rule`` (the conditions on
            the path), ``feature`` and ``threshold`` of the split, ``n`` (weight of the training rows), ``gain``,
            ``loss``, then ``intercept`` and ``slope_<feature>`` of the node's model (with more than two classes one set
            per class: ``intercept_<class>``, ``slope_<class>_<feature>``) and its clip range ``lower``, ``upper``.
            ELM models have ``hidden_<unit>`` instead of slopes, the weights of the units of their tree's hidden layer
            (``forest_.hidden_layer(tree)``). In a
            clipped regression tree every node has a model, and a prediction is the sum of the clipped models on the
            path (the root's is the mean of the target); elsewhere each leaf has the whole model and the other nodes
            none. With ``monotonic_cst`` all models are sums along the path, and ``lower`` and ``upper`` say how far the
            prediction may be from that of the node above (the root's: the mean of the target). Models in Python have no
            slopes: ``model`` shows them as they are. ``gain`` and ``loss`` are in scaled units.
        """
        return inspection.nodes_frame(self._fitted())

    def save_model(self, path: str | os.PathLike[str], dtype: str | None = None) -> None:
        """Write the fitted model to a file that ``boostforest.load_model`` reads; no pickle.

        The file is in the safetensors layout and holds everything but the out-of-bag predictions, which have a value
        per training row. Parameters that are distributions, functions or random generators come back as their
        defaults; a warning names them. A file that is there already is replaced at once, or stays whole.

        Parameters
        ----------
        path : str or path-like
            The file, by custom ``*.safetensors``.
        dtype : {"float64", "float32", "float16"}, default=None
            Type of the coefficients in the file. None: as the model has them, and the loaded one predicts the same to
            the bit. Fewer digits make the file smaller and round the coefficients; loaded, they have the model's own
            type again. Thresholds are never rounded: every row keeps its leaf.

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

    def _check_arguments(self) -> None:
        """Check all arguments as a fit does."""
        tree_pools(self, self._task)
        self._check_parameters()
