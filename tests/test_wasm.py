"""The npm package: built with Emscripten, and held against Python in Node.js and Chromium."""

import functools
import http.server
import json
import os
import re
import runpy
import shutil
import subprocess
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from boostforest import BoostForestRegressor, load_model
from browser import CHROMIUM
from model_files import GOLDEN
from test_c_header import NOT_EXPRESSED, table_for

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(shutil.which("emcc") is None or os.name == "nt", reason="needs Emscripten")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
MOST_BYTES = 100_000


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Return a folder with the package, built."""
    folder = tmp_path_factory.mktemp("package")
    done = subprocess.run([ROOT / "js" / "build.sh", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("index.js", "package.json"):
        shutil.copy(ROOT / "js" / name, folder)
    return folder


def ask(package, *questions):
    """Return what the package says of model files and rows in Node.js."""
    lines = "\n".join(json.dumps(question) for question in questions) + "\n"
    script = ROOT / "tests" / "js" / "predict.mjs"
    done = subprocess.run(["node", script, package], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def cell(value):
    """Return a value of a table as JSON has it: null is missing, large integers are not numbers there."""
    if value is None or value != value:
        return None
    if isinstance(value, int) and abs(value) > 2**53:
        return {"big": str(value)}
    return value if isinstance(value, str) else float(value)


def question(path, table, coverage=0.8):
    return {"path": str(path), "rows": [[cell(v) for v in row] for row in table.tolist()], "coverage": coverage}


def test_the_module_is_small(package):
    assert (package / "boostforest.wasm").stat().st_size < MOST_BYTES


@needs_node
def test_golden_files_predict_as_in_python(package):
    paths = [path for path in GOLDEN if path.stem not in NOT_EXPRESSED]
    models = [load_model(path) for path in paths]
    tables = [table_for(model)[0] for model in models]
    answers = ask(package, *map(question, paths, tables))
    for model, table, answer in zip(models, tables, answers, strict=True):
        assert "error" not in answer, answer
        with warnings.catch_warnings(action="ignore"):
            expected = model.predict(table)
            if hasattr(model, "classes_"):
                assert answer["predicted"] == list(map(str, expected.tolist()))
                assert answer["classes"] == list(map(str, model.classes_.tolist()))
                assert_allclose(answer["probabilities"], model.predict_proba(table), rtol=0, atol=1e-15)
            else:
                assert_allclose(answer["predicted"], expected, rtol=0, atol=1e-15 * np.abs(expected).max())
            if answer["intervals"] is not None:
                ends = model.predict_interval(table, 0.8, method="jackknife+")
                assert_allclose(answer["intervals"], ends, rtol=0, atol=4e-15 * np.abs(ends).max())
        assert len(answer["columns"]) == model.n_features_in_


@needs_node
def test_bad_files_and_rows_are_errors(package, tmp_path):
    content = GOLDEN[0].read_bytes()
    (tmp_path / "short.bf").write_bytes(content[:-5])
    (tmp_path / "text.bf").write_text("This is not a model.")
    monotone = next(path for path in GOLDEN if path.stem in NOT_EXPRESSED)
    table = next(path for path in GOLDEN if path.stem == "v2-table-regressor")
    j = next(iter(load_model(table)._model.features.encoder.categories))
    rows = table_for(load_model(table))[0][2:3]
    wrong = rows.copy()
    wrong[0, j] = 5 if isinstance(rows[0, j], str) else "text"
    short, text, cannot, few, no_rows, mixed = ask(
        package,
        {"path": str(tmp_path / "short.bf"), "rows": []},
        {"path": str(tmp_path / "text.bf"), "rows": []},
        {"path": str(monotone), "rows": []},
        {"path": str(GOLDEN[0]), "rows": [[1.0]]},
        {"path": str(GOLDEN[0]), "rows": None},
        question(table, wrong),
    )
    assert short == {"name": "BoostForestError", "status": 14, "error": short["error"]} and "checksum" in short["error"]
    assert text["status"] == 12 and cannot["error"] == "this header cannot predict with monotonic_cst"
    assert few["name"] == "TypeError" and re.match(r"row 0 must be an array of \d+ values; got 1", few["error"])
    assert no_rows["name"] == "TypeError"
    assert mixed["name"] == "TypeError" and re.search("must be (text|a number); got", mixed["error"])


@needs_node
def test_many_models_and_rows(package, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    forest = BoostForestRegressor(50, random_state=0).fit(X, X[:, 0] + rng.normal(size=600))
    forest.save_model(tmp_path / "model.bf")
    for answer in ask(package, *[question(tmp_path / "model.bf", X)] * 3):
        assert_allclose(answer["predicted"], forest.predict(X), rtol=1e-13, atol=1e-13)
        ends = forest.predict_interval(X, 0.8, method="jackknife+")
        assert_allclose(answer["intervals"], ends, rtol=1e-13, atol=1e-13)
        assert answer["nTrees"] == len(forest._model.seeds) and answer["categories"] == [None] * 5


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_page_predicts_in_a_browser(package, tmp_path):
    build = runpy.run_path(str(ROOT / "docs" / "browser" / "build.py"))["main"]
    build(tmp_path, package / "boostforest.wasm")
    forest = load_model(tmp_path / "model.bf")
    # A slider is moved once the page is ready; the texts before and after it are compared with Python.
    note = (
        'document.body.append("<<" + JSON.stringify([forest.columns.map((name) => '
        'Number(document.getElementById(name).value)), find("#result").textContent]) + ">>");'
    )
    move = 'const b = document.getElementById("bmi"); b.value = b.max;'
    move += 'b.dispatchEvent(new Event("input", { bubbles: true }));'
    ready = 'document.body.dataset.ready = "yes";'
    moved = (tmp_path / "index.html").read_text().replace(ready, note + move + note + ready)
    (tmp_path / "moved.html").write_text(moved)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/moved.html"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000", "--dump-dom"]
        command = [CHROMIUM, *options, f"--user-data-dir={tmp_path / 'profile'}", url]
        page = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    finally:
        server.shutdown()
        server.server_close()
    assert 'data-ready="yes"' in page, page[-3000:]
    notes = [json.loads(text) for text in re.findall("&lt;&lt;(.*?)&gt;&gt;", page)]
    assert len(notes) == 2 and notes[0] != notes[1]
    for row, said in notes:
        with warnings.catch_warnings(action="ignore"):  # it was fitted with names
            numbers = [*forest.predict([row]), *forest.predict_interval([row], 0.9, method="jackknife+")[0]]
        assert said == "Prediction {:.1f}; with 90 % probability from {:.1f} to {:.1f}".format(*numbers)
