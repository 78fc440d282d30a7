"""boostforest.h against Python: every golden file, forests of all kinds, and files that do harm to nobody."""

import json
import os
import subprocess
import warnings
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import boostforest
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, load_model
from fuzz_c import Header, build, compare, compilers, damaged_files
from model_files import GOLDEN, seal, split, tensors_of, with_entry, with_metadata, with_tensors
from models import forest_for, target_for

COMPILERS = [] if os.name == "nt" else compilers()
pytestmark = pytest.mark.skipif(
    not COMPILERS, reason="needs a C compiler with sanitizers, gcc or clang, on a system like Unix"
)
# Sums are added up in another order than the kernels of the core have, and exp is the C library's: a prediction differs
# by a few units in the last place of the largest number that it is made of.
GOLDEN_TOLERANCE = 1e-15
NOT_EXPRESSED = {"v2-monotone-classifier", "v2-monotone-regressor"}


@pytest.fixture(scope="module", params=["gcc", "clang"])
def program(request, tmp_path_factory):
    """Return the program that predicts rows, with warnings as errors and sanitizers."""
    if request.param not in COMPILERS:
        pytest.skip(f"{request.param} is not installed, or its sanitizers")
    return build(tmp_path_factory.mktemp(request.param), request.param, "predict.c")


@pytest.fixture(scope="module")
def one_program(tmp_path_factory):
    """Return the same by one compiler."""
    return build(tmp_path_factory.mktemp("one"), COMPILERS[-1], "predict.c")


def run(program, path, rows, coverage=0.8):
    """Return status, results, leaves, the status of the interval and the interval of rows."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    done = subprocess.run([program, path, str(coverage)], input=rows.tobytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    values = np.frombuffer(done.stdout)
    n_columns, n_results, n_trees = values[:3].astype(int)
    assert n_columns == rows.shape[1]
    values = values[3:].reshape(len(rows), -1)
    assert values.shape[1] == 1 + n_results + n_trees + 3
    return values[:, 0], values[:, 1 : 1 + n_results], values[:, 1 + n_results : -3], values[:, -3], values[:, -2:]


def compiled(main, folder):
    """Return the program of a main function that includes the header."""
    (folder / "main.c").write_text(main)
    flags = ["-std=c99", "-g", "-fsanitize=address,undefined", "-I", boostforest.get_include()]
    subprocess.run([COMPILERS[0], *flags, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    return folder / "main"


def said(program, content, tmp_path):
    """Return what the header says of bytes that it does not load."""
    path = tmp_path / "model.bf"
    path.write_bytes(content)
    done = subprocess.run([program, path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr.strip().partition(" ")[2]


def table_for(model, n=40, seed=0):
    """Return rows for a model, and the same with categories as numbers of their levels."""
    X = np.random.default_rng(seed).normal(size=(n, model.n_features_in_)) * 2
    X[::5, 0] = np.nan
    X[1::7, -1] = np.nan
    encoder = model._model.features.encoder
    if encoder is None:
        return X, X
    table, matrix = X.astype(object), X.copy()
    for j, column in encoder.categories.items():
        values = [*column.levels, None, "unknown" if column.is_text else 0.5]
        table[:, j] = [values[i % len(values)] for i in range(n)]
        matrix[:, j] = column.encode(table[:, j])
    return table, matrix


def assert_same(program, path, model, tolerance, X=None):
    table, matrix = table_for(model) if X is None else (X, X)
    with warnings.catch_warnings(action="ignore"):  # some were fitted with names of columns
        expected = model.predict_proba(table) if hasattr(model, "classes_") else model.predict(table)[:, None]
        leaves = model.apply(table).reshape(len(table), -1)
    status, results, found, interval_status, ends = run(program, path, matrix)
    assert not status.any()
    assert_array_equal(found, leaves)
    assert_allclose(results, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    known = model._model.known.left_out
    if known is None or len(known.residuals) == 0:
        assert (interval_status == 3).all()
        return
    with warnings.catch_warnings(action="ignore"):
        expected = model.predict_interval(table, 0.8, method="jackknife+")
    assert not interval_status.any()
    finite = np.isfinite(expected)
    assert_array_equal(ends[~finite], expected[~finite])
    assert_allclose(
        ends[finite], expected[finite], rtol=0, atol=4 * tolerance * np.abs(expected[finite]).max(initial=0)
    )


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_files_predict_as_in_python(program, path, tmp_path):
    if path.stem in NOT_EXPRESSED:
        assert said(program, path.read_bytes(), tmp_path) == "this header cannot predict with monotonic_cst"
        return
    assert_same(program, path, load_model(path), GOLDEN_TOLERANCE)


# ------------------------------------------------------------------------------------------------------- fitted forests


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_estimators": 50},
        {"dtype": "float32"},
        {"dtype": "float16", "missing_fill": "mean", "missing_indicator": True},
        {"dtype": "int8", "n_estimators": 40, "preset": "paper"},
        {"node_model": ["elm", "constant"], "scale": False},
        {"split_features": [0, 3], "model_features": [2, 1]},
    ],
    ids=lambda arguments: "-".join(arguments),
)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_forests_predict_as_in_python(one_program, rows, n_classes, arguments, tmp_path):
    X, y, labels = rows
    forest = forest_for(n_classes, **{"n_estimators": 8, "random_state": 0, "oob_score": True} | arguments)
    with warnings.catch_warnings(action="ignore"):  # some rows are drawn by all of so few trees
        forest.fit(X, target_for(n_classes, y, labels))
    forest.save_model(tmp_path / "model.bf")
    assert_same(one_program, tmp_path / "model.bf", forest, 1e-14, X[:40])


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie"])
def test_links_and_intervals_of_losses(one_program, rows, loss, tmp_path):
    X, y, _ = rows
    forest = BoostForestRegressor(20, loss=loss, oob_score=True, random_state=0).fit(X, np.maximum(y, 0.01))
    known = forest._model.known
    weight = np.random.default_rng(1).uniform(0.5, 2, len(known.left_out.residuals))
    left_out = replace(known.left_out, weight=weight)
    for kept in (known.left_out, left_out):
        forest._model = replace(forest._model, known=replace(known, left_out=kept))
        forest.save_model(tmp_path / "model.bf")
        assert_same(one_program, tmp_path / "model.bf", forest, 1e-14, X[:20])


@pytest.mark.parametrize("max_one_hot", [8, 0])
def test_categories(one_program, max_one_hot, tmp_path):
    rng = np.random.default_rng(0)
    X = np.empty((300, 4), dtype=object)
    X[:, 0], X[:, 1] = rng.normal(size=300), rng.choice(['B"o\\nn', "Köln", "𝄞", "", "Trier"], 300)
    X[:, 2], X[:, 3] = rng.choice([1, 2.5, 2**60 + 1], 300), rng.choice(["left", "right"], 300)
    X[::9, 1], X[::11, 2] = None, np.nan
    y = rng.integers(12, size=300)
    forest = BoostForestClassifier(5, categorical_features=[1, 2, 3], max_one_hot=max_one_hot, random_state=0).fit(X, y)
    forest.save_model(tmp_path / "model.bf")
    assert_same(one_program, tmp_path / "model.bf", forest, 1e-14)


def test_large_files_have_all_kinds_of_coded_columns(one_program, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6)).round(2)
    forest = BoostForestRegressor(60, dtype="int8", random_state=0).fit(X, X[:, 0] * X[:, 1] + rng.normal(size=2000))
    forest.save_model(tmp_path / "model.bf")
    content = (tmp_path / "model.bf").read_bytes()
    assert b'"coded.threshold"' in content and b'"coded.params"' in content
    assert_same(one_program, tmp_path / "model.bf", forest, 1e-14, X[:40])


# ------------------------------------------------------------------------------------------------------------ bad input


def test_rows_that_cannot_be_are_refused(one_program, tmp_path):
    path = next(path for path in GOLDEN if path.stem == "v2-table-regressor")
    _, matrix = table_for(load_model(path))
    j = next(iter(load_model(path)._model.features.encoder.categories))
    number = next(k for k in range(matrix.shape[1]) if k not in load_model(path)._model.features.encoder.categories)
    rows = np.repeat(matrix[2:3], 4, axis=0)
    rows[0, j], rows[1, j], rows[2, number] = 1000, 0.5, np.inf
    assert run(one_program, path, rows)[0].tolist() == [2, 2, 1, 0]


def test_rows_of_another_width_and_levels_of_another_column_are_refused(tmp_path):
    path = next(path for path in GOLDEN if path.stem == "v2-table-regressor")
    encoder = load_model(path)._model.features.encoder
    text = next(j for j, column in encoder.categories.items() if column.is_text)
    number = next(j for j in range(load_model(path).n_features_in_) if j not in encoder.categories)
    main = f"""
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"
int main(int argc, char** argv) {{
    bf_forest* f = bf_open(argv[argc - 1], NULL);
    double row[99], results[9], ends[2], *work = (double*)malloc(bf_work(f, 2) * sizeof(double));
    const size_t n = (size_t)f->n_columns, wrong[3] = {{0, n - 1, n + 1}};
    int32_t* leaves = (int32_t*)malloc(f->n_trees * sizeof(int32_t));
    for (int i = 0; i < 99; ++i) row[i] = NAN;
    for (int i = 0; i < 3; ++i) {{
        if (bf_predict(f, row, wrong[i], results, work) != BF_WIDTH) return 1;
        if (bf_predict_rows(f, row, 2, wrong[i], results, work, NULL) != BF_WIDTH) return 2;
        if (bf_apply(f, row, wrong[i], leaves, work) != BF_WIDTH) return 3;
        if (f->n_residuals > 0 && bf_interval(f, row, wrong[i], 0.5, ends, work) != BF_WIDTH) return 4;
    }}
    row[{text}] = bf_text_level(f, {text}, "unknown"); /* as in the estimator */
    if (!isnan(row[{text}]) || bf_predict(f, row, n, results, work) != BF_OK) return 5;
    row[{text}] = bf_number_level(f, {text}, 1);
    if (bf_predict(f, row, n, results, work) != BF_CATEGORY) return 6;
    row[{text}] = NAN, row[{number}] = bf_text_level(f, {number}, "unknown");
    if (bf_predict(f, row, n, results, work) != BF_INFINITE) return 7;
    if (bf_number_level(f, {number}, 1) != INFINITY || bf_text_level(f, -1, "a") != INFINITY) return 8;
    free(work), free(leaves);
    bf_close(f);
    return 0;
}}
"""
    program = compiled(main, tmp_path)
    assert subprocess.run([program, path], check=False).returncode == 0


def test_intervals_need_a_coverage_and_errors(one_program):
    path = next(path for path in GOLDEN if path.stem == "v2-stages-regressor")
    X = np.zeros((1, load_model(path).n_features_in_))
    assert [run(one_program, path, X, coverage)[3][0] for coverage in (0, 1, -1, np.nan, 0.5)] == [4, 4, 4, 4, 0]
    ends = run(one_program, path, X, 0.999999)[4]
    assert ends.tolist() == [[-np.inf, np.inf]]


def test_what_is_wrong_with_a_file_is_said(one_program, tmp_path):
    content = next(path for path in GOLDEN if path.stem == "v3-coded-regressor").read_bytes()

    def reason(content):
        return said(one_program, content, tmp_path)

    assert reason(b"") == reason(b"PK\x03\x04" * 10) == "it is not a model file of boostforest, or cut short"
    assert "checksum" in reason(content[:-1] + b"!") and "checksum" in reason(content[:-1])
    assert "newer format" in reason(with_metadata(content, format_version="9"))
    assert "networks" in reason(with_tensors(content, network=np.zeros(3, dtype=np.int64)))
    assert "does not know the loss" in reason(with_metadata(content, loss='{"gibbs":{}}'))
    assert "header of the file" in reason(with_entry(content, "feature_mean", dtype="F65"))
    assert "a tensor" in reason(with_tensors(content, feature_scale=None))
    assert "a tensor" in reason(with_metadata(content, coded='{"params":["U8",9]}'))
    done = subprocess.run(
        [one_program, tmp_path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "the file cannot be read" in done.stderr


def test_clip_ranges_coded_as_splits_are_refused(one_program, tmp_path):
    contents = [path.read_bytes() for path in GOLDEN if path.stem.endswith("regressor")]
    contents = [content for content in contents if b'"coded.lower"' in content and b'"monotonic_cst"' not in content]
    assert contents
    for content in contents:
        column = tensors_of(content)["coded.lower"].copy()
        for way in (1, 6):
            column[0] = way
            assert "a tensor" in said(one_program, with_tensors(content, **{"coded.lower": column}), tmp_path)


def test_tensors_that_predictions_do_not_need_are_left_alone(one_program, tmp_path):
    path = next(path for path in GOLDEN if path.stem == "v3-coded-regressor")
    (tmp_path / "model.bf").write_bytes(with_tensors(path.read_bytes(), another=np.zeros(3)))
    assert_same(one_program, tmp_path / "model.bf", load_model(path), GOLDEN_TOLERANCE)


def test_spaces_in_the_header_of_a_file_do_not_matter(one_program, tmp_path):
    path = next(path for path in GOLDEN if path.stem == "v3-coded-regressor")
    header, data = split(path.read_bytes())
    spaced = json.dumps(header, indent=1).replace('"sha256": "', '"sha256":"').encode()
    (tmp_path / "model.bf").write_bytes(seal(spaced, data))
    assert_same(one_program, tmp_path / "model.bf", load_model(tmp_path / "model.bf"), GOLDEN_TOLERANCE)


def test_dates_text_and_wide_sparse_matrices_are_refused_by_name(one_program, tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=300)
    texts = [f"{a} and {b} or {c}" for a, b, c in rng.integers(0, 99, (300, 3))]
    dates = pd.DataFrame({"day": days, "x": rng.normal(size=300)})
    free_text = pd.DataFrame({"said": texts, "x": rng.normal(size=300)})
    for table in (dates, free_text, sparse.random_array((300, 300), density=0.05, rng=0, format="csr")):
        forest = BoostForestRegressor(3, preset="paper", text="hash", random_state=0).fit(table, rng.normal(size=300))
        forest.save_model(tmp_path / "m.safetensors")
        content = (tmp_path / "m.safetensors").read_bytes()
        assert "dates, free text or a wide sparse matrix" in said(one_program, content, tmp_path)


def test_several_targets_are_refused_by_name(one_program, tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    for cls, targets in ((BoostForestRegressor, Y), (BoostForestClassifier, Y > 0)):
        cls(3, preset="paper", random_state=0).fit(X, targets).save_model(tmp_path / "m.safetensors")
        content = (tmp_path / "m.safetensors").read_bytes()
        assert "the model has several targets" in said(one_program, content, tmp_path)


def test_damaged_files_do_no_harm(tmp_path):
    """Quickly; ``make fuzz-c`` takes its time."""
    program = build(tmp_path, COMPILERS[0], "fuzz.c")
    done = subprocess.run([program, "1", "0", *map(str, GOLDEN)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) == 2000


def test_python_and_c_agree_on_damaged_files(tmp_path):
    header = Header(build(tmp_path, COMPILERS[0], "fuzz.c"))
    for _, content in islice(damaged_files(0), 250):
        compare(header, content, tmp_path / "damaged.safetensors")
    header.close()


# ------------------------------------------------------------------------------------------------------------ packaging


def test_one_header_is_where_it_is_said_to_be():
    assert [path.name for path in Path(boostforest.get_include()).iterdir()] == ["boostforest.h"]
    assert len((Path(boostforest.get_include()) / "boostforest.h").read_text().splitlines()) < 1000


def test_implementation_in_one_file_and_declarations_in_another(tmp_path):
    (tmp_path / "one.c").write_text('#define BOOSTFOREST_IMPLEMENTATION\n#include "boostforest.h"\n')
    (tmp_path / "two.c").write_text(
        '#include "boostforest.h"\nint main(void) { int s; return bf_load("", 0, &s) != 0 || s != BF_NOT_A_MODEL; }\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", boostforest.get_include()]
    subprocess.run([COMPILERS[0], *flags, "one.c", "two.c", "-o", "both", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "both"], check=True)


def test_labels_are_text(tmp_path):
    main = """
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"
#include <stdio.h>
int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        int32_t k;
        bf_forest* forest = bf_open(argv[i], NULL);
        for (k = 0; k < forest->n_classes; ++k) printf("%s\\n", forest->class_names[k]);
        for (k = 0; k < forest->n_columns; ++k) printf("%s\\n", forest->column_names[k]);
        bf_close(forest);
    }
    return 0;
}
"""
    program = compiled(main, tmp_path)
    X, expected = np.arange(12.0).reshape(6, 2), []
    kinds = [
        np.array(["a", "Ö𝄞", "ccc"]), np.array([-5, 0, 2**40]), np.array([-1, 0, 3], dtype=np.float32),
        np.array([-7.0, 3, 12345]), np.array([1, 2, 250], dtype=np.uint8), np.array([False, True, True]),
    ]  # fmt: skip
    for k, labels in enumerate(kinds):
        y = np.tile(labels, 2)
        with warnings.catch_warnings(action="ignore"):
            tree = BoostTreeClassifier(random_state=0).fit(X, y)
        tree.save_model(tmp_path / f"{k}.bf")
        expected += [*tree.classes_.tolist(), "x0", "x1"]
    files = [tmp_path / f"{k}.bf" for k in range(len(kinds))]
    found = subprocess.run([program, *files], capture_output=True, check=True).stdout.decode().splitlines()
    assert found == list(map(str, expected))
