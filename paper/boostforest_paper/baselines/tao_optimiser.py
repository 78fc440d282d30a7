"""Tree alternating optimisation: one node after another, the others fixed."""

import numpy as np

from .._product import Floats, Indices, _core
from .tao_tree import TAOTree, class_logits, goes_right, losses

_NEWTON_STEPS = 20
_TOLERANCE = 1e-4  # of a logistic regression
_ROUNDING = 1e-9  # a smaller part of a node's objective is not a decrease
_WORTHWHILE = 1e-4  # part of the whole objective that going through all nodes has to take off


class TAOOptimiser:
    """A tree, its training rows, and the objective Σ w · loss + α · (sizes of all slopes)."""

    def __init__(
        self, tree: TAOTree, X: Floats, y: Indices, weight: Floats, n_classes: int, reg_alpha: float, loss: str
    ) -> None:
        self.tree = tree
        self.X, self.y, self.weight = X, y, weight
        self.n_classes = n_classes
        self.alpha, self.loss = reg_alpha, loss
        self.levels = tree.levels()

    def run(self, max_iter: int) -> list[float]:
        """Go through all nodes until hardly anything changes; return the objective before, and after every time."""
        objectives = [self.objective()]
        for _ in range(max_iter):
            self.go_through()
            objectives.append(self.objective())
            if objectives[-2] - objectives[-1] <= _WORTHWHILE * objectives[-2]:
                break
        return objectives

    def objective(self) -> float:
        """Return what is minimised."""
        leaves = self.tree.leaves(self.X, np.zeros(len(self.y), dtype=np.intp))
        return float(self.weight @ self.losses_at(np.arange(len(self.y)), leaves)) + self.alpha * self.tree.penalty()

    def node_weights(self) -> Floats:
        """Return the weight of the rows in every node."""
        weights = np.zeros(self.tree.n_nodes)
        for level, nodes in enumerate(self.paths()):
            here = self.levels[nodes] == level
            np.add.at(weights, nodes[here], self.weight[here])
        return weights

    def paths(self) -> list[Indices]:
        """Return the node of every row at each level; rows stay at their leaf."""
        paths = [np.zeros(len(self.y), dtype=np.intp)]
        for _ in range(int(self.levels.max())):
            paths.append(self.tree.step(self.X, paths[-1]))
        return paths

    def losses_at(self, rows: Indices, leaves: Indices) -> Floats:
        """Return the losses of rows at given leaves."""
        return losses(self.tree.scores(self.X[rows], leaves), self.y[rows], self.loss)

    def go_through(self) -> None:
        """Update every node once, the deepest first.

        What is decided further down does not change which rows come to a node, and nodes of one level share no rows.
        """
        paths = self.paths()
        for level in reversed(range(len(paths))):
            nodes = paths[level]
            here = self.levels[nodes] == level
            is_inner = self.tree.left[nodes] > 0
            for node, rows in _by_node(nodes, np.flatnonzero(here & ~is_inner)):
                self.update_leaf(node, rows)
            inner = np.flatnonzero(here & is_inner)
            if len(inner) == 0:
                continue
            left = self.tree.left[nodes[inner]]
            below = np.zeros((2, len(self.y)))  # loss of each row if it goes left, or right
            for side in (0, 1):
                below[side, inner] = self.losses_at(inner, self.tree.leaves(self.X[inner], left + side))
            for node, rows in _by_node(nodes, inner):
                self.update_decision(node, rows, below[0, rows], below[1, rows])

    def update_leaf(self, node: int, rows: Indices) -> None:
        """Fit the model of a leaf; keep it if the objective falls."""
        old = self.tree.coef[self.tree.model[node]]
        y = self.y[rows]
        if (y == y[0]).all():
            new = np.zeros_like(old)
            new[:, 0] = class_logits(np.bincount(y, self.weight[rows], self.n_classes).astype(np.float64))
        else:
            new = self.regress(rows, y, self.weight[rows], old)

        def objective(coef: Floats) -> float:
            scores = self.X[rows] @ coef[:, 1:].T + coef[:, 0]
            return float(self.weight[rows] @ losses(scores, y, self.loss) + self.alpha * np.abs(coef[:, 1:]).sum())

        if _falls(objective(old), objective(new)):
            old[:] = new

    def update_decision(self, node: int, rows: Indices, left: Floats, right: Floats) -> None:
        """Fit a decision node, given the losses of its rows on either side; keep it if the objective falls.

        Rows with the same loss on both sides do not care. For the others it is a classification: which side is better,
        weighted by how much.
        """
        old = self.tree.decision[node]
        weight = self.weight[rows]
        right_is_better = right < left
        stakes = weight * np.abs(left - right)
        care = stakes > 0
        candidates = [np.zeros_like(old), np.zeros_like(old)]  # all rows to one side
        candidates[0][0], candidates[1][0] = -1, 1
        if care.any() and right_is_better[care].any() and not right_is_better[care].all():
            y = right_is_better[care].astype(np.intp)
            candidates.append(self.regress(rows[care], y, stakes[care], old[None, :])[0])

        X = self.X[rows]

        def objective(decision: Floats) -> float:
            is_right = goes_right(X, np.broadcast_to(decision, (len(X), len(decision))))
            return float(weight @ np.where(is_right, right, left)) + self.alpha * float(np.abs(decision[1:]).sum())

        values = [objective(candidate) for candidate in candidates]
        best = int(np.argmin(values))
        if _falls(objective(old), values[best]):
            old[:] = candidates[best]

    def regress(self, rows: Indices, y: Indices, weight: Floats, start: Floats) -> Floats:
        """Return the coefficients of a logistic regression with the penalty."""
        coef = np.array(start, order="C")  # a copy: it is overwritten
        labels, weights = y.astype(np.float64), np.ascontiguousarray(weight)
        _core.l1_logistic(self.X, rows.astype(np.int32), labels, weights, self.alpha, coef, _NEWTON_STEPS, _TOLERANCE)
        return coef


def _falls(old: float, new: float) -> bool:
    return new < old - _ROUNDING * abs(old)


def _by_node(nodes: Indices, rows: Indices) -> list[tuple[int, Indices]]:
    """Return the nodes of some rows, each with its rows."""
    if len(rows) == 0:
        return []
    order = rows[np.argsort(nodes[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(nodes[order])) + 1
    return [(int(nodes[part[0]]), part) for part in np.split(order, cuts)]
