"""How alike forests of a GPU and of the core are: their splits, and what they lose on rows that they have not seen.

python -m benchmarks.gpu_alike FOLDER
python -m benchmarks.gpu_alike FOLDER --device torch:cpu    # the same code without a GPU
python -m benchmarks.gpu_alike FOLDER --device generic      # the core itself, with other instructions

Tables are NAME.parquet or NAME.csv.gz, with a column "target". Both forests have the same draws, so that they differ by
rounding alone. Trees are walked down side by side. A split is

- the same, if feature, threshold and where missing values go are;
- alike, if it parts the rows of its node in the same two halves; if these have changed sides, what is below is not
  compared, for draws depend on the side;
- a tie, if it parts them otherwise and both are worth the same but for rounding.

The core with other instructions (AVX-512, AVX2, neither) shows what rounding alone does.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from boostforest import BoostForestClassifier, BoostForestRegressor, _core

_WIDE, _TREES_OF_WIDE = 300, 10  # features, and how many trees there are with more


def compare(ours: Any, cores: Any, X: Any) -> dict[str, int]:
    """Count the splits of two models of the same draws, fitted to the rows X."""
    features = cores.features.transform(X, "BoostForest")
    values = (features - cores.features.mean) / cores.features.scale
    found = dict.fromkeys(("splits", "same", "alike", "ties", "others"), 0)
    for tree, seed in enumerate(cores.seeds):
        rows = np.flatnonzero(_core.bootstrap_counts(int(seed), len(X), len(X), None))
        for kind in _kinds(ours.columns, cores.columns, tree, values, rows):
            found["splits"] += 1
            found[kind] += 1
    return found


def _kinds(ours: Any, cores: Any, tree: int, values: Any, rows: Any) -> Iterator[str]:
    """Yield what the splits of a tree are."""
    first = int(ours.tree_start[tree]), int(cores.tree_start[tree])
    stack = [(0, 0, rows)]
    while stack:
        a, b, rows = stack.pop()
        a, b = first[0] + a, first[1] + b
        if ours.feature[a] < 0 and cores.feature[b] < 0:
            continue
        own, other = _goes_left(ours, a, values, rows), _goes_left(cores, b, values, rows)
        same = all(getattr(ours, name)[a] == getattr(cores, name)[b] for name in ("feature", "threshold"))
        if own is None or other is None or not (np.array_equal(own, other) or np.array_equal(own, ~other)):
            yield "ties" if _is_tie(ours, a, cores, b, float(cores.loss[first[1]])) else "others"
            continue
        turned = not np.array_equal(own, other)
        yield "same" if same and not turned else "alike"
        if not turned:
            for side, part in enumerate((rows[own], rows[~own])):
                stack.append((int(ours.left[a]) + side, int(cores.left[b]) + side, part))


def _goes_left(forest: Any, node: int, values: Any, rows: Any) -> Any:
    """Return which rows a split sends to the left; None: it is a leaf."""
    if forest.feature[node] < 0:
        return None
    value = values[rows, forest.feature[node]]
    return np.where(np.isnan(value), bool(forest.missing_left[node]), value <= forest.threshold[node])


def _is_tie(ours: Any, a: int, cores: Any, b: int, loss: float) -> bool:
    own, other = float(ours.gain[a]), float(cores.gain[b])
    largest = max(abs(own), abs(other))
    return abs(own - other) <= 1e-6 * largest or largest < 1e-12 * max(1.0, loss)


def tables(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, columns and target of each table."""
    import pandas as pd

    for path in sorted([*folder.glob("*.parquet"), *folder.glob("*.csv.gz")]):
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        name = path.name.split(".")[0]
        if name != "MNIST":
            yield name, table, table.pop("target")


def losses(models: list[Any], X: Any, y: Any) -> list[float]:
    """Return the log-loss, or the root mean squared error in standard deviations of the target."""
    if isinstance(models[0], BoostForestRegressor):
        return [float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / np.std(y)) for model in models]
    place = np.searchsorted(models[0].classes_, y)
    known = np.isin(y, models[0].classes_)
    chances = [model.predict_proba(X)[known][np.arange(known.sum()), place[known]] for model in models]
    return [float(-np.log(np.maximum(own, 1e-12)).mean()) for own in chances]


def fit_both(device: str, X: Any, y: Any, n_trees: int) -> list[Any]:
    """Fit the core's forest, then the other."""
    numeric = np.issubdtype(np.asarray(y).dtype, np.number)
    forest: Any = BoostForestRegressor if numeric else BoostForestClassifier
    arguments: dict[str, Any] = {"preset": "paper", "random_state": 0, "n_jobs": -1}
    fitted = [forest(n_trees, **arguments).fit(X, y)]
    if device not in ("generic", "avx2", "avx512"):
        return [*fitted, forest(n_trees, **arguments, device=device).fit(X, y)]
    before = _core.kernels()
    if not _core.select_kernels(device):
        raise SystemExit(f"This processor has no {device}.")
    fitted.append(forest(n_trees, **arguments).fit(X, y))
    _core.select_kernels(before)
    return fitted


def main() -> None:
    """Print a line for each table, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda", help="cuda, torch:cpu; or generic, avx2: the core's instructions")
    parser.add_argument("--trees", type=int, default=50, help=f"{_TREES_OF_WIDE} where there are over {_WIDE} features")
    given = parser.parse_args()
    total: dict[str, int] = {}
    apart = []
    for name, X, y in tables(given.folder):
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        n_trees = min(_TREES_OF_WIDE, given.trees) if X.shape[1] > _WIDE else given.trees
        models = fit_both(given.device, X.iloc[train], y.iloc[train].to_numpy(), n_trees)
        found = compare(models[1]._model, models[0]._model, X.iloc[train])
        core, own = losses(models, X.iloc[test], y.iloc[test].to_numpy())
        apart.append(abs(core - own))
        total = {kind: total.get(kind, 0) + n for kind, n in found.items()}
        print(f"{name:14} {len(train):6} x {X.shape[1]:<4} loss {core:.6f}, {own - core:+.1e}  {found}", flush=True)
    same, alike = total["same"] / total["splits"], (total["same"] + total["alike"]) / total["splits"]
    print(f"{total}: same {100 * same:.3f} %, same or alike {100 * alike:.3f} %")
    print(
        f"losses of {sum(a < 1e-4 for a in apart)} of {len(apart)} tables within 1e-4, the worst {max(apart):.1e} apart"
    )


if __name__ == "__main__":
    main()
