"""The slow twin of SimpleLogistic and LMT, in plain NumPy: every regression, every split and every stage from scratch.

Words: a model is an array (J, 1 + d), intercept and slopes of one function per class; F are its values, P their
softmax. Rows are dealt into folds in the order in which they come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

N_FOLDS = 5
MAX_RESPONSE = 3.0


# ----------------------------------------------------------------------------------------------------------- LogitBoost


def values(model, X):
    """Return the class functions."""
    return model[:, 0] + X @ model[:, 1:].T


def softmax(F):
    e = np.exp(F - F.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def simple_regression(X, z, v):
    """Return intercept and slopes, all but one zero, of the weighted regression with the least squared error."""
    z_mean, x_mean = np.average(z, weights=v), np.average(X, weights=v, axis=0)
    xx = v @ (X - x_mean) ** 2
    xz = (v * (z - z_mean)) @ (X - x_mean)
    gain = np.where(xx > 0, xz**2 / np.where(xx > 0, xx, 1), -1)
    j = int(np.argmax(gain >= gain.max() * (1 - 1e-9)))  # the first of those that differ by rounding only
    model = np.zeros(1 + X.shape[1])
    model[1 + j] = xz[j] / xx[j]
    model[0] = z_mean - model[1 + j] * x_mean[j]
    return model


def iteration(model, X, Y, w):
    """Return what one iteration of LogitBoost adds to a model; Y are indicators of the classes."""
    P = softmax(values(model, X))
    J = Y.shape[1]
    step = np.zeros_like(model)
    for j in range(J):
        p = P[:, j]
        z = np.where(Y[:, j] == 1, 1 / np.maximum(p, 1 / MAX_RESPONSE), -1 / np.maximum(1 - p, 1 / MAX_RESPONSE))
        v = w * (Y[:, j] - p) / z
        if v.sum() > 2.0**-53 * w.sum():  # else all rows have probability 1, but for rounding
            step[j] = simple_regression(X, z, v)
    return (J - 1) / J * (step - step.mean(axis=0))


def boost(model, X, y, w, n_iter):
    """Yield the model before and after every iteration; there is none where no feature varies."""
    Y = np.eye(len(model))[y]
    yield model
    for _ in range(n_iter if np.ptp(X, axis=0).any() else 0):
        model = model + iteration(model, X, Y, w)
        yield model


def folds(y):
    """Return the fold of every row: class by class, in turn."""
    fold = np.empty(len(y), dtype=int)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % N_FOLDS
    return fold


def choose_by_cross_validation(model, X, y, w, max_iter, patience, on_probabilities):
    """Return the number of iterations with the least sum of the folds' errors."""
    errors = np.zeros(max_iter + 1)
    for f in range(N_FOLDS):
        out = folds(y) == f
        since, least = 0, np.inf
        for m, here in enumerate(boost(model, X[~out], y[~out], w[~out], len(errors) - 1)):
            P = softmax(values(here, X[out]))
            each = np.abs(P - np.eye(len(model))[y[out]]).mean(axis=1) if on_probabilities else P.argmax(1) != y[out]
            errors[m] += np.average(each, weights=w[out])
            if m > 0:
                if since > patience:
                    break
                since = 0 if errors[m] < least else since + 1
                least = min(least, errors[m])
        errors = errors[: m + 1]
    return int(errors.argmin())


def choose_by_aic(model, X, y, w, max_iter):
    """Return the number of iterations with the least criterion, one parameter an iteration."""
    losses = [-2 * w @ np.log(softmax(values(m, X))[np.arange(len(y)), y]) for m in boost(model, X, y, w, max_iter)]
    return int((np.array(losses) + 2 * np.arange(len(losses))).argmin())


# ------------------------------------------------------------------------------------------------------------- the tree


@dataclass
class Rules:
    n_iter: int
    min_split: float = 16
    min_leaf: float = 2


@dataclass
class Node:
    model: np.ndarray
    weight: float
    wrong: float
    held_out_wrong: float
    split: tuple[int, float] | None = None
    children: list[Node] = field(default_factory=list)
    is_cut: bool = False  # by pruning, at its present stage
    is_useless: bool = False  # its split was found to save nothing, at any stage


def information(counts):
    """Return the entropy in bits."""
    p = counts[counts > 0] / counts.sum()
    return -(p * np.log2(p)).sum()


def best_cut(x, y, w, J, min_leaf):
    """Return threshold, gain and gain ratio of the best split on a feature, None without one."""
    total = np.bincount(y, w, J)
    least = max(min_leaf, min(0.1 * total.sum() / J, 25))
    distinct = np.unique(x)
    best, n_cuts = (None, 0.0), 0
    for low, high in pairwise(distinct):
        left = np.bincount(y[x <= low], w[x <= low], J)
        sides = np.array([left.sum(), total.sum() - left.sum()])
        if sides.min() < least:
            continue
        n_cuts += 1
        inside = (sides * [information(left), information(total - left)]).sum() / total.sum()
        if information(total) - inside > best[1] + 1e-6:
            best = ((low + high) / 2, information(total) - inside, information(sides))
    if best[0] is None or (gain := best[1] - np.log2(n_cuts) / total.sum()) < 1e-6:
        return None
    return best[0], gain, gain / best[2]


def find_split(X, y, w, J, min_leaf):
    """Return feature and threshold, None if there is nothing to split."""
    if len(set(y)) < 2 or w.sum() < 2 * min_leaf:
        return None
    cuts = {j: best_cut(X[:, j], y, w, J, min_leaf) for j in range(X.shape[1])}
    cuts = {j: cut for j, cut in cuts.items() if cut is not None}
    split, best = None, 0.0
    for j, (threshold, gain, ratio) in cuts.items():
        if gain >= np.mean([g for _, g, _ in cuts.values()]) - 1e-3 and ratio > best + 1e-6:
            split, best = (j, threshold), ratio
    return split


def grow(model, X, y, w, held_out, rules, is_root=True):
    """Return the tree on these rows; held_out are (X, y, w) of rows to judge it on."""
    n_iter = rules.n_iter if is_root or w.sum() >= N_FOLDS else 0
    *_, model = boost(model, X, y, w, n_iter)
    wrong = [weight @ (values(model, rows).argmax(axis=1) != label) for rows, label, weight in ((X, y, w), held_out)]
    node = Node(model, w.sum(), *wrong)
    if w.sum() >= rules.min_split and (split := find_split(X, y, w, len(model), rules.min_leaf)) is not None:
        node.split = split
        for side in (np.less_equal, np.greater):
            here = side(X[:, split[0]], split[1])
            there = side(held_out[0][:, split[0]], split[1])
            below = tuple(part[there] for part in held_out)
            node.children.append(grow(model, X[here], y[here], w[here], below, rules, is_root=False))
    return node


def children(node):
    """Return what is left of the children."""
    return [] if node.is_cut or node.is_useless else node.children


def leaves(node):
    return [leaf for child in children(node) for leaf in leaves(child)] or [node]


def links(node, total):
    """Return (alpha, node) of every split from the root down; splits that save nothing are taken out on the way."""
    if not children(node):
        return []
    below = leaves(node)
    saved = (node.wrong - sum(leaf.wrong for leaf in below)) / total
    if saved <= 0:
        node.is_useless = True
        return []
    alpha = round(saved / (len(below) - 1) * 1e10) / 1e10
    return [(alpha, node), *[link for child in children(node) for link in links(child, total)]]


def stages(root, last_alpha=np.inf):
    """Prune the tree; return (alpha, held-out error) of every stage up to an alpha."""
    found = links(root, root.weight)
    result = [(0.0, sum(leaf.held_out_wrong for leaf in leaves(root)))]
    while found and (weakest := min(found, key=lambda link: link[0]))[0] <= last_alpha:
        weakest[1].is_cut = True
        result.append((weakest[0], sum(leaf.held_out_wrong for leaf in leaves(root))))
        found = links(root, root.weight)
    return result


def restore(node):
    """Take the splits back."""
    node.is_cut = False
    for child in node.children:
        restore(child)


def fit_tree(X, y, w, J, rules, prune):
    """Return a logistic model tree."""
    start, nothing = np.zeros((J, 1 + X.shape[1])), (X[:0], y[:0], w[:0])
    tree = grow(start, X, y, w, nothing, rules)
    if not prune:
        return tree
    judged = []
    for f in range(N_FOLDS):
        out = folds(y) == f
        part = grow(start, X[~out], y[~out], w[~out], (X[out], y[out], w[out]), rules)
        judged.append([(alpha, wrong / w[out].sum()) for alpha, wrong in stages(part)])
    alphas = [alpha for alpha, _ in stages(tree)]
    between = np.sqrt(np.array(alphas) * [*alphas[1:], 1.0])
    errors = [sum([e for a, e in fold if a <= alpha][-1] for fold in judged) for alpha in between]
    best = max(i for i, error in enumerate(errors) if error == min(errors))
    restore(tree)
    stages(tree, between[best])
    return tree


def tree_values(node, X):
    """Return the class functions of every row's leaf."""
    F = np.empty((len(X), len(node.model)))
    for i, row in enumerate(X):
        here = node
        while children(here):
            here = here.children[0 if row[here.split[0]] <= here.split[1] else 1]
        F[i] = values(here.model, row[None])[0]
    return F
