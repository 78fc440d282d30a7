"""The benchmark of constraints on tables of a few rows."""

import numpy as np
import pytest

from boostforest_paper.studies import constraints


def test_functions_follow_the_constraints_that_are_said_of_them():
    X = np.random.default_rng(0).normal(size=(200, 6))
    for signal, signs in constraints.SIGNALS.values():
        for j in np.flatnonzero(signs):
            higher = X.copy()
            higher[:, j] += 0.5
            assert (signs[j] * (signal(higher) - signal(X)) >= 0).all()


def test_every_learner_is_measured():
    ((_, signs, ((train, test),)), *_) = constraints.made_up_tables(40, 0.3, range(1))
    figures = constraints.measure(train, test, signs, trees=2, seed=0)
    assert list(figures) == ["free", "constrained", "HGB", "HGB constrained"]
    assert all(0 < error < 2 and fit > 0 and predict > 0 for error, fit, predict in figures.values())


def test_missing_data_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["constraints", "--data", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match="2"):
        constraints.main()
    assert "nowhere does not exist" in capsys.readouterr().err
