"""Presets: what the default takes from users, what it leaves out then, and what is an error all the same."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression

from boostforest import BoostForestClassifier, BoostForestRegressor, load_model
from boostforest._estimator import forest as forests
from boostforest._grow import adaptive
from model_files import GOLDEN
from models import assert_same_trees, output
from twin import example_data

CLASSES = {"regression": BoostForestRegressor, "binary": BoostForestClassifier, "multiclass": BoostForestClassifier}


def fit(task, n=160, **params):
    X, y = example_data(task, n=n)
    return CLASSES[task](**{"random_state": 0, **params}).fit(X, y)


def test_the_default_is_the_best_preset():
    assert BoostForestRegressor().preset == BoostForestClassifier().preset == "best"
    forest = fit("regression", n_estimators=40)
    assert len(forest.pool_report_) > 1


@pytest.mark.parametrize("excluding", [{"bootstrap": False}, {"warm_start": True}], ids=str)
@pytest.mark.parametrize("task", CLASSES)
def test_without_out_of_bag_rows_the_default_is_the_papers_forest(task, excluding):
    forest = fit(task, n_estimators=50, dtype="float64", **excluding)
    assert_same_trees(forest, fit(task, n_estimators=50, preset="paper", **excluding))
    assert not hasattr(forest, "oob_losses_") and forest.calibration_.factor == 1


@pytest.mark.parametrize("preset", ["best", "fast"])
def test_the_default_chooses_the_type_of_coefficients_and_the_papers_forest_does_not(preset):
    forest = fit("binary", n_estimators=40, preset=preset)
    assert forest.dtype is None and forest.forest_.dtype == "int8" and forest.get_tree(0).dtype == "int8"
    assert fit("binary", n_estimators=5, preset="paper").forest_.dtype == "float64"
    assert fit("binary", n_estimators=5, preset="paper", dtype="auto").forest_.dtype != "float64"
    assert fit("binary", n_estimators=5, preset=preset, dtype="float32").forest_.dtype == "float32"


def test_a_warm_start_goes_on_with_the_default():
    grown = fit("multiclass", n_estimators=20, warm_start=True)
    grown.set_params(n_estimators=50).fit(*example_data("multiclass", n=160))
    assert_same_trees(grown, fit("multiclass", n_estimators=50, preset="paper"))


def test_a_warm_start_that_comes_too_late_says_what_to_do():
    forest = fit("binary", n_estimators=5).set_params(warm_start=True, n_estimators=8)
    with pytest.raises(ValueError, match=r"calibration .*; set it before the first fit, or to False"):
        forest.fit(*example_data("binary", n=160))


@pytest.mark.parametrize("n_estimators", [1, 5, 39])
def test_few_trees_are_a_single_stage(n_estimators):
    paper = {"preset": "paper", "n_estimators": n_estimators}
    assert_same_trees(fit("regression", n_estimators=n_estimators, dtype="float64"), fit("regression", **paper))
    classes = fit("binary", n_estimators=n_estimators, dtype="float64")
    assert_same_trees(classes, fit("binary", **paper))
    assert classes.n_stages_ == 1 and classes.calibration_.factor != 1


def test_node_models_in_python_are_a_single_stage():
    forest = fit("regression", n_estimators=40, node_model=["ridge", LinearRegression()], max_leaf_nodes=2)
    assert forest.n_stages_ == 1 and forest.forest_.n_trees == 40 and not hasattr(forest, "pool_report_")


def test_constraints_leave_out_boosted_trees_only():
    forest = fit("regression", n_estimators=40, monotonic_cst=[1, 0, 0, 0])
    assert not forest.stages_.units and len(forest.pool_report_) > 1


@pytest.mark.parametrize("preset", ["best", "fast"])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
@pytest.mark.parametrize("task", CLASSES)
def test_tiny_tables_can_be_fitted(task, n, preset):
    X, y = example_data(task, n=160)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "min_samples_leaf=5 needs|y has one class only", UserWarning)
        forest = CLASSES[task](40, preset=preset, random_state=0).fit(X[:n], y[:n])
    assert np.isfinite(output(forest, X)).all()


@pytest.mark.parametrize("params", [{"max_samples": 1}, {"max_samples": 3000}, {"n_estimators": "auto"}], ids=str)
@pytest.mark.parametrize("task", CLASSES)
def test_any_number_of_draws_and_of_trees_can_be_had(task, params):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "min_samples_leaf=5 needs", UserWarning)
        forest = fit(task, n=100, **({"n_estimators": 40} | params))
    assert np.isfinite(output(forest, example_data(task, n=100)[0])).all()


def test_rows_that_every_tree_has_drawn_are_nobodys_business_unless_asked_for():
    fit("binary", n_estimators=3)
    for asked in ({"oob_score": True}, {"calibrate": "temperature"}):
        with pytest.warns(UserWarning, match="rows were drawn by every tree"):
            fit("binary", n_estimators=3, **asked)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_stages": 2, "bootstrap": False}, "n_stages=2 needs bootstrap=True"),
        ({"calibrate": "auto", "bootstrap": False}, "calibrate='auto' needs bootstrap=True"),
        ({"boost": True, "warm_start": True}, "boost=True does not go with warm_start=True"),
        ({"n_estimators": "auto", "warm_start": True}, "n_estimators='auto' does not go with warm_start=True"),
        ({"boost": True, "monotonic_cst": [1, 0, 0, 0]}, "boost=True does not go with monotonic_cst"),
        ({"pool": "adaptive", "n_estimators": 30}, "pool='adaptive' needs n_estimators of at least 40; got 30"),
        ({"n_stages": 4, "n_estimators": 50}, "n_stages=4 needs n_estimators of at least 60; got 50"),
    ],
)
def test_what_is_asked_for_by_name_and_cannot_be_had_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        fit("binary", **params)


def test_parts_can_be_had_by_name_where_the_preset_leaves_them_out():
    forest = fit("regression", n_estimators=30, n_stages=2)
    assert not hasattr(forest, "pool_report_") and len(forest.oob_losses_) == forest.n_stages_


def shared(forest):
    return {drawn["shared_hessian"] for drawn in forest.tree_params_}


def test_classes_share_their_weights_unless_the_forest_is_the_papers_or_not_calibrated():
    assert shared(fit("multiclass", n_estimators=5, preset="best")) == {False}  # few classes
    many = BoostForestClassifier(5, random_state=0).fit(
        example_data("binary")[0], np.arange(len(example_data("binary")[1])) % 6
    )
    assert shared(many) == {True}
    assert shared(fit("multiclass", n_estimators=5, preset="fast")) == {True}
    for preset in ("best", "fast"):
        assert shared(fit("multiclass", n_estimators=5, preset=preset, shared_hessian=False)) == {False}
        assert shared(fit("multiclass", n_estimators=5, preset=preset, calibrate=False)) == {False}
        assert shared(fit("binary", n_estimators=5, preset=preset)) == {False}
    assert shared(fit("multiclass", n_estimators=5, preset="paper")) == {False}
    assert shared(fit("multiclass", n_estimators=5, preset="paper", shared_hessian=True)) == {True}


def test_trees_of_calibrated_classes_begin_with_few_leaves_where_there_are_rows_for_it():
    def limits(**params):
        return {drawn["max_leaf_nodes"] for drawn in fit("binary", n_estimators=40, boost=False, **params).tree_params_}

    assert limits(n=600) & {8, 16, 32}
    for params in ({"n": 160}, {"n": 600, "calibrate": False}, {"n": 600, "pool": "uniform"}):
        assert limits(**params) == {None}
    assert limits(n=600, max_leaf_nodes=5) == {5}


def test_steps_are_longer_where_classes_are_separated():
    X = np.random.default_rng(0).normal(size=(300, 3))
    forest = BoostForestClassifier(60, boost=False, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    assert 1 < max(forest.stages_.steps) <= 3
    regressor = BoostForestRegressor(60, boost=False, random_state=0).fit(X, X[:, 0] * X[:, 1])
    first, *others = regressor.stages_.steps
    assert max(others, default=1) <= first


def leaves(forest):
    return {drawn["min_samples_leaf"] for drawn in forest.tree_params_}


def test_the_fast_preset_has_compact_trees_where_there_are_rows_for_them():
    forest = fit("binary", n=600, preset="fast")
    assert min(leaves(forest)) == 15 and max(leaves(forest)) == 45
    assert forest.n_stages_ == 1 and forest.forest_.n_trees == 250 and forest.calibration_.factor != 1
    assert max(leaves(fit("binary", n=160, preset="fast"))) == 15
    assert leaves(fit("binary", n=600, preset="fast", min_samples_leaf=7)) == {7}
    paper = fit("regression", n=600, preset="paper", n_estimators=20)
    assert_same_trees(fit("regression", n=600, preset="fast", n_estimators=20, dtype="float64"), paper)


def test_the_fast_preset_has_fewer_and_compact_trees_in_regression_on_many_rows(monkeypatch):
    monkeypatch.setattr(forests, "_FULL_ROWS", 150)
    monkeypatch.setattr(forests, "_COMPACT_COLUMNS", 4)
    assert fit("regression", n=600, preset="fast").forest_.n_trees == 62
    assert fit("regression", n=600, preset="fast", n_estimators=120).forest_.n_trees == 50
    for asked in ({"n_estimators": 30}, {"warm_start": True}, {"preset": "paper"}):
        forest = fit("regression", n=600, **{"preset": "fast"} | asked)
        assert forest.forest_.n_trees == asked.get("n_estimators", 250)
    assert min(leaves(fit("regression", n=600, preset="fast"))) == 15
    assert leaves(fit("regression", n=600, preset="fast", min_samples_leaf=7)) == {7}
    monkeypatch.setattr(forests, "_COMPACT_COLUMNS", 50)
    assert max(leaves(fit("regression", n=600, preset="fast"))) == 15


def test_the_default_grows_fewer_trees_on_more_rows_but_not_of_few_trees(monkeypatch):
    budgets, grow = [], forests.StageGrower

    def spy(growth, budget, *rest):
        budgets.append(budget)
        return grow(growth, budget, *rest)

    monkeypatch.setattr(forests, "StageGrower", spy)
    for few, many, plenty in ((300, 8000, 10_000), (160, 8000, 10_000), (100, 160, 10_000), (50, 100, 160)):
        monkeypatch.setattr(adaptive, "_FEW_ROWS", few)
        monkeypatch.setattr(adaptive, "MANY_ROWS", many)
        monkeypatch.setattr(adaptive, "PLENTY_OF_ROWS", plenty)
        fit("regression", n_estimators=200)
        fit("binary", n_estimators=200)
    fit("regression", n_estimators=50)
    assert budgets == [400, 400, 280, 400, 210, 210, 144, 144, 100]


@pytest.mark.parametrize("preset", ["best", "fast", "paper"])
def test_files_keep_the_preset_and_what_was_drawn(reloaded, preset):
    forest = fit("multiclass", n_estimators=5, preset=preset)
    loaded = reloaded(forest)
    assert loaded.get_params() == forest.get_params() and loaded.tree_params_ == forest.tree_params_
    assert_array_equal(*(f.predict_proba(example_data("multiclass")[0]) for f in (forest, loaded)))


def test_files_from_before_there_were_presets_are_the_papers_forests():
    path = next(p for p in GOLDEN if "v1-forest-multiclass" in str(p))
    loaded = load_model(path)
    assert loaded.preset == "paper" and loaded.shared_hessian is None and shared(loaded) == {False}
