"""The benchmark of pool forests: sets won, targets, the paper's figures, a run on a table of its own."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the benchmarks are no installed package

from benchmarks import datasets, pool_forests
from twin import example_data


def scores_of(task, forest, rival, n_better, better=0.1):
    """Return made-up scores of all small datasets of a task: the forest is better on the first ones."""
    signs = np.where(np.arange(15) < n_better, better, -better)
    return {
        name: {forest: np.full(3, 0.5 + sign), rival: np.full(3, 0.5)}
        for name, sign in zip(datasets.NAMES[task], signs, strict=True)
    }


def test_sets_are_won_by_higher_accuracy_and_lower_error():
    assert pool_forests.wins("classification", scores_of("classification", "a", "b", 4), "a", "b") == 4
    assert pool_forests.wins("regression", scores_of("regression", "a", "b", 4), "a", "b") == 11
    larger = {"YB": {"a": np.ones(3), "b": np.zeros(3)}}
    assert pool_forests.wins("classification", larger, "a", "b") == 0, "only the 30 small sets count"


@pytest.mark.parametrize(("n_better", "missed"), [(12, False), (11, True)])
def test_the_target_counts_both_tasks(n_better, missed, capsys):
    scores = {
        "classification": scores_of("classification", "ETForest", "Extra-Tree", n_better),
        "regression": scores_of("regression", "ETForest", "Extra-Tree", 15, better=-0.1),
    }
    assert pool_forests.misses_target(scores, ["ETForest", "Extra-Tree", "BoostTree"]) is missed
    assert f"{n_better + 15} sets, target 27: {'missed' if missed else 'met'}" in capsys.readouterr().out


def test_a_run_prints_figures_beside_the_papers(tmp_path, capsys):
    X, y = example_data("regression", n=100)
    pd.DataFrame(X).add_prefix("x").assign(target=y).to_parquet(tmp_path / "CS.parquet")
    X, y = example_data("binary", n=100)
    pd.DataFrame(X).add_prefix("x").assign(target=y.astype(str)).to_parquet(tmp_path / "YB.parquet")
    paper = tmp_path / "tables.csv"
    paper.write_text(f"table,task,row,method,mean,std\n{pool_forests.TABLE},regression,CS,ETForest,0.1234,0.01\n")
    options = ["--datasets", "CS", "YB", "--learners", "Extra-Tree", "ETForest", "BoostTree", "BoostForest"]
    options += ["--repeats", "2", "--estimators", "5", "--n-jobs", "1", "--json", str(tmp_path / "out.json")]
    assert pool_forests.main([*options, "--data", str(tmp_path), "--paper", str(paper)]) == 0
    printed = capsys.readouterr().out
    assert "0.1234" in printed and "ETForest better than Extra-Tree on" in printed
    assert '"fit_seconds"' in (tmp_path / "out.json").read_text()


def test_missing_data_is_one_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        pool_forests.main(["--data", str(tmp_path), "--datasets", "YB"])
    assert "no Parquet file for YB" in capsys.readouterr().err
