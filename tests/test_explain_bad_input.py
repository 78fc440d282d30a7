"""What explanations refuse, in one sentence each."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from boostforest import BoostForestRegressor
from models import paper_classifier, paper_regressor

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
y = X[:, 0] + rng.normal(size=120)


@pytest.fixture(scope="module")
def forest():
    return paper_regressor(3).fit(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "logit"}, "output must be one of 'prediction', 'score', 'probability'; got 'logit'"),
        ({"output": ["score"]}, "output must be one of"),
        ({"output": "probability"}, "output='probability' needs a classifier; a regressor has"),
        ({"algorithm": "tree"}, "algorithm must be one of 'interventional', 'path'; got 'tree'"),
        ({"interactions": 2}, "interactions must be True or False; got 2"),
        ({"interactions": True, "algorithm": "path"}, "interactions=True needs algorithm='interventional'; got 'path'"),
        ({"background": X[:0]}, "background must have at least one row; got 0 rows"),
        ({"background": []}, "background must have at least one row; got 0 rows"),
        ({"background": X[:, :3]}, "background must be a table like that of the fit: X has 3 features"),
        ({"background": [["a"] * 4]}, "background must be a table like that of the fit: Column 0 of X holds text"),
    ],
)
def test_wrong_arguments_are_named(forest, arguments, message):
    with pytest.raises(ValueError, match=message):
        forest.explain(X[:2], **arguments)


def test_rows_are_read_as_predict_reads_them(forest):
    with pytest.raises(ValueError, match="X has 3 features, but BoostForestRegressor is expecting 4"):
        forest.explain(X[:2, :3])
    with pytest.raises(NotFittedError):
        BoostForestRegressor(preset="paper").explain(X[:2])


def test_isotonic_steps_of_many_classes_cannot_add_up():
    labels = np.searchsorted([-1, 1], y)
    forest = paper_classifier(20, calibrate="isotonic").fit(X, labels)
    for output in ("prediction", "score"):
        with pytest.raises(ValueError, match=f"output='{output}' of more than two classes cannot be explained after"):
            forest.explain(X[:2], output=output)


def test_too_many_interactions_are_refused():
    wide = rng.normal(size=(60, 13))
    message = "goes through all sets of the columns that node models see, and the sets of 13 columns are too many"
    for settings in ({}, {"node_model": "elm"}):
        forest = paper_regressor(2, **settings).fit(wide, wide[:, 0])
        with pytest.raises(ValueError, match=message):
            forest.explain(wide[:2], interactions=True)
    constant = paper_regressor(2, node_model="constant").fit(wide, wide[:, 0])
    assert constant.explain(wide[:2], interactions=True).values.shape == (2, 13, 13)


def test_more_memory_than_there_is_is_refused(forest, monkeypatch):
    monkeypatch.setattr("boostforest._base.memory.available_memory", lambda: 2**28)
    rows = np.zeros((900_000, 4))
    with pytest.raises(MemoryError, match="Explaining 900,000 rows with 16 interactions would take about"):
        forest.explain(rows, interactions=True)


def test_paths_need_trees_without_constraints():
    forest = paper_regressor(2, monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    with pytest.raises(ValueError, match="algorithm='path' needs trees without monotonic_cst"):
        forest.explain(X[:2], algorithm="path")


def test_models_in_python_are_not_explained():
    forest = paper_regressor(2, node_model=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="explain needs node models of the core"):
        forest.explain(X[:2])


@pytest.mark.parametrize(("package", "call"), [("shap", "to_shap"), ("pandas", "to_frame")])
def test_missing_packages_are_named_with_their_extra(forest, monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    extra = {"shap": "explain", "pandas": "frames"}[package]
    with pytest.raises(ImportError, match=rf'{call} needs {package}: pip install "boostforest\[{extra}\]"'):
        getattr(forest.explain(X[:2]), call)()


def test_ctrl_c_ends_an_explanation():
    code = """
import os, signal, threading, time
import numpy as np
from boostforest import BoostForestRegressor
X = np.random.default_rng(0).normal(size=(500, 12))
forest = BoostForestRegressor(50, random_state=0, n_jobs=2).fit(X, X[:, 0])
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    forest.explain(np.tile(X, (400, 1)), X)
except KeyboardInterrupt:
    print("ended" if time.perf_counter() - start < 30 else "late")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "ended", done.stderr
