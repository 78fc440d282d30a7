"""Forests of any estimators: what each member is fitted to, what it draws, how their predictions are joined."""

import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import boostforest
import twin
from boostforest import (
    BoostForestRegressor,
    BoostTreeClassifier,
    BoostTreeRegressor,
    ETForestRegressor,
    PoolForestClassifier,
    PoolForestRegressor,
    model_trees,
)
from boostforest._pools.members import share_out
from models import output
from twin import example_data

X, y = example_data("regression")

LEAVES = {"min_samples_leaf": range(5, 16)}
MIXTURES = {
    "regression": ([ExtraTreeRegressor(), Ridge(), BoostTreeRegressor()], [LEAVES, {"alpha": [0.1, 1.0]}, LEAVES]),
    "multiclass": ([ExtraTreeClassifier(), RidgeClassifier(), BoostTreeClassifier()], [LEAVES, None, LEAVES]),
}
FORESTS = {"regression": PoolForestRegressor, "multiclass": PoolForestClassifier}


def mixture(task, n_estimators=12, **params):
    """Return a forest of three kinds of members; those of classification vote in part."""
    estimators, pools = MIXTURES[task]
    return FORESTS[task](estimators, n_estimators, pools=pools, **{"random_state": 0, **params})


# ------------------------------------------------------------------------------------------- what a member is fitted to


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", FORESTS)
def test_members_are_the_estimators_fitted_to_the_rows_that_their_seeds_draw(task, weighted):
    X, y = example_data(task, n=80)
    weight = np.linspace(0, 2, len(y)) if weighted else None
    forest = mixture(task, max_samples=60).fit(X, y, weight)
    assert len(forest.estimators_) == 12
    for seed, rows, member in zip(forest.member_seeds_, forest.estimators_samples_, forest.estimators_, strict=True):
        assert_array_equal(rows, twin.bootstrap_rows(int(seed), len(y), 60, weight))
        again = clone(member).fit(X[rows], y[rows])
        assert_array_equal(output(member, X), output(again, X))


def test_the_draws_are_those_of_a_boost_forest():
    ours = PoolForestRegressor(Ridge(), 9, random_state=3).fit(X, y)
    theirs = BoostForestRegressor(9, random_state=3, preset="paper").fit(X, y)
    assert_array_equal(ours.member_seeds_, theirs.tree_seeds_)


def test_a_mean_of_members_is_the_prediction():
    forest = mixture("regression").fit(X, y)
    assert_allclose(forest.predict(X), np.mean([member.predict(X) for member in forest.estimators_], axis=0))


def test_without_bootstrap_members_see_all_rows_and_get_the_weights():
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    forest = PoolForestRegressor(Ridge(), 3, bootstrap=False).fit(X, y, weight)
    assert_allclose(forest.predict(X), Ridge().fit(X, y, weight).predict(X))
    assert_array_equal(forest.estimators_samples_[2], np.arange(len(y)))


def test_rows_of_weight_zero_are_never_drawn():
    forest = PoolForestRegressor(Ridge(), 5, random_state=0).fit(X, y, np.arange(len(y)) < 50)
    assert max(rows.max() for rows in forest.estimators_samples_) < 50


def test_class_weights_change_the_draws_and_balanced_subsample_the_weights():
    X, y = example_data("binary")
    rare = y == 1
    for class_weight in ({0: 1, 1: 9}, {0: 0, 1: 1}):
        forest = PoolForestClassifier(GaussianNB(), 20, class_weight=class_weight, random_state=0)
        if class_weight[0] == 0:
            forest.set_params(estimator=DummyClassifier())
        drawn = np.concatenate(forest.fit(X, y).estimators_samples_)
        share = class_weight[1] * rare.sum() / (class_weight[0] * (~rare).sum() + class_weight[1] * rare.sum())
        assert rare[drawn].mean() == pytest.approx(share, abs=0.02)
    forest = PoolForestClassifier(GaussianNB(), 5, class_weight="balanced_subsample", random_state=0).fit(X, y)
    for member in forest.estimators_:
        assert_allclose(member.class_prior_, [0.5, 0.5])


def test_members_get_columns_of_their_own():
    X, y = example_data("regression", d=9)
    forest = PoolForestRegressor(LinearRegression(), 200, max_features=[2, 5], random_state=0).fit(X, y)
    assert {len(columns) for columns in forest.estimators_features_} == {2, 5}
    drawn = np.bincount(np.concatenate(forest.estimators_features_), minlength=9)
    assert drawn.min() > 0.7 * drawn.mean()
    for columns, member, rows in zip(
        forest.estimators_features_[:5], forest.estimators_[:5], forest.estimators_samples_[:5], strict=True
    ):
        assert_allclose(member.coef_, LinearRegression().fit(X[rows][:, columns], y[rows]).coef_)
    members = zip(forest.estimators_, forest.estimators_features_, strict=True)
    assert_allclose(forest.predict(X), np.mean([m.predict(X[:, columns]) for m, columns in members], axis=0))


# -------------------------------------------------------------------------------------------------- what a member draws


def test_pools_may_be_values_sequences_and_distributions_of_nested_parameters():
    pools = {
        "ridge__alpha": stats.loguniform(1e-3, 1e3),
        "ridge__fit_intercept": [True, False],
        "standardscaler__with_mean": False,
    }
    forest = PoolForestRegressor(make_pipeline(StandardScaler(), Ridge()), 100, pools=pools, random_state=0).fit(X, y)
    alphas = [member["ridge"].alpha for member in forest.estimators_]
    assert alphas == [params["ridge__alpha"] for params in forest.member_params_]
    assert len(set(alphas)) == 100 and 0.3 < np.mean(np.log10(alphas) < 0) < 0.7
    assert 30 < sum(member["ridge"].fit_intercept for member in forest.estimators_) < 70
    assert not any(member["standardscaler"].with_mean for member in forest.estimators_)


def test_the_draws_of_one_pool_do_not_depend_on_the_others():
    forest = PoolForestRegressor(ExtraTreeRegressor(), 20, pools=LEAVES, random_state=0).fit(X, y)
    other = clone(forest).set_params(pools={"max_depth": [3, 4, 5], **LEAVES}).fit(X, y)
    assert [p["min_samples_leaf"] for p in other.member_params_] == [
        p["min_samples_leaf"] for p in forest.member_params_
    ]


def test_a_pool_may_hold_estimators_and_each_member_gets_its_own():
    parts = [Ridge(alpha=5.0), ExtraTreeRegressor(max_depth=2)]
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    forest = PoolForestRegressor(pipeline, 12, pools={"linearregression": parts}, random_state=0).fit(X, y)
    used = [member["linearregression"] for member in forest.estimators_]
    assert {type(part) for part in used} == {Ridge, ExtraTreeRegressor}
    assert len({id(part) for part in [*used, *parts]}) == 14
    assert len({part.random_state for part in used}) == 12, "estimators from a pool get seeds as well"
    assert not hasattr(parts[0], "coef_")


def test_members_get_seeds_of_their_own_also_inside_pipelines():
    for estimator in (ExtraTreeRegressor(random_state=5), make_pipeline(StandardScaler(), ExtraTreeRegressor())):
        forest = PoolForestRegressor(estimator, 10, random_state=0).fit(X, y)
        trees = [m if isinstance(m, ExtraTreeRegressor) else m[-1] for m in forest.estimators_]
        assert len({tree.random_state for tree in trees}) == 10


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5), st.integers(1, 60))
def test_every_first_part_of_a_mixture_keeps_to_the_weights(weights, n):
    kinds = share_out(weights, n)
    shares = np.array(weights) / np.sum(weights)
    for i in range(1, n + 1):
        assert np.abs(np.bincount(kinds[:i], minlength=len(weights)) - i * shares).max() < 2


def test_equal_kinds_take_turns_and_weights_are_shares():
    assert share_out([1, 1, 1], 7).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert np.bincount(share_out([1, 2, 7], 250)).tolist() == [25, 50, 175]
    forest = PoolForestRegressor([Ridge(), ExtraTreeRegressor()], 9, weights=[1, 2], random_state=0).fit(X, y)
    assert sum(isinstance(member, Ridge) for member in forest.estimators_) == 3


# ------------------------------------------------------------------------------------------- how predictions are joined


def test_probabilities_are_those_of_the_classes_that_a_member_has_seen_and_votes_without():
    X, y = example_data("multiclass", n=40)
    labels = np.array(["one", "two", "three"])[y]
    keep = (y < 2) | (np.cumsum(y == 2) <= 2)  # two rows of the third class: some members draw none
    X, labels = X[keep], labels[keep]
    forest = PoolForestClassifier([GaussianNB(), RidgeClassifier()], 30, random_state=0).fit(X, labels)
    assert forest.classes_.tolist() == ["one", "three", "two"]
    assert len({len(member.classes_) for member in forest.estimators_}) == 2
    expected = np.zeros((len(X), 3))
    for member in forest.estimators_:
        if isinstance(member, GaussianNB):
            expected[:, member.classes_] += member.predict_proba(X)
        else:
            expected[np.arange(len(X)), member.predict(X)] += 1
    assert_allclose(forest.predict_proba(X), expected / 30)
    assert_array_equal(forest.predict(X), forest.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("task", FORESTS)
def test_stages_end_at_the_prediction(task):
    X, y = example_data(task)
    forest = mixture(task).fit(X, y)
    first = clone(forest).set_params(n_estimators=5).fit(X, y)
    stages = list(forest.staged_predict(X) if task == "regression" else forest.staged_predict_proba(X))
    assert len(stages) == 12
    assert_allclose(stages[4], output(first, X))
    assert_allclose(stages[-1], output(forest, X))
    assert_array_equal(list(forest.staged_predict(X))[-1].dtype, y.dtype)


@pytest.mark.parametrize("task", FORESTS)
def test_out_of_bag_figures_equal_a_slow_recomputation(task):
    X, y = example_data(task)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        forest = mixture(task, 40, oob_score=True, max_features=3).fit(X, y)
    total, n = np.zeros((len(y), 1 if task == "regression" else 3)), np.zeros((len(y), 1))
    for member, columns, rows in zip(
        forest.estimators_, forest.estimators_features_, forest.estimators_samples_, strict=True
    ):
        left_out = np.setdiff1d(np.arange(len(y)), rows)
        table = X[left_out][:, columns]
        if task == "regression":
            total[left_out, 0] += member.predict(table)
        elif isinstance(member, RidgeClassifier):
            total[left_out, member.predict(table)] += 1
        else:
            total[left_out] += member.predict_proba(table)
        n[left_out] += 1
    mean = total / n
    if task == "regression":
        assert_allclose(forest.oob_prediction_, mean[:, 0])
        assert_allclose(forest.oob_score_, r2_score(y, mean[:, 0]))
    else:
        assert_allclose(forest.oob_decision_function_, mean)
        assert_allclose(forest.oob_score_, accuracy_score(y, mean.argmax(axis=1)))


def test_the_out_of_bag_score_takes_any_metric_and_warns_of_rows_without():
    forest = PoolForestRegressor(Ridge(), 2, oob_score=mean_absolute_error, random_state=0)
    with pytest.warns(UserWarning, match="rows were drawn by every member") as caught:
        forest.fit(X, y)
    assert caught[0].filename == __file__
    known = ~np.isnan(forest.oob_prediction_)
    assert_allclose(forest.oob_score_, mean_absolute_error(y[known], forest.oob_prediction_[known]))


def test_importances_are_mean_shares_of_the_columns():
    forest = PoolForestRegressor(ExtraTreeRegressor(), 10, max_features=3, random_state=0).fit(X, y)
    expected = np.zeros(4)
    for member, columns in zip(forest.estimators_, forest.estimators_features_, strict=True):
        expected[columns] += member.feature_importances_ / 10
    assert_allclose(forest.feature_importances_, expected)
    forest.set_params(estimator=[ExtraTreeRegressor(), Ridge()]).fit(X, y)
    with pytest.raises(AttributeError, match=r"member 1 \(Ridge\)"):
        _ = forest.feature_importances_


# ----------------------------------------------------- the same forest, wherever it is fitted and in however many steps


@pytest.mark.parametrize(("task", "backend"), [("regression", "threading"), ("multiclass", "loky")])
def test_the_same_seed_gives_the_same_forest_for_any_number_of_jobs(task, backend):
    X, y = example_data(task)
    expected = mixture(task, 20, oob_score=True).fit(X, y)
    with joblib.parallel_config(backend=backend):
        forest = mixture(task, 20, oob_score=True, n_jobs=2).fit(X, y)
    assert_array_equal(output(forest, X), output(expected, X))
    assert forest.oob_score_ == expected.oob_score_
    assert_array_equal(output(forest.set_params(n_jobs=1), X), output(expected, X))


@pytest.mark.parametrize("task", FORESTS)
def test_a_warm_start_ends_where_one_fit_would_have(task):
    X, y = example_data(task)
    at_once = mixture(task, 30, oob_score=True, weights=[1, 2, 3]).fit(X, y)
    forest = mixture(task, 11, oob_score=False, weights=[1, 2, 3], warm_start=True).fit(X, y)
    first = forest.estimators_[0]
    forest.set_params(n_estimators=30, oob_score=True).fit(X, y)
    assert forest.estimators_[0] is first
    assert_array_equal(output(forest, X), output(at_once, X))
    assert forest.oob_score_ == at_once.oob_score_
    assert forest.member_params_ == at_once.member_params_
    with pytest.warns(UserWarning, match="does not fit new members") as caught:
        forest.set_params(verbose=1).fit(X, y)
    assert caught[0].filename == __file__


def test_a_warm_start_on_other_rows_has_no_samples_to_name():
    forest = PoolForestRegressor(Ridge(), 3, warm_start=True).fit(X[:100], y[:100])
    forest.set_params(n_estimators=6).fit(X, y)
    assert not hasattr(forest, "estimators_samples_") and len(forest.estimators_) == 6
    with pytest.raises(ValueError, match="oob_score needs members that were all drawn alike"):
        forest.set_params(n_estimators=7, oob_score=True).fit(X, y)


@pytest.mark.parametrize("task", FORESTS)
def test_forests_are_cloned_and_pickled_whole(task):
    X, y = example_data(task)
    forest = mixture(task).fit(X, y)
    assert_array_equal(output(pickle.loads(pickle.dumps(forest)), X), output(forest, X))
    again = clone(forest)
    assert not hasattr(again, "estimators_") and again.estimator[0] is not forest.estimator[0]
    assert_array_equal(output(again.fit(X, y), X), output(forest, X))
    nested = PoolForestRegressor(ExtraTreeRegressor()).set_params(estimator__max_depth=3)
    assert nested.get_params()["estimator__max_depth"] == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_drawn_to_the_end(capsys, n_jobs):
    PoolForestRegressor(ExtraTreeRegressor(), 40, verbose=1, n_jobs=n_jobs).fit(X, y)
    drawn = capsys.readouterr().err
    assert "40/40 members" in drawn and drawn.count("\r") > 10


# ------------------------ tables: the members decide what they take (data frames: test_pool_forest_frames.py)


def test_sparse_tables_reach_members_that_take_them():
    X, y = example_data("regression")
    X = np.where(X > 0.5, X, 0)
    forest = PoolForestRegressor(LinearRegression(), 20, max_features=3, oob_score=True, random_state=0).fit(X, y)
    expected, score = forest.predict(X), forest.oob_score_
    forest.fit(sparse.coo_array(X), y)
    assert_allclose(forest.predict(sparse.csc_array(X)), expected, rtol=1e-4)
    assert forest.oob_score_ == pytest.approx(score, rel=1e-4)
    both = PoolForestRegressor([ExtraTreeRegressor(), BoostTreeRegressor()], 2, random_state=0)
    assert np.isfinite(both.fit(sparse.csr_array(X), y).predict(sparse.csr_array(X))).all()


def test_missing_values_reach_members_that_take_them():
    X, y = example_data("regression")
    X[::7, 1] = np.nan
    forest = PoolForestRegressor([BoostTreeRegressor(), DecisionTreeRegressor()], 4, random_state=0).fit(X, y)
    assert forest.__sklearn_tags__().input_tags.allow_nan and np.isfinite(forest.predict(X)).all()
    assert not PoolForestRegressor([BoostTreeRegressor(), Ridge()]).__sklearn_tags__().input_tags.allow_nan


# -------------------------------------------------------------------------------------------------------- named forests


@pytest.mark.parametrize(
    ("forest", "pool_forest", "tree"),
    [
        (boostforest.ETForestRegressor, PoolForestRegressor, ExtraTreeRegressor()),
        (boostforest.ETForestClassifier, PoolForestClassifier, ExtraTreeClassifier()),
        (boostforest.ModelForestRegressor, PoolForestRegressor, model_trees.M5PRegressor(prune=False)),
        (boostforest.LMForestClassifier, PoolForestClassifier, model_trees.LMTClassifier(prune=False)),
    ],
)
def test_a_named_forest_is_the_pool_forest_with_the_papers_settings(forest, pool_forest, tree):
    X, y = example_data("regression" if pool_forest is PoolForestRegressor else "multiclass")
    assert forest().n_estimators == 250
    ours = forest(15, random_state=0).fit(X, y)
    same = pool_forest(tree, 15, pools=LEAVES, random_state=0).fit(X, y)
    assert_array_equal(output(ours, X), output(same, X))
    assert {p["min_samples_leaf"] for p in ours.member_params_} <= set(range(5, 16))
    ours.set_params(min_samples_leaf=7, n_estimators=4, n_jobs=2).fit(X, y)
    assert [tree.min_samples_leaf for tree in ours.estimators_] == [7] * 4


def test_without_an_estimator_members_are_decision_trees():
    X, y = example_data("multiclass")
    forest = PoolForestClassifier(n_estimators=3).fit(X, y)
    assert all(type(member) is DecisionTreeClassifier for member in forest.estimators_)


def test_more_members_are_better_than_one():
    X, y = example_data("regression", n=600)
    train, test = slice(0, 300), slice(300, None)
    forest = ETForestRegressor(60, random_state=0).fit(X[train], y[train])
    tree = ExtraTreeRegressor(min_samples_leaf=10, random_state=0).fit(X[train], y[train])
    reference = RandomForestRegressor(60, random_state=0).fit(X[train], y[train])
    score = forest.score(X[test], y[test])
    assert score > tree.score(X[test], y[test]) + 0.05
    assert score > reference.score(X[test], y[test]) - 0.05


def test_a_forest_may_be_made_of_forests():
    X, y = example_data("binary")
    inner = PoolForestClassifier(LogisticRegression(), 2)
    forest = PoolForestClassifier(inner, 4, pools={"estimator__C": [0.1, 1.0]}, random_state=0).fit(X, y)
    assert len({member.random_state for member in forest.estimators_}) == 4
    assert forest.score(X, y) > 0.6
