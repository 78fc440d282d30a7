"""The structure of the source: imports only go downward, and a call opens few files."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import house

import boostforest

# From the bottom up; a part may import what stands above it in this list, and nothing else. Lazy and type-only
# imports count.
LAYERS = [
    "_core",
    "_base",
    "_gpu",
    "nodes",
    "_losses",
    "_features",
    "_model",
    "_explain",
    "_grow",
    "_files",
    "_estimator",
    "plot",
    "_report",
    "tree",
    "forest",
    "model_trees",
    "_pools",
    "pools",
    "named_forests",
    "export",
    "sources",
    "dask",
    "",
    "_cli",
    "__main__",
]
# Packages that take long to import; what few fits need is imported where it is used.
HEAVY = {f"sklearn.{name}" for name in ("compose", "isotonic", "linear_model", "metrics", "model_selection", "tree")}
HEAVY |= {"pandas", "polars", "pyarrow", "matplotlib", "torch", "scipy.stats"}
NEWLY_LOADED = """
import sys, sklearn.base, sklearn.utils.validation
before = set(sys.modules)
from boostforest import *
print(*set(sys.modules) - before)
"""
MOST_FILES = {"fit": 13, "predict": 7, "load_model": 9}


def part(module: str) -> str:
    return module.split(".")[0]


def test_imports_only_go_downward():
    wrong = [
        f"{module} imports {imported}"
        for module, all_imported in house.graph().items()
        for imported in all_imported
        if part(imported) != part(module) and LAYERS.index(part(imported)) > LAYERS.index(part(module))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle():
    assert house.knots(house.graph()) == []


def test_every_module_has_its_layer():
    assert {part(module) for module in house.modules()} <= set(LAYERS)
    assert len(list(house.SOURCE.glob("*.py"))) <= 10


def test_importing_the_package_loads_nothing_heavy_that_scikit_learns_base_does_not_load_itself():
    loaded = subprocess.run([sys.executable, "-c", NEWLY_LOADED], capture_output=True, text=True, check=True).stdout
    assert "boostforest.forest" in loaded.split()
    assert not HEAVY & set(loaded.split())


@pytest.fixture(scope="module")
def walks():
    pytest.importorskip("pandas")
    return house.walks()


@pytest.mark.parametrize("call", MOST_FILES)
def test_a_call_opens_few_files(walks, call):
    opened, _ = walks[call]
    assert len(opened) <= MOST_FILES[call], f"{call} opens {len(opened)} files: {', '.join(opened)}"


def test_the_core_knows_nothing_of_python():
    for path in (house.SOURCE.parent / "core").rglob("*.?pp"):
        assert not {"nanobind", "Python.h"} & set(path.read_text().replace("<", " ").replace(">", " ").split()), path


def test_import_of_the_package_waits_for_no_other_package():
    code = "import sys, boostforest; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numpy", "scipy", "sklearn"} & set(loaded)


def test_every_public_name_is_loaded_when_it_is_asked_for():
    assert set(boostforest.__all__) <= set(dir(boostforest))
    for name in boostforest.__all__:
        assert getattr(boostforest, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'BoostForst'"):
        _ = boostforest.BoostForst
