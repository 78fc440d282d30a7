"""Forests of tables that do not fit into memory: parts do not matter, files or memory do not matter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor
from boostforest._estimator import base
from boostforest._grow import gathered
from boostforest.sources import ArrayRows, ParquetRows
from clusters import saved

RNG = np.random.default_rng(0)
X = np.where(RNG.random((3000, 4)) < 0.05, np.nan, RNG.normal(size=(3000, 4)))
Y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + 0.3 * RNG.normal(size=3000)
LABELS = np.where(Y > 0.8, "high", np.where(Y < -0.8, "low", "middle"))


def regressor(**arguments: Any) -> Any:
    return BoostForestRegressor(**({"n_estimators": 12, "max_samples": 800, "random_state": 0} | arguments))


def classifier(**arguments: Any) -> Any:
    return BoostForestClassifier(**({"n_estimators": 40, "max_samples": 800, "random_state": 0} | arguments))


@pytest.mark.usefixtures("few_judges")
@pytest.mark.parametrize(("make", "y"), [(regressor, Y), (classifier, LABELS)], ids=["regression", "classes"])
def test_parts_do_not_matter(make: Callable[..., Any], y: Any, tmp_path: Path) -> None:
    whole = saved(make(n_jobs=2).fit(ArrayRows(X, y, block=3000)), tmp_path)
    for block in (1000, 777, 2999):
        assert saved(make(n_jobs=2).fit(ArrayRows(X, y, block)), tmp_path) == whole


@pytest.mark.usefixtures("few_judges")
def test_rows_that_do_not_fit_into_memory_go_through_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = saved(regressor().fit(ArrayRows(X, Y)), tmp_path)
    monkeypatch.setattr(gathered, "_SHARE", 1e-7)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert saved(regressor().fit(ArrayRows(X, Y)), tmp_path) == in_memory


def test_a_source_of_few_rows_gives_the_forest_of_the_table(tmp_path: Path) -> None:
    forest = BoostForestRegressor(10, preset="paper", random_state=0)
    table = saved(forest.fit(X, Y), tmp_path)
    assert saved(forest.fit(ArrayRows(X, Y, block=700)), tmp_path) == table


@pytest.mark.usefixtures("few_judges")
def test_a_tree_is_that_of_the_whole_table(tmp_path: Path) -> None:
    # Features that need no fit, and a target of mean 0 and standard deviation 1 among the judges as among all rows.
    plain, target = np.nan_to_num(X), np.tile([-1.0, 1.0], 1500) * np.sign(RNG.normal(size=3000))
    judges = base.choose_rows(base.entropy_of(0), 3000, 1000, None)
    target[judges] = np.tile([-1.0, 1.0], 500)
    rest = np.setdiff1d(np.arange(3000), judges)
    target[rest] = np.tile([-1.0, 1.0], 1000)
    forest = regressor(preset="paper", scale=False, n_estimators=3)
    parts, whole = forest.fit(ArrayRows(plain, target, 500)), regressor(preset="paper", scale=False, n_estimators=3)
    np.testing.assert_array_equal(parts.predict(plain), whole.fit(plain, target).predict(plain))


@pytest.mark.usefixtures("few_judges")
def test_the_forest_learns_knows_its_errors_and_calibrates() -> None:
    new = np.random.default_rng(1).normal(size=(1000, 4))
    truth = new[:, 0] * new[:, 1] + new[:, 2]
    forest = regressor(n_estimators=60, oob_score=True).fit(ArrayRows(X, Y, 800))
    assert forest.score(new, truth) > 0.85
    assert 0.7 < forest.oob_score_ < 1
    held = forest.predict_interval(new, 0.9)
    assert ((held[:, 0] <= truth) & (truth <= held[:, 1])).mean() > 0.88
    classes = classifier().fit(ArrayRows(X, LABELS, 800))
    assert classes.classes_.tolist() == ["high", "low", "middle"]
    assert classes._model.calibration.factor != 1


@pytest.mark.usefixtures("few_judges")
def test_labels_that_the_judges_lack_are_known() -> None:
    rare = np.zeros(3000, dtype=int)
    outside = np.setdiff1d(np.arange(3000), base.choose_rows(base.entropy_of(0), 3000, 1000, None))
    rare[outside[:3]] = 7
    rare[::2] = 1
    assert 7 in classifier(preset="paper").fit(ArrayRows(X, rare)).classes_


@pytest.mark.usefixtures("few_judges")
def test_parquet_files_with_text_are_one_table(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "k": np.array(list("uvw"))[np.arange(3000) % 3], "y": Y})
    for name, (first, end) in {"p0": (0, 900), "p1": (900, 900), "p2": (900, 3000)}.items():
        pq.write_table(table.slice(first, end - first), tmp_path / f"{name}.parquet", row_group_size=400)
    pq.write_table(table, tmp_path / "all.pq")
    whole = regressor().fit(ParquetRows(tmp_path / "all.pq", target="y"))
    for path in (tmp_path, str(tmp_path / "p*.parquet"), sorted(tmp_path.glob("p*.parquet"))):
        assert saved(regressor().fit(ParquetRows(path, target="y")), tmp_path) == saved(whole, tmp_path)
    assert whole.feature_names_in_.tolist() == ["a", "b", "k"]
    with pytest.raises(FileNotFoundError, match="there are none at"):
        ParquetRows(tmp_path / "none.parquet", target="y")
    with pytest.raises(ValueError, match=r"target and columns must be columns of the files, which have no \['z'\]"):
        ParquetRows(tmp_path, target="z")
    pq.write_table(table.drop_columns(["b"]), tmp_path / "q.parquet")
    with pytest.raises(ValueError, match="path must name files of equal columns"):
        ParquetRows(tmp_path, target="y")


@pytest.mark.usefixtures("few_judges")
@pytest.mark.parametrize(
    ("arguments", "fit", "message"),
    [
        ({}, {"y": Y}, "y must be None: the source has the target"),
        ({}, {"sample_weight": np.ones(3000)}, "sample_weight must be None"),
        ({"bootstrap": False, "max_samples": None}, {}, "bootstrap must be True"),
        ({"warm_start": True}, {}, "warm_start must be False"),
        ({"n_estimators": "auto"}, {}, "n_estimators must be an integer"),
        ({"n_stages": 2, "n_estimators": 60}, {}, "n_stages=2 needs a table in memory"),
        ({"boost": True, "n_estimators": 60}, {}, "boost=True needs a table in memory"),
    ],
)
def test_what_needs_the_whole_table_is_refused(arguments: Any, fit: Any, message: str) -> None:
    forest = regressor(**arguments)
    with pytest.raises(ValueError, match=message):
        forest.fit(ArrayRows(X, Y), **fit)
    assert not forest.__sklearn_is_fitted__()


def test_trees_and_wrong_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="does not read rows from a source"):
        BoostTreeRegressor().fit(ArrayRows(X, Y))
    with pytest.raises(ValueError, match="X and y must be arrays"):
        ArrayRows(X, Y[:-1])
    with pytest.raises(ValueError, match="block must be an integer"):
        ArrayRows(X, Y, block=0)


def test_too_little_disk_is_an_error_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    monkeypatch.setattr(gathered, "_SHARE", 1e-9)
    with pytest.raises(OSError, match="use a smaller max_samples"), gathered.Gathered(10**6, 5):
        pass
