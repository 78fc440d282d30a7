"""Trees as pictures and as Graphviz text, in the units of the data."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._estimator.show import ModelTree, ShownNode, checked_tree, nodes_of, walk
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHARACTER = (0.62, 1.25)  # width and height of a character of the monospaced font, in font sizes
_GAPS = (3, 4)  # free characters between boxes, and lines between levels: their borders and edges need them
_MAX_INCHES = 100  # a larger figure cannot be drawn
_MARGIN = 1  # around the whole, in characters and lines
_LONGEST_NAME = 20  # characters of a feature
_LONGEST_LINE = 48  # characters in a box


def tree(
    forest: Any,
    i: int = 0,
    *,
    max_depth: int | None = 3,
    feature_names: Sequence[str] | None = None,
    digits: int = 3,
    max_lines: int = 12,
    fontsize: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree, or one of a forest, with its models, in the units of the data.

    Parameters
    ----------
    forest : fitted tree or forest
        A BoostTree, a model tree, or a forest with `get_tree`.
    i : int, default=0
        Number of the tree in the forest.
    max_depth : int, default=3
        Draw the tree down to this depth; None: all of it.
    feature_names : sequence of str, default=None
        Names of the features; None takes those of the training table, or x0, x1, ….
    digits : int, default=3
        Significant digits of the numbers.
    max_lines : int, default=12
        A longer model is cut here.
    fontsize : float, default=None
        Size of the text in points; None takes 8 in a figure of its own (less for a huge tree), and what fits in ``ax``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure that is as large as the tree needs.

    Returns
    -------
    ax : matplotlib.axes.Axes
        Boxes of splits and of leaves with their models, the terms with the largest effects first. Where the tree goes
        on below ``max_depth``, the box says with how many leaves, and has the model that the node itself has, if any.

    See Also
    --------
    to_dot : The same for Graphviz.
    boostforest.export_text : The same as text.

    Examples
    --------
    >>> from boostforest import BoostForestRegressor, plot
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = BoostForestRegressor(20, random_state=0).fit(X, y)
    >>> plot.tree(forest, 3, max_depth=2).figure.savefig("tree.png")  # doctest: +SKIP
    """
    canvas.check_axes(ax)
    return _picture(one_tree(forest, i), feature_names, digits, max_depth, max_lines, fontsize, ax)


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
    """Draw a whole tree with the models of its leaves, in the units of the data.

    Needs matplotlib (``pip install "boostforest[plot]"``). `boostforest.plot.tree` takes forests too.

    Parameters
    ----------
    tree : BoostTreeRegressor, BoostTreeClassifier, M5PRegressor, LMTClassifier or SimpleLogisticClassifier
        A fitted tree; one of a forest is ``forest.get_tree(i)``.
    feature_names, digits, max_lines, fontsize, ax
        As in `boostforest.plot.tree`.
    max_depth : int, default=None
        Draw the tree down to this depth; None: all of it. A picture of more than some twenty leaves is hard to read.

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
    >>> ax.figure.savefig("tree.png")  # doctest: +SKIP
    """
    canvas.check_axes(ax)
    return _picture(checked_tree(tree), feature_names, digits, max_depth, max_lines, fontsize, ax)


def to_dot(
    forest: Any,
    i: int = 0,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    digits: int = 3,
) -> str:
    r"""Write a tree, or one of a forest, as Graphviz text.

    Parameters
    ----------
    forest, i, feature_names, digits
        As in `tree`.
    max_depth : int, default=None
        Write the tree down to this depth; None: all of it.

    Returns
    -------
    text : str
        In the DOT language; ``dot -Tsvg tree.dot -o tree.svg`` draws it. Neither Graphviz nor matplotlib is needed for
        the text.

    Examples
    --------
    >>> import numpy as np
    >>> from boostforest import plot
    >>> from boostforest.model_trees import M5PRegressor
    >>> x = np.arange(40.0)
    >>> tree = M5PRegressor(smooth=False).fit(x[:, None], np.where(x < 20, 5 + x, 100 - 2 * x))
    >>> print(plot.to_dot(tree))
    digraph tree {
        node [shape=box, style="rounded,filled", fillcolor="#eef3fa", fontname="monospace", fontsize=10];
        edge [fontname="monospace", fontsize=10];
        n0 [label="x0 <= 19.5\n40 rows\n"];
        n0 -> n1 [label="yes"];
        n0 -> n2 [label="no"];
        n1 [label="LM1\l20 rows, error 0.0 %\ly = 5\l  + 1 * x0\l", fillcolor="#f4f8ee"];
        n2 [label="LM2\l20 rows, error 0.0 %\ly = 100\l  - 2 * x0\l", fillcolor="#f4f8ee"];
    }
    """
    nodes, leaf_numbers = nodes_of(one_tree(forest, i), feature_names, digits, max_depth)
    texts = _box_texts(nodes, leaf_numbers, max_lines=10**9)
    lines = [
        'node [shape=box, style="rounded,filled", fillcolor="#eef3fa", fontname="monospace", fontsize=10];',
        'edge [fontname="monospace", fontsize=10];',
    ]
    for i, _ in walk(nodes):
        node = nodes[i]
        label = "".join(_escaped(line) + (r"\n" if node.children else r"\l") for line in texts[i].split("\n"))
        fill = "" if node.children else ', fillcolor="#f4f8ee"'
        lines.append(f'n{i} [label="{label}"{fill}];')
        for child, answer in zip(node.children, _answers(node), strict=True):
            lines.append(f'n{i} -> n{child} [label="{_escaped(answer)}"];')
    return "\n".join(["digraph tree {", *(f"    {line}" for line in lines), "}"])


def one_tree(forest: Any, i: int) -> Any:
    """Return a tree of a forest, or the tree itself."""
    if hasattr(forest, "get_tree"):
        canvas.check_estimator(forest, "a tree or a forest")
        return forest.get_tree(i)
    if not isinstance(i, numbers.Integral) or i != 0:
        raise ValueError(f"i must be 0 where there is a single tree; got {i!r}.")
    return checked_tree(forest)


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"', '\\"')


def _answers(node: ShownNode) -> tuple[str, ...]:
    """Return what stands at the edges to the children of a node, whose box has the condition of two."""
    return ("yes", "no") if len(node.children) == 2 else node.conditions


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
        texts.append("\n".join(line.replace("\n", " ") for line in lines if line))
    return texts


# -------------------------------------------------------------------------------------------------------- the picture


def _picture(
    tree: Any,
    feature_names: Sequence[str] | None,
    digits: int,
    max_depth: int | None,
    max_lines: int,
    fontsize: float | None,
    ax: Axes | None,
) -> Axes:
    canvas.check_count("max_lines", max_lines)
    if feature_names is None:
        names = canvas.names_of(tree, tree.n_features_in_)
        feature_names = [canvas.shortened(name, _LONGEST_NAME) for name in names]
    nodes, leaf_numbers = nodes_of(tree, feature_names, digits, max_depth)
    texts = _box_texts(nodes, leaf_numbers, max_lines)
    texts = ["\n".join(map(_cut, text.split("\n"))) for text in texts]
    centres, width, height = _positions(nodes, texts)
    room = (width + 2 * _MARGIN, height + 2 * _MARGIN)
    points = (room[0] * _CHARACTER[0], room[1] * _CHARACTER[1])  # size of the picture at font size 1
    if ax is None:
        import matplotlib.pyplot as plt

        if fontsize is None:
            fontsize = min(8.0, _MAX_INCHES * 72 / max(points))
        figure = plt.figure(figsize=(points[0] * fontsize / 72, points[1] * fontsize / 72), dpi=150)
        ax = figure.add_axes((0, 0, 1, 1))
    elif fontsize is None:
        there = ax.get_window_extent()
        scale = 72 / ax.figure.dpi
        fontsize = min(10.0, there.width * scale / points[0], there.height * scale / points[1])
    _draw(canvas.Canvas(ax, 0, 0), nodes, leaf_numbers, texts, centres, fontsize)
    ax.set(xlim=(-_MARGIN, width + _MARGIN), ylim=(height + _MARGIN, -_MARGIN))
    ax.set_axis_off()
    return ax


def _cut(line: str) -> str:
    """Return a line that does not make its box, and with it the picture, too wide."""
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _height(text: str) -> int:
    return text.count("\n") + 1


def _positions(nodes: list[ShownNode], texts: list[str]) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Place the boxes: centre in characters and lines from the top left, and the size of the whole picture."""
    widths = [max(map(len, text.split("\n"))) + _GAPS[0] for text in texts]
    order = list(walk(nodes))
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


def _draw(
    c: canvas.Canvas,
    nodes: list[ShownNode],
    leaf_numbers: dict[int, int],
    texts: list[str],
    centres: dict[int, Any],
    size: float,
) -> None:
    fonts: dict[str, Any] = {"va": "center", "ha": "center", "family": "monospace", "size": size, "parse_math": False}
    edge = c.soft(0.6)
    for i, (x, y) in centres.items():
        node = nodes[i]
        tint = c.tint(c.colours[0 if node.children else 2], 0.22 if c.is_dark else 0.12)
        colour = tint if node.children or i in leaf_numbers else c.soft(0.08)
        box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": edge, "linewidth": 0.8}
        align = "center" if node.children else "left"
        c.ax.text(x, y, texts[i], ma=align, bbox=box, zorder=2, color=c.ink, **fonts)
        for child, label in zip(node.children, _answers(node), strict=True):
            to_x, to_y = centres[child]
            c.ax.plot([x, to_x], [y, to_y], color=edge, linewidth=0.8, zorder=1)
            bottom, top = y + _height(texts[i]) / 2, to_y - _height(texts[child]) / 2  # of the boxes
            share = ((bottom + top) / 2 - y) / (to_y - y)
            at = (x + (to_x - x) * share, y + (to_y - y) * share)
            c.ax.text(*at, label, bbox=c.behind_text(), zorder=1.5, color=c.ink, **fonts)
