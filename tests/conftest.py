"""Settings that must stand before the tests are read, of SciPy and of the property-based tests; a table of exports."""

import os

import numpy as np
import pytest
from hypothesis import settings

from boostforest import _core, load_model

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips its check of array API input

# The same examples in every run, unless `make test-random` asks for others; no time limits, no examples kept on disk.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("random", deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def rows():
    """Return numbers with missing values, some of which depend on each other, a smooth target, and three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + 1
    y = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=300)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, np.digitize(y, np.quantile(y, [0.3, 0.7]))


@pytest.fixture
def reloaded(tmp_path):
    """Return a function that saves a model and loads it again."""

    def reloaded(model, **options):
        model.save_model(tmp_path / "reloaded", **options)
        return load_model(tmp_path / "reloaded")

    return reloaded


@pytest.fixture
def refuses_file(tmp_path):
    """Return a function that asserts that bytes are not loaded as a model, with such a message."""

    def refuses_file(content, match):
        (tmp_path / "refused").write_bytes(content)
        with pytest.raises(ValueError, match=match):
            load_model(tmp_path / "refused")

    return refuses_file


@pytest.fixture(params=["generic", "avx2", "avx512"])
def kernels(request):
    """Use one instruction set after another."""
    before = _core.kernels()
    if not _core.select_kernels(request.param):
        pytest.skip(f"no {request.param} here")
    assert _core.kernels() == request.param
    yield
    assert _core.select_kernels(before)


@pytest.fixture(scope="module")
def client():
    """Return a client of a Dask cluster of two workers."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def few_judges(monkeypatch):
    """Let 1,000 rows be too many for memory."""
    monkeypatch.setattr("boostforest._estimator.base.MOST_JUDGES", 1000)
