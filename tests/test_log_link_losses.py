"""The losses with a log link, which a power tells apart: against generalised linear models, the slow twin, and more.

The power is that of the mean with which the variance goes: 1 Poisson, 2 gamma, between them Tweedie.
"""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge, TweedieRegressor
from sklearn.metrics import mean_poisson_deviance, mean_tweedie_deviance

import twin
from boostforest import BoostForestRegressor, BoostTreeRegressor, _core, export_text
from boostforest._losses import Gamma, Huber, OutOfBag, Poisson, Tweedie
from model_files import with_metadata
from models import assert_refused
from test_against_twin import bootstrap_sample, compare
from twin import example_data

POWERS = [1.0, 1.2, 1.5, 1.9, 2.0]
POISSON = partial(BoostForestRegressor, loss="poisson", preset="paper", random_state=0)


def loss_of(power):
    """Return the code of a loss in the core, its numbers there, and the loss in Python."""
    if power == 1:
        return _core.LossCode.POISSON, [2.5], Poisson(information=2.5)
    if power == 2:
        return _core.LossCode.GAMMA, [2.5], Gamma(information=2.5)
    return _core.LossCode.TWEEDIE, [2.5, power], Tweedie(information=2.5, power=power)


def settings_of(power):
    return {1.0: {"loss": "poisson"}, 2.0: {"loss": "gamma"}}.get(power, {"loss": "tweedie", "power": power})


def forest_of(power, n_estimators, **settings):
    return BoostForestRegressor(
        n_estimators, **({"preset": "paper", "random_state": 0} | settings_of(power) | settings)
    )


def table(power=1.0, n=300, seed=0, level=0.3):
    """Return a table, and counts or amounts that an exponential of a linear model and a step explain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    mean = np.exp(level + X @ [0.6, -0.4, 0.2, 0.0] + 0.5 * (X[:, 3] > 0))
    if power == 1:
        return X, rng.poisson(mean).astype(float)
    y = mean * rng.gamma(2.0, 0.5, size=n)
    return X, y if power == 2 else np.where(rng.random(n) < 0.3, 0.0, y)


# ----------------------------------------------------------------------------------------------------------- the losses


def loss_problem(power, n):
    """Return scores, of which some are far off for counts, targets and weights."""
    rng = np.random.default_rng(1)
    scores, y = rng.normal(scale=2, size=(1, n)), table(power, n)[1]
    scores[0, : 4 if power == 1 else 0] = np.array([0.0, 30.0, -30.0, -200.0])[: n if power == 1 else 0]
    return scores, y, rng.uniform(0.1, 3.0, size=n)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 19, 600])
@pytest.mark.parametrize("power", POWERS)
def test_deviance_equals_scikit_learns(power, n):
    scores, y, w = loss_problem(power, n)
    code, numbers, loss = loss_of(power)
    expected = w.sum() * mean_tweedie_deviance(y, np.exp(scores[0]), sample_weight=w, power=power)
    assert_allclose(_core.loss(code, 0, scores, y, w, numbers)[0], expected, rtol=1e-11)
    assert_allclose(w @ loss.losses(y, scores.T), expected, rtol=1e-11)


@pytest.mark.parametrize("power", POWERS)
def test_derivatives_are_the_numeric_one_and_the_expected_one(power):
    y = table(power, 20)[1]
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
    if power == 1:  # it is that of any counts
        above, below = (_core.loss(code, 0, scores + sign * step, y, ones, numbers)[1] for sign in (1, -1))
        assert_allclose(h, (above - below) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("power", POWERS)
def test_pseudo_labels_equal_the_twins(power):
    scores, y, _ = loss_problem(power, 20)
    code, numbers, _ = loss_of(power)
    found = _core.loss(code, 0, scores, y, np.ones(20), numbers)[3:]
    expected = twin.pseudo_labels(y, scores.T, np.ones(20), twin.Params("counts", information=2.5, power=power))
    assert_allclose(found, np.array(expected)[:, :, 0], rtol=1e-9)


@pytest.mark.parametrize("power", POWERS)
def test_loss_of_infinitely_many_trees_is_estimated_without_bias(power):
    n, trees, loss = 4000, 20, loss_of(power)[2]
    outputs = np.exp(np.random.default_rng(0).normal(scale=0.2, size=(n, trees)))
    total, squares = (a.sum(axis=1, keepdims=True) for a in (outputs, outputs**2))
    oob = OutOfBag(total, squares, np.full((n, 1), float(trees)))
    y = np.full(n, np.exp(0.02))
    many, few = loss.losses(y, np.full((n, 1), 0.02)).mean(), loss.losses(y, np.log(oob.mean)).mean()
    assert abs(loss.limit_losses(y, oob).mean() - many) < 0.2 * (few - many)


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(power=1.3), Huber()], ids=lambda loss: loss.name)
def test_gradients_that_weigh_boosted_stages_are_numeric_ones(loss):
    rng = np.random.default_rng(0)
    y, scores, step = rng.gamma(2, size=30), rng.normal(size=(30, 1)), 1e-6
    above, below = (loss.losses(y, scores + sign * step) for sign in (1, -1))
    assert_allclose(loss.gradient(y, scores)[:, 0], (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


def test_a_tree_of_one_node_that_fits_its_mean_steps_to_the_logarithm_of_it():
    X, y = np.zeros((40, 1)), np.repeat([0.0, 3.0], 20)
    y[0] = 17.0
    tree = BoostTreeRegressor(loss="poisson", node_model="constant", min_samples_leaf=100, clip=False)
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        tree.fit(X, y)
    assert_allclose(tree.predict(X), y.mean(), rtol=1e-12)


# ----------------------------------------------------------------------- against generalised linear models and the twin


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg_lambda", [0.0, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_of_depth_0_is_the_generalised_linear_model(power, reg_lambda, weighted):
    X, y = table(power)
    w = np.random.default_rng(1).integers(1, 4, size=len(y)) if weighted else np.ones(len(y))
    settings = {"min_samples_leaf": 1000, "reg_lambda": reg_lambda, "clip": False, "scale": False}
    forest = forest_of(power, 1, bootstrap=False, **settings).fit(X, y, sample_weight=w)
    model = TweedieRegressor(power=power, link="log", alpha=reg_lambda / w.sum(), solver="newton-cholesky", tol=1e-12)
    model.set_params(max_iter=1000).fit(X, y, sample_weight=w)
    assert_allclose(forest.predict(X), model.predict(X), rtol=1e-6)
    nodes = forest.to_dataframe()
    assert_allclose(nodes["intercept"][0], model.intercept_, atol=1e-6)
    assert_allclose(nodes.filter(like="slope").iloc[0], model.coef_, atol=1e-6)


def compare_counts(make, X, y, settings, power=1.0, weight=None, sample=None):
    """Compare with the twin, which has the target in units of its mean."""
    mean = np.average(y, weights=weight)
    if sample is None:
        sample = lambda _: (X, y / mean, np.ones(len(X)) if weight is None else weight)  # noqa: E731
    settings = {"information": mean ** (2 - power), "power": power} | settings
    return compare(partial(WithoutPower, make), X, y, "counts", settings, weight, sample)


class WithoutPower:
    """An estimator that is not told the twin's power, which its own argument, for Tweedie, cannot always be."""

    def __init__(self, make, **given):
        self.make, self.given = make, given

    def get_params(self):
        return {name: value for name, value in self.make().get_params().items() if name != "power"}

    def fit(self, *data, **more):
        return self.make(**self.given).fit(*data, **more)


def tree_of(power):
    return partial(BoostTreeRegressor, **settings_of(power))


@pytest.mark.parametrize(
    "setting",
    [{}, {"clip": False}, {"node_model": "constant"}, {"n_cuts": 3, "max_features": 2}, {"max_leaf_nodes": 5},
     {"batch_size": 45}, {"criterion": "mse"}, {"monotonic_cst": [1, 0, 0, -1]},
     {"monotonic_cst": [1, 0, 0, -1], "clip": False}, {"node_model": "elm"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_tree_equals_twin(power, setting):
    X, y = example_data("counts")
    _, roots, _ = compare_counts(tree_of(power), X, y + 0.5 * (power == 2), setting, power)
    assert len(twin.nodes_by_path(roots[0])) >= 5


def test_tree_of_missing_values_equals_twin():
    X, y = example_data("counts")
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    compare_counts(tree_of(1.0), X, y, {})


def test_weighted_tree_equals_twin():
    X, y = example_data("counts")
    weight = np.random.default_rng(2).integers(1, 4, size=len(y)).astype(float)
    compare_counts(tree_of(1.0), X, y, {}, weight=weight)


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
@pytest.mark.filterwarnings("ignore:min_samples_leaf=31 needs")
def test_root_that_cannot_split_equals_twin(node_model):
    X, y = example_data("counts", n=60)
    _, roots, _ = compare_counts(tree_of(1.0), X, y, {"min_samples_leaf": 31, "node_model": node_model})
    assert roots[0].left is None


def test_bootstrap_forest_equals_twin():
    X, y = example_data("counts")
    make = partial(BoostForestRegressor, 3, loss="poisson", preset="paper")
    compare_counts(make, X, y, {}, sample=bootstrap_sample(X, y / y.mean(), len(X)))


def test_trees_grown_in_python_are_those_of_the_core_but_for_the_length_of_a_step():
    X, y = table(n=150)
    settings = {"loss": "poisson", "reg_lambda": 0.5, "max_depth": 2, "random_state": 0}
    core = BoostTreeRegressor(**settings).fit(X, y)
    python = BoostTreeRegressor(node_model=Ridge(alpha=0.5), **settings).fit(X, y)
    assert_array_equal(core.forest_.feature[:1], python.forest_.feature[:1])
    assert_array_equal(core.forest_.threshold[:1], python.forest_.threshold[:1])
    assert_allclose(core.forest_.lower[1:3], python.forest_.lower[1:3])
    assert python.predict(X).min() > 0
    assert mean_poisson_deviance(y, python.predict(X)) < 0.8 * mean_poisson_deviance(y, np.full(len(y), y.mean()))


# -------------------------------------------------------------------------------------------------------------- forests


def test_forest_averages_the_means_of_its_trees():
    X, y = table()
    forest = POISSON(10).fit(X, y)
    trees = [forest.get_tree(i) for i in range(10)]
    assert all(tree.loss == "poisson" for tree in trees)
    assert_allclose(forest.predict(X), np.mean([tree.predict(X) for tree in trees], axis=0))
    assert_allclose(list(forest.staged_predict(X))[-1], forest.predict(X))
    assert forest.predict(100 * X).min() > 0


@pytest.mark.parametrize(("level", "factor"), [(0.3, 1.0), (-2.0, 0.9), (3.0, 0.9)], ids=["some", "few", "many"])
def test_deviance_is_below_that_of_histogram_boosting(level, factor):
    X, y = table(n=900, level=level)
    train, test = slice(600), slice(600, None)
    forest = POISSON(60).fit(X[train], y[train])
    other = HistGradientBoostingRegressor(loss="poisson", max_iter=50, random_state=0).fit(X[train], y[train])
    own, others = (mean_poisson_deviance(y[test], model.predict(X[test])) for model in (forest, other))
    assert own < factor * others


@pytest.mark.parametrize("settings", [{}, {"node_model": "elm"}, {"preset": "best"}, {"n_stages": 2}], ids=str)
@pytest.mark.parametrize("power", [1.5, 2.0])
def test_forest_explains_the_amounts(power, settings):
    X, y = table(power, 450)
    p = forest_of(power, 80, **settings).fit(X[:300], y[:300]).predict(X[300:])
    constant = mean_tweedie_deviance(y[300:], np.full(150, y[:300].mean()), power=power)
    assert mean_tweedie_deviance(y[300:], p, power=power) < 0.9 * constant


@pytest.mark.parametrize(("power", "unit"), [(1.0, 1e4), *((power, 1.0) for power in POWERS[1:])])
def test_units_of_the_target_do_not_matter(power, unit):  # of large counts
    X, y = table(power)
    small, large = (forest_of(power, 10).fit(X, factor * unit * y) for factor in (1, 1e3))
    assert_allclose(large.predict(X), 1e3 * small.predict(X))


@pytest.mark.parametrize("node_model", ["ridge", "constant", "elm", "svr"])
def test_predictions_are_positive_and_have_about_the_mean_of_the_target(node_model):
    X, y = table()
    p = POISSON(20, node_model=node_model).fit(X, y).predict(X)
    assert p.min() > 0 and 0.8 < p.mean() / y.mean() < 1.2


def test_stages_and_pools_are_judged_by_the_deviance_out_of_bag():
    X, y = table(level=1.0)
    settings = {"pool": "adaptive", "n_stages": 2, "node_model": "constant", "oob_score": True}
    forest = POISSON(80, **settings).fit(X, y)
    assert forest.n_stages_ == 2 and forest.steps_[1] > 0
    deviance = mean_poisson_deviance(y, forest.oob_prediction_) / y.mean()
    assert_allclose(forest.oob_losses_[-1], deviance, rtol=1e-6)
    assert deviance < mean_poisson_deviance(y, np.full(len(y), y.mean())) / y.mean()
    assert forest.get_tree(-1).target_mean_ == 0.0, "trees of later stages are factors"
    means = [tree.predict(X) for tree in (forest.get_tree(i) for i in range(len(forest.n_leaves_)))]
    first = forest.stages_.ends[0]
    scores = np.log(np.mean(means[:first], axis=0)) + forest.steps_[1] * np.mean(np.log(means[first:]), axis=0)
    assert_allclose(forest.predict(X), np.exp(scores))


@pytest.mark.parametrize("settings", [{}, {"n_stages": 2}], ids=str)
def test_intervals_hold_the_counts_and_do_not_fall_below_0(settings):
    X, y = table(n=600, level=1.0)
    forest = POISSON(60, oob_score=True, **settings).fit(X[:400], y[:400])
    ends = forest.predict_interval(X[400:], coverage=0.9)
    assert ends.min() >= 0
    assert 0.8 < ((ends[:, 0] <= y[400:]) & (y[400:] <= ends[:, 1])).mean() < 0.99


def test_boosted_stages_join_where_they_lower_the_deviance():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 5))
    y = rng.poisson(np.exp(3.0 * (X[:, 0] > 0.5) * (X[:, 1] > 0.5) + (X[:, 2] > 0.3) * (X[:, 3] < 0.6))).astype(float)
    settings = {"preset": "best", "node_model": "ridge", "min_samples_leaf": 30, "n_stages": 1}
    plain, boosted = (POISSON(80, boost=boost, **settings).fit(X[:400], y[:400]) for boost in (False, True))
    assert boosted.n_stages_ > 1
    assert boosted.oob_losses_[-1] < plain.oob_losses_[-1]
    own, other = (mean_poisson_deviance(y[400:], forest.predict(X[400:])) for forest in (boosted, plain))
    assert own < other
    ends = boosted.predict_interval(X[400:], 0.9)
    assert 0.82 < np.mean((ends[:, 0] <= y[400:]) & (y[400:] <= ends[:, 1])) < 0.97


# ----------------------------------------------------------------------------------------------------------- inspection


def test_words_of_a_tree_are_on_the_log_scale_with_the_deviance_in_the_users_units():
    X, y = table(2.0)
    tree = BoostTreeRegressor(loss="gamma", max_leaf_nodes=2, random_state=0).fit(X, 100 * y)
    leaves = tree.apply(X)
    deviances = [mean_tweedie_deviance(100 * y[leaves == i], tree.predict(X)[leaves == i], power=2) for i in (1, 2)]
    text = export_text(tree)
    assert all(f"deviance {deviance:.4g}" in text for deviance in deviances)
    text = export_text(BoostTreeRegressor(loss="poisson", max_leaf_nodes=2, random_state=0).fit(*table()))
    assert "deviance" in text and "log(y) = " in text and "RMSE" not in text


def test_coefficients_give_the_logarithm_of_the_prediction():
    X, y = table()
    tree = BoostTreeRegressor(loss="poisson", max_leaf_nodes=3, clip=False, random_state=0).fit(X, y)
    nodes = tree.to_dataframe().set_index("node").loc[tree.apply(X)]
    slopes = nodes.filter(like="slope_").to_numpy()
    assert_allclose(np.exp(nodes["intercept"].to_numpy() + (slopes * X).sum(axis=1)), tree.predict(X))
    assert_allclose(np.log(tree.predict(X)).std(), tree.slope_importances_ @ tree.slope_importances_, rtol=2)


# ---------------------------------------------------------------- bad input; what all losses share is in test_losses.py


@pytest.mark.parametrize(
    ("loss", "told", "says"),
    [
        ("poisson", {"gibbs": {}}, "unknown loss 'gibbs'; known are 'squared_error', "),
        ("poisson", {"poisson": {}}, "keeps the numbers"),
        ("poisson", {"poisson": {"information": 0.0}}, "must be floats above 0"),
        ("poisson", {"poisson": {"information": "1"}}, "must be floats above 0"),
        ("poisson", '"poisson"', "must be null, or an object"),
        ("poisson", {}, "must be null, or an object"),
        ("tweedie", {"tweedie": {"information": 1.0}}, "keeps the numbers"),
    ],
    ids=str,
)
def test_file_with_another_loss_is_refused(tmp_path, refuses_file, loss, told, says):
    BoostTreeRegressor(loss=loss, random_state=0).fit(*table(n=60)).save_model(tmp_path / "model")
    refuses_file(with_metadata((tmp_path / "model").read_bytes(), loss=told), says)


@pytest.mark.parametrize(
    ("settings", "y", "says"),
    [
        ({"loss": "poisson"}, [1.0, -2.0, 3.0], "y must not be negative for loss='poisson'; got -2."),
        ({"loss": "poisson"}, [0.0, 0.0, 0.0], "y must not be zero everywhere for loss='poisson'"),
        ({"loss": "gamma"}, [1.0, 0.0, 2.0], "y must be above 0 for loss='gamma'; got 0."),
        ({"loss": "tweedie"}, [1.0, -1.0, 2.0], "y must not be negative for loss='tweedie'; got -1."),
        ({"loss": "tweedie"}, [0.0, 0.0, 0.0], "y must not be zero everywhere for loss='tweedie'"),
        ({"loss": "tweedie", "power": 2}, [1.0, 2.0, 3.0], "power must be a number above 1 and below 2; got 2."),
        ({"loss": "tweedie", "power": None}, [1.0, 2.0, 3.0], "power must be a number above 1 and below 2; got None."),
    ],
    ids=str,
)
def test_bad_input_is_refused_and_the_fitted_model_stays(settings, y, says):
    make = partial(BoostTreeRegressor, loss="poisson", random_state=0)
    assert_refused(make, *table(n=60), says, settings, X=np.eye(3, 4), y=y)


@pytest.mark.parametrize("loss", ["gibbs", None, 1, ["poisson"]])
def test_unknown_loss_is_refused(loss):
    with pytest.raises(ValueError, match="loss must be one of 'squared_error', "):
        BoostTreeRegressor(loss=loss).fit(*table(n=60))
