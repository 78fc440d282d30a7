"""A slow NumPy version of M5': what ``src/core/model_trees/m5p*`` computes, readable from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Node:
    rows: np.ndarray
    feature: int = -1
    threshold: float = 0.0
    left: Node | None = None
    right: Node | None = None
    intercept: float = 0.0
    slopes: np.ndarray | None = None
    tested: set[int] = field(default_factory=set)
    squared_error: float = 0.0
    n_parameters: int = 1

    @property
    def is_leaf(self):
        return self.left is None


def fifth_root(variance):
    return variance**0.2


def cuts(x, y, w):
    """Return threshold, weight of the left side and what is left of the spread, for each split on one feature."""
    found = []
    total, variance = w.sum(), np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    for low, high in zip(np.unique(x)[:-1], np.unique(x)[1:], strict=True):
        cost = 0.0
        for side in (x <= low, x > low):
            mean = np.average(y[side], weights=w[side])
            share = max(np.average((y[side] - mean) ** 2, weights=w[side]) / variance, 1e-10)
            cost += w[side].sum() / total * fifth_root(share)
        found.append(((low + high) / 2, w[x <= low].sum(), cost))
    return found


def best_cut(X, y, w):
    """Return feature and threshold of the best split, or None: the first of equals."""
    total = w.sum()
    min_side = max(np.floor(total / 5) + 1, 2)
    best, best_cost = None, 2.0
    for j in range(X.shape[1]):
        limit = best_cost - 1e-6
        for threshold, left, cost in cuts(X[:, j], y, w):
            if min_side <= left <= total - min_side and cost < limit - 1e-9:
                best, best_cost, limit = (j, threshold), cost, cost
    return best


def least_squares(X, y, w, features):
    """Return intercept, slopes and squared error on some features, a little ridge on the standardised ones."""
    A = X[:, features]
    mean, y_mean = np.average(A, axis=0, weights=w), np.average(y, weights=w)
    deviation = standard_deviations(A, w)
    Z, t = (A - mean) / deviation, y - y_mean
    slopes = np.linalg.solve(Z.T @ (w[:, None] * Z) + 1e-8 * np.eye(len(features)), Z.T @ (w * t)) / deviation
    intercept = y_mean - slopes @ mean
    error = w @ (y - intercept - A @ slopes) ** 2
    return intercept, slopes, max(error, 1e-13 * (w @ t**2))


def standard_deviations(A, w):
    return np.sqrt(w @ (A - np.average(A, axis=0, weights=w)) ** 2 / (w.sum() - 1))


def linear_model(X, y, w, features):
    """Return intercept, all slopes and squared error after elimination."""
    n, y_mean = w.sum(), np.average(y, weights=w)
    constant = y_mean, np.zeros(X.shape[1]), w @ (y - y_mean) ** 2
    if len(features) == 0 or constant[2] == 0:
        return constant
    deviation = standard_deviations(np.column_stack([X, y]), w)
    used = [j for j in features if deviation[j] > 1e-13 * (1 + abs(np.average(X[:, j], weights=w)))]

    def standardised(slopes):
        return np.abs(slopes) * deviation[used] / deviation[-1]

    intercept, slopes, error = least_squares(X, y, w, used)
    while used and standardised(slopes).max() > 1.5:
        del used[standardised(slopes).argmax()]
        intercept, slopes, error = least_squares(X, y, w, used)
    full_error, full = error, len(used) + 1
    akaike = n - full + 2 * full
    while used:
        fewer = np.delete(used, standardised(slopes).argmin()).tolist()
        trial = least_squares(X, y, w, fewer)
        trial_akaike = trial[2] / full_error * (n - full) + 2 * (len(fewer) + 1)
        if trial_akaike >= akaike:
            break
        used, akaike = fewer, trial_akaike
        intercept, slopes, error = trial
    all_slopes = np.zeros(X.shape[1])
    all_slopes[used] = slopes
    return intercept, all_slopes, error


def adjusted_error(squared_error, n, n_parameters):
    factor = 10 if n <= n_parameters else (n + 2 * n_parameters) / (n - n_parameters)
    return np.sqrt(squared_error / n) * factor


class M5P:
    """The estimator, on features and target of mean 0 and standard deviation 1."""

    def __init__(self, min_samples_leaf=4, prune=True, smooth=True, regression_tree=False):
        self.min_samples_leaf, self.prune, self.smooth = min_samples_leaf, prune, smooth
        self.regression_tree = regression_tree

    def fit(self, X, y, sample_weight=None):
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        X, y, w = X[w > 0], y[w > 0], w[w > 0]
        self.mean, self.y_mean = np.average(X, axis=0, weights=w), np.average(y, weights=w)
        self.scale = np.sqrt(np.average((X - self.mean) ** 2, axis=0, weights=w))
        self.scale[self.scale < 1e-14 * (1 + np.abs(self.mean))] = 1.0
        self.y_scale = np.sqrt(np.average((y - self.y_mean) ** 2, weights=w)) or 1.0
        self.X, self.y, self.w = (X - self.mean) / self.scale, (y - self.y_mean) / self.y_scale, w
        self.root = self.grow(np.arange(len(y)))
        if self.smooth:
            self.smooth_leaves(self.root, [])
        return self

    def grow(self, rows):
        node = Node(rows)
        X, y, w = self.X[rows], self.y[rows], self.w[rows]
        deviation = np.sqrt(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        if w.sum() >= self.min_samples_leaf and deviation >= 0.05:
            cut = best_cut(X, y, w)
            if cut is not None:
                node.feature, node.threshold = cut
                goes_left = X[:, node.feature] <= node.threshold
                node.left, node.right = self.grow(rows[goes_left]), self.grow(rows[~goes_left])
                node.tested = {node.feature} | node.left.tested | node.right.tested
        features = [] if self.regression_tree else sorted(node.tested)
        node.intercept, node.slopes, error = linear_model(X, y, w, features)
        if self.prune:
            self.prune_node(node, error, w.sum())
        return node

    @staticmethod
    def prune_node(node, error, n):
        own_parameters = np.count_nonzero(node.slopes) + 1
        if not node.is_leaf:
            node.squared_error = node.left.squared_error + node.right.squared_error
            node.n_parameters = node.left.n_parameters + node.right.n_parameters + 1
            own = adjusted_error(error, n, own_parameters)
            if own > adjusted_error(node.squared_error, n, node.n_parameters) and own >= 1e-5:
                return
            node.left = node.right = None
        node.squared_error, node.n_parameters = error, own_parameters

    def smooth_leaves(self, node, path):
        path = [*path, node]
        if not node.is_leaf:
            self.smooth_leaves(node.left, path)
            self.smooth_leaves(node.right, path)
            return
        intercept, slopes = node.intercept, node.slopes
        for below, above in zip(path[:0:-1], path[-2::-1], strict=True):
            n = self.w[below.rows].sum()
            intercept = (n * intercept + 15 * above.intercept) / (n + 15)
            slopes = (n * slopes + 15 * above.slopes) / (n + 15)
        node.intercept, node.slopes = intercept, slopes

    def leaves(self):
        """Return the leaves from left to right."""
        found, stack = [], [self.root]
        while stack:
            node = stack.pop()
            found += [node] if node.is_leaf else []
            stack += [] if node.is_leaf else [node.right, node.left]
        return found

    def predict(self, X):
        X = (np.where(np.isnan(X), self.mean, X) - self.mean) / self.scale
        prediction = []
        for row in X:
            node = self.root
            while not node.is_leaf:
                node = node.left if row[node.feature] <= node.threshold else node.right
            prediction.append(node.intercept + node.slopes @ row)
        return np.array(prediction) * self.y_scale + self.y_mean
