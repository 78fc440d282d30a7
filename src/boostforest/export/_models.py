"""What trees give: the models of the nodes that rows reach, added up over trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base.typing import Array, Floats, Longs
from .._core import ModelKind
from .._model.columns import Coefficients, ForestColumns
from ._features import FeatureValues, Routing
from ._graph import DOUBLE, EXACT_IN_FLOATS, ML_OPSET, Graph, Value
from ._losses import LossGraph
from ._numbers import shortest, unit_of
from ._tables import SplitTables
from ._trees import Trees

# Coefficients that are gathered for a row at once, those of a group of trees: more would take memory and leave the
# cache, fewer would take more operators.
_AT_ONCE = 4096
# Leaves of the trees that one operator adds up: attributes are stored with seven bits in a byte, so that numbers of
# leaves and nodes take two bytes.
_ADDED_UP = 2**14
# Coefficients for each split: with fewer the file would be more than 1.3 times the model file, where splits are coded.
_FEW = 1.5


class NodeModels:
    """The node models of a forest in a graph."""

    def __init__(
        self, graph: Graph, columns: ForestColumns, features: FeatureValues, loss: LossGraph[Any], dtype: str
    ) -> None:
        """Keep what is needed; ``dtype`` is the type of the predictions."""
        self._graph, self._columns, self._features, self._loss = graph, columns, features, loss
        self._dtype = dtype
        are_most_splits = columns.params.size < _FEW * int(np.count_nonzero(columns.feature >= 0))
        self.routing = features.routing(columns.feature, columns.threshold, are_most_splits)
        self._tables = SplitTables(columns, self.routing)
        self._linear_inputs: Value | None = None

    def weighted_sum(self, trees: Longs, weights: Floats, as_outputs: bool) -> Value:
        """Return Σ weight · score, or output, over some trees in ascending order: rows × outputs."""
        columns, graph = self._columns, self._graph
        is_constant = (columns.kind[trees] == ModelKind.CONSTANT) & (graph.ml_opset == ML_OPSET)
        is_in_table = is_constant & self._tables.are_shorter[trees]
        is_added_up = is_constant & ~is_in_table & (columns.n_outputs == 1)
        parts = self._sums_in_tables(trees[is_in_table], weights[is_in_table], as_outputs)
        parts += self._sums_of_constants(trees[is_added_up], weights[is_added_up], as_outputs)
        for group in self._groups(trees[~(is_in_table | is_added_up)]):
            values = self._values(Trees(columns, group), as_outputs)
            own = weights[np.searchsorted(trees, group)]
            if (own == own[0]).all():
                parts.append(graph.add("Mul", graph.sum(values, 1), own[:1]))
            else:
                parts.append(graph.sum(graph.add("Mul", values, own[:, None]), 1))
        return parts[0] if len(parts) == 1 else graph.add("Sum", *parts)

    def _groups(self, trees: Longs) -> Iterator[Longs]:
        """Yield trees of the same form, as many as are evaluated at once; those that sum up paths by their depth."""
        columns = self._columns
        if not len(trees):
            return
        depth = np.maximum(np.maximum.reduceat(columns.depth, columns.tree_start[:-1]), 1)
        n_models = np.where(columns.sum_path, depth, columns.n_outputs)[trees]
        forms = np.column_stack([columns.kind[trees], columns.sum_path[trees], columns.n_inputs[trees]])
        for form in np.unique(forms, axis=0):
            own = np.flatnonzero((forms == form).all(axis=1))
            own = own[np.argsort(n_models[own], kind="stable")]
            while len(own):
                size = n_models[own] * (1 + form[2]) * np.arange(1, len(own) + 1)
                n = max(int(np.searchsorted(size, _AT_ONCE, side="right")), 1)
                yield trees[own[:n]]
                own = own[n:]

    def _values(self, trees: Trees, as_outputs: bool) -> Value:
        """Return scores, or outputs, of rows by every tree: rows × trees × outputs."""
        graph, first = self._graph, trees.numbers[0]
        leaf = trees.leaf_numbers(graph, self.routing)
        if self._columns.kind[first] == ModelKind.CONSTANT:
            table = graph.doubles(shortest(self._leaf_values(trees, as_outputs)))
            return graph.add("Gather", table, leaf, axis=0)
        if self._columns.sum_path[first]:
            scores = self._path_sums(trees, leaf)
        else:
            scores = self._models(trees, self._params_table(trees), leaf, self._columns.n_outputs)
        return self._loss.outputs(graph, scores) if as_outputs else scores

    def _params(self, trees: Trees, params: Coefficients) -> Coefficients:
        """Return the parameters of the trees' models, out of those of all trees: models × outputs × (1 + inputs)."""
        columns = self._columns
        own = _of_trees(params, columns.tree_params_start, trees)
        return own.reshape(-1, columns.n_outputs, 1 + columns.n_inputs[trees.numbers[0]])

    def _params_table(self, trees: Trees, with_nothing: bool = False) -> Value:
        """Return the parameters of the trees' models as doubles, stored as they are in the forest.

        What is done to constants is done once, by whoever runs the graph. ``with_nothing``: a model of zeros is first.
        """
        graph, columns, n_first = self._graph, self._columns, int(with_nothing)
        own = self._params(trees, columns.params)
        table = graph.doubles(np.concatenate([np.zeros_like(own[:n_first]), own]))
        if columns.exponent is None:
            return table
        exponent = _of_trees(columns.exponent, columns.tree_outputs_start, trees).reshape(-1, columns.n_outputs, 1)
        unit = np.ldexp(np.float32(1), np.concatenate([np.zeros_like(exponent[:n_first]), exponent]))
        return graph.add("Mul", table, graph.doubles(shortest(unit)))

    # ---------------------------------------------------------------------------------------------------- constants

    def _leaf_values(self, trees: Trees, as_outputs: bool) -> Floats:
        """Return scores, or outputs, of the leaves of trees that have numbers at their nodes: leaves × outputs."""
        columns = self._columns
        params = self._params(trees, columns.coefficients())[:, :, 0].astype(np.float64)
        if not columns.sum_path[trees.numbers[0]]:
            scores = params
        else:
            own = trees.nodes[columns.has_model[trees.nodes]]
            score = np.zeros((len(columns.feature), 1))
            score[own, 0] = np.clip(params[:, 0], columns.lower[own], columns.upper[own])
            for level in range(1, columns.depth[own].max(initial=0) + 1):
                here = own[columns.depth[own] == level]
                score[here] += score[columns.parent[here]]
            scores = score[trees.leaves]
        if not as_outputs:
            return scores
        outputs: Floats = self._loss.loss.outputs(scores)
        if self._dtype == "float32" and columns.n_outputs > 1:  # means of probabilities are as exact as these
            outputs = outputs.astype(np.float32).astype(np.float64)
        return outputs

    def _sums_of_constants(self, numbers: Longs, weights: Floats, as_outputs: bool) -> list[Value]:
        """Return the weighted sum of trees that have one number at each leaf in parts: TreeEnsemble adds them up."""
        n_leaves = np.add.reduceat(self._columns.feature < 0, self._columns.tree_start[:-1])[numbers]
        sums = []
        for weight in np.unique(weights):
            own = weights == weight
            part = np.cumsum(n_leaves[own]) // _ADDED_UP
            for k in np.unique(part):
                trees = Trees(self._columns, numbers[own][part == k])
                sums.append(self._sum_of_constants(trees, self._leaf_values(trees, as_outputs)[:, 0], weight))
        return sums

    def _is_exact_in_floats(self, n_trees: int, values: Floats, unit: float) -> bool:
        """Tell whether floats hold all digits of the sums of trees."""
        return (
            bool(n_trees * np.abs(values).max() < unit * EXACT_IN_FLOATS) and self.routing.threshold.dtype == np.float32
        )

    def _sums_in_tables(self, numbers: Longs, weights: Floats, as_outputs: bool) -> list[Value]:
        """Return the weighted sum of trees that are stored as tables, in parts."""
        trees, values = Trees(self._columns, numbers), np.zeros((len(self._columns.feature), self._columns.n_outputs))
        if len(trees):
            values[trees.leaves] = self._leaf_values(trees, as_outputs)
        return [
            self._graph.add("Mul", part, np.array(weight))
            for weight in np.unique(weights)
            for part in self._tables.sums(self._graph, numbers[weights == weight], values)
        ]

    def _sum_of_constants(self, trees: Trees, values: Floats, weight: float) -> Value:
        """Return the sum of the values of leaves times a weight: by floats if that is exact, by doubles if not."""
        graph, targets = self._graph, np.zeros(len(values), dtype=np.int64)
        unit = unit_of(values)
        if self._is_exact_in_floats(len(trees), values, unit):
            found = graph.add("Cast", trees.add_to(graph, self.routing, values / unit, targets, 1), to=DOUBLE)
            return graph.add("Mul", found, np.array(unit * weight))
        exact = Routing(self._features.routed, self._columns.threshold)
        return trees.add_to(graph, exact, values * weight, targets, 1)

    # ------------------------------------------------------------------------------------------------ linear models

    def _models(self, trees: Trees, params: Value, which: Value, n_models: int) -> Value:
        """Return the values of models of every tree, as many for each: rows × trees × models."""
        graph, n_inputs = self._graph, int(self._columns.n_inputs[trees.numbers[0]])
        gathered = graph.add("Gather", params, which, axis=0)  # rows × trees × … × (1 + inputs)
        if self._columns.kind[trees.numbers[0]] == ModelKind.HIDDEN:
            gathered = graph.reshape(gathered, 0, len(trees), n_models, 1 + n_inputs)
            products = graph.add("MatMul", gathered, self._hidden_inputs(trees))
        else:
            gathered = graph.reshape(gathered, 0, len(trees) * n_models, 1 + n_inputs)
            products = graph.add("MatMul", gathered, self._inputs())
        return graph.reshape(products, 0, len(trees), n_models)

    def _inputs(self) -> Value:
        """Return 1 and the features that node models see: rows × (1 + features) × 1."""
        if self._linear_inputs is None:
            graph = self._graph
            ones = graph.with_ones(self._features.filled, 2)
            self._linear_inputs = graph.add("Unsqueeze", ones, np.array([2]))
        return self._linear_inputs

    def _hidden_inputs(self, trees: Trees) -> Value:
        """Return 1 and the units of each tree's hidden layer: rows × trees × (1 + units) × 1."""
        graph = self._graph
        layers = [self._columns.hidden_layer(t) for t in trees.numbers]
        weights, biases = np.hstack([w for _, w in layers]), np.hstack([b for b, _ in layers])
        units = graph.add("Add", graph.add("MatMul", self._features.filled, weights), biases)
        units = graph.reshape(graph.sigmoid(units), 0, len(trees), len(layers[0][0]))
        return graph.add("Unsqueeze", graph.with_ones(units, 3), np.array([3]))

    def _path_sums(self, trees: Trees, leaf: Value) -> Value:
        """Return the sums of the clipped models on the paths of rows: rows × trees × 1.

        The models on the way to a leaf are found from the leaf upwards; that these steps start from constants lets
        whoever runs the graph take them once. A model that is nothing stands where a path has ended.
        """
        graph, columns, nodes = self._graph, self._columns, trees.nodes
        has_model = columns.has_model[nodes]
        place = np.zeros(len(columns.feature), dtype=np.int32)
        place[nodes[has_model]] = np.arange(1, has_model.sum() + 1)
        above = columns.parent[nodes[has_model]]
        parents = graph.constant(np.append(np.int32(0), np.where(above >= 0, place[above], 0)).astype(np.int32))
        n_steps = int(np.maximum(columns.depth[trees.leaves].max(), 1))
        steps = [graph.constant(place[trees.leaves][:, None])]
        while len(steps) < n_steps:
            steps.append(graph.add("Gather", parents, steps[-1], axis=0))
        paths = steps[0] if n_steps == 1 else graph.add("Concat", *steps, axis=1)
        models = graph.add("Gather", paths, leaf, axis=0)  # rows × trees × steps
        values = self._models(trees, self._params_table(trees, with_nothing=True), models, n_steps)
        for operator, side, free in (("Max", columns.lower, -np.inf), ("Min", columns.upper, np.inf)):
            limits = np.append(np.array(free, dtype=side.dtype), side[nodes[has_model]])
            if np.isfinite(limits).any():
                by_leaf = graph.add("Gather", graph.doubles(limits), paths, axis=0)  # constant as well
                values = graph.add(operator, values, graph.add("Gather", by_leaf, leaf, axis=0))
        return graph.add("ReduceSum", values, np.array([2]), keepdims=1)


def _of_trees(values: Array, start: Longs, trees: Trees) -> Array:
    """Return the part of some trees, out of the values of all trees, one after another."""
    return np.concatenate([values[start[t] : start[t + 1]] for t in trees.numbers])
