"""A row of ``explain`` beside shap's KernelExplainer over all coalitions, so that both have the same values.

    python -m benchmarks.explain_speed

Processor time of one thread per row. Needs shap.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_diabetes

from boostforest import BoostForestRegressor

N_TREES, N_BACKGROUND, N_ROWS = 250, 100, 32


def milliseconds_per_row(explain: Callable[[Any], Any], rows: Any, repeats: int) -> tuple[float, Any]:
    """Return the median processor time of several calls, per row, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = explain(rows)
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times)) / len(rows), result


def report(what: str, X: Any, y: Any, n_slow: int) -> None:
    """Print a line of the table; KernelExplainer gets so many rows."""
    forest = BoostForestRegressor(N_TREES, random_state=0, preset="paper", n_jobs=1).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    background, rows = X[order[:N_BACKGROUND]], X[order[-N_ROWS:]]
    own, found = milliseconds_per_row(lambda rows: forest.explain(rows, background), rows, 3)
    quick, _ = milliseconds_per_row(lambda rows: forest.explain(rows, background, algorithm="path"), rows, 3)
    import shap  # which takes seconds to import

    explainer = shap.KernelExplainer(forest.predict, background)
    all_of_them = {"nsamples": 2 ** X.shape[1] - 2, "l1_reg": False, "silent": True}
    slow, expected = milliseconds_per_row(lambda rows: explainer.shap_values(rows, **all_of_them), rows[:n_slow], 1)
    apart = np.abs(found.values[:n_slow] - expected).max() / np.abs(expected).max()
    cells = [f"{own:.1f}", f"{quick:.2f}", f"{slow:.0f}", f"{slow / own:.0f}", f"{apart:.0e}"]
    print(f"| {what} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the table."""
    print("| rows x columns | explain, ms | path, ms | KernelExplainer, ms | times | largest difference, relative |")
    print("|---|---|---|---|---|---|")
    report("diabetes, 442 x 10", *load_diabetes(return_X_y=True), n_slow=4)


if __name__ == "__main__":
    main()
