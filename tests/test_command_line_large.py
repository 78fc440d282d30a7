"""The command line on Parquet files that are read in parts."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import boostforest
from boostforest._cli import large
from boostforest._estimator import base
from boostforest.sources import ParquetRows
from command_line import run

N = 3000
RNG = np.random.default_rng(0)
AREA, OLD, TOWN = RNG.normal(size=N), RNG.random(N) < 0.5, RNG.choice(["Bonn", "Köln", "Aachen"], N)
Y = AREA * OLD + (TOWN == "Köln") + 0.2 * RNG.normal(size=N)


@pytest.fixture(autouse=True)
def few_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 1,000 rows be many."""
    monkeypatch.setattr(base, "MOST_JUDGES", 1000)
    monkeypatch.setattr(large, "MOST_JUDGES", 1000)


def table(**changed: Any) -> Any:
    columns = {"id": np.arange(N), "area": AREA, "old": OLD, "town": TOWN, "rooms": np.arange(N) % 5, "y": Y}
    return pa.table({name: values for name, values in (columns | changed).items() if values is not None})


def write(folder: Path, whole: Any, n_files: int = 3) -> Path:
    """Write a table as several files into a folder "big"."""
    big = folder / "big"
    big.mkdir(exist_ok=True)
    bounds = np.linspace(0, len(whole), n_files + 1).astype(int)
    for f, (first, end) in enumerate(pairwise(bounds)):
        pq.write_table(whole.slice(first, end - first), big / f"part[{f}].parquet", row_group_size=400)
    return big


def fit(*arguments: Any, status: int = 0) -> tuple[str, str]:
    return run("fit", *arguments, "--trees", 30, "--param", "max_samples=800", status=status)


def test_files_in_parts_give_the_forest_of_the_library_and_an_out_of_bag_score(tmp_path: Path) -> None:
    big, model = write(tmp_path, table()), tmp_path / "m.bf"
    out, said = fit(*sorted(big.iterdir()), "-t", "y", "-o", model, "--out-of-core", "--json")
    report = json.loads(out)
    assert (report["n_rows"], report["n_features"], report["out_of_core"]) == (3000, 4, True)
    assert 0.6 < report["oob_score"] < 1
    assert "'id' (identifier)" in said
    rows = ParquetRows(sorted(big.iterdir()), target="y", columns=["area", "old", "town", "rooms"])
    forest = boostforest.BoostForestRegressor(30, max_samples=800, random_state=0, oob_score=True).fit(rows)
    forest.set_params(verbose=0).save_model(tmp_path / "library.bf")
    loaded = boostforest.load_model(model)
    new = table().drop_columns(["y", "id"])
    np.testing.assert_array_equal(loaded.predict(new), forest.predict(new))
    assert report["oob_score"] == forest.oob_score_


def test_what_does_not_fit_into_memory_is_read_in_parts_and_what_does_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    big, model = write(tmp_path, table()), tmp_path / "m.bf"
    assert json.loads(fit(big, "-t", "y", "-o", model, "--json")[0])["out_of_core"] is False
    monkeypatch.setattr(large, "available_memory", lambda: 100_000)
    out, said = fit(big, "-t", "y", "-o", model)
    assert "3,000 rows, 4 features, read in parts" in said
    assert "1,000 rows judge it out of bag" in said
    assert "out-of-bag R²" in out
    assert json.loads(fit(big, "-t", "y", "-o", model, "--json", "--in-memory")[0])["out_of_core"] is False


def test_several_small_files_are_one_table(tmp_path: Path) -> None:
    big = write(tmp_path, table())
    for name, paths in {"whole.bf": [big], "files.bf": sorted(big.iterdir())}.items():
        fit(*paths, "-t", "y", "-o", tmp_path / name, "--preset", "paper")
    assert (tmp_path / "whole.bf").read_bytes() == (tmp_path / "files.bf").read_bytes()


@pytest.mark.parametrize("as_categories", [False, True], ids=["text", "dictionary"])
def test_classes_in_parts_keep_their_labels_and_the_file_its_type(tmp_path: Path, as_categories: bool) -> None:
    labels = pa.array(np.where(Y > 0.5, "high", "low"))
    big, model = write(tmp_path, table(y=labels.dictionary_encode() if as_categories else labels)), tmp_path / "m.bf"
    arguments = ("-o", model, "--out-of-core", "--dtype", "float32", "--categorical", "rooms")
    _, said = fit(big, "-t", "y", *arguments)
    assert "classification, it holds 2 different labels among 3,000 rows" in said
    loaded = boostforest.load_model(model)
    assert loaded.classes_.tolist() == ["high", "low"]
    assert loaded.forest_.dtype == "float32"
    assert set(loaded.encoder_.categories) == {2, 3}  # town and rooms
    out, _ = run("predict", model, big / "part[0].parquet")
    assert out.splitlines()[1] in ("high", "low")


@pytest.mark.parametrize(
    ("changed", "arguments", "message"),
    [
        ({}, ["-t", "z"], "--target: .* has no column 'z'"),
        ({}, ["-t", "y", "--weight", "area"], "--weight cannot be with Parquet files that are read in parts"),
        ({}, ["-t", "y", "--drop-missing-target"], "--drop-missing-target cannot be"),
        ({}, ["-t", "y", "--param", "n_stages=2"], "n_stages=2 needs a table in memory"),
        ({"y": [None, *Y[1:]]}, ["-t", "y"], "the target 'y' is missing in 1 of 3,000 rows"),
        ({"area": [f"{a:.3f}" for a in AREA]}, ["-t", "y"], "column 'area' of .* holds numbers as text"),
    ],
    ids=["no target", "weight", "drop missing", "stages", "missing target", "numbers as text"],
)
def test_what_cannot_be_read_in_parts_is_one_sentence(
    tmp_path: Path, changed: Any, arguments: list[str], message: str
) -> None:
    big = write(tmp_path, table(**changed))
    _, said = fit(big, *arguments, "-o", tmp_path / "m.bf", "--out-of-core", status=1)
    assert re.search(f"error: .*{message}", said), said
    assert not (tmp_path / "m.bf").exists()


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    big, other, csv = write(tmp_path, table()), tmp_path / "other.parquet", tmp_path / "a.csv"
    arguments = ("-t", "y", "-o", tmp_path / "m.bf", "--out-of-core")
    pq.write_table(table(area=None), other)
    assert "have different columns, such as 'area'" in fit(big, other, *arguments, status=1)[1]
    pq.write_table(table(rooms=np.arange(N) % 5 + 0.5), other)
    assert "'rooms' is int64 in" in fit(big, other, *arguments, status=1)[1]
    csv.write_text("area,y\n1,2\n", encoding="utf-8")
    assert "several tables have to be Parquet files" in fit(big, csv, *arguments[:-1], status=1)[1]
    assert "--out-of-core needs Parquet files" in fit(csv, *arguments, status=1)[1]
    pq.write_table(table(), tmp_path / "big" / "last.parquet")
    (tmp_path / "big" / "year=2024").mkdir()
    pq.write_table(table(), tmp_path / "big" / "year=2024" / "a.parquet")
    assert "has a column in names of folders, 'year'" in fit(big, *arguments, status=1)[1]
