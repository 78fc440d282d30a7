"""The benchmarks' own parts: workers, ratios, targets, command line; without datasets or other learners."""

import pickle
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from benchmarks.speed import boosting, compare, kernels, scaling, tables, text
from benchmarks.speed.__main__ import main
from benchmarks.speed.children import Child
from benchmarks.speed.learners import BASE, LEARNERS, make, model_bytes
from benchmarks.speed.measure import QUANTITIES
from benchmarks.speed.results import Outcome, TableResult, geometric_mean
from benchmarks.speed.runner import Runner
from benchmarks.speed.tables import Size
from benchmarks.speed.targets import TARGETS, Target, evaluate
from boostforest_paper import data, generators
from boostforest_paper.data import Dataset, paper
from boostforest_paper.learners import Settings

# Everything odd happens from 150 rows on, so that the warm-up of 100 rows goes well.
PLUGIN = """
import os, time
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from boostforest_paper.learners import learner

assert os.environ["OMP_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "1"
regression = {"tasks": ("regression",)}

@learner("tree", "scikit-learn", **regression)
def tree(settings):
    assert settings.threads == 1
    return DecisionTreeRegressor(random_state=settings.seed)

@learner("ridge", "scikit-learn", **regression)
def ridge(settings):
    print("learners may print")
    return Ridge()

class Odd:
    def fit(self, X, y):
        if len(X) >= 150:
            self.misbehave()
        return self

    def predict(self, X):
        return X[:, 0]

class Raises(Odd):
    def misbehave(self):
        raise ValueError("no fit today")

class Hangs(Odd):
    def misbehave(self):
        time.sleep(600)

class Dies(Odd):
    def misbehave(self):
        os._exit(3)

for odd in (Raises, Hangs, Dies):
    learner(odd.__name__.lower(), "numpy", **regression)(lambda settings, odd=odd: odd())

@learner("absent", "no_such_package", **regression)
def absent(settings):
    import no_such_package
"""
LIMIT = 2.0


def dataset(n):
    return Dataset(str(n), "regression", n, 3, 0, lambda folder: data.Table(*generators.regression(n, 3)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All kinds of learners on three tables, of which the first is the one that is too large for one of them."""
    folder = tmp_path_factory.mktemp("benchmarks")
    plugin = folder / "plugin.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    learners = ["tree", "ridge", "raises", "hangs", "dies", "absent"]
    results = {}
    with (
        pytest.MonkeyPatch.context() as patch,
        Runner(learners, lambda learner: Child(learner, 1, 5, plugins=[plugin]), LIMIT) as runner,
    ):
        for n in (200, 250, 100):
            patch.setitem(data.DATASETS, str(n), dataset(n))
            stored = tables.store(str(n), folder, folder / str(n))
            results[n] = TableResult("suite", str(n), "1", stored.size, runner.run(stored, 2))
    return runner, results


def test_learners_are_measured_in_turns(run):
    runner, results = run
    assert runner.versions.keys() == {"tree", "ridge", "raises", "hangs", "dies"}
    for result in results.values():
        for name in ("tree", "ridge"):
            outcome = result.outcomes[name]
            assert outcome.note is None
            assert len(outcome.repeats) == 2
            for repeat in outcome.repeats:
                assert repeat.keys() == set(QUANTITIES)
                assert all(value is None or value >= 0 for value in repeat.values())
    mean = geometric_mean(results.values(), "ridge", "fit_seconds", base="tree")
    assert mean.n_tables == 3
    assert 0 < mean.ratio.q1 <= mean.ratio.median <= mean.ratio.q3


def test_missing_package_is_left_out(run):
    runner, results = run
    assert "no_such_package" in runner.left_out["absent"]
    assert "absent" not in results[200].outcomes


def test_failures_are_noted(run):
    _, results = run
    assert results[200].outcomes["raises"].note == "fit failed: ValueError: no fit today"
    assert results[200].outcomes["dies"].note.startswith("fit failed: the process ended with status 3")
    for name in ("raises", "dies", "hangs"):
        assert len(results[100].outcomes[name].repeats) == 2, "a smaller table has to go well afterwards"


def test_time_limit_skips_larger_tables(run):
    _, results = run
    outcome = results[200].outcomes["hangs"]
    assert outcome.note.startswith("fit not done after 2 s")
    assert outcome.fit_exceeds == LIMIT
    assert results[200].ratios("hangs", "fit_seconds", base="tree") == []
    seconds = results[200].outcomes["tree"].median("fit_seconds")
    assert results[200].fit_at_least("hangs", base="tree") == LIMIT / seconds
    assert "smaller table" in results[250].outcomes["hangs"].note


def test_larger_means_larger_in_every_respect():
    assert Size(200, 3, 1).reaches(Size(200, 2, 1))
    assert not Size(100_000, 20, 1).reaches(Size(2_000, 1_000, 38))


# --- Ratios and targets, from made-up measurements ---


def made_up(suite, table, threads, **seconds):
    """Return a result with the same three times for every repeat of a learner."""
    outcomes = {
        name: Outcome([dict.fromkeys(QUANTITIES, value) for value in values]) for name, values in seconds.items()
    }
    return TableResult(suite, table, threads, Size(100, 5, 1), outcomes)


def small_suite(**seconds):
    return [made_up("small", name, "1", **seconds) for name in tables.SUITES["small"]]


def test_ratios_are_paired_within_repeats():
    result = made_up("small", "CS", "1", BoostForest=[1.0, 2.0, 4.0], RandomForest=[10.0, 20.0])
    assert result.ratios("RandomForest", "fit_seconds") == [10, 10]
    other = made_up("small", "CF", "1", BoostForest=[1.0, 1.0], RandomForest=[40.0, 90.0])
    mean = geometric_mean([result, other], "RandomForest", "fit_seconds")
    np.testing.assert_allclose(mean.ratio.median, (20 + 30) / 2)
    assert geometric_mean([result, other], "LightGBM", "fit_seconds") is None


def test_targets_are_met_missed_or_not_measured():
    target = Target("small", "1", "RandomForest", "fit_seconds", 12)
    assert evaluate(target, small_suite(BoostForest=[1.0], RandomForest=[12.5])).state == "met"
    assert evaluate(target, small_suite(BoostForest=[1.0], RandomForest=[11.5])).state == "missed"
    part = evaluate(target, small_suite(BoostForest=[1.0], RandomForest=[12.5])[:3])
    assert (part.state, part.n_tables) == ("not measured", 3)
    assert "3 of 30" in str(part)
    assert evaluate(target._replace(threads="all"), small_suite(BoostForest=[1.0], RandomForest=[12.5])).value is None


def test_target_of_boostforest_itself_is_an_upper_bound():
    target = Target("small", "1", BASE, "row_seconds", 200e-6)
    assert evaluate(target, small_suite(BoostForest=[150e-6])).state == "met"
    assert evaluate(target, small_suite(BoostForest=[250e-6])).state == "missed"


@pytest.mark.parametrize(("limit", "state"), [(600.0, "met"), (40.0, "not measured")])
def test_time_limit_may_be_enough_for_a_target(limit, state):
    target = Target("synthetic", "all", "RandomForest", "fit_seconds", 5, "1000000x20")
    result = made_up("synthetic", "1000000x20", "all", BoostForest=[10.0])
    result.outcomes["RandomForest"] = Outcome(note="fit not done", fit_exceeds=limit)
    verdict = evaluate(target, [result])
    assert (verdict.state, verdict.value, verdict.is_bound) == (state, limit / 10, True)


def test_targets_name_known_things():
    for target in TARGETS:
        assert target.learner in LEARNERS
        assert target.quantity in QUANTITIES
        assert target.tables() <= set(tables.SUITES[target.suite])
    for name in (*tables.BUILT_IN, *(name for suite in tables.SUITES.values() for name in suite)):
        assert data.find(name).name == name


def test_text_has_ratios_means_and_notes():
    results = small_suite(BoostForest=[1.0, 1.0], RandomForest=[20.0, 30.0])
    results[0].outcomes["RandomForest"].note = "predict failed: out of memory"
    written = text.suite_text(results)
    assert "25.0 ±2.5" in written
    assert "geometric mean" in written
    assert "RandomForest on SON: predict failed: out of memory" in written


def test_compare_fails_beyond_its_limit(capsys):
    slower = [made_up("built-in", "diabetes", "1", base=[1.0, 1.0, 1.0], head=[1.05, 1.15, 1.3])]
    assert compare.verdict(slower, limit_percent=10)[1] is True
    assert compare.verdict(slower, limit_percent=20)[1] is False
    assert "more than 10 % slower" in capsys.readouterr().out


# --- Tables, sizes, exponents ---


def test_one_hot_table():
    X, y = generators.one_hot(2_000)
    hot = X[:, generators.N_NUMERIC :]
    assert X.shape == (2_000, 106)
    assert set(np.unique(hot)) == {0, 1}
    np.testing.assert_array_equal(hot.sum(axis=1), len(generators.LEVELS))
    assert 0.2 < y.mean() < 0.8


@pytest.mark.parametrize("make", [lambda: generators.regression(500, 30), lambda: generators.classification(500, 5, 7)])
def test_synthetic_tables_repeat(make):
    (X, y), (X_again, y_again) = make(), make()
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert len(np.unique(y)) in (7, 500)


def test_stored_classes_are_numbered(tmp_path, monkeypatch):
    table = data.Table(np.arange(50.0).reshape(25, 2), np.array(list("abcde") * 5))
    monkeypatch.setitem(data.DATASETS, "letters", Dataset("letters", "classification", 25, 2, 5, lambda folder: table))
    stored = tables.store("letters", tmp_path, tmp_path / "letters")
    y = np.load(stored.folder / "y_train.npy")
    assert stored.size == Size(20, 2, 5)
    assert sorted(set(y)) == [0, 1, 2, 3, 4]


def test_model_bytes_of_an_ordinary_model_is_its_pickle():
    model = DecisionTreeRegressor(random_state=0).fit(*generators.regression(100, 3))
    assert model_bytes(model) == len(pickle.dumps(model, protocol=5))


def test_exponent():
    x = np.array([10, 100, 1_000])
    np.testing.assert_allclose(scaling.exponent(x, 3e-6 * x**1.25), 1.25)
    assert np.isnan(scaling.exponent([1], [0.1]))


def test_boosting_is_timed_on_a_table_that_does_not_stop_early_and_compared_with_its_limit():
    boosting.boost(*boosting.table(500, 3, 2), 2, leaves=4, rounds=5)
    slow = boosting.Ratio(500, 4, 2, ours=3.2, lightgbm=2.0)
    assert boosting.line(slow).split() == ["500", "4", "two", "classes", "3.20", "2.00", "1.60", "missed"]
    assert boosting.line(slow._replace(ours=1.0, classes=0)).endswith("0.50  met")


def test_kernel_operations_and_targets():
    assert kernels.operations(1_000, 8) == 1_000 * 8 * 9 + 8**3 / 3
    assert kernels.operations(200, 512) == 512 * 200 * 201 + 200**3 / 3
    assert [kernels.Share(200, d, 1e-5, 0.4).state for d in (16, 32, 128)] == ["", "met", "missed"]


# --- Command line ---


@pytest.mark.parametrize(
    ("option", "known"), [("--datasets", "SON"), ("--learners", "LightGBM-linear"), ("--suite", "onehot")]
)
def test_unknown_name_lists_the_known_ones(option, known, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["run", option, "nonsense"])
    assert exit_info.value.code == 2
    message = capsys.readouterr().err
    assert "nonsense" in message
    assert known in message


@pytest.mark.parametrize("threads", ["0", "some", "1,,2"])
def test_bad_threads(threads, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["run", "--threads", threads])
    assert threads in capsys.readouterr().err


def test_missing_data_is_one_sentence(tmp_path, capsys, monkeypatch):
    def unreachable(**options):
        raise URLError("no network")

    monkeypatch.setattr(paper, "OPENML", paper.OpenML())
    paper.OPENML.fetch = unreachable
    for options in ([], ["--datasets", "CS"]):
        with pytest.raises(SystemExit) as exit_info:
            main(["run", "--data", str(tmp_path / "nowhere"), *options])
        assert exit_info.value.code == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        assert f"{options[-1] if options else 'SON'} is not at hand" in message
        assert "--data DIR" in message


def test_forests_have_the_trees_that_were_asked_for_and_boosters_their_own():
    settings = Settings("regression", 100, 0, 0, 1)
    assert make("RandomForest", settings, 7).n_estimators == 7
    assert make("Extra-Trees", settings, 7).bootstrap is False
    assert make("HistGradientBoosting", settings, 7).max_iter == 100


def test_memory_counts_nodes_and_bytes():
    pytest.importorskip("resource", reason="the benchmark asks the system, and this one has no such module")
    from benchmarks.speed.memory import fit_once

    found = fit_once(400, 20, 3, "float16", 1)
    assert found["model"] < found["peak"]
    assert 1e9 * found["model"] / found["nodes"] == pytest.approx(75, abs=5)  # and the scaling of 20 features
