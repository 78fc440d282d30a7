"""The other ensembles of the BoostForest paper, as scikit-learn estimators."""

from ._bagged_boosters import (
    BaggedLightGBMClassifier,
    BaggedLightGBMRegressor,
    BaggedXGBoostClassifier,
    BaggedXGBoostRegressor,
)
from ._bagged_networks import BaggedNetworksClassifier, BaggedNetworksRegressor
from ._deep_boost import DeepBoostClassifier
from ._elm import ELMClassifier, ELMRegressor
from ._filter_boost import FilterBoostClassifier
from ._gbdt_pl import GBDTPLClassifier, GBDTPLRegressor
from ._logit_boost import LogitBoostClassifier
from ._multi_boost import MultiBoostClassifier
from ._tao import TAOClassifier
from ._tao_bagged import BaggedTAOClassifier

__all__ = [
    "BaggedLightGBMClassifier",
    "BaggedLightGBMRegressor",
    "BaggedNetworksClassifier",
    "BaggedNetworksRegressor",
    "BaggedTAOClassifier",
    "BaggedXGBoostClassifier",
    "BaggedXGBoostRegressor",
    "DeepBoostClassifier",
    "ELMClassifier",
    "ELMRegressor",
    "FilterBoostClassifier",
    "GBDTPLClassifier",
    "GBDTPLRegressor",
    "LogitBoostClassifier",
    "MultiBoostClassifier",
    "TAOClassifier",
]
