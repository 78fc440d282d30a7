"""What Dask costs: its scheduler at many small tasks, two workers over one, and collections over a fit in one process.

python -m benchmarks.dask_speed tasks --n 10000
python -m benchmarks.dask_speed workers --rows 100000 --trees 60
python -m benchmarks.dask_speed overhead --rows 1000000 --trees 24

Beside seconds on the clock, processor time is printed, which does not depend on what else the machine does: that of all
processes, and that of the busiest worker and the client, which is what a machine with enough processors would wait for.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def _nothing(i: int) -> int:
    return i


def _measured(client: Any, function: Callable[[], object]) -> tuple[float, float, float]:
    """Return seconds on the clock, processor time of all processes, and of the busiest worker and the client."""
    before = client.run(time.process_time)
    start, own = time.perf_counter(), time.process_time()
    function()
    seconds, own = time.perf_counter() - start, time.process_time() - own
    after = client.run(time.process_time)
    workers = [after[w] - before[w] for w in after if w in before]
    return seconds, own + sum(workers), own + max(workers)


def tasks(n: int) -> None:
    """Time tasks that do nothing."""
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        client.gather(client.map(_nothing, range(100), pure=False))
        seconds, total, _ = _measured(
            client, lambda: client.gather(client.map(_nothing, range(1000, 1000 + n), pure=False))
        )
    print(f"{n:,} tasks: {1e3 * seconds / n:.2f} ms each on the clock, {1e3 * total / n:.2f} ms of processor time")


def _table(n_rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 20))
    return X, X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.5 * rng.standard_normal(n_rows)


def workers(n_rows: int, n_trees: int) -> None:
    """Compare one worker with two, in joblib's context; for the first fit, workers import everything."""
    import joblib
    from distributed import Client

    from boostforest import BoostForestRegressor

    X, y = _table(n_rows)
    arguments: dict[str, Any] = {"n_estimators": n_trees, "preset": "paper", "random_state": 0}
    for n in (1, 2):
        with Client(n_workers=n, threads_per_worker=1, dashboard_address=None) as client:

            def in_context() -> None:
                with joblib.parallel_config("dask"):
                    BoostForestRegressor(**arguments).fit(X, y)

            for fit in ("first", "second"):
                _show(f"{n} workers, {fit} fit", *_measured(client, in_context))


def _fit_collection(arguments: dict[str, Any], X: Any, y: Any) -> None:
    from boostforest.dask import DaskBoostForestRegressor

    DaskBoostForestRegressor(**arguments).fit(X, y)


def overhead(n_rows: int, n_trees: int) -> None:
    """Compare a collection with the same forest of the same rows, grown in one process."""
    import dask.array as da
    from distributed import Client

    from boostforest import BoostForestRegressor
    from boostforest.sources import ArrayRows

    X, y = _table(n_rows)
    arguments: dict[str, Any] = {"n_estimators": n_trees, "preset": "paper", "random_state": 0}
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        parts = da.from_array(X, chunks=(n_rows // 8, 20)), da.from_array(y, chunks=n_rows // 8)
        parts = tuple(client.persist(part) for part in parts)
        for _ in range(2):
            own = BoostForestRegressor(**arguments, n_jobs=2)
            _show("one process", *_measured(client, lambda own=own: own.fit(ArrayRows(X, y))))
            _show("collection", *_measured(client, partial(_fit_collection, arguments, *parts)))


def _show(name: str, seconds: float, total: float, busiest: float) -> None:
    print(f"{name:24} {seconds:7.1f} s on the clock, processors {total:7.1f} s, longest {busiest:7.1f} s", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tasks", "workers", "overhead"])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=60)
    given = parser.parse_args()
    if given.what == "tasks":
        tasks(given.n)
    else:
        {"workers": workers, "overhead": overhead}[given.what](given.rows, given.trees)


if __name__ == "__main__":
    main()
