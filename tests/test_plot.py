"""Pictures: they return their axes, draw into given ones, and their artists carry the right numbers."""

import re
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, root_mean_squared_error

from boostforest import (
    BoostForestClassifier,
    BoostForestRegressor,
    BoostTreeRegressor,
    ETForestRegressor,
    export_text,
    plot,
)
from boostforest.model_trees import LMTClassifier, M5PRegressor

mpl.use("Agg")
import matplotlib.pyplot as plt

from models import paper_classifier, paper_regressor


@pytest.fixture(autouse=True)
def _close_figures():
    """Give back what the pictures of a test hold."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True, scaled=False)


@pytest.fixture(scope="module")
def regressor(diabetes):
    X, y = diabetes
    return paper_regressor(30, oob_score=True).fit(X[:300], y[:300])


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.array(["malignant", "benign"])[y]


@pytest.fixture(scope="module")
def classifier(cancer):
    X, y = cancer
    return paper_classifier(10).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, paper_classifier(10).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def shop():
    """Return a table with text and missing values, a target, and a forest."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.normal(50, 12, 300), "income of the whole household in $ and $": rng.lognormal(10, 1, 300)}
    )
    X["town"] = rng.choice(["Ulm", "Rom", "Bern"], 300)
    X["rooms"] = rng.integers(1, 5, 300)
    y = 3 * X["age"] + 40 * (X["town"] == "Rom") + 5 * X["rooms"] + rng.normal(size=300)
    X.iloc[::9, 1] = np.nan
    X.loc[::11, "town"] = None
    return X, y, paper_regressor(10).fit(X, y)


def explanation(n_outputs=None, n_columns=4):
    """Return an object with shap's fields."""
    rng = np.random.default_rng(1)
    shape = (20, n_columns) if n_outputs is None else (20, n_columns, n_outputs)
    data = rng.normal(size=(20, n_columns)).astype(object)
    data[:, 1] = rng.choice(["Ulm", "Rom"], 20)
    data[0, 2] = np.nan
    return SimpleNamespace(
        values=rng.normal(size=shape) * np.arange(n_columns, 0, -1).reshape(-1, *[1] * (len(shape) - 2)),
        base_values=np.full((20, *shape[2:]), 10.0),
        data=data,
        feature_names=[f"column {j}" for j in range(n_columns)],
        output_names=None if n_outputs is None else [f"class {k}" for k in range(n_outputs)],
    )


@pytest.fixture(scope="module")
def adaptive(diabetes):
    return paper_regressor(80, pool="adaptive").fit(*diabetes)


@pytest.fixture(scope="module")
def pictures(regressor, classifier, adaptive, diabetes, cancer):
    """Return every picture as a function of the axes."""
    (X, y), (C, c) = diabetes, cancer
    small = regressor.compress(max_bytes=20_000, X=X[300:], y=y[300:])
    return {
        "importances": lambda ax=None: plot.importances(regressor, ax=ax),
        "tree": lambda ax=None: plot.tree(regressor, 2, ax=ax),
        "plot_tree": lambda ax=None: plot.plot_tree(regressor.get_tree(2), max_depth=2, ax=ax),
        "calibration": lambda ax=None: plot.calibration(classifier, C[1::2], c[1::2], ax=ax),
        "residuals": lambda ax=None: plot.residuals(regressor, X[300:], y[300:], ax=ax),
        "intervals": lambda ax=None: plot.intervals(regressor, X[300:], y[300:], ax=ax),
        "convergence": lambda ax=None: plot.convergence(regressor, X[300:], y[300:], ax=ax),
        "pool": lambda ax=None: plot.pool(adaptive, ax=ax),
        "waterfall": lambda ax=None: plot.waterfall(explanation(), ax=ax),
        "beeswarm": lambda ax=None: plot.beeswarm(explanation(), ax=ax),
        "effect": lambda ax=None: plot.effect(regressor, X, "bmi", ax=ax),
        "compression": lambda ax=None: plot.compression(small, ax=ax),
    }


def row_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def bar_widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


# --------------------------------------------------------------------------------------------------------- all pictures


def test_every_picture_returns_its_axes_and_draws_into_given_ones(pictures):
    assert set(pictures) == set(plot.__all__) - {"to_dot"}
    for name, draw in pictures.items():
        own = draw()
        assert isinstance(own, mpl.axes.Axes), name
        own.figure.canvas.draw()
        figure, (left, right) = plt.subplots(1, 2, figsize=(12, 6))
        n_figures = len(plt.get_fignums())
        assert draw(right) is right, name
        assert right.has_data() or right.texts, name
        assert not left.has_data() and not left.texts, name
        assert len(plt.get_fignums()) == n_figures, name
        figure.canvas.draw()
        plt.close("all")


def test_on_dark_backgrounds_what_is_drawn_is_light(pictures, regressor):
    def brightness(colour):
        return np.mean(mpl.colors.to_rgb(colour))

    with plt.style.context("dark_background"):
        for name, draw in pictures.items():
            ax = draw()
            texts = [text for text in (*ax.texts, *ax.get_yticklabels(), ax.xaxis.label) if text.get_text()]
            assert min(brightness(text.get_color()) for text in texts) > 0.4, name
    with plt.style.context("dark_background"):
        ax = plt.subplots()[1]
    texts = plot.tree(regressor, ax=ax).texts  # the axes count, not what the settings are now
    assert min(brightness(text.get_color()) for text in texts) > 0.4


def test_without_matplotlib_the_extra_is_named(monkeypatch, pictures, regressor):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    for draw in pictures.values():
        with pytest.raises(ImportError, match=r'needs matplotlib: pip install "boostforest\[plot\]"\.'):
            draw()
    assert plot.to_dot(regressor, max_depth=1).startswith("digraph")


def test_what_cannot_be_drawn_is_refused_before_a_figure_is_made(regressor, classifier, diabetes, cancer):
    X, y = diabetes
    C, c = cancer
    unfitted = BoostForestRegressor(preset="paper")
    plain = paper_regressor(2).fit(X, y)
    for call, error, message in [
        (lambda: plot.importances(unfitted), NotFittedError, "not fitted yet"),
        (lambda: plot.importances(BoostForestRegressor), TypeError, "got the class BoostForestRegressor"),
        (lambda: plot.importances("forest"), TypeError, "got str"),
        (lambda: plot.importances(regressor, "weight"), ValueError, "kind must be 'gain' or 'slope'; got 'weight'"),
        (
            lambda: plot.importances(regressor, max_columns=0),
            ValueError,
            "max_columns must be an integer of at least 1",
        ),
        (lambda: plot.importances(regressor, ax=3), TypeError, "ax must be None or the Axes"),
        (lambda: plot.importances(LinearRegression().fit(X, y)), TypeError, "an estimator with feature_importances_"),
        (lambda: plot.importances(ETForestRegressor(2).fit(X, y), "slope"), TypeError, "slope_importances_; got ETFor"),
        (lambda: plot.tree(unfitted), NotFittedError, "not fitted yet"),
        (lambda: plot.tree(regressor, 99), IndexError, "i must be the number of a tree from -30 to 29; got 99"),
        (lambda: plot.tree(regressor.get_tree(0), 1), ValueError, "i must be 0 where there is a single tree; got 1"),
        (lambda: plot.tree(ETForestRegressor(2).fit(X, y)), TypeError, "must be a model tree or a BoostTree"),
        (lambda: plot.to_dot(3), TypeError, "must be a model tree or a BoostTree; got int"),
        (lambda: plot.calibration(regressor, X, y), TypeError, "needs a classifier; got BoostForestRegressor"),
        (lambda: plot.calibration(classifier, X, y), ValueError, "feature names should match"),
        (lambda: plot.calibration(classifier, C, c[:-1]), ValueError, "one value per row of X; got 568 values for 569"),
        (lambda: plot.calibration(classifier, C, np.full(569, "x")), ValueError, "classes of the fit.*; got 'x'"),
        (lambda: plot.calibration(classifier, C, c, n_bins=1), ValueError, "n_bins must be an integer of at least 2"),
        (lambda: plot.residuals(classifier, C, c), TypeError, "needs a regressor; got BoostForestClassifier"),
        (lambda: plot.residuals(regressor, X, y, coverage=1), ValueError, "coverage must be a number above 0"),
        (lambda: plot.residuals(regressor, X, y * np.nan), ValueError, "y must be finite"),
        (lambda: plot.residuals(regressor, X, ["a"] * 442), ValueError, "y must hold numbers; got"),
        (lambda: plot.intervals(plain, X, y), AttributeError, "fit it with oob_score=True"),
        (lambda: plot.intervals(plain.get_tree(0), X, y), TypeError, "predict_interval; got BoostTreeRegressor"),
        (lambda: plot.intervals(regressor, X, y, by="row"), ValueError, "by must be 'prediction' or 'width'"),
        (lambda: plot.convergence(plain.get_tree(0), X, y), TypeError, "staged_predict; got BoostTreeRegressor"),
        (lambda: plot.convergence(regressor, X.drop(columns="bmi"), y), ValueError, "'bmi' is missing"),
        (lambda: plot.pool(plain), ValueError, "pool='adaptive' or preset='best'"),
        (lambda: plot.effect(regressor, X, "weight"), ValueError, "name of a column of X .*; got 'weight'"),
        (lambda: plot.effect(regressor, X, 10), ValueError, "a number from 0 to 9; got 10"),
        (lambda: plot.effect(regressor, X, 0, kind="x"), ValueError, "kind must be 'partial' or 'ale'; got 'x'"),
        (
            lambda: plot.effect(LinearRegression().fit(X, y), X, 0, kind="ale"),
            TypeError,
            "needs a BoostForest or a BoostTree; got LinearRegression",
        ),
        (lambda: plot.compression(regressor), ValueError, "a forest that compress has made"),
        (lambda: plot.effect(regressor, X, "bmi", output=1), ValueError, "output must be None in regression; got 1"),
        (lambda: plot.effect(classifier, C, 0, output="x"), ValueError, "output must be one of the classes.*got 'x'"),
        (lambda: plot.effect(regressor, X.assign(bmi=np.nan), "bmi"), ValueError, "all of them are missing"),
        (lambda: plot.waterfall(explanation(), 20), IndexError, "row must be a number from -20 to 19; got 20"),
        (lambda: plot.waterfall(explanation(3)), ValueError, r"of 3 outputs \(class 0, class 1, class 2\); got None"),
        (lambda: plot.beeswarm(explanation(3), output="class 3"), ValueError, "got 'class 3'"),
        (lambda: plot.beeswarm(explanation(), output=2), ValueError, "output must be None where there is a single"),
        (lambda: plot.beeswarm(np.zeros((3, 2))), TypeError, "must have values and base_values.*; got ndarray"),
        (
            lambda: plot.beeswarm(SimpleNamespace(**vars(explanation(4)), interactions=True)),
            ValueError,
            "contributions, rows × columns.*; got interactions",
        ),
    ]:
        with pytest.raises(error, match=message):
            call()
        assert not plt.get_fignums(), message


# ---------------------------------------------------------------------------------------------------------- importances


@pytest.mark.parametrize(("kind", "name"), [("gain", "feature_importances_"), ("slope", "slope_importances_")])
def test_bars_are_the_importances(regressor, kind, name):
    ax = plot.importances(regressor, kind)
    values = getattr(regressor, name)
    order = [list(regressor.feature_names_in_).index(label) for label in row_names(ax)]
    assert sorted(order) == list(range(10))
    assert_array_equal(bar_widths(ax), values[order])
    assert (np.diff(np.abs(values[order])) <= 0).all()


def test_lines_on_bars_are_intervals_of_the_mean_over_trees(regressor):
    ax = plot.importances(regressor, "slope")
    (lines,) = ax.collections
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    of_trees = np.array([regressor.get_tree(t).slope_importances_ for t in range(30)])
    half = 1.96 * of_trees.std(axis=0, ddof=1) / np.sqrt(30)
    order = [list(regressor.feature_names_in_).index(label) for label in row_names(ax)]
    assert_allclose(ends.mean(axis=1), regressor.slope_importances_[order])
    assert_allclose(np.diff(ends, axis=1)[:, 0], 2 * half[order])


def test_importances_by_shuffling_have_their_intervals(regressor, diabetes):
    X, y = diabetes
    found = regressor.permutation_importances(X[:300], y[:300])
    ax = plot.importances(found)
    order = [found.columns.index(label) for label in row_names(ax)]
    assert_array_equal(bar_widths(ax), found.importances[order])
    (lines,) = ax.collections
    assert_allclose([segment[:, 0] for segment in lines.get_segments()], found.intervals[order])
    assert "RMSE out of bag" in ax.get_xlabel()


def test_bars_of_compression_are_the_sizes_of_the_files(regressor, diabetes):
    X, y = diabetes
    small = regressor.compress(max_bytes=20_000, X=X[300:], y=y[300:])
    ax = plot.compression(small)
    report = small.compression_report_
    unit = 1e6 if report[0]["bytes"] >= 1e6 else 1e3
    assert_allclose(bar_widths(ax), [row["bytes"] / unit for row in report])
    assert f"{report[-1]['n_trees']} trees" in ax.texts[-1].get_text() and "%)" in ax.texts[-1].get_text()


def test_a_single_tree_and_forests_of_other_members_have_no_such_lines(regressor, diabetes):
    for model in (regressor.get_tree(0), ETForestRegressor(3, random_state=0).fit(*diabetes)):
        ax = plot.importances(model)
        assert_allclose(np.sort(bar_widths(ax)), np.sort(model.feature_importances_))
        assert not ax.collections


def test_of_many_columns_the_largest_are_drawn_and_the_picture_says_so(cancer, classifier):
    ax = plot.importances(classifier, max_columns=5)
    assert len(ax.patches) == 5
    assert_allclose(bar_widths(ax), np.sort(classifier.feature_importances_)[:-6:-1])
    assert "the largest 5 of 30 columns" in ax.get_xlabel()


def test_long_names_are_shortened_and_are_not_read_as_formulas(shop):
    ax = plot.importances(shop[2])
    names = row_names(ax)
    assert any(name == r"income of the whol…n \$ and \$" for name in names), names
    ax.figure.canvas.draw()


# ---------------------------------------------------------------------------------------------------------------- trees


def test_a_tree_of_a_forest_is_drawn_with_the_words_of_the_text(regressor):
    ax = plot.tree(regressor, 3, max_depth=2)
    text = export_text(regressor.get_tree(3), digits=3, max_depth=2)
    boxes = [t.get_text() for t in ax.texts if t.get_bbox_patch() is not None and t.get_text() not in ("yes", "no")]
    assert boxes[0].splitlines()[0] in text
    for box in boxes:
        first = box.splitlines()[0]
        assert first in text if "<=" in first else "rows" in box
    assert sum("leaves below" in box for box in boxes) == text.count("leaves below")


def test_where_a_regression_tree_is_cut_the_box_has_the_model_of_the_node(diabetes):
    X, y = diabetes
    tree = BoostTreeRegressor(random_state=0).fit(X, y)
    cut = [t.get_text() for t in plot.tree(tree, max_depth=1).texts if "leaves below" in t.get_text()]
    assert cut and all("\ny = " in text and " * " in text for text in cut)
    assert "y = " not in plot.tree(tree, max_depth=0).texts[0].get_text()  # the root stands for the mean


def test_dot_has_every_node_and_edge_once_and_escapes_names(diabetes):
    X, y = diabetes
    X = X.rename(columns={"bmi": 'b"m\\i', "s5": "s\n5"})
    for tree in (BoostTreeRegressor(random_state=0).fit(X, y), M5PRegressor().fit(X, y)):
        text = plot.to_dot(tree)
        lines = text.splitlines()
        n_leaves = text.count('fillcolor="#f4f8ee"')
        nodes = [line.split()[0] for line in lines if line.startswith("    n") and "->" not in line][1:]
        assert len(nodes) == len(set(nodes)) == 2 * n_leaves - 1
        assert text.count(" -> ") == 2 * n_leaves - 2
        assert "s 5" in text and r"b\"m\\i" in text
        assert all(line.endswith(("{", ";", "}")) for line in lines)


def test_dot_of_a_forest_and_of_nominal_splits_and_cut_trees(regressor, iris):
    X, y, forest = iris
    assert plot.to_dot(regressor, 4) == plot.to_dot(regressor.get_tree(4))
    assert "log-loss" in plot.to_dot(forest)
    assert plot.to_dot(LMTClassifier().fit(X, y)).startswith("digraph tree {")
    cut = plot.to_dot(regressor, max_depth=1)
    assert cut.count("->") == 2 and "leaves below" in cut


# --------------------------------------------------------------------------------------------------- classes and errors


def test_the_calibration_curve_is_that_of_scikit_learn(classifier, cancer):
    X, y = cancer
    ax = plot.calibration(classifier, X[1::2], y[1::2], n_bins=8)
    p = classifier.predict_proba(X[1::2])[:, 1]
    observed, predicted = calibration_curve(y[1::2] == "malignant", p, n_bins=8)
    points = next(c for c in ax.collections if isinstance(c, mpl.collections.PathCollection)).get_offsets()
    assert_allclose(points, np.column_stack([predicted, observed]))
    (strip,) = ax.child_axes
    counts = np.histogram(p, 8, (0, 1))[0]
    assert_array_equal([bar.get_height() for bar in strip.patches], counts[counts > 0])
    assert "malignant" in ax.get_xlabel()


def test_three_classes_have_a_curve_each_and_ten_have_one_of_the_most_probable(iris):
    X, y, forest = iris
    ax = plot.calibration(forest, X[1::2], y[1::2])
    assert [t.get_text().split()[0] for t in ax.get_legend().get_texts()] == ["0", "1", "2"]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 10
    many = paper_classifier(3).fit(X, y)
    ax = plot.calibration(many, X, y)
    curves = [line for line in ax.lines if line.get_label() == "_curve"]
    p = many.predict_proba(X)
    observed, predicted = calibration_curve(p.argmax(axis=1) == y, p.max(axis=1), n_bins=10)
    assert len(curves) == 1 and "most probable" in ax.get_xlabel()
    assert_allclose(curves[0].get_xydata(), np.column_stack([predicted, observed]))


def test_residuals_show_rows_within_and_outside_of_their_intervals(regressor, diabetes):
    X, y = diabetes[0][300:], diabetes[1][300:].to_numpy()
    ax = plot.residuals(regressor, X, y, coverage=0.5)
    lines, inside, outside = ax.collections
    ends = regressor.predict_interval(X, 0.5)
    is_inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    points = np.column_stack([regressor.predict(X), y])
    assert_allclose(inside.get_offsets(), points[is_inside])
    assert_allclose(outside.get_offsets(), points[~is_inside])
    assert len(lines.get_segments()) == len(y)
    assert f"{is_inside.mean():.0%} within" in ax.get_title(loc="left")
    assert f"RMSE {root_mean_squared_error(y, regressor.predict(X)):.3g}" in ax.get_title(loc="left")


def test_a_forest_without_intervals_has_points_alone(diabetes):
    X, y = diabetes
    ax = plot.residuals(paper_regressor(3).fit(X, y), X, y)
    assert len(ax.collections) == 1 and ax.get_legend() is None
    assert len(ax.collections[0].get_offsets()) == len(y)


@pytest.mark.parametrize("by", ["prediction", "width"])
def test_intervals_show_the_share_of_targets_within_by_bin(regressor, diabetes, by):
    X, y = diabetes[0][300:], diabetes[1][300:].to_numpy()
    ax = plot.intervals(regressor, X, y, by=by, n_bins=4)
    ends = regressor.predict_interval(X)
    over = regressor.predict(X) if by == "prediction" else ends[:, 1] - ends[:, 0]
    bins = np.array_split(np.argsort(over, kind="stable"), 4)
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    points = ax.lines[-1].get_xydata()
    assert_allclose(points, [(over[rows].mean(), inside[rows].mean()) for rows in bins])
    assert_array_equal(ax.lines[0].get_ydata(), [0.9, 0.9])


# --------------------------------------------------------------------------------------------------------------- growth


def test_convergence_is_the_loss_of_staged_predictions(regressor, diabetes, iris):
    X, y = diabetes[0][300:], diabetes[1][300:]
    curve = plot.convergence(regressor, X, y).lines[0].get_xydata()
    expected = [root_mean_squared_error(y, p) for p in regressor.staged_predict(X)]
    assert_allclose(curve, np.column_stack([np.arange(1, 31), expected]))
    X, y, forest = iris
    curve = plot.convergence(forest, X, y).lines[0].get_ydata()
    assert_allclose(curve, [log_loss(y, p) for p in forest.staged_predict_proba(X)])
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    assert plot.convergence(BoostForestClassifier(2, preset="paper").fit(X, labels), X, labels).lines


def test_stages_begin_at_dashed_lines():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    y = 10 * np.sin(6 * X[:, 0]) + X[:, 1]
    forest = paper_regressor(80, n_stages=2, min_samples_leaf=40).fit(X, y)
    assert forest.n_stages_ == 2
    ax = plot.convergence(forest, X, y)
    assert [text.get_text() for text in ax.texts][:1] == ["stage 2"]
    assert_array_equal(ax.lines[1].get_xdata(), [forest.stages_.ends[0] + 0.5] * 2)


def test_several_forests_can_be_compared_in_one_picture(regressor, diabetes):
    X, y = diabetes
    other = paper_regressor(40, node_model="constant").fit(X, y)
    ax = plot.convergence(regressor, X, y, label="ridge")
    plot.convergence(other, X, y, label="constant", ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ridge", "constant"]
    first, second = (line for line in ax.lines if not line.get_label().startswith("_"))
    assert first.get_color() != second.get_color()
    assert ax.get_ylim()[0] < min(first.get_ydata().min(), second.get_ydata().min())


def test_the_pool_has_a_bar_per_setting(adaptive):
    forest = adaptive
    ax = plot.pool(forest)
    assert_allclose(bar_widths(ax), [100 * row["change"] for row in forest.pool_report_])
    names = row_names(ax)
    assert names[0] == "as given" and len(set(names)) == len(forest.pool_report_)
    shares = [f"{row['share']:.0%} of the trees" for row in forest.pool_report_ if row["share"] > 0]
    assert [text.get_text() for text in ax.texts] == shares


# -------------------------------------------------------------------------------------------------------- contributions


def test_a_waterfall_leads_from_the_base_value_to_the_prediction():
    e = explanation()
    ax = plot.waterfall(e, 3)
    bars = ax.patches
    order = [e.feature_names.index(name.split(" =")[0]) for name in row_names(ax)]
    assert_allclose(bar_widths(ax), e.values[3][order])
    assert_allclose(bars[-1].get_x(), 10)
    for above, below in pairwise(bars):
        assert_allclose(above.get_x(), below.get_x() + below.get_width())
    assert_allclose(bars[0].get_x() + bars[0].get_width(), 10 + e.values[3].sum())
    assert f"{10 + e.values[3].sum():.3g}" in ax.get_title(loc="left")


def test_a_waterfall_names_values_and_adds_up_small_columns():
    e = explanation(3, n_columns=12)
    ax = plot.waterfall(e, 0, output="class 1", max_columns=4)
    names = row_names(ax)
    assert names[-1] == "8 other columns" and len(names) == 5
    assert_allclose(bar_widths(ax).sum(), e.values[0, :, 1].sum())
    assert "class 1" in ax.get_title(loc="left")
    all_names = row_names(plot.waterfall(e, 0, output=1, max_columns=12))
    assert "column 2 is missing" in all_names
    assert f"column 1 = {e.data[0, 1]}" in all_names


def test_a_beeswarm_has_a_point_per_row_and_column():
    e = explanation(2, n_columns=5)
    ax = plot.beeswarm(e, output=1, max_columns=3)
    sizes = np.abs(e.values[:, :, 1]).mean(axis=0)
    assert row_names(ax) == [e.feature_names[j] for j in np.argsort(-sizes)[:3]]
    points = np.concatenate([c.get_offsets() for c in ax.collections])
    for place, j in enumerate(np.argsort(-sizes)[:3]):
        mine = points[np.rint(points[:, 1]) == place, 0]
        assert_allclose(np.sort(mine), np.sort(e.values[:, j, 1]))
    assert (np.abs(points[:, 1] - np.rint(points[:, 1])) <= 0.4).all()
    assert "the largest 3 of 5 columns" in ax.get_xlabel()


def test_contributions_without_data_or_names_are_drawn_too():
    e = SimpleNamespace(values=explanation().values, base_values=2.0)
    assert row_names(plot.waterfall(e))[0].startswith("x")
    assert set(row_names(plot.beeswarm(e))) == {"x0", "x1", "x2", "x3"}
    assert plot.beeswarm(SimpleNamespace(values=np.zeros((3, 2)), base_values=2.0))


# -------------------------------------------------------------------------------------------------------------- effects


def test_the_effect_is_the_partial_dependence_of_scikit_learn(regressor, classifier, diabetes, cancer):
    for forest, X, name in ((regressor, diabetes[0], "bmi"), (classifier, cancer[0].iloc[::4], "worst radius")):
        x, y = plot.effect(forest, X, name, n_points=9).lines[0].get_data()
        assert set(x) <= set(X[name]) and 6 <= len(x) <= 9
        for at, mean in list(zip(x, y, strict=True))[::4]:
            rows = X.assign(**{name: at})
            p = forest.predict_proba(rows)[:, 1] if forest is classifier else forest.predict(rows)
            assert_allclose(mean, p.mean())
    few = diabetes[0].assign(sex=diabetes[0]["sex"] * 1.0)
    ax = plot.effect(regressor, few, "sex")
    expected = partial_dependence(regressor, few, ["sex"], method="brute", kind="average")
    assert_allclose(ax.lines[0].get_xdata(), expected["grid_values"][0])
    assert_allclose(ax.lines[0].get_ydata(), expected["average"][0])
    assert [text.get_text() for text in ax.texts] == [f"{n} rows" for n in few["sex"].value_counts().sort_index()]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array", "list"])
def test_effects_are_the_same_for_every_kind_of_table(shop, kind):
    X, y, forest = shop
    expected = plot.effect(forest, X, "age", n_points=5).lines[0].get_ydata()
    if kind in ("array", "list"):
        X = X[["age", "rooms"]].to_numpy()
        forest = paper_regressor(3).fit(X, y)
        lines = plot.effect(forest, X.tolist() if kind == "list" else X, 0, n_points=5).lines
        expected = [forest.predict(np.column_stack([np.full(300, x), X[:, 1]])).mean() for x in lines[0].get_xdata()]
    elif kind != "pandas":
        X = (
            pytest.importorskip(kind).Table.from_pandas(X)
            if kind == "pyarrow"
            else pytest.importorskip(kind).from_pandas(X)
        )
        lines = plot.effect(forest, X, "age", n_points=5).lines
        assert len(plot.effect(forest, X, "town").lines[0].get_xdata()) == 4
    else:
        before = X.copy()
        lines = plot.effect(forest, X[["rooms", "town", *X.columns[:2]]], "age", n_points=5).lines
        pd.testing.assert_frame_equal(X, before)
    assert_allclose(lines[0].get_ydata(), expected)


def test_the_effect_of_a_category_has_a_point_per_level_and_one_for_missing_values(shop):
    X, _, forest = shop
    ax = plot.effect(forest, X, "town")
    names = [name.split(" (")[0] for name in row_names(ax)]
    assert sorted(names) == ["Bern", "Rom", "Ulm", "missing"] and names[0] == "Rom"
    counts = X["town"].value_counts()
    assert f"Rom ({counts['Rom']})" in row_names(ax) and f"missing ({X['town'].isna().sum()})" in row_names(ax)
    for name, mean in zip(names, ax.lines[0].get_xdata(), strict=True):
        rows = X.assign(town=None if name == "missing" else name)
        assert_allclose(mean, forest.predict(rows).mean())


def test_missing_numbers_are_a_line_of_their_own(shop):
    X, _, forest = shop
    name = X.columns[1]
    curve, missing = plot.effect(forest, X, name).lines
    assert_allclose(missing.get_ydata(), forest.predict(X.assign(**{name: np.nan})).mean())
    assert np.isfinite(curve.get_ydata()).all()


def test_accumulated_effects_are_those_of_the_forest(shop, iris, regressor, diabetes):
    X = diabetes[0]
    found = regressor.effects(X, "bmi", kind="ale", grid_resolution=9, percentiles=(0.01, 0.99))
    ax = plot.effect(regressor, X, "bmi", kind="ale", n_points=9)
    assert_allclose(ax.lines[0].get_xdata(), found.grid[0])
    assert_allclose(ax.lines[0].get_ydata(), found.average)
    assert ax.get_ylabel() == "accumulated effect on the prediction"
    table, _, forest = shop
    ax = plot.effect(forest, table, "town", kind="ale")
    levels = forest.effects(table, "town", kind="ale")
    expected = dict(zip([str(level or "missing") for level in levels.grid[0]], levels.average, strict=True))
    names = [name.split(" (")[0] for name in row_names(ax)]
    assert_allclose(ax.lines[0].get_xdata(), [expected[name] for name in names])
    ax = plot.effect(iris[2], iris[0], 3, kind="ale")
    assert_allclose(sum(line.get_ydata() for line in ax.lines), 0, atol=1e-9)


def test_effects_of_other_estimators_are_predictions_of_copies(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    x, mean = plot.effect(model, X, "bmi", n_points=5).lines[0].get_data()
    assert_allclose(mean, [model.predict(X.assign(bmi=at)).mean() for at in x])


def test_several_classes_have_a_curve_each_unless_one_is_chosen(iris):
    X, _, forest = iris
    ax = plot.effect(forest, X, "petal width (cm)", max_rows=20)
    assert [line.get_label() for line in ax.lines] == ["0", "1", "2"]
    total = sum(line.get_ydata() for line in ax.lines)
    assert_allclose(total, 1)
    (one,) = plot.effect(forest, X, "petal width (cm)", output=2, max_rows=20).lines
    assert_allclose(one.get_ydata(), ax.lines[2].get_ydata())


def test_single_rows_can_be_drawn_behind_the_mean(regressor, diabetes):
    X, _ = diabetes
    ax = plot.effect(regressor, X, "bmi", n_lines=5, n_points=4)
    assert len(ax.lines) == 6
    x, y = ax.lines[0].get_data()
    assert_allclose(y, [regressor.predict(X.iloc[:1].assign(bmi=at))[0] for at in x])


def test_rows_are_not_mixed_up_by_the_index_of_a_frame_nor_by_names_that_are_numbers(shop):
    X, _, forest = shop
    expected = plot.effect(forest, X, "town").lines[0].get_xdata()
    for index in (np.arange(300)[::-1], np.zeros(300, dtype=int)):
        assert_allclose(plot.effect(forest, X.set_index(index), "town").lines[0].get_xdata(), expected)
    numbered = pd.DataFrame(X[["rooms", "age"]].to_numpy())
    forest = paper_regressor(3).fit(numbered, X["age"])
    x, y = plot.effect(forest, numbered, 1, n_points=4).lines[0].get_data()
    rows = [np.column_stack([numbered[0], np.full(300, at)]) for at in x]
    assert_allclose(y, [forest.predict(pd.DataFrame(table)).mean() for table in rows])


def test_nothing_to_show_is_drawn_without_warnings():
    X, y = np.zeros((30, 2)), np.ones(30)
    forest = paper_regressor(2).fit(X, y)
    for ax in (
        plot.importances(forest),
        plot.importances(forest, "slope", max_columns=1),
        plot.tree(forest),
        plot.convergence(forest, X, y),
        plot.residuals(forest, X[:1], y[:1]),
        plot.effect(forest, X, 0),
        plot.waterfall(SimpleNamespace(values=np.zeros(2), base_values=1.0)),
        plot.beeswarm(SimpleNamespace(values=np.zeros((0, 2)), base_values=np.zeros(0))),
    ):
        ax.figure.canvas.draw()


def test_the_examples_of_the_page_run():
    page = (Path(__file__).parents[1] / "docs" / "plots.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    exec("\n".join(blocks), {})
    assert set(re.findall(r"plot\.(\w+)\(", page)) >= set(plot.__all__) - {"pool", "plot_tree"}
