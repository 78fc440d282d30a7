"""Forests in stages: each corrects what the ones before leave over."""

import gc
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1, make_hastie_10_2
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, mean_squared_error

from boostforest import BoostForestRegressor, BoostTreeRegressor, _core
from boostforest._grow.data import KeptTable
from boostforest._grow.objective import Objective
from boostforest._grow.parameters import encode_tree_params
from boostforest._losses import OutOfBag, SquaredError
from boostforest._model.model import Stages
from models import FORESTS, contents, paper_classifier, paper_regressor
from twin import example_data


def smooth_table(n=400):
    """Return a regression table with a strong, smooth signal, which one stage does not exhaust."""
    return make_friedman1(n, noise=0.1, random_state=0)


def test_a_second_stage_lowers_the_error_on_a_smooth_table():
    X, y = smooth_table(800)
    one = paper_regressor(100).fit(X[:400], y[:400])
    two = paper_regressor(100, n_stages=2).fit(X[:400], y[:400])
    assert two.n_stages_ == 2 and two.forest_.n_trees == 100 and two.stages_.ends == (50, 100)
    assert 0 < two.steps_[1] <= 1 and two.oob_losses_[1] < two.oob_losses_[0]
    assert mean_squared_error(y[400:], two.predict(X[400:])) < 0.85 * mean_squared_error(y[400:], one.predict(X[400:]))


def test_a_second_stage_lowers_the_log_loss_of_classes():
    X, y = make_hastie_10_2(1200, random_state=0)
    one = paper_classifier(60).fit(X[:600], y[:600])
    two = paper_classifier(60, n_stages=2).fit(X[:600], y[:600])
    assert log_loss(y[600:], two.predict_proba(X[600:])) < 0.9 * log_loss(y[600:], one.predict_proba(X[600:]))


@pytest.mark.parametrize("task", FORESTS)
def test_a_tree_that_starts_from_scores_fits_what_they_leave_over(task):
    """A regression tree started from F is the tree of y - F; classes: a start at 0 is none."""
    X, y = example_data(task)
    X, zeros, ones = np.ascontiguousarray(X), np.zeros(X.shape[1]), np.ones(X.shape[1])
    forest = FORESTS[task](4, random_state=0).fit(X, y)
    n_classes = getattr(forest, "n_classes_", 0)
    outputs = n_classes if n_classes > 2 else 1
    start = np.random.default_rng(0).normal(size=(len(y), outputs))
    params = forest._model.params

    def grow(target, start):
        arguments = (0 if n_classes == 0 else 1 if n_classes == 2 else 2, max(n_classes, 2) if n_classes else 0)
        encoded = encode_tree_params(params, forest.tree_seeds_, X.shape[1])
        table = _core.TrainingTable(X, zeros, ones, target, *arguments)
        grown = table.grow(encoded, True, len(y), None, None, False, 1, None, start=start)
        return {name: value for name, value in grown.items() if isinstance(value, np.ndarray)}

    target = np.ascontiguousarray(y, dtype=np.float64)
    if task == "regression":
        started, residual = grow(target, start), grow(target - start[:, 0], None)
        for name in started:
            assert_allclose(started[name], residual[name], rtol=1e-9, atol=1e-9, err_msg=name)
    else:
        nothing, plain = grow(target, np.zeros_like(start)), grow(target, None)
        for name in nothing:
            assert_array_equal(nothing[name], plain[name], err_msg=name)
        assert grow(target, start)["params"].tobytes() != plain["params"].tobytes()


def test_batches_start_from_the_scores_as_whole_nodes_do():
    X, y = smooth_table(300)
    start = np.ascontiguousarray(y[:, None] / 2)
    common = {"n_stages": 2, "random_state": 0, "batch_size": 100}
    forest = BoostForestRegressor(80, **({"preset": "paper"} | common)).fit(X, y)
    assert forest.n_stages_ == 2 and np.isfinite(forest.predict(X)).all()
    tree = BoostTreeRegressor(batch_size=100, random_state=0, scale=False)
    tree.fit(X, y - start[:, 0])
    encoded = encode_tree_params(tree._model.params, tree.tree_seeds_, X.shape[1])
    zeros, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    table = _core.TrainingTable(X, zeros, ones, y, 0, 0)
    grown = table.grow(encoded, False, 0, None, None, False, 1, None, start=start)
    assert_allclose(grown["threshold"], tree.forest_.threshold, rtol=1e-9)
    assert_allclose(grown["params"], tree.forest_.params, rtol=1e-7, atol=1e-9)


def test_a_fit_of_many_stages_and_trials_builds_its_table_once(monkeypatch):
    X, y = smooth_table(150)
    built, grown = [], []
    build, grow = _core.TrainingTable, _core.TrainingTable.grow

    def build_and_note(*arguments):
        built.append(build(*arguments))
        return built[-1]

    def grow_and_note(self, *arguments):
        grown.append(self)
        return grow(self, *arguments)

    monkeypatch.setattr(_core, "TrainingTable", build_and_note)
    monkeypatch.setattr(build, "grow", grow_and_note)
    BoostForestRegressor(60, preset="best", random_state=0).fit(X, y)
    assert len(built) == 1 and len(grown) > 5
    assert all(table is built[0] for table in grown)


def test_a_table_that_is_kept_is_not_pickled():
    data = KeptTable()
    data.table = _core.TrainingTable(np.ones((4, 2)), np.zeros(2), np.ones(2), np.zeros(4), 0, 0)
    assert pickle.loads(pickle.dumps(data)).table is None


def test_a_table_keeps_its_target():
    tables = [_core.TrainingTable(np.ones((4, 2)), np.zeros(2), np.ones(2), np.full(4, 2.0), 0, 0) for _ in range(50)]
    node = (np.arange(4, dtype=np.int32), np.ones(4), np.zeros((1, 4)))
    gc.collect()
    expected = _core.loss(0, 0, np.zeros((1, 4)), np.full(4, 2.0), np.ones(4))[0]
    assert {table.losses([node], 1)[0] for table in tables} == {expected}


def test_trees_with_models_in_python_start_from_the_scores_too():
    X, y = smooth_table(120)
    common = {"n_estimators": 40, "n_stages": 2, "random_state": 0, "min_samples_leaf": 15, "reg_lambda": 1.0}
    in_python = BoostForestRegressor(node_model=Ridge(1.0), **({"preset": "paper"} | common)).fit(X, y)
    in_core = BoostForestRegressor(**({"preset": "paper"} | common)).fit(X, y)
    assert_allclose(in_python.steps_, in_core.steps_, rtol=1e-6)
    assert_allclose(in_python.predict(X), in_core.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("task", FORESTS)
@pytest.mark.parametrize("settings", [{"n_stages": 3}, {"preset": "best"}], ids=["stages", "best"])
def test_the_same_seed_gives_the_same_forest_for_any_number_of_threads(task, settings):
    X, y = example_data(task)
    one = FORESTS[task](100, random_state=0, n_jobs=1, **settings).fit(X, y)
    two = FORESTS[task](100, random_state=0, n_jobs=2, **settings).fit(X, y)
    assert contents(one) == contents(two) and one.stages_ == two.stages_
    assert_array_equal(one.predict(X), two.predict(X))
    other = FORESTS[task](100, random_state=1, n_jobs=2, **settings).fit(X, y)
    assert contents(other) != contents(one)


@pytest.mark.parametrize("task", FORESTS)
def test_predictions_add_up_the_stages(task):
    X, y = smooth_table()
    if task != "regression":
        y = np.digitize(y, np.quantile(y, [0.5] if task == "binary" else [0.3, 0.6]))
    forest = FORESTS[task](80, n_stages=2, random_state=0).fit(X, y)
    assert forest.n_stages_ == 2, "the example must have two stages for this to say something"
    loss = forest._model.loss
    end = forest.stages_.ends[0]
    first = forest._model.sums(X, 1, trees=slice(0, end)) / end
    second = forest._model.sums(X, 1, scores=True, trees=slice(end, None)) / (forest.forest_.n_trees - end)
    scores = loss.scores(first) + forest.steps_[1] * second
    if task == "regression":
        assert_allclose(forest.predict(X), scores[:, 0] * forest.target_scale_ + forest.target_mean_)
        *_, last = forest.staged_predict(X)
        assert_allclose(last, forest.predict(X))
    else:
        p = loss.outputs(scores)
        assert_allclose(forest.predict_proba(X), np.hstack([1 - p, p]) if task == "binary" else p)
        *_, last = forest.staged_predict_proba(X)
        assert_allclose(last, forest.predict_proba(X))
        assert_allclose(forest.predict_proba(X).sum(axis=1), 1)


def test_importances_weigh_stages_as_predictions_do():
    X, y = smooth_table()
    forest = paper_regressor(80, n_stages=2).fit(X, y)
    weights = forest.stages_.tree_weights()
    columns, inner = forest.forest_, forest.forest_.feature >= 0
    is_first = columns.tree_of_node[inner] < forest.stages_.ends[0]
    gains = [np.bincount(columns.feature[inner], columns.gain[inner] * own, 10) for own in (is_first, ~is_first)]
    shares = [gain / gain.sum() for gain in gains]
    assert_allclose(forest.feature_importances_, np.average(shares, axis=0, weights=forest.stages_.steps))
    assert forest.feature_importances_.sum() == pytest.approx(1)
    slopes = np.array([forest.get_tree(i).slope_importances_ for i in range(80)])
    assert_allclose(forest.slope_importances_, weights @ slopes)
    assert Stages((2, 4), (1.0, 0.5)).tree_weights() == pytest.approx([1 / 2, 1 / 2, 1 / 4, 1 / 4])


def test_a_tree_of_a_later_stage_predicts_a_correction():
    X, y = smooth_table()
    y = y + 100
    forest = paper_regressor(60, n_stages=2).fit(X, y)
    assert abs(forest.get_tree(0).predict(X).mean() - y.mean()) < 2
    assert abs(forest.get_tree(-1).predict(X).mean()) < 2


def test_rows_without_weight_do_not_matter_to_stages():
    X, y = smooth_table()
    weight = np.where(np.arange(len(y)) < 200, 1.0, 0.0)
    settings = {"n_estimators": 60, "n_stages": 2, "random_state": 0, "scale": False, "max_samples": 200}
    forest = BoostForestRegressor(**({"preset": "paper"} | settings)).fit(X, y, sample_weight=weight)
    other = BoostForestRegressor(**({"preset": "paper"} | settings)).fit(
        X, np.where(weight > 0, y, -50.0), sample_weight=weight
    )
    assert_array_equal(forest.predict(X), other.predict(X))
    assert_array_equal(forest.steps_, other.steps_)


def test_noise_gets_no_second_stage_by_itself():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    assert paper_regressor(120, n_stages="auto").fit(X, y).n_stages_ == 1


def test_enough_trees_are_found_out():
    X, y = smooth_table()
    strict = paper_regressor("auto").fit(X, y)
    noisy = paper_regressor("auto").fit(X, y + np.random.default_rng(0).normal(size=len(y)) * 20)
    assert 50 <= noisy.forest_.n_trees < strict.forest_.n_trees <= 1000
    assert contents(paper_regressor(noisy.forest_.n_trees).fit(
        X, y + np.random.default_rng(0).normal(size=len(y)) * 20)) == contents(noisy)  # fmt: skip


def test_losses_of_infinitely_many_trees_are_estimated_without_bias():
    """Means of few noisy outputs, corrected, have the loss of the mean of many."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=4000)
    outputs = 0.7 * y + rng.normal(size=(5, 4000))
    oob = OutOfBag(outputs.sum(axis=0)[:, None], (outputs**2).sum(axis=0)[:, None], np.full((4000, 1), 5.0))
    objective = Objective(SquaredError(), y)
    everywhere = np.ones(4000, dtype=bool)
    assert objective.average(objective.limit_losses(oob), everywhere) == pytest.approx(0.09, abs=0.02)
    assert objective.average(objective.losses(oob.mean), everywhere) == pytest.approx(0.29, abs=0.02)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_stages": 0}, "n_stages must be None, 'auto' or an integer of at least 1; got 0"),
        ({"n_stages": "two"}, "n_stages must be None, 'auto' or an integer of at least 1; got 'two'"),
        ({"pool": "best"}, "pool must be None, 'uniform' or 'adaptive'; got 'best'"),
        ({"preset": "slow"}, "preset must be 'best', 'fast' or 'paper'; got 'slow'"),
        ({"preset": None}, "preset must be 'best', 'fast' or 'paper'; got None"),
        ({"n_estimators": "many"}, "n_estimators must be"),
        ({"n_stages": 2, "bootstrap": False}, "n_stages=2 needs bootstrap=True"),
        ({"n_estimators": "auto", "bootstrap": False}, "n_estimators='auto' needs bootstrap=True"),
        ({"n_stages": 3, "n_estimators": 50}, "n_stages=3 needs n_estimators of at least 80; got 50"),
        ({"pool": "adaptive", "n_estimators": 50}, "pool='adaptive' needs n_estimators of at least 80; got 50"),
    ],
)
def test_what_does_not_go_together_is_refused(params, message):
    X, y = example_data("regression")
    with pytest.raises(ValueError, match=message):
        BoostForestRegressor(**({"preset": "paper"} | {"n_estimators": 100, **params})).fit(X, y)


def test_rows_that_every_tree_has_drawn_are_warned_about():
    X, y = example_data("regression", n=60)
    with pytest.warns(UserWarning, match="rows were drawn by every tree"):
        forest = paper_regressor(40, n_stages=2, max_samples=300).fit(X, y)
    assert np.isfinite(forest.predict(X)).all()


def test_a_warm_start_does_not_go_on_from_stages():
    X, y = smooth_table(200)
    forest = paper_regressor(60, n_stages=2).fit(X, y)
    with pytest.raises(ValueError, match="warm_start=True cannot add to a forest that was fitted with stages"):
        forest.set_params(n_stages=1, warm_start=True, n_estimators=80).fit(X, y)
    assert forest.n_stages_ == 2


@pytest.mark.parametrize("settings", [{"preset": "best"}, {"n_estimators": "auto"}, {"n_stages": 2}], ids=str)
def test_rows_that_no_tree_leaves_out_cannot_judge_but_do_no_harm(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        forest = BoostForestRegressor(
            **({"preset": "paper"} | {"n_estimators": 60, "random_state": 0, **settings})
        ).fit([[1.0, 2.0]], [3.0])
    assert forest.n_stages_ == 1
    assert_allclose(forest.predict([[1.0, 2.0], [5.0, 5.0]]), 3.0)


def test_scores_of_a_regression_are_scaled_by_the_factor_that_is_best_out_of_bag():
    """Trees with large penalties give a part of the slope; the factor is that of least squares, held near 1."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    y = X @ [3.0, 2.0, 1.0, 0.0] + np.random.default_rng(1).normal(size=400)
    settings = {"n_stages": "auto", "reg_lambda": 1000.0, "max_leaf_nodes": 2, "random_state": 0}
    forest = paper_regressor(60, oob_score=True, **settings).fit(X, y)
    factor = forest.steps_[0]
    assert factor > 1.05 and not any(forest.stages_.boosted)
    plain = forest.oob_prediction_ - y.mean()
    trees = plain / factor  # what they predict as they are
    assert factor == pytest.approx(((y - y.mean()) @ trees) / (trees @ trees), rel=0.02)
    assert np.mean((y - y.mean() - plain) ** 2) < np.mean((y - y.mean() - trees) ** 2)
    fresh = np.random.default_rng(2).normal(size=(2000, 4))
    target = fresh @ [3.0, 2.0, 1.0, 0.0] - y.mean()
    predicted = forest.predict(fresh) - y.mean()
    assert np.mean((predicted - target) ** 2) < np.mean((predicted / factor - target) ** 2)


def test_what_is_only_noise_is_scaled_towards_the_mean():
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.random.default_rng(1).normal(size=300)
    forest = BoostForestRegressor(60, random_state=0).fit(X, y)
    assert 0 <= forest.steps_[0] < 0.7
    assert np.std(forest.predict(X)) < 0.3 * np.std(y)


def test_stages_and_factors_that_were_set_stay_as_they_are():
    X, y = smooth_table(200)
    assert paper_regressor(60, n_stages=2).fit(X, y).steps_[0] == 1
    assert paper_regressor(60).fit(X, y).steps_.tolist() == [1]
