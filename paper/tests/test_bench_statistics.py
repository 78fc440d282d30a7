"""Statistics of the benchmark reports, against published examples and scipy."""

import re
from base64 import b64decode

import numpy as np
import pytest
from scipy import stats

from boostforest_paper.reports import paper, pictures, statistics, text
from boostforest_paper.reports.paper import Figure
from boostforest_paper.reports.pictures import Point


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


def picture_of(element):
    """Return the SVG within an element of the page."""
    (content,) = re.fullmatch(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="[^"]+">', element).groups()
    return b64decode(content).decode()


@pytest.mark.parametrize("n", [2, 30])
def test_points_have_their_names_also_where_all_are_the_same(n):
    points = [Point(f"learner {i}", 2.0, 0.1) for i in range(n)]
    drawn = picture_of(pictures.pareto(points, "learner 1", "time, s", "RMSE", text.seconds))
    assert all(f">{point.name}<" in drawn for point in points)


def test_names_of_points_do_not_overlap_and_stay_within_the_picture():
    points = [Point(str(i), 1.0 + i, error) for i, error in enumerate([0.1, 0.101, 0.102, 0.5, 0.899, 0.9, 0.9])]
    axes = pictures._axes(3)
    axes.set_ylim(0.1, 0.9)
    pictures._write_names(axes, points, "0")
    places = [label.xyann[1] for label in axes.texts]
    assert np.diff(places).min() >= pictures.LABEL_GAP - 1e-12
    assert places[0] >= 0 and places[-1] <= 1


def test_pictures_are_the_same_in_every_run():
    test = statistics.Friedman(np.array([1.0, 4.0, 1.5, 2.8, 4.1]), 0.01, 1.4, 10)
    drawn = [pictures.critical_difference(test, list("abcde"), "b") for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert "critical difference 1.40" in picture_of(drawn[0])


def test_a_curve_that_stays_flat_is_drawn():
    drawn = pictures.curve_panel("SON", [3, 10], {"a": [0.5, 0.5], "b": [0.5, 0.5]}, ["a", "b"], "a")
    assert ">SON<" in picture_of(drawn)


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
