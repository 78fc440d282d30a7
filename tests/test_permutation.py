"""Importances by permutation: out of bag on the rows of the fit, of columns as users have them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss, root_mean_squared_error

from boostforest import BoostForestRegressor, BoostTreeRegressor
from boostforest._base.sampling import Sampling
from boostforest._model.model import Places
from models import paper_classifier, paper_regressor

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
X[:, 4] = 7.0  # says nothing
y = 5 * X[:, 0] + X[:, 1] + rng.normal(size=200)
LABELS = np.searchsorted(np.quantile(y, [0.3, 0.6]), y)


def oob_outputs(forest, table):
    """Return the mean over the trees that have not drawn a row, tree by tree."""
    total, n = 0.0, np.zeros(len(table))
    for t, seed in enumerate(forest.tree_seeds_):
        absent = Sampling(bootstrap=True, n_draws=len(table)).counts(seed, len(table)) == 0
        tree = forest.get_tree(t)
        p = tree.predict_proba(table) if hasattr(forest, "classes_") else tree.predict(table)[:, None]
        total, n = total + absent[:, None] * p, n + absent
    return total / n[:, None]


def test_an_offset_of_the_rows_counts():
    pd = pytest.importorskip("pandas")
    city = [f"c{c}" for c in np.random.default_rng(1).integers(0, 30, size=200)]
    table, offset = pd.DataFrame(X).add_prefix("x").assign(city=city), 10 * X[:, 2]
    forest = paper_regressor(40, oob_score=True)
    forest.fit(table, y + offset, offset=offset)
    found = forest.permutation_importances(table, y + offset, offset=offset, n_repeats=1)
    assert found.out_of_bag
    assert_allclose(found.loss, root_mean_squared_error(y + offset, forest.oob_prediction_))
    assert found.importances[0] > 10 * abs(found.importances[2])  # what the offset says is not the column's
    new = forest.permutation_importances(table[:50], (y + offset)[:50], offset=offset[:50])
    assert_allclose(new.loss, root_mean_squared_error((y + offset)[:50], forest.predict(table[:50], offset[:50])))
    with pytest.raises(ValueError, match=r"offset must have a number per row, shape \(200,\); got shape \(3,\)"):
        forest.permutation_importances(table, y, offset=[1, 2, 3])


@pytest.mark.parametrize("task", ["regression", "two classes", "classes"])
def test_importances_are_the_rise_of_the_out_of_bag_loss_with_shuffled_columns(task):
    if task == "regression":
        forest, target = paper_regressor(30).fit(X, y), y
    else:
        target = np.minimum(LABELS, 1 if task == "two classes" else 2)
        forest = paper_classifier(30).fit(X, target)

    def figure(table):
        outputs = oob_outputs(forest, table)
        return root_mean_squared_error(target, outputs) if task == "regression" else log_loss(target, outputs)

    found = forest.permutation_importances(X, target, n_repeats=1, random_state=3)
    assert found.out_of_bag and found.n_rows == 200
    assert found.figure == ("RMSE" if task == "regression" else "log-loss")
    close = {"rtol": 1e-9, "atol": 1e-4 if task == "classes" else 1e-12}  # losses of classes round small probabilities
    assert_allclose(found.loss, figure(X), **close)
    for j in range(5):
        shuffled = X.copy()
        shuffled[:, j] = X[np.random.default_rng([3, j, 0]).permutation(200), j]
        assert_allclose(found.importances[j], figure(shuffled) - figure(X), **close)
    assert found.importances[4] == found.standard_errors[4] == 0
    assert (found.intervals[:, 0] <= found.importances).all() and (found.importances <= found.intervals[:, 1]).all()


def test_noise_columns_have_next_to_no_importance():
    """The demand of the issue: together below a twentieth of that of the strongest column, by slopes and shuffling."""
    table = np.random.default_rng(1).normal(size=(1000, 6))
    target = 5 * table[:, 0] + table[:, 1] + np.random.default_rng(2).normal(size=1000)
    for preset in ("paper", "best"):
        forest = BoostForestRegressor(50, preset=preset, random_state=0).fit(table, target)
        slopes = np.abs(forest.slope_importances_)
        assert slopes[2:].sum() < slopes[0] / 20
        found = forest.permutation_importances(table, target)
        assert np.abs(found.importances[2:]).sum() < found.importances[0] / 20
        assert_array_equal(np.argsort(-found.importances)[:2], [0, 1])
        assert (found.intervals[:2, 0] > 0).all() and (found.intervals[2:, 0] < 0.01).all()


def test_intervals_hold_what_many_other_rows_say():
    """Standard errors are the standard deviations of importances over tables of the same kind."""
    forest = paper_regressor(20).fit(X, y)
    found = []
    for seed in range(60):
        own = np.random.default_rng(seed)
        table = own.normal(size=(100, 5))
        table[:, 4] = 7.0
        target = 5 * table[:, 0] + table[:, 1] + own.normal(size=100)
        found.append(forest.permutation_importances(table, target, n_repeats=3))
    spread = np.std([f.importances for f in found], axis=0)
    told = np.mean([f.standard_errors for f in found], axis=0)
    assert_allclose(told[:2] / spread[:2], 1, atol=0.4)


def test_other_rows_are_predicted_by_all_trees_as_scikit_learn_does():
    forest = paper_regressor(20).fit(X[:120], y[:120])
    found = forest.permutation_importances(X[120:], y[120:], n_repeats=30)
    assert not found.out_of_bag
    expected = permutation_importance(
        forest, X[120:], y[120:], scoring="neg_root_mean_squared_error", n_repeats=30, random_state=0
    )
    assert_allclose(found.importances, expected.importances_mean, atol=0.15)
    assert_allclose(found.loss, root_mean_squared_error(y[120:], forest.predict(X[120:])))


def test_all_features_of_a_category_are_shuffled_together():
    pd = pytest.importorskip("pandas")
    town = np.array(["Ulm", "Rom", "Bern", None], dtype=object)[np.arange(200) % 4]
    many = np.array([f"level {k}" for k in np.random.default_rng(6).integers(40, size=200)], dtype=object)
    frame = pd.DataFrame({"a": X[:, 0], "town": town, "many": many})
    frame.loc[::7, "a"] = np.nan
    target = y + 9 * (frame["town"] == "Rom")
    forest = paper_regressor(30, missing_indicator=True).fit(frame, target)
    found = forest.permutation_importances(frame, target)
    assert found.columns == ["a", "town", "many"] and found.out_of_bag
    assert found.importances[1] > 1 and found.to_frame()["column"].tolist()[2] == "many"


def test_repeated_rows_are_weights():
    weight = np.random.default_rng(5).integers(0, 4, 150).astype(float)
    forest = paper_regressor(20).fit(X[:50], y[:50])
    rows = np.repeat(np.arange(150), weight.astype(int))
    weighted = forest.permutation_importances(X[50:], y[50:], weight, n_repeats=40)
    repeated = forest.permutation_importances(X[50:][rows], y[50:][rows], n_repeats=40)
    assert_allclose(weighted.loss, repeated.loss)
    assert_allclose(weighted.importances, repeated.importances, atol=0.15)
    own = paper_regressor(20).fit(X[:150], y[:150], weight)
    assert own.permutation_importances(X[:150], y[:150], weight).out_of_bag
    with pytest.raises(ValueError, match="rows of the fit, so sample_weight must be that of the fit"):
        own.permutation_importances(X[:150], y[:150])


def test_which_rows_are_those_of_the_fit(reloaded):
    forest = paper_regressor(20).fit(X, y)
    assert forest.permutation_importances(X, y, n_repeats=1).out_of_bag
    assert not forest.permutation_importances(X[::-1], y, n_repeats=1).out_of_bag, "the targets alone do not tell"
    assert not forest.permutation_importances(X, y[::-1], n_repeats=1).out_of_bag
    loaded = reloaded(forest)
    assert loaded.permutation_importances(X, y, n_repeats=1).out_of_bag, "files keep a hash of the target"
    assert not loaded.permutation_importances(X, y[::-1], n_repeats=1).out_of_bag
    for other in (BoostTreeRegressor(random_state=0), BoostForestRegressor(5, bootstrap=False, random_state=0)):
        assert not other.fit(X, y).permutation_importances(X, y, n_repeats=1).out_of_bag


def test_stages_python_models_and_class_weights_are_judged_out_of_bag():
    from sklearn.linear_model import LinearRegression

    for forest, target in (
        (BoostForestRegressor(60, random_state=0), y),
        (paper_regressor(3, node_model=LinearRegression()), y),
        (paper_classifier(10, class_weight="balanced"), LABELS),
        (paper_classifier(10, class_weight="balanced_subsample"), LABELS),
    ):
        found = forest.fit(X, target).permutation_importances(X, target, n_repeats=2)
        assert found.out_of_bag and found.importances.argmax() == 0
    weights = 0.5 + np.random.default_rng(7).random(200)
    forest = BoostForestRegressor(100, oob_score=True, dtype="float64", random_state=0).fit(X, y, weights)
    found = forest.permutation_importances(X, y, weights, n_repeats=1)
    r2 = 1 - found.loss**2 / np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    assert_allclose(r2, forest.oob_score_, atol=1e-9)


def test_some_training_rows_are_predicted_by_the_trees_that_have_not_drawn_them():
    forest = BoostForestRegressor(60, random_state=0).fit(X, y)
    model, sampling = forest._model, Sampling(bootstrap=True, n_draws=200)
    whole, seen = model.out_of_bag_outputs(X, sampling, 1)
    numbers = np.array([5, 3, 3, 199])
    some, also = model.out_of_bag_outputs(X[numbers], sampling, 2, places=Places(200, numbers))
    assert_array_equal(some, whole[numbers])
    assert_array_equal(also, seen[numbers])


def test_importances_do_not_depend_on_threads_and_may_judge_fewer_rows():
    forest = paper_regressor(10, n_jobs=1).fit(X, y)
    one, many = (forest.set_params(n_jobs=n).permutation_importances(X, y) for n in (1, 4))
    assert_array_equal(one.importances, many.importances)
    some = forest.permutation_importances(X, y, max_rows=50)
    assert some.n_rows <= 50 and some.importances.argmax() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_repeats": 0}, "n_repeats must be an integer of at least 1; got 0"),
        ({"max_rows": 1}, "max_rows must be None or an integer of at least 2; got 1"),
        ({"random_state": None}, "random_state must be an integer of at least 0; got None"),
        ({"y": y[:-1]}, "inconsistent numbers of samples"),
        ({"y": y * np.nan}, "y contains NaN"),
        ({"X": X[:, :3]}, "X has 3 features"),
        ({"sample_weight": np.zeros(200)}, "sample_weight must not be zero everywhere"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    forest = paper_regressor(2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        forest.permutation_importances(**{"X": X, "y": y} | arguments)


def test_a_class_that_the_fit_has_not_seen_is_named():
    forest = paper_classifier(2).fit(X, LABELS)
    with pytest.raises(ValueError, match="y has the class 9, which the fit has not seen"):
        forest.permutation_importances(X, np.where(LABELS == 0, 9, LABELS))
