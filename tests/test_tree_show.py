"""BoostTrees as text and as a picture, in the user's units."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

import boostforest
from boostforest import (
    BoostForestClassifier,
    BoostForestRegressor,
    BoostTreeClassifier,
    BoostTreeRegressor,
    export_text,
    model_trees,
    plot_tree,
)
from models import TREES
from twin import example_data


def shop(n=300):
    """Return a table with units, categories and missing values, and a target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 12, n), "income": rng.lognormal(10, 1, n)})
    frame["town"] = rng.choice(["Ulm", "Rom", "Bern"], n)
    frame["sex"] = rng.choice(["f", "m"], n)
    y = 3 * frame["age"] + 1e-3 * frame["income"] + 40 * (frame["town"] == "Rom") - 9 * (frame["sex"] == "m")
    frame.loc[::9, "income"] = np.nan
    return frame, y + rng.normal(size=n)


X, y = shop()


def holds(condition, row):
    """Tell whether a row meets a condition as the text has it."""
    condition, _, absent = condition.partition(" or ")
    if condition.endswith(("is missing", "is not missing")):
        return pd.isna(row[condition.split(" is ")[0]]) == condition.endswith("is missing")
    name, sign, value = condition.split(" ")
    if pd.isna(row[name]) or (sign in ("=", "!=") and row[name] not in ("Ulm", "Rom", "Bern", "f", "m")):
        return bool(absent)
    if sign in ("=", "!="):
        return (row[name] == value) == (sign == "=")
    return (row[name] <= float(value)) == (sign == "<=")


def score_from_text(text, row, label="y"):
    """Predict one row from what ``export_text`` prints."""
    branches, *models = text.split("\n\n")
    depth = 0
    for line in branches.splitlines():
        condition, _, leaf = line.removeprefix("|   " * depth).partition(": " if ": LM" in line else ":")
        if condition.startswith("|") or not holds(condition, row):
            continue
        depth += 1
        if leaf:
            number = leaf.split()[0]
            break
    model = next(m for m in models if m.startswith(f"{number}: ")).removeprefix(f"{number}: ")
    function = re.search(rf"^{re.escape(label)} = (\S+)((\n  .*)*)", model, re.M)
    value = float(function[1])
    for term in function[2].strip("\n").splitlines():
        sign, slope, name = re.fullmatch(r"  ([+-]) (\S+) \* (.*)", term).groups()
        x = float(holds(name[1:-1], row)) if name.startswith("[") else row[name]
        value += (1 if sign == "+" else -1) * float(slope) * x
    return value


def scores_from_text(text, rows, label="y"):
    return [score_from_text(text, row, label) for row in rows.to_dict("records")]


def test_the_text_says_what_a_regression_tree_predicts():
    tree = BoostTreeRegressor(clip=False, missing_fill="mean", random_state=0).fit(X, y)
    known = X.dropna()  # a formula has no filling
    text = export_text(tree, digits=15)
    assert_allclose(scores_from_text(text, known), tree.predict(known), rtol=1e-9)
    assert " or missing:" in text and "town = Rom" in text and "[sex = m]" in text


def test_the_text_says_where_missing_values_and_unknown_categories_go():
    tree = BoostTreeRegressor(node_model="constant", clip=False, random_state=0).fit(X, y)
    text = export_text(tree, digits=15)
    strange = pd.concat([X, X[::5].assign(town="Oslo"), X[::5].assign(sex="x"), X[::7].assign(age=np.nan)])
    assert_allclose(scores_from_text(text, strange), tree.predict(strange), rtol=1e-9)


@pytest.mark.parametrize("scale", [True, False])
def test_the_formulas_of_a_clipped_tree_are_the_sums_on_its_paths(scale):
    X, y = example_data("regression")
    X = pd.DataFrame(X * [1, 100, 0.01, 3] + [0, 5, -2, 1e3], columns=list("abcd"))
    tree = BoostTreeRegressor(scale=scale, random_state=0).fit(X, 50 + 7 * y)
    nodes = tree.to_dataframe().set_index("node")
    expected = []
    for leaf, row in zip(tree.apply(X), X.to_numpy(), strict=True):
        total = 0.0
        while leaf >= 0:
            node = nodes.loc[leaf]
            total += node["intercept"] + node[[f"slope_{name}" for name in X]].to_numpy(float) @ row
            leaf = node["parent"]
        expected.append(total)
    text = export_text(tree, digits=15)
    assert_allclose(scores_from_text(text.rpartition("\n\n")[0], X), expected, rtol=1e-6)
    assert text.endswith("which the formulas leave out; to_dataframe has all parts and ranges.")


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_text_says_what_a_classification_tree_predicts(task):
    X, y = example_data(task, d=3)
    X, labels = pd.DataFrame(X, columns=list("abc")), np.array(["no", "maybe", "yes"])[y]
    tree = BoostTreeClassifier(random_state=0).fit(X, labels)
    text = export_text(tree, digits=15)
    names = [f"log-odds of {tree.classes_[1]}"] if task == "binary" else [f"F({label})" for label in tree.classes_]
    scores = np.array([scores_from_text(text, X, name) for name in names])
    assert_allclose(scores[0] if task == "binary" else scores.T, tree.decision_function(X), rtol=1e-8, atol=1e-8)


def test_a_node_has_its_rows_and_its_error():
    tree = BoostTreeRegressor(max_leaf_nodes=3, random_state=0).fit(X, y)
    leaves, errors = tree.apply(X), tree.predict(X) - y
    expected = {f"{(leaves == leaf).sum()} rows, RMSE {np.sqrt((errors[leaves == leaf] ** 2).mean()):.4g}" for leaf in
                set(leaves)}  # fmt: skip
    assert set(re.findall(r"LM\d \((.*)\)", export_text(tree))) == expected


def test_long_models_show_the_largest_effects():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 12))
    X *= 10.0 ** np.arange(12) / X.std(axis=0)
    y = X @ (np.arange(12) / 10.0 ** np.arange(12))  # the effect of x11 is the largest, its slope the smallest
    text = export_text(BoostTreeRegressor(max_leaf_nodes=2, reg_lambda=1e-6, random_state=0).fit(X, y))
    model = text.split("\n\n")[1].splitlines()
    assert [line.split("* ")[1] for line in model[1:6]] == ["x11", "x10", "x9", "x8", "x7"]
    assert re.fullmatch(r"  … [67] smaller terms", model[6]) and len(model) == 7


def test_the_first_levels_can_be_shown_alone():
    tree = BoostTreeRegressor(random_state=0).fit(X, y)
    whole, part = export_text(tree), export_text(tree, max_depth=2)
    branches, *models = part.split("\n\n")
    assert "|   |   " not in branches and "|   " in branches
    n_hidden = sum(map(int, re.findall(r"… (\d+) leaves below \(", branches)))
    assert n_hidden + len(re.findall(r": LM\d", branches)) == tree.n_leaves_[0]
    assert all(model in whole for model in models)  # with their numbers
    assert export_text(tree, max_depth=0) == f"… {tree.n_leaves_[0]} leaves below (300 rows, RMSE {y.std(ddof=0):.4g})"
    assert export_text(tree, max_depth=99) == whole
    for show in (export_text, plot_tree):
        with pytest.raises(ValueError, match=r"max_depth must be None or an integer of at least 0; got -1\."):
            show(tree, max_depth=-1)


@pytest.mark.parametrize("max_depth", [None, 3])
@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_the_picture_shows_every_node_and_none_above_another(task, max_depth):
    X, y = example_data(task)
    cls = TREES[task]
    tree = cls(max_leaf_nodes=12, random_state=0).fit(X, y)
    ax = plot_tree(tree, max_depth=max_depth)
    FigureCanvasAgg(ax.figure).draw()
    renderer = ax.figure.canvas.get_renderer()
    boxes = [t.get_window_extent(renderer) for t in ax.texts if t.get_zorder() == 2]
    depth = tree.forest_.depth
    assert len(boxes) == (len(depth) if max_depth is None else (depth <= max_depth).sum())
    whole = ax.figure.bbox
    for i, box in enumerate(boxes):
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_trees_of_forests_and_of_other_models_can_be_shown():
    X, y = example_data("multiclass")
    forest = BoostForestClassifier(2, random_state=0, preset="paper").fit(X, y)
    assert export_text(forest.get_tree(1)).startswith("x")
    elm = BoostTreeRegressor(node_model="elm", random_state=0).fit(X, y)
    assert "a linear model of 20 hidden units" in export_text(elm)
    kernel = BoostTreeRegressor(node_model=KernelRidge(kernel="rbf"), min_samples_leaf=40, random_state=0).fit(X, y)
    assert "KernelRidge(kernel='rbf')], added to those above it" in export_text(kernel)
    with pytest.raises(TypeError, match=r"got BoostForestClassifier; take one of its trees, forest\.get_tree\(0\)\.$"):
        export_text(forest)


@pytest.mark.filterwarnings("ignore:min_samples_leaf:UserWarning")
def test_a_tree_without_a_split_is_its_model():
    X = pd.DataFrame({"a": np.arange(10.0)})
    text = export_text(BoostTreeRegressor(reg_lambda=1e-12, random_state=0).fit(X, 3 + 2 * X["a"]), digits=3)
    assert re.fullmatch(r"LM1 \(10 rows, RMSE \S+\)\n\nLM1: y = 3\n  \+ 2 \* a", text)


def test_later_stages_show_corrections_and_monotone_trees_their_sums():
    X, y = example_data("regression")
    forest = BoostForestRegressor(40, n_stages=2, random_state=0, preset="paper").fit(X, y)
    assert "LM1: y = " in export_text(forest.get_tree(-1))
    text = export_text(BoostTreeRegressor(monotonic_cst=[1, 0, 0, 0], random_state=0).fit(X, y))
    assert not re.search(r"- \S+ \* x0", text)


def test_both_functions_are_where_model_trees_have_them_too():
    assert boostforest.export_text is model_trees.export_text and boostforest.plot_tree is model_trees.plot_tree
