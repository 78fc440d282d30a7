"""BoostTree and BoostForest: forests of boosted model trees behind scikit-learn's interface."""

from importlib.metadata import version
from importlib.resources import files

from ._estimator.load import load_model
from ._estimator.show import export_text
from .forest import BoostForestClassifier, BoostForestRegressor
from .named_forests import ETForestClassifier, ETForestRegressor, LMForestClassifier, ModelForestRegressor
from .plot import plot_tree
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
    "export_text",
    "get_include",
    "load_model",
    "plot_tree",
]


def get_include() -> str:
    """Return the folder of ``boostforest.h``, the C header that reads model files and predicts.

    Examples
    --------
    >>> import boostforest, os
    >>> sorted(os.listdir(boostforest.get_include()))
    ['boostforest.h', 'boostforest_files.h']
    """
    return str(files(__name__) / "include")
