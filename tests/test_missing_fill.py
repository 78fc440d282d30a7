"""Missing values in node models: filled with what the rest of the row makes likely."""

import os
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

import twin
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor, _core
from boostforest._base.arrays import mean_and_deviation
from boostforest._features import imputer as _fill
from model_files import with_tensors
from models import FORESTS, assert_same_trees
from test_against_twin import CRITERIA, SETTINGS, TREES, assert_same_predictions, compare
from twin import example_data


def related_columns(n=300, d=5, share=0.3, seed=0):
    """Return columns that tell of each other, with missing values, and without."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d)) + np.arange(d)
    return np.where(rng.random(whole.shape) < share, np.nan, whole), whole


X, whole = related_columns()


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_a_table_without_gaps_gives_the_trees_of_the_plain_path(task):
    X, y = example_data(task, n=150)
    cls = FORESTS[task]
    plain = cls(5, missing_fill="mean", missing_indicator=False, categorical_features=None, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for table, params in [(X, {}), (X, {"missing_indicator": True}), (frame, {}), (frame, {"max_one_hot": None})]:
        forest = cls(5, random_state=0, **params).fit(table, y)
        assert forest.encoder_ is None and forest.fill_ is None
        assert_same_trees(forest, plain)
        assert_array_equal(forest.predict(table), plain.predict(X))


def expected_row(row, center, covariance):
    """Return a row with its missing values filled, by the textbook: Σ_mk Σ_kk⁻¹ (x_k - μ_k)."""
    gap = np.isnan(row)
    row = np.where(gap, center, row)
    known = covariance[np.ix_(~gap, ~gap)]
    row[gap] += covariance[np.ix_(gap, ~gap)] @ np.linalg.solve(known, (row - center)[~gap])
    return row


def a_distribution(d=5, seed=1):
    """Return centre and covariance, and both as the core wants them."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    center, covariance = rng.normal(size=d), root @ root.T + 0.1 * np.eye(d)
    precision = np.linalg.inv(covariance)
    return center, covariance, np.vstack([center, (precision + precision.T) / 2])


# ------------------------------------------------------------------------------------------------------ the core's part


def test_gaps_are_filled_with_their_conditional_mean():
    X, _ = related_columns()
    X[0], X[1, :4] = np.nan, np.nan
    center, covariance, fill = a_distribution()
    found = _core.filled_rows(X, np.zeros(5), np.ones(5), fill).reshape(X.shape)
    assert_allclose(found, [expected_row(row, center, covariance) for row in X], rtol=1e-9, atol=1e-9)
    assert_array_equal(found[~np.isnan(X)], X[~np.isnan(X)])
    assert_allclose(found[0], center, rtol=1e-12)
    mean, scale = np.arange(5.0), np.full(5, 2.0)
    scaled = _core.filled_rows(X, mean, scale, fill).reshape(X.shape)
    assert_array_equal(scaled, _core.filled_rows((X - mean) / scale, np.zeros(5), np.ones(5), fill).reshape(X.shape))
    assert_array_equal(_core.filled_rows(X, mean, scale, None), np.nan_to_num((X - mean) / scale).ravel())


def slow_moments(X, weight, center, covariance):
    """Return Σ w x and Σ w E[x xᵀ], row by row."""
    sums, products = np.zeros(len(center)), np.zeros_like(covariance)
    for row, w in zip(X, weight, strict=True):
        gap = np.isnan(row)
        full = expected_row(row, center, covariance)
        sums += w * full
        products += w * np.outer(full, full)
        if gap.any():
            across, known = covariance[np.ix_(gap, ~gap)], covariance[np.ix_(~gap, ~gap)]
            products[np.ix_(gap, gap)] += w * (covariance[np.ix_(gap, gap)] - across @ np.linalg.solve(known, across.T))
    return sums, products


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_count_missing_values_with_their_uncertainty(weighted):
    X, _ = related_columns(n=600)
    X[3] = np.nan
    center, covariance, fill = a_distribution()
    weight = np.random.default_rng(2).random(600) if weighted else np.ones(600)
    sums, products = _core.expected_moments(X, fill, weight if weighted else None, 1)
    expected = slow_moments(X, weight, center, covariance)
    assert_allclose(sums, expected[0], rtol=1e-9, atol=1e-9)
    assert_allclose(products.reshape(5, 5), expected[1], rtol=1e-9, atol=1e-9)
    again = _core.expected_moments(X, fill, weight if weighted else None, 3)
    assert_array_equal(again[0], sums)
    assert_array_equal(again[1], products)


@pytest.mark.parametrize("d", [2, 40])
def test_a_precision_that_is_none_fills_with_the_centre(d):
    row, center = np.append(np.full(d - 1, np.nan), 5.0), np.arange(d)
    found = _core.filled_rows(row[None], np.zeros(d), np.ones(d), np.vstack([center, -np.eye(d)]))
    assert_array_equal(found, np.append(center[:-1], 5.0))


def rows_of_many_gaps(d=45):
    """Return rows with no, few, half, most and all values missing; some miss the same ones, apart or not."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, d))
    shares = np.array([0.0, 0.1, 0.45, 0.55, 0.9, 1.0])[np.arange(600) % 6]
    patterns = rng.random((600, d)) < shares[:, None]
    patterns[300::5] = patterns[2]
    patterns[400:420] = patterns[3]
    return np.where(patterns, np.nan, X)


@pytest.mark.usefixtures("kernels")
def test_many_gaps_are_filled_with_their_conditional_mean_by_any_kernels():
    X = rows_of_many_gaps()
    n, d = X.shape
    center, covariance, fill = a_distribution(d)
    found = _core.filled_rows(X, np.zeros(d), np.ones(d), fill).reshape(X.shape)
    assert_allclose(found, [expected_row(row, center, covariance) for row in X], rtol=1e-8, atol=1e-8)
    alone = [_core.filled_rows(X[i : i + 1], np.zeros(d), np.ones(d), fill) for i in range(n)]
    assert_array_equal(found, alone)  # whatever rows are with it


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_rows_with_many_gaps_equal_numpys_by_any_kernels(weighted):
    X = rows_of_many_gaps()
    n, d = X.shape
    center, covariance, fill = a_distribution(d)
    weight = np.random.default_rng(2).random(n) if weighted else np.ones(n)
    found = [_core.expected_moments(X, fill, weight if weighted else None, threads) for threads in (1, 3)]
    for part, same, expected in zip(*found, slow_moments(X, weight, center, covariance), strict=True):
        assert_allclose(part, expected.ravel(), rtol=1e-8, atol=1e-8 * np.abs(expected).max())
        assert_array_equal(part, same)


def test_a_wide_table_that_is_mostly_missing_is_filled_in_reasonable_time():
    X, _ = related_columns(n=300, d=200, share=0.9)
    start = time.process_time()
    fill = _fill.fit_fill(X, None, *mean_and_deviation(X, None), 0, 1)
    assert time.process_time() - start < 5 * float(os.environ.get("BOOSTFOREST_TIME_FACTOR", "1"))  # 20 before
    assert np.isfinite(fill).all()


# ----------------------------------------------------------------------------------------------------- the distribution


def test_the_distribution_is_that_of_expectation_maximisation():
    X, _ = related_columns()
    mean, deviation = mean_and_deviation(X, None)
    rows = (X - mean) / deviation
    center, covariance = np.zeros(5), np.eye(5)
    for _ in range(_fill._STEPS):
        sums, products = slow_moments(rows, np.ones(len(X)), center, covariance)
        center = sums / len(X)
        covariance = products / len(X) - np.outer(center, center) + _fill._RIDGE * np.eye(5)
    found = _fill.fit_fill(X, None, mean, deviation, 0, 1)
    assert_allclose(found[0], center, atol=1e-9)
    assert_allclose(found[1:], np.linalg.inv(covariance), rtol=1e-7)


def test_weights_count_and_rows_of_weight_zero_do_not():
    X, _ = related_columns()
    other, _ = related_columns(seed=7)
    weight = np.repeat([2.0, 0.0], 300)
    scaling = mean_and_deviation(X, None)
    found = _fill.fit_fill(np.vstack([X, 9 * other]), weight, *scaling, 0, 1)
    assert_allclose(found, _fill.fit_fill(X, None, *scaling, 0, 1), atol=1e-9)


def test_long_tables_are_sampled_and_the_same_seed_draws_the_same_rows():
    X, _ = related_columns(n=25_000, d=2)
    scaling = mean_and_deviation(X, None)
    found = _fill.fit_fill(X, None, *scaling, 5, 1)
    assert_array_equal(_fill.fit_fill(X, None, *scaling, 5, 2), found)
    assert_allclose(found, _fill.fit_fill(X[:9000], None, *scaling, 5, 1), atol=0.2)
    assert not np.array_equal(found, _fill.fit_fill(X, None, *scaling, 6, 1))


def test_only_gaps_bring_a_distribution_and_only_in_tables_of_some_columns(monkeypatch):
    y = whole[:, 0]
    assert BoostTreeRegressor().fit(whole, y).fill_ is None
    assert BoostTreeRegressor(missing_fill="mean").fit(X, y).fill_ is None
    assert BoostTreeRegressor().fit(X, y).fill_.shape == (6, 5)
    monkeypatch.setattr(_fill, "MAX_FEATURES", 4)
    assert BoostTreeRegressor().fit(X, y).fill_ is None


@pytest.mark.parametrize("scale", [True, False])
def test_what_is_filled_in_does_not_hang_on_the_scaling(scale):
    X, whole = related_columns()
    X *= [1, 100, 1e-3, 5, 1]
    tree = BoostTreeRegressor(scale=scale, random_state=0).fit(X, whole[:, 0])
    rows = _core.filled_rows(X, tree.feature_mean_, tree.feature_scale_, tree.fill_).reshape(X.shape)
    found = rows * tree.feature_scale_ + tree.feature_mean_
    mean, deviation = mean_and_deviation(X, None)
    fill = _fill.fit_fill(X, None, mean, deviation, 0, 1)
    expected = _core.filled_rows(X, mean, deviation, fill).reshape(X.shape) * deviation + mean
    assert_allclose(found / deviation, expected / deviation, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------- trees


@pytest.mark.parametrize("setting", ["plain", "few-features"])
@pytest.mark.parametrize(("task", "criterion"), CRITERIA)
def test_tree_of_filled_values_equals_twin(task, criterion, setting, monkeypatch):
    X, y = example_data(task, n=200, d=5)
    X[:, 4] += X[:, 0]
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < [0.0, 0.05, 0.3, 0.5, 0.2]] = np.nan
    settings = {"criterion": criterion, **SETTINGS[setting], "missing_fill": "linear"}
    fill = TREES[task](scale=False, random_state=0).fit(X, y).fill_
    covariance = np.linalg.inv(fill[1:])
    monkeypatch.setattr(twin, "filled", lambda X: np.array([expected_row(row, fill[0], covariance) for row in X]))
    est, roots, all_params = compare(TREES[task], X, y, task, settings)
    new = np.where(rng.random(X.shape) < 0.5, np.nan, rng.normal(size=X.shape))
    assert_same_predictions(est, roots, all_params, new)


@pytest.mark.parametrize("forest", [BoostForestRegressor, BoostForestClassifier])
def test_what_is_missing_is_learnt_from_the_other_columns(forest):
    X, whole = related_columns(n=600, share=0.4)
    y = whole[:, 0] - whole[:, 4] if forest is BoostForestRegressor else whole[:, 0] > whole[:, 4] - 4
    scores = [
        forest(40, random_state=0, missing_fill=fill).fit(X[:400], y[:400]).score(X[400:], y[400:])
        for fill in ("linear", "mean")
    ]
    assert scores[0] > scores[1] + 0.02


def test_out_of_bag_staged_and_copied_forests_fill_alike(reloaded):
    forest = BoostForestRegressor(20, oob_score=True, max_samples=0.5, random_state=0, preset="paper").fit(
        X, whole[:, 0]
    )
    expected = forest.predict(X)
    assert_allclose(list(forest.staged_predict(X))[-1], expected, rtol=1e-12)
    assert_array_equal(np.concatenate([forest.predict(X[i : i + 1]) for i in range(20)]), expected[:20])
    assert forest.oob_score_ > 0.7
    assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(X), expected)
    assert_array_equal(reloaded(forest).predict(X), expected)
    tree = forest.get_tree(3)
    assert_array_equal(tree.apply(X), forest.apply(X)[:, 3])
    assert tree.fill_ is forest.fill_


def test_models_in_python_get_filled_values():
    y = whole[:, 0]
    settings = {"random_state": 0, "max_leaf_nodes": 5, "min_samples_leaf": 30}
    in_core = BoostTreeRegressor(reg_lambda=0.1, **settings).fit(X, y)
    in_python = BoostTreeRegressor(node_model=Ridge(alpha=0.1), reg_lambda=0.1, **settings).fit(X, y)
    assert_allclose(in_python.predict(X), in_core.predict(X), rtol=1e-7, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------- files


def damaged(change):
    """Return a copy of a distribution of the features, changed."""

    def damage(fill):
        fill = fill.copy()
        change(fill)
        return fill

    return damage


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda fill: fill[1:], "'fill' must have the shape \\(6, 5\\); got \\(5, 5\\)"),
        (lambda fill: fill.astype("f4"), "'fill' must be float64"),
        (damaged(lambda fill: fill.put(0, np.nan)), "'fill' has values that are not finite"),
        (damaged(lambda fill: fill.put(6, 9.0)), "no symmetric precision"),
        (damaged(lambda fill: fill.put(5, -9.0)), "a precision that is not positive"),
    ],
    ids=["short", "type", "nan", "asymmetric", "negative"],
)
def test_a_damaged_distribution_is_refused(damage, reason, tmp_path, refuses_file):
    tree = BoostTreeRegressor(random_state=0).fit(X, whole[:, 0])
    tree.save_model(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    refuses_file(with_tensors(content, fill=damage(tree.fill_)), f"cannot be loaded: .*{reason}")
