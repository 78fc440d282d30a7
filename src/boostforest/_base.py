"""What trees and forests share: fitting, prediction and a look inside. A tree is a forest of one."""

from __future__ import annotations

import math
import os
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core, _inspection
from ._bagging import Sampling
from ._columns import DTYPES, ForestColumns
from ._draws import Entropy, Seeds, entropy_of, fold_numbers, tree_seeds
from ._encoder import N_FOLDS, TableEncoder, count_features, fit_encoder
from ._fill import fit_fill, rescale
from ._input import Categories, read_rows, read_training
from ._memory import check_features, check_trees
from ._parameters import (
    TreeParams,
    draw_tree_params,
    encode_tree_params,
    largest,
    max_features_count,
    smallest,
    tree_pools,
)
from ._progress import Progress
from ._python_grower import TrainingData, grow_in_python, make_plans
from ._python_predict import add_trees, python_models_size
from ._roles import Roles, read_roles
from ._snapshot import fitted_aside, on_snapshot
from ._threads import n_threads, one_blas_thread
from ._validation import (
    check_sample_weight,
    check_table_parameters,
    mean_and_deviation,
    warn_if_unconverged,
    warn_if_unsplittable,
    weight_in_rows,
)
from .nodes._native import SHORTHANDS, NodeModel, largest_hidden_layer
from .nodes._python import python_trees

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


class BoostBase(BaseEstimator, metaclass=ABCMeta):
    """Fitting and prediction over the columns of a forest."""

    _task: ClassVar[str]
    _shorthands: ClassVar[dict[str, NodeModel]] = SHORTHANDS

    scale: bool
    categorical_features: Any
    max_one_hot: Any
    missing_indicator: Any
    missing_fill: Any
    split_features: Any
    model_features: Any
    monotonic_cst: Any
    dtype: str

    forest_: ForestColumns
    encoder_: TableEncoder | None
    tree_seeds_: Seeds
    feature_mean_: Floats
    feature_scale_: Floats
    feature_deviation_: Floats
    fill_: Floats | None
    n_features_in_: int
    _tree_params: TreeParams
    _entropy: Entropy

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
        with fitted_aside(self) as twin:
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        pools = tree_pools(self, self._task)
        self._check_parameters()
        kept = self._kept_trees()
        X, y, categories = read_training(self, X, y, first=kept == 0)
        own_weight = check_sample_weight(sample_weight, len(y))
        if own_weight is not None and not getattr(self, "bootstrap", False):
            own_weight = weight_in_rows(own_weight)
        target = y
        y, n_classes = self._encode_target(target, own_weight, first=kept == 0)
        weight, balance = self._combine_class_weight(y, own_weight)
        sampling = self._make_sampling(len(y), weight, balance, own_weight)
        if kept == 0:
            self._entropy = entropy_of(getattr(self, "random_state", None))
        X = self._encode_training(X, categories, y, weight, first=kept == 0)
        names = getattr(self, "feature_names_in_", None)
        roles = read_roles(self, self.n_features_in_, names, self.encoder_)
        if kept == 0:
            self._set_scaling(X, weight, roles)
        else:
            roles.check_same(self.forest_)
            if self.forest_.dtype != self.dtype:
                raise ValueError(
                    f"warm_start=True goes on with the dtype of the first fit, {self.forest_.dtype.name!r}; "
                    f"got {self.dtype!r}."
                )
        total = sampling.n_draws if sampling.bootstrap else len(y) if weight is None else weight.sum()
        batch_size = largest(pools["batch_size"]) if weight is None else None  # rows of a batch may weigh anything
        warn_if_unsplittable(smallest(pools["min_samples_leaf"]), float(total), batch_size)

        data = TrainingData(X, self.feature_mean_, self.feature_scale_, self.fill_, y, n_classes, sampling, roles)
        self._grow_all(data, pools, kept)
        self._after_growing(X, target, sampling, kept)

    def _grow_all(self, data: TrainingData, pools: dict[str, Any], kept: int) -> None:
        """Grow the trees that are not there yet."""
        seeds = tree_seeds(self._entropy, self._n_trees())[kept:]
        params = draw_tree_params(pools, seeds, self._task, self._shorthands)
        data.roles.check_fit(data.n_classes, params["node_model"])
        if len(seeds) == 0:
            return
        columns = self._grow(data, params, seeds, first_number=kept)
        if kept > 0:
            columns = self.forest_.join(columns)
            seeds = np.concatenate([self.tree_seeds_, seeds])
            params = {name: self._tree_params[name] + values for name, values in params.items()}
        self.forest_, self.tree_seeds_, self._tree_params = columns, seeds, params

    def _grow(
        self, data: TrainingData, params: TreeParams, seeds: Seeds, first_number: int = 0, quiet: bool = False
    ) -> ForestColumns:
        """Grow some trees, in the core or, where the node model is Python's, in Python.

        ``first_number`` is the first tree's number in messages.
        """
        verbose = 0 if quiet else getattr(self, "verbose", 0)
        check_trees(data, params, self.dtype, n_threads(getattr(self, "n_jobs", None)))
        in_python = python_trees(params["node_model"])
        if not in_python:
            return self._grow_in_core(data, params, seeds, verbose)
        plans = make_plans(params, seeds, in_python, first_number, data.roles.n_split(data.X.shape[1]))
        threads = n_threads(getattr(self, "n_jobs", None))
        trees = grow_in_python(data, plans, threads, verbose)
        parts = {t: tree.astype(self.dtype) for t, tree in zip(in_python, trees, strict=True)}
        if rest := [t for t in range(len(seeds)) if t not in parts]:
            own = {name: [values[t] for t in rest] for name, values in params.items()}
            in_core = self._grow_in_core(data, own, seeds[rest], verbose)
            parts |= {t: in_core.take(i) for i, t in enumerate(rest)}
        return ForestColumns.concatenate([parts[t] for t in range(len(seeds))])

    def _grow_in_core(self, data: TrainingData, params: TreeParams, seeds: Seeds, verbose: int) -> ForestColumns:
        n_features, n_classes, sampling = data.X.shape[1], data.n_classes, data.sampling
        threads = n_threads(getattr(self, "n_jobs", None))
        progress = Progress(len(seeds)) if verbose else None
        with one_blas_thread(max(n_features, largest_hidden_layer(params["node_model"]))):
            columns: dict[str, Any] = _core.fit(
                data.X,
                data.mean,
                data.scale,
                data.y,
                data.loss,
                max(n_classes, 2) if n_classes else 0,
                encode_tree_params(params, seeds, data.roles.n_split(n_features)),
                sampling.bootstrap,
                sampling.n_draws,
                sampling.cumulative,
                sampling.weight,
                sampling.balance_classes,
                threads,
                progress,
                data.fill,
                data.roles.split_features,
                data.roles.model_features,
                data.roles.monotonic_cst,
                data.start,
                self.dtype,
            )
        if progress is not None:
            progress.close()
        warn_if_unconverged(columns.pop("n_unconverged"))
        rounded = self.dtype != "float64"
        ranges_fit = not rounded or (columns["lower"].max() < np.inf and columns["upper"].min() > -np.inf)
        if not ranges_fit or not math.isfinite(columns["params"].sum(dtype=np.float64)):
            fewer = f" in dtype={self.dtype!r}" if rounded else ""
            raise ValueError(f"X or y has values too large to compute with{fewer}; rescale them, or use scale=True.")
        return ForestColumns(**columns, **vars(data.roles), n_features=n_features, n_outputs=data.n_outputs)

    def _encode_training(
        self, X: Floats, categories: Categories, y: Floats, weight: Floats | None, first: bool
    ) -> Floats:
        """Return the features of the training rows; the first fit decides how columns become features."""
        if first and categories:
            n_targets = len(self._target_names())
            n_features = count_features(X.shape[1], categories, n_targets, self.max_one_hot)
            check_features(len(X), X.shape[1], n_features, n_targets)
        targets = self._targets(y) if categories or not first else np.empty((len(y), 0))
        if first:
            self.encoder_ = fit_encoder(X, categories, targets, weight, self.max_one_hot, self.missing_indicator)
        if self.encoder_ is None:
            return X
        folds = fold_numbers(self._entropy, len(X), N_FOLDS)
        return self.encoder_.transform_training(X, targets, weight, folds)

    def _set_scaling(self, X: Floats, weight: Floats | None, roles: Roles) -> None:
        """Keep mean and deviation of the features; both are figures of the training rows alone."""
        mean, self.feature_deviation_ = mean_and_deviation(X, weight)
        self.feature_mean_ = mean if self.scale else np.zeros_like(mean)
        self.feature_scale_ = self.feature_deviation_ if self.scale else np.ones_like(mean)
        self.fill_ = None
        if self.missing_fill == "linear":
            threads = n_threads(getattr(self, "n_jobs", None))
            together = roles.filled_together(X.shape[1])
            fill = fit_fill(X, weight, mean, self.feature_deviation_, self._entropy, threads, together)
            if fill is not None:
                shift = (mean - self.feature_mean_) / self.feature_scale_
                self.fill_ = rescale(fill, shift, self.feature_deviation_ / self.feature_scale_)

    def _check_parameters(self) -> None:
        """Check what is not a tree parameter."""
        if not isinstance(self.scale, bool | np.bool_):
            raise ValueError(f"scale must be True or False; got {self.scale!r}.")
        if not isinstance(self.dtype, str) or self.dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {self.dtype!r}.")
        check_table_parameters(self.max_one_hot, self.missing_indicator, self.missing_fill)

    def _n_trees(self) -> int:
        return 1

    def _kept_trees(self) -> int:
        """Return how many trees of an earlier fit stay."""
        return 0

    def _make_sampling(
        self, n_rows: int, weight: Floats | None, balance: bool, sample_weight: Floats | None
    ) -> Sampling:
        """Return how trees get their rows; ``sample_weight`` is the user's part of the weights."""
        return Sampling(weight=weight)

    def _combine_class_weight(self, y: Floats, weight: Floats | None) -> tuple[Floats | None, bool]:
        """Return the weights with the class weights in them, and whether classes are balanced per replica."""
        return weight, False

    @abstractmethod
    def _targets(self, y: Floats) -> Floats:
        """Return the numbers whose means stand for categories, rows × targets, from the target as the core takes it."""

    @abstractmethod
    def _target_names(self) -> list[str]:
        """Return what the columns of ``_targets`` are called."""

    @abstractmethod
    def _encode_target(self, y: Any, weight: Floats | None, first: bool) -> tuple[Floats, int]:
        """Return the target as the core takes it, and the number of classes (0 in regression)."""

    def _after_growing(self, X: Floats, y: npt.NDArray[Any], sampling: Sampling, kept: int) -> None:
        """Do what is left after the trees are grown."""

    # --------------------------------------------------------------------------------------------------- prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = self.categorical_features is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def _check_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = read_rows(self, X)
        return rows if self.encoder_ is None else self.encoder_.transform(rows)

    def _sum_trees(self, X: Floats, probability: bool, trees: slice = slice(None)) -> Floats:
        """Add up the scores or probabilities of some trees: rows × outputs."""
        out = np.zeros((len(X), self.forest_.n_outputs))
        first, last, _ = trees.indices(self.forest_.n_trees)
        threads = n_threads(getattr(self, "n_jobs", None))
        if self.forest_.models:
            add_trees(self, X, probability, range(first, last), threads, out)
            return out
        scaling = self.feature_mean_, self.feature_scale_
        self.forest_.model.predict(X, *scaling, probability, first, last, threads, out, self.fill_)
        return out

    def _mean_output(self, X: Floats, probability: bool) -> Floats:
        """Return the mean score or probability of the trees: rows × outputs."""
        return self._sum_trees(X, probability) / self.forest_.n_trees

    def _staged_means(self, X: Floats, probability: bool) -> Iterator[Floats]:
        """Yield the mean over the first 1, 2, … trees."""
        total = np.zeros((len(X), self.forest_.n_outputs))
        for t in range(self.forest_.n_trees):
            total += self._sum_trees(X, probability, slice(t, t + 1))
            yield total / (t + 1)

    def _leaves(self, X: Any) -> npt.NDArray[np.int32]:
        X = self._check_rows(X)
        leaves = np.empty((len(X), self.forest_.n_trees), dtype=np.int32)
        threads = n_threads(getattr(self, "n_jobs", None))
        self.forest_.model.apply(X, self.feature_mean_, self.feature_scale_, threads, leaves)
        return leaves

    def _paths(self, X: Any) -> sparse.csr_matrix:
        leaves = self._leaves(X)
        return _inspection.decision_paths(self.forest_, leaves)

    # ------------------------------------------------------------------------------------------------ a look inside

    @property
    @on_snapshot
    def feature_importances_(self) -> Floats:
        """Share of each feature in the gain of a tree, mean over the trees; adds up to 1 (all 0 without a split)."""
        check_is_fitted(self)
        return self._by_column(_inspection.gain_importances(self.forest_, self._tree_weights()))

    def _tree_weights(self) -> Floats | None:
        """Return the factor of each tree in a prediction's score; None: the same, and 1 in all."""
        return None

    def _by_column(self, values: Floats) -> Floats:
        """Add up figures of features over those that come from the same column of the table."""
        return values if self.encoder_ is None else self.encoder_.sum_by_column(values)

    @property
    @on_snapshot
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
        check_is_fitted(self)
        if self.forest_.models:
            raise AttributeError(
                "slope_importances_ needs linear models of the core at all nodes, and some trees have their models in "
                "Python; use feature_importances_."
            )
        slopes = _inspection.mean_slopes(self.forest_, self._tree_weights())
        effects: Floats = slopes / self.feature_scale_ * self.feature_deviation_ * self._output_scale
        if self.encoder_ is not None:
            effects = self.encoder_.effects_by_column(effects)
        root_mean_square: Floats = np.hypot.reduce(effects, axis=0) / np.sqrt(len(effects))
        return effects.ravel() if len(effects) == 1 else root_mean_square

    @property
    @on_snapshot
    def is_categorical_(self) -> npt.NDArray[np.bool_] | None:
        """Which columns of the table are categories; None if none is."""
        check_is_fitted(self)
        mask = None if self.encoder_ is None else self.encoder_.is_categorical
        return mask if mask is not None and mask.any() else None

    def _feature_names(self) -> list[str]:
        """Return the names of the features: of the columns, or of what became of them."""
        columns = [f"x{j}" for j in range(self.n_features_in_)]
        columns = [str(name) for name in getattr(self, "feature_names_in_", columns)]
        return columns if self.encoder_ is None else self.encoder_.feature_names(columns, self._target_names())

    @property
    @on_snapshot
    def tree_params_(self) -> list[dict[str, Any]]:
        """The parameters that each tree has drawn; ``max_features`` as the number of features."""
        check_is_fitted(self)
        trees = [
            dict(zip(self._tree_params, values, strict=True))
            for values in zip(*self._tree_params.values(), strict=True)
        ]
        for tree in trees:
            tree["max_features"] = max_features_count(tree["max_features"], self.forest_.n_split_features)
        return trees

    @property
    def n_nodes_(self) -> npt.NDArray[np.int64]:
        """Nodes of each tree."""
        check_is_fitted(self)
        return np.diff(self.forest_.tree_start)

    @property
    def n_leaves_(self) -> npt.NDArray[np.int64]:
        """Leaves of each tree."""
        return (self.n_nodes_ + 1) // 2

    @property
    @on_snapshot
    def model_size_(self) -> int:
        """Bytes of everything that prediction needs."""
        check_is_fitted(self)
        encoder = 0 if self.encoder_ is None else self.encoder_.nbytes
        encoder += 0 if self.fill_ is None else self.fill_.nbytes
        models = python_models_size(self.forest_, self._tree_params["node_model"])
        scaling = self.feature_mean_.nbytes + self.feature_scale_.nbytes
        return int(self.forest_.nbytes + models + scaling + encoder)

    @on_snapshot
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
        check_is_fitted(self)
        return _inspection.nodes_frame(self)

    @on_snapshot
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
        from . import _io  # it knows all estimators, and they are made from this class

        _io.save(self, path, dtype)

    @property
    def _output_scale(self) -> float:
        """Units of the prediction per unit of score."""
        return 1.0

    @property
    def _output_mean(self) -> float:
        """What is added to the score."""
        return 0.0
