"""The Poisson loss: against scikit-learn's generalised linear model, the slow twin, and numbers that are known."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.metrics import mean_poisson_deviance

import twin
from boostforest import BoostForestRegressor, BoostTreeRegressor, _core, export_text, load_model
from boostforest._losses import Gamma, Huber, OutOfBag, Poisson, Tweedie
from model_files import with_metadata
from test_against_twin import assert_same, bootstrap_sample, fit_pair
from twin import example_data

TREE = partial(BoostTreeRegressor, loss="poisson")
FOREST = partial(BoostForestRegressor, loss="poisson", preset="paper")
CODE = _core.LossCode.POISSON


def counts(n=300, seed=0, level=0.3):
    """Return a table and counts that an exponential of a linear model and a step explain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, rng.poisson(np.exp(level + X @ [0.6, -0.4, 0.2, 0.0] + 0.5 * (X[:, 3] > 0))).astype(float)


# ------------------------------------------------------------------------------
# The loss.


def loss_problem(n=19):
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=2, size=(1, n))
    scores[0, :4] = 0.0, 30.0, -30.0, -200.0
    return scores, rng.poisson(1.0, size=n).astype(float), rng.uniform(0.1, 3.0, size=n)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 19, 600])
def test_deviance_equals_scikit_learns(n):
    scores, y, w = (np.ascontiguousarray(a[..., -n:]) for a in loss_problem(max(n, 19)))
    value = _core.loss(CODE, 0, scores, y, w, [2.5])[0]
    assert_allclose(value, w.sum() * mean_poisson_deviance(y, np.exp(scores[0]), sample_weight=w), rtol=1e-12)
    assert_allclose(value, w @ Poisson().losses(y, scores.T), rtol=1e-12)


def test_derivatives_equal_numeric_ones():
    scores, y, _ = loss_problem()
    scores, step, ones = scores.clip(-3, 3), 1e-5, np.ones(len(y))
    g, h = _core.loss(CODE, 0, scores, y, ones, [2.5])[1:3]
    for i in range(len(y)):
        below, above = (_core.loss(CODE, 0, scores + sign * step * (ones.cumsum() == i + 1), y, ones, [2.5])
                        for sign in (-1, 1))  # fmt: skip
        assert_allclose(g[i], 2.5 / 2 * (above[0] - below[0]) / (2 * step), rtol=1e-4, atol=1e-7)
        assert_allclose(h[i], (above[1] - below[1])[i] / (2 * step), rtol=1e-6, atol=1e-8)
    assert_allclose(Poisson().curvature(scores.T)[:, 0], 2 * h / 2.5)


def test_pseudo_labels_equal_the_twins():
    scores, y, _ = loss_problem()
    params = twin.Params("counts", information=2.5)
    z, v = _core.loss(CODE, 0, scores, y, np.ones(len(y)), [2.5])[3:]
    expected = twin.pseudo_labels(y, scores.T, np.ones(len(y)), params)
    assert_allclose(z, expected[0][:, 0], rtol=1e-9)
    assert_allclose(v, expected[1][:, 0], rtol=1e-9)


def test_a_tree_of_one_node_that_fits_its_mean_steps_to_the_logarithm_of_it():
    X, y = np.zeros((40, 1)), np.repeat([0.0, 3.0], 20)
    y[0] = 17.0
    tree = TREE(node_model="constant", min_samples_leaf=100, clip=False)
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        tree.fit(X, y)
    assert_allclose(tree.predict(X), y.mean(), rtol=1e-12)


def test_loss_of_infinitely_many_trees_is_estimated_without_bias():
    rng = np.random.default_rng(0)
    n, trees = 4000, 20
    y = np.ones(n)
    outputs = np.exp(rng.normal(scale=0.3, size=(n, trees)))
    oob = OutOfBag(
        outputs.sum(axis=1, keepdims=True), (outputs**2).sum(axis=1, keepdims=True), np.full((n, 1), float(trees))
    )
    many = Poisson().losses(y, np.full((n, 1), 0.3**2 / 2)).mean()
    few = Poisson().losses(y, np.log(oob.mean)).mean()
    assert abs(Poisson().limit_losses(y, oob).mean() - many) < 0.2 * (few - many)


# ------------------------------------------------------------------------------
# Against the generalised linear model.


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg_lambda", [0.0, 0.1, 10.0])
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_of_depth_0_is_the_generalised_linear_model(reg_lambda, weighted):
    X, y = counts()
    w = np.random.default_rng(1).integers(1, 4, size=len(y)) if weighted else None
    total = len(y) if w is None else w.sum()
    forest = FOREST(1, bootstrap=False, min_samples_leaf=1000, reg_lambda=reg_lambda, clip=False, scale=False)
    forest.fit(X, y, sample_weight=w)
    model = PoissonRegressor(alpha=reg_lambda / total, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(X, y, sample_weight=w)
    assert_allclose(forest.predict(X), model.predict(X), rtol=1e-6)
    table = forest.to_dataframe()
    assert_allclose(table["intercept"][0], model.intercept_, atol=1e-6)
    assert_allclose(table.filter(like="slope").iloc[0], model.coef_, atol=1e-6)


# ------------------------------------------------------------------------------
# Against the twin.


def twin_pair(make, X, y, settings, sample=None, weight=None):
    mean = np.average(y, weights=weight)
    if sample is None:
        sample = lambda _: (X, y / mean, np.ones(len(X)) if weight is None else weight)  # noqa: E731
    return fit_pair(make, X, y, "counts", {"information": mean} | settings, weight, sample)


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"clip": False},
        {"node_model": "constant"},
        {"n_cuts": 3, "max_features": 2},
        {"max_leaf_nodes": 5},
        {"batch_size": 45},
        {"criterion": "mse"},
        {"monotonic_cst": [1, 0, 0, -1]},
        {"monotonic_cst": [1, 0, 0, -1], "clip": False},
    ],
    ids=str,
)
def test_tree_equals_twin(setting):
    X, y = example_data("counts")
    est, roots, params = twin_pair(TREE, X, y, setting)
    assert len(twin.nodes_by_path(roots[0])) >= 5
    assert_same(est, roots, params, X)


def test_tree_of_missing_values_equals_twin():
    X, y = example_data("counts")
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    est, roots, params = twin_pair(TREE, X, y, {})
    assert_same(est, roots, params, np.nan_to_num(X))


def test_tree_of_hidden_units_equals_twin():
    X, y = example_data("counts")
    est, roots, params = twin_pair(TREE, X, y, {"node_model": "elm"})
    assert_same(est, roots, params, X)


def test_weighted_tree_equals_twin():
    X, y = example_data("counts")
    weight = np.random.default_rng(2).integers(1, 4, size=len(y)).astype(float)
    est, roots, params = twin_pair(TREE, X, y, {}, weight=weight)
    assert_same(est, roots, params, X)


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
@pytest.mark.filterwarnings("ignore:min_samples_leaf=31 needs")
def test_root_that_cannot_split_equals_twin(node_model):
    X, y = example_data("counts", n=60)
    est, roots, params = twin_pair(TREE, X, y, {"min_samples_leaf": 31, "node_model": node_model})
    assert roots[0].left is None
    assert_same(est, roots, params, X)


def test_bootstrap_forest_equals_twin():
    X, y = example_data("counts")
    sample = bootstrap_sample(X, y / y.mean(), len(X))
    est, roots, params = twin_pair(partial(FOREST, 3), X, y, {}, sample)
    assert_same(est, roots, params, X)


def test_trees_grown_in_python_are_those_of_the_core_but_for_the_length_of_a_step():
    X, y = counts(150)
    settings = {"loss": "poisson", "reg_lambda": 0.5, "max_depth": 2, "random_state": 0}
    core = BoostTreeRegressor(**settings).fit(X, y)
    python = BoostTreeRegressor(node_model=Ridge(alpha=0.5), **settings).fit(X, y)
    assert_array_equal(core.forest_.feature[:1], python.forest_.feature[:1])
    assert_array_equal(core.forest_.threshold[:1], python.forest_.threshold[:1])
    assert_allclose(core.forest_.lower[1:3], python.forest_.lower[1:3])
    assert python.predict(X).min() > 0
    assert mean_poisson_deviance(y, python.predict(X)) < 0.8 * mean_poisson_deviance(y, np.full(len(y), y.mean()))


# ------------------------------------------------------------------------------
# Forests.


def test_forest_averages_the_means_of_its_trees():
    X, y = counts()
    forest = FOREST(10, random_state=0).fit(X, y)
    trees = [forest.get_tree(i) for i in range(10)]
    assert all(tree.loss == "poisson" for tree in trees)
    assert_allclose(forest.predict(X), np.mean([tree.predict(X) for tree in trees], axis=0))
    assert_allclose(list(forest.staged_predict(X))[-1], forest.predict(X))
    assert forest.predict(100 * X).min() > 0


@pytest.mark.parametrize(("level", "factor"), [(0.3, 1.0), (-2.0, 0.9), (3.0, 0.9)], ids=["some", "few", "many"])
def test_deviance_is_below_that_of_histogram_boosting(level, factor):
    X, y = counts(900, level=level)
    train, test = slice(600), slice(600, None)
    forest = FOREST(60, random_state=0).fit(X[train], y[train])
    other = HistGradientBoostingRegressor(loss="poisson", max_iter=50, random_state=0).fit(X[train], y[train])
    own, others = (mean_poisson_deviance(y[test], model.predict(X[test])) for model in (forest, other))
    assert own < factor * others


def test_units_of_large_targets_do_not_matter():
    X, y = counts()
    small = FOREST(10, random_state=0).fit(X, 1e4 * y)
    large = FOREST(10, random_state=0).fit(X, 1e7 * y)
    assert_allclose(large.predict(X), 1e3 * small.predict(X))


@pytest.mark.parametrize("node_model", ["ridge", "constant", "elm", "svr"])
def test_predictions_are_positive_and_have_about_the_mean_of_the_target(node_model):
    X, y = counts()
    p = FOREST(20, node_model=node_model, random_state=0).fit(X, y).predict(X)
    assert p.min() > 0 and 0.8 < p.mean() / y.mean() < 1.2


def test_weights_are_as_good_as_repeated_rows():
    X, y = counts(120)
    w = np.random.default_rng(0).integers(1, 4, size=len(y))
    settings = {"bootstrap": False, "batch_size": None, "random_state": 0}
    weighted = FOREST(5, **settings).fit(X, y, sample_weight=w)
    repeated = FOREST(5, **settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_stages_and_pools_are_judged_by_the_deviance_out_of_bag():
    X, y = counts(300, level=1.0)
    settings = {"pool": "adaptive", "n_stages": 2, "node_model": "constant", "oob_score": True}
    forest = FOREST(80, **settings, random_state=0).fit(X, y)
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
    X, y = counts(600, level=1.0)
    forest = FOREST(60, oob_score=True, random_state=0, **settings).fit(X[:400], y[:400])
    ends = forest.predict_interval(X[400:], coverage=0.9)
    assert ends.min() >= 0
    assert 0.8 < ((ends[:, 0] <= y[400:]) & (y[400:] <= ends[:, 1])).mean() < 0.99


def test_warm_start_goes_on_with_the_loss():
    X, y = counts(100)
    forest = FOREST(3, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=5).fit(X, y)
    assert_array_equal(forest.predict(X), FOREST(5, random_state=0).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="goes on with the loss of the first fit, 'poisson'; got 'squared_error'"):
        forest.set_params(n_estimators=7, loss="squared_error").fit(X, y)


# ------------------------------------------------------------------------------
# Inspection.


def test_words_of_a_tree_are_on_the_log_scale():
    X, y = counts()
    text = export_text(TREE(max_leaf_nodes=2, random_state=0).fit(X, y))
    assert "deviance" in text and "log(y) = " in text and "RMSE" not in text


def test_coefficients_give_the_logarithm_of_the_prediction():
    X, y = counts()
    tree = TREE(max_leaf_nodes=3, clip=False, random_state=0).fit(X, y)
    table = tree.to_dataframe().set_index("node").loc[tree.apply(X)]
    slopes = table.filter(like="slope_").to_numpy()
    assert_allclose(np.exp(table["intercept"].to_numpy() + (slopes * X).sum(axis=1)), tree.predict(X))
    assert_allclose(np.log(tree.predict(X)).std(), tree.slope_importances_ @ tree.slope_importances_, rtol=2)


# ------------------------------------------------------------------------------
# Files and bad input.


@pytest.mark.parametrize("settings", [{}, {"oob_score": True}, {"n_stages": 2}, {"dtype": "float32"}], ids=str)
def test_file_keeps_the_loss(tmp_path, settings):
    X, y = counts()
    forest = FOREST(40, random_state=0, **settings).fit(X, y)
    forest.save_model(tmp_path / "a")
    loaded = load_model(tmp_path / "a")
    assert loaded.loss == "poisson" and loaded._model.loss == forest._model.loss
    assert_array_equal(loaded.predict(X), forest.predict(X))
    loaded.save_model(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        ({"gibbs": {}}, "unknown loss 'gibbs'; known are 'squared_error', "),
        ({"poisson": {}}, "keeps the numbers"),
        ({"poisson": {"information": 0.0}}, "must be floats above 0"),
        ({"poisson": {"information": "1"}}, "must be floats above 0"),
        ('"poisson"', "must be null, or an object"),
        ({}, "must be null, or an object"),
    ],
    ids=str,
)
def test_file_with_another_loss_is_refused(tmp_path, loss, says):
    X, y = counts(60)
    TREE(random_state=0).fit(X, y).save_model(tmp_path / "model")
    content = with_metadata((tmp_path / "model").read_bytes(), loss=loss)
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match=says):
        load_model(tmp_path / "other")


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([1.0, -2.0, 3.0], "y must not be negative for loss='poisson'; got -2."),
        ([0.0, 0.0, 0.0], "y must not be zero everywhere for loss='poisson'"),
    ],
)
def test_target_that_has_no_logarithm_is_refused(y, says):
    forest = FOREST(5, random_state=0).fit(*counts(60))
    before = forest.predict(np.zeros((1, 4)))
    with pytest.raises(ValueError, match=says):
        forest.fit(np.eye(3, 4), y)
    assert_array_equal(forest.predict(np.zeros((1, 4))), before)


def test_boosted_stages_join_where_they_lower_the_deviance():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 5))
    y = rng.poisson(np.exp(3.0 * (X[:, 0] > 0.5) * (X[:, 1] > 0.5) + (X[:, 2] > 0.3) * (X[:, 3] < 0.6))).astype(float)
    settings = {"preset": "best", "random_state": 0, "node_model": "ridge", "min_samples_leaf": 30, "n_stages": 1}
    plain, boosted = (FOREST(80, boost=boost, **settings).fit(X[:400], y[:400]) for boost in (False, True))
    assert boosted.n_stages_ > 1
    assert boosted.oob_losses_[-1] < plain.oob_losses_[-1]
    own, other = (mean_poisson_deviance(y[400:], forest.predict(X[400:])) for forest in (boosted, plain))
    assert own < other
    ends = boosted.predict_interval(X[400:], 0.9)
    assert 0.82 < np.mean((ends[:, 0] <= y[400:]) & (y[400:] <= ends[:, 1])) < 0.97


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(power=1.3), Huber()], ids=lambda loss: loss.name)
def test_gradients_that_weigh_boosted_stages_are_numeric_ones(loss):
    rng = np.random.default_rng(0)
    y, scores, step = rng.gamma(2, size=30), rng.normal(size=(30, 1)), 1e-6
    above, below = (loss.losses(y, scores + sign * step) for sign in (1, -1))
    assert_allclose(loss.gradient(y, scores)[:, 0], (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["gibbs", None, 1, ["poisson"]])
def test_unknown_loss_is_refused(loss):
    with pytest.raises(ValueError, match="loss must be one of 'squared_error', "):
        BoostTreeRegressor(loss=loss).fit(*counts(60))
