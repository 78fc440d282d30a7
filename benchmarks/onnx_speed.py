"""Prediction and files of ONNX beside native ones, and beside LightGBM's model as onnxmltools exports it.

    python -m benchmarks.onnx_speed

Processor time of one thread per row, so that other work on the machine counts little. Needs onnx and onnxruntime;
LightGBM and onnxmltools are left out if they are not installed.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnxruntime
from sklearn.datasets import make_classification, make_friedman1

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest.export import save_onnx, to_onnx

N_TREES, N_ROWS = 250, (1, 100, 1000)
Run = Callable[[Any], Any]


def seconds_per_row(run: Run, rows: Any) -> float:
    """Return the least processor time of several calls, per row."""
    times = []
    for _ in range(50 if len(rows) == 1 else 5):
        start = time.process_time()
        run(rows)
        times.append(time.process_time() - start)
    return min(times) / len(rows)


def session(model: Any) -> Run:
    """Return a function that runs an ONNX model on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    own = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = own.get_inputs()[0].name
    return lambda rows: own.run(None, {name: rows})


def report(what: str, native: Run, exported: Run, dtype: str, rows: Any, sizes: str) -> None:
    """Print a line of the table: microseconds per row, then sizes."""
    cells = []
    for n in N_ROWS:
        cells += [1e6 * seconds_per_row(native, rows[:n]), 1e6 * seconds_per_row(exported, rows[:n].astype(dtype))]
    print(f"| {what} | " + " | ".join(f"{cell:.1f}" for cell in cells) + f" | {sizes} |", flush=True)


def sizes_of_files(forest: Any, model: Any, dtype: str) -> str:
    """Return the size of the ONNX file, and how many times that of the model file of the same type it is."""
    with tempfile.TemporaryDirectory() as folder:
        exported, own = Path(folder) / "model.onnx", Path(folder) / "model.bf"
        save_onnx(model, exported)
        forest.save_model(own, dtype=dtype)
        n_bytes = exported.stat().st_size
        return f"{n_bytes / 1e6:.2f} MB | {n_bytes / own.stat().st_size:.2f}"


def own_forests(tasks: dict[str, tuple[Any, Any]]) -> None:
    """Report forests of several kinds."""
    kinds: dict[str, dict[str, Any]] = {
        "ridge": {"preset": "paper", "node_model": "ridge"},
        "constant": {"preset": "paper", "node_model": "constant"},
        "default": {},
    }
    for task, (X, y) in tasks.items():
        for kind, arguments in kinds.items():
            made = BoostForestRegressor if task == "regression" else BoostForestClassifier
            forest = made(N_TREES, n_jobs=1, random_state=0, **arguments).fit(X, y)
            native = forest.predict if task == "regression" else forest.predict_proba
            for dtype in ("float64", "float32"):
                model = to_onnx(forest, dtype)
                what = f"{task}, {kind}, {dtype}" + (f" ({forest.forest_.dtype})" if kind == "default" else "")
                report(what, native, session(model), dtype, X, sizes_of_files(forest, model, dtype))


def lightgbm_forests(tasks: dict[str, tuple[Any, Any]]) -> None:
    """Report LightGBM's defaults with as many trees, and how far its linear trees go wrong."""
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    def exported(model: Any) -> Any:
        return convert_lightgbm(
            model, initial_types=[("X", FloatTensorType([None, 10]))], target_opset=15, zipmap=False
        )

    for task, (X, y) in tasks.items():
        made = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
        model = made(n_estimators=N_TREES, n_jobs=1, verbose=-1).fit(X, y)
        converted = exported(model)
        native = model.booster_.predict
        sizes = (
            f"{converted.ByteSize() / 1e6:.2f} MB | {converted.ByteSize() / len(model.booster_.model_to_string()):.2f}"
        )
        report(f"LightGBM, {task}, float32", native, session(converted), "float32", X, sizes)
    X, y = tasks["regression"]
    linear = lightgbm.LGBMRegressor(n_estimators=N_TREES, linear_tree=True, n_jobs=1, verbose=-1).fit(X, y)
    rows = X.astype(np.float32)
    wrong = np.abs(session(exported(linear))(rows)[0][:, 0] - linear.predict(rows))
    print(
        f"linear trees of LightGBM: mean difference {wrong.mean():.3g}, standard deviation of the target {y.std():.3g}"
    )


def main() -> None:
    """Print the table."""
    tasks = {
        "regression": make_friedman1(3000, 10, noise=1, random_state=0),
        "two classes": make_classification(3000, 10, n_informative=6, random_state=0),
        "five classes": make_classification(3000, 10, n_informative=6, n_classes=5, random_state=0),
    }
    print("| | " + " | ".join(f"native, {n} | ONNX, {n}" for n in N_ROWS) + " | file | of model file |")
    print("|---|" + "---|" * (2 * len(N_ROWS) + 2))
    own_forests(tasks)
    try:
        lightgbm_forests(tasks)
    except ImportError as error:
        print(f"{error.name} is not installed: LightGBM is left out.")


if __name__ == "__main__":
    main()
