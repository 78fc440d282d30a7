"""GBDT-PL, slow and plain: one loop per idea, every fit from the rows themselves."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, softmax


@dataclass
class Node:
    """A node: its rows, its model, and the best split."""

    rows: np.ndarray
    depth: int
    value: float  # objective of its model
    features: list = field(default_factory=list)
    split: tuple | None = None  # value of both sides, feature, bin, then (value, k) of the left and of the right side
    children: tuple | None = None
    model: np.ndarray | None = None  # of a leaf: intercept, then slopes

    @property
    def gain(self):
        return 0.0 if self.split is None or self.children else self.value - self.split[0]


def least(Z, g, h, reg_lambda, reg_alpha):
    """Minimise Σ g f + ½ h f² + ½ λ |k|² + α |k|₁ over f = Z k; return the value and k."""
    A = Z.T @ (h[:, None] * Z) + reg_lambda * np.eye(Z.shape[1])
    b = Z.T @ g
    k = np.linalg.lstsq(A, -b)[0]
    if reg_alpha > 0:  # coordinate descent
        for _ in range(20_000):
            step = 0.0
            for i in range(len(k)):
                slope = b[i] + A[i] @ k - A[i, i] * k[i]
                new = -np.sign(slope) * max(abs(slope) - reg_alpha, 0) / A[i, i]
                step, k[i] = max(step, abs(new - k[i])), new
            if step < 1e-10:
                break
    return b @ k + k @ A @ k / 2 + reg_alpha * np.abs(k).sum(), k


def is_better(value, than):
    """Tell whether a value is smaller by more than rounding."""
    return value < than - 1e-10 * abs(than)


class Twin:
    """The whole ensemble, on features that are scaled and binned already."""

    def __init__(self, scaled, bins, weight, **params):
        self.X, self.bins, self.weight = scaled, bins, weight
        self.__dict__.update(params)

    def derivatives(self, scores, y):
        w = self.weight[:, None]
        if self.n_classes == 0:
            return w * (scores - y[:, None]), w * np.ones_like(scores)
        p = expit(scores) if self.n_classes == 2 else softmax(scores, axis=1)
        hit = y[:, None] == (1 if self.n_classes == 2 else np.arange(self.n_classes))
        return w * (p - hit), w * p * (1 - p)

    def boost(self, y, start, n_rounds):
        """Return the scores of the training rows after all rounds."""
        scores = np.tile(np.asarray(start, dtype=float), (len(y), 1))
        for _ in range(n_rounds):
            g, h = self.derivatives(scores, y)
            scores = scores + self.learning_rate * np.column_stack(
                [self.tree(g[:, c], h[:, c]) for c in range(g.shape[1])]
            )
        return scores

    def tree(self, g, h):
        """Return what one tree predicts for the training rows."""
        self.g, self.h, self.p = g, h, np.zeros(len(g))
        everything = np.arange(len(g))
        value, _ = least(np.ones((len(g), 1)), g, h, self.reg_lambda, self.reg_alpha)
        nodes = [Node(everything, 0, value)]
        self.find_split(nodes[0])
        while sum(node.children is None for node in nodes) < self.max_leaf_nodes:
            best = nodes[0]
            for node in nodes:
                best = node if is_better(-node.gain, -best.gain) else best
            if best.gain <= 1e-12 * abs(best.value):
                break
            best.children = self.make_children(best)
            nodes.extend(best.children)
        if len(nodes) == 1:
            self.choose_terms(nodes[0])
        out = np.empty(len(g))
        for node in nodes:
            if node.children is None:
                Z = np.column_stack([np.ones(len(node.rows)), self.X[np.ix_(node.rows, node.features)]])
                _, node.model = least(Z, g[node.rows], h[node.rows], self.reg_lambda, self.reg_alpha)
                out[node.rows] = Z @ node.model
        return out

    def values(self, feature):
        """Return the feature as histograms see it: means of bins."""
        return self.bins.mean[feature][self.bins.codes[:, feature]]

    def piece(self, node, rows, feature, adds):
        """Fit constant, linear part of the node's model, and the new feature."""
        columns = [np.ones(len(rows)), self.p[rows], self.values(feature)[rows] if adds else np.zeros(len(rows))]
        used = [0] + [1] * bool(node.features) + [2] * adds
        value, k = least(np.column_stack(columns)[:, used], self.g[rows], self.h[rows], self.reg_lambda, self.reg_alpha)
        full = np.zeros(3)
        full[used] = k
        return value, full

    def may_add(self, node, feature):
        return feature not in node.features and len(node.features) < self.max_var

    def is_allowed(self, rows):
        return self.h[rows].sum() >= self.min_child_weight and self.weight[rows].sum() >= self.min_samples_leaf

    def find_split(self, node):
        if node.depth >= self.max_depth:
            return
        for feature in range(self.X.shape[1]):
            codes = self.bins.codes[node.rows, feature]
            for cut in np.unique(codes)[:-1]:
                left, right = node.rows[codes <= cut], node.rows[codes > cut]
                if not (self.is_allowed(left) and self.is_allowed(right)):
                    continue
                adds = self.may_add(node, feature)
                sides = [self.piece(node, rows, feature, adds) for rows in (left, right)]
                total = sides[0][0] + sides[1][0]
                if node.split is None or is_better(total, node.split[0]):
                    node.split = (total, feature, cut, *sides)

    def make_children(self, node):
        _, feature, cut, *sides = node.split
        codes, adds = self.bins.codes[node.rows, feature], self.may_add(node, feature)
        children = []
        for rows, (value, k) in zip((node.rows[codes <= cut], node.rows[codes > cut]), sides, strict=True):
            if adds:
                self.p[rows] = k[1] * self.p[rows] + k[2] * self.values(feature)[rows]
            children.append(Node(rows, node.depth + 1, value, node.features + [feature] * adds))
        for child in children:
            self.find_split(child)
        return tuple(children)

    def choose_terms(self, root):
        """Make a linear model of a tree without a split."""
        while len(root.features) < self.max_var:
            usable = [j for j in range(self.X.shape[1]) if self.may_add(root, j) and self.bins.n[j] > 1]
            if not usable:
                return
            found = [(*self.piece(root, root.rows, j, True), j) for j in usable]
            value, k, feature = min(found, key=lambda item: item[0])
            if root.value - value <= 1e-12 * abs(root.value):
                return
            self.p = k[1] * self.p + k[2] * self.values(feature)
            root.features.append(feature)
            root.value = value
