"""Statistics of the benchmark reports, against published examples and scipy."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the benchmarks are no installed package

from benchmarks.reports import paper, pictures, statistics, svg, text
from benchmarks.reports.paper import Figure
from benchmarks.reports.pictures import Point


def test_ranks_share_places():
    values = np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.3]])
    np.testing.assert_array_equal(statistics.ranks(values, True), [[1.5, 3, 1.5], [3, 2, 1]])
    np.testing.assert_array_equal(statistics.ranks(values, False), [[2.5, 1, 2.5], [1, 2, 3]])


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (4, 2.569), (6, 2.850), (10, 3.164)])
def test_critical_difference_has_the_published_quantiles(k, q):
    """Table 5 of Demšar (2006), for the Nemenyi test at 5 %."""
    test = statistics.friedman(np.random.default_rng(0).normal(size=(14, k)), True)
    np.testing.assert_allclose(test.critical_difference, q * np.sqrt(k * (k + 1) / (6 * 14)), rtol=2e-3)


def test_friedman_by_its_formula():
    values = np.random.default_rng(1).normal(loc=[0, 0, 0, 1.5], size=(12, 4))
    test = statistics.friedman(values, True)
    n, k = values.shape
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(test.average_ranks**2) - k * (k + 1) ** 2 / 4)
    np.testing.assert_allclose(test.p_value, stats.chi2.sf(chi2, k - 1))
    assert np.argmin(test.average_ranks) == 3
    assert statistics.friedman(values[:, :2], True) is None
    assert statistics.friedman(np.ones((5, 3)), True).p_value == 1


def test_groups_are_runs_that_are_not_told_apart():
    test = statistics.Friedman(np.array([1.0, 4.0, 1.5, 2.8, 4.1]), 0.01, 1.4, 10)
    assert test.groups() == [(0, 1), (1, 2), (2, 4)]
    assert statistics.Friedman(np.array([1.0, 3.0, 5.0]), 0.01, 1.0, 10).groups() == []


def test_paired_test_and_correction():
    mine, theirs = [0.9, 0.8, 0.95, 0.7, 0.85], [0.85, 0.79, 0.9, 0.71, 0.8]
    assert statistics.paired_p_value(mine, theirs) == stats.ttest_rel(mine, theirs).pvalue
    assert statistics.paired_p_value(mine, mine) == 1
    # The example of Benjamini and Hochberg (1995): four of these fifteen hypotheses are rejected at 5 %.
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    assert sum(value < 0.05 for value in statistics.benjamini_hochberg(p)) == 4
    assert statistics.benjamini_hochberg([]) == []


def test_wins_count_what_is_shown():
    base, other = np.array([0.91234, 0.8, 0.7]), np.array([0.91233, 0.7, 0.8])
    assert statistics.win_tie_loss(base, other, True) == (1, 1, 1)
    assert statistics.win_tie_loss(np.array([0.1]), np.array([0.2]), False) == (1, 0, 0)


def test_agreement_is_within_two_deviations_of_the_paper():
    theirs = Figure(0.85, 0.01)
    assert paper.agrees(Figure(0.8699, 0.5), theirs)
    assert paper.agrees(Figure(0.8701, 0.5), theirs) is False
    assert paper.agrees(Figure(0.9993, 0.0015), Figure(1.0, 0.0)), "no deviation of the paper's: ours counts"
    assert paper.agrees(Figure(1.0, 0.0), Figure(1.0, 0.0))
    assert paper.agrees(Figure(0.9, None), Figure(0.8, None)) is None


def test_papers_figures_are_there():
    assert paper.figure("Ex1", "classification", "SON", "BoostForest") == (0.85, 0.0574, 0)
    assert paper.figure("Ex1", "regression", "Average RMSE", "BoostForest") == (0.4455, 0.0109, 0)
    assert paper.figure("Ex1", "regression", "SON", "BoostForest") is None


def test_front_holds_what_nothing_beats_in_both():
    points = [Point("a", 1, 0.3), Point("b", 2, 0.4), Point("c", 3, 0.1), Point("d", 0.5, 0.5), Point("e", 3, 0.2)]
    assert [point.name for point in pictures.pareto_front(points)] == ["d", "a", "c"]


@example(low=879609.9999999999, span=1e-06, n=5)  # the scale is a few thousand floats wide
@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e6), n=st.integers(2, 8))
def test_ticks_are_within_the_scale(low, span, n):
    ticks = svg.Scale(low, low + span, 0, 100).ticks(n)
    assert 1 <= len(ticks) <= 2 * n + 2
    assert all(low <= tick <= low + span for tick in ticks)


def test_ticks_are_round_numbers():
    assert svg.Scale(0.1, 0.3, 0, 100).ticks(4) == [0.1, 0.15, 0.2, 0.25, 0.3]
    assert svg.Scale(-20, 100.0, 0, 100).ticks(5) == [0, 25, 50, 75, 100]
    assert svg.Scale(0, 3e-15, 0, 100).ticks(3) == [0, 1e-15, 2e-15, 3e-15]


def test_log_scale():
    scale = svg.Scale(1, 100, 0, 10, log=True)
    assert scale(10) == pytest.approx(5)
    assert scale.ticks(5) == [1, 2, 5, 10, 20, 50, 100]
    assert svg.Scale(1e-3, 1e6, 0, 10, log=True).ticks(5)[0] == pytest.approx(1e-3)


def test_numbers_are_written_for_people():
    assert text.score(Figure(0.85, 0.05, 10)) == "0.8500 (0.0500)"
    assert text.score(Figure(0.85, 0.0, 1)) == "0.8500"
    assert [text.size(n) for n in (12, 999, 1500, 44_100_000, 2.5e10)] == [
        "12 B",
        "999 B",
        "1.5 kB",
        "44.1 MB",
        "25 GB",
    ]
    assert [text.seconds(s) for s in (0.01234, 12.345, 1234.5)] == ["0.0123", "12.3", "1,234"]
