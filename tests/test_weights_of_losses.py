"""Sample weights count in everything that is judged out of bag, under every loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boostforest import BoostForestRegressor
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
    forests = [
        BoostForestRegressor(60, loss=loss, random_state=0, oob_score=True).fit(X, target, weight_of())
        for target in (y, wrong)
    ]
    first, second = forests
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
    light = BoostForestRegressor(60, loss=loss, random_state=0, oob_score=True).fit(X, wrong, weight)
    heavy = BoostForestRegressor(60, loss=loss, random_state=0, oob_score=True).fit(X, wrong, 1 / weight)
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
