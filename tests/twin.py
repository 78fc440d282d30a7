"""The slow twin: one BoostTree in plain NumPy, written to be read.

The library must build the same trees. Nothing here is fast: rows of a bootstrap replica are repeated, every
candidate split is scored from scratch, and a prediction walks the tree one row at a time.

Words: F is the sum of the node models on a path, (n, J) with J outputs; g and h are the derivatives of the
loss at F; w is a row's weight; z is the pseudo-label that a node model is fitted to, v its weight there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.special import expit, xlogy
from scipy.stats import norm

Array = NDArray[Any]

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15
MAX_ROOT_ATTEMPTS = 100
MAX_PSEUDO_LABEL = 4.0
PRIOR_COUNTS = 4.0
SHORTEST_FACTOR = 0.01
LONG_STEP = 1.0
ROUND = 0.1  # within it, a kink is rounded off
REACH = 4.0
BOUNDARY_ROWS = 80


# ------------------------------------------------------------------------------
# Random numbers: pure functions of a key and a counter, so no draw depends on the order of the others.


def mix(x: int) -> int:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x ^= x >> 30
    x = (x * 0xBF58476D1CE4E5B9) & MASK
    x ^= x >> 27
    x = (x * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def word(key: int, i: int) -> int:
    """Return the i-th random 64-bit word of a key."""
    return mix((key + GAMMA * (i + 1)) & MASK)


def child(key: int, tag: int) -> int:
    """Return the key of the stream `tag` below a key."""
    return word(key, tag)


def uniform(key: int, i: int) -> float:
    """Return the i-th uniform number of a key, in [0, 1)."""
    return float((word(key, i) >> 11) * 2.0**-53)


def below(key: int, i: int, n: int) -> int:
    """Return the i-th random integer of a key, in {0, ..., n - 1}."""
    return (word(key, i) * n) >> 64


def batch_positions(key: int, n: int, b: int) -> list[int]:
    """Draw b of the positions 0, ..., n - 1 without replacement (Floyd), ascending."""
    taken: set[int] = set()
    for t in range(b):
        j = n - b + t
        v = below(key, t, j + 1)
        taken.add(j if v in taken else v)
    return sorted(taken)


def feature_order(key: int, d: int) -> list[int]:
    """Return a random permutation of the features (Fisher-Yates)."""
    order = list(range(d))
    for i in range(d):
        j = i + below(key, i, d - i)
        order[i], order[j] = order[j], order[i]
    return order


def bootstrap_rows(seed: int, n: int, n_draws: int, weights: Array | None = None) -> Array:
    """Draw the rows of a tree's replica, with replacement, sorted; weights are draw probabilities."""
    key = child(seed, 0)
    if weights is None:
        return np.sort([below(key, i, n) for i in range(n_draws)])
    cumulative = np.cumsum(weights)
    points = [uniform(key, i) * cumulative[-1] for i in range(n_draws)]
    rows = np.searchsorted(cumulative, points, side="right")
    return np.sort(np.minimum(rows, n - 1))


# ----------------------------------------------------------------------------------------------- what a tree is made of


@dataclass
class Params:
    """The parameters of one tree (single values: pools are drawn before)."""

    #: "regression", "several" (numbers), "robust", "counts" (or others with a log link: mean 1), "times", "binary",
    #: "multiclass"
    task: str
    n_classes: int = 2  # unused in regression
    node_model: str = "ridge"  # or "constant", "elm", "svr"
    criterion: str = "xgb"  # or "mse" (regression), "gini", "c45" (classification)
    min_samples_leaf: int = 5  # least weight of a child
    reg_lambda: float = 0.1  # ridge penalty, and the lambda of the xgb gain
    max_leaf_nodes: int | None = None
    max_depth: int | None = None
    max_features: int | None = None  # features per chunk; None: all
    n_cuts: int = 1  # cuts drawn per feature
    batch_size: int = 1000  # a node of more rows works on a draw of so many
    n_targets: int = 1  # several: how many
    clip: bool = True  # regression and counts only
    delta: float | None = None  # robust: Huber's; None: the loss is that of a quantile
    quantile: float = 0.5  # robust: which
    information: float = 1.0  # counts: how many a row of the mean stands for
    power: float = 1.0  # counts: of the mean that the variance goes with; 1 Poisson, 2 gamma, between them Tweedie
    spread: float = 1.0  # times: standard unit of the noise of their logarithms
    family: int = 1  # times: distribution of the noise; 1 normal, 2 logistic, 3 extreme value
    shared_hessian: bool = False  # three and more classes: one weight per row
    split_features: list[int] | None = None  # features that may be split on; None: all
    model_features: list[int] | None = None  # features that node models see; None: all
    monotonic_cst: list[int] | None = None  # per feature: 1 or -1 if scores must rise or fall with it, 0: free
    node_lambda: float | None = None  # the penalty, where it is not that of the gain
    n_hidden: int = 20  # elm: units of the hidden layer
    cost: float = 1.0  # svr: price of an error, C
    epsilon: float = 0.1  # svr: errors up to this size are free
    tol: float = 1e-4  # svr: when to stop
    intercept_scaling: float = 1000.0  # svr: the larger, the freer the intercept

    @property
    def clips(self) -> bool:
        """Whether the outputs of node models are kept within a range."""
        return self.task in ("regression", "several", "robust", "counts", "times") and self.clip

    @property
    def n_outputs(self) -> int:
        """Number of scores per row, J: one per class from three classes on, or per target."""
        if self.task == "several":
            return self.n_targets
        return self.n_classes if self.task == "multiclass" else 1


@dataclass
class Sample:
    """The expanded rows that a tree is grown on."""

    X: Array  # (n, d)
    y: Array  # (n,) labels, or class codes 0, 1, ...; several targets: (n, n_targets)
    weight: Array  # (n,)


@dataclass(eq=False)
class Node:
    """One node with its own model; a root that was split has none."""

    key: int
    path: str  # the way from the root: "", "L", "LR", ...
    rows: Array  # its rows of the sample, in order
    scores: Array  # (n_rows, J) F at these rows, its own model included
    n_samples: float  # weight of these rows
    loss: float = 0.0  # total loss at F, the order of growth
    feature: int = -1  # -1: leaf
    threshold: float = np.nan  # x <= threshold goes left
    missing_left: bool = False  # a missing x goes left
    gain: float = 0.0
    left: Node | None = None
    right: Node | None = None
    coef: Array | None = None  # (J, features seen), or (J, units); None for a constant model or no model
    intercept: Array | None = None  # (J,); None: no model
    layer: tuple[Array, Array] | None = None  # elm: biases (units,) and weights (d, units), the same in the whole tree
    seen: list[int] | None = None  # model_features of the tree
    signs: list[int] | None = None  # monotonic_cst of the tree
    parent: Node | None = None
    lower: float = -np.inf  # bounds of the model's output
    upper: float = np.inf

    @property
    def depth(self) -> int:
        """Number of splits above the node."""
        return len(self.path)

    @property
    def n_rows(self) -> int:
        """Number of (expanded) rows in the node."""
        return len(self.rows)


# --------------------------------------------------------------------------------------------------------------- losses


def probabilities(F: Array, params: Params) -> Array:
    """Return (n, J) probabilities: the sigmoid of one output, or the softmax of several."""
    if params.task == "binary":
        return 1.0 / (1.0 + np.exp(-F))
    exp = np.exp(F - F.max(axis=1, keepdims=True))  # the shift keeps exp finite
    return exp / exp.sum(axis=1, keepdims=True)


def targets(y: Array, params: Params) -> Array:
    """Return y as (n, J): the labels, the code 0/1 of two classes, or one indicator per class."""
    if params.task == "multiclass":
        return np.eye(params.n_classes)[y]
    if params.task == "several":
        return y
    return y[:, np.newaxis].astype(float)


def times(y: Array, F: Array, params: Params) -> tuple[Array, Array, Array]:
    """Return -log of a density, or of a survival function where y < 0, with two derivatives by the distance z."""
    z, seen = np.clip((np.log(np.abs(y)) - F[:, 0]) / params.spread, -30.0, 30.0), y > 0
    if params.family == 1:
        ratio = np.exp(norm.logpdf(z) - norm.logsf(z))
        far = z > 25
        ratio = np.where(far, z + 1 / np.where(far, z, 1.0), ratio)
        return (
            np.where(seen, z**2 / 2, -norm.logsf(z)),
            np.where(seen, z, ratio),
            np.where(seen, 1.0, ratio * (ratio - z)),
        )
    if params.family == 2:
        s, soft = expit(z), np.logaddexp(0.0, z)
        return np.where(seen, 2 * soft - z, soft), np.where(seen, 2 * s - 1, s), np.where(seen, 2.0, 1.0) * s * (1 - s)
    e = np.exp(z)
    return e - z * seen, e - seen, e


def losses(y: Array, F: Array, params: Params) -> Array:
    """Return every row's loss: squared error, Poisson deviance, logistic or softmax cross-entropy."""
    if params.task == "times":
        return times(y, F, params)[0]
    if params.task == "counts":
        f, q, r = F[:, 0], 1 - params.power, 2 - params.power
        if q == 0:
            return 2 * (xlogy(y, y) - y * f - y + np.exp(f))
        if r == 0:
            return 2 * (y * np.exp(-f) - 1 - np.log(y) + f)
        return 2 * (y**r / (q * r) - y * np.exp(q * f) / q + np.exp(r * f) / r)
    if params.task in ("regression", "several"):
        return ((targets(y, params) - F) ** 2).sum(axis=1)
    if params.task == "robust":
        r = y - F[:, 0]
        size = np.abs(r)
        if params.delta is not None:
            return np.where(size <= params.delta, r**2, params.delta * (2 * size - params.delta))
        return (params.quantile - 0.5) * r + np.where(size > ROUND, size / 2, r**2 / (4 * ROUND) + ROUND / 4)
    if params.task == "binary":
        return np.logaddexp(0.0, F[:, 0]) - y * F[:, 0]
    return np.logaddexp.reduce(F, axis=1) - F[np.arange(len(y)), y]


def derivatives(y: Array, F: Array, params: Params) -> tuple[Array, Array]:
    """Return g and h, (n, J); in regression those of half the squared error, as in the authors' code, of counts too."""
    if params.task == "times":  # times the squared spread
        _, slope, bend = times(y, F, params)
        return -params.spread * slope[:, np.newaxis], np.maximum(bend, 1e-6)[:, np.newaxis]
    if params.task == "robust":  # h is that of a parabola that touches the loss from above
        r = targets(y, params) - F
        if params.delta is not None:
            return -np.clip(r, -params.delta, params.delta), np.minimum(1.0, params.delta / np.abs(r))
        h = 0.5 / np.maximum(np.abs(r), ROUND)
        return 0.5 - params.quantile - r * h, h
    if params.task == "counts":
        a, b = np.exp((1 - params.power) * F), np.exp((2 - params.power) * F)
        return params.information * (b - targets(y, params) * a), params.information * b
    if params.task in ("regression", "several"):
        return F - targets(y, params), np.ones_like(F)
    p = probabilities(F, params)
    return p - targets(y, params), p * (1.0 - p)


def pseudo_labels(y: Array, F: Array, weight: Array, params: Params) -> tuple[Array, Array]:
    """Return what a node model is fitted to, z, and its weights v, both (n, J)."""
    g, h = derivatives(y, F, params)
    w = np.repeat(weight[:, np.newaxis], params.n_outputs, axis=1)
    if params.task in ("regression", "several"):
        return -g, w
    if params.task == "robust":
        return -g / h, w * h
    if params.task == "times":  # no label is farther away than four units of the noise
        h = np.maximum(h, np.abs(g) / (4 * params.spread))
        return -g / h, w * h
    if params.task == "counts":
        # Newton's step from the node's own mean, which the constant c gives.
        c = np.log(node_share(y, F, weight, params))
        g, h = derivatives(y, F + c, params)
        return c - g / h, w * h
    if params.shared_hessian:
        h = np.repeat(h.max(axis=1, keepdims=True), params.n_outputs, axis=1)
    # A probability that rounds to 0 or 1 has h = 0; the step then is as long as the bound allows.
    step = np.where(h > 0, -g / np.where(h > 0, h, 1.0), MAX_PSEUDO_LABEL * np.sign(-g))
    z = np.clip(step, -MAX_PSEUDO_LABEL, MAX_PSEUDO_LABEL)
    return z, w * np.maximum(h, 2 * np.finfo(float).eps)


def shrunk(counts: Array, expected: Array) -> Array:
    """Return counts over what was expected, four of each added."""
    return (counts + PRIOR_COUNTS) / (expected + PRIOR_COUNTS)


def node_share(y: Array, F: Array, weight: Array, params: Params) -> float:
    """Return the mean of a node's counts over what it is expected to be."""
    g, h = derivatives(y, F, params)
    return float(shrunk(weight @ (h - g)[:, 0], weight @ h[:, 0]))


def output_range(z: Array, y: Array, F: Array, weight: Array, params: Params) -> tuple[float, float]:
    """Return the range that the output of a node's model is kept in."""
    if params.task in ("regression", "several", "times"):  # one range for all targets
        return float(z.min()), float(z.max())
    if params.task == "robust":
        r, centre = y - F[:, 0], np.average(z[:, 0], weights=pseudo_labels(y, F, weight, params)[1][:, 0])
        ends = max(float(r.min()), centre - REACH), min(float(r.max()), centre + REACH)
        return min(ends), max(ends)
    # Counts: no mean changes by more than the node's, and what a row by itself would change it then.
    share = node_share(y, F, weight, params)
    g, h = derivatives(y, F + np.log(share), params)
    own = np.log(share * shrunk(h - g, h))
    return float(own.min()), float(own.max())


def shortened(step: Array, y: Array, F: Array, weight: Array, params: Params) -> tuple[float, float]:
    """Return the factor and the shift of a step of the scores.

    Of counts: halved while the deviance falls; the shift gives the rows their mean. Of quantiles: the shift gives the
    rows their quantile.
    """
    if params.task == "robust" and params.delta is None:
        rest = y - F - step
        order = np.argsort(rest)
        below = np.cumsum(weight[order])
        return 1.0, float(rest[order][np.flatnonzero(below >= params.quantile * weight.sum())[0]])
    if params.task == "times":
        return shortened_times(step, y, F, weight, params)
    if params.task == "robust" or y @ weight <= 0:
        return 1.0, 0.0

    def attempt(factor: float) -> tuple[float, float]:
        moved = (F + factor * step)[:, np.newaxis]
        g, h = derivatives(y, moved, params)
        shift = np.log((weight @ (h - g))[0] / (weight @ h)[0])
        return float(weight @ losses(y, moved + shift, params)) / 2, float(shift)

    factor, (best, shift) = 1.0, attempt(1.0)
    while factor / 2 > SHORTEST_FACTOR:
        value, next_shift = attempt(factor / 2)
        if not value < best - 1e-9 * (weight @ np.exp((2 - params.power) * F)):
            break
        factor, best, shift = factor / 2, value, next_shift
    return factor, shift


def shortened_times(step: Array, y: Array, F: Array, weight: Array, params: Params) -> tuple[float, float]:
    """Return the factor that is halved while the loss falls, and one more step of a constant if that helps."""

    def total(factor: float, shift: float) -> float:
        return float(weight @ losses(y, (F + factor * step + shift)[:, np.newaxis], params))

    factor, best = 1.0, total(1.0, 0.0)
    while factor / 2 > SHORTEST_FACTOR and (value := total(factor / 2, 0.0)) < best - 1e-12 * abs(best):
        factor, best = factor / 2, value
    g, h = derivatives(y, (F + factor * step)[:, np.newaxis], params)
    shift = float(np.clip(-(weight @ g)[0] / (weight @ h)[0], -params.spread, params.spread))
    return factor, shift if total(factor, shift) < best - 1e-12 * abs(best) else 0.0


# ---------------------------------------------------------------------------- gains: `left` marks the rows that go left


def comparable(value: float, size: float = 0.0) -> float:
    """Return a number to 20 bits, so that rounding does not decide; size: of the terms whose difference it is."""
    if abs(value) <= 1e-12 * size:
        return 0.0
    mantissa, exponent = np.frexp(abs(value))  # from 1/2 to 1: the first bit is not counted
    return float(np.copysign(np.ldexp(np.floor(mantissa * 2**21 + 0.5), exponent - 21), value))


def xgb_gain(left: Array, w: Array, g: Array, h: Array, reg_lambda: float) -> float:
    """Return half the sum of G^2 / (H + lambda) over both sides and all outputs."""
    total = 0.0
    for side in (left, ~left):
        G = w[side] @ g[side]
        H = w[side] @ h[side] + reg_lambda
        total += sum(G_j**2 / H_j for G_j, H_j in zip(G, H, strict=True) if H_j > 0)
    return comparable(0.5 * total)


def mse_gain(left: Array, w: Array, y: Array) -> float:
    """Return the decrease of the sum of squared deviations of the labels, of all targets, from their means."""

    def square_over_weight(rows: Array) -> float:
        return float(np.sum((w[rows] @ y[rows]) ** 2) / w[rows].sum())

    before = square_over_weight(np.ones_like(left))
    return comparable(square_over_weight(left) + square_over_weight(~left) - before, before)


def gini(class_weights: Array) -> float:
    """Return the Gini impurity of a node with these weights per class."""
    p = class_weights / class_weights.sum()
    return float(1.0 - np.sum(p**2))


def entropy(class_weights: Array) -> float:
    """Return the entropy, in bits, of a node with these weights per class."""
    p = class_weights[class_weights > 0] / class_weights.sum()
    return float(-np.sum(p * np.log2(p)))


def class_totals(w: Array, y: Array, n_classes: int) -> Array:
    """Return the total weight of each class."""
    return np.bincount(y, weights=w, minlength=n_classes)


def gini_gain(left: Array, w: Array, y: Array, n_classes: int) -> float:
    """Return the decrease of weight times Gini impurity (CART)."""
    L = class_totals(w[left], y[left], n_classes)
    R = class_totals(w[~left], y[~left], n_classes)
    P = L + R
    return comparable(P.sum() * gini(P) - L.sum() * gini(L) - R.sum() * gini(R), P.sum())


def c45_gain(left: Array, w: Array, y: Array, n_classes: int) -> float:
    """Return weight times gain ratio: the information gained over the information of the split itself."""
    L = class_totals(w[left], y[left], n_classes)
    R = class_totals(w[~left], y[~left], n_classes)
    W, W_left, W_right = (L + R).sum(), L.sum(), R.sum()
    information = entropy(L + R) - W_left / W * entropy(L) - W_right / W * entropy(R)
    return comparable(comparable(W * information, W) / entropy(np.array([W_left, W_right])))


def split_gain(left: Array, w: Array, y: Array, g: Array, h: Array, params: Params) -> float:
    """Return the gain of a split under the tree's criterion."""
    if params.criterion == "xgb":
        return xgb_gain(left, w, g, h, params.reg_lambda)
    if params.criterion == "mse":
        return mse_gain(left, w, y)
    if params.criterion == "gini":
        return gini_gain(left, w, y, params.n_classes)
    if params.criterion == "c45":
        return c45_gain(left, w, y, params.n_classes)
    raise ValueError(f"unknown criterion {params.criterion!r}")


# ---------------------------------------------------------------------------------------------------------- node models


def fit_ridge(X: Array, z: Array, v: Array, params: Params) -> tuple[Array, float]:
    """Minimise sum v (a.x + b - z)^2 + lambda |a|^2; return a and b."""
    # Centring takes the unpenalised b out of the problem.
    x_mean = np.average(X, axis=0, weights=v)
    z_mean = np.average(z, weights=v)
    Xc = X - x_mean
    reg_lambda = params.reg_lambda if params.node_lambda is None else params.node_lambda
    gram = Xc.T @ (v[:, np.newaxis] * Xc) + reg_lambda * np.eye(X.shape[1])
    a = np.linalg.solve(gram, Xc.T @ (v * (z - z_mean)))
    return a, float(z_mean - a @ x_mean)


def draw_layer(seed: int, root: Node, sample: Sample, params: Params) -> tuple[Array, Array]:
    """Draw a hidden layer: random projections, standardised over the root's rows, with random biases."""
    rows = root.rows[batch_of(child(root.key, 2), root.n_rows, params.batch_size)]
    X, w = seen_of(sample.X[rows], params.model_features), sample.weight[rows]
    keys = [child(child(seed, 5), unit) for unit in range(params.n_hidden)]
    weights = np.array([[2 * uniform(key, 1 + j) - 1 for key in keys] for j in range(X.shape[1])])
    mean = np.average(X @ weights, axis=0, weights=w)
    deviation = np.sqrt(np.average((X @ weights - mean) ** 2, axis=0, weights=w))
    biases = np.array([2 * (2 * uniform(key, 0) - 1) for key in keys])
    return biases - mean / deviation, weights / deviation


def seen_of(X: Array, features: list[int] | None) -> Array:
    """Return the features of rows that node models see, missing ones as 0."""
    return filled(X) if features is None else filled(X)[:, features]


def inputs_of(X: Array, node: Node) -> Array:
    """Return what a node's model is linear in: the features that it sees, or the units of the hidden layer."""
    seen = seen_of(X, node.seen)
    if node.layer is None:
        return seen
    biases, weights = node.layer
    return 1.0 / (1.0 + np.exp(-(biases + seen @ weights)))


def fit_bounded_ridge(X: Array, z: Array, v: Array, params: Params, bounds: Array) -> tuple[Array, float]:
    """Fit a ridge regression with each slope between its two bounds, (2, d); return a and b."""
    x_mean = np.average(X, axis=0, weights=v)
    z_mean = np.average(z, weights=v)
    d = X.shape[1]
    rows = np.vstack([np.sqrt(v)[:, np.newaxis] * (X - x_mean), np.sqrt(params.reg_lambda) * np.eye(d)])
    target = np.concatenate([np.sqrt(v) * (z - z_mean), np.zeros(d)])
    a = lsq_linear(rows, target, bounds=bounds, method="bvls", tol=1e-15, max_iter=1000).x
    return a, float(z_mean - a @ x_mean)


def slope_bounds(node: Node, d: int) -> Array | None:
    """Return between which bounds a node's slopes keep the sign of the sum on its path, (2, features seen)."""
    if node.signs is None:
        return None
    above = np.zeros(d) if node.parent is None else path_model(node.parent, d)[0]
    sign = np.array(node.signs)
    bounds = np.array([np.where(sign > 0, -above, -np.inf), np.where(sign < 0, -above, np.inf)])
    return bounds if node.seen is None else bounds[:, node.seen]


def fit_svr(X: Array, z: Array, v: Array, params: Params) -> tuple[Array, float]:
    """Minimise |a|^2 / 2 + (b / scaling)^2 / 2 + C sum v max(0, |a.x + b - z| - epsilon); return a and b.

    A primal-dual interior point method. The first axis of `alpha`, `slack` and `excess` is the side of the tube.
    """
    n = len(z)
    A = np.column_stack([X, np.full(n, params.intercept_scaling)])
    C, sign = params.cost, np.array([[1.0], [-1.0]])
    w = np.zeros(A.shape[1])
    if np.abs(z).max() > params.epsilon:
        distance = params.epsilon + sign * z  # to the edge of the tube, from a prediction of 0
        root = np.sqrt(distance**2 + np.abs(z).max() ** 2)
        slack, excess = (root + distance) / 2, (root - distance) / 2
        alpha = C * np.sqrt((excess / root).prod(axis=0)) * np.ones((2, 1))  # per unit of weight
        speed = 0.1
        for _ in range(100):
            gap = ((slack * alpha + excess * (C - alpha)) @ v).sum()
            objective = w @ w / 2 + C * v @ np.maximum(0.0, np.abs(A @ w - z) - params.epsilon)
            if gap <= params.tol * max(objective, 1e-8 * C * v.sum() * np.abs(z).max()):
                break
            mu = speed * gap / (4 * v.sum())
            theta = slack / alpha + excess / (C - alpha)
            rho = mu / alpha - mu / (C - alpha) - params.epsilon
            D, pull = v * (1 / theta).sum(axis=0), v * (sign * (alpha + rho / theta)).sum(axis=0)
            w_new = np.linalg.solve(A.T @ (D[:, np.newaxis] * A) + np.eye(A.shape[1]), A.T @ (D * z - pull))
            d_alpha = (sign * (A @ w_new - z) + rho) / theta
            d_slack = mu / alpha - slack - slack * d_alpha / alpha
            d_excess = mu / (C - alpha) - excess + excess * d_alpha / (C - alpha)
            parts = [-d_alpha / alpha, d_alpha / (C - alpha), -d_slack / slack, -d_excess / excess]
            step = min(1.0, 0.995 / np.max(parts))
            w = w + step * (w_new - w)
            alpha, slack, excess = alpha + step * d_alpha, slack + step * d_slack, excess + step * d_excess
            speed = max(0.03, 1 - step)
    return w[:-1], float(w[-1] * params.intercept_scaling)


def fit_outputs(
    X: Array, z: Array, v: Array, params: Params, bounds: Array | None = None
) -> tuple[Array | None, Array]:
    """Fit one model per output; return coef (J, d), None for constants, and intercept (J,)."""
    J = z.shape[1]
    if params.node_model == "constant" or X.shape[1] == 0:
        coef = None
        intercept = np.array([np.average(z[:, j], weights=v[:, j]) for j in range(J)])
    else:
        one = fit_svr if params.node_model == "svr" else fit_ridge
        if bounds is None:
            fits = [one(X, z[:, j], v[:, j], params) for j in range(J)]
        else:
            fits = [fit_bounded_ridge(X, z[:, j], v[:, j], params, bounds) for j in range(J)]
        coef = np.array([a for a, _ in fits])
        intercept = np.array([b for _, b in fits])
    if params.task != "multiclass":
        return coef, intercept
    # Softmax does not change when all scores move together: the models are made to sum to zero.
    shrink = (J - 1) / J
    if coef is not None:
        coef = shrink * (coef - coef.mean(axis=0))
    return coef, shrink * (intercept - intercept.mean())


def own_scores(node: Node, X: Array) -> Array:
    """Return the (n, J) output of a node's own model, clipped to its bounds."""
    assert node.intercept is not None
    scores = np.tile(node.intercept, (len(X), 1))
    if node.coef is not None:
        scores += inputs_of(X, node) @ node.coef.T
    return np.clip(scores, node.lower, node.upper)


def path_model(node: Node, d: int) -> tuple[Array, float]:
    """Return slopes (d,) and intercept of the sum of the models from the root to a node (one output)."""
    coef, intercept = (np.zeros(d), 0.0) if node.parent is None else path_model(node.parent, d)
    if node.intercept is None:
        return coef, intercept
    if node.coef is not None:
        coef[slice(None) if node.seen is None else node.seen] += node.coef[0]
    return coef, intercept + float(node.intercept[0])


def next_scores(node: Node, above: Array, X: Array) -> Array:
    """Return F, (n, J), after a node's model, given F after its parent's."""
    if node.signs is None:
        return above + own_scores(node, X)
    # What was clipped further up is not lost: the whole sum counts, but no step is longer than the clip allows. That
    # rises with a feature where the sum and the score above do.
    coef, intercept = path_model(node, X.shape[1])
    total = (filled(X) @ coef + intercept)[:, np.newaxis]
    return np.clip(total, above + node.lower, above + node.upper)


def batch_of(key: int, n: int, batch_size: int) -> Array:
    """Return the positions in a node to work on: all, or a draw where there are too many."""
    if n <= batch_size:
        return np.arange(n)
    return np.array(batch_positions(key, n, batch_size))


def weight_ratio(node: Node, batch: Array, sample: Sample) -> float:
    """Return W_node / W_batch, which carries a batch's sums over to the node."""
    w = sample.weight[node.rows]
    return float(w.sum() / w[batch].sum())


def node_loss(node: Node, sample: Sample, params: Params) -> float:
    """Return the node's total loss at F, estimated on the batch that its model is fitted on."""
    batch = batch_of(child(node.key, 2), node.n_rows, params.batch_size)
    rows = node.rows[batch]
    total = sample.weight[rows] @ losses(sample.y[rows], node.scores[batch], params)
    return weight_ratio(node, batch, sample) * float(total)


def filled(X: Array) -> Array:
    """Return X as node models see it: a missing value counts as 0, the mean after scaling."""
    return np.where(np.isnan(X), 0.0, X)


def fit_model(node: Node, sample: Sample, params: Params) -> None:
    """Fit the node's model to what the path above left over, and add it to the node's F."""
    batch = batch_of(child(node.key, 2), node.n_rows, params.batch_size)
    rows = node.rows[batch]
    z, v = pseudo_labels(sample.y[rows], node.scores[batch], sample.weight[rows], params)
    bounds = slope_bounds(node, sample.X.shape[1])
    node.coef, node.intercept = fit_outputs(inputs_of(sample.X[rows], node), z, v, params, bounds)
    if params.task in ("counts", "robust", "times"):
        start, w = node.scores[batch], sample.weight[rows]
        adjust_step(node, inputs_of(sample.X[rows], node), sample.y[rows], start, w, params, bounds)
    if params.clips:
        # A linear model may run away outside the rows it has seen.
        node.lower, node.upper = output_range(z, sample.y[rows], node.scores[batch], sample.weight[rows], params)
    node.scores = next_scores(node, node.scores, sample.X[node.rows])
    node.loss = node_loss(node, sample, params)


def adjust_step(node: Node, x: Array, y: Array, start: Array, w: Array, params: Params, bounds: Array | None) -> None:
    """Shorten or shift the step of a node's new model; a tree of one node goes on to the penalised least loss."""

    def outputs(coef: Array | None, intercept: Array) -> Array:
        return np.full(len(y), intercept[0]) if coef is None else x @ coef[0] + intercept[0]

    assert node.intercept is not None
    coef = None if node.coef is None else np.zeros_like(node.coef)
    intercept, total = np.zeros(1), np.zeros(len(y))
    for _ in range({"counts": 100, "robust": 2000, "times": 200}[params.task] if node.parent is None else 1):
        here = start + total[:, np.newaxis]
        if total.any():  # fitted to the whole of what is wanted, so that the penalty is on the whole model
            z, v = pseudo_labels(y, here, w, params)
            node.coef, node.intercept = fit_outputs(x, total[:, np.newaxis] + z, v, params, bounds)
        step = outputs(node.coef, node.intercept) - total
        # Near the end a step may well raise the loss, if it lowers the penalty.
        is_long = not total.any() or np.abs(step).max() > LONG_STEP
        factor, shift = shortened(step, y, here[:, 0], w, params) if is_long else (1.0, 0.0)
        if coef is not None and node.coef is not None:
            coef = coef + factor * (node.coef - coef)
        intercept = intercept + factor * (node.intercept - intercept) + shift
        before, total = total, outputs(coef, intercept)
        if np.abs(total - before).max() <= 1e-12 * max(1.0, np.abs(total).max()):
            break
    node.coef, node.intercept = coef, intercept


# --------------------------------------------------------------------------------------------------------------- splits


@dataclass
class Split:
    """A split that leaves enough weight on both sides."""

    feature: int
    threshold: float
    missing_left: bool | None  # None: no row of the batch misses the feature
    gain: float


def goes_left(x: Array, threshold: float, missing_left: bool | None) -> Array:
    """Return which values of a feature go left; a missing one goes where the split sends it."""
    return np.where(np.isnan(x), bool(missing_left), x <= threshold)


def feature_chunks(key: int, d: int, max_features: int | None) -> list[list[int]]:
    """Return the features in the groups in which they are tried: all at once, or a few in random order."""
    if max_features is None or max_features >= d:
        return [list(range(d))]
    order = feature_order(key, d)
    return [order[i : i + max_features] for i in range(0, d, max_features)]


def valid_cuts(key: int, feature: int, x: Array, w: Array, params: Params) -> Iterator[tuple[float, bool | None]]:
    """Yield the random thresholds that leave min_samples_leaf on both sides; missing values are tried on either."""
    known = x[~np.isnan(x)]
    if len(known) == 0:
        return
    low, high = float(known.min()), float(known.max())
    for k in range(params.n_cuts):
        cut = low + uniform(key, feature * params.n_cuts + k) * (high - low)
        for missing_left in [None] if len(known) == len(x) else [False, True]:
            left = goes_left(x, cut, missing_left)
            if min(w[left].sum(), w[~left].sum()) >= params.min_samples_leaf:
                yield cut, missing_left


def find_splits(key: int, node: Node, sample: Sample, params: Params) -> list[Split]:
    """Return every valid split of one attempt, in the order tried; empty where there is none."""
    batch = batch_of(child(key, 0), node.n_rows, params.batch_size)
    rows = node.rows[batch]
    X, y, w = sample.X[rows], sample.y[rows], sample.weight[rows]
    g, h = derivatives(y, node.scores[batch], params)
    ratio = weight_ratio(node, batch, sample)
    may_cut = list(range(X.shape[1])) if params.split_features is None else params.split_features
    for places in feature_chunks(child(key, 1), len(may_cut), params.max_features):
        splits = [
            Split(f, cut, side, ratio * split_gain(goes_left(X[:, f], cut, side), w, y, g, h, params))
            for f in [may_cut[place] for place in places]
            for cut, side in valid_cuts(child(key, 2), f, X[:, f], w, params)
        ]
        if splits:  # the first chunk with a valid threshold decides
            return splits
    return []


def splits_of_node(node: Node, sample: Sample, params: Params) -> list[Split]:
    """Return the valid splits of a node; the root tries again until there is one."""
    if params.max_depth is not None and node.depth >= params.max_depth:
        return []
    if sample.weight[node.rows].sum() < 2 * params.min_samples_leaf:
        return []
    # Other nodes have one attempt: a leaf that found no split stays a leaf.
    attempts = MAX_ROOT_ATTEMPTS if node.depth == 0 else 1
    for attempt in range(attempts):
        splits = find_splits(child(node.key, 3 + attempt), node, sample, params)
        if splits:
            return splits
    return []


def make_child(node: Node, side: int, mask: Array, sample: Sample) -> Node:
    """Return the child that gets these of the node's rows."""
    rows = node.rows[mask]
    weight = float(sample.weight[rows].sum())
    whole_tree = {"layer": node.layer, "seen": node.seen, "signs": node.signs}
    key, path = child(node.key, side), node.path + "LR"[side]
    return Node(key, path, rows, node.scores[mask], weight, parent=node, **whole_tree)


def split_node(node: Node, sample: Sample, params: Params) -> bool:
    """Split the node and fit both children; return whether it could be split."""
    splits = splits_of_node(node, sample, params)
    if not splits:
        return False
    best = max(splits, key=lambda split: split.gain)  # the first of those that are worth the same
    node.feature, node.threshold, node.gain = best.feature, best.threshold, best.gain
    # The split may come from a batch, but it parts all rows.
    x, w = sample.X[node.rows, best.feature], sample.weight[node.rows]
    if best.missing_left is None:  # never seen missing: later ones go to the larger side
        best.missing_left = bool(w[x <= best.threshold].sum() >= w[x > best.threshold].sum())
    node.missing_left = best.missing_left
    left = goes_left(x, best.threshold, best.missing_left)
    node.left = make_child(node, 0, left, sample)
    node.right = make_child(node, 1, ~left, sample)
    fit_model(node.left, sample, params)
    fit_model(node.right, sample, params)
    return True


# --------------------------------------------------------------------------------------------------------------- growth


def grow(X: Array, y: Array, weight: Array | None, seed: int, params: Params) -> Node:
    """Grow one tree, best-first, on expanded rows (weight None: all 1); return its root."""
    n = len(X)
    sample = Sample(X, y, np.ones(n) if weight is None else weight)
    start = np.zeros((n, params.n_outputs))
    root = Node(child(seed, 1), "", np.arange(n), start, float(sample.weight.sum()))
    root.seen, root.signs = params.model_features, params.monotonic_cst
    root.loss = node_loss(root, sample, params)
    if params.node_model == "elm" and params.model_features != []:
        root.layer = draw_layer(seed, root, sample, params)
    open_leaves = [root]
    n_leaves = 1
    while open_leaves and n_leaves != params.max_leaf_nodes:
        worst = max(open_leaves, key=lambda node: comparable(node.loss))
        open_leaves.remove(worst)
        if split_node(worst, sample, params):
            assert worst.left is not None and worst.right is not None
            open_leaves += [worst.left, worst.right]
            n_leaves += 1
    if root.left is None:
        # A tree of one leaf still predicts something.
        fit_model(root, sample, params)
    return root


def nodes_by_path(root: Node) -> dict[str, Node]:
    """Return all nodes under their paths: "" is the root, "LR" the right child of its left child."""
    nodes = {root.path: root}
    if root.left is not None and root.right is not None:
        nodes |= nodes_by_path(root.left) | nodes_by_path(root.right)
    return nodes


def summed_model(root: Node, path: str, d: int) -> tuple[Array, Array]:
    """Return coef (J, d) and intercept (J,) of the sum of the models on a path (trees without clipping)."""
    nodes = nodes_by_path(root)
    J = root.scores.shape[1]
    coef, intercept = np.zeros((J, d)), np.zeros(J)
    for depth in range(len(path) + 1):
        node = nodes[path[:depth]]
        if node.coef is not None:
            coef += node.coef
        if node.intercept is not None:
            intercept += node.intercept
    return coef, intercept


# ----------------------------------------------------------------------------------------------------------- prediction


def path_of(root: Node, x: Array) -> list[Node]:
    """Return the nodes from the root to the leaf that one row falls into."""
    node, path = root, [root]
    while node.left is not None and node.right is not None:
        node = node.left if goes_left(x[node.feature], node.threshold, node.missing_left) else node.right
        path.append(node)
    return path


def leaf_of(root: Node, x: Array) -> Node:
    """Return the leaf that one row falls into."""
    return path_of(root, x)[-1]


def predict_scores(root: Node, X: Array) -> Array:
    """Return F, (n, J): the sum of the (clipped) models on every row's path, between the boundaries there."""
    F = np.zeros((len(X), root.scores.shape[1]))
    for i, row in enumerate(X):
        low, high = -np.inf, np.inf
        for node in path_of(root, row):
            if node.intercept is not None:
                F[i] = next_scores(node, F[[i]], row[np.newaxis])[0]
            if node.left is not None and node.signs is not None and node.signs[node.feature] != 0:
                left = goes_left(row[node.feature], node.threshold, node.missing_left)
                value = float(np.clip(boundary(node, row, F[i, 0]), low, high))  # those further up count more
                low, high = (low, value) if left == (node.signs[node.feature] > 0) else (value, high)
        F[i] = np.clip(F[i], low, high)
    return F


def node_at_cut(side: Node, split: Node, x: Array) -> Node:
    """Return the node that a row reaches from a side of a split, with the threshold as the feature's value.

    Only free features and the threshold decide, so splits on other constrained features end the way; so do few rows.
    """
    assert split.signs is not None
    node = side
    while node.left is not None and node.right is not None:
        is_own = node.feature == split.feature
        if split.signs[node.feature] != 0 and not is_own:
            break
        value = split.threshold if is_own else x[node.feature]
        after = node.left if goes_left(value, node.threshold, node.missing_left) else node.right
        if after.n_samples < BOUNDARY_ROWS:
            break
        node = after
    return node


def boundary(split: Node, row: Array, score: float) -> float:
    """Return what scores on the lower side of a split do not exceed, nor those on the upper side undercut."""
    assert split.left is not None and split.right is not None
    sides = [split.left, split.right]
    x = filled(row)
    x[split.feature] = split.threshold
    models = [path_model(node_at_cut(side, split, row), len(x)) for side in sides]
    value = np.mean([coef @ x + intercept for coef, intercept in models])
    # It is not further from the node's own score than the sides may go.
    least, most = min(side.lower for side in sides), max(side.upper for side in sides)
    return float(np.clip(value, score + least, score + most))


def predict_proba(root: Node, X: Array, params: Params) -> Array:
    """Return (n, n_classes) class probabilities of one tree."""
    p = probabilities(predict_scores(root, X), params)
    return np.hstack([1.0 - p, p]) if params.task == "binary" else p


def forest_predict(trees: list[Node], X: Array, params: Params) -> Array:
    """Return the mean over trees of the predictions, (n,) or (n, n_targets), or of probabilities (n, n_classes)."""
    if params.task in ("regression", "robust"):
        return np.mean([predict_scores(root, X)[:, 0] for root in trees], axis=0)
    if params.task == "several":
        return np.mean([predict_scores(root, X) for root in trees], axis=0)
    if params.task == "times":
        return np.exp(np.mean([predict_scores(root, X)[:, 0] for root in trees], axis=0))
    if params.task == "counts":
        return np.mean([np.exp(predict_scores(root, X)[:, 0]) for root in trees], axis=0)
    return np.mean([predict_proba(root, X, params) for root in trees], axis=0)


# --------------------------------------------------------------------------------------------------- data to compare on


def example_data(task: str, n: int = 150, d: int = 4, seed: int = 0) -> tuple[Array, Array]:
    """Return X and y with a nonlinear signal and much noise (few pure nodes); three classes or targets if several."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.column_stack([X[:, 0] + X[:, 1] * (X[:, 2] > 0), X[:, 1] - X[:, 0], np.abs(X[:, -1])])
    noisy = signal + rng.normal(size=(n, 3))
    if task == "several":
        return X, noisy
    if task in ("regression", "robust"):
        return X, noisy[:, 0]
    if task == "counts":
        return X, rng.poisson(np.exp(0.5 * signal[:, 0])).astype(float)
    if task == "binary":
        return X, (noisy[:, 0] > 0).astype(int)
    return X, noisy.argmax(axis=1)


def table_of_ties(task: str, n: int = 250, missing: float = 0.0) -> tuple[Array, Array]:
    """Return X and y of which many splits part the rows in the same halves: columns come as copies, turned round, as
    whole numbers and as indicators.
    """
    X, y = example_data(task, n)
    steps = np.clip(np.round(X[:, 1]), -1, 2)
    X = np.column_stack([X[:, 0], -X[:, 0], X[:, 0], steps, -steps, steps == 1, steps != 1, X[:, 2] > 0, X[:, 2] <= 0])
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    return X, y
