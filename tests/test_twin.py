"""The twin against oracles of its own: it can only judge the library if it is right itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.linear_model import Ridge

import twin
from twin import Params, example_data

TASKS = ["regression", "binary", "multiclass"]


def params_for(task, **changes):
    """Return the parameters of a small tree."""
    return Params(task=task, n_classes=3 if task == "multiclass" else 2, **{"min_samples_leaf": 8, **changes})


# ------------------------------------------------------------------------------------------------------- random numbers


def test_words_are_splitmix64():
    # The first outputs of the reference implementation, seeded with 0.
    assert [twin.word(0, i) for i in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_uniform_and_below_stay_in_range_and_are_uniform():
    u = [twin.uniform(7, i) for i in range(5000)]
    assert min(u) >= 0 and max(u) < 1
    assert stats.kstest(u, "uniform").pvalue > 0.001
    counts = np.bincount([twin.below(7, i, 6) for i in range(6000)])
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize(("n", "b"), [(10, 3), (10, 9), (10, 10), (1, 1)])
def test_batch_positions_are_distinct_sorted_and_in_range(n, b):
    for key in range(50):
        positions = twin.batch_positions(key, n, b)
        assert len(positions) == b
        assert positions == sorted(set(positions))
        assert positions[0] >= 0 and positions[-1] < n


def test_every_batch_is_equally_likely():
    batches = [tuple(twin.batch_positions(twin.mix(key), 5, 2)) for key in range(5000)]
    _, counts = np.unique(batches, axis=0, return_counts=True)
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > 0.001


def test_every_feature_order_is_equally_likely():
    orders = [tuple(twin.feature_order(twin.mix(key), 3)) for key in range(6000)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001


def test_feature_chunks_cover_all_features_once():
    assert twin.feature_chunks(3, 5, None) == twin.feature_chunks(3, 5, 5) == [[0, 1, 2, 3, 4]]
    chunks = twin.feature_chunks(3, 5, 2)
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]
    assert sorted(feature for chunk in chunks for feature in chunk) == [0, 1, 2, 3, 4]


def test_bootstrap_rows_follow_the_weights():
    weights = np.array([0.0, 1.0, 3.0, 0.0, 4.0, 0.0])
    rows = twin.bootstrap_rows(11, 6, 8000, weights)
    counts = np.bincount(rows, minlength=6)
    assert_array_equal(rows, np.sort(rows))
    assert_array_equal(counts[weights == 0], 0)
    assert stats.chisquare(counts[weights > 0], 1000 * weights[weights > 0]).pvalue > 0.001


def test_bootstrap_rows_without_weights_are_uniform():
    rows = twin.bootstrap_rows(11, 8, 8000)
    assert_array_equal(rows, np.sort(rows))
    assert stats.chisquare(np.bincount(rows)).pvalue > 0.001


# --------------------------------------------------------------------------------------------------------------- losses


@pytest.mark.parametrize("task", TASKS)
def test_derivatives_match_numeric_differentiation(task):
    params = params_for(task)
    _, y = example_data(task, n=40)
    F = np.random.default_rng(1).normal(size=(40, params.n_outputs))
    g, h = twin.derivatives(y, F, params)
    # g and h in regression belong to half the squared error.
    factor = 0.5 if task == "regression" else 1.0
    for j in range(params.n_outputs):
        step = np.zeros(params.n_outputs)
        step[j] = 1e-4
        up, mid, down = (factor * twin.losses(y, F + s * step, params) for s in (1, 0, -1))
        assert_allclose(g[:, j], (up - down) / 2e-4, atol=1e-7)
        assert_allclose(h[:, j], (up - 2 * mid + down) / 1e-8, atol=1e-5)


def test_pseudo_labels_are_newton_steps_bounded_by_four():
    params = params_for("binary")
    F = np.array([[0.0], [0.0], [3.0], [-1e3], [-1e3]])
    y = np.array([1, 0, 0, 1, 0])
    with np.errstate(over="ignore"):
        z, v = twin.pseudo_labels(y, F, np.full(5, 2.0), params)
    p = 1 / (1 + np.exp(-3.0))
    assert_allclose(z[:, 0], [2.0, -2.0, -4.0, 4.0, 0.0])
    assert_allclose(v[:, 0], 2 * np.array([0.25, 0.25, p * (1 - p), 4.44e-16, 4.44e-16]), rtol=1e-3)


def test_regression_pseudo_labels_are_residuals():
    y, F = np.array([1.0, 5.0]), np.array([[0.5], [9.0]])
    z, v = twin.pseudo_labels(y, F, np.array([1.0, 3.0]), params_for("regression"))
    assert_allclose(z[:, 0], [0.5, -4.0])
    assert_allclose(v[:, 0], [1.0, 3.0])


# ---------------------------------------------------------------------------------------------------------------- gains


def test_xgb_gain_of_a_small_example():
    left = np.array([True, True, False])
    w, g, h = np.array([1.0, 2.0, 1.0]), np.array([[1.0], [2.0], [-3.0]]), np.ones((3, 1))
    # Left: G = 5, H = 3; right: G = -3, H = 1; lambda = 1.
    assert twin.xgb_gain(left, w, g, h, 1.0) == pytest.approx(0.5 * (25 / 4 + 9 / 2))
    twice = twin.xgb_gain(left, w, np.hstack([g, g]), np.hstack([h, h]), 1.0)
    assert twice == pytest.approx(25 / 4 + 9 / 2)
    assert twin.xgb_gain(left, w, g, 0 * h, 0.0) == 0.0


def test_mse_gain_is_the_decrease_of_the_weighted_squared_deviations():
    rng = np.random.default_rng(0)
    y, w, left = rng.normal(size=30), rng.uniform(0.5, 2, size=30), rng.uniform(size=30) < 0.4

    def deviations(rows):
        return w[rows] @ (y[rows] - np.average(y[rows], weights=w[rows])) ** 2

    expected = deviations(left | ~left) - deviations(left) - deviations(~left)
    assert twin.mse_gain(left, w, y) == pytest.approx(expected)


def test_gini_gain_of_a_small_example():
    y, left = np.array([0, 0, 1, 1, 1]), np.array([True, True, True, False, False])
    w = np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    # Impurities: parent 12/25, left 4/9, right 0.
    assert twin.gini_gain(left, w, y, 2) == pytest.approx(5 * 12 / 25 - 3 * 4 / 9)


def test_c45_gain_of_quinlans_example():
    # The outlook of the play-tennis data as sunny (5 rows: 2 yes) against the rest (9 rows: 7 yes).
    y = np.repeat([1, 0, 1, 0], [2, 3, 7, 2])
    left = np.repeat([True, False], [5, 9])
    information = stats.entropy([9, 5], base=2) - (
        5 / 14 * stats.entropy([2, 3], base=2) + 9 / 14 * stats.entropy([7, 2], base=2)
    )
    split_information = stats.entropy([5, 9], base=2)
    assert twin.c45_gain(left, np.ones(14), y, 2) == pytest.approx(14 * information / split_information)


@pytest.mark.parametrize("gain", [twin.gini_gain, twin.c45_gain])
def test_weights_act_as_repeated_rows_in_label_gains(gain):
    rng = np.random.default_rng(3)
    y, left, w = rng.integers(3, size=20), rng.uniform(size=20) < 0.5, rng.integers(1, 4, size=20)
    assert gain(left, w.astype(float), y, 3) == pytest.approx(gain(left.repeat(w), np.ones(w.sum()), y.repeat(w), 3))


# ---------------------------------------------------------------------------------------------------------- node models


def test_ridge_matches_scikit_learn():
    rng = np.random.default_rng(0)
    X, z, v = rng.normal(size=(30, 4)) + 5, rng.normal(size=30), rng.uniform(0.1, 2, size=30)
    a, b = twin.fit_ridge(X, z, v, Params("regression", reg_lambda=0.3))
    reference = Ridge(alpha=0.3).fit(X, z, sample_weight=v)
    assert_allclose(a, reference.coef_, rtol=1e-9)
    assert_allclose(b, reference.intercept_, rtol=1e-9)


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
def test_models_of_several_classes_are_centred(node_model):
    rng = np.random.default_rng(0)
    X, z, v = rng.normal(size=(30, 4)), rng.normal(size=(30, 3)), rng.uniform(size=(30, 3))
    params = params_for("multiclass", node_model=node_model)
    coef, intercept = twin.fit_outputs(X, z, v, params)
    if node_model == "constant":
        raw = np.array([np.average(z[:, j], weights=v[:, j]) for j in range(3)])
        assert coef is None
        assert_allclose(intercept, 2 / 3 * (raw - raw.mean()))
    else:
        raw = np.array([Ridge(params.reg_lambda).fit(X, z[:, j], v[:, j]).predict(X) for j in range(3)]).T
        assert_allclose(X @ coef.T + intercept, 2 / 3 * (raw - raw.mean(axis=1, keepdims=True)))


# ---------------------------------------------------------------------------------------------------------- whole trees


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("batch_size", [1000, 40])
def test_nodes_hold_the_scores_that_prediction_gives(task, batch_size):
    X, y = example_data(task)
    root = twin.grow(X, y, None, 5, params_for(task, batch_size=batch_size))
    F = twin.predict_scores(root, X)
    leaves = [node for node in twin.nodes_by_path(root).values() if node.left is None]
    assert len(leaves) > 2
    assert_array_equal(np.sort(np.concatenate([leaf.rows for leaf in leaves])), np.arange(len(X)))
    for leaf in leaves:
        assert_allclose(leaf.scores, F[leaf.rows])
        assert all(twin.leaf_of(root, X[i]) is leaf for i in leaf.rows)


@pytest.mark.parametrize("task", TASKS)
def test_losses_without_batches_are_those_of_the_rows(task):
    X, y = example_data(task)
    params = params_for(task)
    root = twin.grow(X, y, None, 5, params)
    nodes = twin.nodes_by_path(root)
    assert root.loss == pytest.approx(twin.losses(y, np.zeros((len(y), params.n_outputs)), params).sum())
    for node in nodes.values():
        assert node.loss == pytest.approx(twin.losses(y[node.rows], node.scores, params).sum())
    leaf_losses = sum(node.loss for node in nodes.values() if node.left is None)
    assert leaf_losses < 0.8 * root.loss


def test_children_hold_min_samples_leaf_by_weight():
    X, y = example_data("regression")
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    root = twin.grow(X, y, w, 5, params_for("regression"))
    nodes = twin.nodes_by_path(root).values()
    assert len(nodes) > 5
    assert min(w[node.rows].sum() for node in nodes) >= 8


def test_integer_weights_act_as_repeated_rows():
    X, y = example_data("binary")
    w = np.random.default_rng(0).integers(1, 4, size=len(y))
    params = params_for("binary")
    weighted = twin.grow(X, y, w.astype(float), 5, params)
    repeated = twin.grow(X.repeat(w, axis=0), y.repeat(w), None, 5, params)
    assert twin.nodes_by_path(weighted).keys() == twin.nodes_by_path(repeated).keys()
    assert_allclose(twin.predict_scores(weighted, X), twin.predict_scores(repeated, X), rtol=1e-9)


def test_leaf_limit_keeps_the_splits_of_the_worst_leaves():
    X, y = example_data("regression", n=300)
    free = twin.nodes_by_path(twin.grow(X, y, None, 5, params_for("regression")))
    limited = twin.nodes_by_path(twin.grow(X, y, None, 5, params_for("regression", max_leaf_nodes=6)))
    split = [path for path, node in limited.items() if node.left is not None]
    assert len(split) == 5
    # Draws depend on the path: a limited tree is a part of the free one.
    for path in split:
        assert (limited[path].feature, limited[path].threshold) == (free[path].feature, free[path].threshold)
    # What stayed a leaf, though it could have been split, has a smaller loss than all that were split.
    left_over = [limited[path].loss for path in limited if path not in split and free[path].left is not None]
    assert max(left_over) < min(limited[path].loss for path in split)


def test_depth_limit_bounds_every_path():
    X, y = example_data("binary", n=300)
    nodes = twin.nodes_by_path(twin.grow(X, y, None, 5, params_for("binary", max_depth=2)))
    assert max(node.depth for node in nodes.values()) == 2


def test_root_that_cannot_split_is_a_leaf_with_a_model():
    X, y = example_data("regression")
    root = twin.grow(X, y, None, 5, params_for("regression", min_samples_leaf=100, clip=False))
    assert root.left is None
    assert_allclose(twin.predict_scores(root, X)[:, 0], Ridge(0.1).fit(X, y).predict(X))


def test_constant_features_are_never_split():
    X, y = example_data("regression")
    X[:, :3] = 1.0
    nodes = twin.nodes_by_path(twin.grow(X, y, None, 5, params_for("regression"))).values()
    assert {node.feature for node in nodes} == {-1, 3}


def test_clipped_models_stay_within_their_pseudo_labels():
    X, y = example_data("regression")
    root = twin.grow(X, y, None, 5, params_for("regression", reg_lambda=1e-4))
    bounds = {path: (node.lower, node.upper) for path, node in twin.nodes_by_path(root).items() if path}
    F = twin.predict_scores(root, 100 * X)
    for i, x in enumerate(100 * X):
        path = [node.path for node in twin.path_of(root, x)[1:]]
        assert sum(bounds[p][0] for p in path) - 1e-9 <= F[i, 0] <= sum(bounds[p][1] for p in path) + 1e-9


@pytest.mark.parametrize("task", TASKS)
def test_summed_model_of_a_leaf_gives_its_scores(task):
    X, y = example_data(task)
    root = twin.grow(X, y, None, 5, params_for(task, clip=False))
    for path, leaf in twin.nodes_by_path(root).items():
        coef, intercept = twin.summed_model(root, path, X.shape[1])
        assert_allclose(X[leaf.rows] @ coef.T + intercept, leaf.scores, atol=1e-12)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_forest_probabilities_are_the_mean_of_the_trees(task):
    X, y = example_data(task)
    params = params_for(task)
    trees = [twin.grow(X, y, None, seed, params) for seed in (1, 2)]
    p = twin.forest_predict(trees, X, params)
    assert p.shape == (len(X), params.n_classes)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(p, (twin.predict_proba(trees[0], X, params) + twin.predict_proba(trees[1], X, params)) / 2)
    assert np.mean(p.argmax(axis=1) == y) > 0.7
