"""A table larger than memory: written as Parquet files of synthetic data, then fitted within a limit of memory.

python -m benchmarks.out_of_core write FOLDER --rows 120000000
python -m benchmarks.out_of_core fit FOLDER --memory 4

With ``--memory`` the fit takes the machine for one with so many GB; whether it keeps to them shows in the peak.
``fit`` prints the seconds of each stage, as the time of the threads that were in it, and the peak of resident memory.
"""

import argparse
import contextlib
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch

import numpy as np

N_FEATURES = 20
ROWS_OF_GROUP = 400_000  # of 21 columns in float64: 67 MB
GROUPS_OF_FILE = 25


def write(folder: Path, n_rows: int, seed: int = 0) -> None:
    """Write standard normal columns and a target with an interaction; nothing of it can be compressed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{j}" for j in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    for file in range(-(-n_rows // (ROWS_OF_GROUP * GROUPS_OF_FILE))):
        path = folder / f"part-{file:04d}.parquet"
        with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
            for group in range(file * GROUPS_OF_FILE, (file + 1) * GROUPS_OF_FILE):
                n = min(ROWS_OF_GROUP, n_rows - group * ROWS_OF_GROUP)
                if n <= 0:
                    break
                rng = np.random.default_rng([seed, group])
                X = rng.standard_normal((N_FEATURES, n))
                y = X[0] * X[1] + np.abs(X[2]) + 0.5 * X[3] + 0.5 * rng.standard_normal(n)
                writer.write_table(pa.table([*X, y], schema=schema), row_group_size=n)


class Stages:
    """Seconds that threads have spent in functions, and how often these were called."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._lock = Lock()

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which then counts for a stage."""

        def call(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                with self._lock:
                    self.seconds[stage] += time.perf_counter() - start
                    self.calls[stage] += 1

        return call


def fit(folder: Path, n_trees: int, memory: float | None, output: Path | None) -> None:
    """Fit a forest to the files of a folder; print what each stage takes, the score, and the peak of memory."""
    from boostforest import BoostForestRegressor
    from boostforest._grow import gathered, native
    from boostforest._grow import memory as _grow_memory
    from boostforest._model.model import Model
    from boostforest.sources import ParquetRows

    limited = contextlib.ExitStack()
    if memory is not None:
        for module in (gathered, _grow_memory):
            limited.enter_context(patch.object(module, "available_memory", lambda: int(1e9 * (memory - _resident()))))
    stages = Stages()
    source = ParquetRows(folder, target="y")
    forest = BoostForestRegressor(n_trees, random_state=0, oob_score=True, n_jobs=-1, verbose=1)
    with (
        limited,
        patch.object(ParquetRows, "read", stages.timed("reading", ParquetRows.read)),
        patch.object(gathered, "part_as_features", stages.timed("transforming", gathered.part_as_features)),
        patch.object(gathered, "_gather", stages.timed("second pass, all of it", gathered._gather)),
        patch.object(gathered.Drawn, "__init__", stages.timed("drawing", gathered.Drawn.__init__)),
        patch.object(gathered.Gathered, "rows", stages.timed("reading temporary files", gathered.Gathered.rows)),
        patch.object(native, "_core_columns", stages.timed("growing", native._core_columns)),
        patch.object(Model, "out_of_bag", stages.timed("out of bag", Model.out_of_bag)),
    ):
        start = time.perf_counter()
        forest.fit(source)
        stages.seconds["fit"] = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(f"rows {source.n_rows:,}, parts {len(source.lengths):,}, temporary files in {tempfile.gettempdir()}")
    for stage, seconds in stages.seconds.items():
        print(f"{stage:26} {seconds:10.1f} s {stages.calls[stage]:8,} calls")
    print(f"processor time {usage.ru_utime + usage.ru_stime:.1f} s, peak memory {usage.ru_maxrss * 1024 / 1e9:.2f} GB")
    print(f"out-of-bag R² {forest.oob_score_:.4f}")
    if output is not None:
        forest.save_model(output)
        print(f"model {output.stat().st_size / 1e6:,.1f} MB, peak {_peak():.2f} GB")
    X, _ = source.read(0)
    start = time.perf_counter()
    forest.predict(X.slice(0, 100_000))
    print(f"prediction of 100,000 rows {time.perf_counter() - start:.1f} s, peak {_peak():.2f} GB")


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e9


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write the files")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--rows", type=int, default=120_000_000)
    fitting = commands.add_parser("fit", help="fit a forest to them")
    fitting.add_argument("folder", type=Path)
    fitting.add_argument("--trees", type=int, default=250)
    fitting.add_argument("--memory", type=float, help="memory that the fit may plan with, in GB")
    fitting.add_argument("--output", type=Path, help="model file to write")
    given = parser.parse_args()
    if given.command == "write":
        write(given.folder, given.rows)
    else:
        fit(given.folder, given.trees, given.memory, given.output)


if __name__ == "__main__":
    main()
