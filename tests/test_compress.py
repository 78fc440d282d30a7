"""Smaller forests: what they keep, what each step costs, and what is refused."""

import itertools
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
    root_mean_squared_error,
)

from boostforest import BoostForestClassifier, BoostForestRegressor, load_model
from boostforest._base.sampling import Sampling
from boostforest._grow.compress import judge_of, tree_order
from boostforest._grow.rounding import ANY_UNIT, rounded, unit_of_ranges
from boostforest._model.pruning import prune, without_weak_subtrees
from models import FORESTS
from twin import example_data


def fitted(task, n_trees=40, **params):
    """Return a forest, its training rows, and others."""
    X, y = example_data(task, n=400, d=4)
    forest = FORESTS[task](n_trees, random_state=0, **params).fit(X[:250], y[:250])
    return forest, (X[:250], y[:250]), (X[250:], y[250:])


def loss_of(forest, X, y):
    if hasattr(forest, "classes_"):
        return log_loss(y, forest.predict_proba(X), labels=forest.classes_)
    return root_mean_squared_error(y, forest.predict(X))


@pytest.mark.parametrize("task", FORESTS)
def test_fewer_digits_keep_the_loss_of_rows_that_are_given(task, tmp_path):
    forest, _, (X, y) = fitted(task)
    small = forest.compress(0.01, X=X, y=y)
    report = small.compression_report_
    assert [row["n_trees"] for row in report] == [40] * len(report)
    assert all(a["bytes"] > b["bytes"] for a, b in itertools.pairwise(report))
    assert_allclose(report[0]["loss"], loss_of(forest, X, y), rtol=1e-9)
    assert_allclose(report[-1]["loss"], loss_of(small, X, y), rtol=1e-9)
    assert report[-1]["loss"] <= 1.01 * report[0]["loss"] and report[-1]["bytes"] < 0.5 * report[0]["bytes"]
    for model, row in ((forest, report[0]), (small, report[-1])):
        model.save_model(tmp_path / "a")
        assert abs((tmp_path / "a").stat().st_size - row["bytes"]) < 64
    assert_array_equal(load_model(tmp_path / "a").predict(X), small.predict(X))


@pytest.mark.parametrize(
    ("arguments", "metric"),
    [
        ({"loss": "absolute_error"}, mean_absolute_error),
        ({"loss": "quantile", "quantile": 0.8}, lambda y, p: mean_pinball_loss(y, p, alpha=0.8)),
        ({"loss": "poisson"}, mean_poisson_deviance),
        ({"loss": "tweedie", "power": 1.7}, lambda y, p: mean_tweedie_deviance(y, p, power=1.7)),
    ],
    ids=lambda value: value.get("loss") if isinstance(value, dict) else "",
)
def test_other_losses_are_reported_in_units_of_the_target(arguments, metric):
    X, y = example_data("regression", n=400, d=4)
    y = np.exp(y / y.std()) * 30
    forest = FORESTS["regression"](20, random_state=0, **arguments).fit(X[:250], y[:250])
    report = forest.compress(X=X[250:], y=y[250:]).compression_report_
    assert_allclose(report[0]["loss"], metric(y[250:], forest.predict(X[250:])), rtol=1e-9)


def test_training_rows_are_judged_out_of_bag():
    forest, (X, y), _ = fitted("regression", oob_score=True)
    report = forest.compress(X=X, y=y).compression_report_
    seen = np.isfinite(forest.oob_prediction_)
    assert_allclose(report[0]["loss"], root_mean_squared_error(y[seen], forest.oob_prediction_[seen]), rtol=1e-9)


def test_nothing_is_taken_off_a_forest_that_is_small_enough():
    forest, _, (X, y) = fitted("multiclass")
    least = forest.compress(0.01, X=X, y=y).compression_report_
    same = forest.compress(0.01, max_bytes=least[0]["bytes"], X=X, y=y)
    assert [row["step"] for row in same.compression_report_] == ["forest as it is"]
    assert_array_equal(same.predict_proba(X), forest.predict_proba(X))
    between = forest.compress(0.01, max_bytes=(least[-2]["bytes"] + least[-1]["bytes"]) // 2, X=X, y=y)
    end = between.compression_report_[-1]
    assert least[-1]["bytes"] < end["bytes"] < least[-2]["bytes"] and end["n_trees"] == 40


@pytest.mark.parametrize("given", ["training rows", "other rows"])
@pytest.mark.parametrize("task", FORESTS)
def test_max_bytes_leaves_trees_out(task, given):
    forest, training, others = fitted(task)
    X, y = training if given == "training rows" else others
    most = forest.compress(X=X, y=y).compression_report_[-1]["bytes"] // 2
    small = forest.compress(max_bytes=most, X=X, y=y)
    last = small.compression_report_[-1]
    assert last["bytes"] <= most and last["n_trees"] == small.forest_.n_trees == small.n_estimators < 40
    assert loss_of(small, *others) < 1.3 * loss_of(forest, *others)
    assert_allclose(small.predict(X[:5]), pickle.loads(pickle.dumps(small)).predict(X[:5]))


@pytest.mark.parametrize("params", [{"n_stages": 2, "node_model": "constant", "max_leaf_nodes": 4}])
def test_every_stage_keeps_its_share(params):
    forest, _, (X, y) = fitted("regression", 80, **params)
    assert forest.n_stages_ == 2
    most = forest.compress(X=X, y=y).compression_report_[-1]["bytes"] * 3 // 4
    small = forest.compress(max_bytes=most, X=X, y=y)
    kept = np.diff([0, *small.stages_.ends]) / np.diff([0, *forest.stages_.ends])
    assert small.n_stages_ == 2 and abs(kept[0] - kept[1]) < 0.06 and kept.max() < 1


def test_the_forest_itself_stays_as_it_is():
    forest, _, (X, y) = fitted("binary")
    before, params = forest.predict_proba(X), forest.get_params()
    forest.compress(max_bytes=20_000, X=X, y=y)
    assert_array_equal(forest.predict_proba(X), before)
    assert forest.get_params() == params
    with pytest.raises(AttributeError, match="has no compression_report_"):
        _ = forest.compression_report_


def test_a_compressed_forest_can_be_fitted_again():
    forest, (X, y), _ = fitted("binary")
    small = forest.compress(X=X, y=y)
    again = clone(small).fit(X, y)
    assert again.forest_.dtype == small.forest_.dtype and again.forest_.n_trees == 40


def test_larger_units_are_multiples():
    forest, _, _ = fitted("multiclass", dtype="int8")
    unit = int(forest.forest_.exponent.min()) + 3
    coarse = forest.forest_.in_units(unit)
    exact, rough = forest.forest_.coefficients(), coarse.coefficients()
    width = 1 + forest.forest_.n_inputs[0]
    assert (np.abs(exact - rough) <= 0.5 * 2.0 ** np.repeat(coarse.exponent.astype(float), width)).all()
    assert_array_equal(coarse.exponent, np.maximum(forest.forest_.exponent, unit))


def far_group(n=500):
    """Return rows of which one in twenty are alike, with one target that is far from the others'."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + 0.05 * rng.normal(size=n)
    far = rng.random(n) < 0.05
    X[far], y[far] = -3, -29.3
    return X, y


def test_clip_ranges_have_the_digits_that_a_group_far_from_the_others_needs():
    X, y = far_group()
    forest = BoostForestRegressor(20, random_state=0, dtype="float32").fit(X, y)
    model, judge = forest._model, judge_of(forest._model, X, y, 1, forest._draws_of_fit)
    unit = unit_of_ranges(judge.objective, *judge.outputs(model))
    loss, coarse, fine = (
        judge.loss(replace(model, columns=columns))
        for columns in (model.columns, rounded(model, "int8"), rounded(model, "int8", of_ranges=unit))
    )
    assert coarse > 5 * loss and fine < 1.02 * loss
    assert forest.compress(0.01, X=X, y=y).forest_.dtype == np.int8


@pytest.mark.parametrize("unit", [ANY_UNIT, -3, -8])
def test_clip_ranges_of_few_digits_are_as_near_as_a_unit_tells(unit):
    forest, _, _ = fitted("regression", 10, dtype="float32")
    exact, short = forest.forest_, rounded(forest._model, "int8", of_ranges=unit)
    for name in ("lower", "upper"):
        ends, near = getattr(exact, name).astype(np.float64), getattr(short, name).astype(np.float64)
        finite = np.isfinite(ends)
        assert_array_equal(near[~finite], ends[~finite])
        off, size = np.abs(near[finite] - ends[finite]), np.abs(ends[finite])
        in_float16 = size * 2.0**-11
        assert (off <= size / 8).all() and (off <= 2.0 ** (unit - 1) + in_float16).all()


def test_clip_ranges_need_no_unit_where_the_loss_does_not_bend():
    forest, (X, y), _ = fitted("regression", 10, loss="absolute_error")
    judge = judge_of(forest._model, X, y, 1, forest._draws_of_fit)
    assert unit_of_ranges(judge.objective, *judge.outputs(forest._model)) == ANY_UNIT


def test_the_first_trees_of_the_order_are_better_than_the_first_of_the_forest():
    forest, _, (X, y) = fitted("regression")
    judge = judge_of(forest._model, X, y, 1, forest._draws_of_fit)
    order = tree_order(forest._model, judge, 8)
    assert len(set(order)) == 8
    trees = [forest.get_tree(i).predict(X) for i in range(40)]
    best, first = (root_mean_squared_error(y, np.mean([trees[i] for i in some], axis=0)) for some in (order, range(8)))
    assert best < first


def test_rows_of_the_fit_are_told_by_their_target():
    forest, training, others = fitted("regression")
    assert isinstance(judge_of(forest._model, *training, 1, forest._draws_of_fit).sampling, Sampling)
    assert judge_of(forest._model, *others, 1, forest._draws_of_fit).sampling is None


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"tolerance": -0.1}, r"tolerance must be a number from 0 to 1; got -0\.1\."),
        ({"tolerance": "small"}, "tolerance must be a number from 0 to 1; got 'small'"),
        ({"tolerance": np.nan}, "tolerance must be a number from 0 to 1; got nan"),
        ({"max_bytes": 0}, "max_bytes must be None or an integer of at least 1; got 0"),
        ({"max_bytes": 1e5}, "max_bytes must be None or an integer of at least 1; got 100000.0"),
        ({"max_bytes": 100}, r"max_bytes=100 cannot be reached: .* \d+ bytes, with 1 of 40 trees and a loss of 0\.\d+"),
        ({"X": None}, "compress needs X and y: the training rows, which are judged out of bag, or rows"),
        ({"y": None}, "compress needs X and y"),
        ({"y": np.full(150, 7)}, r"y has the class .*7.*, which the forest does not know"),
        ({"y": np.zeros(3)}, "inconsistent numbers of samples"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(arguments, reason):
    forest, _, (X, y) = fitted("binary")
    with pytest.raises(ValueError, match=reason):
        forest.compress(**{"X": X, "y": y} | arguments)


def test_training_rows_without_a_bag_are_refused():
    forest, training, others = fitted("binary", bootstrap=False)
    with pytest.raises(ValueError, match="compress cannot judge the training rows out of bag"):
        forest.compress(X=training[0], y=training[1])
    assert forest.compress(X=others[0], y=others[1]).compression_report_


@pytest.mark.parametrize("weighted", [False, True])
def test_training_rows_with_weights_are_judged_out_of_bag_by_them(weighted):
    _, (X, y), others = fitted("binary")
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(y)) if weighted else None
    forest = BoostForestClassifier(40, class_weight="balanced", random_state=0).fit(X, y, weight)
    judge = judge_of(forest._model, X, y, 1, forest._draws_of_fit, None, weight)
    outputs, seen = judge.outputs(forest._model)
    assert seen.any() and judge.sampling.cumulative is not None
    own = np.where(seen, 1.0 if weight is None else weight, 0.0)
    label = np.searchsorted(forest.classes_, y)
    p = np.where(label == 1, outputs[:, 0], 1 - outputs[:, 0])
    assert judge.loss(forest._model) == pytest.approx(-np.average(np.log(p[own > 0]), weights=own[own > 0]))
    report = forest.compress(X=X, y=y, sample_weight=weight).compression_report_
    assert report[-1]["loss"] <= 1.001 * report[0]["loss"]
    with pytest.raises(ValueError, match="sample_weight must be that of the fit"):
        forest.compress(X=X, y=y, sample_weight=np.linspace(1, 2, len(y)))
    assert forest.compress(X=others[0], y=others[1], sample_weight=np.ones(len(others[1]))).compression_report_


def test_a_loaded_forest_knows_its_training_rows(reloaded: Path):
    forest, training, _ = fitted("regression")
    loaded = reloaded(forest)
    with pytest.raises(ValueError, match="compress needs X and y"):
        loaded.compress()
    assert judge_of(loaded._model, *training, 1, loaded._draws_of_fit).sampling is not None
    assert judge_of(loaded._model, training[0][1:], training[1][1:], 1, loaded._draws_of_fit).sampling is None
    report = loaded.compress(X=training[0], y=training[1]).compression_report_
    assert report == forest.compress(X=training[0], y=training[1]).compression_report_


# ------------------------------------------------------------------------------------------ subtrees that are taken off


@pytest.mark.parametrize(
    "params", [{}, {"clip": False}, {"node_model": ["elm", "ridge"]}, {"max_leaf_nodes": 12}], ids=str
)
@pytest.mark.parametrize("task", FORESTS)
def test_a_pruned_forest_is_a_forest(task, params):
    params = {name: value for name, value in params.items() if name in FORESTS[task]().get_params()}
    forest, _, (X, _) = fitted(task, 10, **params)
    columns = forest.forest_
    small = without_weak_subtrees(columns, 0.5)
    assert 0.3 * len(columns.feature) < len(small.feature) < 0.75 * len(columns.feature)
    assert small.n_trees == 10 and small.dtype == np.float64
    forest._model = replace(forest._model, columns=small)
    assert np.isfinite(forest.predict_proba(X) if hasattr(forest, "classes_") else forest.predict(X)).all()
    leaves = np.bincount(small.tree_of_node[small.feature < 0], weights=small.n_samples[small.feature < 0])
    assert_allclose(leaves, small.n_samples[small.tree_start[:-1]])


def test_every_tree_gives_up_its_share_of_nodes():
    X, y = far_group()
    columns = BoostForestRegressor(10, random_state=0, min_samples_leaf=[2, 8]).fit(X, y).forest_
    for share in (0.25, 0.5, 0.75):
        removed = 1 - np.diff(without_weak_subtrees(columns, share).tree_start) / np.diff(columns.tree_start)
        assert (removed <= share).all() and (removed > share - 0.2).all()


def test_subtrees_go_whose_splits_are_not_worth_their_gain_together():
    forest, _, _ = fitted("regression", 6, min_samples_leaf=3)
    columns = forest.forest_
    small = without_weak_subtrees(columns, 0.5)
    for tree in range(6):
        gain, left = (getattr(columns, n)[slice(*columns.tree_start[tree : tree + 2])] for n in ("gain", "left"))
        kept = (np.diff(small.tree_start)[tree] - 1) // 2
        best = {0: 0.0}  # gain of the best tree with so many splits, by trying all
        for n_splits, value in best_gains(gain.astype(np.float64), left, 0):
            best[n_splits] = max(best.get(n_splits, 0.0), value)
        own = small.gain[slice(*small.tree_start[tree : tree + 2])].sum(dtype=np.float64)
        assert_allclose(own, best[kept], rtol=1e-6)


def best_gains(gain, left, node):
    """Return for every number of splits of the subtree of a node the largest gain, the node itself split or not."""
    if left[node] <= 0:
        return [(0, 0.0)]
    sides = [best_gains(gain, left, left[node] + side) for side in (0, 1)]
    found = {0: 0.0}
    for (m, a), (n, b) in itertools.product(*sides):
        found[m + n + 1] = max(found.get(m + n + 1, 0.0), gain[node] + a + b)
    return list(found.items())


def test_nothing_changes_where_nothing_is_taken_off():
    forest, _, _ = fitted("multiclass", 5)
    same = prune(forest.forest_, np.zeros(len(forest.forest_.feature), dtype=bool))
    for name, column in forest.forest_.arrays().items():
        assert_array_equal(getattr(same, name), column, err_msg=name)


def test_clipped_sums_end_earlier_and_other_leaves_get_the_mean_of_those_below():
    for clip in (True, False):
        forest, _, _ = fitted("regression", 1, clip=clip, min_samples_leaf=20)
        columns = forest.forest_
        node = int(np.flatnonzero((columns.feature >= 0) & (columns.depth == 1))[0])
        cut = np.arange(len(columns.feature)) == node
        small = prune(columns, cut)
        new = np.flatnonzero((small.feature < 0) & (small.depth == 1) & (small.n_samples == columns.n_samples[node]))[0]
        below = [n for n in np.flatnonzero(columns.feature < 0) if node in ancestors(columns, n)]
        expected = columns.linear_models()[node] if clip else np.average(
            columns.linear_models()[below], axis=0, weights=columns.n_samples[below]
        )  # fmt: skip
        assert_allclose(small.linear_models()[new], expected)
        assert len(small.feature) == len(columns.feature) - 2 * (len(below) - 1)


def ancestors(columns, node):
    found = []
    while (node := int(columns.parent[node])) >= 0:
        found.append(node)
    return found
