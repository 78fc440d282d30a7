"""``python -m benchmarks.speed kernels``: share of one core's measured dgemm peak that the ridge fits reach."""

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_limits

from benchmarks.speed.results import write_json
from boostforest import _core
from boostforest._base.threads import use_scipy_blas

ROWS = (200, 500, 1000)
FEATURES = (8, 16, 32, 64, 128, 256, 512)
GEMM_SIZE, GEMM_CALLS = 1500, 10
BLOCK_SECONDS = 2e-3  # of calls that are timed together: single ones are too short for the clock
# Least share of the peak, from so many features on (n is at least 200 in all of them).
TARGETS = ((128, 0.50), (32, 0.35))
NOTE = """\
The time is that of a whole call: a padded copy of x, centring and weights are in it, but not in the operations that
are counted, n d (d + 1) + d³ / 3, or d n (n + 1) + n³ / 3 where that is less and the fit works in the rows (*)."""


class Share(NamedTuple):
    """One size of ridge fit."""

    n: int
    d: int
    seconds: float
    share: float  # of the peak

    @property
    def target(self) -> float | None:
        """Least share it should have, if any."""
        return next((share for least, share in TARGETS if self.d >= least), None)

    @property
    def state(self) -> str:
        """Whether it has it."""
        if self.target is None:
            return ""
        return "met" if self.share >= self.target else "missed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--blocks", type=int, default=20, help="timed blocks per size, of which the best counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the shares here")


def best_seconds(call: Callable[[], object], n_blocks: int) -> float:
    """Seconds of one call in the best of some blocks: the rest of a block's time is other people's."""
    timer = Timer(call)
    once = min(timer.repeat(repeat=3, number=1))
    number = max(1, round(BLOCK_SECONDS / once))
    return min(timer.repeat(repeat=n_blocks, number=number)) / number


def operations(n: int, d: int) -> float:
    """Floating-point operations of one ridge fit in the features, or in the rows where those need fewer."""
    return min(n * d * (d + 1) + d**3 / 3, d * n * (n + 1) + n**3 / 3)


def peak_rate() -> float:
    """Operations per second of dgemm."""
    rng = np.random.default_rng(0)
    a, b = (np.asfortranarray(rng.normal(size=(GEMM_SIZE, GEMM_SIZE))) for _ in range(2))
    return 2 * GEMM_SIZE**3 / best_seconds(lambda: dgemm(1.0, a, b), GEMM_CALLS)


def ridge_seconds(n: int, d: int, n_blocks: int) -> float:
    """Seconds of one ridge fit."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(n, d)), rng.normal(size=n)
    v = rng.uniform(0.1, 0.25, size=n)  # weights as a logistic loss has them
    return best_seconds(lambda: _core.ridge(x, z, v, 1.0), n_blocks)


def measure(n_blocks: int) -> tuple[float, list[Share]]:
    """Return the peak, the higher one of before and after, and all shares of it."""
    use_scipy_blas()  # as a fit of so many features does
    # Everything that brings threads is imported by now: the limit reaches only pools that are loaded.
    with threadpool_limits(limits=1):
        before = peak_rate()
        seconds = {(n, d): ridge_seconds(n, d, n_blocks) for n, d in product(ROWS, FEATURES)}
        peak = max(before, peak_rate())
    return peak, [Share(n, d, time, operations(n, d) / time / peak) for (n, d), time in seconds.items()]


def line(share: Share) -> str:
    """One size's line."""
    in_rows = "*" if share.n < share.d else " "
    target = "" if share.target is None else f"{share.target:>8.0%}"
    times = f"{share.seconds * 1e6:>12.1f}{share.share:>9.1%}{in_rows}"
    return f"{share.n:>6}{share.d:>6}{times}{target:>8}  {share.state}".rstrip()


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark."""
    if args.blocks < 1:
        parser.error("--blocks must be at least 1")
    peak, shares = measure(args.blocks)
    print(f"dgemm {GEMM_SIZE} x {GEMM_SIZE}, one thread: {peak / 1e9:.1f} Gflop/s")
    print(f"{'n':>6}{'d':>6}{'µs per fit':>12}{'share':>9} {'target':>8}")
    print("\n".join(map(line, shares)))
    print(NOTE)
    if args.json:
        rows: list[dict[str, Any]] = [{**share._asdict(), "state": share.state} for share in shares]
        write_json(args.json, args, {"peak_flops": peak, "ridge": rows})
    return 0
