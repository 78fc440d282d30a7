"""C source against the estimators that it was made from: compiled with all warnings and sanitizers, then run."""

import os
import shutil
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boostforest import BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, load_model
from boostforest._model.model import Stages
from boostforest.export import to_c
from fuzz_c import SANITIZERS, compilers
from models import forest_for, target_for

COMPILERS = [] if os.name == "nt" else compilers()
pytestmark = pytest.mark.skipif(
    not COMPILERS, reason="needs a C compiler with sanitizers, gcc or clang, on a system like Unix"
)
DATA = Path(__file__).parent / "data"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Reads rows of doubles; writes the status, the results and the leaves of each, all as doubles.
MAIN = """
#include "model.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    double row[MODEL_N_COLUMNS], result[MODEL_N_RESULTS] = {0};
    double *work = (double *)malloc(bf_work(&model, 1) * sizeof(double));
    int32_t *leaves = (int32_t *)calloc((size_t)model.n_trees, sizeof(int32_t)), t;
    while (fread(row, sizeof row, 1, stdin) == 1) {
        double status = model_predict(row, result, work);
        if (status == BF_OK && bf_apply(&model, row, MODEL_N_COLUMNS, leaves, work) != BF_OK) return 2;
        fwrite(&status, sizeof status, 1, stdout);
        fwrite(result, sizeof result, 1, stdout);
        for (t = 0; t < model.n_trees; ++t) {
            double leaf = leaves[t];
            fwrite(&leaf, sizeof leaf, 1, stdout);
        }
    }
    free(work);
    free(leaves);
    return 0;
}
"""


def compiled(folder, source, main=MAIN, compiler=None, standard="-std=c99", optimise="-O0"):
    """Return the program of a model and a main function."""
    (folder / "model.h").write_text(source, encoding="ascii")
    (folder / "main.c").write_text(main)
    command = [compiler or COMPILERS[0], standard, *WARNINGS, *SANITIZERS, optimise, "main.c", "-o", "main", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "main"


def run(program, rows, n_results):
    """Return status, results and leaves of rows."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    done = subprocess.run([program], input=rows.tobytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    values = np.frombuffer(done.stdout).reshape(len(rows), -1)
    return values[:, 0], values[:, 1 : 1 + n_results], values[:, 1 + n_results :]


def assert_same(folder, estimator, X, matrix=None, rtol=1e-13, dtype="float64", **options):
    """Compare a compiled model with its estimator; ``matrix``: the rows with categories as numbers."""
    is_classifier = hasattr(estimator, "classes_")
    n_results = len(estimator.classes_) if is_classifier else 1
    program = compiled(folder, to_c(estimator, dtype=dtype), **options)
    status, results, leaves = run(program, X if matrix is None else matrix, n_results)
    expected = estimator.predict_proba(X) if is_classifier else estimator.predict(X)[:, None]
    assert not status.any()
    assert_array_equal(leaves, estimator.apply(X).reshape(len(X), -1))
    assert_allclose(results, expected, rtol=rtol, atol=rtol * abs(expected).max())


def make(n_classes, arguments, n_trees=4):
    return forest_for(n_classes, n_trees, random_state=0, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"node_model": ["ridge", "constant"], "missing_fill": "mean", "missing_indicator": True},
        {"node_model": ["elm", "svr"], "scale": False},
        {"split_features": [0, 3], "model_features": [2, 1]},
    ],
    ids=["default", "constants", "elm", "roles"],
)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_predictions_are_the_same(tmp_path, rows, n_classes, arguments):
    X, y, labels = rows
    forest = make(n_classes, arguments).fit(X, target_for(n_classes, y, labels))
    assert_same(tmp_path, forest, X)


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson", "gamma", "tweedie", "aft"])
def test_other_losses_and_their_stages(tmp_path, rows, loss):
    X, y = rows[0], np.exp(rows[1] / 4)
    forest = make(0, {"loss": loss}).fit(X, np.column_stack([y, y < 1.5]) if loss == "aft" else y)
    for stages in (forest.stages_, Stages((2, 4), (1.0, 0.5))):
        forest._model = replace(forest._model, stages=stages)
        assert_same(tmp_path, forest, X, rtol=1e-12)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("optimise", ["-O1", "-O3"])
def test_compilers_have_no_warning(tmp_path, rows, compiler, optimise):
    if compiler not in COMPILERS:
        pytest.skip(f"{compiler} is not installed, or its sanitizers")
    X, y, _ = rows
    assert_same(tmp_path, BoostTreeRegressor(random_state=0).fit(X, y), X, compiler=compiler, optimise=optimise)


def test_a_header_of_cpp(tmp_path, rows):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    X, _, y = rows
    tree = BoostTreeClassifier(random_state=0).fit(X, y)
    assert_same(tmp_path, tree, X, compiler="g++", standard="-std=c++11")


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_stages(tmp_path, rows, n_classes):
    X, y, labels = rows
    forest = make(n_classes, {}).fit(X, target_for(n_classes, y, labels))
    forest._model = replace(forest._model, stages=Stages((2, 3, 4), (1.0, 0.5, 0.3)))
    assert_same(tmp_path, forest, X)


@pytest.mark.parametrize("calibrate", ["temperature", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration(tmp_path, rows, n_classes, calibrate):
    X, _, y = rows
    forest = make(n_classes, {"calibrate": calibrate, "oob_score": True}, 40).fit(X, np.minimum(y, n_classes - 1))
    assert not forest._model.calibration.is_identity
    assert_same(tmp_path, forest, X)


def test_floats_as_coefficients(tmp_path, rows):
    X, y, _ = rows
    forest = make(0, {"dtype": "float32"}).fit(X, y)
    assert_same(tmp_path, forest, X, dtype="float32")
    halves = make(0, {"dtype": "float16"}).fit(X, y)
    assert_same(tmp_path, halves, X)
    text = to_c(make(0, {}).fit(X, y), dtype="float32")
    assert "static const float model_params[]" in text and "static const double model_threshold[]" in text


def test_a_tree_without_a_split_and_a_single_class(tmp_path, rows):
    X, y, _ = rows
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        tree = BoostTreeRegressor(min_samples_leaf=500, random_state=0).fit(X, y)
    assert_same(tmp_path, tree, X)
    with pytest.warns(UserWarning, match="one class"):
        forest = make(2, {}, 2).fit(X, np.full(len(X), "one"))
    assert_same(tmp_path, forest, X)


@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
@pytest.mark.parametrize("arguments", [{}, {"max_one_hot": None}], ids=["means", "one-hot"])
def test_categories(tmp_path, arguments, together):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame({"area": rng.normal(size=n), "town": rng.choice(['B"o\\nn', "Köln", "??=", "Trier"], n)})
    X["side"], X["zone"] = rng.choice(["left", "right"], n), rng.choice([1, 2, 5.5, 7], n)
    act_alike = X["town"].isin(["Köln", "Trier"]) == (X["zone"] < 5)
    y = X["area"] + (6 * act_alike if together else 2 * (X["town"] == "Köln") + X["zone"])
    X["town"] = X["town"].astype(object).mask(np.arange(n) % 7 == 0, None)
    X.loc[::11, "zone"] = np.nan
    forest = BoostForestRegressor(
        5, categorical_features=["town", "side", "zone"], random_state=0, **arguments, preset="paper"
    )
    forest.fit(X, y)
    new = X.copy()
    new.loc[:4, "town"], new.loc[5:9, "zone"] = "Rom", 3.0
    names = ["area", "town", "side", "zone"]
    columns = forest._model.features.encoder.columns
    assert columns[1].ordered == columns[3].ordered == (together and "max_one_hot" not in arguments)
    matrix = np.column_stack(
        [new["area"], *(columns[j].encode([None if v != v else v for v in new[names[j]]]) for j in (1, 2, 3))]
    )
    assert_same(tmp_path, forest, new, matrix=matrix)
    program = compiled(tmp_path, to_c(forest), main=LEVELS)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    found = [float(word) for word in said]
    expected = columns[1].encode(['B"o\\nn', "Köln", "??=", "Trier", None, "Rom", ""]).tolist()
    expected += columns[3].encode([1, 2, 5.5, 7, None, 3]).tolist()
    assert_array_equal(found, expected)
    status, *_ = run(compiled(tmp_path, to_c(forest)), [[0, 9, 0, 0], [0, 0.5, 0, 0], [np.inf, 0, 0, 0]], 1)
    assert status.tolist() == [2, 2, 1]


LEVELS = r"""
#include "model.h"
#include <stdio.h>

int main(void) {
    const char *texts[] = {"B\"o\\nn", "K\303\266ln", "?\?=", "Trier", NULL, "Rom", ""};
    const double numbers[] = {1, 2, 5.5, 7, NAN, 3};
    for (int i = 0; i < 7; ++i) printf("%g\n", bf_text_level(&model, 1, texts[i]));
    for (int i = 0; i < 6; ++i) printf("%g\n", bf_number_level(&model, 3, numbers[i]));
    return 0;
}
"""


def test_two_models_in_one_program(tmp_path, rows):
    X, y, labels = rows
    (tmp_path / "other.h").write_text(to_c(make(0, {}, 2).fit(X, y), name="other"))
    main = '#include "other.h"\n' + MAIN.replace("return 2", "return other.n_trees")
    forest = make(3, {}, 2).fit(X, labels)
    assert_same(tmp_path, forest, X, main=main)


def test_golden_files(tmp_path):
    rng = np.random.default_rng(0)
    fed, expected, includes, calls = [], [], [], []
    with warnings.catch_warnings(action="ignore"):  # some were fitted with names of columns
        for k, path in enumerate(sorted(DATA.glob("v*.safetensors"))):
            estimator = load_model(path)
            if path.stem.startswith("v2-monotone"):
                with pytest.raises(ValueError, match="monotonic_cst"):
                    to_c(estimator)
                continue
            if path.stem.startswith(("v2-table", "v7-orders")):
                to_c(estimator)
                continue
            X = rng.normal(size=(20, estimator.n_features_in_)) * 2
            X[::5, 0] = np.nan
            values = estimator.predict_proba(X) if hasattr(estimator, "classes_") else estimator.predict(X)
            fed.append(X.ravel())
            expected.append(values.ravel())
            (tmp_path / f"golden{k}.h").write_text(to_c(estimator, name=f"golden{k}"))
            includes.append(f'#include "golden{k}.h"\n')
            calls.append(f"    run(&golden{k}, {values.size // 20});\n")
    main = "".join(includes) + GOLDEN + "int main(void) {\n" + "".join(calls) + "    return 0;\n}\n"
    program = compiled(tmp_path, "", main=main)
    done = subprocess.run([program], input=np.concatenate(fed).tobytes(), capture_output=True, check=True)
    assert_allclose(np.frombuffer(done.stdout), np.concatenate(expected), rtol=1e-13, atol=1e-13)


GOLDEN = """
#include <stdio.h>
#include <stdlib.h>

static void run(const bf_forest *forest, size_t n_results) {
    double *row = (double *)malloc((size_t)forest->n_columns * sizeof(double)), result[16];
    double *work = (double *)malloc(bf_work(forest, 1) * sizeof(double));
    for (int i = 0; i < 20; ++i) {
        if (fread(row, sizeof(double), (size_t)forest->n_columns, stdin) != (size_t)forest->n_columns) exit(3);
        if (bf_predict(forest, row, forest->n_columns, result, work) != BF_OK) exit(4);
        fwrite(result, sizeof(double), n_results, stdout);
    }
    free(row);
    free(work);
}

"""


def test_bad_arguments_are_refused(rows):
    forest = make(0, {}, 2).fit(*rows[:2])
    for name in ("int", "a b", "1st", "", 5):
        with pytest.raises(ValueError, match="name must be letters, digits and underscores"):
            to_c(forest, name=name)
    with pytest.raises(ValueError, match="dtype must be one of"):
        to_c(forest, dtype="float16")
