"""Forests that grow on, and the score that costs nothing: warm starts and out-of-bag figures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score

from boostforest import _core
from models import FORESTS, contents, out_of_bag, output
from twin import example_data


def make_forest(task, n_estimators, **params):
    """Return a forest."""
    return FORESTS[task](n_estimators, **{"random_state": 0, **params})


@pytest.mark.parametrize("task", FORESTS)
def test_a_warm_start_ends_where_one_fit_would_have(task):
    X, y = example_data(task)
    pools = {"node_model": ["ridge", "constant"], "reg_lambda": stats.loguniform(1e-3, 1), "oob_score": True}
    at_once = make_forest(task, 60, **pools).fit(X, y)
    forest = make_forest(task, 30, **pools, warm_start=True).fit(X, y)
    forest.set_params(n_estimators=31).fit(X, y)
    forest.set_params(n_estimators=60).fit(X, y)
    assert contents(forest) == contents(at_once)
    assert_array_equal(forest.tree_seeds_, at_once.tree_seeds_)
    assert forest.tree_params_ == at_once.tree_params_
    assert_array_equal(forest.predict(X), at_once.predict(X))
    assert forest.oob_score_ == at_once.oob_score_


@pytest.mark.parametrize("max_leaf_nodes", [None, (30, None)], ids=["as expected", "more than expected"])
def test_trees_joined_in_one_block_are_those_joined_one_by_one(max_leaf_nodes):
    X, y = example_data("regression", 800, 20)
    forest = make_forest("regression", 100, max_leaf_nodes=max_leaf_nodes).fit(X, y)
    single = make_forest("regression", 1, max_leaf_nodes=max_leaf_nodes, warm_start=True)
    for n in range(1, 101):
        single.set_params(n_estimators=n).fit(X, y)
    if max_leaf_nodes is not None:
        assert forest.n_leaves_[0] == 30
        assert forest.n_leaves_.sum() > 1.5 * 100 * forest.n_leaves_[0]
    assert forest.forest_.nbytes > 2**20
    assert contents(forest) == contents(single)


def test_a_warm_start_says_what_it_cannot_do():
    X, y = example_data("binary")
    forest = make_forest("binary", 8, warm_start=True, random_state=None).fit(X, y)
    before = contents(forest)
    with pytest.warns(UserWarning, match="without increasing n_estimators") as caught:
        forest.fit(X, y)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="n_estimators=3 must be at least the 8 trees"):
        forest.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="no other classes"):
        forest.set_params(n_estimators=10).fit(X, y + 1)
    with pytest.raises(ValueError, match="X has 3 features"):
        forest.fit(X[:, :3], y)
    assert contents(forest) == before
    grown = forest.set_params(n_estimators=10).fit(X, y)  # without a seed, too, the first trees stay
    assert contents(grown.get_tree(7))["params"] in before["params"] and grown.forest_.n_trees == 10
    assert forest.set_params(warm_start=False, n_estimators=2).fit(X, y).forest_.n_trees == 2


@pytest.mark.parametrize("change", ["bootstrap", "max_samples", "sample_weight", "rows in between"])
def test_oob_score_is_refused_where_the_draws_of_earlier_trees_cannot_be_repeated(change):
    X, y = example_data("regression")
    forest = make_forest("regression", 10, warm_start=True)
    if change == "bootstrap":
        forest.set_params(bootstrap=False).fit(X, y)
    elif change == "rows in between":
        forest.fit(X[:100], y[:100]).set_params(n_estimators=20).fit(X, y)
    else:
        forest.fit(X, y)
    forest.set_params(n_estimators=30, bootstrap=True, oob_score=True)
    forest.set_params(max_samples=0.5 if change == "max_samples" else None)
    with pytest.raises(ValueError, match="oob_score"):
        forest.fit(X, y, np.linspace(0.1, 1, len(y)) if change == "sample_weight" else None)


@pytest.mark.parametrize("max_samples", [None, 0.4, 50])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", FORESTS)
def test_out_of_bag_figures_equal_a_slow_recomputation(task, weighted, max_samples):
    X, y = example_data(task)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(X)) if weighted else None
    forest = make_forest(task, 70, oob_score=True, max_samples=max_samples, n_jobs=2).fit(X, y, weight)
    n_draws = {None: len(X), 0.4: int(0.4 * len(X)), 50: 50}[max_samples]
    cumulative = np.cumsum(weight) if weighted else None
    seeds = [int(seed) for seed in forest.tree_seeds_]
    left_out = np.array([_core.bootstrap_counts(seed, len(X), n_draws, cumulative) == 0 for seed in seeds])
    trees = np.array([output(forest.get_tree(i), X) for i in range(70)])
    expected = [trees[left_out[:, i], i].mean(axis=0) for i in range(len(X))]
    actual = out_of_bag(forest)
    assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
    metric, predicted = (r2_score, actual) if task == "regression" else (accuracy_score, actual.argmax(axis=1))
    assert_allclose(forest.oob_score_, metric(y, predicted, sample_weight=weight))


def test_out_of_bag_scores_take_any_metric_and_leave_out_rows_that_are_always_drawn():
    X, y = example_data("regression")
    with pytest.warns(UserWarning, match="rows were drawn by every tree") as caught:
        forest = make_forest("regression", 2, oob_score=mean_absolute_error).fit(X, y)
    assert caught[0].filename == __file__
    known = ~np.isnan(forest.oob_prediction_)
    assert 0.5 < known.mean() < 0.8
    assert_allclose(forest.oob_score_, mean_absolute_error(y[known], forest.oob_prediction_[known]))


def test_the_metric_of_the_out_of_bag_score_gets_the_target_as_it_was_given():
    # A metric may depend on the last bit: the Poisson deviance refuses counts a little below zero.
    X, y = example_data("regression")
    y = np.round(np.exp(y), 1)
    seen = []
    make_forest("regression", 40, oob_score=lambda y_true, y_pred: seen.append(y_true) or 0.0).fit(X, y)
    assert_array_equal(seen[0], y)


def test_a_fit_without_oob_score_leaves_no_figures_of_an_earlier_one():
    X, y = example_data("regression")
    forest = make_forest("regression", 40, oob_score=True).fit(X, y)
    forest.set_params(oob_score=False).fit(X + 1, y)
    assert not hasattr(forest, "oob_score_") and not hasattr(forest, "oob_prediction_")


@pytest.mark.parametrize("task", ["regression", "binary"])
@pytest.mark.filterwarnings("ignore:min_samples_leaf:UserWarning", "ignore:y has one class:UserWarning")
@pytest.mark.filterwarnings("ignore:1 rows were drawn by every tree:UserWarning")
def test_an_out_of_bag_score_of_no_rows_is_nan_or_refused(task):
    X, y = example_data(task)
    forest = make_forest(task, 3, oob_score=True)
    try:
        forest.fit(X[:1], y[:1])
    except ValueError as error:
        assert "oob_score" in str(error)  # noqa: PT017
    else:
        assert np.isnan(forest.oob_score_)
