"""Forests of Dask collections: the same for any partitions and workers, and those of a source of rows."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostforest import BoostForestRegressor
from boostforest.dask import DaskBoostForestClassifier, DaskBoostForestRegressor
from boostforest.sources import ArrayRows
from clusters import once_growing, saved
from test_sources import LABELS, X, Y

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Dask warns of what is its own
    pytest.mark.usefixtures("few_judges"),
]

FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "k": np.array(list("uvw"))[np.arange(3000) % 3]})
ARGUMENTS: dict[str, Any] = {"n_estimators": 12, "max_samples": 800, "random_state": 0}


def memory_of_workers(client: Any) -> float:
    return float(sum(worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()))


@pytest.mark.parametrize("chunks", [(3000,), (1400, 1600), (429,) * 6 + (426,), (1, 0, 2999)], ids=len)
def test_partitions_of_an_array_do_not_matter(client: Any, chunks: tuple[int, ...], tmp_path: Path) -> None:
    expected = saved(BoostForestRegressor(**ARGUMENTS).fit(ArrayRows(X, Y)), tmp_path)
    table, target = da.from_array(X, chunks=(chunks, 2)), da.from_array(Y, chunks=(chunks,))
    forest = DaskBoostForestRegressor(**ARGUMENTS).fit(table, target)
    assert saved(forest.to_local(), tmp_path) == expected
    lazy = forest.predict(table)
    np.testing.assert_array_equal(lazy.compute(), forest.to_local().predict(X))
    np.testing.assert_array_equal(forest.predict(X), forest.to_local().predict(X))


def test_pieces_of_many_partitions_are_joined_before_trees_grow(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boostforest._grow.on_dask._MOST_PIECES", 3)
    monkeypatch.setattr("boostforest._grow.on_dask._SHARE", 200_000 / memory_of_workers(client))  # no table
    expected = saved(BoostForestRegressor(**ARGUMENTS).fit(ArrayRows(X, Y)), tmp_path)
    table, target = da.from_array(X, chunks=(429, 4)), da.from_array(Y, chunks=429)
    assert saved(DaskBoostForestRegressor(**ARGUMENTS).fit(table, target).to_local(), tmp_path) == expected


def test_frames_with_text_give_classes_and_probabilities(client: Any, tmp_path: Path) -> None:
    found = []
    for n in (1, 3):
        table = dd.from_pandas(FRAME, npartitions=n)
        forest = DaskBoostForestClassifier(**ARGUMENTS | {"n_estimators": 40}, oob_score=True)
        forest.fit(table, dd.from_pandas(pd.Series(LABELS), npartitions=n))
        found.append(saved(forest.to_local(), tmp_path))
    assert found[0] == found[1]
    probabilities = forest.predict_proba(table).compute()
    assert probabilities.columns.tolist() == ["high", "low", "middle"]
    np.testing.assert_array_equal(probabilities, forest.to_local().predict_proba(FRAME))
    assert forest.predict(table).compute().tolist() == forest.to_local().predict(FRAME).tolist()
    assert forest.oob_score_ > 0.5


def test_one_worker_gives_the_bytes_of_two(tmp_path: Path, client: Any) -> None:
    table, target = da.from_array(X, chunks=(1000, 4)), da.from_array(Y, chunks=1000)
    two = DaskBoostForestRegressor(**ARGUMENTS, client=client).fit(table, target)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
    ):
        one = DaskBoostForestRegressor(**ARGUMENTS, client=other).fit(table, target)
    assert saved(one.to_local(), tmp_path) == saved(two.to_local(), tmp_path)


@pytest.mark.parametrize(("plan", "n_trees"), [("whole table", 300), ("passes", 40)])
def test_a_killed_worker_costs_time_but_no_tree(
    client: Any, tmp_path: Path, plan: str, n_trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plan == "passes":
        monkeypatch.setattr("boostforest._grow.on_dask._SHARE", 200_000 / memory_of_workers(client))
    table, target = da.from_array(X, chunks=(500, 4)), da.from_array(Y, chunks=500)
    forest = DaskBoostForestRegressor(**ARGUMENTS | {"n_estimators": n_trees})
    expected = saved(BoostForestRegressor(**ARGUMENTS | {"n_estimators": n_trees}).fit(ArrayRows(X, Y)), tmp_path)
    pid = next(iter(client.run(os.getpid).values()))
    killer = once_growing(client, lambda: os.kill(pid, signal.SIGKILL))
    assert saved(forest.fit(table, target).to_local(), tmp_path) == expected
    killer.join()
    client.wait_for_workers(2)


def test_ctrl_c_leaves_no_tasks_behind(client: Any) -> None:
    table, target = da.from_array(X, chunks=(500, 4)), da.from_array(Y, chunks=500)
    forest = DaskBoostForestRegressor(**ARGUMENTS | {"n_estimators": 5000})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    stopper = once_growing(client, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            forest.fit(table, target)
    finally:
        stopper.join()
        signal.signal(signal.SIGINT, before)
    assert not forest.__sklearn_is_fitted__()
    deadline = time.monotonic() + 30
    while (left := [key for keys in client.processing().values() for key in keys]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def test_workers_with_less_memory_than_the_table_finish() -> None:
    def block(block_info: Any) -> Any:
        own = block_info[None]
        return np.random.default_rng(own["chunk-location"][0]).random(own["chunk-shape"])

    table = da.map_blocks(block, chunks=((40_000,) * 35, 50), dtype=float)  # 560 MB
    target = da.map_blocks(block, chunks=((40_000,) * 35,), dtype=float)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as small,
    ):
        forest = DaskBoostForestRegressor(**ARGUMENTS | {"n_estimators": 4}, client=small)
        forest.fit(table, target)
    assert forest.n_features_in_ == 50


@pytest.mark.parametrize(
    ("table", "target", "error", "message"),
    [
        (X, da.from_array(Y), TypeError, "X must be a Dask array"),
        (
            da.from_array(X, chunks=(1000, 4)),
            da.from_array(Y, chunks=1500),
            ValueError,
            "partitions of the same lengths",
        ),
        (da.from_array(X[:0]), da.from_array(Y[:0]), ValueError, "all of its partitions are empty"),
    ],
    ids=["no collection", "other partitions", "no rows"],
)
def test_wrong_collections_are_refused(client: Any, table: Any, target: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        DaskBoostForestRegressor(**ARGUMENTS).fit(table, target)


def test_a_closed_client_and_weights_are_refused(client: Any) -> None:
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    closed.close()
    table, target = da.from_array(X), da.from_array(Y)
    with pytest.raises(ValueError, match="client must be running; it is closed"):
        DaskBoostForestRegressor(client=closed).fit(table, target)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        DaskBoostForestRegressor().fit(table, target, np.ones(3000))
