"""The examples in other languages run, and print what Python does."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import boostforest
from boostforest import BoostForestClassifier, BoostForestRegressor

ROOT = Path(__file__).resolve().parents[1]
IN_C = ROOT / "examples" / "c"
INCLUDE = ["-I", boostforest.get_include()]
on_unix = pytest.mark.skipif(os.name == "nt", reason="needs a system like Unix")


# --------------------------------------------------------------------------------------------------- C, C++ and Rust


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return two forests and their files."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)).astype(object), rng.choice(["Bonn", "Köln"], 200)])
    y = X[:, 0] + (X[:, 2] == "Bonn")
    houses = BoostForestRegressor(50, categorical_features=[2], random_state=0).fit(X, y.astype(float))
    numbers = X[:, :2].astype(float)
    classes = BoostForestClassifier(5, random_state=0).fit(numbers, np.digitize(numbers[:, 0], [-0.5, 0.5]))
    houses.save_model(folder / "houses.bf")
    classes.save_model(folder / "classes.bf")
    return houses, classes, folder


def compile_with(folder, *command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


WRONG_WIDTH = "a row must have a value for each column of the model\n"


def run(program, *arguments):
    """Return what a program writes, or says if it fails."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


@on_unix
def test_the_example_in_c(models, tmp_path):
    houses, _, folder = models
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *INCLUDE]
    compile_with(tmp_path, "gcc", *flags, IN_C / "predict.c", "-o", "predict", "-lm")
    lines = run(tmp_path / "predict", folder / "houses.bf", 0.5, "-", "Köln").splitlines()
    row = np.array([[0.5, None, "Köln"]], dtype=object)
    assert_allclose(float(lines[0]), houses.predict(row)[0], rtol=1e-13)
    ends = lines[1].removeprefix("90% interval: ").split(" to ")
    assert_allclose(np.array(ends, dtype=float), houses.predict_interval(row, method="jackknife+")[0], rtol=1e-12)
    assert run(tmp_path / "predict", folder / "houses.bf", 1) == WRONG_WIDTH
    assert run(tmp_path / "predict", folder / "houses.bf", *range(99)) == WRONG_WIDTH
    assert run(tmp_path / "predict", tmp_path / "none.bf") == "the file cannot be read\n"


@on_unix
def test_the_example_in_cpp(models, tmp_path):
    _, classes, folder = models
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *INCLUDE]
    compile_with(tmp_path, "g++", *flags, IN_C / "predict.cpp", "-o", "predict")
    rows = [[0.5, 1.0], [-2.0, 0.25]]
    lines = run(tmp_path / "predict", folder / "classes.bf", *rows[0], *rows[1]).splitlines()
    found = [[float(word) for word in line.split()] for line in lines]
    assert_allclose(found, classes.predict_proba(rows), rtol=1e-13)
    assert run(tmp_path / "predict", folder / "classes.bf", 1) == "a row has 2 values\n"
    assert run(tmp_path / "predict", folder / "classes.bf", "inf", 1).startswith("a value of the row is infinite")


@on_unix
def test_the_example_in_rust(models, tmp_path):
    _, classes, folder = models
    compile_with(tmp_path, "gcc", "-std=c99", "-O2", *INCLUDE, "-c", IN_C / "boostforest.c")
    compile_with(tmp_path, "ar", "rcs", "libboostforest.a", "boostforest.o")
    compile_with(tmp_path, "rustc", IN_C / "predict.rs", "-L", ".", "-l", "static=boostforest", "-l", "m")
    found = [float(word) for word in run(tmp_path / "predict", folder / "classes.bf", 0.5, 1).split()]
    assert_allclose(found, classes.predict_proba([[0.5, 1.0]])[0], rtol=1e-13)
    assert run(tmp_path / "predict", folder / "classes.bf", 1) == WRONG_WIDTH
    assert run(tmp_path / "predict", folder / "none.bf", 1) == "the file cannot be read\n"
