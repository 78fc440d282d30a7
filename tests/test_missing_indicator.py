"""Missing indicators: when there is one, and that it tells what missing values tell."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor
from twin import example_data

X, Y = example_data("regression", n=100, d=3)


def with_gaps(*shares):
    """Return the table with the first so many rows of each column missing."""
    rows = X.copy()
    for j, share in enumerate(shares):
        rows[: round(share * len(rows)), j] = np.nan
    return rows


def test_auto_marks_columns_where_the_gaps_are_all_that_varies():
    rows = with_gaps(0.3, 0.3, 0)
    rows[:, 1] = np.where(np.isnan(rows[:, 1]), np.nan, 7.0)
    names = {given: tree_of(rows, given)._model.feature_names for given in ("auto", True, False)}
    assert names["auto"] == ["x0", "x1", "x1 is missing", "x2"]
    assert names[True] == ["x0", "x0 is missing", "x1", "x1 is missing", "x2"]
    assert names[False] == ["x0", "x1", "x2"] and tree_of(rows, False).encoder_ is None
    assert all(tree_of(X, given).encoder_ is None for given in names)
    rows[:, 1] = np.nan
    assert tree_of(rows, "auto").encoder_ is None  # nothing varies


def tree_of(rows, missing_indicator):
    """Return a fitted tree."""
    return BoostTreeRegressor(random_state=0, missing_indicator=missing_indicator).fit(rows, Y)


@pytest.mark.parametrize("forest", [BoostForestRegressor, BoostForestClassifier])
def test_a_mark_is_a_column_that_one_could_have_added_oneself(forest):
    y = Y if forest is BoostForestRegressor else Y > 0
    rows = with_gaps(0.3, 0, 0.5)
    by_hand = np.column_stack([rows[:, 0], np.isnan(rows[:, 0]), rows[:, 1:], np.isnan(rows[:, 2])])
    fitted = forest(4, random_state=0, oob_score=True, max_samples=0.3, missing_indicator=True).fit(rows, y)
    plain = forest(4, random_state=0, oob_score=True, max_samples=0.3, missing_indicator=False).fit(by_hand, y)
    assert_array_equal(fitted.forest_.params, plain.forest_.params)
    assert_array_equal(fitted.predict(rows), plain.predict(by_hand))
    assert fitted.oob_score_ == plain.oob_score_
    assert fitted.n_features_in_ == 3
    expected = [plain.feature_importances_[[0, 1]].sum(), *plain.feature_importances_[[2]]]
    np.testing.assert_allclose(fitted.feature_importances_[:2], expected, rtol=1e-12)


def test_columns_without_gaps_in_the_fit_take_them_later():
    fitted = tree_of(with_gaps(0.5), True)
    assert np.isfinite(fitted.predict(with_gaps(0, 1, 1))).all()


def test_frames_and_arrays_are_marked_alike():
    rows = with_gaps(0.4, 0.1)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    fitted = BoostTreeRegressor(random_state=0, missing_indicator=True).fit(frame, Y)
    assert fitted._model.feature_names == ["a", "a is missing", "b", "b is missing", "c"]
    assert_array_equal(fitted.predict(frame), tree_of(rows, True).predict(rows))


def test_a_column_of_gaps_that_tell_the_target_is_learnt():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300) + 3 * (np.arange(300) % 2)
    rows = np.column_stack([np.where(np.arange(300) % 2, np.nan, 1.0), rng.normal(size=300)])
    assert (
        BoostForestRegressor(20, random_state=0, preset="paper").fit(rows[:200], y[:200]).score(rows[200:], y[200:])
        > 0.5
    )
