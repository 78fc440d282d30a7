"""Trees in words, and as text; ``boostforest.plot`` draws them.

Any estimator can be shown that has ``_shown_nodes(feature_names, digits)`` and returns its nodes as ``ShownNode``, the
root first. The words are the estimator's own; which nodes are shown, and the numbers of leaf models, are found here.
"""

import numbers
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .snapshot import snapshot


class ShownNode(NamedTuple):
    """One node in words."""

    summary: str  #: the rows and the error of the node, "165 rows, error 12.9 %"
    children: tuple[int, ...] = ()  #: numbers of the children, none for a leaf; they stand behind their parent
    conditions: tuple[str, ...] = ()  #: what leads to each child: ("CHMIN <= 7.5", "CHMIN > 7.5")
    model: tuple[str, ...] = ()  #: the lines of the model of a leaf, or of another node that has one of its own


class ModelTree(Protocol):
    """What the functions below ask of an estimator."""

    n_features_in_: int

    def _shown_nodes(self, feature_names: list[str], digits: int) -> list[ShownNode]:
        """Return the nodes, root first; numbers written with so many significant digits."""


def checked_tree(tree: Any) -> Any:
    """Return a fitted tree as it is now, or say what is not one."""
    if not hasattr(tree, "_shown_nodes"):
        hint = "; take one of its trees, forest.get_tree(0)" if hasattr(tree, "get_tree") else ""
        raise TypeError(f"tree must be a model tree or a BoostTree; got {type(tree).__name__}{hint}.")
    tree = snapshot(tree)
    check_is_fitted(tree)
    return tree


def nodes_of(
    tree: ModelTree, feature_names: Sequence[str] | None, digits: int, max_depth: int | None
) -> tuple[list[ShownNode], dict[int, int]]:
    """Return the nodes down to a depth, and the numbers of the leaves' models: 1, 2, … from left to right."""
    if feature_names is None:
        feature_names = getattr(tree, "feature_names_in_", [f"x{j}" for j in range(tree.n_features_in_)])
    names = [str(name) for name in feature_names]
    if len(names) != tree.n_features_in_:
        raise ValueError(f"feature_names must have {tree.n_features_in_} names, one per feature; got {len(names)}.")
    if not 1 <= digits <= 17:
        raise ValueError(f"digits must be an integer from 1 to 17; got {digits!r}.")
    if max_depth is not None and (not isinstance(max_depth, numbers.Integral) or max_depth < 0):
        raise ValueError(f"max_depth must be None or an integer of at least 0; got {max_depth!r}.")
    nodes = tree._shown_nodes(names, digits)
    order = list(walk(nodes))
    leaves = [i for i, _ in order if not nodes[i].children]
    shown = nodes if max_depth is None else _cut(nodes, order, int(max_depth))
    return shown, {leaf: place for place, leaf in enumerate(leaves, start=1)}


def _cut(nodes: list[ShownNode], order: list[tuple[int, int]], max_depth: int) -> list[ShownNode]:
    """Return the nodes without what is below a depth; the last ones say how much that is."""
    n_leaves = [1] * len(nodes)
    for i, _ in reversed(order):
        if nodes[i].children:
            n_leaves[i] = sum(n_leaves[c] for c in nodes[i].children)
    shown = list(nodes)
    for i, depth in order:
        if depth == max_depth and nodes[i].children:
            shown[i] = ShownNode(nodes[i].summary, model=(f"… {n_leaves[i]} leaves below", *nodes[i].model))
    return shown


def number(value: float, digits: int) -> str:
    """Write a number with so many significant digits, without an exponent where it can be read without."""
    if 1e-4 <= abs(value) < 1e7:
        return np.format_float_positional(value, digits, unique=False, fractional=False, trim="-")
    return f"{value:.{digits}g}"


def linear_model(
    target: str, intercept: float, slopes: Any, names: list[str], digits: int, effects: Any = None, most: int = 5
) -> tuple[str, ...]:
    """Write a linear model: the intercept, then one line per feature that counts.

    With ``effects``, the sizes of the features' effects, only the largest ones, in this order.
    """
    used = np.flatnonzero(slopes)
    n_left_out = 0
    if effects is not None:
        used = used[np.argsort(-effects[used], kind="stable")]
        n_left_out = len(used) - most if len(used) > most + 1 else 0  # a single one takes the line of the remark
        used = used[: len(used) - n_left_out]
    terms = [f"  {'-' if slopes[j] < 0 else '+'} {number(abs(slopes[j]), digits)} * {names[j]}" for j in used]
    rest = [f"  … {n_left_out} smaller terms"] if n_left_out else []
    return (f"{target} = {number(intercept, digits)}", *terms, *rest)


def walk(nodes: list[ShownNode]) -> Iterator[tuple[int, int]]:
    """Yield every node and its depth, a node before its children, from left to right. No recursion: trees are deep."""
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend((child, depth + 1) for child in reversed(nodes[node].children))


def export_text(
    tree: ModelTree, *, feature_names: Sequence[str] | None = None, digits: int = 4, max_depth: int | None = None
) -> str:
    """Write a tree as text: its conditions, then the model of every leaf, in the units of the data.

    Parameters
    ----------
    tree : BoostTreeRegressor, BoostTreeClassifier, M5PRegressor, LMTClassifier or SimpleLogisticClassifier
        A fitted tree; one of a forest is ``forest.get_tree(i)``.
    feature_names : sequence of str, default=None
        Names of the features; None takes those of the training table, or x0, x1, ….
    digits : int, default=4
        Significant digits of the numbers.
    max_depth : int, default=None
        Show the tree down to this depth; None: all of it.

    Returns
    -------
    text : str
        One line per branch, indented by depth, then the leaf models LM1, LM2, … from left to right. Of a BoostTree's
        models the terms with the largest effects (`to_dataframe` has all); "or missing" and "or unknown" say which
        side missing values and unknown categories go to, and ``town:mean`` is the mean of the target that stands for
        a town.

    Examples
    --------
    >>> import numpy as np
    >>> from boostforest.model_trees import M5PRegressor, export_text
    >>> x = np.arange(40.0)
    >>> tree = M5PRegressor(smooth=False).fit(x[:, None], np.where(x < 20, 5 + x, 100 - 2 * x))
    >>> print(export_text(tree, feature_names=["x"]))
    x <= 19.5: LM1 (20 rows, error 0.0 %)
    x > 19.5: LM2 (20 rows, error 0.0 %)
    <BLANKLINE>
    LM1: y = 5
      + 1 * x
    <BLANKLINE>
    LM2: y = 100
      - 2 * x
    """
    tree = checked_tree(tree)
    nodes, leaf_numbers = nodes_of(tree, feature_names, digits, max_depth)
    condition = {c: text for node in nodes for c, text in zip(node.children, node.conditions, strict=True)}
    lines, models = [], []
    for i, depth in walk(nodes):
        title = ""
        if i in leaf_numbers:
            title = f"LM{leaf_numbers[i]} ({nodes[i].summary})"
            models += ["", f"LM{leaf_numbers[i]}: " + "\n".join(nodes[i].model)]
        elif not nodes[i].children:
            title = f"{nodes[i].model[0]} ({nodes[i].summary})"
        if depth > 0:
            lines.append("|   " * (depth - 1) + f"{condition[i]}: {title}".rstrip())
        elif title:
            lines.append(title)
    remark = getattr(tree, "_shown_remark", "")
    return "\n".join([*lines, *models, *(["", remark] if remark and models else [])])
