"""From the inputs of a graph to what trees see: categories, missing indicators, scaling, filling of missing values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from .._base.typing import Floats, Longs
from .._features.encoder import CategoryColumn, NumberColumn
from .._features.features import Features
from ._graph import BOOL, DOUBLE, EXACT_IN_FLOATS, FLOAT, INT32, INT64, ML_OPSET, Graph, Value

_STRING = TensorProto.STRING
Singles: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Input:
    """One input of a graph: some columns of the table, one after another."""

    name: str
    type: int  #: as ONNX numbers them
    n_columns: int


def own_inputs(features: Features, dtype: int) -> list[Input]:
    """Return the inputs of a graph on its own: the table at once or, with categories, column by column."""
    categories = features.columns.categories
    if not categories:
        return [Input("X", dtype, features.n_columns)]
    return [
        Input(column_name(features, j), _STRING if j in categories and categories[j].is_text else dtype, 1)
        for j in range(features.n_columns)
    ]


def column_name(features: Features, j: int) -> str:
    """Return the name of a column."""
    return f"x{j}" if features.names is None else str(features.names[j])


@dataclass(frozen=True)
class Routing:
    """What splits compare, doubles or floats."""

    features: Value  #: rows × features
    threshold: Floats | Singles  #: of every node of the forest, in the same type
    by_mode: bool = False
    """Where missing values go left the other question is asked, x > threshold, which is false for them, and the sides
    change: a byte less for each split, but ONNX Runtime takes up to half as long again."""


class FeatureValues:
    """The features of rows in a graph, scaled: rows × features."""

    def __init__(self, graph: Graph, features: Features, inputs: Sequence[Input], seen: Any) -> None:
        """Add what becomes of the table; ``seen`` are the features that node models see, None for all."""
        self._encoded = x = _encoded(graph, features, inputs)
        if features.mean.any():
            x = graph.add("Sub", x, features.mean)
        if (features.scale != 1).any():
            x = graph.add("Div", x, features.scale)
        self.routed: Value = x  #: what splits see: missing values are NaN
        self._graph, self._features, self._seen = graph, features, seen
        has_means = any(column.means is not None for column in features.columns.categories.values())
        self._are_floats = not has_means and all(given.type in (FLOAT, _STRING) for given in inputs)

    def routing(self, feature: Any, threshold: Floats, by_mode: bool) -> Routing:
        """Return what splits compare: floats, not scaled, if all features are such; half as large, the same leaves."""
        is_large = len(threshold) >= EXACT_IN_FLOATS  # numbers of leaves must be exact
        if not self._are_floats or is_large or self._graph.ml_opset < ML_OPSET:
            return Routing(self.routed, threshold)
        mean, scale = self._features.mean[feature], self._features.scale[feature]
        return Routing(self._floats, _largest_floats(mean, scale, threshold), by_mode)

    @cached_property
    def _floats(self) -> Value:
        return self._graph.add("Cast", self._encoded, to=FLOAT)

    @cached_property
    def filled(self) -> Value:
        """What node models see."""
        graph, missing = self._graph, self._graph.add("IsNaN", self.routed)
        if self._features.fill is None:
            filled = graph.add("Where", missing, np.array(0.0), self.routed)
        else:
            filled = _expected(graph, self.routed, missing, self._features.fill)
        return filled if self._seen is None else _columns(graph, filled, self._seen)


def _largest_floats(mean: Floats, scale: Floats, threshold: Floats) -> Singles:
    """Return the largest floats that are not above thresholds once they are scaled; scaling keeps the order."""
    low, high = (np.full(len(threshold), edge, dtype=np.int64) for edge in _EDGES)
    with np.errstate(over="ignore"):
        while (low < high).any():  # by halves, over all floats in their order
            middle = (low + high + 1) // 2
            goes_left = (_nth_float(middle).astype(np.float64) - mean) / scale <= threshold
            low, high = np.where(goes_left, middle, low), np.where(goes_left, high, middle - 1)
    return _nth_float(low)


_LARGEST = int(np.float32(np.inf).view(np.int32)) - 1  # bits of the largest float
_EDGES = -_LARGEST - 1, _LARGEST  # the first is minus infinity: no float goes left


def _nth_float(number: Longs) -> Singles:
    """Return floats by their numbers in ascending order, 0 being that of 0: bits of floats have this order."""
    return np.copysign(np.abs(number).astype(np.int32).view(np.float32), number.astype(np.float32))


def _columns(graph: Graph, x: Value, numbers: Any) -> Value:
    return graph.add("Gather", x, np.asarray(numbers, dtype=np.int64), axis=1)


# ------------------------------------------------------------------------------------------------------------- columns


def _encoded(graph: Graph, features: Features, inputs: Sequence[Input]) -> Value:
    """Return the features of the columns, as doubles."""
    categories = features.columns.categories
    parts: list[Value] = []
    made: list[int] = []  # the features, in the order of the parts
    columns = [NumberColumn()] * features.n_columns if features.encoder is None else features.encoder.columns
    start = np.arange(features.n_columns) if features.encoder is None else features.encoder.start
    first = 0
    for given in inputs:
        own = range(first, first + given.n_columns)
        first = own.stop
        numbers = [j for j in own if j not in categories]
        if numbers:
            x = _as_doubles(graph, given, features, numbers)
            some = x if len(numbers) == given.n_columns else _columns(graph, x, np.subtract(numbers, own.start))
            parts.append(some)
            made += [int(start[j]) for j in numbers]
            marked = [j for j in numbers if columns[j].n_features == 2]
            if marked:
                parts.append(_marks(graph, some, [numbers.index(j) for j in marked]))
                made += [int(start[j]) + 1 for j in marked]
        for j in own:
            if j in categories:
                column = given.name if given.n_columns == 1 else _columns(graph, given.name, [j - own.start])
                parts.append(_category(graph, column, given, categories[j], column_name(features, j)))
                made += range(int(start[j]), int(start[j]) + categories[j].n_features)
    x = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    return x if made == sorted(made) else _columns(graph, x, np.argsort(made))


def _as_doubles(graph: Graph, given: Input, features: Features, numbers: Sequence[int]) -> Value:
    if given.type == _STRING:
        raise ValueError(f"Column {column_name(features, numbers[0])!r} held numbers in the fit; the input holds text.")
    return given.name if given.type == DOUBLE else graph.add("Cast", given.name, to=DOUBLE)


def _marks(graph: Graph, x: Value, places: Sequence[int]) -> Value:
    return graph.add("Cast", graph.add("IsNaN", _columns(graph, x, places)), to=DOUBLE)


def _category(graph: Graph, x: Value, given: Input, column: CategoryColumn, name: str) -> Value:
    """Return the features of one column of categories."""
    unknown = column.n_levels
    number = _text_levels(graph, x, column) if given.type == _STRING else _number_levels(graph, x, given, column, name)
    if column.means is not None:
        table = np.vstack([column.means, np.full((1, column.n_features), np.nan)])
        return graph.add("Gather", table, graph.reshape(number, -1), axis=0)
    levels = np.arange(column.n_levels - column.n_features, column.n_levels, dtype=np.int64)[None]
    found = graph.add("Cast", graph.add("Equal", number, levels), to=DOUBLE)
    return graph.add("Where", graph.add("Equal", number, np.array(unknown)), np.array(np.nan), found)


def _text_levels(graph: Graph, x: Value, column: CategoryColumn) -> Value:
    """Return the numbers of levels that are text; unknown text has the number behind the last."""
    levels = [str(level) for level in column.levels] if column.is_text else []
    numbers = list(range(len(levels)))
    if column.missing and "" not in levels:  # ONNX has no missing text: an empty one stands for it
        levels.append("")
        numbers.append(len(column.levels))
    return graph.add_ml(
        "LabelEncoder", x, keys_strings=levels, values_int64s=np.array(numbers), default_int64=column.n_levels
    )


def _number_levels(graph: Graph, x: Value, given: Input, column: CategoryColumn, name: str) -> Value:
    """Return the numbers of levels that are numbers, NaN being a missing value."""
    if column.is_text:
        raise ValueError(f"Column {name!r} held text in the fit; the input holds numbers.")
    levels = np.array([_exact(level, given.type, name) for level in column.levels])
    unknown, missing = np.array(column.n_levels), np.array(len(levels))
    x = x if given.type == DOUBLE else graph.add("Cast", x, to=DOUBLE)
    if not len(levels):  # nothing but missing values in the fit
        return graph.add("Where", graph.add("IsNaN", x), missing, unknown)
    # The last level that a number reaches, then a look whether it is that one.
    place = graph.add("Cast", graph.add("GreaterOrEqual", x, levels[None]), to=INT32)
    place = graph.add("Max", graph.add("Sub", graph.sum(place, 1), np.array(1, np.int32)), np.array(0, np.int32))
    place = graph.reshape(place, -1, 1)
    known = graph.add("Equal", graph.add("Gather", levels, place, axis=0), x)
    number = graph.add("Where", known, graph.add("Cast", place, to=INT64), unknown)
    return graph.add("Where", graph.add("IsNaN", x), missing, number) if column.missing else number


def _exact(level: Any, type_: int, name: str) -> float:
    """Return a level that is a number, if inputs of that type can be equal to it."""
    dtype = "float32" if type_ == TensorProto.FLOAT else "float64"
    try:
        number = float(np.dtype(dtype).type(level))
    except OverflowError:
        number = np.inf
    if number != level:
        raise ValueError(
            f"Column {name!r} has the category {level!r:.40}, which numbers of type {dtype} cannot be equal to."
        )
    return number


# ------------------------------------------------------------------------------------------------ conditional filling


def _expected(graph: Graph, x: Value, missing: Value, fill: Any) -> Value:
    """Return rows with the expected values of what they miss, given the rest: ``RowFiller`` of the core.

    With the centre c and the precision P of a normal distribution, P_mm (x_m - c_m) = -P_mk (x_k - c_k). All rows with
    missing values are solved together, by elimination of one feature after another.
    """
    centre, d = fill[0], len(fill[0])
    precision, identity = graph.constant(fill[1:]), graph.constant(np.eye(d))
    is_missing = graph.add("Cast", missing, to=DOUBLE)
    rows = graph.reshape(graph.add("NonZero", graph.add("Cast", graph.sum(is_missing, 1), to=BOOL)), -1)
    gap = graph.add("Gather", is_missing, rows, axis=0)
    distance = graph.add("Sub", graph.add("Gather", x, rows, axis=0), centre)
    distance = graph.add("Where", graph.add("Cast", gap, to=BOOL), np.array(0.0), distance)
    down, across = (graph.add("Unsqueeze", gap, np.array([axis])) for axis in (2, 1))
    known = graph.add("Sub", np.array(1.0), down)
    matrix = graph.add("Mul", graph.add("Mul", precision, down), across)
    matrix = graph.add("Add", matrix, graph.add("Mul", identity, known))
    right = graph.add("Neg", graph.add("Mul", graph.add("MatMul", distance, precision), gap))
    system = graph.add("Concat", matrix, graph.add("Unsqueeze", right, np.array([2])), axis=2)
    solved = graph.add("Loop", np.array(d), np.array(True), system, body=_elimination(graph, d))
    diagonal = graph.sum(graph.add("Mul", graph.add("Slice", solved, *_slice(0, d)), identity), 2)
    value = graph.add("Div", graph.reshape(graph.add("Slice", solved, *_slice(d, d + 1)), 0, d), diagonal)
    value = graph.add("Add", value, centre)
    own = graph.add("Where", graph.add("Cast", gap, to=BOOL), value, graph.add("Gather", x, rows, axis=0))
    return graph.add("ScatterND", x, graph.reshape(rows, -1, 1), own)


def _slice(first: int, end: int) -> tuple[Any, Any, Any]:
    return np.array([first]), np.array([end]), np.array([2])


def _elimination(outer: Graph, d: int) -> Any:
    """Return the body of a loop: equations [A, b] of many rows, with feature i taken out of all others but its own."""
    names = step, condition, system = [outer.name(what) for what in ("step", "go_on", "system")]
    body = Graph(outer.name("body"))
    own = body.add("Unsqueeze", body.add("Gather", system, step, axis=1), np.array([1]))
    pivot = body.add("Unsqueeze", body.add("Gather", own, step, axis=2), np.array([2]))
    factor = body.add("Div", body.add("Unsqueeze", body.add("Gather", system, step, axis=2), np.array([2])), pivot)
    others = body.add("Unsqueeze", body.add("Gather", 1 - np.eye(d), step, axis=0), np.array([1]))
    after = body.add("Sub", system, body.add("Mul", body.add("Mul", factor, others), own))
    go_on = body.add("Identity", condition)
    infos = [
        helper.make_tensor_value_info(name, type_, shape)
        for name, type_, shape in zip(names, (INT64, BOOL, DOUBLE), ([], [], [None, d, d + 1]), strict=True)
    ]
    results = [
        helper.make_tensor_value_info(go_on, BOOL, []),
        helper.make_tensor_value_info(after, DOUBLE, [None, d, d + 1]),
    ]
    return helper.make_graph(body.nodes, "eliminate", infos, results, initializer=body.constants)
