"""Trees as text and as a picture.

Any estimator can be shown that has ``_shown_nodes(feature_names, digits)`` and returns its nodes as ``ShownNode``, the
root first. The words are the estimator's own; the layout, and the numbers of the leaf models, are made here.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .snapshot import snapshot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ShownNode(NamedTuple):
    """One node in words."""

    summary: str  #: the rows and the error of the node, "165 rows, error 12.9 %"
    children: tuple[int, ...] = ()  #: numbers of the children, none for a leaf; they stand behind their parent
    conditions: tuple[str, ...] = ()  #: what leads to each child: ("CHMIN <= 7.5", "CHMIN > 7.5")
    model: tuple[str, ...] = ()  #: the lines of a leaf's model


class ModelTree(Protocol):
    """What the functions below ask of an estimator."""

    n_features_in_: int

    def _shown_nodes(self, feature_names: list[str], digits: int) -> list[ShownNode]:
        """Return the nodes, root first; numbers written with so many significant digits."""


def _checked(tree: Any) -> Any:
    """Return a fitted tree as it is now, or say what is not one."""
    if not hasattr(tree, "_shown_nodes"):
        hint = "; take one of its trees, forest.get_tree(0)" if hasattr(tree, "get_tree") else ""
        raise TypeError(f"tree must be a model tree or a BoostTree; got {type(tree).__name__}{hint}.")
    tree = snapshot(tree)
    check_is_fitted(tree)
    return tree


def _nodes_of(
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
    order = list(_walk(nodes))
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
            shown[i] = ShownNode(nodes[i].summary, model=(f"… {n_leaves[i]} leaves below",))
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


def _walk(nodes: list[ShownNode]) -> Iterator[tuple[int, int]]:
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
    tree = _checked(tree)
    nodes, leaf_numbers = _nodes_of(tree, feature_names, digits, max_depth)
    condition = {c: text for node in nodes for c, text in zip(node.children, node.conditions, strict=True)}
    lines, models = [], []
    for i, depth in _walk(nodes):
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


# ---------------------------------------------------------------------------------------------------------- picture

_CHARACTER = (0.62, 1.25)  # width and height of a character of the monospaced font, in font sizes
_GAPS = (3, 4)  # free characters between boxes, and lines between levels: their borders and edges need them
_MAX_INCHES = 100  # a larger figure cannot be drawn
_MARGIN = 1  # around the whole, in characters and lines


def _box_texts(nodes: list[ShownNode], leaf_numbers: dict[int, int], max_lines: int) -> list[str]:
    """Return the text in the box of each node."""
    texts = []
    for i, node in enumerate(nodes):
        if node.children:
            lines = [node.conditions[0] if len(node.children) == 2 else "", node.summary]
        else:
            model = node.model
            if len(model) > max_lines:
                model = (*model[: max_lines - 1], f"  … {len(model) - max_lines + 1} more")
            title = f"LM{leaf_numbers[i]}" if i in leaf_numbers else ""
            lines = [title, node.summary, *model]
        texts.append("\n".join(line for line in lines if line))
    return texts


def _height(text: str) -> int:
    return text.count("\n") + 1


def _positions(nodes: list[ShownNode], texts: list[str]) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Place the boxes: centre in characters and lines from the top left, and the size of the whole picture."""
    widths = [max(map(len, text.split("\n"))) + _GAPS[0] for text in texts]
    order = list(_walk(nodes))
    heights: dict[int, int] = {}  # of every level: its highest box
    for i, depth in order:
        heights[depth] = max(heights.get(depth, 0), _height(texts[i]))
    middles = np.cumsum([0, *[heights[d] + _GAPS[1] for d in range(len(heights))]])
    extents = {i: 0.0 for i, _ in order}  # width of the subtree
    for i, _ in reversed(order):
        extents[i] = max(widths[i], sum(extents[c] for c in nodes[i].children))
    left = {0: 0.0}
    centres: dict[int, tuple[float, float]] = {}
    for i, depth in order:
        here = left[i] + (extents[i] - sum(extents[c] for c in nodes[i].children)) / 2
        for child in nodes[i].children:
            left[child] = here
            here += extents[child]
        centres[i] = (left[i] + extents[i] / 2, float(middles[depth] + heights[depth] / 2))
    return centres, extents[0], float(middles[-1] - _GAPS[1])


def plot_tree(
    tree: ModelTree,
    *,
    feature_names: Sequence[str] | None = None,
    digits: int = 3,
    max_depth: int | None = None,
    max_lines: int = 12,
    fontsize: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree with the models of its leaves, in the units of the data.

    Needs matplotlib (``pip install "boostforest[plot]"``).

    Parameters
    ----------
    tree : BoostTreeRegressor, BoostTreeClassifier, M5PRegressor, LMTClassifier or SimpleLogisticClassifier
        A fitted tree; one of a forest is ``forest.get_tree(i)``.
    feature_names : sequence of str, default=None
        Names of the features; None takes those of the training table, or x0, x1, ….
    digits : int, default=3
        Significant digits of the numbers.
    max_depth : int, default=None
        Draw the tree down to this depth; None: all of it. A picture of more than some twenty leaves is hard to read.
    max_lines : int, default=12
        A longer leaf model is cut here.
    fontsize : float, default=None
        Size of the text in points; None takes 8 in a figure of its own (less for a huge tree), and what fits in ``ax``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure that is as large as the tree needs.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The drawing; ``ax.figure.savefig("tree.png")`` writes it to a file.

    Examples
    --------
    >>> from boostforest.model_trees import M5PRegressor, plot_tree
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> ax = plot_tree(M5PRegressor().fit(X, y))  # doctest: +SKIP
    >>> from boostforest import BoostTreeRegressor
    >>> ax = plot_tree(BoostTreeRegressor().fit(X, y), max_depth=3)  # doctest: +SKIP
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plot_tree needs matplotlib: pip install "boostforest[plot]".') from error
    if max_lines < 1:
        raise ValueError(f"max_lines must be an integer of at least 1; got {max_lines!r}.")
    tree = _checked(tree)
    nodes, leaf_numbers = _nodes_of(tree, feature_names, digits, max_depth)
    texts = _box_texts(nodes, leaf_numbers, max_lines)
    centres, width, height = _positions(nodes, texts)
    room = (width + 2 * _MARGIN, height + 2 * _MARGIN)
    points = (room[0] * _CHARACTER[0], room[1] * _CHARACTER[1])  # size of the picture at font size 1
    if ax is None:
        if fontsize is None:
            fontsize = min(8.0, _MAX_INCHES * 72 / max(points))
        figure = Figure(figsize=(points[0] * fontsize / 72, points[1] * fontsize / 72), dpi=150)
        ax = figure.add_axes((0, 0, 1, 1))
    elif fontsize is None:
        there = ax.get_window_extent()
        scale = 72 / ax.figure.dpi
        fontsize = min(10.0, there.width * scale / points[0], there.height * scale / points[1])
    _draw(ax, nodes, leaf_numbers, texts, centres, fontsize)
    ax.set(xlim=(-_MARGIN, width + _MARGIN), ylim=(height + _MARGIN, -_MARGIN))
    ax.set_axis_off()
    return ax


def _draw(
    ax: Axes,
    nodes: list[ShownNode],
    leaf_numbers: dict[int, int],
    texts: list[str],
    centres: dict[int, Any],
    size: float,
) -> None:
    for i, (x, y) in centres.items():
        node = nodes[i]
        colour = "#eef3fa" if node.children else "#f4f8ee" if i in leaf_numbers else "#eeeeee"
        box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#555555", "linewidth": 0.8}
        align = "center" if node.children else "left"
        ax.text(x, y, texts[i], ha="center", va="center", ma=align, family="monospace", size=size, bbox=box, zorder=2)
        labels = ("yes", "no") if len(node.children) == 2 else node.conditions
        for child, label in zip(node.children, labels, strict=True):
            to_x, to_y = centres[child]
            ax.plot([x, to_x], [y, to_y], color="#555555", linewidth=0.8, zorder=1)
            bottom, top = y + _height(texts[i]) / 2, to_y - _height(texts[child]) / 2  # of the boxes
            share = ((bottom + top) / 2 - y) / (to_y - y)
            at = (x + (to_x - x) * share, y + (to_y - y) * share)
            back = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
            ax.text(*at, label, ha="center", va="center", family="monospace", size=size, bbox=back, zorder=1.5)
