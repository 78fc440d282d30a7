"""What can be seen of fitted trees: paths, importances, sizes, and a table that predicts without the library."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.linear_model import Ridge

from boostforest import BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest._model import inspection as _inspection
from models import FORESTS, TREES, paper_regressor
from twin import example_data

BOTH_MODELS = {"node_model": ["ridge", "constant"], "random_state": 0}


def make_forest(task, n_estimators=6, **params):
    """Return a forest of trees of both kinds."""
    return FORESTS[task](n_estimators, **{**BOTH_MODELS, **params})


# ---------------------------------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("task", FORESTS)
def test_paths_lead_from_the_root_to_the_leaf_that_apply_names(task):
    X, y = example_data(task)
    fitted = make_forest(task).fit(X, y)
    forest, leaves = fitted.forest_, fitted.apply(X)
    indicator, start = fitted.decision_path(X)
    assert leaves.shape == (len(X), 6) and indicator.shape == (len(X), len(forest.feature))
    assert_array_equal(start, forest.tree_start)
    scaled = (X - fitted.feature_mean_) / fitted.feature_scale_
    for i, row in enumerate(scaled):
        for t, first in enumerate(start[:-1]):
            node, path = 0, [first]
            while forest.feature[first + node] >= 0:
                goes_left = row[forest.feature[first + node]] <= forest.threshold[first + node]
                node = forest.left[first + node] + (0 if goes_left else 1)
                path.append(first + node)
            assert leaves[i, t] == node
            assert_array_equal(indicator[i, first : start[t + 1]].nonzero()[1] + first, path)


@pytest.mark.parametrize("task", TREES)
def test_paths_of_a_tree_are_those_of_its_forest_of_one(task):
    X, y = example_data(task)
    tree = TREES[task](random_state=0).fit(X, y)
    assert tree.apply(X).shape == (len(X),)
    visits = tree.decision_path(X)
    assert_array_equal(visits.sum(axis=0), tree.forest_.n_samples[None])  # all rows were grown on, once each
    assert_array_equal(visits.sum(axis=1).A1, tree.forest_.depth[tree.apply(X)] + 1)


# ------------------------------------------------------------------------------------------------ importances and sizes


# Small penalties make the gains of a few nodes that are all but certain a thousand times those of all others.
@pytest.mark.parametrize("reg_lambda", [1.0, (1e-4, 1e-3, 1e-2, 1e-1, 1.0)], ids=["one penalty", "default pool"])
@pytest.mark.parametrize("task", FORESTS)
def test_gain_importances_add_up_to_one_and_noise_has_the_least(task, reg_lambda):
    X = np.random.default_rng(0).normal(size=(500, 5))
    X[:, 4] = 3.0
    y = np.sign(X[:, 1]) + np.abs(X[:, 2]) + X[:, 3] ** 2  # feature 0 is noise
    if task != "regression":
        y = np.digitize(y, [1.5] if task == "binary" else [1.0, 2.5])
    importances = FORESTS[task](50, reg_lambda=reg_lambda, random_state=0).fit(X, y).feature_importances_
    assert_allclose(importances.sum(), 1.0)
    assert importances[4] == 0
    assert importances[:4].argmin() == 0


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_noise_has_little_importance_beside_a_strong_effect(preset):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 6))
    y = 5 * X[:, 0] + X[:, 1] + rng.normal(size=1000)
    forest = BoostForestRegressor(100, random_state=0, preset=preset).fit(X, y)
    for importances in (forest.feature_importances_, forest.permutation_importances(X, y).importances):
        assert np.abs(importances[2:]).sum() < importances[0] / 20
        assert importances[1] > importances[2:].max()


@pytest.mark.parametrize("scale", [True, False])
def test_slope_importances_of_a_linear_model_are_its_slopes_times_the_standard_deviations(scale):
    X, _ = example_data("regression", n=300)
    X *= [1.0, 10.0, 0.1, 3.0]
    slopes = np.array([2.0, -0.1, 30.0, 0.0])
    y = 5 + X @ slopes
    expected = slopes * X.std(axis=0)
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        one_leaf = BoostTreeRegressor(min_samples_leaf=151, reg_lambda=1e-8, scale=scale).fit(X, y)
    assert_allclose(one_leaf.slope_importances_, expected, rtol=1e-6, atol=1e-6)
    forest = paper_regressor(20, scale=scale, reg_lambda=1e-3).fit(X, y)
    assert_allclose(forest.slope_importances_, expected, rtol=0.02, atol=0.02)


def mean_effects(tree, X, score):
    """Return the mean over rows of a score's slope in the row's own leaf, times the standard deviation."""
    effects = []
    leaves = pd.Series(tree.apply(X))
    for j, step in enumerate(1e-3 * X.std(axis=0)):
        moved = [np.where(np.arange(X.shape[1]) == j, X + side * step, X) for side in (1, -1)]
        # From two rows that no split parts from the row.
        same = np.all([tree.apply(other) == tree.apply(X) for other in moved], axis=0)
        slopes = pd.Series(np.subtract(*map(score, moved))[same] / 2e-3).groupby(leaves[same].to_numpy()).mean()
        effects.append(leaves.map(slopes).mean())
    return np.array(effects)


@pytest.mark.parametrize("task", FORESTS)
def test_slope_importances_average_signed_slopes_over_rows_and_trees(task):
    X, y = example_data(task)
    unclipped = {"clip": False} if task == "regression" else {}
    forest = make_forest(task, min_samples_leaf=10, bootstrap=False, **unclipped).fit(X, y)
    trees = [forest.get_tree(i) for i in range(6)]
    if task == "multiclass":
        by_class = [
            np.mean([mean_effects(tree, X, lambda Z, t=tree, k=k: t.decision_function(Z)[:, k]) for tree in trees], 0)
            for k in range(3)
        ]
        expected = np.sqrt(np.mean(np.square(by_class), axis=0))
    else:
        method = "predict" if task == "regression" else "decision_function"
        expected = np.mean([mean_effects(tree, X, getattr(tree, method)) for tree in trees], axis=0)
    assert_allclose(forest.slope_importances_, expected, rtol=1e-6)
    assert task == "multiclass" or (forest.slope_importances_ < 0).any()


@pytest.mark.parametrize("task", FORESTS)
def test_slope_importances_of_noise_are_near_zero(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))  # of three signals and seven columns of noise
    y = X[:, :3] @ [3, -2, 1] + rng.normal(size=1000)
    if task != "regression":
        y = y > 0 if task == "binary" else np.digitize(y, [-1.5, 1.5])
    found = FORESTS[task](50, random_state=0).fit(X, y).slope_importances_
    assert np.abs(found[3:]).max() < 0.1 * found[0]
    assert_array_equal(np.argsort(-np.abs(found))[:3], [0, 1, 2])
    assert_array_equal(np.sign(found[:3]), [1, 1, 1] if task == "multiclass" else [1, -1, 1])
    if task == "regression":
        assert_allclose(found[:3], [3, -2, 1], atol=0.15)


def test_slope_importances_of_a_column_of_several_features_join_their_effects():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=300), "town": rng.choice(list("abc"), 300), "sex": rng.choice(
        ["f", "m"], 300)})  # fmt: skip
    y = -2 * frame["size"] + frame["town"].map({"a": -3.0, "b": 0.0, "c": 3.0}) - (frame["sex"] == "m")
    frame.loc[::7, "size"] = np.nan
    forest = paper_regressor(5, missing_indicator=True).fit(frame, y)
    single = _inspection.mean_slopes(forest.forest_, None)[0] * forest.target_scale_
    expected = [-np.hypot(*single[:2]), np.sqrt((single[2:5] ** 2).sum()), single[5]]
    assert_allclose(forest.slope_importances_, expected)
    assert single[0] < 0 and single[2] < 0 < single[4] and single[5] < 0


def test_without_a_split_no_feature_is_important():
    X, y = example_data("binary", n=30)
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        tree = BoostTreeClassifier(min_samples_leaf=16, node_model="constant").fit(X, y)
    assert_array_equal(tree.feature_importances_, 0)
    assert_array_equal(tree.slope_importances_, 0)
    assert_array_equal([tree.n_nodes_, tree.n_leaves_], 1)


@pytest.mark.parametrize("task", FORESTS)
def test_sizes_count_what_is_there(task):
    X, y = example_data(task)
    fitted = make_forest(task).fit(X, y)
    features = np.split(fitted.forest_.feature, fitted.forest_.tree_start[1:-1])
    assert_array_equal(fitted.n_nodes_, [len(f) for f in features])
    assert_array_equal(fitted.n_leaves_, [(f < 0).sum() for f in features])
    arrays = [*fitted.forest_.arrays().values(), fitted.feature_mean_, fitted.feature_scale_]
    assert fitted.model_size_ == sum(a.nbytes for a in arrays)
    assert fitted.model_size_ < len(pickle.dumps(fitted)) < fitted.model_size_ + 10_000
    assert make_forest(task, 12).fit(X, y).model_size_ > 1.5 * fitted.model_size_


# --------------------------------------------------------------------------------------------------- the table of nodes


def scores_from_table(nodes, rows, label=""):
    """Predict from the table alone: follow the splits, add up the clipped models on the way."""
    slopes = [f"slope{label}_{name}" for name in rows.columns]
    scores = []
    for _, tree in nodes.groupby("tree"):
        by_path = tree.set_index("path").to_dict("index")
        for row in rows.to_dict("records"):
            total, path = 0.0, ""
            while True:
                node = by_path[path]
                if not np.isnan(node[f"intercept{label}"]):
                    value = node[f"intercept{label}"] + sum(
                        node[s] * x for s, x in zip(slopes, row.values(), strict=True)
                    )
                    total += min(max(value, node["lower"]), node["upper"])
                if pd.isna(node["feature"]):
                    break
                path += "L" if row[node["feature"]] <= node["threshold"] else "R"
            scores.append(total)
    return np.reshape(scores, (-1, len(rows)))


def frame_data(task, n=80):
    """Return a table with names and units."""
    X, y = example_data(task, n=n)
    frame = pd.DataFrame(X * [1.0, 100.0, 0.01, 3.0] + [0.0, 5.0, -2.0, 1e3], columns=["age", "height", "dose", "room"])
    return frame, 50 + 7 * y if task == "regression" else np.array(["no", "maybe", "yes"])[y]


X, y = frame_data("regression")


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("clip", [True, False])
def test_a_regression_forest_can_be_followed_in_its_table(clip, scale):
    forest = make_forest("regression", clip=clip, scale=scale).fit(X, y)
    nodes = forest.to_dataframe()
    has_model = nodes["intercept"].notna()
    assert_array_equal(has_model, True if clip else nodes["feature"].isna())
    assert_allclose(scores_from_table(nodes, X).mean(axis=0), forest.predict(X), rtol=1e-6)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.filterwarnings("ignore:min_samples_leaf:UserWarning")
def test_a_tree_of_one_leaf_can_be_followed_in_its_table(clip):
    tree = BoostTreeRegressor(min_samples_leaf=41, clip=clip).fit(X, y)
    far = X * 3 - 2 * X.mean()
    assert_allclose(scores_from_table(tree.to_dataframe(), far)[0], tree.predict(far), rtol=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_a_classification_forest_can_be_followed_in_its_table(task):
    X, y = frame_data(task)
    forest = make_forest(task).fit(X, y)
    nodes = forest.to_dataframe()
    if task == "binary":
        p = expit(scores_from_table(nodes, X)).mean(axis=0)
        assert_allclose(p, forest.predict_proba(X)[:, 1], rtol=1e-6)
    else:
        scores = np.stack([scores_from_table(nodes, X, f"_{name}") for name in forest.classes_], axis=-1)
        assert_allclose(softmax(scores, axis=-1).mean(axis=0), forest.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("task", FORESTS)
def test_the_table_describes_every_node(task):
    X, y = frame_data(task)
    forest = make_forest(task, bootstrap=False).fit(X, y)
    nodes = forest.to_dataframe()
    assert len(nodes) == forest.n_nodes_.sum()
    for (t, tree), leaves in zip(nodes.groupby("tree"), forest.apply(X).T, strict=True):
        tree = tree.set_index("node")
        assert_array_equal(tree["depth"], tree["path"].str.len())
        assert_array_equal(
            tree["parent"].iloc[1:], [tree.index[tree["path"] == p[:-1]][0] for p in tree["path"].iloc[1:]]
        )
        assert tree["parent"].iloc[0] == -1 and tree["rule"].iloc[0] == ""
        for node, rule in tree["rule"][tree["feature"].isna()].items():
            assert_array_equal(X.eval(rule), leaves == node)  # rules round their thresholds to six digits
            assert tree["n"][node] == (leaves == node).sum()
        assert (tree["gain"].notna() == tree["feature"].notna()).all() and tree["loss"].notna().all()
        assert t in range(6)


def test_columns_without_names_are_numbered():
    X, y = example_data("regression")
    nodes = BoostTreeRegressor().fit(X, y).to_dataframe()
    assert {"slope_x0", "slope_x3"} <= set(nodes.columns)
    assert set(nodes["feature"].dropna()) <= {"x0", "x1", "x2", "x3"}


def test_the_root_of_a_clipped_tree_stands_for_the_mean_of_the_target():
    root = BoostTreeRegressor().fit(X, y).to_dataframe().iloc[0]
    assert_allclose(root["intercept"], y.mean())
    assert_array_equal(root[["slope_age", "slope_room"]].astype(float), 0)


def test_without_pandas_the_table_says_what_to_install(monkeypatch):
    X, y = example_data("regression")
    tree = BoostTreeRegressor().fit(X, y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_dataframe needs pandas: pip install"):
        tree.to_dataframe()


def test_a_single_ridge_leaf_is_a_ridge_regression():
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        tree = BoostTreeRegressor(min_samples_leaf=41, reg_lambda=0.5, clip=False).fit(X, y)
    Z, z = (X - X.mean()) / X.std(ddof=0), (y - y.mean()) / y.std()
    expected = y.mean() + y.std() * Ridge(alpha=0.5).fit(Z, z).predict(Z)
    assert_allclose(tree.predict(X), expected, rtol=1e-9)


def changed(column, i, value):
    """Return a copy of a column with one value changed."""
    column = column.copy()
    column[i] = value
    return column


DAMAGES = {
    "unknown feature": lambda f: {"feature": changed(f.feature, 0, 99)},
    "circle": lambda f: {"left": changed(f.left, 0, 0)},
    "child outside": lambda f: {"left": changed(f.left, 0, 2**31 - 1)},
    "leaves with children": lambda f: {"left": f.left + 1},
    "tree without nodes": lambda f: {"tree_start": changed(f.tree_start, 1, 0)},
    "unknown model": lambda f: {"kind": changed(f.kind, 0, 7)},
    "short column": lambda f: {"threshold": f.threshold[:-1]},
    "parameters too few": lambda f: {"params": f.params[:-1]},
    "parameters too many": lambda f: {"params": np.append(f.params, 0.0)},
    "other numbers": lambda f: {"params": f.params.astype(np.float32)},
    "no numbers": lambda f: {"params": f.params.astype(np.int64)},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_columns_are_refused_before_they_are_followed(damage):
    X, y = example_data("regression")
    fitted = paper_regressor(3).fit(X, y)
    fitted._model = replace(fitted._model, columns=replace(fitted.forest_, **damage(fitted.forest_)))
    with pytest.raises(ValueError, match="damaged model"):
        fitted.predict(X)
