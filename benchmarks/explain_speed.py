"""A row of ``explain`` beside shap's KernelExplainer at equal accuracy, and effects beside scikit-learn's.

    python -m benchmarks.explain_speed [TABLE.parquet ...]

Forests of 250 trees with the paper's settings and with the default ones, 100 background rows. Tables besides diabetes:
Parquet files of numbers whose last column is the target. Processor time of one thread. KernelExplainer over all
coalitions gives the exact values; it is timed with as few coalitions (a quarter, half or all of them) as bring it no
further from these than ``explain`` is. Effects of every third column are held against those of scikit-learn of the same
column, one after the other, those of two classes (a target above its median) too. Needs shap.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.inspection import partial_dependence

from boostforest import BoostForestClassifier, BoostForestRegressor

N_TREES, N_BACKGROUND, N_ROWS, N_EFFECT_ROWS = 250, 100, 32, 5000
PRESETS = ("paper", "best")
ROUNDING = 1e-9  # of the largest value: less is no difference


def seconds(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the median processor time of several calls, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return float(np.median(times)), result


def kernel_explainer(forest: Any, background: Any, rows: Any, found: Any) -> tuple[float, float]:
    """Return the seconds that KernelExplainer takes for values as exact as those found, and their error, relative."""
    import shap  # which takes seconds to import

    explainer = shap.KernelExplainer(forest.predict, background)
    every = 2 ** rows.shape[1] - 2

    def explain(n: int) -> tuple[float, Any]:
        return seconds(lambda: explainer.shap_values(rows, nsamples=n, l1_reg=False, silent=True), 1)

    slow, exact = explain(every)
    error = lambda values: np.sqrt(np.mean((values - exact) ** 2)) / np.abs(exact).max()  # noqa: E731
    for n in (every // 4, every // 2):
        quick, values = explain(n)
        if error(values) <= max(error(found), ROUNDING):
            return quick, error(found)
    return slow, error(found)


def report(what: str, preset: str, X: Any, y: Any, n_slow: int) -> None:
    """Print a line of the table; KernelExplainer gets so many rows."""
    forest = BoostForestRegressor(N_TREES, random_state=0, preset=preset, n_jobs=1).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    background, rows = X[order[:N_BACKGROUND]], X[order[-N_ROWS:]]
    own, found = seconds(lambda: forest.explain(rows, background), 3)
    path, _ = seconds(lambda: forest.explain(rows, background, algorithm="path"), 3)
    slow, error = kernel_explainer(forest, background, rows[:n_slow], found.values[:n_slow])
    times = (slow / n_slow) / (own / N_ROWS)
    cells = [f"{1e3 * own / N_ROWS:.1f}", f"{1e3 * path / N_ROWS:.2f}", f"{1e3 * slow / n_slow:.0f}", f"{times:.0f}"]
    print(f"| {what}, {preset} | " + " | ".join([*cells, f"{error:.0e}", effects(forest, X, order)]) + " |", flush=True)


def effects(forest: Any, X: Any, order: Any) -> str:
    """Return how many times faster than scikit-learn's the effects are, and the curves of rows: least, and median."""
    rows = X[np.resize(order, N_EFFECT_ROWS)]
    means, curves = [], []
    for column in range(0, X.shape[1], 3):
        own, found = seconds(lambda column=column: forest.effects(rows, column), 5)
        of_rows, _ = seconds(lambda column=column: forest.effects(rows, column, individual=True), 3)
        brute, slow = seconds(
            lambda column=column: partial_dependence(forest, rows, [column], method="brute", kind="average"), 1
        )
        average = found.average if found.average.ndim == 1 else found.average[:, 1]
        np.testing.assert_allclose(average, slow["average"][0], rtol=1e-10)
        means.append(brute / own)
        curves.append(brute / of_rows)
    return " | ".join(f"{min(times):.0f}, {np.median(times):.0f}" for times in (means, curves))


def main() -> None:
    """Print the table."""
    print("| rows x columns, preset | explain, ms | path, ms | KernelExplainer, ms | times | relative error |", end="")
    print(" effects, times | curves of rows, times |")
    print("|---|---|---|---|---|---|---|---|")
    X, y = load_diabetes(return_X_y=True)
    for preset in PRESETS:
        report("diabetes, 442 x 10", preset, X, y, n_slow=4)
    for preset in PRESETS:
        forest = BoostForestClassifier(N_TREES, random_state=0, preset=preset, n_jobs=1).fit(X, y > np.median(y))
        found = effects(forest, X, np.random.default_rng(0).permutation(len(X)))
        print(f"| diabetes, two classes, {preset} | – | – | – | – | – | {found} |", flush=True)
    for name in sys.argv[1:]:
        import pandas as pd

        table = pd.read_parquet(name).to_numpy(np.float64)
        what = f"{Path(name).stem}, {len(table):,} x {table.shape[1] - 1}"
        for preset in PRESETS:
            report(what, preset, table[:, :-1], table[:, -1], n_slow=1)


if __name__ == "__main__":
    main()
