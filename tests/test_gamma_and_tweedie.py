"""The gamma and Tweedie losses: against scikit-learn's generalised linear models and the slow twin.

What they share with the Poisson loss is tested there.
"""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance

import twin
from boostforest import BoostForestRegressor, BoostTreeRegressor, _core, export_text, load_model
from boostforest._losses import Gamma, OutOfBag, Tweedie
from model_files import with_metadata
from test_against_twin import assert_same, fit_pair
from twin import example_data

POWERS = [1.2, 1.5, 1.9, 2.0]


def loss_of(power):
    """Return the code of a loss in the core, its numbers there, and the loss in Python."""
    if power == 2:
        return _core.LossCode.GAMMA, [2.5], Gamma(information=2.5)
    return _core.LossCode.TWEEDIE, [2.5, power], Tweedie(information=2.5, power=power)


def settings_of(power):
    return {"loss": "gamma"} if power == 2 else {"loss": "tweedie", "power": power}


def amounts(power, n=300, seed=0):
    """Return a table and amounts above 0, with zeros between them where the loss allows it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.exp(0.3 + X @ [0.6, -0.4, 0.2, 0.0] + 0.5 * (X[:, 3] > 0)) * rng.gamma(2.0, 0.5, size=n)
    return X, y if power == 2 else np.where(rng.random(n) < 0.3, 0.0, y)


# ------------------------------------------------------------------------------
# The losses.


@pytest.mark.parametrize("n", [1, 9, 600])
@pytest.mark.parametrize("power", POWERS)
def test_deviance_equals_scikit_learns(power, n):
    y = amounts(power, n)[1]
    rng = np.random.default_rng(1)
    scores, w = rng.normal(scale=2, size=(1, n)), rng.uniform(0.1, 3, size=n)
    code, numbers, loss = loss_of(power)
    expected = w.sum() * mean_tweedie_deviance(y, np.exp(scores[0]), sample_weight=w, power=power)
    assert_allclose(_core.loss(code, 0, scores, y, w, numbers)[0], expected, rtol=1e-11)
    assert_allclose(w @ loss.losses(y, scores.T), expected, rtol=1e-11)


@pytest.mark.parametrize("power", POWERS)
def test_derivatives_are_the_numeric_one_and_the_expected_one(power):
    y = amounts(power, 20)[1]
    scores, ones, step = np.random.default_rng(1).normal(size=(1, 20)), np.ones(20), 1e-5
    code, numbers, loss = loss_of(power)
    g, h = _core.loss(code, 0, scores, y, ones, numbers)[1:3]
    above, below = (loss.losses(y, scores.T + sign * step) for sign in (1, -1))
    assert_allclose(g, 2.5 / 2 * (above - below) / (2 * step), rtol=1e-4, atol=1e-7)
    # At the mean of y the derivative is 0, and the second one is what it is expected to be everywhere.
    at_mean = np.exp(scores[0])
    after = _core.loss(code, 0, scores + step, at_mean, ones, numbers)[1]
    assert_allclose(h, after / step, rtol=1e-4)
    assert_allclose(loss.curvature(scores.T)[:, 0], 2 * h / 2.5)


@pytest.mark.parametrize("power", POWERS)
def test_pseudo_labels_equal_the_twins(power):
    y = amounts(power, 20)[1]
    scores = np.random.default_rng(1).normal(size=(1, 20))
    code, numbers, _ = loss_of(power)
    z, v = _core.loss(code, 0, scores, y, np.ones(20), numbers)[3:]
    expected = twin.pseudo_labels(y, scores.T, np.ones(20), twin.Params("counts", information=2.5, power=power))
    assert_allclose(z, expected[0][:, 0], rtol=1e-9)
    assert_allclose(v, expected[1][:, 0], rtol=1e-9)


@pytest.mark.parametrize("power", POWERS)
def test_loss_of_infinitely_many_trees_is_estimated_without_bias(power):
    n, trees, loss = 4000, 20, loss_of(power)[2]
    outputs = np.exp(np.random.default_rng(0).normal(scale=0.2, size=(n, trees)))
    total, squares = (a.sum(axis=1, keepdims=True) for a in (outputs, outputs**2))
    oob = OutOfBag(total, squares, np.full((n, 1), float(trees)))
    y = np.full(n, np.exp(0.02))
    many, few = loss.losses(y, np.full((n, 1), 0.02)).mean(), loss.losses(y, np.log(oob.mean)).mean()
    assert abs(loss.limit_losses(y, oob).mean() - many) < 0.2 * (few - many)


# ------------------------------------------------------------------------------
# Against generalised linear models and the twin.


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_of_depth_0_is_the_generalised_linear_model(power, reg_lambda):
    X, y = amounts(power)
    settings = {"min_samples_leaf": 1000, "reg_lambda": reg_lambda, "clip": False, "scale": False}
    forest = BoostForestRegressor(1, bootstrap=False, **({"preset": "paper"} | settings_of(power) | settings)).fit(X, y)
    other = TweedieRegressor(power=power, link="log", alpha=reg_lambda / len(y), solver="newton-cholesky", tol=1e-12)
    other.set_params(max_iter=1000).fit(X, y)
    assert_allclose(forest.predict(X), other.predict(X), rtol=1e-6)


@pytest.mark.parametrize("setting", [{}, {"clip": False}, {"node_model": "constant"}, {"batch_size": 45}], ids=str)
@pytest.mark.parametrize("power", [1.5, 2.0])
def test_tree_equals_twin(power, setting):
    X, y = example_data("counts")
    y = y + 0.5 if power == 2 else y
    mean = y.mean()
    make = partial(BoostTreeRegressor, loss=settings_of(power)["loss"])
    settings = {"information": mean ** (2 - power), "power": power if power < 2 else 1.5} | setting
    if power == 2:  # an argument of the estimator and the twin's power of the gamma loss are not the same
        make = partial(make, power=1.5)
        est, roots, params = fit_gamma(make, X, y, settings)
    else:
        est, roots, params = fit_pair(make, X, y, "counts", settings, None, lambda _: (X, y / mean, np.ones(len(X))))
    assert_same(est, roots, params, X)


def fit_gamma(make, X, y, settings):
    """Fit a pair whose twin has the power 2, which the argument of an estimator cannot be."""

    class Gammas:
        def __init__(self, **given):
            self.given = given

        def get_params(self):
            return {name: value for name, value in make().get_params().items() if name != "power"}

        def fit(self, *data, **more):
            return make(**self.given).fit(*data, **more)

    settings = settings | {"power": 2.0}
    return fit_pair(Gammas, X, y, "counts", settings, None, lambda _: (X, y / y.mean(), np.ones(len(X))))


# ------------------------------------------------------------------------------
# Forests, files and bad input.


@pytest.mark.parametrize("settings", [{}, {"node_model": "elm"}, {"preset": "best"}, {"n_stages": 2}], ids=str)
@pytest.mark.parametrize("power", [1.5, 2.0])
def test_forest_explains_the_amounts_and_comes_back_from_a_file(tmp_path, power, settings):
    X, y = amounts(power, 450)
    train, test = slice(300), slice(300, None)
    forest = BoostForestRegressor(80, **({"preset": "paper"} | settings_of(power) | settings), random_state=0).fit(
        X[train], y[train]
    )
    p = forest.predict(X[test])
    deviance = mean_tweedie_deviance(y[test], p, power=power)
    assert deviance < 0.9 * mean_tweedie_deviance(y[test], np.full(150, y[train].mean()), power=power)
    forest.save_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded._model.loss == forest._model.loss
    assert_array_equal(loaded.predict(X[test]), p)


@pytest.mark.parametrize("power", POWERS)
def test_units_of_the_target_do_not_matter(power):
    X, y = amounts(power)
    small, large = (
        BoostForestRegressor(10, **({"preset": "paper"} | settings_of(power)), random_state=0).fit(X, factor * y)
        for factor in (1, 1e3)
    )
    assert_allclose(large.predict(X), 1e3 * small.predict(X))


def test_words_of_a_tree_have_the_deviance_in_the_users_units():
    X, y = amounts(2.0)
    tree = BoostTreeRegressor(loss="gamma", max_leaf_nodes=2, random_state=0).fit(X, 100 * y)
    leaves = tree.apply(X)
    deviances = [mean_tweedie_deviance(100 * y[leaves == i], tree.predict(X)[leaves == i], power=2) for i in (1, 2)]
    text = export_text(tree)
    assert all(f"deviance {deviance:.4g}" in text for deviance in deviances)


@pytest.mark.parametrize(
    ("settings", "y", "says"),
    [
        ({"loss": "gamma"}, [1.0, 0.0, 2.0], "y must be above 0 for loss='gamma'; got 0."),
        ({"loss": "tweedie"}, [1.0, -1.0, 2.0], "y must not be negative for loss='tweedie'; got -1."),
        ({"loss": "tweedie"}, [0.0, 0.0, 0.0], "y must not be zero everywhere for loss='tweedie'"),
        ({"loss": "tweedie", "power": 2}, [1.0, 2.0, 3.0], "power must be a number above 1 and below 2; got 2."),
        ({"loss": "tweedie", "power": None}, [1.0, 2.0, 3.0], "power must be a number above 1 and below 2; got None."),
    ],
    ids=str,
)
def test_bad_input_is_refused(settings, y, says):
    with pytest.raises(ValueError, match=says):
        BoostTreeRegressor(**settings).fit(np.eye(3), y)


def test_warm_start_goes_on_with_the_power():
    X, y = amounts(1.5, 60)
    forest = BoostForestRegressor(3, loss="tweedie", warm_start=True, random_state=0, preset="paper").fit(X, y)
    with pytest.raises(ValueError, match=r"goes on with the power of the first fit, 1.5; got 1.7"):
        forest.set_params(n_estimators=5, power=1.7).fit(X, y)


def test_file_without_the_power_is_refused(tmp_path):
    BoostTreeRegressor(loss="tweedie", random_state=0).fit(*amounts(1.5, 60)).save_model(tmp_path / "model")
    content = with_metadata((tmp_path / "model").read_bytes(), loss={"tweedie": {"information": 1.0}})
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match="keeps the numbers"):
        load_model(tmp_path / "other")
