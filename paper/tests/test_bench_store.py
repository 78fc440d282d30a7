"""The benchmarks' store: claims, takeovers, layouts."""

import os
import sqlite3
import subprocess
import sys
from time import time

import pytest

from boostforest_paper.running import store as module
from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Job
from boostforest_paper.running.store import Claimant, Store, StoreError

JOB = Job("iris", 0, "BoostForest", "", "none")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite"


def finish(store, job=JOB, **metrics):
    return store.finish(job, Outcome(metrics=metrics, params={"a": 1}, model_bytes=7), "1.0", store.machine({}), 1)


def test_fit_is_claimed_once(path):
    with Store(path) as one, Store(path) as two:
        assert one.claim(JOB)
        assert not one.claim(JOB)
        assert not two.claim(JOB), "the owner is alive"
        assert finish(one, accuracy=0.5)
        assert not two.claim(JOB)
        row = two.rows()[JOB]
    assert (row["state"], row["accuracy"], row["rmse"], row["params"]) == ("done", 0.5, None, '{"a": 1}')


def test_released_claim_is_free(path):
    with Store(path) as one, Store(path) as two:
        one.claim(JOB)
        one.release()
        assert two.claim(JOB)


def test_claim_of_a_dead_process_is_taken_over(path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with Store(path) as gone, Store(path) as here:
        gone.me = gone.me._replace(pid=process.pid)
        assert gone.claim(JOB)
        assert here.claim(JOB)
        assert not finish(gone, accuracy=0.1), "its claim is lost, its result is not taken"
        assert finish(here, accuracy=0.9)
        assert here.rows()[JOB]["accuracy"] == 0.9


def test_claim_that_is_not_renewed_is_taken_over(path, monkeypatch):
    with Store(path) as one, Store(path) as two:
        one.me = one.me._replace(host="another machine")
        one.claim(JOB)
        monkeypatch.setattr(module, "time", lambda: time() + 0.9 * module.STALE_SECONDS)
        one.beat()
        monkeypatch.setattr(module, "time", lambda: time() + 1.8 * module.STALE_SECONDS)
        assert not two.claim(JOB), "it was renewed"
        monkeypatch.setattr(module, "time", lambda: time() + 2.8 * module.STALE_SECONDS)
        assert two.claim(JOB)


def test_living_process_is_not_dead():
    me = Claimant.myself()
    assert not me.is_dead(me.host, os.getppid(), time())
    assert not me.is_dead("another machine", 2**22 + 1, time()), "nothing is known about processes elsewhere"


def test_failed_fit_is_tried_again_only_when_asked(path):
    with Store(path) as store:
        store.claim(JOB)
        store.fail(JOB, "no luck", "1.0", store.machine({}), 1)
        assert not store.claim(JOB)
        assert store.rows()[JOB]["error"] == "no luck"
        assert store.claim(JOB, retry_before=time() + 1)
        assert store.rows()[JOB]["error"] is None


def test_forgotten_fit_is_free(path):
    with Store(path) as store:
        store.claim(JOB)
        finish(store)
        assert store.forget([JOB, JOB._replace(repeat=1)]) == 1
        assert store.claim(JOB)


def test_machines_and_runs_are_kept(path):
    with Store(path) as store:
        numbers = [store.machine({"cores": n}) for n in (1, 2, 1)]
        assert numbers == [1, 2, 1]
        store.note_run("Ex1", "none", 1, {})
        store.note_run("today", "none", 2, {}, ["moons"])
        store.note_run("today", "none", 2, {}, ["Ridge", "moons"])
        store.note_run("Ex1", "random:20", 2, {"GBDT-PL": "not there"})
        assert list(store.runs()) == ["Ex1", "today"]
        assert store.runs()["Ex1"] == ("random:20", {"GBDT-PL": "not there"}, [])
        assert store.runs()["today"].added == ["moons", "Ridge"]


@pytest.mark.parametrize("layout", [0, module.LAYOUT - 1, module.LAYOUT + 1])
def test_other_layout_is_refused_and_not_touched(path, layout):
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute(f"PRAGMA user_version = {layout}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"has layout {layout}, and these benchmarks read layout {module.LAYOUT}"):
        Store(path)
    assert path.read_bytes() == before


def test_other_files_are_refused_and_not_touched(path):
    path.write_text("dataset,accuracy\n" * 100)
    with pytest.raises(StoreError, match="is not a store of these benchmarks"):
        Store(path)
    assert path.read_text().startswith("dataset,accuracy")
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is not a store of these benchmarks; name another file"):
        Store(path)
    assert path.read_bytes() == before


def test_missing_store_is_not_made_by_reading(path):
    with pytest.raises(StoreError, match="There is no store"):
        Store(path, must_exist=True)
    assert not path.exists()
