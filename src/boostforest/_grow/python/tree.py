"""One growing tree whose node models are fitted in Python: its rows, its nodes so far and its open leaves."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.draws import child
from ..._base.typing import Floats, Ints
from ..._core import NodeTag, TreeTag
from ...nodes._python import NodeFitter
from ..data import Replica

# Column of a node -> what a new node has there.
_EMPTY: dict[str, Any] = {
    "feature": -1, "threshold": 0.0, "missing_left": False, "gain": 0.0, "left": 0,
    "n_samples": 0.0, "loss": 0.0, "lower": -np.inf, "upper": np.inf, "model": None,
}  # fmt: skip

Columns = dict[str, list[Any]]


class Split(NamedTuple):
    """How a leaf is split; see ``Split`` in ``src/core/grow/split.hpp``."""

    feature: int
    threshold: float
    gain: float
    saw_missing: bool
    missing_left: bool
    possible: bool


@dataclass
class TreePlan:
    """What is settled before a tree grows."""

    number: int  #: in the forest
    seed: int
    params: dict[str, Any]  #: the tree's own parameters
    rules: list[float]  #: those of a split, as the core takes them


class Sample(NamedTuple):
    """Rows that something is computed on, a whole leaf or a batch of one, as the core takes them."""

    rows: Ints
    weights: Floats
    scores: Floats  #: outputs × rows


@dataclass(eq=False)
class Leaf:
    """An open leaf, or a node that is about to be one."""

    tree: "GrowingTree"
    node: int
    parent: int
    path: str  #: the turns that lead to it
    key: int  #: its random numbers follow from it
    rows: Ints
    #: outputs × rows: Σ of the models on the path, without its own until that is fitted. None: there are too many rows,
    #: and batches are scored when they are drawn.
    scores: Floats | None
    weight: float = field(init=False)
    count: int = field(init=False)  #: rows, drawn ones as often as they were drawn
    loss: float = 0.0

    def __post_init__(self) -> None:
        self.weight = float(self.tree.weights[self.rows].sum())
        self.count = int(self.tree.counts[self.rows].sum())

    @property
    def where(self) -> str:
        """The node's name in messages."""
        return f"{f'node {self.path}' if self.path else 'the root'} of tree {self.tree.plan.number}"

    @property
    def uses_batch(self) -> bool:
        """Whether it has more rows than are looked at."""
        batch_size = self.tree.plan.params["batch_size"]
        return batch_size is not None and self.count > batch_size

    @property
    def model_uses_batch(self) -> bool:
        """Whether its model looks at a batch as well."""
        return self.uses_batch and not self.tree.fitter.fits_all_rows


class GrowingTree:
    """One tree on its way."""

    def __init__(self, plan: TreePlan, replica: Replica, fitter: NodeFitter, start: Floats | None) -> None:
        self.plan = plan
        self.start = start
        self.fitter = fitter
        self.counts, self.weights = replica
        self.key = child(plan.seed, TreeTag.TREE_MODELS)
        self.n_leaves = 1
        self._columns: Columns = {name: [] for name in _EMPTY}
        self._parents: list[int] = []
        self._add_node(-1)
        rows = np.flatnonzero((self.counts > 0) & (self.weights > 0)).astype(np.int32)
        scores = self._start_scores(rows)
        self.root = Leaf(self, 0, -1, "", child(plan.seed, TreeTag.ROOT), rows, scores)
        self.open = [self.root]

    def _add_node(self, parent: int) -> None:
        self._parents.append(parent)
        for name, empty in _EMPTY.items():
            self._columns[name].append(empty)

    def take_open(self) -> list[Leaf]:
        """Return the leaves to be split next: all of them, or that of the highest loss if leaves are limited."""
        limit = self.plan.params["max_leaf_nodes"]
        if limit is None:
            leaves, self.open = self.open, []
            return leaves
        if not self.open or self.n_leaves >= limit:
            return []
        leaf = max(self.open, key=lambda leaf: (leaf.loss, -leaf.node))
        self.open.remove(leaf)
        return [leaf]

    def sample(self, leaf: Leaf, key: int, batch: bool, scored_by: int) -> Sample:
        """Return the rows of a leaf, or a batch of them, with the scores of the path to node ``scored_by``.

        A row that was drawn k times counts as k rows in a batch.
        """
        rows = leaf.rows
        weights = self.weights[rows]
        taken: Any = slice(None)
        if batch:
            positions = _core.batch_positions(key, leaf.count, self.plan.params["batch_size"])
            owners = np.searchsorted(np.cumsum(self.counts[rows]), positions, side="right")
            taken, times = np.unique(owners, return_counts=True)
            rows = rows[taken]
            weights = weights[taken] * times / self.counts[rows]
        if leaf.scores is None:
            return Sample(rows, weights, self._path_scores(scored_by, rows))
        return Sample(rows, weights, np.ascontiguousarray(leaf.scores[:, taken]))

    def _start_scores(self, rows: Ints) -> Floats:
        if self.start is None:
            return np.zeros((self.fitter.n_outputs, len(rows)))
        return np.ascontiguousarray(self.start[rows].T)

    def _path_scores(self, node: int, rows: Ints) -> Floats:
        scores = self._start_scores(rows)
        while node >= 0:
            model = self._columns["model"][node]
            if model is not None:
                output = self.fitter.outputs([(model, rows, f"a node of tree {self.plan.number}")])[0]
                scores += np.clip(output, self._columns["lower"][node], self._columns["upper"][node])
            node = self._parents[node]
        return scores

    def can_split(self, leaf: Leaf) -> bool:
        """Tell whether a leaf may be split at all."""
        params = self.plan.params
        deep = params["max_depth"] is not None and len(leaf.path) >= params["max_depth"]
        return not deep and leaf.weight >= 2 * params["min_samples_leaf"] and len(leaf.rows) >= 2

    def split(self, table: _core.TrainingTable, leaf: Leaf, split: Split) -> list[Leaf]:
        """Split the rows of a leaf; return its children, which have no models yet."""
        left = table.values[leaf.rows, split.feature] <= split.threshold
        missing = table.is_missing(leaf.rows, split.feature)
        missing_left = split.missing_left
        if not split.saw_missing:  # rows without the feature then go where there is more weight
            known = self.weights[leaf.rows] * ~missing
            missing_left = bool(known[left].sum() >= known[~left].sum())
        left[missing] = missing_left
        first = len(self._parents)
        self._set(leaf.node, feature=split.feature, threshold=split.threshold, gain=split.gain, left=first)
        self._set(leaf.node, missing_left=missing_left)
        self.n_leaves += 1
        children = []
        for side, tag, here in ((0, NodeTag.LEFT_CHILD, left), (1, NodeTag.RIGHT_CHILD, ~left)):
            self._add_node(leaf.node)
            scores = None if leaf.scores is None else np.ascontiguousarray(leaf.scores[:, here])
            key, path = child(leaf.key, tag), leaf.path + "LR"[side]
            children.append(Leaf(self, first + side, leaf.node, path, key, leaf.rows[here], scores))
        return children

    def set_start(self, loss: float) -> None:
        """Note the loss before the first model."""
        self.root.loss = loss
        self._set(0, n_samples=self.root.weight, loss=loss)

    def set_model(self, leaf: Leaf, model: Any, lower: float, upper: float) -> None:
        """Note the model of a leaf, and what is known of the leaf after it."""
        self._set(leaf.node, n_samples=leaf.weight, loss=leaf.loss, lower=lower, upper=upper, model=model)

    def model_above(self, leaf: Leaf) -> Any:
        """Return the model of a leaf's parent, None if it has none."""
        return None if leaf.parent < 0 else self._columns["model"][leaf.parent]

    def _set(self, node: int, **values: Any) -> None:
        for name, value in values.items():
            self._columns[name][node] = value

    def finish(self) -> Columns:
        """Return the columns, nodes numbered as the core numbers them."""
        if self.plan.params["max_leaf_nodes"] is not None:
            return self._columns
        left = self._columns["left"]
        order, todo = [0], [0]
        while todo:  # the core goes depth first; children are numbered when their parent is split
            node = todo.pop()
            if left[node] > 0:
                order += [left[node], left[node] + 1]
                todo += [left[node] + 1, left[node]]
        number = {node: i for i, node in enumerate(order)}
        columns = {name: [values[node] for node in order] for name, values in self._columns.items()}
        columns["left"] = [number[node] for node in columns["left"]]
        return columns
