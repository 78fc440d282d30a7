"""The examples of serving: FastAPI, MLflow and ONNX Runtime give what the estimator gives, or say what is wrong."""

import importlib.util
import json
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import boostforest
from boostforest.export import to_onnx
from models import paper_classifier, paper_regressor

pd = pytest.importorskip("pandas", reason="needs pandas")

ROOT = Path(__file__).resolve().parents[1]
SERVING = ROOT / "examples" / "serving"


def example(name):
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(name, SERVING / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented(word):
    """Return the blocks of Python of the page that have a word in them."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    return [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if word in block]


@pytest.fixture(scope="module")
def houses():
    """A table of numbers and text with missing values, and prices."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"area": rng.normal(100, 20, 200), "rooms": rng.integers(1, 7, 200).astype(float)})
    table["town"] = np.array(["Bonn", "Köln", "Trier"])[rng.integers(3, size=200)]
    price = table["area"] + 30 * (table["town"] == "Köln") + rng.normal(size=200)
    table["town"] = table["town"].astype(object)
    table.loc[::7, "rooms"], table.loc[::9, "town"] = np.nan, None
    return table, price.to_numpy()


@pytest.fixture(scope="module")
def regressor(houses):
    return paper_regressor(5).fit(*houses)


@pytest.fixture(scope="module")
def classifier(houses):
    table, price = houses
    return paper_classifier(5).fit(table, np.where(price > 110, "dear", "cheap"))


@pytest.fixture(scope="module")
def plain():
    """A forest on columns without names, labels that are numbers."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    return paper_classifier(3).fit(X, (X[:, 0] > 0).astype(int))


def as_json(table):
    return [
        {name: None if pd.isna(value) else value for name, value in row.items()} for row in table.to_dict("records")
    ]


# -------------------------------------------------------------------------------------------------------------- FastAPI


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("fastapi", reason="needs fastapi")
    pytest.importorskip("httpx", reason="needs httpx")
    return example("server")


@pytest.fixture
def client(server, tmp_path):
    """Return a function that gives a client of the server of an estimator."""
    with warnings.catch_warnings(action="ignore"):  # newer ones want a successor of httpx
        from fastapi.testclient import TestClient

    def of(estimator):
        estimator.save_model(tmp_path / "model.bf")
        return TestClient(server.create_app(tmp_path / "model.bf"))

    return of


def test_the_server_says_what_the_regressor_says(client, houses, regressor):
    table, _ = houses
    reply = client(regressor).post("/predict", json={"rows": as_json(table)})
    assert reply.status_code == 200
    assert_array_equal(reply.json()["predictions"], regressor.predict(table))


def test_the_server_says_what_the_classifier_says(client, houses, classifier):
    table, _ = houses
    reply = client(classifier).post("/predict", json={"rows": as_json(table)}).json()
    assert reply["classes"] == ["cheap", "dear"]
    assert_array_equal(reply["probabilities"], classifier.predict_proba(table))
    assert reply["labels"] == classifier.predict(table).tolist()


def test_columns_of_a_request_may_be_in_any_order(client, houses, regressor):
    table, _ = houses
    reply = client(regressor).post("/predict", json={"rows": as_json(table[:5][["town", "rooms", "area"]])})
    assert_array_equal(reply.json()["predictions"], regressor.predict(table[:5]))


def test_columns_without_names_are_numbered(client, plain):
    rows = [{"x0": 0.5, "x1": -1}, {"x0": None, "x1": 2.5}]
    reply = client(plain).post("/predict", json={"rows": rows})
    assert_array_equal(reply.json()["probabilities"], plain.predict_proba([[0.5, -1], [np.nan, 2.5]]))
    assert reply.json()["classes"] == [0, 1]


def test_unknown_categories_and_rows_of_nothing_are_predicted(client, regressor):
    rows = [{"area": 90, "rooms": 2, "town": "Rom"}, {"area": None, "rooms": None, "town": None}]
    reply = client(regressor).post("/predict", json={"rows": rows})
    assert_array_equal(reply.json()["predictions"], regressor.predict(pd.DataFrame(rows).astype({"town": object})))


def test_the_server_tells_its_health_and_its_model(client, classifier, plain):
    assert client(classifier).get("/health").json() == {"status": "ok"}
    assert client(classifier).get("/model").json() == {
        "estimator": "BoostForestClassifier",
        "columns": {"area": "number", "rooms": "number", "town": "text"},
        "classes": ["cheap", "dear"],
    }
    assert client(plain).get("/model").json()["columns"] == {"x0": "number", "x1": "number"}


GOOD = {"area": 100.0, "rooms": 3, "town": "Bonn"}


COLUMNS = "rows[1] must have the columns of the model, null for missing values"
INFINITE = "Input X contains infinity or a value too large for dtype('float64') in column 'area'."
WRONG_ROWS = {
    "missing": ({"area": 1, "town": "Bonn"}, f"{COLUMNS}; missing: rooms."),
    "unknown": (GOOD | {"Rooms": 3, "m²": None}, f"{COLUMNS}; unknown: Rooms, m²."),
    "misspelt": ({"Area": 1, "rooms": 3, "town": "Bonn"}, f"{COLUMNS}; missing: area; unknown: Area."),
    "empty": ({}, f"{COLUMNS}; missing: area, rooms, town."),
    "text": (GOOD | {"area": "100"}, "rows[1]['area'] must be a number or null; got '100'."),
    "long text": (GOOD | {"area": "1" * 999}, f"rows[1]['area'] must be a number or null; got '{'1' * 49}."),
    "number": (GOOD | {"town": 5}, "rows[1]['town'] must be a text or null; got 5."),
    "infinite": (GOOD | {"area": float("inf")}, INFINITE),
    "too large": (GOOD | {"area": 10**400}, INFINITE),
}


@pytest.mark.parametrize("name", WRONG_ROWS)
def test_wrong_columns_and_values_are_refused_with_a_sentence(client, regressor, name):
    row, sentence = WRONG_ROWS[name]
    body = json.dumps({"rows": [GOOD, row]})
    reply = client(regressor).post("/predict", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()) == (422, {"detail": sentence})


@pytest.mark.parametrize(
    ("body", "mistake"),
    [
        ("", "body: Field required"),
        ("{", "JSON decode error"),
        ("[]", "body: Input should be a valid dictionary"),
        ("{}", "rows: Field required"),
        ('{"rows": []}', "rows: List should have at least 1 item"),
        ('{"rows": 5}', "rows: Input should be a valid list"),
        ('{"rows": [[1, 2]]}', "rows.0: Input should be a valid dictionary"),
        ('{"rows": [{"area": true}]}', "rows.0.area: Input should be a valid"),
        ('{"rows": [{"area": [NaN]}]}', "rows.0.area: Input should be a valid"),
        ('{"rows": [{}], "more": NaN}', "more: Extra inputs are not permitted"),
        (json.dumps({"rows": [{}] * 10_001}), "rows: List should have at most 10000 items"),
    ],
    ids=range(11),
)
def test_requests_of_another_form_are_refused_with_a_short_sentence(client, regressor, body, mistake):
    reply = client(regressor).post("/predict", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 422
    detail = reply.json()["detail"]
    assert detail.startswith('The request must be {"rows": [{column: number, text or null}, …]}; ')
    assert mistake in detail and len(detail) < 400


def test_a_server_does_not_start_with_a_file_that_is_not_a_model(server, tmp_path):
    (tmp_path / "model.bf").write_bytes(b"not a model")
    with pytest.raises(ValueError, match="model file"):
        server.create_app(tmp_path / "model.bf")


def test_a_server_does_not_start_with_columns_that_json_does_not_have(client, houses):
    table, price = houses
    table = table[["area"]].assign(sold=pd.date_range("2020-01-01", periods=len(table)))
    with pytest.raises(ValueError, match="reads numbers and text, and column 'sold' of the model is something else"):
        client(paper_regressor(3).fit(table, price))


# --------------------------------------------------------------------------------------------------------------- MLflow


@pytest.fixture(scope="module")
def saved(tmp_path_factory, houses, classifier):
    """The folder of an MLflow model, made by what the page shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")  # read when it is imported
        pytest.importorskip("mlflow", reason="needs mlflow")
        folder = tmp_path_factory.mktemp("mlflow")
        X, _ = houses
        (block,) = documented("mlflow.pyfunc.save_model")
        patch.chdir(folder)
        (folder / "mlflow_model.py").write_text((SERVING / "mlflow_model.py").read_text(encoding="utf-8"), "utf-8")
        exec(block, {"forest": classifier, "X": X})
    return folder / "houses"


MLFLOWS_OWN = pytest.mark.filterwarnings("ignore")  # warnings, which its versions have many of


@MLFLOWS_OWN
def test_mlflow_gives_the_same_predictions(saved, houses, classifier):
    import mlflow

    X, _ = houses
    model = mlflow.pyfunc.load_model(str(saved))
    assert_array_equal(model.predict(X), classifier.predict(X))
    assert_array_equal(model.predict(X, params={"probabilities": True}), classifier.predict_proba(X))
    with pytest.raises(mlflow.exceptions.MlflowException, match="missing inputs"):
        model.predict(X[["rooms", "town"]])
    with pytest.raises(
        ValueError, match="'rooms' is missing"
    ):  # optional for MLflow, as some of its values are missing
        model.predict(X[["area", "town"]])


@MLFLOWS_OWN
def test_nothing_that_mlflow_keeps_is_a_pickle(saved):
    files = [path for path in saved.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {"", ".bf", ".json", ".py", ".txt", ".yaml"}
    assert boostforest.load_model(saved / "artifacts" / "houses.bf").classes_.tolist() == ["cheap", "dear"]


# --------------------------------------------------------------------------------------------------------- ONNX Runtime


@pytest.fixture(scope="module")
def onnx_model():
    pytest.importorskip("onnx", reason="needs onnx: pip install 'boostforest[onnx]'")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    return example("onnx_model")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_onnx_runtime_takes_tables_with_text_and_missing_values(onnx_model, tmp_path, houses, classifier, dtype):
    import onnx

    table, _ = houses
    onnx.save(to_onnx(classifier, dtype), tmp_path / "houses.onnx")
    model = onnx_model.OnnxModel(tmp_path / "houses.onnx")
    found = model.predict(table[["town", "area", "rooms"]].assign(more=1))
    rounded = table.astype({"area": dtype, "rooms": dtype})
    assert_allclose(
        found["probabilities"], classifier.predict_proba(rounded), rtol=1e-12 if dtype == "float64" else 1e-5
    )
    assert_array_equal(found["label"], classifier.predict(rounded))
    with pytest.raises(ValueError, match=r"must have the columns .*; \['rooms'\] are missing"):
        model.predict(table[["area", "town"]])
    with pytest.raises(ValueError, match="must not have infinite values"):
        model.predict(table.assign(area=np.inf))


def test_onnx_runtime_takes_tables_of_numbers_in_blocks(onnx_model, tmp_path, plain):
    import onnx

    onnx.save(to_onnx(plain), tmp_path / "plain.onnx")
    X = np.random.default_rng(1).normal(size=(1201, 2))
    X[::5, 0] = np.nan
    model = onnx_model.OnnxModel(tmp_path / "plain.onnx")
    table = pd.DataFrame(X, columns=["x0", "x1"])
    assert_allclose(model.predict(table)["probabilities"], plain.predict_proba(X), rtol=1e-12)
    assert model.predict(table[:0])["probabilities"].shape == (0, 2)


def test_onnx_runtime_predicts_a_file_without_boostforest(onnx_model, tmp_path, houses, regressor):
    import onnx

    table, _ = houses
    onnx.save(to_onnx(regressor), tmp_path / "houses.onnx")
    table.to_csv(tmp_path / "new.csv", index=False)
    without = f"""
        import runpy, sys
        sys.modules["boostforest"] = None
        sys.argv = ["onnx_model", {str(tmp_path / "houses.onnx")!r}, {str(tmp_path / "new.csv")!r}]
        runpy.run_path({str(SERVING / "onnx_model.py")!r}, run_name="__main__")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(without)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "variable"
    assert_allclose([float(line) for line in lines[1:]], regressor.predict(table), rtol=1e-12)
