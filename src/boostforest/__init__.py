"""BoostTree and BoostForest: forests of boosted model trees behind scikit-learn's interface."""

from importlib.metadata import version

from ._files.files import load_model
from ._named_forests import ETForestClassifier, ETForestRegressor, LMForestClassifier, ModelForestRegressor
from .forest import BoostForestClassifier, BoostForestRegressor
from .pools import PoolForestClassifier, PoolForestRegressor
from .tree import BoostTreeClassifier, BoostTreeRegressor

__version__ = version("boostforest")

__all__ = [
    "BoostForestClassifier",
    "BoostForestRegressor",
    "BoostTreeClassifier",
    "BoostTreeRegressor",
    "ETForestClassifier",
    "ETForestRegressor",
    "LMForestClassifier",
    "ModelForestRegressor",
    "PoolForestClassifier",
    "PoolForestRegressor",
    "__version__",
    "load_model",
]
