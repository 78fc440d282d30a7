"""``python -m benchmarks.speed memory``: what fewer digits of the coefficients save in memory, on a million rows."""

import argparse
import json
import subprocess
import sys
from itertools import product

from benchmarks.speed.children import ROOT
from benchmarks.speed.measure import seconds_of
from boostforest import BoostForestRegressor
from boostforest_paper import generators

DTYPES = ("float64", "float32", "float16")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--trees", type=int, nargs="+", default=[25, 50])
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES)
    parser.add_argument("--threads", type=int, default=2)


def fit_once(rows: int, features: int, trees: int, dtype: str, threads: int) -> dict[str, float]:
    """Fit a forest in this process; return nodes, gigabytes of the model and of the process, and seconds."""
    import resource  # not on every system

    X, y = generators.regression(rows, features)
    forest = BoostForestRegressor(trees, dtype=dtype, n_jobs=threads, random_state=0, preset="paper")
    seconds = seconds_of(lambda: forest.fit(X, y))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    nodes = int(forest.n_nodes_.sum())
    return {"nodes": nodes, "model": forest.model_size_ / 1e9, "peak": peak / 1e9, "seconds": seconds}


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Print a line of Markdown for every number of trees and type, each measured in a process of its own."""
    print("| trees | dtype | million nodes | bytes per node | model, GB | peak, GB | fit, s |")
    print("|---|---|---|---|---|---|---|")
    for trees, dtype in product(args.trees, args.dtype):
        arguments = [args.rows, args.features, trees, dtype, args.threads]
        call = f"from benchmarks.speed.memory import *; print(json.dumps(fit_once(*{arguments})))"
        out = subprocess.run([sys.executable, "-c", call], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        f = json.loads(out)
        per_node = 1e9 * f["model"] / f["nodes"]
        print(f"| {trees} | {dtype} | {f['nodes'] / 1e6:.2f} | {per_node:.0f} | {f['model']:.2f} ", end="")
        print(f"| {f['peak']:.2f} | {f['seconds']:.0f} |", flush=True)
    return 0
