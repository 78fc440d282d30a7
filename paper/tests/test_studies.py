"""The studies on tables of a few rows."""

import argparse
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from boostforest_paper.__main__ import main
from boostforest_paper.data import paper
from boostforest_paper.studies import STUDIES, categories, constraints, print_table, small
from boostforest_paper.studies import intervals as interval_study
from boostforest_paper.studies import quantiles as quantile_study

NOWHERE = ["--data", "nowhere"]


def cells(printed):
    """Return the lines of a table in Markdown, without the head."""
    lines = [line.strip("|").split("|") for line in printed.splitlines()]
    assert len({len(line) for line in lines}) == 1
    return [[cell.strip() for cell in line] for line in lines[2:]]


def test_functions_follow_the_constraints_that_are_said_of_them():
    X = np.random.default_rng(0).normal(size=(200, 6))
    for signal, signs in constraints.SIGNALS.values():
        for j in np.flatnonzero(signs):
            higher = X.copy()
            higher[:, j] += 0.5
            assert (signs[j] * (signal(higher) - signal(X)) >= 0).all()


def test_every_learner_is_measured():
    ((_, signs, ((train, test),)), *_) = constraints.synthetic_tables(40, 0.3, range(1))
    figures = constraints.measure(train, test, signs, trees=2, seed=0)
    assert list(figures) == ["free", "constrained", "HGB", "HGB constrained"]
    assert all(0 < error < 2 and fit > 0 and predict > 0 for error, fit, predict in figures.values())
    line = constraints.line("a table", [figures, figures])
    assert line["difference"].endswith("± 0.0000")


def test_help_lists_all_studies(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["study", "--help"])
    said = capsys.readouterr().out
    assert all(study in said for study in STUDIES) and "90 % prediction" in said


@pytest.mark.parametrize("study", ["constraints", "intervals", "quantiles", "categories"])
def test_missing_data_is_one_sentence(study, capsys, monkeypatch):
    def unreachable(**options):
        raise URLError("no network")

    monkeypatch.setattr(paper, "OPENML", paper.OpenML())
    paper.OPENML.fetch = unreachable
    assert main(["study", study, *NOWHERE]) == 2
    said = capsys.readouterr().err
    assert "nowhere has no" in said or "OpenML" in said
    assert said.count("\n") == 1
    assert "--data DIR" in said


def test_fewer_digits_make_smaller_files(capsys):
    assert main(["study", "dtypes", "--datasets", "diabetes", "--repeats", "1", "--trees", "20"]) == 0
    found = {line[1]: line for line in cells(capsys.readouterr().out)}
    assert list(found) == ["pickle", "float64", "float32", "float16"]
    assert float(found["float64"][2]) > float(found["float32"][2]) > float(found["float16"][2])
    assert [float(found[name][5]) for name in ("pickle", "float64")] == [0, 0]
    assert 0 < float(found["float32"][5]) < float(found["float16"][5]) < 0.1


def test_intervals_hold_about_what_they_promise():
    args = argparse.Namespace(
        datasets=["friedman1"], data=None, repeats=2, trees=60, methods=["BoostForest", "local widths"]
    )
    first, mean = interval_study.rows(args)
    for method in args.methods:
        held, width = map(float, first[method].split(", "))
        assert 0.8 <= held <= 1
        assert 0 < width < 4
    assert mean == {**first, "dataset": "mean"}


def test_quantiles_and_distributions_are_measured_and_missing_packages_left_out(capsys, monkeypatch):
    monkeypatch.setitem(quantile_study.LEARNERS, "LightGBM", (quantile_study.lightgbm, "no_such_package"))
    args = argparse.Namespace(
        datasets=["friedman1"], data=None, repeats=1, trees=40, rows=80, learners=["BoostForest", "LightGBM"]
    )
    first, mean = quantile_study.rows(args)
    assert capsys.readouterr().err == "LightGBM is left out: no_such_package is not installed\n"
    assert first["rows"] == 80 and mean == {**first, "dataset": "mean", "rows": ""}
    assert 0 < first["pinball, BoostForest"] < 0.2 and 0 < first["CRPS, BoostForest"] < 0.4
    assert all(0.7 <= first[f"{method}, held"] <= 1 for method in quantile_study.INTERVALS)


def test_pinball_losses_are_those_of_the_definition():
    y, quantiles = np.array([0.0, 3.0]), np.array([[1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_allclose(quantile_study.pinball(quantiles, y, (0.1, 0.5)), [[0.9, 1.0], [0.2, 0.5]])


@pytest.mark.parametrize("name", ["quantile-forest", "NGBoost"])
def test_other_libraries_have_quantiles_and_distributions(name):
    learner, package = quantile_study.LEARNERS[name]
    pytest.importorskip(package)
    rng = np.random.default_rng(0)
    part = quantile_study.fold(rng.normal(size=(100, 2)), rng.normal(size=100), 0)
    forecast = learner(part, 0, 20)
    assert forecast.quantiles.shape == (20, 3) and (np.diff(forecast.quantiles) >= 0).all()
    assert 0.2 < forecast.crps.mean() < 1.2  # 0.56 if the distribution is known


ARFF = """% a comment
@relation t
@attribute 'size' real
@attribute colour {red, green}
@attribute class {a, b}
@data
"""


def test_ways_to_encode_categories_are_compared(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.2f},{'?' if i % 7 == 0 else 'red' if i % 2 else 'green'},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "vote.arff").write_text(ARFF + "\n".join(rows))
    options = ["--data", str(tmp_path), "--tables", "vote", "--repeats", "1", "--trees", "3"]
    assert main(["study", "categories", *options]) == 0
    found = cells(capsys.readouterr().out)
    assert [line[2] for line in found] == 2 * list(categories.WAYS)
    assert [line[0] for line in found] == 3 * ["vote"] + 3 * ["average"]
    assert found[0][1] == "60 × 2"
    assert all(float(line[3]) > 0.7 for line in found)


def test_log_loss_of_a_class_that_was_never_seen_is_that_of_one_in_a_million():
    class Model:
        classes_ = np.array(["a", "b"])

        def predict_proba(self, X):
            return np.array([[0.75, 0.25], [0.5, 0.5]])

    accuracy, loss = categories.score(Model(), pd.DataFrame({"x": [1, 2]}), np.array(["a", "c"]))
    assert (accuracy, loss) == (0.5, pytest.approx(-(np.log(0.75) + np.log(1e-6)) / 2))


def test_table_is_markdown(capsys):
    print_table([{"a": 1, "b": 0.123456}, {"a": 22, "b": 3.0}])
    assert capsys.readouterr().out == "| a | b |\n|---|---|\n| 1 | 0.1235 |\n| 22 | 3 |\n"


def test_sizes_and_losses_are_summed_up_over_sets(tmp_path):
    figures = {
        ("A", repeat, who): small.Figure(size, loss)
        for repeat in range(2)
        for who, size, loss in (
            (small.FOREST, 200, 1.0),
            (small.COMPRESSED, 100, 1.1),
            ("LightGBM", 100, 1.2),
            ("ExtraTrees", 20_000, 1.3),
        )
    }
    figures |= {("B", 0, who): small.Figure(50, loss) for who, loss in ((small.FOREST, 1.0), (small.COMPRESSED, 1.0))}
    figures["B", 0, "LightGBM"] = small.Figure(100, 0.9)
    figures["A", 2, small.FOREST] = small.Figure(200, 9.0)  # not compressed: only the same splits are compared
    told = small.summary(figures, {"A": 800, "B": 900})
    assert told["file over that of LightGBM, geometric mean of 2 sets of up to 1000 rows"] == "1"
    assert told["file over that of ExtraTrees, geometric mean of 1 sets"] == "0.01"
    assert told["to LightGBM's size: change of the loss, mean and median"] == "+5.0%, +5.0%"
    assert told["to LightGBM's size: below its loss on"] == "1 of 2 sets, not on B"
    for key, figure in figures.items():
        small._append(tmp_path / "fits.csv", key, figure)
    assert small._read(tmp_path / "fits.csv") == figures
