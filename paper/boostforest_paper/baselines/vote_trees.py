"""Trees that vote -1 or 1, cut at any depth: what DeepBoost chooses from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._product import Floats, Indices, Mask


@dataclass(eq=False, frozen=True)
class VoteTree:
    """A tree in flat arrays, one value per node; children stand behind their parent."""

    feature: Indices  #: split feature, -1 for a leaf
    threshold: Floats  #: ``x[feature] <= threshold`` goes left
    left: Indices  #: left child, 0 for a leaf
    right: Indices  #: right child, 0 for a leaf
    sign: Floats  #: -1 or 1: the class that has more weight here

    @property
    def n_splits(self) -> int:
        """Number of inner nodes."""
        return int((self.feature >= 0).sum())

    @property
    def depth(self) -> int:
        """Splits between the root and the furthest leaf."""
        return len(levels_of(self.left, self.right)) - 1

    def predict(self, X: Any) -> Floats:
        """Return -1 or 1 for each row."""
        node = np.zeros(len(X), dtype=np.intp)
        open_rows = np.arange(len(X)) if self.feature[0] >= 0 else np.arange(0)
        while len(open_rows):
            at = node[open_rows]
            goes_left = X[open_rows, self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
            node[open_rows] = at
            open_rows = open_rows[self.feature[at] >= 0]
        signs: Floats = self.sign[node]
        return signs


def levels_of(left: Indices, right: Indices) -> list[Indices]:
    """Return the nodes of each level, from the root down."""
    levels = [np.zeros(1, dtype=np.intp)]
    while True:
        inner = levels[-1][left[levels[-1]] > 0]
        if len(inner) == 0:
            return levels
        levels.append(np.concatenate([left[inner], right[inner]]))


class GrownTree:
    """A tree that scikit-learn has grown, seen as the trees that it contains when it is cut.

    A tree grown from the root is the same to depth k whatever comes below, so one fit gives the greedy trees of all
    depths. Splits whose two sides vote alike say nothing, and are taken out.
    """

    def __init__(self, tree: Any) -> None:
        self._feature = tree.feature.astype(np.intp)
        self._threshold = tree.threshold
        self._left = np.maximum(tree.children_left, 0).astype(np.intp)
        self._right = np.maximum(tree.children_right, 0).astype(np.intp)
        weight = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        weight *= tree.weighted_n_node_samples[:, None]
        self._wrong = weight.min(axis=1)  # weight that a leaf here would get wrong
        self._sign = np.where(weight[:, 1] > weight[:, 0], 1.0, -1.0)
        self._levels = levels_of(self._left, self._right)
        self._total = float(weight[0].sum())

    @property
    def depth(self) -> int:
        """Depth of the whole tree."""
        return len(self._levels) - 1

    def error(self, depth: int) -> float:
        """Share of the weight that the tree cut at this depth gets wrong."""
        leaves = [level[self._left[level] == 0] for level in self._levels[:depth]] + [self._levels[depth]]
        return float(self._wrong[np.concatenate(leaves)].sum()) / self._total

    def is_inner(self, depth: int) -> Mask:
        """Tell which nodes the tree cut at this depth splits, without those below which all vote alike."""
        vote = self._sign.copy()  # of all leaves below; 0 where they differ
        for level in reversed(self._levels[:depth]):
            inner = level[self._left[level] > 0]
            ours, theirs = vote[self._left[inner]], vote[self._right[inner]]
            vote[inner] = np.where(ours == theirs, ours, 0.0)
        differ: Mask = vote == 0
        return differ

    def cut(self, depth: int) -> VoteTree:
        """Return the tree cut at this depth."""
        inner = self.is_inner(depth)
        # Below a node whose leaves all vote alike, that vote is not always the node's own: take a leaf's.
        sign = self._sign.copy()
        for level in reversed(self._levels[:depth]):
            closed = level[(self._left[level] > 0) & ~inner[level]]
            sign[closed] = sign[self._left[closed]]
        kept = [np.zeros(1, dtype=np.intp)]
        while len(kept[-1]):
            split = kept[-1][inner[kept[-1]]]
            kept.append(np.column_stack([self._left[split], self._right[split]]).ravel())
        nodes = np.concatenate(kept)
        place = np.zeros(len(self._sign), dtype=np.intp)
        place[nodes] = np.arange(len(nodes))
        inside = inner[nodes]
        return VoteTree(
            np.where(inside, self._feature[nodes], -1),
            np.where(inside, self._threshold[nodes], 0.0),
            np.where(inside, place[self._left[nodes]], 0),
            np.where(inside, place[self._right[nodes]], 0),
            sign[nodes],
        )
