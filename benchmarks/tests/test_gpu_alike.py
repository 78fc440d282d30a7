"""How forests of a GPU are compared with the core's."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.gpu_alike import compare, fit_both, losses
from boostforest import BoostForestRegressor


def table(n=400):
    rng = np.random.default_rng(0)
    X = rng.integers(5, size=(n, 6)).astype(float)  # many thresholds part rows alike
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.nansum(X[:, :2], axis=1) + rng.normal(size=n)


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_splits_of_a_device_are_those_of_the_core(n_classes):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    X, y = table()
    if n_classes:
        y = np.array(list("abcd"))[np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))]
    models = fit_both("cuda" if torch.cuda.is_available() else "torch:cpu", X[:200], y[:200], 12)
    found = compare(models[1]._model, models[0]._model, X[:200])
    assert found["splits"] > 100
    assert found["same"] + found["alike"] >= 0.99 * found["splits"]
    assert found["others"] == 0
    assert np.ptp(losses(models, X[200:], y[200:])) < 1e-2


def test_a_split_that_changes_sides_is_alike_and_another_one_is_not():
    x = np.repeat([0.0, 1.0], 50)
    X = np.column_stack([x, -x])  # thresholds of both columns part the rows alike, on opposite sides
    core = BoostForestRegressor(1, preset="paper", max_depth=1, random_state=0).fit(X, x)._model
    split = core.columns
    assert compare(core, core, X) == {"splits": 1, "same": 1, "alike": 0, "ties": 0, "others": 0}
    other_column = np.where(split.feature < 0, -1, 1 - split.feature).astype(split.feature.dtype)
    turned = replace(split, feature=other_column, threshold=np.zeros_like(split.threshold))
    assert compare(replace(core, columns=turned), core, X)["alike"] == 1
    elsewhere = replace(split, threshold=np.array([-9.0, *split.threshold[1:]]))
    assert compare(replace(core, columns=elsewhere), core, X)["ties"] == 1
    worse = replace(elsewhere, gain=0.5 * split.gain)
    assert compare(replace(core, columns=worse), core, X)["others"] == 1
