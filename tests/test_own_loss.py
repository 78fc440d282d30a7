"""Losses of the user's own, in Python and compiled."""

import ctypes
import pickle
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import LowLevelCallable
from sklearn.base import clone
from sklearn.linear_model import Ridge

from boostforest import BoostForestRegressor, BoostTreeRegressor, load_model
from models import assert_refused


def squared(y, scores):
    """Return the derivatives of half the squared error."""
    return scores - y, np.ones_like(y)


def log_cosh(y, scores):
    """Return the slope of log cosh(F - y), and the bend of a parabola above it."""
    rest = scores - y
    size = np.maximum(np.abs(rest), 1e-9)
    return np.tanh(rest), np.tanh(size) / size


def table(n=200):
    """Return a table and a target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + (X[:, 1] > 0) + 0.3 * rng.normal(size=n)


X, y = table()


PLAIN = {"random_state": 0, "scale": False, "preset": "paper", "n_estimators": 5}


@pytest.mark.parametrize("settings", [{}, {"node_model": "constant"}, {"max_leaf_nodes": 5}, {"n_jobs": 2}], ids=str)
def test_squared_error_of_ones_own_is_that_of_the_library(settings):
    own = BoostForestRegressor(loss=squared, **PLAIN, **settings).fit(X, y)
    assert_allclose(own.predict(X), BoostForestRegressor(**PLAIN, **settings).fit(X, y).predict(X), rtol=1e-9)


def test_weights_offsets_and_out_of_bag_figures():
    offset, weight = np.random.default_rng(1).uniform(0.5, 2, size=(2, 200))
    forest = BoostForestRegressor(oob_score=True, **(PLAIN | {"n_estimators": 60}))
    fits = [clone(forest).set_params(loss=loss).fit(X, y, weight, offset) for loss in (squared, "squared_error")]
    assert_allclose(fits[0].predict(X, offset), fits[1].predict(X, offset), rtol=1e-8, atol=1e-8)
    assert fits[0].oob_score_ == pytest.approx(fits[1].oob_score_)


def test_presets_have_a_single_stage():
    forest = BoostForestRegressor(40, loss=log_cosh, random_state=0).fit(X, y)
    assert forest.n_stages_ == 1
    assert np.corrcoef(forest.predict(X), y)[0, 1] > 0.9


def test_files_and_pickles_predict(tmp_path):
    forest = BoostForestRegressor(loss=log_cosh, **PLAIN).fit(X, y)
    with pytest.warns(UserWarning, match="loss"):
        forest.save_model(tmp_path / "own.safetensors")
    for loaded in (load_model(tmp_path / "own.safetensors"), pickle.loads(pickle.dumps(forest))):
        assert_array_equal(loaded.predict(X), forest.predict(X))


def test_nodes_in_python_go_with_it():
    X, y = table(100)
    settings = PLAIN | {"node_model": Ridge(alpha=0.1), "min_samples_leaf": 20, "n_estimators": 2, "n_jobs": 2}
    fits = [BoostForestRegressor(loss=loss, **settings).fit(X, y).predict(X) for loss in (squared, "squared_error")]
    assert_allclose(*fits, rtol=1e-8)


def test_a_loaded_model_says_that_it_has_no_function(tmp_path):
    with pytest.warns(UserWarning, match="loss"):
        BoostForestRegressor(loss=log_cosh, **PLAIN).fit(X, y).save_model(tmp_path / "own.safetensors")
    with pytest.raises(ValueError, match="The function of the loss is needed here, and model files do not keep it"):
        load_model(tmp_path / "own.safetensors").compress(X=X, y=y)


SOURCE = """
#include <stdint.h>
int half_square(int64_t n, const double *y, const double *f, double *g, double *h, void *data) {
    double factor = data ? *(double *)data : 1.0;
    for (int64_t i = 0; i < n; ++i) { g[i] = factor * (f[i] - y[i]); h[i] = factor; }
    return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "own.c", "-o", "own.so"], cwd=folder, check=True)
    function = ctypes.CDLL(str(folder / "own.so")).half_square
    pointer = ctypes.POINTER(ctypes.c_double)
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_int64, pointer, pointer, pointer, pointer, ctypes.c_void_p]
    return function


@pytest.mark.parametrize("with_data", [False, True])
def test_a_compiled_function_is_the_same_as_one_in_python(compiled, with_data):
    factor = ctypes.c_double(1.0)
    data = ctypes.cast(ctypes.pointer(factor), ctypes.c_void_p) if with_data else None
    loss = LowLevelCallable(compiled, data) if with_data else LowLevelCallable(compiled)
    fits = [BoostForestRegressor(loss=how, **PLAIN).fit(X, y).predict(X) for how in (loss, squared)]
    assert_array_equal(*fits)


def test_a_compiled_function_of_another_kind_is_refused():
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x)
    with pytest.raises(ValueError, match="loss must be compiled with the signature 'int "):
        BoostTreeRegressor(loss=LowLevelCallable(function)).fit(X, y)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda y, f: f - y, "loss must return two arrays, gradient and second derivative; got ndarray"),
        (lambda y, f: (f - y, 1.0), r"loss must return a second derivative for each of .* rows; got shape \(\)"),
        (lambda y, f: ((f - y)[:1], y), "loss must return a gradient for each of"),
        (lambda y, f: (np.nan * y, np.ones_like(y)), "loss must return finite numbers; its gradient contains NaN"),
        (lambda y, f: (f - y, -np.ones_like(y)), "loss must return second derivatives that are not negative; got -1"),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_cannot_be_is_named_and_the_fitted_model_stays(function, says, n_jobs):
    assert_refused(partial(BoostForestRegressor, n_jobs=n_jobs, **PLAIN), X, y, says, {"loss": function})


def test_what_a_function_raises_is_raised():
    def failing(y, scores):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        BoostTreeRegressor(loss=failing).fit(X, y)
