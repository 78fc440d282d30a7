"""Trees with few different splits as tables: bits that say where a row goes by each split find its leaf."""

from collections.abc import Iterator

import numpy as np
from onnx import GraphProto, helper

from .._base.typing import Array, Floats, Longs, Mask
from .._model.columns import ForestColumns
from ._features import Routing
from ._graph import BOOL, FLOAT, INT32, Graph, Value
from ._numbers import shortest, unit_of

# Of a split and a leaf in TreeEnsemble: where floats are enough, for coefficients of one byte, and else.
_BYTES_OF_A_SPLIT = {True: 11, False: 24}
_MOST_SPLITS = 8  # of a tree
_AT_ONCE = 1024  # values of a row, one for each tree and output


class SplitTables:
    """The trees of a forest that take fewer bytes as tables: oblivious ones, which have a split for each level.

    Every path of a tree must come to its splits in one order. The bits of a row, in that order, are then a number: that
    of a leaf in a table that has each leaf as often as there are numbers that lead to it. Where a missing value goes
    may be another matter at each node, so a second table has that for all beginnings of such numbers.
    """

    def __init__(self, columns: ForestColumns, routing: Routing) -> None:
        self._columns, self._routing = columns, routing
        inner = np.flatnonzero(columns.feature >= 0)
        tree = columns.tree_of_node
        keys = np.stack([tree[inner], columns.feature[inner], routing.threshold[inner]]).astype(np.float64)
        splits, split = np.unique(keys, axis=1, return_inverse=True)
        self._tree_of_split: Longs = splits[0].astype(np.int64)
        self._feature: Longs = splits[1].astype(np.int64)
        self._threshold = splits[2].astype(routing.threshold.dtype)
        self._split = np.full(len(columns.feature), -1)
        self._split[inner] = split.ravel()
        n_splits = np.bincount(self._tree_of_split, minlength=columns.n_trees)
        rank, is_ordered = self._ranks(inner, n_splits)
        order = np.lexsort((rank, self._tree_of_split))
        self._place = np.empty(len(order), dtype=np.int64)  # of a split in its tree
        self._place[order] = np.arange(len(order)) - np.repeat(np.cumsum(n_splits) - n_splits, n_splits)
        n_inner = np.bincount(tree[inner], minlength=columns.n_trees)
        is_short = columns.params.itemsize == 1 or columns.n_outputs > 1  # then values are in a table anyway
        n_bytes = 9 / 8 * 2.0**n_splits + (1 + self._threshold.itemsize) * n_splits
        n_bytes += 0 if is_short else columns.params.itemsize * (1 + n_inner)
        #: per tree: whether a table takes fewer bytes
        self.are_shorter: Mask = (
            is_ordered & (n_splits <= _MOST_SPLITS) & (n_bytes < _BYTES_OF_A_SPLIT[is_short] * n_inner)
        )
        self._n_splits = n_splits

    def _ranks(self, inner: Longs, n_splits: Longs) -> tuple[Longs, Mask]:
        """Return for each split a number above those of all splits before it; and which trees have such numbers."""
        columns = self._columns
        below = inner[columns.parent[inner] >= 0]
        before, after = self._split[columns.parent[below]], self._split[below]
        rank = np.zeros(len(self._tree_of_split), dtype=np.int64)
        for _ in range(_MOST_SPLITS):
            np.maximum.at(rank, after, rank[before] + 1)
        is_ordered = np.ones(columns.n_trees, dtype=bool)
        is_ordered[self._tree_of_split[after[rank[after] <= rank[before]]]] = False
        return rank, is_ordered & (n_splits > 0)

    def sums(self, graph: Graph, numbers: Longs, values: Floats) -> Iterator[Value]:
        """Yield parts of the sum over trees of the values of the leaves that rows reach: rows × outputs.

        ``values`` has a row for each node of the forest; whole numbers of a tree's unit are stored as such.
        """
        n_outputs = values.shape[1]
        at_once = max(_AT_ONCE // n_outputs, 1)
        for n in np.unique(self._n_splits[numbers]):
            own = numbers[self._n_splits[numbers] == n]
            for k in range(0, len(own), at_once):
                trees = own[k : k + at_once]
                leaves, goes_right = self._tables(trees, int(n))
                found = self._found(graph, trees, int(n), goes_right)
                units = np.array([unit_of(values[row].ravel()) for row in leaves])
                by_bits = shortest(values[leaves] / units[:, None, None]).reshape(-1, n_outputs)
                if by_bits.itemsize > 1:
                    by_bits, units = shortest(values[leaves]).reshape(-1, n_outputs), np.ones(len(trees))
                n_leaves = len(np.unique(leaves))
                if leaves.size + n_leaves * n_outputs * by_bits.itemsize < by_bits.nbytes:
                    found, by_bits = _stored_once(graph, found, leaves, by_bits)
                gathered = graph.add("Gather", graph.doubles(by_bits), found, axis=0)  # trees × rows × outputs
                gathered = graph.reshape(gathered, len(trees), -1)
                total = graph.add("MatMul", graph.doubles(shortest(units[None])), gathered)
                yield graph.reshape(total, -1, n_outputs)

    def _tables(self, trees: Longs, n: int) -> tuple[Longs, Mask]:
        """Return for all bits of n splits the leaf, and for all beginnings of bits whether a missing value goes right.

        A beginning of k bits has the place 2^k and the bits: trees × 2^n.
        """
        columns = self._columns
        start = columns.tree_start[trees][:, None]
        bits = np.arange(2**n)
        node = np.repeat(start, 2**n, axis=1)
        goes_right = np.zeros((len(trees), 2**n), dtype=bool)
        for k in range(n):
            split = self._split[node]
            is_here = (split >= 0) & (self._place[split] == k)
            first = bits[: 2**k] << (n - k)  # bits that begin so
            goes_right[:, 2**k : 2 ** (k + 1)] = (is_here & (columns.missing_left[node] == 0))[:, first]
            child = start + columns.left[node] + (bits >> (n - 1 - k) & 1)
            node = np.where(is_here, child, node)
        return node, goes_right

    def _found(self, graph: Graph, trees: Longs, n: int, goes_right: Mask) -> Value:
        """Return where in the table of leaves a row is for each tree: trees × rows.

        Where no row misses anything all bits are found at once. Rows are last: what is done to them is done in one go.
        """
        is_own = np.isin(self._tree_of_split, trees)
        feature, threshold = (part[is_own] for part in (self._feature, self._threshold))
        by_place = np.lexsort((self._tree_of_split[is_own], self._place[is_own]))
        features = graph.constant(feature[by_place].astype(np.uint8 if feature.max() < 256 else np.int32))
        across = graph.add("Transpose", self._routing.features, perm=[1, 0])
        x = graph.add("Gather", across, graph.add("Cast", features, to=INT32), axis=0)
        x = graph.reshape(x, n, len(trees), -1)
        thresholds = graph.constant(threshold[by_place].reshape(n, len(trees), 1))
        begin = graph.constant(np.arange(len(trees), dtype=np.int32)[:, None] << n)
        return graph.add(
            "If",
            self._misses_some(graph),
            then_branch=_bit_by_bit(graph, x, thresholds, begin, goes_right),
            else_branch=_all_bits(graph, x, thresholds, begin, n, len(trees)),
        )

    def _misses_some(self, graph: Graph) -> Value:
        """Return whether any row has a missing value."""
        missing = graph.add("Cast", graph.add("IsNaN", self._routing.features), to=INT32)
        return graph.add("Cast", graph.add("ReduceMax", missing, keepdims=0), to=BOOL)


def _stored_once(graph: Graph, found: Value, leaves: Longs, by_bits: Array) -> tuple[Value, Array]:
    """Return the numbers of leaves, in the place of those of bits, and the values of leaves."""
    _, place, number = np.unique(leaves, return_index=True, return_inverse=True)
    number = number.reshape(leaves.shape)
    first = number.min(axis=1, keepdims=True)  # of a tree, which has at most 256
    in_tree = graph.add("Gather", (number - first).astype(np.uint8).ravel(), found, axis=0)
    return graph.add("Add", graph.add("Cast", in_tree, to=INT32), first.astype(np.int32)), by_bits[place]


def _bit_by_bit(outer: Graph, x: Value, thresholds: Value, begin: Value, goes_right: Mask) -> GraphProto:
    """Return the way for rows with missing values: where these go depends on the bits before."""
    graph = Graph(outer.name("bit_by_bit"))
    n = int(goes_right.shape[1]).bit_length() - 1
    right = graph.add("Greater", x, thresholds)
    missing = graph.add("IsNaN", x)
    # Eight in a byte; whoever runs the graph unpacks constants once, when it is loaded.
    packed = outer.add("Cast", np.packbits(goes_right)[:, None], to=INT32)
    bits = outer.add("Div", packed, 2 ** np.arange(7, -1, -1, dtype=np.int32))
    bits = outer.add("Mod", bits, np.array(2, dtype=np.int32))
    sides = outer.reshape(outer.add("Cast", bits, to=BOOL), -1)
    place = graph.constant(np.ones((1, 1), dtype=np.int32))
    for k in range(n):
        own, is_missing = (graph.add("Gather", bits, np.array(k), axis=0) for bits in (right, missing))
        side = graph.add("Gather", sides, graph.add("Add", place, begin), axis=0)
        bit = graph.add("Or", own, graph.add("And", is_missing, side))
        place = graph.add("Add", graph.add("Add", place, place), graph.add("Cast", bit, to=INT32))
    return _branch(graph, graph.add("Sub", graph.add("Add", place, begin), np.array(2**n, dtype=np.int32)))


def _all_bits(outer: Graph, x: Value, thresholds: Value, begin: Value, n: int, n_trees: int) -> GraphProto:
    """Return the way for rows without missing values."""
    graph = Graph(outer.name("all_bits"))
    bits = graph.add("Cast", graph.add("Greater", x, thresholds), to=FLOAT)
    powers = (2.0 ** np.arange(n - 1, -1, -1)).astype(np.float32)
    number = graph.add("MatMul", powers[None], graph.reshape(bits, n, -1))
    number = graph.add("Cast", graph.reshape(number, n_trees, -1), to=INT32)
    return _branch(graph, graph.add("Add", number, begin))


def _branch(graph: Graph, result: Value) -> GraphProto:
    info = helper.make_tensor_value_info(result, INT32, None)
    return helper.make_graph(graph.nodes, "branch", [], [info], initializer=graph.constants)
