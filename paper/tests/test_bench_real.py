"""The experiment over a folder of mixed tables: Elo against what is known of it, frames, and a whole run."""

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from boostforest_paper import data, experiments, learners
from boostforest_paper.__main__ import main
from boostforest_paper.data import real as real_data
from boostforest_paper.data.checks import DataError
from boostforest_paper.experiments import real
from boostforest_paper.learners import Settings, frames
from boostforest_paper.reports import statistics
from boostforest_paper.running.choose import Wish, select
from boostforest_paper.running.store import Store

# ------------------------------------------------------------------------------------------------------- statistics


def test_elo_of_two_learners_is_the_logarithm_of_their_odds():
    losses = np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]])
    elo = statistics.elo(losses, anchor=1)
    odds = (3 + statistics.DRAWN) / (1 + statistics.DRAWN)
    np.testing.assert_allclose(elo, [1000 + 400 * np.log10(odds), 1000], rtol=1e-8)


def test_strengths_are_those_of_the_largest_likelihood():
    won = np.array([[0.0, 5, 7], [3, 0, 4], [1, 2, 0]])
    found = statistics.bradley_terry(won)

    def likelihood(strength):
        lead = strength[:, np.newaxis] - strength
        return -(won * np.logaddexp(0, -lead)).sum()

    steps = np.linspace(-0.3, 0.3, 61)
    best = max(product(steps, steps), key=lambda step: likelihood(found + np.array([*step, 0.0])))
    np.testing.assert_allclose(best, 0, atol=1e-12)
    assert likelihood(found) > likelihood(found + np.array([1e-4, 0, 0]))
    assert found.sum() == pytest.approx(0)


def test_equal_losses_are_half_a_win_and_equal_learners_have_the_same_elo():
    losses = np.array([[1.0, 1.0, 2.0], [3.0, 3.0, 1.0]])
    np.testing.assert_array_equal(statistics.wins(losses), [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    elo = statistics.elo(losses, anchor=0)
    np.testing.assert_allclose(elo, 1000, atol=1e-6)
    np.testing.assert_array_equal(statistics.ranks(losses, higher_is_better=False), [[1.5, 1.5, 3], [2.5, 2.5, 1]])


def test_a_learner_that_always_wins_has_a_finite_elo_and_an_interval():
    losses = np.random.default_rng(0).uniform(1, 2, size=(15, 4)) - [0, 0, 0, 1]
    elo, (low, high) = statistics.elo(losses, anchor=0), statistics.elo_intervals(losses, anchor=0, draws=40)
    assert np.argmax(elo) == 3 and np.isfinite(elo).all()
    assert (low <= elo + 1e-6).all() and (elo <= high + 1e-6).all()
    assert low[0] == high[0] == 1000


def test_improvability_is_the_share_of_its_loss_that_a_learner_is_behind_the_best():
    losses = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(statistics.improvability(losses), [0, 0.25, 0.875])


# ----------------------------------------------------------------------------------------------------------- frames


def mixed(n, seed, classes=None):
    """Return a frame of numbers and text, with missing cells, and its target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["a", "b", "c", "d", "e"], n)})
    score = frame["size"] + 2 * (frame["town"] == "b") + 0.3 * rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame["town"] = frame["town"].astype(object).where(rng.random(n) > 0.1, None)
    target = score if classes is None else np.where(score > 0.4, *classes)
    return frame.assign(target=target)


@pytest.mark.parametrize("task", real.TASKS)
@pytest.mark.parametrize("name", [*real.LEARNERS, "BoostForest (one-hot)"])
def test_learners_take_frames_with_unknown_levels_and_missing_cells(name, task):
    entry = learners.find(name)
    if name == "EBM" or entry.missing():
        pytest.skip("takes too long" if name == "EBM" else entry.missing())
    frame = mixed(120, 0, ("yes", "no") if task == "classification" else None)
    y = frame.pop("target").to_numpy()
    y = np.unique(y, return_inverse=True)[1] if task == "classification" else y
    quick = {"RandomForest": 20, "Extra-Trees": 20, "CatBoost": 20, "BoostForest": 5, "BoostForest (one-hot)": 5}
    quick["BoostForest-best"] = 40
    params = {"n_estimators": quick[name]} if name in quick else {}
    model = entry.on_frames(entry.build(Settings(task, 120, 2 * (task == "classification"), 0, 1), params))
    model.fit(frame, y)
    later = frame[:20].assign(town=["a", None, "never seen", "b"] * 5)
    output = model.predict_proba(later)[:, 1] if task == "classification" else model.predict(later)
    assert np.shape(output) == (20,) and np.isfinite(output).all()
    assert hasattr(model, "predict_proba") == (task == "classification")


def test_a_learner_without_a_way_to_take_frames_says_so():
    with pytest.raises(TypeError, match="SVR does not take frames"):
        learners.find("SVR").on_frames(None)


def test_text_becomes_categories_with_the_levels_of_the_fit():
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "town": ["b", None, "a"]})
    categories = frames.AsCategories().fit(frame)
    found = categories.transform(frame.assign(town=["a", "new", "b"]))
    assert found["town"].cat.codes.tolist() == [0, -1, 1]
    pd.testing.assert_series_equal(found["x"], frame["x"])


# ------------------------------------------------------------------------------------------------------------ a run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of two small tables; what they register is taken back."""
    for registry in (data.DATASETS, experiments.EXPERIMENTS):
        for key, value in list(registry.items()):
            monkeypatch.setitem(registry, key, value)
    entries = []
    for name, classes in (("towns", ("yes", "no")), ("sizes", None)):
        frame = mixed(60, 1, classes)
        frame.to_parquet(tmp_path / f"{name}.parquet")
        entries.append({"name": name, "task": "classification" if classes else "regression", "rows": 60, "columns": 2})
    (tmp_path / "manifest.json").write_text(json.dumps({"datasets": entries}))
    yield tmp_path
    for name in ("towns", "sizes"):
        data.DATASETS.pop(name, None)


def test_a_run_over_a_folder_ends_with_elo_in_a_report(folder, tmp_path, capsys):
    where = ["--data", str(folder), "--store", str(tmp_path / "store.sqlite")]
    chosen = ["--learners", "RandomForest", "HistGradientBoosting", "BoostForest", "--repeats", "2"]
    assert main(["run", "real", *where, *chosen]) == 0
    with Store(tmp_path / "store.sqlite") as store:
        rows = store.rows()
    assert len(rows) == 12 and {row["state"] for row in rows.values()} == {"done"}
    report = ["--html", str(tmp_path / "page.html"), "--markdown", str(tmp_path / "docs")]
    assert main(["report", "real", *where, *report]) == 0
    text = (tmp_path / "docs" / "real.md").read_text(encoding="utf-8")
    for measure in ("Log-loss or RMSE", "Error rate or MAE"):
        assert f"**{measure}, all tables (2 tables)**" in text
    (line,) = (line for line in text.splitlines()[:25] if line.startswith("| RandomForest |"))
    assert line.startswith("| RandomForest | 1000 | 1000 to 1000 |") or "| **1000** |" in line
    assert (tmp_path / "docs" / "real.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "Elo by log-loss or RMSE" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_large_tables_have_fewer_repeats(folder):
    real.use_folder(folder)
    data.DATASETS["sizes"] = replace(data.DATASETS["sizes"], n_rows=experiments.LARGE)
    experiment, usable = experiments.find("real"), {"towns": "towns", "sizes": "sizes"}
    chosen = select(experiment, Wish(["real"]), usable, frozenset({"BoostForest"}))
    assert Counter(job.dataset for job in chosen.jobs()) == {"towns": 10, "sizes": 3}
    chosen = select(experiment, Wish(["real"], repeats=5), usable, frozenset({"BoostForest"}))
    assert Counter(job.dataset for job in chosen.jobs()) == {"towns": 5, "sizes": 5}


def test_a_folder_without_tables_is_said(tmp_path, capsys):
    assert main(["run", "real", "--data", str(tmp_path)]) == 2
    assert "has no manifest.json that lists tables of mixed columns" in capsys.readouterr().err


def test_a_folder_with_a_table_of_a_known_name_or_task_is_refused(folder):
    path = folder / real_data.MANIFEST
    for entry, message in (
        ({"name": "BH", "task": "regression"}, "BH is refused: there is another dataset of this name"),
        ({"name": "odd", "task": "ranking"}, "must be classification or regression; got 'ranking'"),
    ):
        path.write_text(json.dumps({"datasets": [{**entry, "rows": 1, "columns": 1}]}))
        with pytest.raises(DataError, match=message):
            real.use_folder(folder)
    path.write_text("[1")
    with pytest.raises(DataError, match="is not a list of datasets"):
        real.use_folder(folder)
