"""Threads: they change no bit of the result, and they get along with Python's, joblib's, BLAS's and with Ctrl-C."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import threadpoolctl
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from boostforest import BoostTreeRegressor, _core
from models import FORESTS
from twin import example_data

# Pools and batches: trees of different sizes, so that threads finish out of order, and every kind of draw.
SETTINGS = {"node_model": ["ridge", "constant", "elm", "svr"], "batch_size": [60, 1000], "max_features": [1.0, "sqrt"]}
MANY = 100  # features from which BLAS may be used


def make(task, n_estimators=12, **params):
    """Return a forest."""
    return FORESTS[task](n_estimators, **{"random_state": 0, **SETTINGS, **params})


def contents(forest):
    """Return every fitted array as bytes, out-of-bag ones included."""
    arrays = {**forest.forest_.arrays(), **{k: v for k, v in vars(forest).items() if isinstance(v, np.ndarray)}}
    return {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}


def outputs(forest, X):
    """Return the bytes of everything that a forest has to say about rows."""
    methods = ("predict", "predict_proba", "decision_function", "apply")
    return [getattr(forest, m)(X).tobytes() for m in methods if hasattr(forest, m)]


# ------------------------------------------------------------------------------------------------------ our own threads


@pytest.mark.parametrize("d", [4, MANY])
@pytest.mark.parametrize("task", FORESTS)
def test_the_forest_is_the_same_byte_for_byte_for_any_number_of_threads(task, d):
    X, y = example_data(task, n=300, d=d)
    settings = {"oob_score": True, "max_samples": 0.5}
    one = make(task, n_jobs=1, **settings).fit(X, y)
    assert len({tuple(p.values()) for p in one.tree_params_}) > 3
    for n_jobs in (2, 3, 8):
        other = make(task, n_jobs=n_jobs, **settings).fit(X, y)
        assert contents(other) == contents(one)
        assert other.oob_score_ == one.oob_score_
        assert outputs(other, X) == outputs(one, X)


@pytest.mark.parametrize("task", FORESTS)
def test_predictions_are_the_same_for_any_number_of_threads_and_rows(task):
    forest = make(task).fit(*example_data(task, n=200))
    X = example_data(task, n=1500, seed=1)[0]
    expected = outputs(forest, X)
    for n_jobs in (2, 3, 8, -1):
        assert outputs(forest.set_params(n_jobs=n_jobs), X) == expected
    alone = np.concatenate([forest.predict(X[i : i + 1]) for i in range(200)])
    assert_array_equal(alone, forest.predict(X)[:200])


# ------------------------------------------------------------------------------ Python's threads and joblib's processes


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_from_several_python_threads_give_the_same_as_one_after_another(n_jobs):
    jobs = [(task, d, seed) for task in FORESTS for d in (4, MANY) for seed in range(2)]

    def fit(job):
        task, d, seed = job
        X, y = example_data(task, n=200, d=d, seed=seed)
        return contents(make(task, n_jobs=n_jobs, random_state=seed).fit(X, y))

    expected = [fit(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, jobs)) == expected


@pytest.mark.parametrize("task", FORESTS)
def test_predictions_from_several_python_threads_give_the_same_as_one_after_another(task):
    X, y = example_data(task, n=600)
    forest = make(task, n_jobs=2).fit(X, y)
    parts = [X[i : i + 150] for i in range(0, 600, 50)]
    expected = [outputs(forest, part) for part in parts]
    fresh = pickle.loads(pickle.dumps(forest))  # what is made at the first prediction is made by several at once
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda part: outputs(fresh, part), parts)) == expected


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_forests_inside_of_joblib_neither_hang_nor_differ(backend):
    X, y = example_data("regression", n=150, d=MANY)
    forests = [make("regression", 4, n_jobs=2, random_state=seed) for seed in range(4)]
    fitted = joblib.Parallel(n_jobs=2, backend=backend, timeout=60)(joblib.delayed(f.fit)(X, y) for f in forests)
    assert [contents(f) for f in fitted] == [contents(f.fit(X, y)) for f in forests]


def test_grid_search_on_two_processes_finds_the_same_as_on_one():
    X, y = example_data("binary", n=150)
    grid = {"max_leaf_nodes": [2, None], "node_model": ["ridge", "constant"]}
    one, two = (GridSearchCV(make("binary", 4, n_jobs=2), grid, cv=2, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert contents(one.best_estimator_) == contents(two.best_estimator_)


# --------------------------------------------------------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
import signal, sys, threading, time
import numpy as np
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, _core
from boostforest.nodes import ELM
{prepare}

def interrupt():
    global at
    at = time.process_time()  # not the clock: the machine may have other work
    signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
threading.Timer(0.5, interrupt).start()
try:
    {work}
except KeyboardInterrupt:
    seconds = time.process_time() - at
else:
    sys.exit("the fit ended before it was interrupted")
{check}
print(seconds)
"""
PREPARE_FIT = """
estimator = {estimator}
X = np.random.default_rng(0).normal(size=(60_000, 30))
y = np.floor(X[:, 0] * X[:, 1]) % {n_classes}
"""
CHECK_FIT = """
assert not [name for name in vars(estimator) if name.endswith("_")], "something is left of the fit"
if hasattr(estimator, "n_estimators"):
    estimator.set_params(n_estimators=2)
assert np.isfinite(estimator.fit(X[:300], y[:300]).predict(X[:300])).all()
"""
PREPARE_REGRESSION = """
X = np.random.default_rng(0).normal(size=(30_000, 100))
y, rows, weight = np.floor(np.abs(4 * X[:, 0])) % 10, np.arange(len(X), dtype=np.int32), np.ones(len(X))
"""


def assert_interrupted_soon(prepare, work="estimator.fit(X, y)", check=CHECK_FIT):
    """Run a program that interrupts its work and prints how long that took to end."""
    code = INTERRUPTED.format(prepare=prepare, work=work, check=check)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 2 * float(os.environ.get("BOOSTFOREST_TIME_FACTOR", "1"))  # sanitizers are slow


@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [
        ("BoostForestRegressor(500, n_jobs=1)", 2),
        ("BoostForestClassifier(500, n_jobs=2, verbose=1)", 2),
        ("BoostTreeRegressor(batch_size=None, min_samples_leaf=1, n_cuts=200)", 2),  # one tree alone takes long enough
        ('BoostTreeClassifier(node_model="svr", batch_size=None, max_leaf_nodes=2)', 40),  # from here on a single node
        ("BoostTreeRegressor(n_cuts=20_000, batch_size=None, max_leaf_nodes=2)", 2),
        ("BoostTreeRegressor(node_model=ELM(10_000), batch_size=None, max_leaf_nodes=2)", 2),
    ],
)
def test_ctrl_c_ends_a_long_fit_soon_and_leaves_the_estimator_unfitted(estimator, n_classes):
    assert_interrupted_soon(PREPARE_FIT.format(estimator=estimator, n_classes=n_classes))


def test_ctrl_c_is_seen_within_a_logistic_regression():
    work = "_core.l1_logistic(X, rows, y, weight, 1e-3, np.zeros((10, 101)), 10_000, 0.0)"
    assert_interrupted_soon(PREPARE_REGRESSION, work, check="")


def test_an_error_in_the_progress_bar_ends_the_fit(monkeypatch):
    def broken(self, done):
        raise OSError("no terminal")

    monkeypatch.setattr("boostforest._base.progress.Progress.__call__", broken)
    X, y = example_data("regression", n=2000)
    forest = make("regression", 2000, verbose=1, n_jobs=2)
    with pytest.raises(OSError, match="no terminal"):
        forest.fit(X, y)
    assert not hasattr(forest, "forest_")


# ----------------------------------------------------------------------------------------------------------------- BLAS


def blas_threads():
    """Return the number of threads of every BLAS."""
    return [lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture
def blas_before():
    """Return how many threads every BLAS has before a test; a test that fails does not leave others for the next."""
    info = threadpoolctl.threadpool_info()
    before = blas_threads()
    if max(before, default=1) == 1:
        pytest.skip("BLAS has one thread at any time here")
    yield before
    if blas_threads() != before:
        threadpoolctl.threadpool_limits(limits=info)


def spy_on_fit(monkeypatch, spy):
    """Have spy() called in every fit of the core before it starts."""
    grow = _core.TrainingTable.grow

    def spied(*args):
        spy()
        return grow(*args)

    monkeypatch.setattr(_core.TrainingTable, "grow", spied)


@pytest.mark.parametrize("d", [4, MANY])
def test_blas_has_one_thread_within_a_wide_fit_and_its_own_again_afterwards(d, blas_before, monkeypatch):
    seen = []
    spy_on_fit(monkeypatch, lambda: seen.append(blas_threads()))
    BoostTreeRegressor().fit(*example_data("regression", d=d))
    assert seen == [[1] * len(blas_before) if d == MANY else blas_before]
    assert blas_threads() == blas_before


def test_blas_has_its_threads_again_after_a_fit_that_failed(blas_before, monkeypatch):
    def fail():
        raise KeyboardInterrupt

    spy_on_fit(monkeypatch, fail)
    with pytest.raises(KeyboardInterrupt):
        BoostTreeRegressor().fit(*example_data("regression", d=MANY))
    assert blas_threads() == blas_before


# From version 3.8 on, threadpoolctl lets only the thread that first set a limit set another one, and silently.
def test_blas_has_one_thread_within_a_fit_of_another_python_thread(blas_before, monkeypatch):
    X, y = example_data("regression", d=MANY)
    BoostTreeRegressor().fit(X, y)
    seen = []
    spy_on_fit(monkeypatch, lambda: seen.append(blas_threads()))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(BoostTreeRegressor().fit, X, y).result()
    assert seen == [[1] * len(blas_before)]
    assert blas_threads() == blas_before


def test_blas_has_its_threads_again_after_the_last_of_several_fits(blas_before, monkeypatch):
    both_in, first_out = threading.Barrier(2, timeout=30), threading.Event()
    is_first = threading.local()
    seen = []

    def spy():
        both_in.wait()
        if not is_first.value:
            assert first_out.wait(30)
            seen.append(blas_threads())  # this fit still needs its limit

    spy_on_fit(monkeypatch, spy)

    def fit(first):
        is_first.value = first
        BoostTreeRegressor().fit(*example_data("regression", d=MANY))
        if first:
            first_out.set()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fit, [True, False]))
        assert blas_threads() == blas_before  # while both threads are still alive
    assert seen == [[1] * len(blas_before)]
