"""An oblique tree with linear leaves, and how rows walk through it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.tree import DecisionTreeClassifier

from .._product import Floats, Indices, Mask

_CELLS = 1_000_000  # coefficients that are gathered at a time


@dataclass(eq=False)
class TAOTree:
    """A tree; one value per node unless said otherwise. Children stand behind their parent, side by side."""

    left: Indices  #: left child; the right one is ``left + 1``; 0 for a leaf
    decision: Floats  #: nodes × (intercept, slopes): a row goes right if its value is above 0; 0 for a leaf
    model: Indices  #: number of the leaf's model, -1 for an inner node
    coef: Floats  #: models × outputs × (intercept, slopes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.left)

    def levels(self) -> Indices:
        """Return the number of splits above every node."""
        levels = np.zeros(self.n_nodes, dtype=np.intp)
        for i in np.flatnonzero(self.left):
            levels[self.left[i] : self.left[i] + 2] = levels[i] + 1
        return levels

    def step(self, X: Floats, nodes: Indices) -> Indices:
        """Return the nodes that rows come to from given ones; they stay at a leaf."""
        left = self.left[nodes]
        after: Indices = np.where(left > 0, left + goes_right(X, self.decision[nodes]), nodes)
        return after

    def leaves(self, X: Floats, start: Indices) -> Indices:
        """Return the leaves below given nodes that rows fall into."""
        nodes = start.copy()
        inner = np.flatnonzero(self.left[nodes])
        while len(inner) > 0:
            nodes[inner] = self.step(X[inner], nodes[inner])
            inner = inner[self.left[nodes[inner]] > 0]
        return nodes

    def scores(self, X: Floats, leaves: Indices) -> Floats:
        """Return the outputs of the models of given leaves: rows × outputs."""
        out = np.empty((len(X), self.coef.shape[1]))
        size = max(1, _CELLS // self.coef[0].size)
        for begin in range(0, len(X), size):
            part = slice(begin, begin + size)
            coef = self.coef[self.model[leaves[part]]]
            out[part] = np.einsum("ikj,ij->ik", coef[:, :, 1:], X[part]) + coef[:, :, 0]
        return out

    def penalty(self) -> float:
        """Return the sum of the sizes of all slopes."""
        return float(np.abs(self.decision[:, 1:]).sum() + np.abs(self.coef[:, :, 1:]).sum())

    def without_dead_ends(self, weight: Floats) -> "TAOTree":
        """Return the tree without the parts that no weight reaches, given the weight in every node."""
        order = [0]
        kept_left: list[int] = []
        for i in order:  # grows meanwhile
            node = _first_fork(self, weight, i)
            order[len(kept_left)] = node
            kept_left.append(len(order) if self.left[node] else 0)
            if self.left[node]:
                order += [int(self.left[node]), int(self.left[node]) + 1]
        nodes = np.array(order)
        is_leaf = self.left[nodes] == 0
        model = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
        return TAOTree(np.array(kept_left), self.decision[nodes], model, self.coef[self.model[nodes[is_leaf]]])


def goes_right(X: Floats, decision: Floats) -> Mask:
    """Tell which rows go right, given the decision of each: one way to add up, so that all agree on the last bit."""
    right: Mask = (X * decision[:, 1:]).sum(axis=1) + decision[:, 0] > 0
    return right


def _first_fork(tree: TAOTree, weight: Floats, node: int) -> int:
    """Return the first node, from a given one down, that is a leaf or has weight on both sides."""
    while tree.left[node]:
        left = int(tree.left[node])
        if weight[left] > 0 and weight[left + 1] > 0:
            break
        node = left if weight[left] > 0 or weight[left + 1] == 0 else left + 1
    return node


def losses(scores: Floats, y: Indices, kind: str) -> Floats:
    """Return the loss of every row, cross-entropy or 0/1."""
    if kind == "zero_one":
        predicted = scores[:, 0] > 0 if scores.shape[1] == 1 else np.argmax(scores, axis=1)
        wrong: Floats = (predicted != y).astype(np.float64)
        return wrong
    if scores.shape[1] == 1:
        losses_of_two: Floats = np.logaddexp(0, scores[:, 0]) - y * scores[:, 0]
        return losses_of_two
    losses_of_more: Floats = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
    return losses_of_more


def class_logits(weights: Floats) -> Floats:
    """Return the intercepts that stand for classes of given weights; a class without rows gets a little, too."""
    logs = np.log((weights + 1) / (weights.sum() + len(weights)))
    logits: Floats = logs[1:] - logs[0] if len(weights) == 2 else logs - logs.mean()
    return logits


def cart_start(X: Floats, y: Indices, weight: Floats, n_classes: int, max_depth: int, seed: int) -> TAOTree:
    """Return CART's tree as an oblique one; its leaves know the shares of the classes."""
    if max_depth == 0:
        return random_start(X, y, weight, n_classes, 0, seed)
    cart = DecisionTreeClassifier(max_depth=max_depth, random_state=seed).fit(X, y, weight).tree_
    numbers, left = [0], []
    for i in numbers:  # breadth first: children come side by side
        is_leaf = cart.children_left[i] < 0
        left.append(0 if is_leaf else len(numbers))
        numbers += [] if is_leaf else [cart.children_left[i], cart.children_right[i]]
    tree = _blank(np.array(left), X.shape[1], n_classes)
    for i, number in enumerate(numbers):
        if left[i]:
            tree.decision[i, 0] = -cart.threshold[number]
            tree.decision[i, 1 + cart.feature[number]] = 1
    _fill_leaves(tree, X, y, weight, n_classes)
    return tree


def random_start(X: Floats, y: Indices, weight: Floats, n_classes: int, max_depth: int, seed: int) -> TAOTree:
    """Return a complete tree of random directions, each split in the middle of the rows that come to it."""
    n_inner = 2**max_depth - 1
    left = np.where(np.arange(2 * n_inner + 1) < n_inner, 2 * np.arange(2 * n_inner + 1) + 1, 0)
    tree = _blank(left, X.shape[1], n_classes)
    rng = np.random.default_rng(seed)
    nodes = np.zeros(len(X), dtype=np.intp)
    for i in range(n_inner):
        direction = rng.normal(size=X.shape[1])
        tree.decision[i, 1:] = direction / np.abs(direction).sum()
        rows = np.flatnonzero(nodes == i)
        if len(rows) > 0:
            tree.decision[i, 0] = -_middle((X[rows] * tree.decision[i, 1:]).sum(axis=1), weight[rows])
            nodes[rows] = tree.step(X[rows], nodes[rows])
    _fill_leaves(tree, X, y, weight, n_classes)
    return tree


def _middle(values: Floats, weight: Floats) -> float:
    """Return a threshold between two values with about half of the weight on either side."""
    distinct, place = np.unique(values, return_inverse=True)
    below = np.cumsum(np.bincount(place, weight))
    k = int(np.searchsorted(below, below[-1] / 2))
    return float(distinct[k : k + 2].mean())


def _blank(left: Indices, n_features: int, n_classes: int) -> TAOTree:
    model = np.where(left == 0, np.cumsum(left == 0) - 1, -1)
    n_outputs = 1 if n_classes == 2 else n_classes
    coef = np.zeros((int((left == 0).sum()), n_outputs, 1 + n_features))
    return TAOTree(left, np.zeros((len(left), 1 + n_features)), model, coef)


def _fill_leaves(tree: TAOTree, X: Floats, y: Indices, weight: Floats, n_classes: int) -> None:
    leaves = tree.leaves(X, np.zeros(len(X), dtype=np.intp))
    counts = np.zeros((len(tree.coef), n_classes))
    np.add.at(counts, (tree.model[leaves], y), weight)
    for coef, weights in zip(tree.coef, counts, strict=True):
        coef[:, 0] = class_logits(weights)
