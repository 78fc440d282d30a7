"""Quantiles, distributions and intervals of local width, from out-of-bag errors of rows that share leaves."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boostforest import BoostForestRegressor, load_model
from boostforest._model.distribution import Distribution
from boostforest._model.local import MOST_TREES, LocalErrors
from boostforest._model.model import Stages
from model_files import GOLDEN
from twin import example_data


def noisy_data(n, seed=0):
    """Return rows whose noise grows with the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + (0.1 + 1.5 * X[:, 0]) * rng.normal(size=n)


@pytest.fixture(scope="module")
def noisy():
    X, y = noisy_data(3200)
    return BoostForestRegressor(60, random_state=0).fit(X[:1200], y[:1200]), X[1200:], y[1200:]


def coverage_by_width(lower, upper, y, parts=3):
    held, width = (lower <= y) & (y <= upper), upper - lower
    part = np.digitize(width, np.quantile(width, np.arange(1, parts) / parts))
    return np.array([held[part == k].mean() for k in range(parts)])


def test_local_intervals_hold_their_share_where_noise_is_small_and_where_it_is_large(noisy):
    forest, X, y = noisy
    local = forest.predict_interval(X, 0.9, method="local")
    same = forest.predict_interval(X, 0.9, method="jackknife+")
    assert_array_equal(forest.predict_interval(X, 0.9), local)  # the default
    assert np.abs(coverage_by_width(*local.T, y) - 0.9).max() < 0.05
    assert np.diff(local).mean() < 0.9 * np.diff(same).mean()
    quiet = X[:, 0] < 0.2
    assert ((same[:, 0] <= y) & (y <= same[:, 1]))[quiet].mean() > 0.99  # what was wrong with the same width everywhere
    assert np.diff(local[quiet]).mean() < 0.5 * np.diff(same[quiet]).mean()


def test_quantiles_hold_their_share_and_never_cross(noisy):
    forest, X, y = noisy
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = forest.predict_quantiles(X, levels)
    assert quantiles.shape == (len(X), 5)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert_allclose((y[:, None] <= quantiles).mean(axis=0), levels, atol=0.04)
    assert np.abs(coverage_by_width(quantiles[:, 0], quantiles[:, -1], y) - 0.9).max() < 0.05
    assert_array_equal(forest.predict_quantiles(X, 0.25), quantiles[:, 1])
    assert_array_equal(forest.predict_quantiles(X[7:8], levels[::-1]), quantiles[7:8, ::-1])


def test_scales_and_weights_are_those_of_shared_leaves():
    """Written out: in every tree the rows of the same leaf count alike, then the mean over the trees."""
    rng = np.random.default_rng(0)
    leaves, residuals, new = rng.integers(0, 3, (12, 5)), rng.normal(size=12), np.array([[0, 1, 2, 0, 7]])
    local = LocalErrors(residuals, leaves, np.arange(5))
    shared = (new[:, None] == leaves[None])[0]
    weights = (shared / np.maximum(shared.sum(axis=0), 1)).mean(axis=1)
    mean = np.abs(residuals).mean()
    scale = (weights @ np.abs(residuals) + 0.1 * mean) / (weights.sum() + 0.1) / mean
    power = local._own[1]
    assert_allclose(local.scales(new), scale**power)
    assert_allclose(local._weights(new)[0], weights[local._order])
    # Row 4 is judged by the others.
    alone = LocalErrors(np.delete(residuals, 4), np.delete(leaves, 4, axis=0), np.arange(5))
    total = (leaves == leaves[4]) / (leaves == leaves[4]).sum(axis=0)
    others = np.delete(total.mean(axis=1), 4)
    own = (others @ np.abs(alone.residuals) + 0.1 * mean) / (others.sum() + 0.1) / mean
    assert_allclose(local._own[0][4], own**power)


def test_rows_of_weight_two_count_as_two_rows():
    rng = np.random.default_rng(1)
    leaves, residuals, weight = rng.integers(0, 3, (20, 4)), rng.normal(size=20), rng.integers(1, 3, 20)
    once = LocalErrors(residuals, leaves, np.arange(4), weight.astype(float))
    twice = LocalErrors(np.repeat(residuals, weight), np.repeat(leaves, weight, axis=0), np.arange(4))
    new = rng.integers(0, 3, (6, 4))
    assert_allclose(once._of_leaves[1], twice._of_leaves[1])
    assert_allclose(once._mean_error, twice._mean_error)
    assert np.isfinite(once.distribution(new)).all()


def test_distributions_agree_with_what_is_known_of_them():
    values = np.array([[0.0, 1.0, 3.0], [-1.0, 0.0, 2.0]])
    distribution = Distribution(values, np.array([[0.5, 0.75, 1.0], [0.2, 0.6, 1.0]]))
    assert_allclose(distribution.mean(), [1.0, 0.6])
    assert_array_equal(distribution.quantile([0.5, 0.51, 0.99]), [[0, 1, 3], [0, 0, 2]])
    assert_array_equal(distribution.cdf(0.0), [0.5, 0.6])
    assert_array_equal(distribution.cdf([-5.0, 5.0]), [0.0, 1.0])
    y, p = np.array([0.4, -3.0]), distribution.probabilities
    spread = np.einsum("ij,ik,ijk->i", p, p, np.abs(values[:, :, None] - values[:, None]))
    expected = (p * np.abs(values - y[:, None])).sum(axis=1) - spread / 2  # E|X − y| − E|X − X'| / 2
    assert_allclose(distribution.crps(y), expected)
    drawn = distribution.sample(4000, random_state=0)
    assert_array_equal(drawn, distribution.sample(4000, random_state=0))
    assert_allclose([(drawn[0] == v).mean() for v in values[0]], p[0], atol=0.03)


def test_predicted_distributions_are_near_the_prediction_and_survive_a_pickle(noisy):
    forest, X, _ = noisy
    distribution = forest.predict_distribution(X[:50])
    assert len(distribution) == 50 and "50 rows" in repr(distribution)
    assert_allclose(distribution.mean(), forest.predict(X[:50]), atol=0.3)
    assert_array_equal(distribution.quantile([0.1, 0.9]), forest.predict_quantiles(X[:50], [0.1, 0.9]))
    again = pickle.loads(pickle.dumps(forest))
    assert_array_equal(again.predict_quantiles(X[:9], 0.3), forest.predict_quantiles(X[:9], 0.3))


@pytest.mark.parametrize("loss", ["poisson", "huber", "absolute_error"])
def test_other_losses_offsets_and_weights_have_quantiles(loss):
    rng = np.random.default_rng(0)
    X, exposure = rng.normal(size=(300, 2)), rng.uniform(0.5, 3, 300)
    y = rng.poisson(exposure * np.exp(X[:, 0])).astype(float)
    offset = np.log(exposure)
    settings = {"oob_score": True, "preset": "paper", "random_state": 0, "loss": loss}
    forest = BoostForestRegressor(30, **settings).fit(X, y, sample_weight=rng.uniform(1, 2, 300), offset=offset)
    low, high = forest.predict_quantiles(X, [0.05, 0.95], offset=offset).T
    assert ((low <= y) & (y <= high)).mean() > 0.8
    assert loss != "poisson" or (low >= 0).all()
    moved = forest.predict_quantiles(X, 0.5, offset=offset + 1)
    assert (moved > forest.predict_quantiles(X, 0.5, offset=offset)).all()


def test_exact_fits_have_distributions_without_width():
    X = np.arange(60.0)[:, None]
    forest = BoostForestRegressor(20, oob_score=True, preset="paper", random_state=0).fit(X, np.full(60, 3.0))
    assert_allclose(forest.predict_quantiles(X[:3], [0.1, 0.9]), 3)
    assert_allclose(forest.predict_interval(X[:3], method="local"), 3)


def test_what_cannot_be_had_is_refused_in_a_sentence():
    X, y = example_data("regression", n=60)
    forest = BoostForestRegressor(20, oob_score=True, preset="paper", random_state=0).fit(X, y)
    for levels in (0, 1.5, [], [0.1, np.nan], [[0.1]], "half", None):
        with pytest.raises(ValueError, match="levels must be a number above 0 and below 1, or a list of such; got"):
            forest.predict_quantiles(X, levels)
    with pytest.raises(ValueError, match=r"method must be None, 'local' or 'jackknife\+'; got 'split'"):
        forest.predict_interval(X, method="split")
    distribution = forest.predict_distribution(X)
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got 0"):
        distribution.sample(0)
    with pytest.raises(ValueError, match=r"y must be a number or have the shape \(60,\)"):
        distribution.crps(y[:3])
    with pytest.raises(AttributeError, match="predict_quantiles needs what the forest has learned out of bag"):
        BoostForestRegressor(5, preset="paper").fit(X, y).predict_quantiles(X, 0.5)


def test_forests_of_older_files_have_intervals_of_one_width_and_say_what_they_lack():
    X, forest = np.zeros((2, 3)), load_model(next(path for path in GOLDEN if path.stem == "v2-stages-regressor"))
    assert_array_equal(forest.predict_interval(X), forest.predict_interval(X, method="jackknife+"))
    with pytest.raises(AttributeError, match=r"predict_distribution needs the leaves .* format 4 and older"):
        forest.predict_distribution(X)
    with pytest.raises(AttributeError, match="predict_interval with method='local' needs the leaves"):
        forest.predict_interval(X, method="local")


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_files_keep_quantiles_distributions_and_local_intervals_to_the_bit(loss, tmp_path):
    X, y = noisy_data(500)
    y, weight = np.round(np.maximum(y, 0)), np.random.default_rng(0).uniform(1, 2, len(y))
    for own in (None, weight):
        forest = BoostForestRegressor(50, loss=loss, random_state=0).fit(X, y, sample_weight=own)
        forest.save_model(tmp_path / "f.bf", dtype="int8")
        loaded = load_model(tmp_path / "f.bf")
        forest._model = replace(forest._model, columns=forest.forest_.astype("int8"))
        assert_array_equal(loaded.predict_interval(X), forest.predict_interval(X))
        expected, found = forest.predict_distribution(X), loaded.predict_distribution(X)
        assert_array_equal(found.values, expected.values)
        assert_array_equal(found.cumulative, expected.cumulative)
        loaded.save_model(tmp_path / "again.bf")
        assert (tmp_path / "again.bf").read_bytes() == (tmp_path / "f.bf").read_bytes()


def test_files_are_little_larger_for_it(tmp_path):
    X, y = noisy_data(2500)
    forest = BoostForestRegressor(random_state=0).fit(X, y)
    forest.save_model(tmp_path / "with.bf")
    left_out = forest._model.known.left_out
    assert left_out.local.leaves.shape == (2000, MOST_TREES)
    known = replace(forest._model.known, left_out=replace(left_out, local=None))
    forest._model = replace(forest._model, known=known)
    forest.save_model(tmp_path / "without.bf")
    more = (tmp_path / "with.bf").stat().st_size - (tmp_path / "without.bf").stat().st_size
    assert more < left_out.residuals.size * MOST_TREES * 1.3  # 10 bits for each leaf


def test_leaves_are_those_of_trees_from_the_whole_first_stage_and_then_from_others():
    assert_array_equal(Stages((4, 10), (1.0, 0.5)).spread(3), [0, 1, 3])
    assert_array_equal(Stages((4, 10), (1.0, 0.5)).spread(6), [0, 1, 2, 3, 4, 9])
    assert_array_equal(Stages((4,)).spread(9), [0, 1, 2, 3])


def test_rows_of_similar_scales_have_a_limit_of_their_own():
    """Scales that say nothing of the errors, here in the middle, must not decide what intervals hold."""
    rng = np.random.default_rng(0)
    place = rng.uniform(size=2000)
    leaves = np.floor(20 * place[:, None] + rng.uniform(size=(2000, 8))).astype(int)
    local = LocalErrors((1 + 5 * place**4) * rng.normal(size=2000), leaves, np.arange(8))
    held = np.abs(local.residuals) <= local.half_widths(leaves, 0.9)
    by_scale = [held[part].mean() for part in np.array_split(np.argsort(local.scales(leaves)), 5)]
    assert_allclose(by_scale, 0.9, atol=0.03)
    assert len(local._limits(0.9)[0]) == 5 and len(local._limits(0.99)[0]) == 1  # 20 rows outside


def test_weights_that_say_little_make_fewer_parts_but_no_infinite_intervals():
    rng = np.random.default_rng(0)
    leaves, residuals = rng.integers(0, 4, (900, 5)), rng.normal(size=900)
    weight = np.ones(900)
    weight[np.argmax(np.abs(residuals))] = 25.0
    local = LocalErrors(residuals * (1 + leaves[:, 0]), leaves, np.arange(5), weight)
    assert np.isfinite(local.half_widths(leaves, 0.95)).all()
