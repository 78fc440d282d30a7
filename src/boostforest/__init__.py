"""BoostTree and BoostForest: forests of boosted model trees behind scikit-learn's interface."""

from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

# Where names live. They are loaded when first asked for, and with them scikit-learn and SciPy: `import boostforest`
# does not wait for these, nor do programs that only ask for the version or the C header.
_MODULES = ("export", "forest", "model_trees", "named_forests", "nodes", "plot", "pools", "sources", "tree")
_HOMES = {
    "BoostForestClassifier": "forest",
    "BoostForestRegressor": "forest",
    "BoostTreeClassifier": "tree",
    "BoostTreeRegressor": "tree",
    "ETForestClassifier": "named_forests",
    "ETForestRegressor": "named_forests",
    "LMForestClassifier": "named_forests",
    "ModelForestRegressor": "named_forests",
    "PoolForestClassifier": "pools",
    "PoolForestRegressor": "pools",
    "export_text": "_estimator.show",
    "load_model": "_estimator.load",
    "plot_tree": "plot",
}


def __getattr__(name: str) -> object:
    """Load a name of the package, or a module of it, when it is first asked for."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for public, home in _HOMES.items():  # all of them: load_model knows the estimators that are loaded
        globals()[public] = getattr(import_module(f".{home}", __name__), public)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})


def get_include() -> str:
    """Return the folder of ``boostforest.h``, the C header that reads model files and predicts.

    Examples
    --------
    >>> import boostforest, os
    >>> sorted(os.listdir(boostforest.get_include()))
    ['boostforest.h']
    """
    return str(files(__name__) / "include")
