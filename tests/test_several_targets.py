"""Several targets: one forest, one Gram matrix, as many right-hand sides as outputs."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, r2_score

import twin
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, load_model
from boostforest._model.model import Calibration, Stages
from boostforest.export import to_c
from model_files import with_metadata
from models import assert_refused, paper_regressor
from test_against_twin import compare
from twin import example_data

FORESTS = [BoostForestRegressor, BoostForestClassifier]
PRESETS = ["paper", "fast", "best"]


def make_numbers(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], 100 + 7 * X[:, 2] * X[:, 3], X[:, 4] ** 2])
    return X, Y + rng.normal(0, 0.1, Y.shape)


X, Y = make_numbers()


def make_classes(n=150, seed=0):
    X, Y = make_numbers(n, seed=seed)
    return X, np.column_stack([Y[:, 0] > 0, np.digitize(Y[:, 1], [95, 105]), Y[:, 2] > 1]).astype(int)


def small(cls, **settings):
    return cls(n_estimators=8, preset="paper", random_state=0, **settings)


# ---------------------------------------------------------------------------------------------------------- regression


@pytest.mark.parametrize("reg_lambda", [0.5, 20.0])
def test_a_tree_of_one_node_is_a_ridge_regression_of_each_target(reg_lambda):
    with pytest.warns(match="every tree is a single node model"):
        tree = BoostTreeRegressor(min_samples_leaf=150, reg_lambda=reg_lambda, scale=False).fit(X, Y)
    for k in range(3):
        ridge = Ridge(alpha=reg_lambda).fit(X, Y[:, k])
        np.testing.assert_allclose(tree.predict(X)[:, k], ridge.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("d", [3, 5, 12, 25])
def test_equal_columns_have_equal_predictions_to_the_bit(preset, d):
    X, Y = make_numbers(d=max(d, 5))
    forest = BoostForestRegressor(40, preset=preset, random_state=0).fit(X[:, :d], Y[:, [0, 0, 0]])
    predicted = forest.predict(X[:, :d])
    assert (predicted[:, 0] == predicted[:, 1]).all()
    assert (predicted[:, 0] == predicted[:, 2]).all()


@pytest.mark.parametrize("n_targets", [2, 4, 5, 9])
@pytest.mark.parametrize("d", [5, 12, 25])
def test_equal_columns_are_equal_for_any_number_of_them_and_in_batches(n_targets, d):
    X, Y = make_numbers(400, d)
    forest = small(BoostForestRegressor, batch_size=90).fit(X, np.repeat(Y[:, :1], n_targets, axis=1))
    predicted = forest.predict(X)
    assert (predicted == predicted[:, :1]).all()


@pytest.mark.parametrize("n_targets", [2, 3, 4, 5, 9])
def test_equal_targets_make_the_forest_of_one(n_targets):
    one = small(BoostForestRegressor).fit(X, Y[:, 0])
    several = small(BoostForestRegressor).fit(X, np.repeat(Y[:, :1], n_targets, axis=1))
    np.testing.assert_allclose(several.predict(X)[:, -1], one.predict(X), rtol=1e-7)


def test_equal_columns_are_equal_with_one_hot_columns_missing_values_and_weights():
    frame = pd.DataFrame(X).assign(c=pd.Categorical(np.where(X[:, 0] > 0, "a", "b")))
    frame.columns = frame.columns.astype(str)
    frame.iloc[::7, 1] = np.nan
    weight = np.linspace(1, 3, len(X))
    predicted = small(BoostForestRegressor).fit(frame, Y[:, [1, 1]], sample_weight=weight).predict(frame)
    assert (predicted[:, 0] == predicted[:, 1]).all()


def test_a_column_vector_is_one_target_as_ever():
    with pytest.warns(match="column-vector"):
        column = small(BoostForestRegressor).fit(X, Y[:, [0]]).predict(X)
    assert np.array_equal(column, small(BoostForestRegressor).fit(X, Y[:, 0]).predict(X))


@pytest.mark.parametrize("preset", PRESETS)
def test_several_targets_are_predicted_about_as_well_as_each_alone(preset):
    X, Y = make_numbers(400)
    train, test = slice(300), slice(300, None)
    forest = BoostForestRegressor(60, preset=preset, random_state=0)
    together = r2_score(Y[test], forest.fit(X[train], Y[train]).predict(X[test]), multioutput="raw_values")
    for k in range(3):
        alone = clone(forest).fit(X[train], Y[train, k]).score(X[test], Y[test, k])
        assert together[k] > alone - 0.25  # trees are shared by targets that depend on other columns
    assert forest.score(X[test], Y[test]) == pytest.approx(together.mean())


def test_units_of_a_target_do_not_matter():
    first = small(BoostForestRegressor).fit(X, Y).predict(X)
    second = small(BoostForestRegressor).fit(X, Y * [1.0, 1000.0, 0.01]).predict(X)
    np.testing.assert_allclose(first * [1.0, 1000.0, 0.01], second, rtol=1e-6)


def test_frames_and_lists_of_targets_are_read():
    expected = small(BoostForestRegressor).fit(X, Y).predict(X)
    for y in (pd.DataFrame(Y, columns=["a", "b", "c"]), Y.tolist(), np.asfortranarray(Y)):
        assert np.array_equal(small(BoostForestRegressor).fit(X, y).predict(X), expected)


def test_the_number_of_threads_does_not_matter():
    one, two = (small(BoostForestRegressor, n_jobs=n).fit(X, Y).predict(X) for n in (1, 2))
    assert np.array_equal(one, two)


def test_an_offset_has_a_column_for_each_target():
    offset = np.column_stack([X[:, 0], 10 * X[:, 1], X[:, 2]])
    forest = small(BoostForestRegressor).fit(X, Y, offset=offset)
    plain = small(BoostForestRegressor).fit(X, Y - offset)
    np.testing.assert_allclose(forest.predict(X, offset=offset), plain.predict(X) + offset, rtol=1e-6, atol=1e-6)
    assert forest.score(X, Y, offset=offset) > forest.score(X, Y)


def test_out_of_bag_predictions_have_a_column_for_each_target():
    forest = paper_regressor(30, oob_score=True).fit(X, Y)
    assert forest.oob_prediction_.shape == Y.shape
    assert forest.oob_score_ == pytest.approx(r2_score(Y, forest.oob_prediction_))
    assert forest.target_mean_.shape == forest.target_scale_.shape == (3,)


def test_warm_start_goes_on_with_several_targets():
    forest = small(BoostForestRegressor, warm_start=True).fit(X, Y)
    forest.set_params(n_estimators=12).fit(X, Y)
    whole = paper_regressor(12).fit(X, Y)
    assert np.array_equal(forest.predict(X), whole.predict(X))
    for y, n in ((Y[:, :2], 2), (Y[:, 0], 1)):
        with pytest.raises(ValueError, match=f"targets of the first fit, 3; y has {n} target"):
            forest.set_params(n_estimators=14).fit(X, y)
    assert forest.predict(X).shape == Y.shape


def test_targets_that_are_far_off_do_not_ruin_the_others():
    X, Y = make_numbers(300)
    spoiled = Y.copy()
    spoiled[:3, 1] *= 1000
    forest = BoostForestRegressor(40, preset="fast", random_state=0)
    with pytest.warns(match="3 of 900 targets are far off"):
        forest.fit(X, spoiled)
    assert r2_score(Y[3:], forest.predict(X[3:])) > 0.8


@pytest.mark.parametrize("node_model", ["constant", "ridge", "elm", "svr"])
def test_all_node_models_of_the_core_have_several_targets(node_model):
    X, Y = make_numbers(80)
    forest = small(BoostForestRegressor, node_model=node_model).fit(X, Y)
    assert forest.score(X, Y) > 0.3
    assert small(BoostForestRegressor, node_model=node_model, criterion="mse").fit(X, Y).predict(X).shape == Y.shape


# --------------------------------------------------------------------------------------------------- against the twin

TWIN_SETTINGS = [
    {}, {"clip": False}, {"n_cuts": 3, "max_features": 2}, {"max_leaf_nodes": 5}, {"batch_size": 45},
    {"criterion": "mse"},
]  # fmt: skip


@pytest.mark.parametrize("setting", TWIN_SETTINGS, ids=str)
@pytest.mark.parametrize("n_targets", [2, 3, 5])
@pytest.mark.parametrize("node_model", ["ridge", "constant"])
def test_tree_equals_twin(node_model, n_targets, setting):
    X, Y = numbers_of_twin(160, 5, n_targets)
    settings = {"node_model": node_model, "n_targets": n_targets, **setting}
    _, roots, _ = compare(BoostTreeRegressor, X, Y, "several", settings)
    assert len(twin.nodes_by_path(roots[0])) >= 5


@pytest.mark.parametrize("n_targets", [3, 5])
@pytest.mark.parametrize(("n", "d"), [(60, 40), (150, 11), (200, 20)])  # solved in the rows, and in the features
def test_wide_tree_equals_twin(n, d, n_targets):
    X, Y = numbers_of_twin(n, d, n_targets)
    settings = {"n_targets": n_targets, "batch_size": 100}
    compare(BoostTreeRegressor, X, Y, "several", settings)


def test_weighted_tree_of_missing_values_and_one_hot_columns_equals_twin():
    X, Y = numbers_of_twin(200, 5, 3)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < [0.0, 0.05, 0.3, 0.0, 0.1]] = np.nan
    weight = rng.uniform(0.5, 1.5, size=len(X))
    weight /= weight.mean()
    compare(BoostTreeRegressor, X, Y, "several", {"n_targets": 3}, weight)
    X = np.hstack([np.eye(9)[rng.integers(0, 9, 200)], np.nan_to_num(X), np.eye(7)[rng.integers(0, 7, 200)]])
    settings = {"n_targets": 3, "max_depth": 3}
    compare(BoostTreeRegressor, X, Y, "several", settings, weight)


def numbers_of_twin(n, d, n_targets):
    """Return X and as many targets."""
    X, Y = example_data("several", n, d)
    return X, np.column_stack([Y, Y[:, 0] * Y[:, 1], np.sin(Y[:, 2])])[:, :n_targets]


# ------------------------------------------------------------------------------------------------------ classification


@pytest.mark.parametrize("preset", PRESETS)
def test_several_classifications_have_the_shapes_of_scikit_learn(preset):
    X, Y = make_classes()
    forest = BoostForestClassifier(40, preset=preset, oob_score=True, random_state=0).fit(X, Y)
    assert [p.shape for p in forest.predict_proba(X)] == [(150, 2), (150, 3), (150, 2)]
    assert [p.shape for p in forest.predict_log_proba(X)] == [(150, 2), (150, 3), (150, 2)]
    assert forest.predict(X).shape == Y.shape
    assert forest.n_classes_ == [2, 3, 2]
    assert [c.tolist() for c in forest.classes_] == [[0, 1], [0, 1, 2], [0, 1]]
    assert not hasattr(forest, "decision_function")
    assert forest.get_target(1).decision_function(X).shape == (150, 3)
    for p in forest.predict_proba(X):
        np.testing.assert_allclose(p.sum(axis=1), 1)
    assert forest.score(X, Y) == (forest.predict(X) == Y).all(axis=1).mean() > 0.8
    assert [p.shape for p in forest.oob_decision_function_] == [(150, 2), (150, 3), (150, 2)]
    assert 0.5 < forest.oob_score_ <= forest.score(X, Y)


@pytest.mark.parametrize("shared_hessian", [True, False])
def test_equal_classifications_are_equal_to_the_bit(shared_hessian):
    X, Y = make_classes()
    forest = small(BoostForestClassifier, shared_hessian=shared_hessian).fit(X, Y[:, [1, 0, 1]])
    first, _, last = forest.predict_proba(X)
    assert np.array_equal(first, last)


def test_a_single_classification_repeated_is_the_classifier_of_one():
    X, Y = make_classes()
    one = small(BoostForestClassifier).fit(X, Y[:, 0])
    several = small(BoostForestClassifier).fit(X, Y[:, [0, 0]])
    np.testing.assert_allclose(several.predict_proba(X)[1], one.predict_proba(X), atol=1e-7)


def test_labels_keep_their_kinds():
    X, Y = make_classes()
    names = np.array(["no", "yes"])[Y[:, 0]]
    frame = pd.DataFrame({"name": names, "number": Y[:, 1]})
    forest = small(BoostForestClassifier).fit(X, frame)
    predicted = forest.predict(X)
    assert predicted.dtype == object
    assert set(predicted[:, 0]) == {"no", "yes"}
    assert forest.score(X, frame) > 0.8
    assert small(BoostForestClassifier).fit(X, Y).predict(X).dtype == Y.dtype


def test_class_weights_of_several_targets_multiply():
    X, Y = make_classes()
    weights = [{0: 1.0, 1: 3.0}, {0: 1.0, 1: 2.0, 2: 1.0}, {0: 1.0, 1: 1.0}]
    own = np.array([1.0, 3.0])[Y[:, 0]] * np.array([1.0, 2.0, 1.0])[Y[:, 1]]
    first = small(BoostForestClassifier, class_weight=weights).fit(X, Y)
    second = small(BoostForestClassifier).fit(X, Y, sample_weight=own)
    assert np.array_equal(first.predict_proba(X)[0], second.predict_proba(X)[0])
    assert small(BoostForestClassifier, class_weight="balanced").fit(X, Y).score(X, Y) > 0.7


def test_one_class_only_is_said_with_its_target():
    X, Y = make_classes()
    Y[:, 2] = 7
    with pytest.warns(match=r"one class only \(7\) in target 2"):
        forest = small(BoostForestClassifier).fit(X, Y)
    assert (forest.predict(X)[:, 2] == 7).all()
    assert forest.predict_proba(X)[2].shape == (150, 1)


def test_multilabel_scores_are_those_of_scikit_learn():
    X, Y = make_classes()
    labels = Y[:, [0, 2]]
    forest = small(BoostForestClassifier).fit(X, labels)
    assert forest.score(X, labels) == accuracy_score(labels, forest.predict(X))
    tree = BoostTreeClassifier(random_state=0).fit(X, labels)
    assert ((tree.get_target(1).decision_function(X) > 0) == tree.predict(X)[:, 1]).all()


# ---------------------------------------------------------------------------------------------------- one target alone


@pytest.mark.parametrize("preset", PRESETS)
def test_the_model_of_one_target_predicts_its_column(preset):
    forest = BoostForestRegressor(40, preset=preset, oob_score=True, random_state=0).fit(X, Y)
    for k in range(3):
        own = forest.get_target(k)
        np.testing.assert_allclose(own.predict(X), forest.predict(X)[:, k], rtol=1e-12)
        assert np.array_equal(own.oob_prediction_, forest.oob_prediction_[:, k])
    labels = make_classes()[1]
    classifier = BoostForestClassifier(40, preset=preset, random_state=0).fit(X, labels)
    for k in range(3):
        own = classifier.get_target(k - 3)
        np.testing.assert_allclose(own.predict_proba(X), classifier.predict_proba(X)[k], rtol=1e-12)
        assert own.classes_.tolist() == classifier.classes_[k].tolist()


def test_one_target_has_explanations_effects_intervals_and_files(reloaded):
    forest = BoostForestRegressor(40, random_state=0).fit(X, Y)
    own = forest.get_target(1)
    explanation = own.explain(X[:3])
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, own.predict(X[:3]))
    assert own.effects(X, 0).average.shape == (100,)
    ends = own.predict_interval(X, coverage=0.9)
    assert ((ends[:, 0] <= Y[:, 1]) & (Y[:, 1] <= ends[:, 1])).mean() > 0.85
    assert own.predict_quantiles(X, [0.1, 0.9]).shape == (150, 2)
    assert np.array_equal(reloaded(own).predict(X), own.predict(X))
    assert "model_predict" in to_c(own)


def test_the_number_of_a_target_is_checked():
    X, Y = make_numbers(60)
    forest = small(BoostForestRegressor).fit(X, Y)
    for i in (3, -4, "a", 1.0):
        with pytest.raises(IndexError, match="i must be the number of a target from -3 to 2; got"):
            forest.get_target(i)
    one = small(BoostForestRegressor).fit(X, Y[:, 0])
    assert np.array_equal(one.get_target(0).predict(X), one.predict(X))


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("explain", lambda f, X, Y: f.explain(X)),
        ("effects", lambda f, X, Y: f.effects(X, 0)),
        ("predict_interval", lambda f, X, Y: f.predict_interval(X)),
        ("predict_quantiles", lambda f, X, Y: f.predict_quantiles(X, [0.5])),
        ("predict_distribution", lambda f, X, Y: f.predict_distribution(X)),
        ("to_dataframe", lambda f, X, Y: f.to_dataframe()),
        ("to_c", lambda f, X, Y: to_c(f)),
    ],
)
def test_what_needs_one_target_says_how_to_get_it(what, call):
    X, Y = make_numbers(60)
    forest = small(BoostForestRegressor).fit(X, Y)
    with pytest.raises(ValueError, match=rf"{what} needs one target, and the model has 3: get_target\(i\)"):
        call(forest, X, Y)


def test_sets_of_classes_need_one_target():
    X, Y = make_classes(60)
    forest = small(BoostForestClassifier, oob_score=True).fit(X, Y)
    with pytest.raises(ValueError, match="predict_set needs one target"):
        forest.predict_set(X)


# ------------------------------------------------------------------------------------------------------- files and more


@pytest.mark.parametrize("dtype", [None, "float32", "int8"])
@pytest.mark.parametrize("preset", ["paper", "best"])
def test_files_keep_several_targets(tmp_path, preset, dtype):
    frame = pd.DataFrame(X).assign(c=pd.Categorical(np.array(list("abcdefghijkl"))[np.arange(len(X)) % 12]))
    frame.columns = frame.columns.astype(str)
    labels = make_classes()[1].astype(object)
    labels[:, 1] = [f"class {label}" for label in labels[:, 1]]
    for cls, y in ((BoostForestRegressor, Y), (BoostForestClassifier, labels)):
        forest = cls(40, preset=preset, max_one_hot=5, random_state=0, dtype=dtype).fit(frame, y)
        path = tmp_path / "several.safetensors"
        forest.save_model(path)
        loaded = load_model(path)
        assert np.array_equal(loaded.predict(frame), forest.predict(frame))
        loaded.save_model(tmp_path / "again.safetensors")
        assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()
        if cls is BoostForestClassifier:
            assert all(np.array_equal(a, b) for a, b in zip(loaded.classes_, forest.classes_, strict=True))


def test_trees_and_pickles_keep_several_targets(reloaded):
    tree = BoostTreeRegressor(random_state=0).fit(X, Y)
    for other in (reloaded(tree), pickle.loads(pickle.dumps(tree))):
        assert np.array_equal(other.predict(X), tree.predict(X))
    forest = small(BoostForestRegressor).fit(X, Y)
    each = np.mean([forest.get_tree(i).predict(X) for i in range(8)], axis=0)
    np.testing.assert_allclose(each, forest.predict(X), rtol=1e-9)
    assert [p.shape for p in forest.staged_predict(X)] == [Y.shape] * 8


def test_a_smaller_forest_and_importances_judge_all_targets():
    forest = paper_regressor(30).fit(X, Y)
    compressed = forest.compress(X=X, y=Y)
    assert compressed.model_size_ < forest.model_size_
    assert r2_score(forest.predict(X), compressed.predict(X)) > 0.999
    found = forest.permutation_importances(X, Y)
    assert found.out_of_bag
    assert (found.importances > 0).all()
    with pytest.raises(ValueError, match=re.escape("y must have shape (150, 3), a column for each target")):
        forest.compress(X=X, y=Y[:, 0])


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda Y: Y[:, :, None],
            r"y must have shape \(n_samples,\) or \(n_samples, n_targets\); got shape \(60, 3, 1\)",
        ),
        (lambda Y: Y[:, :0], "y must have at least one target"),
        (lambda Y: Y[:50], "inconsistent numbers of samples"),
        (lambda Y: [[0, 1]] * 59 + [[0]], "y must have the same number of targets in every row"),
        (lambda Y: np.where(np.arange(180).reshape(60, 3) == 4, np.nan, Y), "target 1 of 3|missing labels in target 1"),
    ],
)
def test_wrong_shapes_of_several_targets_are_refused(cls, make, message):
    X, Y = make_classes(60)
    assert_refused(lambda: small(cls), X, Y, message, y=make(Y))


def test_columns_of_the_wrong_kind_are_named():
    X, Y = make_numbers(60)
    mixed = Y.astype(object)
    mixed[:, 1] = "a"
    with pytest.raises(ValueError, match="y must hold numbers; target 1 of 3 has other values"):
        small(BoostForestRegressor).fit(X, mixed)
    with pytest.raises(ValueError, match="y must have classes; target 0 of 3 has continuous values"):
        small(BoostForestClassifier).fit(X, Y)
    with pytest.raises(ValueError, match="missing labels in target 2 of 3"):
        small(BoostForestClassifier).fit(X, np.column_stack([mixed[:, 1], mixed[:, 1], [None] * 60]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "poisson"}, "loss must be 'squared_error' with several targets; got 'poisson'; y has 3 targets"),
        ({"loss": lambda y, f: (f - y, np.ones_like(y))}, "got a loss of your own"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, "monotonic_cst needs one target; y has 3 targets"),
        ({"node_model": Ridge()}, "node_model must be one of the core's with several targets"),
        ({"device": "cuda"}, "device must be 'cpu' or 'auto' with several targets"),
    ],
)
def test_what_cannot_be_had_with_several_targets_is_named(settings, message):
    X, Y = make_numbers(60)
    with pytest.raises(ValueError, match=message):
        small(BoostForestRegressor, **settings).fit(X, np.abs(Y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "gini"}, "criterion must be 'xgb' with several classifications"),
        (
            {"class_weight": "balanced_subsample"},
            "class_weight must be None, 'balanced' or a list of dicts with several targets",
        ),
        ({"class_weight": {0: 1.0, 1: 2.0}}, "a list of 3 dicts, one for each target"),
        ({"calibrate": "isotonic"}, "calibrate must be False, 'temperature' or 'auto' with several targets"),
        ({"oob_score": "neg_log_loss"}, "oob_score must be True, False or a function of y_true and y_pred"),
    ],
)
def test_what_cannot_be_had_with_several_classifications_is_named(settings, message):
    X, Y = make_classes(60)
    with pytest.raises(ValueError, match=message):
        small(BoostForestClassifier, **settings).fit(X, Y)


def make_steps(n_targets=2):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    Y = np.column_stack([np.floor(4 * X[:, k % 3]) % 2 for k in range(n_targets)])
    return X, Y + rng.normal(0, 0.1, Y.shape)


def test_later_stages_come_after_boosting_and_only_where_it_is_of_no_use():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 6))
    Y = np.column_stack([4 * X[:, 0] ** 2, np.sin(6 * X[:, 1]), 4 * X[:, 2] * X[:, 3]])
    Y += 0.1 * rng.normal(size=Y.shape)
    first, *others = BoostForestRegressor(60, random_state=0).fit(X, Y).stages_.boosted
    assert not first and others and all(others)
    asked = BoostForestRegressor(60, n_stages=2, random_state=0).fit(X, Y).stages_.boosted
    assert asked[:2] == (False, False)
    assert len(BoostForestRegressor(60, boost=False, random_state=0).fit(X, Y).stages_) > 1


def test_boosted_stages_join_numbers_and_classes_only_if_they_are_asked_for_by_name():
    X, Y = make_steps()
    forest = BoostForestRegressor(40, random_state=0).fit(X, Y)
    assert any(forest.stages_.boosted)
    alone = BoostForestRegressor(40, boost=False, random_state=0).fit(X, Y)
    assert forest.oob_losses_[-1] < 0.9 * alone.oob_losses_[-1]
    classes = (Y > 0.5).astype(int)
    assert not any(BoostForestClassifier(40, random_state=0).fit(X, classes).stages_.boosted)
    assert any(BoostForestClassifier(40, boost=True, random_state=0).fit(X, classes).stages_.boosted)


@pytest.mark.parametrize("n_targets", [2, 3, 5])
def test_equal_columns_are_equal_in_boosted_stages(n_targets):
    X, Y = make_steps()
    X[::9, 1] = np.nan
    forest = BoostForestRegressor(40, random_state=0).fit(X, np.repeat(Y[:, :1], n_targets, axis=1))
    assert any(forest.stages_.boosted)
    predicted = forest.predict(X)
    assert (predicted == predicted[:, :1]).all()


def test_interactions_are_kept_for_several_targets():
    forest = small(BoostForestRegressor, interaction_cst="no_interactions").fit(X, Y)
    moved = X.copy()
    moved[:, 0] += 1
    other = X.copy()
    other[:, 1] = 0
    both = other.copy()
    both[:, 0] += 1
    np.testing.assert_allclose(
        forest.predict(moved) - forest.predict(X), forest.predict(both) - forest.predict(other), atol=1e-8
    )


def test_golden_files_load_and_predict_what_was_recorded():
    for path in sorted((Path(__file__).parent / "data" / "several").glob("*.safetensors")):
        record, model = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), load_model(path)
        rows = np.array(record["rows"])
        assert model.apply(rows).tolist() == record["leaves"]
        if "probabilities" not in record:
            np.testing.assert_allclose(model.predict(rows), record["labels"], rtol=1e-12)
            continue
        assert model.predict(rows).tolist() == record["labels"]
        for found, expected in zip(model.predict_proba(rows), record["probabilities"], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"squared_errors": {"mean": [0.0], "scale": [1.0, 1.0]}}, "a list of their means, and of as many scales"),
        ({"squared_errors": {"mean": [0.0] * 3, "scale": [1.0, 0.0, 1.0]}}, "scales above 0"),
        ({"squared_errors": {"mean": [0.0] * 2, "scale": [1.0] * 2}}, "target_end does not fit the targets"),
        ({"poisson": {}}, "the loss 'poisson' is not of such"),
        (None, "the loss '' is not of such"),
    ],
)
def test_damaged_targets_in_files_are_refused(tmp_path, refuses_file, told, message):
    X, Y = make_numbers(60)
    small(BoostForestRegressor).fit(X, Y).save_model(tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    refuses_file(with_metadata(content, loss=json.dumps(told)), message)


@pytest.mark.parametrize(
    "labels",
    [{"int64": [1, 0]}, {"int8": [0, 300]}, {"str": ["a", 1]}, {"complex128": [0, 1]}, {"bool": [0, 1]}, [0, 1], {}],
)
def test_damaged_labels_in_files_are_refused(tmp_path, refuses_file, labels):
    X, Y = make_classes(60)
    small(BoostForestClassifier).fit(X, Y).save_model(tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    told = {"class_targets": [labels, {"int64": [0, 1, 2]}, {"int64": [0, 1]}]}
    refuses_file(with_metadata(content, loss=json.dumps(told)), "label")


def test_stages_of_classes_that_count_more_than_once_are_saved(reloaded):
    X, Y = make_classes()
    forest = BoostForestClassifier(40, random_state=0).fit(X, Y)
    model = forest._model
    forest._model = replace(model, stages=Stages((20, model.n_trees), (1.0, 2.5)), calibration=Calibration())
    forest._model = replace(forest._model, known=replace(model.known, losses=np.array([1.0, 0.9])))
    assert np.array_equal(reloaded(forest).predict_proba(X)[0], forest.predict_proba(X)[0])


@pytest.fixture
def command():
    """Return a function that runs the command line and returns its exit code and what it says."""
    runner = pytest.importorskip("typer.testing", reason="needs typer")
    from boostforest._cli.commands import app

    def run(*arguments):
        result = runner.CliRunner().invoke(app, [str(argument) for argument in arguments])
        return result.exit_code, " ".join(result.output.split())

    return run


def test_the_command_line_predicts_several_targets(tmp_path, command):
    X, Y = make_numbers(60)
    labels, X = make_classes(60)[1], pd.DataFrame(X).add_prefix("x")
    X.to_csv(tmp_path / "table.csv", index=False)
    for cls, y, option in ((BoostForestRegressor, Y, []), (BoostForestClassifier, labels, ["--proba"])):
        model = small(cls).fit(X, y)
        path, written = tmp_path / "model.safetensors", tmp_path / "out.csv"
        model.save_model(path)
        assert command("predict", path, tmp_path / "table.csv", "--output", written, *option)[0] == 0
        found = pd.read_csv(written)
        np.testing.assert_allclose(found[[f"prediction_{k}" for k in range(3)]], model.predict(X), rtol=1e-9)
        if option:
            columns = [f"probability_1_{label}" for label in range(3)]
            np.testing.assert_allclose(found[columns], model.predict_proba(X)[1], rtol=1e-9)
        code, said = command("inspect", path)
        assert code == 0
        assert "targets 3" in said


@pytest.mark.parametrize("name", ["score", "compress", "report"])
def test_commands_that_take_one_target_say_so(tmp_path, command, name):
    X, Y = make_numbers(60)
    path, table, X = tmp_path / "model.safetensors", tmp_path / "table.csv", pd.DataFrame(X).add_prefix("x")
    small(BoostForestRegressor).fit(X, Y).save_model(path)
    X.assign(y=Y[:, 0]).to_csv(table, index=False)
    rest = [] if name == "score" else ["--output", tmp_path / "out"]
    code, said = command(name, path, table, "--target", "y", *rest)
    assert code == 1
    assert "has several targets, and this command takes one" in said
    assert not (tmp_path / "out").exists()


def test_the_command_line_fits_one_target_and_does_not_take_the_last_of_several(tmp_path, command):
    X, Y = make_numbers(60)
    table, path = tmp_path / "table.csv", tmp_path / "model.safetensors"
    pd.DataFrame(X).add_prefix("x").assign(a=Y[:, 0], b=Y[:, 1]).to_csv(table, index=False)
    for name, rest in (("fit", ["--output", path]), ("evaluate", [])):
        code, said = command(name, table, "--target", "a", "--target", "b", *rest)
        assert code == 1
        assert "--target must be given once; got 'a', 'b'" in said
    assert not path.exists()


def test_pictures_of_one_target_say_how_to_get_it():
    pytest.importorskip("matplotlib", reason="needs matplotlib").use("Agg")
    from boostforest import plot

    X, Y = make_numbers(60)
    labels = make_classes(60)[1]
    forest, classifier = small(BoostForestRegressor).fit(X, Y), small(BoostForestClassifier).fit(X, labels)
    for draw in (
        lambda: plot.convergence(forest, X, Y),
        lambda: plot.convergence(classifier, X, labels),
        lambda: plot.residuals(forest, X, Y),
        lambda: plot.calibration(classifier, X, labels),
        lambda: plot.effect(forest, X, 0),
        lambda: plot.tree(forest, 0),
    ):
        with pytest.raises(ValueError, match=r"needs one target, and the model has 3: get_target\(i\)"):
            draw()
    plot.importances(forest)
    plot.convergence(forest.get_target(1), X, Y[:, 1])
