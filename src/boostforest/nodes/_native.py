"""The node models of the compiled core, as small objects that hold their parameters.

To add one: write it in C++ (the steps are in ``src/core/models/node_model.hpp``), then a class here with its code, its
parameters (the position numbers their pool draws: append, never insert) and a name in ``SHORTHANDS``.
"""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from .._base.arrays import PerTree
from .._base.declare import Parameter, arguments_of, declared, integer, pooled, real
from .._base.draws import Seeds, draw_parameter, is_distribution, pool_words
from .._base.typing import Floats
from .._core import ModelKind, NodeFit

PYTHON = int(ModelKind.PYTHON)  # the models of a tree are in Python


@declared
class NodeModel(BaseEstimator):
    """A node model of the core: ``__init__`` only stores, a fit checks. Any parameter may be a pool."""

    _code: ClassVar[int]  # NodeFit of the core

    @classmethod
    def _rules(cls) -> dict[str, Parameter]:
        """Return the parameters that may be pools, with the class in their names."""
        rules = {name: own.rule for name, own in arguments_of(cls).items() if own.rule.takes_pools}
        return {name: replace(rule, name=f"{cls.__name__}.{name}") for name, rule in rules.items()}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in arguments_of(self))})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _pools(self) -> dict[str, Any]:
        """Check all parameters and return their pools."""
        return {name: parameter.pool(getattr(self, name)) for name, parameter in self._rules().items()}

    def _draw(self, words: Seeds) -> PerTree:
        """Return one model per word, with values drawn from the pools."""
        pools = self._pools()
        drawn = [
            draw_parameter(pools[name], words, i, parameter.check)
            for i, (name, parameter) in enumerate(self._rules().items())
        ]
        return PerTree.combined(self._with_values, drawn) if drawn else PerTree.same(self, len(words))

    def _with_values(self, *values: Any) -> "NodeModel":
        """Return the same model with values in place of its pools."""
        return type(self)(*values)


@declared
class Constant(NodeModel):
    """The weighted mean at every node: a BoostTree is then a regression tree grown by boosting.

    Examples
    --------
    >>> from boostforest import BoostTreeRegressor
    >>> from boostforest.nodes import Constant
    >>> BoostTreeRegressor(node_model=Constant())  # the same as node_model="constant"
    BoostTreeRegressor(node_model=Constant())
    """

    _code = NodeFit.CONSTANT


@declared
class Ridge(NodeModel):
    """Ridge regression on all features, or some of them, with an intercept that is not penalised.

    Minimises ``Σ w (a·x + b - z)² + reg_lambda |a|²``.

    {parameters}

    Examples
    --------
    >>> from boostforest import BoostTreeRegressor
    >>> from boostforest.nodes import Ridge
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = BoostTreeRegressor(node_model=Ridge(reg_lambda=10.0), random_state=0).fit(X, y)
    >>> tree.tree_params_[0]["node_model"]
    Ridge(reg_lambda=10.0, max_features=None)
    """

    _code = NodeFit.RIDGE

    reg_lambda: Any = pooled(
        default=None,
        kw_only=False,
        rule=real(0, none=True),
        doc="""float or None
        Penalty on the squared slopes, 0 or more. None: the `reg_lambda` of the tree, which the gain of a split uses in
        any case.""",
    )
    max_features: Any = pooled(
        default=None,
        kw_only=False,
        rule=integer(1, none=0),
        doc="""int or None
        Features that the models of a tree are fitted to, drawn for the tree; all other slopes are 0. In wide tables
        trees grow faster and differ more. None: all.""",
    )


@declared
class ELM(NodeModel):
    """Extreme learning machine: ridge regression on one hidden layer of random sigmoid units.

    {parameters}

    Examples
    --------
    >>> from boostforest import BoostForestRegressor
    >>> from boostforest.nodes import ELM
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = BoostForestRegressor(20, node_model=ELM(n_hidden=[10, 20]), random_state=0).fit(X, y)
    >>> sorted({tree["node_model"].n_hidden for tree in forest.tree_params_})
    [10, 20]
    """

    _code = NodeFit.ELM

    n_hidden: Any = pooled(default=20, kw_only=False, rule=integer(1), doc="int\nHidden units.")
    reg_lambda: Any = pooled(
        default=None,
        kw_only=False,
        rule=real(0, none=True),
        doc="""float or None
        Penalty on the squared output weights, 0 or more. None: the `reg_lambda` of the tree, which the gain of a split
        uses in any case.""",
    )


@declared
class LinearSVR(NodeModel):
    """Linear support vector regression: errors below `epsilon` cost nothing, larger ones in proportion.

    Minimises ``½ |a|² + ½ (b / intercept_scaling)² + C Σ w max(0, |a·x + b - z| - epsilon)``, as scikit-learn's
    LinearSVR does, by an interior point method.

    {parameters}

    Examples
    --------
    >>> from boostforest import BoostTreeRegressor
    >>> from boostforest.nodes import LinearSVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = BoostTreeRegressor(node_model=LinearSVR(C=0.1), random_state=0).fit(X, y)
    >>> tree.predict(X[:2]).shape
    (2,)
    """

    _code = NodeFit.LINEAR_SVR

    C: Any = pooled(
        default=1.0,
        kw_only=False,
        rule=real(0, strict=True),
        doc="float\nCost of the errors against the size of the slopes, above 0.",
    )
    epsilon: Any = pooled(
        default=0.1, kw_only=False, rule=real(0), doc="float\nErrors up to this size are free, 0 or more."
    )
    tol: Any = pooled(
        default=1e-4,
        kw_only=False,
        rule=real(0, strict=True),
        doc="""float
        The objective is at most this part of itself above its minimum when the method stops; above 0.""",
    )
    max_iter: Any = pooled(
        default=100,
        kw_only=False,
        rule=integer(1),
        doc="""int
        Steps at the most, usually about ten are needed. A fit that ends before it has converged says so in a
        ``ConvergenceWarning``.""",
    )
    intercept_scaling: Any = pooled(
        default=1000.0,
        kw_only=False,
        rule=real(0, strict=True),
        doc="""float
        The larger, the freer the intercept; above 0. scikit-learn's default is 1: the intercept is shrunk like a
        slope.""",
    )


MODELS: dict[str, type[NodeModel]] = {cls.__name__: cls for cls in (Constant, Ridge, ELM, LinearSVR)}

# What a name stands for: in a tree the defaults, in a forest the paper's pools.
SHORTHANDS = {"constant": Constant(), "ridge": Ridge(), "elm": ELM(), "svr": LinearSVR()}
FOREST_SHORTHANDS = SHORTHANDS | {
    "elm": ELM(n_hidden=(10, 20, 30, 40)),
    "svr": LinearSVR(C=(0.01, 0.1, 1.0, 10.0, 100.0), epsilon=(0.1, 0.2, 0.4, 0.8, 1.0)),
}

# What the core may have to know of a model.
_COLUMNS = ("reg_lambda", "max_features", "n_hidden", "C", "epsilon", "tol", "max_iter", "intercept_scaling")
_NAMES = ("node_model", *(f"node_{name}" for name in _COLUMNS))


def draw_node_models(models: PerTree, seeds: Seeds, shorthands: dict[str, NodeModel]) -> PerTree:
    """Return the node model of every tree with values in place of names and pools.

    "ridge" and "constant" have nothing to draw and stay as they are; what is not a model of the core is left alone.
    """
    values, places = list(models.values), models.places.copy()
    for place, given in enumerate(models.values):
        model = shorthands[given] if isinstance(given, str) else given
        if not isinstance(model, NodeModel) or (isinstance(given, str) and given in ("constant", "ridge")):
            continue
        trees = np.flatnonzero(models.places == place)
        own = model._draw(pool_words(seeds[trees], 0))
        places[trees] = len(values) + own.places
        values.extend(own.values)
    return PerTree(values, places).compact()


def largest_hidden_layer(models: PerTree) -> int:
    """Return how many hidden units a tree has at the most, 0 without any."""
    return max((m.n_hidden for m in models.values if isinstance(m, ELM)), default=0)


def most_hidden_units(pool: Any, shorthands: dict[str, NodeModel]) -> float:
    """Return how many hidden units a tree may have whose node model is drawn from a pool; infinite if nobody knows."""
    most = math.inf if is_distribution(pool) else 0
    for given in pool if most == 0 else ():
        model = shorthands[given] if isinstance(given, str) else given
        if isinstance(model, ELM):
            units = model._pools()["n_hidden"]
            most = math.inf if is_distribution(units) else max(most, *units)
    return most


def _encode(model: Any) -> list[float]:
    if isinstance(model, str):
        return _ENCODED[model]
    values = (getattr(model, name, None) for name in _COLUMNS)
    return [float(model._code), *(np.nan if v is None else float(v) for v in values)]


_ENCODED = {name: _encode(model) for name, model in SHORTHANDS.items()}


def encode_node_models(models: PerTree, reg_lambda: Floats) -> dict[str, Floats]:
    """Return the node models of all trees as the core takes them: the code, and one column per parameter."""
    table = models.compact().encoded(_encode)
    columns = dict(zip(_NAMES, table, strict=True))
    own = columns["node_reg_lambda"]
    np.copyto(own, reg_lambda, where=np.isnan(own))
    return columns


# ----------------------------------------------------------------------------------------------- models in Python


def is_regressor_object(value: object) -> bool:
    """Tell whether a value can be fitted like a regressor: an object, not a class, and not a classifier."""
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in ("fit", "predict")):
        return False
    return not (isinstance(value, BaseEstimator) and is_classifier(value))


def is_python_model(node_model: object) -> bool:
    """Tell whether the core knows nothing of a node model."""
    if isinstance(node_model, NodeModel):
        return node_model._code == PYTHON
    return is_regressor_object(node_model)


def has_python_models(node_model: object) -> bool:
    """Tell whether the core knows nothing of a node model, or of one in a pool."""
    return any(map(is_python_model, node_model if isinstance(node_model, list | tuple) else [node_model]))


def own_copies(models: PerTree) -> PerTree:
    """Return the node models of all trees, those in Python cloned: the user's objects stay the user's."""
    return PerTree([clone(m, safe=False) if is_python_model(m) else m for m in models.values], models.places)


def python_trees(models: PerTree) -> list[int]:
    """Return the numbers of the trees whose node models are Python's."""
    in_python = [is_python_model(m) for m in models.values]
    return np.flatnonzero(np.array(in_python)[models.places]).tolist() if any(in_python) else []
