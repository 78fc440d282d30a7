"""The command line, as a new user meets it."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import boostforest
from command_line import refused, run


@pytest.fixture
def house(tmp_path):
    """A table of numbers, missing values and text, with a numeric and a text target."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"area": rng.normal(100, 20, n), "rooms": rng.integers(1, 7, n).astype(float)})
    frame.loc[::9, "rooms"] = np.nan
    frame["town"] = rng.choice(["Bonn", "Köln", "Aachen"], n)
    frame["price"] = 3 * frame["area"] + 20 * (frame["town"] == "Köln") + rng.normal(0, 5, n)
    frame["sold"] = np.where(frame["price"] > 300, "yes", "no")
    frame.to_csv(tmp_path / "house.csv", index=False)
    frame.to_parquet(tmp_path / "house.parquet")
    return tmp_path


def fit(folder, *arguments, name="model.bf", **kwargs):
    return run("fit", folder / "house.csv", "-o", folder / name, "--trees", 10, *arguments, **kwargs)


@pytest.mark.parametrize(("target", "task"), [("price", "regression"), ("sold", "classification")])
def test_fit_guesses_the_task_says_so_and_saves_the_model(house, target, task):
    out, said = fit(house, "-t", target)
    assert f"target {target!r}: {task}" in said
    assert "out-of-bag" in out and "area" in out
    model = boostforest.load_model(house / "model.bf")
    assert model._task == task
    assert model.feature_names_in_.tolist()[:3] == ["area", "rooms", "town"]


def test_csv_and_parquet_give_the_same_model(house):
    fit(house, "-t", "price")
    run("fit", house / "house.parquet", "-t", "price", "-o", house / "other.bf", "--trees", 10)
    assert (house / "model.bf").read_bytes() == (house / "other.bf").read_bytes()


def test_predictions_are_those_of_the_saved_model(house):
    fit(house, "-t", "sold", "--drop", "price")
    out, said = run("predict", house / "model.bf", house / "house.csv", "--proba")
    lines = [line.split(",") for line in out.split()]
    assert lines[0] == ["prediction", "probability_no", "probability_yes"]
    assert "not used: 'price', 'sold'" in said
    model = boostforest.load_model(house / "model.bf")
    X = pd.read_csv(house / "house.csv")[["area", "rooms", "town"]]
    assert_array_equal([line[0] for line in lines[1:]], model.predict(X))
    assert_allclose([float(line[2]) for line in lines[1:]], model.predict_proba(X)[:, 1])


@pytest.mark.parametrize(("ending", "read"), [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
def test_predictions_go_to_a_file(house, ending, read):
    fit(house, "-t", "price")
    path = house / f"found.{ending}"
    run("predict", house / "model.bf", house / "house.parquet", "-o", path)
    assert_allclose(read(path)["prediction"], boostforest.load_model(house / "model.bf").predict(
        pd.read_csv(house / "house.csv").drop(columns="price")
    ))  # fmt: skip
    assert sorted(p.name for p in house.iterdir()) == sorted(
        ["found." + ending, "house.csv", "house.parquet", "model.bf"]
    )


@pytest.mark.parametrize(
    ("target", "metrics"), [("price", {"RMSE", "MAE", "R²"}), ("sold", {"accuracy", "log-loss", "ROC AUC"})]
)
def test_evaluate_reports_the_metrics_of_the_task(house, target, metrics):
    out, _ = run("evaluate", house / "house.csv", "-t", target, "--trees", 10, "--folds", 3, "--json")
    report = json.loads(out)
    assert len(report["folds"]) == 3
    assert metrics <= report["summary"].keys()
    values = [fold[min(metrics)] for fold in report["folds"]]
    assert_allclose(report["summary"][min(metrics)]["mean"], np.mean(values))
    out, _ = run("evaluate", house / "house.csv", "-t", target, "--trees", 10, "--folds", 3)
    assert all(name in out for name in metrics)


def test_compress_makes_a_smaller_file_and_shows_what_each_step_costs(house):
    fit(house, "-t", "sold", "--param", "preset=paper")
    shown, _ = run("compress", house / "model.bf", house / "house.csv", "-t", "sold", "-o", house / "small.bf")
    assert "forest as it is" in shown and "log-loss" in shown
    size = (house / "small.bf").stat().st_size
    assert size < (house / "model.bf").stat().st_size
    arguments = "compress", house / "model.bf", house / "house.csv", "-t", "sold", "-o", house / "tiny.bf"
    out_of_bag = json.loads(run(*arguments, "--json")[0])["steps"][0]["loss"]
    header, *lines = (house / "house.csv").read_text().splitlines()
    (house / "other.csv").write_text("\n".join([header, *lines[::-1]]))  # other rows, as it seems
    others = "compress", house / "model.bf", house / "other.csv", "-t", "sold", "-o", house / "tiny.bf", "--json"
    of_all_trees = json.loads(run(*others)[0])["steps"][0]["loss"]
    assert out_of_bag > 1.1 * of_all_trees  # rows that trees have drawn do not judge them
    report = json.loads(run(*arguments, "--max-bytes", f"{size / 2e3}k", "--json")[0])
    assert report["bytes"] == (house / "tiny.bf").stat().st_size == report["steps"][-1]["bytes"] <= size / 2
    assert boostforest.load_model(house / "tiny.bf").forest_.n_trees == report["steps"][-1]["n_trees"] < 10


def test_inspect_says_what_is_in_the_file(house):
    fit(house, "-t", "sold", "--param", "min_samples_leaf=[5, 8]", "--param", "criterion=gini")
    report = json.loads(run("inspect", house / "model.bf", "--json")[0])
    assert report["estimator"] == "BoostForestClassifier"
    assert report["n_trees"] == 10
    assert report["classes"] == ["no", "yes"]
    assert report["parameters"]["criterion"] == "gini"
    assert report["parameters"]["min_samples_leaf"] == "[5, 8]"
    assert sum(report["bytes_by_part"].values()) == pytest.approx(report["bytes"], abs=16)
    shown, _ = run("inspect", house / "model.bf")
    assert all(words in shown for words in ("Features", "Size by part", "params", "area", "yes"))


def test_json_is_all_that_goes_to_standard_output(house):
    report = json.loads(fit(house, "-t", "price", "--json")[0])
    assert report["task"] == "regression"
    assert report["bytes"] == (house / "model.bf").stat().st_size


def test_numbers_can_be_named_as_categories(house):
    fit(house, "-t", "price", "--categorical", "rooms")
    assert 1 in boostforest.load_model(house / "model.bf").encoder_.categories


# ------------------------------------------------------------------------------------------------------ what goes wrong


def change(house, column, row, value):
    frame = pd.read_csv(house / "house.csv").astype({column: object})
    frame.loc[row, column] = value
    frame.to_csv(house / "house.csv", index=False)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit none.csv -t price -o m.bf", "none.csv cannot be read: No such file"),
        ("fit notes.doc -t price -o m.bf", "notes.doc has no rows"),
        ("fit empty.csv -t price -o m.bf", "empty.csv is empty"),
        ("fit bad.parquet -t price -o m.bf", "bad.parquet cannot be read"),
        ("fit house.csv -t cost -o m.bf", "no column 'cost'; its columns are 'area'"),
        ("fit house.csv -t price -o none/m.bf", "there is no folder"),
        ("fit house.csv -t price -o m.bf --param depth=3", "'depth' is not an argument of BoostForestRegressor"),
        ("fit house.csv -t price -o m.bf --param depth", "must be NAME=VALUE"),
        ("fit house.csv -t price -o m.bf --param min_samples_leaf=-1", "min_samples_leaf must be"),
        ("fit house.csv -t price -o m.bf --drop cost", "no column 'cost'"),
        ("fit house.csv -t price -o m.bf --categorical cost", "no column 'cost'"),
        ("evaluate house.csv -t sold --task regression", "--task regression needs numbers"),
        ("inspect house.csv", "'house.csv' cannot be loaded"),
        ("predict model.bf less.csv", "lacks 'town', which the model was fitted on"),
        ("predict model.bf other.csv", "town"),
        ("predict model.bf house.csv --proba", "--proba needs a classifier"),
        ("compress model.bf house.csv -t price -o m.bf --max-bytes much", "a size such as 200k, 1.5M or 300000"),
        ("compress model.bf house.csv -t price -o m.bf --max-bytes 0", "--max-bytes must be a size"),
        ("compress model.bf house.csv -t price -o m.bf --max-bytes 10", "the smallest forest that was found has "),
        ("compress model.bf house.csv -t price -o m.bf --tolerance -1", "a number from 0 to 1; got -1.0"),
        ("export model.bf --to onnx -o model.bf", "is the model that is read"),
        ("export model.bf --to onnx -o none/m.bf", "there is no folder"),
        ("export model.bf --to onnx -o -", "name a file"),
    ],
)
def test_what_cannot_be_is_named_in_one_sentence(house, monkeypatch, command, words):
    monkeypatch.chdir(house)
    fit(house, "-t", "price")
    frame = pd.read_csv("house.csv")
    frame.drop(columns="town").to_csv("less.csv", index=False)
    frame.assign(town=3.5).to_csv("other.csv", index=False)
    for name, text in (("notes.doc", "no table"), ("empty.csv", ""), ("bad.parquet", "no table")):
        (house / name).write_text(text)
    assert words in refused(*command.split(), remarks="--param" in command)
    assert not (house / "m.bf").exists()


def test_a_target_with_gaps_is_refused_unless_they_may_be_dropped(house):
    change(house, "price", 6, None)
    said = refused("fit", house / "house.csv", "-t", "price", "-o", house / "m.bf")
    assert "'price' is missing in 1 of 120 rows" in said and "row 7" in said
    assert "119 rows" in fit(house, "-t", "price", "--drop-missing-target")[1]


def test_text_in_a_column_of_numbers_is_refused_with_its_row(house):
    change(house, "area", 11, "large")
    said = refused("evaluate", house / "house.csv", "-t", "price")
    assert "column 'area'" in said and "'large' in row 12" in said
    fit(house, "-t", "price", "--categorical", "area")


def test_the_best_preset_and_intervals_are_options(house):
    run("fit", house / "house.csv", "--target", "price", "-o", house / "model.bf", "--trees", 50, "--preset", "best")
    model = boostforest.load_model(house / "model.bf")
    assert model.preset == "best"
    out, _ = run("predict", house / "model.bf", house / "house.csv", "--interval", 0.8, "-q")
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == ["prediction", "lower", "upper"]
    assert all(float(lower) < float(upper) for _, lower, upper in lines[1:])
    said = refused("predict", house / "model.bf", house / "house.csv", "--interval", 2, remarks=True)
    assert "--interval must be" in said


def test_wrong_usage_has_status_2(house):
    run("fit", house / "house.csv", status=2)
    run("dance", status=2)
    run("export", house / "model.bf", "--to", "pmml", "-o", house / "m.pmml", status=2)


def test_the_command_runs_as_a_module(house):
    arguments = [sys.executable, "-m", "boostforest", "--version"]
    assert subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60).stdout == (
        f"boostforest {boostforest.__version__}\n"
    )


def test_without_its_extra_the_command_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "boostforest._cli.commands")
    from boostforest._cli import main

    with pytest.raises(SystemExit, match=r'pip install "boostforest\[cli\]"'):
        main()


def test_export_writes_an_onnx_model(house):
    onnx = pytest.importorskip("onnx", reason="needs onnx: pip install 'boostforest[onnx]'")
    fit(house, "-t", "price")
    report = json.loads(
        run("export", house / "model.bf", "--to", "onnx", "-o", house / "m.onnx", "--dtype", "float32", "--json")[0]
    )
    assert report["bytes"] == (house / "m.onnx").stat().st_size
    model = onnx.load(house / "m.onnx")
    assert [given.name for given in model.graph.input] == ["area", "rooms", "town", "sold"]
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert "m.onnx: " in run("export", house / "model.bf", "--to", "onnx", "-o", house / "m.onnx")[1]


def test_export_writes_c_named_as_the_file(house):
    fit(house, "-t", "price")
    run("export", house / "model.bf", "--to", "c", "-o", house / "my-houses.h", "--dtype", "float32")
    text = (house / "my-houses.h").read_text(encoding="ascii")
    assert "my_houses_predict(" in text and "static const float my_houses_params[]" in text
    run("export", house / "model.bf", "--to", "c", "-o", house / "3.h")
    assert "model_3_predict(" in (house / "3.h").read_text(encoding="ascii")


def test_export_says_which_package_it_needs(house, monkeypatch):
    fit(house, "-t", "price")
    monkeypatch.setitem(sys.modules, "onnx", None)
    for name in [name for name in sys.modules if name.startswith("boostforest.export._")]:
        monkeypatch.delitem(sys.modules, name)
    said = refused("export", house / "model.bf", "--to", "onnx", "-o", house / "m.onnx")
    assert said == 'to_onnx needs the package onnx: pip install "boostforest[onnx]"'
    assert not (house / "m.onnx").exists()
