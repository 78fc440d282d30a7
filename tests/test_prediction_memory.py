"""Memory of predictions: blocks of rows are small, and what a large model took is given back."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from boostforest import BoostForestRegressor
from boostforest.nodes import ELM

# In a process of its own: the peak of a process never falls, and other tests have peaks of their own.
PREDICTION = """
import resource
import numpy as np
from boostforest import BoostTreeRegressor
from boostforest.nodes import ELM
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
tree = BoostTreeRegressor(node_model=ELM(20_000), max_leaf_nodes=2, random_state=0).fit(X, X[:, 0])
rows = rng.normal(size=(4000, 3))
tree.predict(rows[:1])

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

peak, before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resident()
assert np.isfinite(tree.predict(rows)).all()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024, resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of a process as Linux tells it")
def test_predicting_with_a_wide_hidden_layer_takes_little_memory_and_keeps_less():
    result = subprocess.run(
        [sys.executable, "-c", PREDICTION], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    peak, kept = map(int, result.stdout.split())
    assert peak < 100e6  # all units of all rows: 640 MB
    assert kept < 50e6


@pytest.mark.parametrize("n_hidden", [3, 20, 5000])
def test_rows_go_through_a_hidden_layer_in_parts_and_come_out_as_alone(n_hidden):
    rng = np.random.default_rng(1)
    X, rows = rng.normal(size=(60, 3)), rng.normal(size=(300, 3))
    settings = {"node_model": ELM(n_hidden), "max_leaf_nodes": 2, "scale": False, "clip": False}
    forest = BoostForestRegressor(2, random_state=0, **settings, preset="paper").fit(X, X[:, 0])
    together = forest.predict(rows)
    assert (together == np.concatenate([forest.predict(rows[i : i + 1]) for i in range(300)])).all()
    columns, leaves = forest.forest_, forest.apply(rows)
    models = columns.params.reshape(2, 2, 1 + n_hidden)  # trees, leaves
    expected = np.zeros(300)
    for t in range(2):
        layer = columns.hidden[columns.hidden_start[t] : columns.hidden_start[t + 1]].reshape(4, n_hidden)
        own = models[t, leaves[:, t] - 1]
        expected += own[:, 0] + (own[:, 1:] * expit(layer[0] + rows @ layer[1:])).sum(axis=1)
    assert_allclose(together, forest.target_mean_ + forest.target_scale_ * expected / 2, rtol=1e-9, atol=1e-9)
