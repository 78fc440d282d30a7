"""The other ensembles of the BoostForest paper, as scikit-learn estimators."""

from .bagged_boosters import (
    BaggedLightGBMClassifier,
    BaggedLightGBMRegressor,
    BaggedXGBoostClassifier,
    BaggedXGBoostRegressor,
)
from .bagged_networks import BaggedNetworksClassifier, BaggedNetworksRegressor
from .deep_boost import DeepBoostClassifier
from .elm import ELMClassifier, ELMRegressor
from .filter_boost import FilterBoostClassifier
from .gbdt_pl import GBDTPLClassifier, GBDTPLRegressor
from .logit_boost import LogitBoostClassifier
from .multi_boost import MultiBoostClassifier
from .tao import TAOClassifier
from .tao_bagged import BaggedTAOClassifier

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
