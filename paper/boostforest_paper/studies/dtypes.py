"""What fewer digits in a model file save and cost, on three datasets of scikit-learn: the table of docs/format.md."""

from __future__ import annotations

import argparse
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import train_test_split

from boostforest import BoostForestClassifier, BoostForestRegressor, load_model

DATASETS: dict[str, tuple[Callable[..., Any], type]] = {
    "diabetes, R²": (load_diabetes, BoostForestRegressor),
    "breast cancer, accuracy": (load_breast_cancer, BoostForestClassifier),
    "digits, accuracy": (load_digits, BoostForestClassifier),
}
DTYPES = ("float64", "float32", "float16")


def output(model: Any, X: Any) -> Any:
    """Return probabilities, or predictions in deviations of the target."""
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X) / model.target_scale_


def measure(forest: Any, X: Any, y: Any, path: Path) -> dict[str, tuple[float, float, float]]:
    """Return per type: bytes of the file, test score, and how far a prediction moves at the most."""
    expected = output(forest, X)
    figures = {}
    for dtype in DTYPES:
        forest.save_model(path, dtype=dtype)
        loaded = load_model(path)
        figures[dtype] = path.stat().st_size, loaded.score(X, y), np.abs(output(loaded, X) - expected).max()
    figures["pickle"] = len(pickle.dumps(forest, protocol=5)), forest.score(X, y), 0.0
    return figures


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10, help="random splits, 75 %% for training (default: 10)")
    parser.add_argument("--trees", type=int, default=250, help="trees of a forest (default: 250)")
    options = parser.parse_args()
    print("| dataset, score | dtype | file, MB | score | change of the score | a prediction moves at most |")
    print("|---|---|---|---|---|---|")
    for name, (load, make) in DATASETS.items():
        X, y = load(return_X_y=True)
        runs = []
        for seed in range(options.splits):
            X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
            forest = make(options.trees, random_state=seed, n_jobs=-1).fit(X_train, y_train)
            with tempfile.TemporaryDirectory() as folder:
                runs.append(measure(forest, X_test, y_test, Path(folder) / "model.safetensors"))
        for dtype in ("pickle", *DTYPES):
            size, score, moved = np.array([run[dtype] for run in runs]).T
            change = np.abs(score - [run["float64"][1] for run in runs]).max()
            figures = f"{size.mean() / 1e6:.2f} | {score.mean():.4f} | {change:.1e} | {moved.max():.1e}"
            print(f"| {name} | {dtype} | {figures} |")


if __name__ == "__main__":
    main()
