"""BoostTree and BoostForest: forests of boosted model trees behind scikit-learn's interface."""

from importlib.metadata import version

from ._forest import BoostForestClassifier, BoostForestRegressor
from ._io import load_model
from ._named_forests import ETForestClassifier, ETForestRegressor, LMForestClassifier, ModelForestRegressor
from ._pool_forest import PoolForestClassifier, PoolForestRegressor
from ._show import export_text, plot_tree
from ._tree import BoostTreeClassifier, BoostTreeRegressor

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
    "export_text",
    "load_model",
    "plot_tree",
]
