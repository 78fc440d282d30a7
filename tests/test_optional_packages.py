"""Without the optional packages everything can be imported that does not need them at once."""

import subprocess
import sys

OPTIONAL = (
    "torch", "xgboost", "lightgbm", "catboost", "matplotlib", "pandas", "polars", "pyarrow", "typer", "rich", "duckdb",
    "safetensors", "skops", "hypothesis", "pytest", "onnx", "onnxruntime", "skl2onnx", "shap",
    "fastapi", "google", "httpx", "mlflow",
)  # fmt: skip
# Private modules that are imported where a package is used, after a check that it is there.
NEED_THEM = (
    "boostforest._cli.",
    "boostforest._gpu.",
    "boostforest.export._",
    "boostforest.nodes._torch",
)
IMPORT_ALL = """
import importlib, pkgutil, sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"{name} is not installed")

sys.meta_path.insert(0, NotInstalled())
import boostforest
for module in pkgutil.walk_packages(boostforest.__path__, "boostforest."):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, "|", error)
"""


def test_only_modules_behind_a_check_need_optional_packages():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL, *OPTIONAL], capture_output=True, text=True, check=True
    )
    failed = done.stdout.splitlines()
    assert [line for line in failed if not line.startswith(NEED_THEM)] == []
    assert all(line.endswith("is not installed") for line in failed), failed
