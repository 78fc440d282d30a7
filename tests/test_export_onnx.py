"""ONNX models against the estimators that they were made from: the same leaves, the same predictions."""

import contextlib
import copy
import doctest
import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import boostforest
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, export
from boostforest._files import coding
from boostforest._model.model import Stages
from boostforest.export import to_onnx
from models import forest_for, paper_classifier, paper_regressor, target_for

onnx = pytest.importorskip("onnx", reason="needs onnx: pip install 'boostforest[onnx]'")
ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
from onnx.reference import ReferenceEvaluator  # noqa: E402

from boostforest.export._features import _largest_floats  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:min_samples_leaf=.* needs at least:UserWarning"),
    pytest.mark.filterwarnings("ignore:LinearSVR failed to converge"),
]

DATA = Path(__file__).parent / "data"
RTOL = {"float64": 1e-12, "float32": 1e-6}


def session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, feed):
    """Return what ONNX Runtime gives, by name."""
    own = session(model)
    return dict(zip([output.name for output in own.get_outputs()], own.run(None, feed), strict=True))


def refer(model, feed):
    """Return what ONNX's reference evaluator gives, by name."""
    evaluator = ReferenceEvaluator(model)
    return dict(zip(evaluator.output_names, evaluator.run(None, feed), strict=True))


def as_stored(estimator, dtype):
    """Return the estimator as the ONNX model keeps its coefficients."""
    stored = copy.copy(estimator)
    if estimator.forest_.dtype == np.float64:
        stored._model = replace(estimator._model, columns=estimator.forest_.astype(dtype))
    return stored


def predicted(estimator, X):
    return estimator.predict_proba(X) if hasattr(estimator, "classes_") else estimator.predict(X)[:, None]


def leaves_of(estimator, X):
    return estimator.apply(X).reshape(len(X), -1)


def assert_same(found, estimator, X, dtype):
    """Compare outputs, by name, with what the estimator says of the same rows."""
    assert_array_equal(found["leaves"], leaves_of(estimator, X))
    expected = predicted(as_stored(estimator, dtype), X)
    values = found["probabilities" if hasattr(estimator, "classes_") else "variable"]
    assert values.dtype == dtype
    assert_allclose(values, expected, rtol=RTOL[dtype], atol=1e-12 * abs(expected).max())
    if hasattr(estimator, "classes_"):
        assert_array_equal(found["label"], as_stored(estimator, dtype).predict(X))


def on_thresholds(estimator, X, dtype):
    """Return rows whose values are thresholds of the trees, and the numbers on both sides of them."""
    forest, mean, scale = estimator.forest_, estimator.feature_mean_, estimator.feature_scale_
    rows = []
    for node in np.flatnonzero(forest.feature >= 0)[:100]:
        j = forest.feature[node]
        column = j if estimator.encoder_ is None else estimator.encoder_.origin[j]
        if estimator.encoder_ is None or j not in estimator.encoder_.marks:
            at = np.array(mean[j] + scale[j] * forest.threshold[node], dtype=dtype)
            for value in (np.nextafter(at, -at.dtype.type(np.inf)), at, np.nextafter(at, at.dtype.type(np.inf))):
                rows.append(X[node % len(X)].copy())
                rows[-1][column] = value
    return np.array(rows, dtype=dtype) if rows else X[:1].astype(dtype)


# ---------------------------------------------------------------------------------------------- any table, any settings

COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, 0.1),
    "ties": lambda rng, n: rng.integers(0, 3, size=n).astype(float),
    "huge": lambda rng, n: 1e8 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-8 * rng.normal(size=n),
    "far": lambda rng, n: 1e8 + rng.normal(size=n),
}


@st.composite
def tables(draw, kinds):
    """Draw a table, half of the time with missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(10, 80))
    X = np.column_stack([COLUMNS[k](rng, n) for k in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))])
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    return rng, X


SETTINGS = st.fixed_dictionaries(
    {
        "node_model": st.sampled_from(["ridge", "ridge", "constant", "elm", "svr"]),
        "min_samples_leaf": st.sampled_from([1, 3, 8, 50]),
        "max_leaf_nodes": st.sampled_from([None, None, 2, 5]),
        "scale": st.booleans(),
        "clip": st.booleans(),
        "missing_fill": st.sampled_from(["mean", "linear"]),
        "missing_indicator": st.sampled_from([False, True, "auto"]),
        "dtype": st.sampled_from(["float64", "float64", "float32", "float16", "int8"]),
        "random_state": st.integers(0, 2**32 - 1),
    }
)
HOW = st.fixed_dictionaries({"dtype": st.sampled_from(["float64", "float32"]), "ml_opset": st.sampled_from([5, 5, 3])})


def target(rng, X, n_classes):
    y = np.nan_to_num(X).sum(axis=1) / (1 + abs(np.nan_to_num(X)).max()) + rng.normal(size=len(X))
    return ranked(y, n_classes)


def ranked(y, n_classes):
    """Return classes of about the same size, in the order of some numbers; for 0 classes these."""
    return y if n_classes == 0 else np.argsort(np.argsort(y)) * n_classes // len(y)


def make(n_classes, n_trees, arguments):
    """Return an estimator for so many classes, 0 for regression; a tree if there is one."""
    arguments = {name: value for name, value in arguments.items() if name != "clip" or n_classes == 0}
    if n_trees == 1:
        return (BoostTreeClassifier if n_classes else BoostTreeRegressor)(**arguments)
    return forest_for(n_classes, n_trees, **arguments)


@settings(max_examples=40)
@given(tables(list(COLUMNS)), SETTINGS, HOW, st.sampled_from([0, 2, 3]), st.sampled_from([1, 3]))
def test_each_row_reaches_the_same_leaf_on_thresholds_too(table, arguments, how, n_classes, n_trees):
    rng, X = table
    if arguments["dtype"] in ("float16", "int8"):
        arguments["dtype"] = "float32"  # these values are too large for float16, and for ranges with int8
    estimator = make(n_classes, n_trees, arguments).fit(X, target(rng, X, n_classes))
    rows = np.vstack([X, X * rng.normal(scale=3, size=X.shape)]).astype(how["dtype"])
    rows = np.vstack([rows, on_thresholds(estimator, X, how["dtype"])])
    found = run(to_onnx(estimator, leaves=True, **how), {"X": rows})
    assert_array_equal(found["leaves"], leaves_of(estimator, rows))


@settings(max_examples=60)
@given(tables(["normal", "normal", "ties", "constant"]), SETTINGS, HOW, st.sampled_from([0, 2, 4]))
def test_predictions_are_the_same_for_any_task_and_settings(table, arguments, how, n_classes):
    rng, X = table
    arguments |= {"node_model": [arguments["node_model"], "constant"]}
    estimator = make(n_classes, 4, arguments).fit(X, target(rng, X, n_classes))
    rows = np.vstack([X, 2 * X]).astype(how["dtype"])
    model = to_onnx(estimator, leaves=True, **how)
    onnx.checker.check_model(model, full_check=True)
    assert_same(run(model, {"X": rows}), estimator, rows, how["dtype"])


@settings(max_examples=15)
@given(tables(["normal", "ties"]), SETTINGS, st.sampled_from(["float64", "float32"]), st.sampled_from([0, 2, 3]))
def test_the_reference_evaluator_gives_the_same(table, arguments, dtype, n_classes):
    rng, X = table
    estimator = make(n_classes, 2, arguments).fit(X, target(rng, X, n_classes))
    model, rows = to_onnx(estimator, dtype, leaves=True), X[:8].astype(dtype)
    assert_same(refer(model, {"X": rows}), estimator, rows, dtype)


@settings(max_examples=4)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["float64", "float32"]),
    st.sampled_from([0, 2, 3]),
    st.sampled_from([False, "temperature", "isotonic"]),
    st.sampled_from(["float64", "float32", "int8"]),
    st.booleans(),
)
def test_boosted_and_calibrated_forests(seed, dtype, n_classes, calibrate, coefficients, with_missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 2].round(1)
    y = np.sign(X[:, 0] * X[:, 1]) + 0.2 * rng.normal(size=300)
    X[:, :2][rng.random((300, 2)) < 0.1 * with_missing] = np.nan
    arguments = {"calibrate": calibrate} if n_classes else {}
    forest = forest_for(n_classes, 30, boost=True, dtype=coefficients, random_state=seed, **arguments)
    forest.fit(X, ranked(y, n_classes))
    rows = np.vstack([X[:50].astype(dtype), on_thresholds(forest, X, dtype)])
    model = to_onnx(forest, dtype, leaves=True)
    assert_same(run(model, {"X": rows}), forest, rows, dtype)
    assert_same(refer(model, {"X": rows[:1]}), forest, rows[:1], dtype)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3)


@settings(max_examples=25)
@given(
    tables(["normal", "ties"]),
    st.lists(WORDS, min_size=1, max_size=6, unique=True),
    SETTINGS,
    st.sampled_from([None, 0, 3]),
    HOW,
    st.sampled_from([0, 2, 3]),
)
def test_tables_with_text_and_numbers_as_categories(table, words, arguments, max_one_hot, how, n_classes):
    pd = pytest.importorskip("pandas")
    rng, X = table
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    level = rng.integers(len(words), size=len(X))
    frame["text"] = pd.Series([words[k] for k in level], dtype=object)
    frame["number"] = rng.integers(4, size=len(X)) / 2
    frame.loc[rng.random(len(X)) < 0.2, "text"] = None
    frame.loc[rng.random(len(X)) < 0.2, "number"] = np.nan
    y = target(rng, X + level[:, None], n_classes)
    arguments |= {"categorical_features": ["text", "number"], "max_one_hot": max_one_hot}
    if frame["text"].isna().all():
        return  # neither text nor numbers
    estimator = make(n_classes, 3, arguments).fit(frame, y)
    rows = frame.astype({name: how["dtype"] for name in frame if name != "text"})
    rows.loc[:2, "text"], rows.loc[3:5, "number"] = "".join(words) + "?", 7.0  # unknown ones
    model = to_onnx(estimator, leaves=True, **how)
    assert_same(run(model, by_column(rows, how["dtype"])), estimator, rows, how["dtype"])
    if how["ml_opset"] == 5:  # the reference evaluator does not read doubles of older trees
        assert_same(refer(model, by_column(rows[:6], how["dtype"])), estimator, rows[:6], how["dtype"])


# ------------------------------------------------------------------------------ what a forest may have beside its trees


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("calibrate", ["temperature", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_and_calibration(rows, n_classes, calibrate, dtype):
    X, _, y = rows
    forest = paper_classifier(60, n_stages=2, calibrate=calibrate)
    forest.fit(X, np.minimum(y, n_classes - 1))
    assert len(forest._model.stages) > 1 and not forest._model.calibration.is_identity
    X = X.astype(dtype)
    assert_same(run(to_onnx(forest, dtype, leaves=True), {"X": X}), forest, X, dtype)


@pytest.mark.parametrize("ml_opset", [5, 3])
@pytest.mark.parametrize("node_model", ["ridge", "constant", "elm", ["ridge", "constant"]])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_later_stages_add_their_share_to_the_scores(rows, n_classes, node_model, ml_opset):
    X, y, labels = rows
    forest = make(n_classes, 12, {"node_model": node_model, "random_state": 0})
    forest.fit(X, target_for(n_classes, y, labels))
    forest._model = replace(forest._model, stages=Stages((6, 9, 12), (1.0, 0.5, 0.3)))
    assert_same(run(to_onnx(forest, leaves=True, ml_opset=ml_opset), {"X": X}), forest, X, "float64")


def test_trees_of_constants_are_added_up_by_the_operator_itself(rows):
    X, y, _ = rows
    model = to_onnx(paper_regressor(10, node_model="constant").fit(X, y))
    assert "Gather" not in {node.op_type for node in model.graph.node}


def test_no_node_has_a_leaf_and_a_node_of_the_same_number(rows):
    # ONNX Runtime 1.21 takes such a node for a leaf, and gives something else in silence.
    X, y, _ = rows
    for seed in range(10):
        forest = BoostForestRegressor(3, min_samples_leaf=[5, 40, 200], random_state=seed, preset="paper").fit(X, y)
        for node in to_onnx(forest, leaves=True).graph.node:
            if node.op_type == "TreeEnsemble":
                found = {attribute.name: attribute.ints for attribute in node.attribute}
                assert not set(zip(*(found[f"nodes_{side}nodeids"] for side in ("true", "false")), strict=True)) & {
                    (number, number) for number in range(len(found["leaf_targetids"]))
                }


def test_roles_of_columns(rows):
    X, y, _ = rows
    forest = paper_regressor(5, split_features=[0, 3], model_features=[2, 1]).fit(X, y)
    assert_same(run(to_onnx(forest, leaves=True), {"X": X}), forest, X, "float64")


@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "ü"], [False, True], [3, 7, 11], [0.0, 2.0], ["one"]])
def test_labels_come_back_as_they_were(rows, labels):
    X, _, y = rows
    y = np.array(labels)[np.minimum(y, len(labels) - 1)]
    with pytest.warns(UserWarning, match="one class") if len(labels) == 1 else contextlib.nullcontext():
        forest = paper_classifier(3).fit(X, y)
    assert_same(run(to_onnx(forest, leaves=True), {"X": X}), forest, X, "float64")


def test_many_missing_values_are_filled_as_the_core_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) @ rng.normal(size=(30, 30))
    y = X[:, :3].sum(axis=1)
    X[rng.random(X.shape) < 0.4] = np.nan
    X[:2] = np.nan  # nothing is known
    tree = BoostTreeRegressor(random_state=0).fit(X, y)
    assert tree.fill_ is not None
    rows = np.vstack([X[:20], np.nan_to_num(X[20:22])])
    found = run(to_onnx(tree, leaves=True), {"X": rows})
    assert_array_equal(found["leaves"], leaves_of(tree, rows))
    assert_allclose(found["variable"][:, 0], tree.predict(rows), rtol=1e-10)
    assert run(to_onnx(tree), {"X": rows[20:]})["variable"].shape == (2, 1), "no row has a missing value"
    assert run(to_onnx(tree), {"X": rows[:0]})["variable"].shape == (0, 1)


# ----------------------------------------------------------------------------------------------------------- categories


@pytest.fixture(scope="module")
def table():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"area": rng.normal(size=n), "rooms": rng.integers(1, 7, n).astype(float)})
    frame["town"] = rng.choice(["Bonn", "Köln", "Aachen", "Trier", "Mainz"], n)
    frame["side"] = rng.choice(["left", "right"], n)
    frame["zone"] = rng.choice([1, 2, 5.5, 7], n)
    y = frame["area"] + 2 * (frame["town"] == "Köln") + frame["zone"] + 0.1 * rng.normal(size=n)
    frame.loc[::9, "rooms"] = np.nan
    frame.loc[::7, "town"] = None
    frame.loc[::11, "zone"] = np.nan
    return frame.astype({"town": object, "side": object}), y.to_numpy()


def by_column(frame, dtype="float64"):
    """Return the inputs of a model with categories."""
    feed = {}
    for name, column in frame.items():
        is_text = column.dtype == object
        values = column.where(column.notna(), "").to_numpy(object) if is_text else column.to_numpy(dtype)
        feed[name] = values[:, None]
    return feed


def unseen(frame):
    """Return the table with categories that the fit has not seen."""
    changed = frame.copy()
    changed.loc[:4, "town"], changed.loc[5:9, "zone"], changed.loc[10:12, "side"] = "Rom", 3.0, None
    return changed


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("arguments", [{}, {"max_one_hot": None, "missing_indicator": True}, {"max_one_hot": 0}])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_categories_are_text_and_numbers_as_in_the_table(table, n_classes, arguments, dtype):
    X, y = table
    y = np.digitize(y, np.quantile(y, [0.3, 0.7])) if n_classes else y
    forest = forest_for(n_classes, 4, categorical_features=["town", "side", "zone"], random_state=0, **arguments).fit(
        X, y
    )
    rows = unseen(X).astype({"area": dtype, "rooms": dtype})
    model = to_onnx(forest, dtype, leaves=True)
    assert [given.name for given in model.graph.input] == list(X)
    found = run(model, by_column(rows, dtype))
    assert_same(found, forest, rows, dtype)
    few = rows[:15]
    assert_same(refer(model, by_column(few, dtype)), forest, few, dtype)


def test_categories_that_act_together_are_exported(table):
    X, _ = table
    y = X["area"] * np.where(X["town"].isin(sorted(X["town"].dropna().unique())[::2]), 1, -1)
    forest = BoostForestRegressor(4, categorical_features=["town", "side", "zone"], random_state=0).fit(X, y)
    assert forest.encoder_.columns[list(X).index("town")].ordered
    rows = unseen(X)
    assert_same(run(to_onnx(forest, leaves=True), by_column(rows)), forest, rows, "float64")


def test_columns_without_names_are_numbered(table):
    X, y = table
    forest = paper_regressor(3, categorical_features=[2, 3]).fit(X.to_numpy(object), y)
    feed = {f"x{j}": values for j, values in enumerate(by_column(X).values())}
    found = run(to_onnx(forest, leaves=True), feed)
    assert_same(found, forest, X.to_numpy(object), "float64")


def test_a_category_that_floats_cannot_be_equal_to_is_refused(table):
    X, y = table
    X = X.assign(zone=X["zone"] + 0.1)
    forest = paper_regressor(3, categorical_features=["town", "side", "zone"]).fit(X, y)
    with pytest.raises(ValueError, match=r"'zone' has the category 1\.1, .* float32 cannot be equal to"):
        to_onnx(forest, "float32")
    assert_same(run(to_onnx(forest, leaves=True), by_column(X)), forest, X, "float64")


def test_a_column_that_was_all_missing(table):
    X, y = table
    X = X.assign(nothing=np.full(len(X), None, dtype=object))[["area", "nothing"]]
    forest = paper_regressor(3, categorical_features=["nothing"]).fit(X, y)
    feed = {"area": X[["area"]].to_numpy(), "nothing": np.full((len(X), 1), np.nan)}
    assert_same(run(to_onnx(forest, leaves=True), feed), forest, X, "float64")


# ---------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("path", sorted(DATA.glob("v*.safetensors")), ids=lambda path: path.stem)
def test_golden_files_convert_or_are_refused(path):
    estimator = boostforest.load_model(path)
    refused = {"v2-monotone": "monotonic_cst", "v2-table": "the category 1152921504606846977, which"}
    reason = next((text for name, text in refused.items() if path.stem.startswith(name)), None)
    if reason is not None:
        with pytest.raises(ValueError, match=reason):
            to_onnx(estimator)
        return
    model = to_onnx(estimator, leaves=True)
    onnx.checker.check_model(model, full_check=True)
    if estimator.encoder_ is not None:
        return  # columns of text have tests of their own
    X = np.random.default_rng(0).normal(size=(50, estimator.n_features_in_)) * 2
    X[::5, 0] = np.nan
    with warnings.catch_warnings(action="ignore"):  # some were fitted with names of columns
        assert_same(run(model, {"X": X}), estimator, X, "float64")


@pytest.mark.parametrize("arguments", [{"node_model": name} for name in ("ridge", "constant", "elm")] + [{}], ids=str)
@pytest.mark.parametrize("n_classes", [0, 2, 5])
@pytest.mark.parametrize("n_columns", [1, 10])
def test_a_file_is_not_much_larger_than_the_model_file(tmp_path, monkeypatch, n_columns, n_classes, arguments):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, n_columns))
    n_trees = 50 if arguments else 100  # enough for boosted stages
    forest = forest_for(n_classes, n_trees, random_state=0, dtype="float32", **arguments).fit(
        X, target(rng, X, n_classes)
    )
    if arguments.get("node_model", "ridge") != "ridge":
        monkeypatch.setattr(coding, "_SMALL", np.inf)  # coded, thresholds take a few bits; in ONNX they are doubles
    assert_about_as_large(forest, tmp_path)


def assert_about_as_large(forest, folder):
    """Compare an ONNX file with the model file."""
    forest.save_model(folder / "model.safetensors", dtype="float32")
    export.save_onnx(to_onnx(forest, "float32"), folder / "model.onnx")
    sizes = [(folder / f"model.{suffix}").stat().st_size for suffix in ("onnx", "safetensors")]
    assert sizes[0] < 1.3 * sizes[1], sizes


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_file_of_boosted_trees_is_not_much_larger_either(tmp_path, n_classes, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=1200)
    forest = forest_for(n_classes, 40, boost=True, dtype=dtype, random_state=0)
    with warnings.catch_warnings(action="ignore"):  # a row is drawn by all trees
        forest.fit(X, ranked(y, n_classes))
    assert np.mean(forest.forest_.kind == 0) > 0.5, "the example must have boosted trees"
    assert_about_as_large(forest, tmp_path)


STORED = ["int8", "float32"]


@pytest.fixture(scope="module")
def boosted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)).astype(np.float32)
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=600)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = {k: np.argsort(np.argsort(y)) * k // 600 for k in (2, 3)}
    return X, {
        (k, dtype): BoostForestClassifier(30, boost=True, dtype=dtype, random_state=0).fit(X, labels[k])
        for k in labels
        for dtype in STORED
    }


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_with_few_splits_are_tables(boosted, n_classes, dtype, stored):
    X, forest = boosted[0], boosted[1][n_classes, stored]
    model = to_onnx(forest, dtype, leaves=True)
    assert "If" in {node.op_type for node in model.graph.node}
    rows = np.vstack([X[:100], on_thresholds(forest, X, dtype)]).astype(dtype)
    for some in (rows[~np.isnan(rows).any(axis=1)], rows):  # all bits at once, and bit by bit
        assert_same(run(model, {"X": some}), forest, some, dtype)
        assert_same(refer(model, {"X": some[:5]}), forest, some[:5], dtype)


@given(
    st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), st.booleans()
)
def test_floats_go_to_the_side_of_their_scaled_doubles(mean, scale, thresholds, is_on_a_float):
    threshold = np.array(thresholds)
    if is_on_a_float:
        threshold = (np.float64(np.float32(threshold * scale + mean)) - mean) / scale
    largest = _largest_floats(np.full(len(threshold), mean), np.full(len(threshold), scale), threshold)
    above = np.nextafter(largest, np.float32(np.inf))
    assert ((largest.astype(np.float64) - mean) / scale <= threshold).all()
    assert ((above.astype(np.float64) - mean) / scale > threshold).all()


@pytest.mark.parametrize("n_classes", [0, 3])
def test_coefficients_of_one_byte_stay_so(rows, n_classes):
    X, y, labels = rows
    arguments = {"node_model": "ridge", "random_state": 0, "preset": "paper"}
    short, long = (
        make(n_classes, 10, arguments | {"dtype": dtype}).fit(X, labels if n_classes else y)
        for dtype in ("int8", "float32")
    )
    for dtype in ("float64", "float32"):
        model = to_onnx(short, dtype, leaves=True)
        assert_same(run(model, {"X": X.astype(dtype)}), short, X.astype(dtype), dtype)
        assert onnx.TensorProto.INT8 in {constant.data_type for constant in model.graph.initializer}
        assert model.ByteSize() < 0.85 * to_onnx(long, dtype, leaves=True).ByteSize()


def test_a_saved_file_is_the_model_in_fewer_bytes(tmp_path, rows):
    X, _, y = rows
    forest = paper_classifier(20, node_model="constant").fit(X, y > 0)
    model = to_onnx(forest, leaves=True)
    export.save_onnx(model, str(tmp_path / "model.onnx"))
    assert (tmp_path / "model.onnx").stat().st_size < 0.85 * model.ByteSize()
    assert onnx.load(tmp_path / "model.onnx") == model
    found = ort.InferenceSession(tmp_path / "model.onnx").run(["probabilities", "leaves"], {"X": X})
    assert_allclose(found[0], forest.predict_proba(X), rtol=1e-12)
    assert_array_equal(found[1], forest.apply(X))


def test_what_cannot_be_saved_is_refused(tmp_path, rows, monkeypatch):
    X, y, _ = rows
    tree = BoostTreeRegressor(random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"must be an onnx\.ModelProto, such as to_onnx gives; got BoostTreeRegressor"):
        export.save_onnx(tree, tmp_path / "model.onnx")
    monkeypatch.setattr("boostforest.export._packed.LARGEST", 1000)
    with pytest.raises(ValueError, match="larger than the 2 GB of an ONNX file"):
        export.save_onnx(to_onnx(tree), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_model_says_where_it_comes_from(rows):
    X, y, _ = rows
    model = to_onnx(BoostTreeRegressor(random_state=0).fit(X, y))
    assert (model.producer_name, model.producer_version) == ("boostforest", boostforest.__version__)
    assert model.graph.name == "BoostTreeRegressor"
    assert json.loads({p.key: p.value for p in model.metadata_props}["columns"]) == ["x0", "x1", "x2", "x3"]


def test_the_same_forest_gives_the_same_bytes(rows):
    X, y, _ = rows
    forests = [paper_regressor(5, n_jobs=n).fit(X, y) for n in (1, 2)]
    first, second = (to_onnx(forest).SerializeToString(deterministic=True) for forest in forests)
    assert first == second


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "poisson", "gamma", "tweedie", "aft"])
def test_other_losses_and_their_stages(rows, loss):
    X, y = np.nan_to_num(rows[0]), np.exp(rows[1] / 4)
    target = np.column_stack([y, y < 1.5]) if loss == "aft" else y
    forest = paper_regressor(4, loss=loss).fit(X, target)
    for stages in (forest.stages_, Stages((2, 4), (1.0, 0.5))):
        forest._model = replace(forest._model, stages=stages)
        assert_same(run(to_onnx(forest, leaves=True), {"X": X}), forest, X, "float64")


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("convert", [to_onnx, export.to_c])
def test_what_cannot_be_converted_is_refused(rows, convert):
    X, y = np.nan_to_num(rows[0]), rows[1]
    for given_settings, message in (
        ({"node_model": Ridge()}, "node models in Python"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst"),
    ):
        with pytest.raises(ValueError, match=message):
            convert(paper_regressor(2, **given_settings).fit(X, y))


def test_bad_arguments_are_refused(rows):
    X, y, _ = rows
    tree = BoostTreeRegressor(random_state=0)
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(tree)
    tree.fit(X, y)
    with pytest.raises(TypeError, match="got Pipeline: pipelines are converted by skl2onnx"):
        to_onnx(make_pipeline(tree))
    with pytest.raises(ValueError, match="dtype must be one of 'float64', 'float32'; got 'float16'"):
        to_onnx(tree, dtype="float16")
    with pytest.raises(ValueError, match="ml_opset must be 5 or 3; got 4"):
        to_onnx(tree, ml_opset=4)


def test_trees_beyond_the_whole_numbers_of_floats_need_the_newer_operators(rows, monkeypatch):
    X, y, _ = rows
    tree = BoostTreeRegressor(random_state=0).fit(X, y)
    monkeypatch.setattr("boostforest.export._trees.EXACT_IN_FLOATS", 5)
    with pytest.raises(ValueError, match=r"too large for version 3 of ai\.onnx\.ml"):
        to_onnx(tree, ml_opset=3)
    to_onnx(tree)


# ------------------------------------------------------------------------------------------------------------ pipelines


@pytest.fixture(scope="module")
def skl2onnx():
    module = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    export.register_skl2onnx()
    return module


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_forest_behind_a_scaler(skl2onnx, rows, n_classes, dtype):
    X, y, labels = rows
    y = target_for(n_classes, y, labels)
    pipeline = make_pipeline(StandardScaler(), forest_for(n_classes, 5, random_state=0)).fit(X, y)
    X = X.astype(dtype)
    options = {"zipmap": False} if n_classes else None
    found = list(run(skl2onnx.to_onnx(pipeline, X[:1], options=options), {"X": X}).values())
    expected = predicted(pipeline, X)
    assert found[-1].dtype == dtype
    if dtype == "float64":
        assert_allclose(found[-1], expected, rtol=1e-12, atol=1e-12)
    else:  # floats are rounded by the scaler already: few rows, near a threshold, may reach another leaf
        assert np.median(abs(found[-1] - expected)) < 1e-6 * abs(expected).max()
    if n_classes:
        assert (found[0] == pipeline.predict(X)).mean() > 0.99


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_column_transformer(skl2onnx, table, n_classes):
    X, y = table
    X = X[["area", "rooms", "side"]]
    encode = ColumnTransformer(
        [("numbers", StandardScaler(), ["area", "rooms"]), ("text", OneHotEncoder(sparse_output=False), ["side"])]
    )
    if n_classes:
        y = np.array(["cheap", "fair", "dear"])[np.argsort(np.argsort(y)) * n_classes // len(y)]
    pipeline = make_pipeline(encode, forest_for(n_classes, 5, random_state=0, preset="paper")).fit(X, y)
    model = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False} if n_classes else None)
    found = run(model, by_column(X))  # the reference evaluator does not read doubles of these older trees
    assert_allclose(found["probabilities" if n_classes else "variable"], predicted(pipeline, X), rtol=1e-12)
    if n_classes:
        assert_array_equal(found["label"], pipeline.predict(X))


def test_a_forest_that_reads_text_itself(skl2onnx, table):
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    X, y = table
    X = X[["town", "area"]]
    forest = paper_regressor(5).fit(X, y)
    types = [("town", StringTensorType([None, 1])), ("area", DoubleTensorType([None, 1]))]
    found = run(skl2onnx.convert_sklearn(forest, initial_types=types), by_column(X))
    assert_allclose(found["variable"][:, 0], forest.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="fitted on 2 columns; its inputs have 3"):
        skl2onnx.convert_sklearn(forest, initial_types=[*types, ("more", DoubleTensorType([None, 1]))])
    with pytest.raises(ValueError, match="'area' held numbers in the fit; the input holds text"):
        skl2onnx.convert_sklearn(forest, initial_types=[types[0], ("area", StringTensorType([None, 1]))])
    with pytest.raises(ValueError, match="'town' held text in the fit; the input holds numbers"):
        skl2onnx.convert_sklearn(forest, initial_types=[("town", DoubleTensorType([None, 1])), types[1]])


def test_pipelines_refuse_what_to_onnx_refuses(skl2onnx, rows):
    X, y, _ = rows
    pipeline = make_pipeline(StandardScaler(), BoostTreeRegressor(monotonic_cst=[1, 0, 0, 0], random_state=0))
    with pytest.raises(ValueError, match="monotonic_cst"):
        skl2onnx.to_onnx(pipeline.fit(X, y), X[:1])
    plain = make_pipeline(StandardScaler(), BoostTreeRegressor(random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="target_opset must be 13 or more"):
        skl2onnx.to_onnx(plain, X[:1], target_opset={"": 12, "ai.onnx.ml": 2})


# ----------------------------------------------------------------------------------------- what the documentation shows


@pytest.mark.parametrize("name", ["to_onnx", "save_onnx", "register_skl2onnx"])
def test_the_examples_run(name, tmp_path, monkeypatch):
    pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"# doctest: \+SKIP", "", getattr(export, name).__doc__)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
