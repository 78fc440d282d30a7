"""What all losses of regressors share: weights, files, a warm start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from boostforest import BoostForestRegressor, load_model
from boostforest._grow.objective import Objective
from boostforest._losses import REGRESSION_LOSSES
from boostforest._losses.aft import read_times


def table(loss, n=150, seed=0):
    """Return a table, a target and a second one that is wrong in the last rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = 0.5 * X[:, 0] + 0.8 * (X[:, 1] > 0)
    y = np.exp(score + 0.4 * rng.normal(size=n))
    if loss == "poisson":
        y = rng.poisson(3 * y).astype(float)
    wrong = y.copy()
    wrong[-30:] = 7.0 * rng.permutation(y[-30:]) + 100
    if loss == "aft":
        seen = rng.uniform(size=n) < 0.7
        return X, np.column_stack([y, seen]), np.column_stack([wrong, seen])
    return X, y, wrong


def weight_of(n=150):
    """Return weights that are 0 in the last rows."""
    weight = np.random.default_rng(3).uniform(0.5, 2, size=n)
    weight[-30:] = 0.0
    return weight


@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
@pytest.mark.filterwarnings("ignore:.*rows were drawn by every tree")
def test_rows_without_weight_decide_nothing(loss):
    X, y, wrong = table(loss)
    forest = BoostForestRegressor(60, loss=loss, random_state=0, oob_score=True)
    first, second = (clone(forest).fit(X, target, weight_of()) for target in (y, wrong))
    assert first.stages_ == second.stages_
    assert_array_equal(first.oob_losses_, second.oob_losses_)
    assert first.pool_report_ == second.pool_report_
    assert first.oob_score_ == second.oob_score_
    assert_array_equal(first.predict(X), second.predict(X))
    if loss != "aft":
        assert_array_equal(first.predict_interval(X[:20]), second.predict_interval(X[:20]))


@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
@pytest.mark.filterwarnings("ignore:.*rows were drawn by every tree")
def test_weights_change_what_is_decided(loss):
    X, y, wrong = table(loss)
    weight = np.ones(150)
    weight[-30:] = 0.05
    forest = BoostForestRegressor(60, loss=loss, random_state=0, oob_score=True)
    light, heavy = (clone(forest).fit(X, wrong, w) for w in (weight, 1 / weight))
    assert light.oob_losses_[-1] != heavy.oob_losses_[-1]
    assert light.oob_score_ != heavy.oob_score_
    target = y[:120, 0] if loss == "aft" else y[:120]
    error = [np.median(np.abs(forest.predict(X[:120]) - target)) for forest in (light, heavy)]
    assert error[0] < error[1]


@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_whole_weights_are_repeated_rows_where_losses_are_made_and_averaged(loss):
    X, y, _ = table(loss, n=60)
    times = np.random.default_rng(1).integers(1, 4, size=60)
    y = read_times(y) if loss == "aft" else y
    offset = X[:, [1]] / 3
    own = REGRESSION_LOSSES[loss].fit(y, times.astype(float), True, offset)
    again = REGRESSION_LOSSES[loss].fit(np.repeat(y, times), None, True, np.repeat(offset, times, axis=0))
    assert_allclose([own.mean, own.scale, *own.numbers], [again.mean, again.scale, *again.numbers], rtol=1e-6)
    scores, rows = 0.3 * X[:, :1], np.ones(60, dtype=bool)
    objective = Objective(own, own.encode(y), times.astype(float))
    repeated = Objective(own, own.encode(np.repeat(y, times)))
    losses, of_repeated = objective.losses(scores), repeated.losses(np.repeat(scores, times, axis=0))
    assert objective.average(losses, rows) == pytest.approx(repeated.average(of_repeated, np.repeat(rows, times)))


@pytest.mark.parametrize("loss", [loss for loss in REGRESSION_LOSSES if loss != "aft"])
def test_weights_are_as_good_as_repeated_rows(loss):
    X, y, _ = table(loss, n=120)
    w = np.random.default_rng(0).integers(1, 4, size=len(y))
    settings = {"loss": loss, "bootstrap": False, "batch_size": None, "random_state": 0, "preset": "paper"}
    weighted = BoostForestRegressor(5, **settings).fit(X, y, sample_weight=w)
    repeated = BoostForestRegressor(5, **settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "settings",
    [{}, {"oob_score": True}, {"dtype": "float32"}, {"preset": "best"}, {"n_stages": 2}, {"node_model": "elm"}],
    ids=str,
)
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_file_keeps_the_loss(tmp_path, loss, settings):
    X, y, _ = table(loss)
    forest = BoostForestRegressor(40, **({"preset": "paper", "loss": loss, "random_state": 0} | settings)).fit(X, y)
    forest.save_model(tmp_path / "a")
    loaded = load_model(tmp_path / "a")
    assert loaded._model.loss == forest._model.loss and loaded.get_params() == forest.get_params()
    assert_array_equal(loaded.predict(X), forest.predict(X))
    loaded.save_model(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("settings", "changed", "says"),
    [
        ({"loss": "poisson"}, {"loss": "squared_error"}, "the loss of the first fit, 'poisson'; got 'squared_error'"),
        ({"loss": "tweedie"}, {"power": 1.7}, r"the power of the first fit, 1.5; got 1.7"),
        ({"loss": "quantile", "quantile": 0.2}, {"quantile": 0.3}, r"the quantile of the first fit, 0.2; got 0.3"),
    ],
)
def test_warm_start_goes_on_with_the_loss(settings, changed, says):
    X, y, _ = table(settings["loss"], n=100)
    settings = settings | {"random_state": 0, "preset": "paper"}
    forest = BoostForestRegressor(3, warm_start=True, **settings).fit(X, y)
    forest.set_params(n_estimators=5).fit(X, y)
    assert_array_equal(forest.predict(X), BoostForestRegressor(5, **settings).fit(X, y).predict(X))
    with pytest.raises(ValueError, match=f"goes on with {says}"):
        forest.set_params(n_estimators=7, **changed).fit(X, y)
