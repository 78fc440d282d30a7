"""Model trees as text and as a picture."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from boostforest.model_trees import M5PRegressor, export_text, plot_tree
from weka_m5p import piecewise_linear


@pytest.fixture(scope="module")
def tree():
    X, y = piecewise_linear()
    return M5PRegressor().fit(pd.DataFrame(X, columns=list("abcdef")), y)


def read_text(text, x):
    """Predict one row from what ``export_text`` prints."""
    branches, *models = text.split("\n\n")
    depth = 0
    for line in branches.splitlines():
        condition, _, leaf = line.removeprefix("|   " * depth).partition(":")
        if condition.startswith("|"):  # below a branch that was not taken
            continue
        name, sign, threshold = condition.split()
        if (x[name] <= float(threshold)) == (sign == "<="):
            depth += 1
            if leaf:
                number = int(leaf.split()[0].removeprefix("LM"))
                break
    first, *terms = models[number - 1].splitlines()
    value = float(first.split("=")[1])
    for term in terms:
        sign, slope, _, name = term.split()
        value += (1 if sign == "+" else -1) * float(slope) * x[name]
    return value


def test_the_text_says_what_the_tree_predicts(tree):
    X = pd.DataFrame(piecewise_linear()[0], columns=list("abcdef"))
    text = export_text(tree, digits=15)
    assert_allclose([read_text(text, row) for _, row in X.iterrows()], tree.predict(X), rtol=1e-9, atol=1e-9)


def test_the_text_has_a_line_per_branch_and_a_model_per_leaf(tree):
    branches, *models = export_text(tree).split("\n\n")
    assert len(models) == tree.n_leaves_ > 3
    assert len(branches.splitlines()) == tree.n_nodes_ - 1
    assert [model.split(":")[0] for model in models] == [f"LM{i + 1}" for i in range(tree.n_leaves_)]
    assert branches.startswith("a <= ")
    assert "|   b <= " in branches
    assert "300 rows" not in branches  # the root has no line of its own
    assert sum(int(line.split("(")[1].split()[0]) for line in branches.splitlines() if "rows" in line) == 300


def test_a_tree_without_a_split_is_its_model():
    x = np.arange(10.0)
    text = export_text(M5PRegressor().fit(x[:, None], 3 + 0 * x))
    assert text == "LM1 (10 rows, error 0.0 %)\n\nLM1: y = 3"


@pytest.mark.parametrize(
    ("value", "text"), [(1436.0, "1440"), (-0.05009, "-0.0501"), (1e-7, "1e-07"), (2.5e9, "2.5e+09"), (0.0, "0")]
)
def test_numbers_have_so_many_digits(value, text):
    X = np.arange(10.0)[:, None]
    tree = M5PRegressor().fit(X, np.full(10, value))
    assert export_text(tree, digits=3).endswith(f"y = {text}")


def test_names_may_be_given(tree):
    text = export_text(tree, feature_names=["first", *"bcdef"])
    assert text.startswith("first <= ")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"feature_names": ["a"]}, ValueError, "feature_names must have 6 names, one per feature; got 1"),
        ({"digits": 0}, ValueError, "digits must be an integer from 1 to 17; got 0"),
    ],
)
def test_bad_arguments_are_named(tree, arguments, error, message):
    for show in (export_text, plot_tree):
        with pytest.raises(error, match=message):
            show(tree, **arguments)


def test_other_estimators_are_refused():
    with pytest.raises(TypeError, match=r"tree must be a model tree or a BoostTree; got int\.$"):
        export_text(3)


# ---------------------------------------------------------------------------------------------------------- the picture


def boxes(ax):
    """Return the boxes of the nodes in pixels."""
    renderer = ax.figure.canvas.get_renderer()
    return {t.get_text(): t.get_window_extent(renderer) for t in ax.texts if t.get_zorder() == 2}


@pytest.mark.parametrize("own_axes", [False, True])
def test_the_picture_shows_every_node_within_the_figure_and_none_above_another(tree, own_axes):
    ax = Figure(figsize=(16, 8)).add_subplot() if own_axes else None
    ax = plot_tree(tree, ax=ax)
    FigureCanvasAgg(ax.figure).draw()
    found = boxes(ax)
    assert len(found) == tree.n_nodes_
    assert sum(text.startswith("LM") for text in found) == tree.n_leaves_
    whole = ax.figure.bbox
    extents = list(found.values())
    for i, box in enumerate(extents):
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in extents[:i])


def test_long_models_are_cut_in_the_picture(tree):
    ax = plot_tree(tree, max_lines=2)
    assert any("… " in t.get_text() and " more" in t.get_text() for t in ax.texts)
    with pytest.raises(ValueError, match="max_lines must be an integer of at least 1; got 0"):
        plot_tree(tree, max_lines=0)


def test_a_large_tree_still_fits_a_figure():
    X, y = piecewise_linear()
    ax = plot_tree(M5PRegressor(prune=False).fit(X, y))
    assert max(ax.figure.get_size_inches()) <= 100.001


def test_without_matplotlib_the_extra_is_named(tree, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r'pip install "boostforest\[plot\]"'):
        plot_tree(tree)
