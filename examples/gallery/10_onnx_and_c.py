"""
ONNX and C
==========

A forest for other programs: one C header without dependencies, or an ONNX model. Both reach the same leaves.
"""

import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from boostforest import BoostForestRegressor
from boostforest.export import to_c, to_onnx

X, y = load_diabetes(return_X_y=True)
forest = BoostForestRegressor(30, random_state=0).fit(X[:300], y[:300])
expected = forest.predict(X[300:])
predictions = {}

# %%
# C: the header has the model as tables, and ``diabetes_predict``. Here it becomes a shared library for ctypes.

source = to_c(forest, name="diabetes", dtype="float32")
print(f"{len(source) / 1e3:.0f} kB of source")
if shutil.which("cc"):
    with tempfile.TemporaryDirectory() as folder:
        header, code, library = (Path(folder) / name for name in ("diabetes.h", "row.c", "row.so"))
        header.write_text(source)
        code.write_text(
            '#include "diabetes.h"\n'
            "int row(const double *x, double *result, double *work) { return diabetes_predict(x, result, work); }\n"
        )
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, code, "-lm"], check=True)
        row, numbers = ctypes.CDLL(str(library)).row, ctypes.c_double * 1000
        result, work = numbers(), numbers()
        predictions["C, float32"] = []
        for x in X[300:]:
            assert row(numbers(*x), result, work) == 0
            predictions["C, float32"].append(result[0])

# %%
# ONNX, where the packages are there (``pip install "boostforest[onnx]" onnxruntime``).

if importlib.util.find_spec("onnx") and importlib.util.find_spec("onnxruntime"):
    import onnxruntime

    session = onnxruntime.InferenceSession(to_onnx(forest).SerializeToString())
    predictions["ONNX, float64"] = session.run(None, {"X": X[300:]})[0][:, 0]

# %%
# How far they are from the estimator's own predictions, which are about 150.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, values in predictions.items():
    ax.semilogy(np.sort(np.abs(np.asarray(values) - expected) + 1e-16), ".-", label=name)
ax.set(xlabel="test rows, sorted", ylabel="difference", title="Exported models")
if predictions:
    ax.legend()
