"""Honest probabilities, prediction intervals and conformal sets, all learned out of bag."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.metrics import log_loss

from boostforest import BoostForestClassifier, BoostForestRegressor, _core
from models import FORESTS, paper_classifier, paper_regressor
from twin import example_data


@pytest.mark.parametrize("how", ["temperature", "isotonic", "auto"])
@pytest.mark.parametrize("load", [load_breast_cancer, lambda **k: load_digits(n_class=4, **k)])
def test_calibration_lowers_the_log_loss_and_keeps_most_classes(how, load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    plain = paper_classifier(40).fit(X[train], y[train])
    honest = paper_classifier(40, calibrate=how).fit(X[train], y[train])
    p = honest.predict_proba(X[test])
    assert log_loss(y[test], p) < log_loss(y[test], plain.predict_proba(X[test]))
    assert_allclose(p.sum(axis=1), 1)
    if how != "isotonic":  # one factor changes no ranking
        assert honest.calibration_.factor > 1
        assert_array_equal(honest.predict(X[test]), plain.predict(X[test]))


def test_little_data_changes_little():
    X, y = make_classification(24, random_state=0)
    forest = paper_classifier(60, calibrate="temperature").fit(X, y)
    assert 0.3 < forest.calibration_.factor < 3


def test_a_single_class_needs_no_calibration():
    X = np.arange(20.0)[:, None]
    with pytest.warns(UserWarning, match="one class"):
        forest = paper_classifier(30, calibrate="auto").fit(X, np.zeros(20))
    assert_array_equal(forest.predict_proba(X), np.ones((20, 1)))


@pytest.mark.parametrize("settings", [{"oob_score": True}, {"preset": "best"}], ids=["paper", "best"])
@pytest.mark.parametrize("method", ["local", "jackknife+"])
def test_intervals_hold_the_share_of_targets_that_was_asked_for(settings, method):
    X, y = load_diabetes(return_X_y=True)
    coverages, held = np.array([0.5, 0.8, 0.9]), []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:250], order[250:]
        forest = BoostForestRegressor(80, random_state=seed, **({"preset": "paper"} | settings)).fit(X[train], y[train])
        ends = [forest.predict_interval(X[test], coverage=c, method=method).T for c in coverages]
        held.append([((lower <= y[test]) & (y[test] <= upper)).mean() for lower, upper in ends])
        widths = [(upper - lower).mean() for lower, upper in ends]
        assert widths == sorted(widths)
    assert_allclose(np.mean(held, axis=0), coverages, atol=0.05)


def test_intervals_are_the_jackknife_plus_after_bootstrap():
    """Written out: for every row the mean of the trees that have not drawn it, plus and minus its own error."""
    X, y = example_data("regression", n=40)
    forest = paper_regressor(30, oob_score=True).fit(X, y)
    new = X[:5] + 0.1
    trees = np.array([forest.get_tree(t).predict(new) for t in range(30)])
    absent = np.array([_core.bootstrap_counts(int(s), 40, 40, None) == 0 for s in forest.tree_seeds_])
    centre = (trees.T @ absent) / absent.sum(axis=0)
    errors = np.abs(y - forest.oob_prediction_)
    rank = int(np.ceil(0.8 * 41))
    lower = -np.sort(-(centre - errors), axis=1)[:, rank - 1]
    upper = np.sort(centre + errors, axis=1)[:, rank - 1]
    assert_allclose(forest.predict_interval(new, 0.8, method="jackknife+"), np.column_stack([lower, upper]))


def test_too_few_rows_for_a_high_coverage_give_infinite_intervals():
    X, y = example_data("regression", n=30)
    forest = paper_regressor(40, oob_score=True).fit(X, y)
    with pytest.warns(
        UserWarning, match="infinite: coverage=0.99 needs at least 99 training rows .* there are"
    ) as caught:
        ends = forest.predict_interval(X[:2], coverage=0.99)
    assert caught[0].filename == __file__
    assert_array_equal(ends, [[-np.inf, np.inf]] * 2)


def test_sets_hold_the_true_class_as_often_as_was_asked_for():
    X, y = make_classification(1500, n_informative=5, n_classes=3, flip_y=0.3, random_state=0)
    forest = paper_classifier(60, oob_score=True).fit(X[:700], y[:700])
    sizes = []
    for coverage in (0.7, 0.9):
        sets = forest.predict_set(X[700:], coverage=coverage)
        assert sets[np.arange(800), y[700:]].mean() > coverage - 0.05
        assert sets[np.arange(800), forest.predict_proba(X[700:]).argmax(axis=1)].all()
        sizes.append(sets.sum())
    assert sizes[0] < sizes[1]
    assert abs(sets[np.arange(800), y[700:]].mean() - 0.9) < 0.05  # here the most probable class alone is not enough


@pytest.mark.parametrize("coverage", [0, 1, 1.5, "high", True])
def test_a_coverage_is_a_number_between_0_and_1(coverage):
    X, y = example_data("regression", n=40)
    forest = paper_regressor(20, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="coverage must be a number above 0 and below 1"):
        forest.predict_interval(X, coverage=coverage)


def test_without_out_of_bag_figures_there_are_no_intervals_or_sets():
    X, y = example_data("regression", n=40)
    with pytest.raises(AttributeError, match=r"predict_interval needs .* oob_score=True or, .* preset='best'"):
        paper_regressor(5).fit(X, y).predict_interval(X)
    X, y = example_data("binary", n=40)
    with pytest.raises(AttributeError, match="predict_set needs"):
        paper_classifier(5).fit(X, y).predict_set(X)
    with pytest.raises(ValueError, match=r"calibrate must be None, False, .*; got 'platt'"):
        BoostForestClassifier(5, calibrate="platt", preset="paper").fit(X, y)


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize(
    "settings", [{"preset": "best"}, {"n_stages": 2, "calibrate": "isotonic"}, {"oob_score": True}]
)
def test_files_keep_stages_calibration_intervals_and_sets(task, settings, reloaded):
    X, y = example_data(task)
    kind = FORESTS[task]
    settings = {k: v for k, v in settings.items() if task != "regression" or k != "calibrate"}
    forest = kind(80, random_state=0, **settings).fit(X, y)
    loaded = reloaded(forest)
    assert loaded.stages_ == forest.stages_ and loaded.calibration_.factor == forest.calibration_.factor
    assert_array_equal(getattr(loaded, "oob_losses_", 0), getattr(forest, "oob_losses_", 0))
    if task == "regression":
        assert_array_equal(loaded.predict(X), forest.predict(X))
        assert_array_equal(loaded.predict_interval(X), forest.predict_interval(X))
    else:
        assert_array_equal(loaded.predict_proba(X), forest.predict_proba(X))
        assert_array_equal(loaded.predict_set(X), forest.predict_set(X))
