"""Runs of the benchmarks: killed ones go on, several share the work, failures are written down."""

import subprocess
import sys
from collections import Counter
from io import StringIO
from pathlib import Path
from time import monotonic, sleep

import pytest

from boostforest_paper import data, experiments, learners, plugins
from boostforest_paper.__main__ import main
from boostforest_paper.running import estimate
from boostforest_paper.running.choose import Wish, added, choose_stored, widen, wished
from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Job, Selection, all_jobs
from boostforest_paper.running.progress import Progress, duration
from boostforest_paper.running.runner import Limits, Runner
from boostforest_paper.running.store import Store
from boostforest_paper.running.workers import Setup

ROOT = Path(__file__).resolve().parents[1]
# One small registration each: a dataset, learners, an experiment.
PLUGIN = """
import os, time
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

from boostforest_paper.data import Dataset, Table, register
from boostforest_paper.experiments import Block, Experiment, register as register_experiment
from boostforest_paper.learners import learner

LOG = Path(__file__).with_name("fits.log")


def line(folder):
    x = np.linspace(0, 1, 50)
    return Table(x[:, np.newaxis], 3 * x)


register(Dataset("line", "regression", 50, 1, 0, line))


class Slow(Ridge):
    def fit(self, X, y):
        with LOG.open("a") as log:
            log.write(f"{self.alpha} {y[0]}\\n")
        time.sleep(0.1)
        return super().fit(X, y)


@learner("slow", "scikit-learn", tasks=("regression",))
def slow(settings, **params):
    return Slow(**params)


class Raises(Ridge):
    def fit(self, X, y):
        raise ValueError("no fit today\\nand none tomorrow")


class Dies(Ridge):
    def fit(self, X, y):
        os.abort()


class Hangs(Ridge):
    def fit(self, X, y):
        time.sleep(600)


for odd in (Raises, Dies, Hangs):
    learner(odd.__name__.lower(), "scikit-learn", tasks=("regression",))(lambda settings, odd=odd: odd())
block = Block("regression", ("line",), ("slow",), "slow")
register_experiment(Experiment("lines", "Does it run?", (block,), repeats=16))
"""
N_FITS = 16


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


@pytest.fixture
def registered(plugin, monkeypatch):
    """The same registrations in this process, for one test."""
    for registry in (data.DATASETS, learners.LEARNERS, experiments.EXPERIMENTS):
        for name in list(registry):
            monkeypatch.setitem(registry, name, registry[name])  # puts the registry back afterwards
    known = {id(r): set(r) for r in (data.DATASETS, learners.LEARNERS, experiments.EXPERIMENTS)}
    plugins.load(plugin)
    yield plugin
    for registry in (data.DATASETS, learners.LEARNERS, experiments.EXPERIMENTS):
        for name in set(registry) - known[id(registry)]:
            del registry[name]


def start(plugin):
    """Begin the run in a process of its own."""
    options = ["--plugin", str(plugin), "--store", str(plugin.with_name("s"))]
    command = [sys.executable, "-m", "boostforest_paper", "run", "lines", *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def states(plugin):
    path = plugin.with_name("s")
    if not path.is_file():
        return Counter()
    with Store(path) as store:
        return Counter(row["state"] for row in store.rows().values())


def wait_for(plugin, process, n_done):
    """Wait until so many fits are done."""
    deadline = monotonic() + 120
    while states(plugin)["done"] < n_done:
        assert monotonic() < deadline
        assert process.poll() is None, process.communicate()
        sleep(0.02)


def test_killed_run_loses_one_fit_and_two_processes_share_the_rest(registered):
    killed = start(registered)
    wait_for(registered, killed, 3)
    killed.kill()
    killed.communicate()
    before = states(registered)
    assert 3 <= before["done"] < N_FITS
    assert before["claimed"] <= 1

    other = start(registered)
    wait_for(registered, other, before["done"] + 1)
    _, mine, _ = run_in_store(registered, [Job("line", repeat, "slow", "", "none") for repeat in range(N_FITS)])
    _, theirs = other.communicate(timeout=120)
    assert other.returncode == 0, theirs
    assert states(registered) == {"done": N_FITS}
    begun = registered.with_name("fits.log").read_text().splitlines()
    assert len(begun) - N_FITS <= 1, "only the fit in progress is made again"
    n_done = [int(said.splitlines()[-1].split(" ")[0]) for said in (mine, theirs)]
    assert sum(n_done) == N_FITS - before["done"]
    assert min(n_done) > 0, "both had their share"
    assert f"{before['done']} were done before" in theirs.splitlines()[-1]


def run_in_store(path, jobs, **limits):
    """Run jobs with one worker process; return the rows and what was said."""
    stream = StringIO()
    with Store(path.with_name("s")) as store:
        progress = Progress(jobs, store.rows(), estimate.from_store(store.rows()), 1, stream)
        runner = Runner(store, Setup(path.parent, 1, (path,)), store.machine({}), Limits(**limits), progress)
        in_time = runner.run(jobs, 1)
        progress.close()
        return store.rows(), stream.getvalue(), in_time


def test_failures_are_written_down_and_the_run_goes_on(registered):
    names = ["raises", "slow", "dies", "hangs"]
    jobs = [Job("line", 0, name, "", "none") for name in names]
    rows, said, in_time = run_in_store(registered, jobs, fit_seconds=2.0)
    assert in_time
    errors = {job.learner: row["error"] for job, row in rows.items()}
    assert errors["raises"] == "ValueError: no fit today"
    assert errors["dies"] == "the process of the fit ended with signal 6 (SIGABRT)"
    assert errors["hangs"] == "not done after 2 s"
    assert rows[jobs[1]]["state"] == "done"
    assert rows[jobs[1]]["rmse"] < 0.2
    assert "failed: raises on line, repeat 0: ValueError: no fit today" in said
    assert said.splitlines()[-1].startswith("1 fits done in") and said.endswith("; 3 failed.\n")


def test_no_fit_is_begun_when_the_time_is_over(registered):
    jobs = [Job("line", repeat, "slow", "", "none") for repeat in range(10)]
    rows, said, in_time = run_in_store(registered, jobs, minutes=1e-9)
    assert not in_time
    assert rows == {}
    assert "10 left" in said


# --- What is to be fitted ---


def test_narrowed_experiment_keeps_its_own_and_takes_new_ones(registered):
    (narrowed,) = wished(Wish(["Ex1"], datasets=["BH", "SON", "line"], learners=["BoostForest", "slow"]))
    assert [block.datasets for block in narrowed.blocks] == [("SON",), ("BH", "line")]
    assert [block.learners for block in narrowed.blocks] == [("BoostForest",), ("BoostForest", "slow")]
    (only,) = wished(Wish(["Ex7_SI"], learners=["BoostForest-SVR"]))
    assert [block.title for block in only.blocks] == ["SVR"], "a learner of one block does not join the other"
    (part,) = wished(Wish(["mnist_higgs"], datasets=["HIGGS-subset"]))
    assert [block.title for block in part.blocks] == ["HIGGS"], "nor does a part of a dataset"
    several = Wish(["Ex1", "Ex_clip_SI"], learners=["BoostForest (w/o clipping)", "BoostForest"])
    assert "BoostForest (w/o clipping)" not in wished(several)[0].blocks[1].learners, "nor that of another experiment"
    assert added(several) == []


def test_report_has_what_was_added_to_an_experiment(registered):
    wish = Wish(["Ex1"], datasets=["line", "bh"], learners=["slow", "BoostForest"])
    names = added(wish)
    assert names == ["line", "slow"]
    (selection,) = choose_stored(Wish(["Ex1"]), {("line", "slow"), ("BH", "BoostForest")}, names)
    block = selection.experiment.blocks[1]
    assert selection.datasets(block) == ["BH", "line"]
    assert set(selection.columns(block)) == {"BoostForest", "slow"}
    names = added(Wish(["mnist_higgs"], datasets=["HIGGS-synthetic", "HIGGS-subset"]))
    assert names == ["HIGGS-synthetic"], "the subset stands in by itself"
    widened = widen(experiments.find("mnist_higgs"), names)
    assert [block.datasets for block in widened.blocks] == [("MNIST",), ("HIGGS", "HIGGS-synthetic")]


def test_fit_that_two_experiments_ask_for_is_one():
    chosen = [experiments.find("Ex1"), experiments.find("Ex_clip_SI")]
    usable = {name: name for e in chosen for block in e.blocks for name in block.datasets}
    selections = [Selection(e, "random:20", 2, usable, frozenset({"BoostForest"})) for e in chosen]
    jobs = all_jobs(selections)
    assert len(jobs) == 2 * 30
    assert {job.tuning for job in jobs} == {"none"}, "there is nothing to tune"
    assert [job.repeat for job in jobs] == sorted(job.repeat for job in jobs)


def test_large_table_has_its_own_settings():
    block = experiments.find("bigData").blocks[0]
    selection = Selection(experiments.find("bigData"), "none", 1, {}, frozenset())
    assert selection.job(block, "SUSY", 0, "BoostForest").learner == "BoostForest (SUSY)"
    assert selection.job(block, "SUSY-subset", 0, "BoostForest").learner == "BoostForest"


def test_curves_name_their_points():
    selection = Selection(experiments.find("R3"), "none", 1, {"BH": "BH"}, frozenset({"BoostForest"}))
    assert [job.points for job in selection.jobs()] == [[2], [4], [8], [16], [32], [64], [128], [256]]
    selection = Selection(experiments.find("C2"), "none", 1, {"SON": "SON"}, frozenset({"BoostForest"}))
    assert [job.points[-1] for job in selection.jobs()] == [250]


def test_report_shows_what_stands_in():
    (selection,) = choose_stored(Wish(["bigData"]), {("SUSY-subset", "BoostForest"), ("PTS", "XGBoost")})
    assert selection.usable == {"SUSY": "SUSY-subset", "PTS": "PTS"}
    assert selection.learners == {"BoostForest", "XGBoost"}


def test_every_experiment_names_known_things():
    for experiment in experiments.EXPERIMENTS.values():
        for block in experiment.blocks:
            assert block.base in block.learners
            for name in (*block.learners, *block.instead.values()):
                assert block.task in learners.find(name).tasks
            for name in block.datasets:
                assert data.find(name).task == block.task


# --- Time ---


def test_estimate_multiplies_learner_and_dataset():
    known = estimate.Estimate()
    for dataset, factor in (("SON", 1.0), ("BH", 10.0)):
        known.add(Job(dataset, 0, "RandomForest", "", "none"), 2 * factor)
        known.add(Job(dataset, 0, "XGBoost", "", "none"), factor)
    known.add(Job("CCS", 0, "RandomForest", "", "none"), 8.0)
    assert known.seconds(Job("CCS", 5, "RandomForest", "", "none")) == 8
    assert known.seconds(Job("CCS", 0, "XGBoost", "", "none")) == pytest.approx(4, rel=0.05)
    tuned = known.seconds(Job("SON", 0, "XGBoost", "", "random:20"))
    assert tuned == pytest.approx(1 * (1 + 0.75 * 20), rel=0.05)
    assert known.seconds(Job("SON", 0, "CatBoost", "", "none")) is None
    assert known.seconds(Job("EGSS", 0, "XGBoost", "", "none")) is None, "too few datasets for a guess from the size"


def test_estimate_of_an_unknown_dataset_follows_its_size():
    known = estimate.Estimate()
    for name in ("SON", "SEE", "VC3", "BH", "CCS", "WQW", "CCPP", "VS", "QSAR"):
        dataset = data.find(name)
        seconds = 1e-4 * dataset.n_rows * dataset.n_features**0.5 * max(dataset.n_classes, 1)
        known.add(Job(name, 0, "XGBoost", "", "none"), seconds)
    assert known.seconds(Job("LR", 0, "XGBoost", "", "none")) == pytest.approx(1e-4 * 20_000 * 4 * 26)


def test_progress_says_how_long_the_rest_takes():
    jobs = [Job("SON", repeat, "XGBoost", "", "none") for repeat in range(5)]
    stream = StringIO()
    progress = Progress(jobs, {jobs[0]: {"state": "done"}}, estimate.Estimate(), 2, stream)
    progress.tick()
    assert stream.getvalue().startswith("1 of 5 fits, 0 s gone, time left unknown yet")
    progress.begin(jobs[1])
    progress.finish(jobs[1], Outcome(fit_seconds=40.0))
    assert progress.left_seconds() == pytest.approx(3 * 40 / 2)
    assert [duration(s) for s in (5, 65, 7500)] == ["5 s", "1 min 05 s", "2 h 05 min"]


# --- Command line ---


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (["run", "Ex99"], "Ex1_binary"),
        (["run", "Ex1", "--learners", "nonsense"], "XGBoost"),
        (["run", "Ex1", "--datasets", "nonsense"], "SON"),
        (["report", "Ex99"], "Ex1_binary"),
    ],
)
def test_unknown_name_lists_the_known_ones(arguments, known, tmp_path, capsys):
    Store(tmp_path / "s").close()
    assert main([*arguments, "--store", str(tmp_path / "s")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert known in said


@pytest.mark.parametrize(
    ("option", "value"),
    [("--tuning", "best"), ("--repeats", "0"), ("--minutes", "-1"), ("--processes", "few"), ("--plugin", "nowhere.py")],
)
def test_bad_option_is_said(option, value, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["run", "Ex1", option, value])
    said = capsys.readouterr().err
    assert option in said
    assert value in said


def test_store_of_another_layout_is_one_sentence(tmp_path, capsys):
    (tmp_path / "s").write_text("something else" * 100)
    assert main(["report", "Ex1", "--store", str(tmp_path / "s")]) == 2
    assert "is not a store of these benchmarks" in capsys.readouterr().err


def test_list_shows_all_registries(capsys):
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    for name in ("Ex_LMT_M5P_SI", "PerpetualBooster", "RLCT-synthetic", "synthetic data of the shape of SUSY"):
        assert name in said


def test_status_and_forget(tmp_path, capsys):
    path = tmp_path / "s"
    jobs = [Job("iris", repeat, "BoostForest", "", "none") for repeat in range(2)]
    with Store(path) as store:
        for job in jobs:
            store.claim(job)
            store.finish(job, Outcome(metrics={"accuracy": 0.9}, cpu_seconds=3600.0), "1.0", store.machine({}), 1)
    options = ["quick", "--datasets", "iris", "--learners", "BoostForest", "--store", str(path)]
    assert main(["status", *options, "--repeats", "4"]) == 0
    assert "2      0      2  2 h 00 min" in capsys.readouterr().out
    assert main(["forget", *options, "--repeats", "1"]) == 0
    assert "1 fits forgotten" in capsys.readouterr().out
    with Store(path) as store:
        assert list(store.rows()) == jobs[1:]
