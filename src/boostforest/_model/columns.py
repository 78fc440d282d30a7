"""The fitted trees: flat NumPy columns that fit, predict, save, export and explain all read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from .._base.arrays import ReadOnlyColumns, read_only
from .._base.typing import Array, Bytes, Floats, Ints, Longs, Mask, Signs, Singles
from .._core import ModelKind
from .._features.roles import ROLES
from ..nodes._native import PYTHON

Coefficients = Array

DTYPES = ("float64", "float32", "float16", "int8")  # that coefficients may have
_LARGEST_UNIT = 120  # exponent
_PER_TREE = ("kind", "sum_path")
_PER_FOREST = ("tree_start", "params", "exponent", "hidden_start", "hidden", "target_end", *ROLES)


def clip_range_dtype(dtype: str) -> str:
    """Return the type of clip ranges where parameters have this one."""
    return "float16" if dtype == "int8" else dtype


def with_type(values: Coefficients, dtype: str) -> Coefficients:
    """Return coefficients as floats of another type; what is too large for it becomes infinite."""
    if dtype == "float16" and values.dtype in (np.float32, np.float64):
        return _core.halves(values)
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


@dataclass(eq=False, frozen=True)
class ForestColumns(ReadOnlyColumns):
    """All trees of a forest joined; one value per node unless said otherwise.

    Thresholds, parameters and clip ranges are in scaled units: features less their mean, over their standard deviation.
    Children come after their parent and next to each other. With ``sum_path`` all nodes have models, but for a root
    that is split; otherwise leaves alone. With ``monotonic_cst`` these nodes all have the sum of the models on their
    path, and the clip range is how far a node's score may be from its parent's.
    """

    tree_start: Longs  #: first node of every tree, and the number of nodes at the end
    kind: Bytes  #: per tree: ``ModelKind`` of the core
    sum_path: Mask  #: per tree: score = Σ of the models on the path, else the leaf's alone
    feature: Ints  #: split feature, -1 for a leaf
    threshold: Floats  #: ``x[feature] <= threshold`` goes left
    missing_left: Bytes  #: 1 where a missing value goes left, 0: right
    left: Ints  #: left child, counted from the root of its tree; the right child is ``left + 1``
    n_samples: Singles  #: weight of the training rows that reached the node
    loss: Singles | None  #: training loss of these rows after the node's model; None: not kept, as with int8
    gain: Singles  #: the criterion's gain of the split
    lower: Coefficients  #: clip range of the node's model
    upper: Coefficients
    params: Coefficients  #: of all models, in the order of their nodes; per output: intercept, then the slopes if any
    #: (in units of ``exponent`` if they are int8)
    hidden_start: Longs  #: per tree: first value of its hidden layer, and the number of values at the end
    hidden: Floats  #: hidden layers of the trees that have one: biases of the units, then their weights by feature
    split_features: Ints | None = None  #: features that may be split on, ascending; None: all
    model_features: Ints | None = None  #: features that node models see, ascending; None: all
    monotonic_cst: Signs | None = None  #: per feature: 1 or -1 if scores rise or fall with it, 0: free; None: all free
    exponent: Signs | None = None  #: with int8, per model and output: its parameters are multiples of 2 to this power
    target_end: Ints | None = None  #: of several targets: outputs up to the end of each; None: there is one
    n_features: int = field(kw_only=True)
    n_outputs: int = field(kw_only=True)
    models: tuple[Any, ...] = field(default=(), kw_only=True)  #: models in Python, None where a node has none; or empty

    @cached_property
    def model(self) -> _core.Model:
        """The core's checked view of these columns."""
        return _core.Model(self.arrays(), self.n_features, self.n_outputs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}  # the view is made anew after unpickling

    def arrays(self) -> dict[str, Array]:
        """Return the columns by name."""
        own = vars(self)
        return {name: value for name in _FIELDS if isinstance(value := own[name], np.ndarray)}

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the coefficients."""
        return self.params.dtype

    def astype(self, dtype: str, unit: int = _core.LEAST_EXPONENT) -> ForestColumns:
        """Return the same trees with coefficients of another type; ``unit``: least exponent of int8's units."""
        if self.dtype == dtype:
            return self
        ranges = clip_range_dtype(dtype)
        changed: dict[str, Any] = {name: with_type(getattr(self, name), ranges) for name in ("lower", "upper")}
        if dtype == "int8":
            every = np.ones(self.n_trees, dtype=bool)
            changed["params"], changed["exponent"] = self._quantised(with_type(self.params, "float32"), every, unit)
            changed["loss"] = None  # it is only looked at
        else:
            changed |= {"params": with_type(self.coefficients(), dtype), "exponent": None}
        return replace(self, **changed)

    def _quantised(self, values: Singles, trees: Mask, unit: int) -> tuple[Signs, Signs]:
        """Return the values of some trees as whole numbers and the exponents of their units, none below ``unit``.

        Where scores are sums along a path, nodes make up for what their parents have lost.
        """
        n_nodes = np.diff(self.tree_start)
        is_sum = trees & self.sum_path & ~self.in_python
        numbers, exponents = _core.quantise(
            values,
            np.diff(self.tree_params_start)[trees],
            (1 + self.n_inputs[trees]).astype(np.int32),
            np.where(is_sum, n_nodes, 0)[trees].astype(np.int64),
            self.left[np.repeat(is_sum, n_nodes)],
            unit,
        )
        return numbers, exponents

    def in_units(self, unit: int) -> ForestColumns:
        """Return trees of int8 with no exponent below this one."""
        assert self.exponent is not None
        start, width, before = self.tree_outputs_start, 1 + self.n_inputs, self.exponent
        exponent = np.maximum(before, np.int8(min(unit, _LARGEST_UNIT)))
        by, params = exponent - before, self.params.copy()
        # Trees of the same width one after another are one table. Only the outputs in the smallest units change.
        runs = [0, *(np.flatnonzero(np.diff(width)) + 1), len(width)]
        for first, end in itertools.pairwise(runs):
            of_run = params[self.tree_params_start[first] : self.tree_params_start[end]].reshape(-1, width[first])
            by_run = by[start[first] : start[end]]
            changed = np.flatnonzero(by_run)
            of_run[changed] = np.rint(np.ldexp(of_run[changed].astype(np.float32), -by_run[changed, None]))
        if self.sum_path.any():
            places = [np.repeat(self.sum_path, np.diff(starts)) for starts in (self.tree_params_start, start)]
            values = self.coefficients()[places[0]].astype(np.float32)
            params[places[0]], exponent[places[1]] = self._quantised(values, self.sum_path, unit)
        return replace(self, params=params, exponent=exponent)

    def coefficients(self) -> Coefficients:
        """Return the parameters as floats, in the order of ``params``."""
        if self.exponent is None:
            return self.params
        n_inputs = np.repeat(self.n_inputs, np.diff(self.tree_outputs_start))
        return np.ldexp(self.params.astype(np.float64), np.repeat(self.exponent, 1 + n_inputs))

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.kind)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(a.nbytes for a in self.arrays().values())

    @cached_property
    def tree_of_node(self) -> Longs:
        """Number of the tree that a node belongs to."""
        return read_only(np.repeat(np.arange(self.n_trees), np.diff(self.tree_start)))

    @cached_property
    def parent(self) -> Longs:
        """Parent of every node, both counted over the whole forest; -1 for a root."""
        parent = np.full(len(self.feature), -1, dtype=np.int64)
        inner = np.flatnonzero(self.feature >= 0)
        left = self.left[inner] + self.tree_start[self.tree_of_node[inner]]
        parent[left] = inner
        parent[left + 1] = inner
        return read_only(parent)

    @cached_property
    def depth(self) -> Longs:
        """Depth of every node, 0 for a root."""
        # Steps upward are doubled each time: a tree may be one long chain, and files can hold longer ones.
        depth = (self.parent >= 0).astype(np.int64)
        above = self.parent
        while (below := np.flatnonzero(above >= 0)).size:
            depth[below] += depth[above[below]]
            above = np.where(above >= 0, above[above], -1)
        return read_only(depth)

    @cached_property
    def n_inputs(self) -> Longs:
        """Slopes of each tree's node models: none, one per feature that they see, or one per hidden unit."""
        units = np.diff(self.hidden_start) // (1 + len(self.seen_features))
        return read_only(np.where(self.kind == int(ModelKind.LINEAR), len(self.seen_features), units))

    @cached_property
    def seen_features(self) -> Ints:
        """The features that node models see."""
        all_features = np.arange(self.n_features, dtype=np.int32)
        return read_only(all_features if self.model_features is None else self.model_features)

    @property
    def n_split_features(self) -> int:
        """Number of features that may be split on."""
        return self.n_features if self.split_features is None else len(self.split_features)

    @cached_property
    def at_all_nodes(self) -> Mask:
        """Per tree: whether all nodes have models, but for a root that is split."""
        return read_only(self.sum_path if self.monotonic_cst is None else np.ones(self.n_trees, dtype=bool))

    @cached_property
    def tree_outputs_start(self) -> Longs:
        """First output of every tree among those of all models, and their number at the end."""
        n_nodes = np.diff(self.tree_start)
        n_models = np.where(self.at_all_nodes, n_nodes - (n_nodes > 1), (n_nodes + 1) // 2)
        return read_only(np.cumsum([0, *np.where(self.in_python, 0, n_models * self.n_outputs).tolist()]))

    @cached_property
    def tree_params_start(self) -> Longs:
        """First parameter of every tree in ``params``, and the number of parameters at the end."""
        return read_only(np.cumsum([0, *(np.diff(self.tree_outputs_start) * (1 + self.n_inputs)).tolist()]))

    @property
    def has_model(self) -> Mask:
        """Per node: whether it has a model of the core, with parameters in ``params``."""
        inner = self.feature >= 0
        has_model = ~inner | self.at_all_nodes[self.tree_of_node]
        root = self.tree_start[:-1]
        has_model[root] = ~inner[root]
        has_model[self.in_python[self.tree_of_node]] = False
        return has_model

    @property
    def param_start(self) -> Longs:
        """First parameter of every node's model in ``params``, -1 for none."""
        start = np.full(len(self.feature), -1, dtype=np.int64)
        for tree, nodes in self._model_nodes():
            begin, end = self.tree_params_start[tree : tree + 2]
            start[nodes] = np.arange(begin, end, self.n_outputs * (1 + self.n_inputs[tree]))
        return start

    def _model_nodes(self) -> Iterator[tuple[int, Longs]]:
        """Yield every tree with models of the core, and the nodes that have them."""
        has_model = self.has_model
        for tree in np.flatnonzero(~self.in_python).tolist():
            begin, end = self.tree_start[tree : tree + 2]
            yield tree, begin + np.flatnonzero(has_model[begin:end])

    def models_of_trees(self) -> Iterator[tuple[int, Longs, Coefficients]]:
        """Yield each tree, its nodes with models, and their parameters: nodes × outputs × (1 + inputs)."""
        coefficients = self.coefficients()
        for tree, nodes in self._model_nodes():
            begin, end = self.tree_params_start[tree : tree + 2]
            shape = len(nodes), self.n_outputs, 1 + self.n_inputs[tree]
            yield tree, nodes, coefficients[begin:end].reshape(shape)

    def linear_models(self) -> Floats:
        """Return intercept and slopes of the models on features: nodes × outputs × (1 + features), NaN without one."""
        models = np.full((len(self.feature), self.n_outputs, 1 + self.n_features), np.nan)
        for tree, nodes, params in self.models_of_trees():
            if self.kind[tree] in (ModelKind.CONSTANT, ModelKind.LINEAR):
                whole = np.zeros((len(nodes), self.n_outputs, 1 + self.n_features))
                whole[:, :, 0] = params[:, :, 0]
                whole[:, :, 1 + self.seen_features[: params.shape[2] - 1]] = params[:, :, 1:]
                models[nodes] = whole
        return models

    @property
    def in_python(self) -> Mask:
        """Per tree: whether its models are in Python."""
        return np.asarray(self.kind == PYTHON)

    @classmethod
    def from_python(cls, nodes: dict[str, list[Any]], n_features: int, n_outputs: int) -> ForestColumns:
        """Return a tree whose models are in Python, given its columns."""
        n_nodes = len(nodes["feature"])
        dtypes: dict[str, Any] = {"feature": np.int32, "missing_left": np.uint8, "left": np.int32}
        dtypes |= dict.fromkeys(("n_samples", "loss", "gain"), np.float32)
        columns: dict[str, Any] = {
            name: np.array(values, dtype=dtypes.get(name, np.float64))
            for name, values in nodes.items()
            if name != "model"
        }
        return cls(
            tree_start=np.array([0, n_nodes]),
            kind=np.array([PYTHON], dtype=np.uint8),
            sum_path=np.array([True]),
            **columns,
            params=np.zeros(0),
            hidden_start=np.zeros(2, dtype=np.int64),
            hidden=np.zeros(0),
            n_features=n_features,
            n_outputs=n_outputs,
            models=tuple(nodes["model"]),
        )

    def hidden_models(self) -> Floats:
        """Return intercept and slopes of the models on hidden units: nodes × outputs × (1 + units), NaN without one."""
        n_units = int(self.n_inputs[self.kind == ModelKind.HIDDEN].max(initial=0))
        models = np.full((len(self.feature), self.n_outputs, 1 + n_units), np.nan)
        for tree, nodes, params in self.models_of_trees():
            if self.kind[tree] == ModelKind.HIDDEN:
                models[nodes, :, : params.shape[2]] = params
        return models

    def hidden_layer(self, tree: int) -> tuple[Floats, Floats]:
        """Return biases (units) and weights (features × units) of a tree's hidden layer, for scaled features.

        The features are those that node models see.
        """
        begin, end = self.hidden_start[tree : tree + 2]
        values = self.hidden[begin:end].reshape(1 + len(self.seen_features), -1)
        return values[0], values[1:]

    def take(self, first: int, last: int | None = None, copied: bool = True) -> ForestColumns:
        """Return some trees, ``first`` to ``last - 1`` (by default one), as a forest of their own.

        ``copied``: it does not hold on to the memory of the others; one that is soon gone need not be.
        """
        last = first + 1 if last is None else last
        if first == 0 and last == self.n_trees:
            return self
        begin, end = int(self.tree_start[first]), int(self.tree_start[last])
        own = np.copy if copied else np.asarray
        nodes: dict[str, Any] = {
            name: own(column[begin:end])
            for name, column in self.arrays().items()
            if name not in _PER_TREE + _PER_FOREST
        }
        hidden_start = self.hidden_start[first : last + 1]
        outputs = slice(self.tree_outputs_start[first], self.tree_outputs_start[last])
        return replace(
            self,
            tree_start=self.tree_start[first : last + 1] - begin,
            kind=own(self.kind[first:last]),
            sum_path=own(self.sum_path[first:last]),
            params=own(self.params[self.tree_params_start[first] : self.tree_params_start[last]]),
            exponent=None if self.exponent is None else own(self.exponent[outputs]),
            hidden_start=hidden_start - hidden_start[0],
            hidden=own(self.hidden[hidden_start[0] : hidden_start[-1]]),
            **nodes,
            models=self.models[begin:end] if self.in_python[first:last].any() else (),
        )

    def take_where(self, kept: Mask) -> ForestColumns:
        """Return the trees that are kept, one truth value each, as a forest of their own."""
        nodes = np.repeat(kept, np.diff(self.tree_start))
        own: dict[str, Any] = {
            name: column[nodes] for name, column in self.arrays().items() if name not in _PER_TREE + _PER_FOREST
        }
        own |= {name: getattr(self, name)[kept] for name in _PER_TREE}
        for name in ("tree_start", "hidden_start"):
            own[name] = np.concatenate([[0], np.cumsum(np.diff(getattr(self, name))[kept])])
        own["params"] = self.params[np.repeat(kept, np.diff(self.tree_params_start))]
        own["hidden"] = self.hidden[np.repeat(kept, np.diff(self.hidden_start))]
        if self.exponent is not None:
            own["exponent"] = self.exponent[np.repeat(kept, np.diff(self.tree_outputs_start))]
        if self.models:
            own["models"] = tuple(itertools.compress(self.models, nodes))
        return replace(self, **own)

    def take_outputs(self, outputs: slice) -> ForestColumns:
        """Return the same trees with some of their outputs, those of one target."""
        n, starts = self.n_outputs, self.tree_params_start
        trees = zip(starts[:-1], starts[1:], self.n_inputs.tolist(), strict=True)
        params = [self.params[a:b].reshape(-1, n, 1 + m)[:, outputs].reshape(-1) for a, b, m in trees]
        exponent = None if self.exponent is None else self.exponent.reshape(-1, n)[:, outputs].flatten()
        n_outputs = len(range(*outputs.indices(n)))
        own = np.concatenate(params)
        return replace(self, params=own, exponent=exponent, target_end=None, n_outputs=n_outputs)

    @classmethod
    def concatenate(cls, parts: Sequence[ForestColumns]) -> ForestColumns:
        """Return the trees of all parts, which have the same roles of features."""
        arrays = [part.arrays() for part in parts]
        names = [name for name in arrays[0] if name not in (*ROLES, "target_end")]
        if any(part.loss is None for part in parts):
            names = [name for name in names if name != "loss"]
        joined: dict[str, Any] = {name: np.concatenate([a[name] for a in arrays]) for name in names}
        for name in ("tree_start", "hidden_start"):
            first = np.cumsum([0, *(part[name][-1] for part in arrays)])
            joined[name] = np.concatenate(
                [*(part[name][:-1] + n for part, n in zip(arrays, first, strict=False)), first[-1:]]
            )
        if any(part.models for part in parts):
            joined["models"] = tuple(m for part in parts for m in part.models or (None,) * len(part.feature))
        return replace(parts[0], **{"loss": None} | joined)


_FIELDS = tuple(f.name for f in fields(ForestColumns))


def is_finite(short: ForestColumns, exact: ForestColumns) -> bool:
    """Tell whether coefficients that were rounded are still numbers."""
    ranges = all(np.array_equal(np.isinf(getattr(short, n)), np.isinf(getattr(exact, n))) for n in ("lower", "upper"))
    if short.exponent is not None:
        return ranges and bool((short.exponent < _core.NO_EXPONENT).all())
    return ranges and bool(np.isfinite(short.params).all())
