"""What can be read from a fitted estimator: attributes and inspection, all of it from its model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from .._base.typing import Floats, Labels, Longs, Mask, Seeds
from .._features.encoder import TableEncoder
from .._grow.parameters import max_features_count
from .._losses import Several
from .._model import inspection
from .._model.columns import ForestColumns
from .._model.model import Model
from .targets import require_one

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


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


class FittedMixin(BaseEstimator):
    """Attributes of trees and forests."""

    @abstractmethod
    def _fitted(self) -> Model:
        """Return the model."""

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
        """Share of each column in the gain of the splits; adds up to 1 (all 0 without a split).

        Of the whole gain with squared errors, so that trees that had only noise to split on count little; with other
        losses the mean over the trees of the share in each. What node models learn without a split does not count:
        `slope_importances_` and `permutation_importances` show that.
        """
        model = self._fitted()
        return model.features.by_column(inspection.feature_importances(model))

    @property
    def slope_importances_(self) -> Floats:
        """Mean over the training rows of how much one standard deviation of a column moves the prediction, signed.

        The slope in a row's leaf times the column's standard deviation, averaged over rows and trees: in units of the
        target in regression, of the trees' log-odds in classification. Effects that differ in sign from leaf to leaf
        cancel, so noise is near 0, and so is a column whose effect rises and falls alike: `feature_importances_` shows
        that it matters.

        With more than two classes, whose effects add up to about 0, it is the root mean square over the classes,
        without a sign. Of a column that became several features (categories, missing indicators) it is the root
        of the sum of squares over them, with the sign of the number if it is one. Clipping is ignored. ELM models have
        no slopes: with them there is no such attribute.
        """
        model = self._fitted()
        if isinstance(model.loss, Several):
            raise AttributeError("slope_importances_ needs one target: get_target(i) is the model of one.")
        return inspection.slope_importances(model)

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
        return inspection.nodes_frame(require_one(self._fitted(), "to_dataframe"))
