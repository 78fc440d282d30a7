"""Fits and predictions inside joblib's contexts of Dask, Ray and Spark: the local forest, byte for byte."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import cross_val_score

from boostforest import BoostForestClassifier, BoostForestRegressor, _core
from boostforest._base import engine
from boostforest._base.engine import instructions
from clusters import once_growing, saved

pytestmark = pytest.mark.filterwarnings("default")  # the engines warn of what is theirs

X, Y = make_regression(400, 6, noise=20.0, random_state=0)
X_CLASSES, Y_CLASSES = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
FOREST = BoostForestRegressor(20, preset="paper", oob_score=True, random_state=1)


@pytest.mark.parametrize(
    "forest",
    [
        FOREST,
        BoostForestRegressor(60, random_state=1),
        BoostForestRegressor(10, preset="paper", dtype="int8", node_model="elm", random_state=1),
    ],
    ids=["paper", "best", "int8"],
)
def test_a_fit_on_dask_gives_the_local_bytes(client: Any, forest: Any, tmp_path: Path) -> None:
    local = saved(forest.fit(X, Y), tmp_path)
    with joblib.parallel_config("dask"):
        assert saved(forest.fit(X, Y), tmp_path) == local


def test_classes_weights_and_missing_values_go_to_dask(client: Any, tmp_path: Path) -> None:
    holes = np.where(np.random.default_rng(0).random(X_CLASSES.shape) < 0.1, np.nan, X_CLASSES)
    weight = np.random.default_rng(1).random(len(Y_CLASSES))
    forest = BoostForestClassifier(60, random_state=1)
    local = saved(forest.fit(holes, Y_CLASSES, weight), tmp_path)
    with joblib.parallel_config("dask"):
        assert saved(forest.fit(holes, Y_CLASSES, weight), tmp_path) == local


@pytest.mark.skipif(_core.kernels() == "generic", reason="needs a processor with AVX2")
def test_the_poorest_instructions_are_those_of_a_fit_and_not_of_what_follows(client: Any, tmp_path: Path) -> None:
    def select(name: str) -> bool:
        return _core.select_kernels(name)

    def selected() -> str:
        return _core.kernels()

    here, poor = _core.kernels(), next(iter(client.run(os.getpid)))
    forest, many = BoostForestRegressor(8, preset="paper", random_state=1), np.zeros((20_000, 6))
    client.run(select, "generic", workers=[poor])
    before = client.run(selected)
    try:
        with joblib.parallel_config("dask"):
            found = saved(forest.fit(X, Y), tmp_path)
            forest.predict(many)
        assert _core.kernels() == here
        assert client.run(selected) == before
        _core.select_kernels("generic")
        assert found == saved(forest.fit(X, Y), tmp_path)
    finally:
        _core.select_kernels(here)
        client.run(select, here, workers=[poor])


def test_instructions_last_until_the_last_task_ends() -> None:
    here = _core.kernels()
    with instructions("generic"):
        with instructions("generic"):
            pass
        assert _core.kernels() == "generic"
    assert _core.kernels() == here
    with pytest.raises(RuntimeError, match="has no avx1024 instructions, only"), instructions("avx1024"):
        pass
    assert _core.kernels() == here


@pytest.mark.parametrize(("n", "workers", "seconds"), [(250, 2, 0.1), (250, 100, 0.1), (7, 3, 5.0), (10_000, 4, 1e-4)])
def test_tasks_take_about_two_seconds_and_the_last_ones_less(n: int, workers: int, seconds: float) -> None:
    bounds = engine._bounds_of_groups(workers, n, workers, seconds)
    sizes = np.diff(bounds)
    assert bounds[0] == workers
    assert bounds[-1] == n
    assert sizes.max() * seconds <= max(2.0, seconds)
    assert sizes[0] == sizes.max() <= -(-(n - workers) // workers)
    assert sizes[-1] * seconds <= max(0.2, seconds)


def test_predictions_of_many_rows_are_made_by_workers(client: Any) -> None:
    forest = BoostForestRegressor(8, preset="paper", random_state=1).fit(X, Y)
    many = np.random.default_rng(0).normal(size=(30_000, 6))
    with joblib.parallel_config("dask"):
        on_workers = forest.predict(many)
    np.testing.assert_array_equal(on_workers, forest.predict(many))


def test_one_job_stays_here(client: Any) -> None:
    def tasks_done(dask_worker: Any) -> int:
        return int(dask_worker.state.executed_count)

    before = client.run(tasks_done)
    with joblib.parallel_config("dask"):
        BoostForestRegressor(4, preset="paper", n_jobs=1, random_state=1).fit(X, Y)
        assert client.run(tasks_done) == before
        BoostForestRegressor(4, preset="paper", random_state=1).fit(X, Y)
        assert client.run(tasks_done) != before


def test_forests_in_a_cross_validation_on_dask_have_a_thread_each(client: Any) -> None:
    forest = BoostForestRegressor(5, preset="paper", random_state=1)
    local = cross_val_score(forest, X, Y, cv=3)
    with joblib.parallel_config("dask"):
        np.testing.assert_array_equal(cross_val_score(forest, X, Y, cv=3, n_jobs=-1), local)


def test_two_fits_at_once_share_the_cluster(client: Any, tmp_path: Path) -> None:
    local, found = saved(FOREST.fit(X, Y), tmp_path), []

    def fit(folder: Path) -> None:
        folder.mkdir()
        with joblib.parallel_config("dask"):
            forest = BoostForestRegressor(20, preset="paper", oob_score=True, random_state=1)
            found.append(saved(forest.fit(X, Y), folder))

    threads = [threading.Thread(target=fit, args=(tmp_path / name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [local, local]


def long_fit(n_trees: int) -> tuple[Any, Any, Any]:
    """Return a forest and a table of which 100 trees take one or two seconds."""
    many, target = make_regression(20_000, 10, noise=20.0, random_state=0)
    forest = BoostForestRegressor(n_trees, preset="paper", node_model="svr", batch_size=None, random_state=1)
    return forest, many, target


ENDLESS = 20_000  # trees: minutes


def test_a_killed_worker_costs_time_but_no_tree(client: Any, tmp_path: Path) -> None:
    forest, many, target = long_fit(200)
    local = saved(forest.fit(many, target), tmp_path)
    pid = next(iter(client.run(os.getpid).values()))
    with joblib.parallel_config("dask"):
        killer = once_growing(client, lambda: os.kill(pid, signal.SIGKILL))
        assert saved(forest.fit(many, target), tmp_path) == local
    killer.join()


@pytest.fixture
def own_cluster() -> Iterator[tuple[Any, Any]]:
    """Return a cluster of one worker that a test may ruin, and its client, which joblib uses."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        yield cluster, client


def test_a_cluster_without_workers_is_an_error_within_seconds(own_cluster: tuple[Any, Any]) -> None:
    cluster, client = own_cluster
    forest, many, target = long_fit(ENDLESS)
    stop = once_growing(client, lambda: cluster.scale(0))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"no worker|lost a task"):
        forest.fit(many, target)
    assert time.monotonic() - start < 40
    stop.join()
    assert not forest.__sklearn_is_fitted__()


def test_a_client_that_is_closed_is_an_error(own_cluster: tuple[Any, Any]) -> None:
    _, client = own_cluster
    forest, many, target = long_fit(ENDLESS)
    stop = once_growing(client, client.close)
    with pytest.raises(RuntimeError, match="client was closed"):
        forest.fit(many, target)
    stop.join()


def test_a_fit_on_ray_gives_the_local_bytes(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    joblib_of_ray = pytest.importorskip("ray.util.joblib")
    local = saved(FOREST.fit(X, Y), tmp_path)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        joblib_of_ray.register_ray()
        with joblib.parallel_config("ray"):
            assert saved(FOREST.fit(X, Y), tmp_path) == local
    finally:
        ray.shutdown()


def test_a_fit_on_spark_gives_the_local_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joblibspark = pytest.importorskip("joblibspark")
    if shutil.which("java") is None:
        pytest.skip("needs java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    local = saved(FOREST.fit(X, Y), tmp_path)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        joblibspark.register_spark()
        with joblib.parallel_config("spark", n_jobs=2):
            assert saved(FOREST.fit(X, Y), tmp_path) == local
    finally:
        session.stop()
