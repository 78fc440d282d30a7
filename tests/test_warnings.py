"""Warnings point at the user's line, however deep in the library they arise and through whatever it was called."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostforest import (
    BoostForestClassifier,
    BoostForestRegressor,
    BoostTreeClassifier,
    BoostTreeRegressor,
    ETForestClassifier,
    PoolForestRegressor,
)
from boostforest.model_trees import LMTClassifier, SimpleLogisticClassifier
from boostforest.nodes import LinearSVR
from twin import example_data

X, Y = example_data("regression")
ONE = np.zeros(len(X), dtype=int)


def go_on(forest):
    """Fit a forest, and fit it again without more trees."""
    return lambda: forest.set_params(warm_start=True, random_state=0).fit(X, Y).fit(X, Y)


def fit(estimator, y=Y):
    """Return a call of fit, the same in every run."""
    seeds = {name: 0 for name in estimator.get_params() if name.endswith("random_state")}
    return lambda: estimator.set_params(**seeds).fit(X, y)


CALLS = {
    "warm start": ("Warm-start fitting", go_on(BoostForestRegressor(2, preset="paper"))),
    "warm start of a pool": ("Warm-start fitting", go_on(PoolForestRegressor(LinearRegression(), 2))),
    "out of bag": ("drawn by every tree", fit(BoostForestRegressor(1, oob_score=True, preset="paper"))),
    "out of bag, stages": (
        "drawn by every tree",
        fit(BoostForestRegressor(40, n_stages=2, max_samples=800, random_state=0, preset="paper")),
    ),
    "out of bag, pool": ("drawn by every member", fit(PoolForestRegressor(LinearRegression(), 1, oob_score=True))),
    "one class, tree": ("one class only", fit(BoostTreeClassifier(), ONE)),
    "one class, forest": ("one class only", fit(BoostForestClassifier(2, preset="paper"), ONE)),
    "one class, best": ("one class only", fit(BoostForestClassifier(40, preset="best"), ONE)),
    "one class, named forest": ("one class only", fit(ETForestClassifier(2), ONE)),
    "one class, LMT": ("one class only", fit(LMTClassifier(), ONE)),
    "one class, SimpleLogistic": ("one class only", fit(SimpleLogisticClassifier(), ONE)),
    "no split, rows": ("min_samples_leaf=.* rows to split", fit(BoostTreeRegressor(min_samples_leaf=100))),
    "no split, batch": (
        "batch_size=12 takes fewer",
        fit(BoostForestRegressor(2, batch_size=12, min_samples_leaf=9, preset="paper")),
    ),
    "member": ("rows to split", fit(PoolForestRegressor(BoostTreeRegressor(min_samples_leaf=100), 2))),
    "unconverged": ("failed to converge", fit(BoostTreeRegressor(node_model=LinearSVR(max_iter=1)))),
    "unconverged, stages": (
        "failed to converge",
        fit(BoostForestRegressor(40, n_stages=2, node_model=LinearSVR(max_iter=1), preset="paper")),
    ),
    "pipeline": (
        "rows to split",
        fit(make_pipeline(StandardScaler(), BoostTreeRegressor(min_samples_leaf=100))),
    ),
    "cross-validation": (
        "rows to split",
        lambda: cross_val_score(BoostTreeRegressor(min_samples_leaf=100, random_state=0), X, Y, cv=2, n_jobs=1),
    ),
    "intervals": (
        "Intervals are infinite",
        lambda: (
            BoostForestRegressor(30, oob_score=True, random_state=0, preset="paper")
            .fit(X, Y)
            .predict_interval(X, 0.999)
        ),
    ),
}


@pytest.mark.parametrize(("message", "call"), CALLS.values(), ids=CALLS)
def test_a_warning_points_at_the_line_of_the_caller(message, call):
    with pytest.warns(Warning, match=message) as record:
        call()
    assert {warning.filename for warning in record} == {__file__}


def test_the_warning_about_lost_parameters_points_at_the_line_of_the_caller(tmp_path):
    tree = BoostTreeRegressor(reg_lambda=stats.uniform(0.1, 1.0), random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="reg_lambda cannot be stored .* the default is used") as record:
        tree.save_model(tmp_path / "tree.safetensors")
    assert [warning.filename for warning in record] == [__file__]
