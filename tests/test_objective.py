"""What decides out of bag: the least point of a smooth function, with few calls."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from boostforest._grow.objective import Objective, least_point
from boostforest._losses import Softmax

CURVES = {
    "a parabola": lambda u: (u - 0.123) ** 2,
    "near an end": lambda u: (u + 1.99) ** 2,
    "a steep side": lambda u: np.exp(6 * u) - 2 * u,
    "another at the other side": lambda u: np.exp(-6 * u) + 0.1 * u,
    "a log-loss": lambda u: np.log1p(np.exp(3 - 2 * np.exp(u))) + 0.2 * np.exp(u),
    "flat but for a little": lambda u: 1e-9 * (u - 1) ** 2,
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("settled", [1e-2, 1e-5])
def test_the_least_point_is_that_of_scipy(name, settled):
    found = least_point(CURVES[name], -2.0, 2.0, settled)
    expected = minimize_scalar(CURVES[name], bounds=(-2, 2), method="bounded", options={"xatol": 1e-9}).x
    assert found == pytest.approx(expected, abs=2 * settled)


@pytest.mark.parametrize(("slope", "expected"), [(1.0, -2.0), (-1.0, 3.0)])
def test_the_least_point_of_a_line_is_its_end(slope, expected):
    assert least_point(lambda u: slope * u, -2.0, 3.0, 1e-5) == expected


def test_numbers_without_a_value_are_no_least_points():
    with np.errstate(invalid="ignore"):
        found = least_point(lambda u: np.where(u < 0.5, np.nan, (u - 1) ** 2), -2.0, 2.0, 1e-4)
    assert found == pytest.approx(1.0, abs=1e-4)
    assert -2.0 <= least_point(lambda u: np.full(u.shape, np.nan), -2.0, 2.0, 1e-4) <= 2.0


def test_few_calls_find_the_least_point():
    calls = []
    least_point(lambda u: calls.append(len(u)) or np.cosh(u - 0.3), -2.0, 2.0, 1e-5)
    assert len(calls) <= 6 and sum(calls) <= 40


def test_losses_of_several_scores_are_those_of_each():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=20).astype(float)
    objective, scores = Objective(Softmax(np.full(3, 1 / 3)), y), rng.normal(size=(4, 20, 3))
    assert np.array_equal(objective.losses_at(scores), [objective.losses(s) for s in scores])
