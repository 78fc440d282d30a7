"""Offsets: what is known of a row's score before any tree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge, TweedieRegressor
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

from boostforest import (
    BoostForestClassifier,
    BoostForestRegressor,
    BoostTreeClassifier,
    BoostTreeRegressor,
    PoolForestRegressor,
)
from models import paper_regressor

LOSSES = ["squared_error", "huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie"]
LOG = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}


def table(loss, n=400, seed=0):
    """Return a table, a target that knows its offset, and the offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    offset = rng.uniform(-2, 2, size=n)
    score = 0.6 * X[:, 0] - 0.3 * X[:, 1] + 0.4 * (X[:, 2] > 0) + offset
    if loss == "gamma":
        return X, rng.gamma(3, np.exp(score) / 3), offset
    if loss in LOG:
        return X, rng.poisson(np.exp(score)).astype(float), offset
    return X, score + 0.3 * rng.normal(size=n), offset


def classes(n_classes, n=400, seed=0):
    """Return a table, labels and an offset per class, or that of the second of two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    offset = rng.normal(scale=1.5, size=(n, n_classes))
    score = offset + X[:, [0]] * np.arange(n_classes)
    y = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return X, y, offset if n_classes > 2 else offset[:, 1] - offset[:, 0]


# -------------------------------------------------------------------------------------------- generalised linear models


@pytest.mark.parametrize("loss", LOG)
@pytest.mark.parametrize("reg_lambda", [0.0, 3.0])
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_depth_0_is_the_generalised_linear_model_with_an_exposure(loss, reg_lambda):
    X, y, offset = table(loss)
    p, exposure = LOG[loss], np.exp(offset)
    settings = {"min_samples_leaf": 1000, "clip": False, "scale": False, "power": 1.5}
    forest = BoostForestRegressor(1, preset="paper", bootstrap=False, loss=loss, reg_lambda=reg_lambda, **settings).fit(
        X, y, offset=offset
    )
    # A mean in proportion to the exposure is that of the ratio, which counts exposure^(2 - p).
    weight = exposure ** (2 - p)
    model = TweedieRegressor(
        power=p, link="log", alpha=reg_lambda / weight.sum(), solver="newton-cholesky", tol=1e-12, max_iter=1000
    ).fit(X, y / exposure, sample_weight=weight)
    assert_allclose(forest.predict(X, offset=offset), exposure * model.predict(X), rtol=1e-6)
    assert_allclose(forest.predict(X), model.predict(X), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_depth_0_of_squared_error_is_the_ridge_regression_of_the_rest():
    X, y, offset = table("squared_error")
    tree = BoostTreeRegressor(min_samples_leaf=1000, reg_lambda=2.0, scale=False, clip=False).fit(X, y, offset=offset)
    model = Ridge(alpha=2.0).fit(X, y - offset)
    assert_allclose(tree.predict(X, offset), model.predict(X) + offset, atol=1e-9)


# ------------------------------------------------------------------------------------------------- what an offset means


@pytest.mark.parametrize(
    ("loss", "preset"),
    [("squared_error", "paper"), ("squared_error", "best"), ("huber", "paper"), ("quantile", "paper")],
)
def test_an_offset_of_numbers_is_subtracted_from_the_target(loss, preset):
    X, y, offset = table(loss)
    forest = BoostForestRegressor(40, preset=preset, loss=loss, random_state=0, oob_score=True)
    own, rest = clone(forest).fit(X, y, offset=offset), clone(forest).fit(X, y - offset)
    assert_allclose(own.predict(X, offset), rest.predict(X) + offset, atol=1e-6)
    assert_allclose(own.predict(X), rest.predict(X), atol=1e-6)
    assert_allclose(own.oob_prediction_, rest.oob_prediction_ + offset, atol=1e-6)
    assert_allclose(own.predict_interval(X[:5], offset=offset[:5]), rest.predict_interval(X[:5]) + offset[:5, None])


@pytest.mark.parametrize("loss", LOG)
def test_adding_a_constant_to_the_offset_changes_nothing(loss):
    X, y, offset = table(loss)
    forest = paper_regressor(20, loss=loss)
    first, second = clone(forest).fit(X, y, offset=offset), clone(forest).fit(X, y, offset=offset + 1.5)
    changed = second.predict(X, offset + 1.5) / first.predict(X, offset) - 1
    assert np.median(np.abs(changed)) < 1e-6  # rounding may turn a tie
    assert np.abs(changed).max() < 0.1


@pytest.mark.parametrize("loss", LOG)
@pytest.mark.parametrize("preset", ["paper", "best"])
def test_an_offset_of_a_log_link_is_a_factor_and_makes_the_forest_better(loss, preset):
    X, y, offset = table(loss)
    forest = BoostForestRegressor(40, loss=loss, preset=preset, random_state=0, oob_score=True)
    own, without = clone(forest).fit(X, y, offset=offset), clone(forest).fit(X, y)
    assert_allclose(own.predict(X, offset), np.exp(offset) * own.predict(X))
    assert own.oob_score_ > without.oob_score_ + 0.2
    *_, last = own.staged_predict(X[:9], offset[:9])
    assert_allclose(last, own.predict(X[:9], offset[:9]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("preset", ["paper", "best", "fast"])
def test_an_offset_of_classes_makes_the_forest_better(n_classes, preset):
    X, y, offset = classes(n_classes)
    forest = BoostForestClassifier(40, preset=preset, random_state=0, oob_score="neg_log_loss")
    own, without = clone(forest).fit(X, y, offset=offset), clone(forest).fit(X, y)
    assert own.oob_score_ > without.oob_score_ + 0.1
    new, labels, of_new = classes(n_classes, seed=1)
    p, q = own.predict_proba(new, of_new), own.predict_proba(new)
    assert np.log(p[np.arange(400), labels]).mean() > np.log(q[np.arange(400), labels]).mean() + 0.1
    assert_array_equal(own.predict(new, of_new), p.argmax(axis=1))
    assert own.predict_set(new, 0.9, of_new)[np.arange(400), labels].mean() > 0.84


@pytest.mark.parametrize("calibrate", [False, "temperature", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_offset_of_0_is_none(n_classes, calibrate):
    X, y, offset = classes(n_classes)
    forest = BoostForestClassifier(20, calibrate=calibrate, random_state=0)
    own, none = clone(forest).fit(X, y, offset=0 * offset), clone(forest).fit(X, y)
    assert_allclose(own.predict_proba(X, 0 * offset), none.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_adds_the_offset_to_its_scores(n_classes):
    X, y, offset = classes(n_classes)
    tree = BoostTreeClassifier(random_state=0).fit(X, y, offset=offset)
    centred = offset if n_classes == 2 else offset - offset.mean(axis=1, keepdims=True)
    assert_allclose(tree.decision_function(X, offset), tree.decision_function(X) + centred)


@pytest.mark.parametrize("loss", LOSSES)
def test_models_in_python_and_in_the_core_take_the_same_offset(loss):
    X, y, offset = table(loss, n=200)
    settings = {"preset": "paper", "loss": loss, "random_state": 0, "oob_score": True, "min_samples_leaf": 20}
    forest = BoostForestRegressor(10, node_model=DecisionTreeRegressor(max_depth=2), **settings)
    forest.fit(X, y, offset=offset)
    expected = forest.predict(X) * np.exp(offset) if loss in LOG else forest.predict(X) + offset
    assert_allclose(forest.predict(X, offset), expected)
    assert np.corrcoef(forest.oob_prediction_, y)[0, 1] > 0.7


def test_categories_stand_for_rates_and_not_for_exposures():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    city = rng.integers(0, 10, size=2000)
    offset = np.where(city < 5, 3.0, -1.0) + rng.normal(scale=0.1, size=2000)
    y = rng.poisson(0.5 * np.exp(offset)).astype(float)  # the same rate everywhere
    frame = pd.DataFrame({"city": pd.Categorical([f"c{c}" for c in city])})
    tree = BoostTreeRegressor(loss="poisson", random_state=0).fit(frame, y, offset=offset)
    means = tree._model.features.transform(frame, "tree")
    assert means.min() > 0.3 and means.max() < 0.8  # without the offset from 0.18 to 10


# ------------------------------------------------------------------------------------------------------ everything else


def test_files_predict_with_an_offset(reloaded):
    X, y, offset = table("poisson")
    forest = BoostForestRegressor(40, loss="poisson", random_state=0).fit(X, y, offset=offset)
    assert_array_equal(reloaded(forest).predict(X, offset), forest.predict(X, offset))


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("output", ["prediction", "score"])
def test_explanations_have_the_offset_in_their_base_values(loss, output):
    X, y, offset = table(loss)
    forest = BoostForestRegressor(40, loss=loss, random_state=0).fit(X, y, offset=offset)
    found = forest.explain(X[:5], X[:20], output=output, offset=offset[:5])
    expected = forest.predict(X[:5], offset[:5])
    if output == "score" and loss == "poisson":
        expected = np.log(expected)
    assert_allclose(found.base_values + found.values.sum(axis=1), expected)


def test_explanations_of_classes_with_an_offset_are_refused_where_they_would_not_add_up():
    X, y, offset = classes(2)
    forest = BoostForestClassifier(3, random_state=0).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="takes an offset of classes only for output='score' of a single tree"):
        forest.explain(X[:2], offset=offset[:2])
    tree = BoostTreeClassifier(random_state=0).fit(X, y, offset=offset)
    found = tree.explain(X[:2], output="score", offset=offset[:2])
    assert_allclose(found.base_values + found.values.sum(axis=1), tree.decision_function(X[:2], offset[:2]))


def test_compression_and_rounding_judge_with_the_offset():
    X, y, offset = table("poisson")
    forest = paper_regressor(20, loss="poisson", dtype="auto")
    forest.fit(X, y, offset=offset)
    small = forest.compress(X=X, y=y, offset=offset)
    losses = [row["loss"] for row in small.compression_report_]
    assert max(losses) < 1.01 * losses[0] < 2


def test_weights_and_offsets_go_together():
    X, y, offset = table("poisson", n=150)
    w = np.random.default_rng(0).integers(1, 4, size=150)
    settings = {"loss": "poisson", "bootstrap": False, "random_state": 0, "scale": False, "batch_size": None}
    forest = BoostForestRegressor(5, preset="paper", **settings).fit(X, y, sample_weight=w, offset=offset)
    X2, y2, offset2 = (np.repeat(a, w, axis=0) for a in (X, y, offset))
    again = BoostForestRegressor(5, preset="paper", **settings).fit(X2, y2, offset=offset2)
    assert_allclose(forest.predict(X), again.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("offset", "says"),
    [
        (np.zeros(399), r"offset must have a number per row, shape \(400,\); got shape \(399,\)"),
        (np.zeros((400, 2)), r"offset must have a number per row, shape \(400,\); got shape \(400, 2\)"),
        (np.r_[np.nan, np.zeros(399)], "offset must be finite; it contains missing values or infinity"),
        (["a"] * 400, "offset must hold numbers"),
    ],
)
def test_bad_offsets_are_refused_and_the_fitted_model_stays(offset, says):
    X, y, _ = table("poisson")
    tree = BoostTreeRegressor(loss="poisson", random_state=0).fit(X, y)
    before = tree.predict(X)
    with pytest.raises(ValueError, match=says):
        tree.fit(X, y, offset=offset)
    with pytest.raises(ValueError, match=says):
        tree.predict(X, offset=offset)
    assert_array_equal(tree.predict(X), before)


@pytest.mark.parametrize(
    ("model", "offset", "says"),
    [
        (BoostTreeRegressor(loss="poisson"), np.r_[np.zeros(399), -1e3],
         r"offset must be from -300 to 300 for loss='poisson'.*; got one of size 1000"),
        (BoostTreeClassifier(), np.zeros(400), r"a number per row and output, shape \(400, 3\); got shape \(400,\)"),
        (PoolForestRegressor(DecisionTreeRegressor()), np.zeros(400), "PoolForestRegressor takes no offset"),
    ],
)  # fmt: skip
def test_offsets_that_a_model_cannot_have_are_refused(model, offset, says):
    X, y, _ = classes(3)
    with pytest.raises(ValueError, match=says):
        model.fit(X, y, offset=offset)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_score_takes_an_offset(loss):
    X, y, offset = table(loss)
    forest = paper_regressor(20, loss=loss).fit(X, y, offset=offset)
    assert forest.score(X, y, offset=offset) == r2_score(y, forest.predict(X, offset=offset))
    assert forest.score(X, y, offset=offset) > forest.score(X, y)
    X, labels, of_classes = classes(3)
    classifier = BoostTreeClassifier(random_state=0).fit(X, labels, offset=of_classes)
    assert classifier.score(X, labels, offset=of_classes) == (classifier.predict(X, of_classes) == labels).mean()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_effects_with_an_offset_are_means_of_predictions_with_it(loss, weighted):
    X, y, offset = table(loss, n=80)
    weight = np.linspace(1, 3, len(X)) if weighted else None
    forest = paper_regressor(10, loss=loss).fit(X, y, offset=offset)
    grid = [-1.0, 0.0, 1.0]
    effect = forest.effects(X, 0, grid=grid, individual=True, sample_weight=weight, offset=offset)
    for k, value in enumerate(grid):
        changed = X.copy()
        changed[:, 0] = value
        predicted = forest.predict(changed, offset=offset)
        assert_allclose(effect.individual[:, k], predicted, rtol=1e-8)
        assert_allclose(effect.average[k], np.average(predicted, weights=weight), rtol=1e-8)
    with pytest.raises(ValueError, match="offset needs kind='partial'"):
        forest.effects(X, 0, kind="ale", offset=offset)


def test_effects_of_classes_take_an_offset_for_the_score_of_a_tree():
    X, labels, offset = classes(3, n=80)
    tree = BoostTreeClassifier(random_state=0).fit(X, labels, offset=offset)
    effect = tree.effects(X, 0, grid=[0.5], output="score", offset=offset)
    changed = X.copy()
    changed[:, 0] = 0.5
    assert_allclose(effect.average[0], tree.decision_function(changed, offset=offset).mean(axis=0), rtol=1e-8)
    with pytest.raises(ValueError, match="effects takes an offset of classes only"):
        tree.effects(X, 0, offset=offset)
