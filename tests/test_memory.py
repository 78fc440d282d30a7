"""Fits that there is not enough memory for are refused before they start, and no others."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier
from boostforest._base import memory as system_memory
from boostforest._base.arrays import PerTree
from boostforest._base.memory import available_memory
from boostforest._grow import memory as tree_memory
from boostforest._grow.memory import TreeSizes, trees_bytes
from boostforest.nodes import ELM
from models import FORESTS
from twin import example_data

# scikit-learn on nearly as many classes as rows, which is what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%:UserWarning")


def prices(n=600, n_text=2):
    """Return a table with texts that are nearly all different, and such a target."""
    rng = np.random.default_rng(0)
    columns = {f"text{j}": [f"v{k}" for k in rng.permutation(n)] for j in range(n_text)}
    return pd.DataFrame({"number": rng.normal(size=n), **columns}), np.array([f"${k}" for k in range(n)])


@pytest.fixture
def with_memory(monkeypatch):
    """Return a function that sets how much memory there seems to be."""

    def set_memory(n_bytes):
        for module in (system_memory, tree_memory):
            monkeypatch.setattr(module, "available_memory", lambda: int(n_bytes))

    return set_memory


@pytest.mark.parametrize("settings", [{}, {"preset": "best"}, {"n_stages": 2}], ids=str)
def test_many_classes_with_texts_are_refused_with_a_sentence(with_memory, settings):
    with_memory(8e9)
    X, y = prices()
    forest = BoostForestClassifier(
        random_state=0, max_one_hot=None, text="category", **({"preset": "paper"} | settings)
    )
    with pytest.raises(
        MemoryError,
        match=r"^\d+ trees of 1,201 features and 600 classes would take about [\d.]+ GB of memory, and 8 GB are "
        r"available: "
        r"use fewer classes \(a regressor, if the target is a number\), fewer trees \(n_estimators\), fewer features, "
        r'a larger min_samples_leaf or dtype="int8"\.$',
    ):
        forest.fit(X, y)
    assert not hasattr(forest, "forest_")


def test_a_model_may_take_half_of_the_memory(with_memory):
    X, y = prices()
    with_memory(1e11)
    with pytest.raises(MemoryError, match=r"^250 trees .* 100 GB are available, half of which a model may take: use"):
        BoostForestClassifier(max_one_hot=None, text="category", preset="paper").fit(X, y)


def test_one_tree_is_told_nothing_of_n_estimators(with_memory):
    with_memory(3e8)
    X, y = prices()
    with pytest.raises(MemoryError, match=r"^1 tree of 1,201 features .* number\), fewer features, a larger .*int8"):
        BoostTreeClassifier(dtype="float32", max_one_hot=None, text="category").fit(X, y)


def test_a_table_of_too_many_features_is_refused_before_it_is_made(with_memory):
    with_memory(5e8)
    X, y = prices(n=3000, n_text=3)
    with pytest.raises(MemoryError, match=r"^9,001 features, which 4 columns .* become with 3,000 classes, would take"):
        BoostForestClassifier(max_one_hot=None, text="category", preset="paper").fit(X, y)
    with pytest.raises(MemoryError, match=r"^9,001 features, which 4 columns .* become, .* a smaller max_one_hot or"):
        BoostForestRegressor(max_one_hot=None, text="category", preset="paper").fit(X, np.arange(3000.0))


def test_what_fits_is_fitted(with_memory):
    with_memory(3e8)
    X, y = example_data("multiclass", n=400)
    assert BoostForestClassifier(250, random_state=0, preset="paper").fit(X, y).forest_.n_trees == 250


def test_rows_that_are_alike_make_no_leaves(with_memory):
    with_memory(3e8)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(20_000, 3)).astype(float)
    y = rng.integers(0, 40, size=20_000)
    forest = BoostForestClassifier(300, min_samples_leaf=1, batch_size=100, random_state=0, preset="paper")
    assert forest.fit(X, y).n_leaves_.max() <= 8


SHAPES = [
    ("regression", 2000, 8, {}),
    ("regression", 1000, 5, {"clip": False}),
    ("regression", 2000, 5, {"monotonic_cst": [1, 0, 0, 0, 0], "dtype": "float32"}),
    ("regression", 800, 8, {"bootstrap": False, "max_leaf_nodes": 9}),
    ("binary", 3000, 20, {"dtype": "float16"}),
    ("binary", 3000, 20, {"dtype": "int8"}),
    ("regression", 2000, 5, {"dtype": "int8"}),
    ("multiclass", 1500, 30, {"max_samples": 0.5}),
    ("multiclass", 1500, 10, {"node_model": ELM(n_hidden=40), "max_depth": 4}),
    ("multiclass", 1500, 10, {"node_model": "constant"}),
]


@pytest.mark.parametrize(("task", "n", "d", "settings"), SHAPES, ids=str)
def test_the_estimate_is_within_a_factor_of_two(monkeypatch, task, n, d, settings):
    estimates = []

    def watched(*arguments):
        estimates.append(trees_bytes(*arguments))
        return estimates[-1]

    monkeypatch.setattr(tree_memory, "trees_bytes", watched)
    monkeypatch.setattr("boostforest._grow.native.SMALL", 0)
    X, y = example_data(task, n=n, d=d)
    kind = FORESTS[task]
    forest = kind(20, random_state=0, **settings).fit(X, y)
    assert len(estimates) == 1
    assert 0.5 < estimates[0][0] / forest.forest_.nbytes < 2


def test_models_in_python_are_not_guessed_at():
    sizes = TreeSizes(weight=1e9, n_distinct=10**9, n_inputs=1000, n_outputs=1000, all_nodes=True, dtype="float64")
    values = {"node_model": KernelRidge(), "min_samples_leaf": 1, "max_leaf_nodes": None, "max_depth": None}
    params = {name: PerTree.same(value, 1) for name, value in values.items()}
    assert trees_bytes(params, sizes, 1) == (0, 0)


def test_the_available_memory_is_that_of_the_machine_or_of_its_container(monkeypatch):
    assert (
        0 < available_memory() <= max(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), system_memory.UNKNOWN)
    )
    files = {"/proc/meminfo": ["MemTotal: 9000 kB", "MemAvailable: 8000 kB"]}
    monkeypatch.setattr(system_memory, "_lines", lambda path: files.get(str(path), []))
    assert available_memory() == 8000 * 1024
    files["/proc/self/cgroup"] = ["3:cpu:/", "0::/a/b"]
    files["/sys/fs/cgroup/a/b/memory.max"] = ["max"]
    files["/sys/fs/cgroup/a/b/memory.current"] = ["5"]
    assert available_memory() == 8000 * 1024
    files["/sys/fs/cgroup/a/memory.max"] = ["1000000"]
    files["/sys/fs/cgroup/a/memory.current"] = ["400000"]
    files["/sys/fs/cgroup/a/memory.stat"] = ["active_file 7", "inactive_file 100000"]
    assert available_memory() == 700_000
    files["/proc/self/cgroup"] = ["4:memory:/x"]
    files["/sys/fs/cgroup/memory/x/memory.limit_in_bytes"] = ["300000"]
    files["/sys/fs/cgroup/memory/x/memory.usage_in_bytes"] = ["100000"]
    assert available_memory() == 200_000


def test_a_system_that_tells_nothing_has_a_limit(monkeypatch):
    def silent(name):
        raise ValueError(name)

    monkeypatch.setattr(system_memory, "_lines", lambda path: [])
    monkeypatch.setattr(os, "sysconf", silent)
    assert available_memory() == system_memory.UNKNOWN
