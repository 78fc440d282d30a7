"""The benchmarks' datasets: checked sizes and contents, OpenML behind them, stand-ins said as such."""

import argparse
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the benchmarks are no installed package

from benchmarks import data, datasets
from benchmarks.data import DataError, NotAtHandError, checks, paper
from benchmarks.names import UnknownNameError

needs_data = pytest.mark.skipif(
    not (datasets.DATA_DIR / "SON.parquet").is_file(), reason="needs the datasets: BOOSTFOREST_DATA names their folder"
)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A made dataset under a paper's name: its entry, its file, and an OpenML that is not asked unless told how."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc")).assign(target=["x", "y"] * 10)
    entry = {"name": "SON", "task": "classification", "rows": "20", "file": "SON.parquet", "openml": "40", "sha256": ""}
    entry["fingerprint"] = checks.fingerprint(frame)
    monkeypatch.setitem(paper.ENTRIES, "SON", entry)
    monkeypatch.setattr(paper, "OPENML", paper.OpenML())
    monkeypatch.setitem(
        data.DATASETS, "SON", data.Dataset("SON", "classification", 20, 3, 2, lambda folder: paper.read("SON", folder))
    )
    data._CACHE.clear()
    yield SimpleNamespace(frame=frame, entry=entry, folder=tmp_path, path=tmp_path / "SON.parquet")
    data._CACHE.clear()


def fetcher(frame):
    """Return a function that answers as fetch_openml does."""

    def fetch(*, data_id, as_frame, parser):
        assert (data_id, as_frame) == (40, True)
        return SimpleNamespace(data=frame.drop(columns="target"), target=frame["target"])

    return fetch


@given(st.permutations(range(6)), st.permutations(["a", "b", "c"]))
def test_fingerprint_is_the_same_for_any_order_and_names(rows, columns):
    frame = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6.5], "b": list("ppqqqr"), "c": [np.nan, 0, 1e-9, -3, 7, 1e9]})
    frame["target"] = list("uvuvuv")
    other = frame[[*columns, "target"]].iloc[list(rows)].replace({"b": {"p": "one", "q": "two", "r": "three"}})
    assert checks.fingerprint(other) == checks.fingerprint(frame)
    assert checks.fingerprint(frame.assign(a=frame["a"].astype(str))) == checks.fingerprint(frame), "numbers as text"


@pytest.mark.parametrize("change", [{"a": [1, 2, 3.001]}, {"b": list("xxx")}, {"target": list("uuv")}])
def test_fingerprint_sees_other_values(change):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": list("xyy"), "target": list("uvw")})
    assert checks.fingerprint(frame.assign(**change)) != checks.fingerprint(frame)


def test_wrong_checksum_is_refused_by_name(small):
    small.frame.to_parquet(small.path)
    small.entry["sha256"] = "0" * 64
    with pytest.raises(DataError, match=r"^SON is refused: SON.parquet has the checksum .* not 000000000000…"):
        data.load("SON", small.folder)


def test_wrong_size_is_refused_by_name(small):
    small.frame.head(19).to_parquet(small.path)
    with pytest.raises(DataError, match=r"SON is refused: it has 19 rows, 3 features and 2 classes, not 20 rows"):
        data.load("SON", small.folder)


def test_openml_is_asked_where_there_is_no_file(small):
    paper.OPENML.fetch = fetcher(small.frame.sample(frac=1, random_state=0).astype({"target": "category"}))
    table = data.load("SON", small.folder)
    assert table.X.shape == (20, 3)
    assert set(table.y) == {"x", "y"}


def test_every_program_fetches_what_has_no_file(small):
    paper.OPENML.fetch = fetcher(small.frame)
    datasets.check_data(argparse.ArgumentParser(), small.folder / "nowhere", ["SON"])
    X, y = datasets.load("SON", small.folder / "nowhere")
    assert (X.shape, len(y)) == ((20, 3), 20)


@pytest.mark.parametrize(
    ("changed", "reason"), [(None, "OpenML cannot be reached"), ({"a": 0.0}, "SON is refused: .* has the fingerprint")]
)
def test_what_cannot_be_fetched_is_one_sentence_with_what_to_do(small, capsys, changed, reason):
    def unreachable(**options):
        raise URLError("no network")

    paper.OPENML.fetch = unreachable if changed is None else fetcher(small.frame.assign(**changed))
    with pytest.raises(SystemExit, match="2"):
        datasets.check_data(argparse.ArgumentParser(), small.folder, ["SON"])
    said = capsys.readouterr().err
    assert re.fullmatch(rf"SON cannot be fetched: .*{reason}.*; name the folder .* or BOOSTFOREST_DATA\.\n", said)


def test_other_data_at_openml_are_refused_by_name(small):
    paper.OPENML.fetch = fetcher(small.frame.assign(a=0.0))
    with pytest.raises(DataError, match=r"SON is refused: the table from OpenML \(id 40\) has the fingerprint"):
        data.load("SON", small.folder)


def test_rows_with_gaps_are_dropped_where_openml_has_more(small):
    gaps = pd.DataFrame({"a": [np.nan], "b": [1.0], "c": [2.0], "target": ["x"]})
    paper.OPENML.fetch = fetcher(pd.concat([gaps, small.frame]))
    assert len(data.load("SON", small.folder).y) == 20


def test_unreachable_openml_is_asked_once(small):
    asked = []

    def fetch(**options):
        asked.append(options)
        raise URLError("no network")

    paper.OPENML.fetch = fetch
    prepared = data.prepare(["SON", "PID", "WDG", "iris"], small.folder)
    assert prepared.usable == {"iris": "iris"}
    assert "OpenML cannot be reached" in prepared.left_out["SON"]
    assert "OpenML cannot be reached" in prepared.left_out["PID"]
    assert "has no WDG.parquet" in prepared.left_out["WDG"]
    assert len(asked) == 1


def test_subset_stands_in_under_its_own_name(tmp_path, monkeypatch):
    def missing(folder):
        raise NotAtHandError("not here")

    monkeypatch.setitem(data.DATASETS, "SUSY", data.Dataset("SUSY", "regression", 1, 1, 0, missing, subset="diabetes"))
    assert data.prepare(["SUSY"], tmp_path).usable == {"SUSY": "diabetes"}


def test_unknown_dataset_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"no dataset called 'nonsense'; known are: .*SON.*RLCT-synthetic"):
        data.find("nonsense")
    assert data.find("son").name == "SON"


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes", "friedman1", "friedman3"])
def test_bundled_data_have_their_sizes(name, tmp_path):
    data.load(name, tmp_path)


def test_stand_ins_have_the_shape_of_the_original():
    for name in ("SUSY", "HIGGS", "RLCT"):
        original, synthetic = data.find(name), data.find(f"{name}-synthetic")
        assert (synthetic.n_rows, synthetic.n_features) == (original.n_rows, original.n_features)
        assert "made data" in synthetic.note


@needs_data
@pytest.mark.parametrize("name", ["SON", "ILP", "CPS", "AMPG", "BH"])
def test_file_has_the_fingerprint_of_the_list(name):
    frame = paper.read_frame(name, datasets.DATA_DIR)
    if paper.ENTRIES[name]["fingerprint"]:
        checks.check_fingerprint(name, "the file", frame, paper.ENTRIES[name]["fingerprint"])
    data.load(name, datasets.DATA_DIR)
