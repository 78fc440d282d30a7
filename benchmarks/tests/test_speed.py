"""The benchmarks' own parts: workers, ratios, command line; without datasets or other learners."""

import pickle
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from benchmarks.speed import boosting, compare, dtypes, kernels, run, scaling, tables
from benchmarks.speed.__main__ import main
from benchmarks.speed.children import Child, ChildError, closing_all, in_turns
from benchmarks.speed.learners import BASE, make, model_bytes
from benchmarks.speed.measure import QUANTITIES
from benchmarks.speed.results import ratio
from boostforest_paper import data, generators
from boostforest_paper.data import Dataset, paper
from boostforest_paper.learners import Settings


def made_up(**seconds):
    """Return measurements of one table, with the same five values for every repeat of a learner."""
    return {name: [dict.fromkeys(QUANTITIES, value) for value in values] for name, values in seconds.items()}


def test_learners_are_measured_in_turns_each_in_a_process_of_its_own(tmp_path, monkeypatch):
    known = Dataset("100", "regression", 100, 3, 0, lambda folder: data.Table(*generators.regression(100, 3)))
    monkeypatch.setitem(data.DATASETS, "100", known)
    stored = tables.store("100", tmp_path, tmp_path / "100")
    with closing_all({name: Child(name, 1, 5) for name in ("BoostForest", "HistGradientBoosting")}) as children:
        for child in children.values():
            child.hello()
        measured = in_turns(children, stored, repeats=2)
    for repeats in measured.values():
        assert len(repeats) == 2
        for repeat in repeats:
            assert repeat.keys() == set(QUANTITIES)
            assert all(value is None or value >= 0 for value in repeat.values())
    found = ratio([measured], "HistGradientBoosting", "BoostForest", "fit_seconds")
    assert 0 < found.q1 <= found.median <= found.q3


def test_worker_that_ends_says_why():
    workers = {"someone": Child("no such learner", 1, 5)}
    with closing_all(workers), pytest.raises(ChildError, match="no such learner"):
        workers["someone"].hello()


def test_worker_runs_what_is_in_its_prefix_or_nothing(tmp_path):
    workers = {BASE: Child(BASE, 1, 5, prefix=tmp_path)}
    with closing_all(workers), pytest.raises(ChildError):
        workers[BASE].hello()


def test_ratios_are_paired_within_repeats():
    result = made_up(BoostForest=[1.0, 2.0], RandomForest=[10.0, 20.0])
    assert ratio([result], "RandomForest", "BoostForest", "fit_seconds") == pytest.approx((10, 10, 10))
    other = made_up(BoostForest=[1.0, 1.0], RandomForest=[40.0, 90.0])
    mean = ratio([result, other], "RandomForest", "BoostForest", "fit_seconds")
    np.testing.assert_allclose(mean.median, (20 + 30) / 2)
    assert str(mean) == "25.0 ±2.5"


def test_lines_have_own_values_ratios_and_nothing_where_the_system_does_not_tell():
    result = made_up(BoostForest=[0.5], RandomForest=[1.0])
    for repeats in result.values():
        repeats[0]["peak_bytes"] = None
    written = run.lines("CS", [result], ["RandomForest"]).splitlines()
    assert written[0] == "| CS | fit, ms | 500 | 2.00 |"
    assert written[3] == "| CS | peak memory of the fit, MB | nan | nan |"


def test_suites_name_known_tables():
    for name in (*tables.BUILT_IN, *(name for suite in tables.SUITES.values() for name in suite)):
        assert data.find(name).name == name


def test_compare_fails_beyond_its_limit(capsys):
    slower = {"diabetes": made_up(base=[1.0, 1.0, 1.0], head=[1.05, 1.15, 1.3])}
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
    assert stored.n_classes == 5
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


def test_int8_is_compared_with_the_same_numbers_in_float64(tmp_path):
    short, exact, X = dtypes.pair("diabetes", "fast", tmp_path)
    assert short.forest_.dtype == "int8" and exact.forest_.dtype == "float64"
    times = dtypes.compared(dtypes.call_of(short, X[:1]), dtypes.call_of(exact, X[:1]), n_blocks=1)
    assert min(times) > 0
    slow = dtypes.Ratio("diabetes", "fast", 250, 1, int8=3e-5, float64=2e-5, ratio=1.5)
    assert dtypes.line(slow).split() == ["diabetes", "fast", "250", "1", "30.0", "20.0", "1.50", "missed"]
    assert dtypes.line(slow._replace(ratio=1.0)).endswith("1.00  met")


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
