"""The walk down the trees: TreeEnsemble of ai.onnx.ml, which gives the number of a leaf or adds up constants."""

import numpy as np

from .._base.typing import Bytes, Floats, Longs, Mask
from .._model.columns import ForestColumns
from ._features import Routing
from ._graph import EXACT_IN_FLOATS, INT32, ML_OPSET, Graph, Value

_LESS_OR_EQUAL, _GREATER = 0, 3  # modes of nodes


class Trees:
    """Some trees of a forest, whose inner nodes and leaves are numbered over all of them."""

    def __init__(self, columns: ForestColumns, numbers: Longs) -> None:
        self.columns, self.numbers = columns, numbers
        start, n_nodes = columns.tree_start[numbers], np.diff(columns.tree_start)[numbers]
        self.nodes: Longs = np.repeat(start - np.cumsum(n_nodes) + n_nodes, n_nodes) + np.arange(n_nodes.sum())
        self.is_leaf = columns.feature[self.nodes] < 0
        self.leaves: Longs = self.nodes[self.is_leaf]  #: their numbers in the forest
        self._tree = np.repeat(np.arange(len(numbers)), n_nodes)
        self._roots = np.cumsum(n_nodes) - n_nodes

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def tree_of_leaf(self) -> Longs:
        """Place among these trees of the tree that a leaf belongs to."""
        return self._tree[self.is_leaf]

    def add_to(self, graph: Graph, routing: Routing, weights: Floats, targets: Longs, n_targets: int) -> Value:
        """Add up, for each target, the weights of the leaves that a row reaches: rows × targets.

        Weights and sums have the type of thresholds; before version 5 of ai.onnx.ml they are floats.
        """
        add = self._add_newest if graph.ml_opset == ML_OPSET else self._add_older
        return add(graph, routing, weights.astype(routing.threshold.dtype), targets, n_targets)

    def leaf_numbers(self, graph: Graph, routing: Routing) -> Value:
        """Return the numbers of the leaves that rows reach, counted over these trees: rows × trees."""
        return self.numbers_of_leaves(graph, routing, np.arange(len(self.leaves)), INT32)

    def numbers_of_leaves(self, graph: Graph, routing: Routing, numbers: Longs, type_: int) -> Value:
        """Return a number for the leaf of each tree that rows reach: rows × trees."""
        if graph.ml_opset < ML_OPSET and numbers.max(initial=0) >= EXACT_IN_FLOATS:
            raise ValueError(f"The trees are too large for version {graph.ml_opset} of ai.onnx.ml; use {ML_OPSET}.")
        found = self.add_to(graph, routing, numbers.astype(np.float64), self.tree_of_leaf, len(self))
        return graph.add("Cast", found, to=type_)

    def _add_newest(self, graph: Graph, routing: Routing, weights: Floats, targets: Longs, n_targets: int) -> Value:
        columns, nodes, is_leaf = self.columns, self.nodes, self.is_leaf
        inner = ~is_leaf
        number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(inner)) - 1  # among leaves or among inner nodes
        left = self._roots[self._tree[inner]] + columns.left[nodes[inner]]
        children = np.stack([number[left], number[left + 1]])
        are_leaves = np.stack([is_leaf[left], is_leaf[left + 1]])
        roots = number[self._roots]
        feature, threshold = columns.feature[nodes[inner]], routing.threshold[nodes[inner]]
        missing_left = columns.missing_left[nodes[inner]]
        # A tree without a split gets one with its leaf on both sides.
        single = np.flatnonzero(is_leaf[self._roots])
        if len(single):
            children = np.hstack([children, np.tile(roots[single], (2, 1))])
            are_leaves = np.hstack([are_leaves, np.ones((2, len(single)), dtype=bool)])
            roots[single] = len(feature) + np.arange(len(single))
            feature, threshold, missing_left = (
                np.append(own, np.zeros(len(single), dtype=own.dtype)) for own in (feature, threshold, missing_left)
            )
        turned = missing_left.astype(bool) & routing.by_mode
        children[:, turned], are_leaves[:, turned] = children[::-1, turned], are_leaves[::-1, turned]
        children, leaves = _shared_leaves(children, are_leaves, weights, targets)
        return graph.add_ml(
            "TreeEnsemble",
            routing.features,
            nodes_modes=np.where(turned, _GREATER, _LESS_OR_EQUAL).astype(np.uint8),
            nodes_featureids=feature,
            nodes_splits=threshold,
            nodes_truenodeids=children[0],
            nodes_falsenodeids=children[1],
            nodes_trueleafs=are_leaves[0],
            nodes_falseleafs=are_leaves[1],
            nodes_missing_value_tracks_true=None if routing.by_mode else _unless_nowhere(missing_left),
            leaf_weights=weights[leaves],
            leaf_targetids=targets[leaves],
            tree_roots=roots,
            n_targets=n_targets,
            aggregate_function=1,  # the sum
        )

    def _add_older(self, graph: Graph, routing: Routing, weights: Floats, targets: Longs, n_targets: int) -> Value:
        columns, nodes, is_leaf = self.columns, self.nodes, self.is_leaf
        number = np.arange(len(nodes)) - self._roots[self._tree]  # of a node in its tree
        left = columns.left[nodes]
        return graph.add_ml(
            "TreeEnsembleRegressor",
            routing.features,
            nodes_treeids=self._tree,
            nodes_nodeids=number,
            nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_featureids=np.where(is_leaf, 0, columns.feature[nodes]),
            nodes_values_as_tensor=routing.threshold[nodes],
            nodes_truenodeids=np.where(is_leaf, 0, left),
            nodes_falsenodeids=np.where(is_leaf, 0, left + 1),
            nodes_missing_value_tracks_true=_unless_nowhere(columns.missing_left[nodes]),
            target_treeids=self._tree[is_leaf],
            target_nodeids=number[is_leaf],
            target_ids=targets,
            target_weights_as_tensor=weights,
            n_targets=n_targets,
        )


def _shared_leaves(children: Longs, are_leaves: Mask, weights: Floats, targets: Longs) -> tuple[Longs, Longs]:
    """Return the children of nodes with leaves that are alike under one number, and which leaf each number stands for.

    Coefficients of eight bits have few values. Those that occur most come first: small numbers take fewer bytes.
    """
    _, leaves, kind, counts = np.unique(
        np.stack([targets, weights]), axis=1, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    children = np.where(are_leaves, place[kind][np.where(are_leaves, children, 0)], children)
    leaves = leaves[order]
    # A leaf that has the number of its sibling, be that a node or the same leaf, gets another one: not all who evaluate
    # a graph tell them apart (ONNX Runtime 1.21 takes such a node for a leaf).
    same = np.flatnonzero((children[0] == children[1]) & are_leaves.any(axis=0))
    side = are_leaves[1, same].astype(np.int64)
    again, copy = np.unique(children[side, same], return_inverse=True)
    children[side, same] = len(leaves) + copy
    return children, np.append(leaves, leaves[again])


def _unless_nowhere(missing_left: Bytes) -> Longs | None:
    """Return where missing values go left; None for nowhere, which is the default and quicker."""
    return missing_left.astype(np.int64) if missing_left.any() else None
