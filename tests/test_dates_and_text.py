"""Columns of dates, times, durations, free text and identifiers."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import boostforest
import boostforest.export
from boostforest import BoostTreeRegressor
from boostforest._features.calendar import ALL_PARTS, INDICATOR, CalendarColumn, fit_calendar
from boostforest._features.text import N_HASHED, TextColumn
from models import paper_regressor

N = 400
RNG = np.random.default_rng(0)
WHEN = pd.date_range("2022-03-01", periods=N, freq="53h")
Y = 0.01 * np.arange(N) + np.sin(2 * np.pi * WHEN.day_of_year / 365.25) + (WHEN.day_of_week >= 5)
NUMBERS = RNG.normal(size=N)
FRAME = pd.DataFrame({"when": WHEN, "x": NUMBERS})


def tree(**arguments):
    return BoostTreeRegressor(random_state=0, **arguments)


def seconds(*moments):
    return (np.array(moments, dtype="datetime64[us]") - np.datetime64(0, "s")) / np.timedelta64(1, "s")


# ------------------------------------------------------------------------------------------------------ dates and times


def test_the_parts_of_a_date_are_those_of_the_calendar():
    moments = [pd.Timestamp(t) for t in ("2024-02-29 18:30", "1969-12-31", "2023-01-01 00:00:01", "2100-07-02 12:00")]
    column = CalendarColumn(seconds("2000-01-01")[0], ALL_PARTS - INDICATOR)
    found = dict(zip(column.feature_names("t"), column.features(seconds(*moments)).T, strict=True))
    assert_allclose(
        found["t days since 2000-01-01"], [(t - pd.Timestamp(2000, 1, 1)) / pd.Timedelta(days=1) for t in moments]
    )
    assert found["t day of the month"].tolist() == [29, 31, 1, 2]
    assert found["t weekday"].tolist() == [t.isoweekday() for t in moments]
    hours = [18.5, 0, 1 / 3600, 12]
    assert_allclose(found["t hour"], hours)
    assert_allclose(found["t day sine"], np.sin(np.multiply(hours, np.pi / 12)), atol=1e-12)
    assert_allclose(found["t week cosine"], [np.cos(2 * np.pi * t.isoweekday() / 7) for t in moments])
    of_year = [
        (t.day_of_year - 1 + h / 24) / (366 if t.is_leap_year else 365) for t, h in zip(moments, hours, strict=True)
    ]
    assert_allclose(found["t year sine"], np.sin(np.multiply(of_year, 2 * np.pi)), atol=1e-9)
    assert_allclose(found["t year cosine"], np.cos(np.multiply(of_year, 2 * np.pi)), atol=1e-9)


@pytest.mark.parametrize(
    ("moments", "names"),
    [
        (pd.date_range("2024-01-01", periods=40, freq="D"), ["days", "day of the month", "weekday", "week"]),
        (pd.date_range("2020-01-01", periods=40, freq="YS"), ["days", "year", "weekday", "week"]),
        (pd.date_range("2024-01-01", periods=20, freq="h"), ["days", "hour", "day"]),
        (pd.DatetimeIndex(["2024-01-01"] * 4), ["days"]),
    ],
    ids=["days", "years", "hours", "one"],
)
def test_parts_that_never_change_are_no_features(moments, names):
    found = fit_calendar(seconds(*moments), "dates").feature_names("t")
    assert (
        list(
            dict.fromkeys(
                name.removeprefix("t ").split(" since")[0].removesuffix(" sine").removesuffix(" cosine")
                for name in found
            )
        )
        == names
    )


def test_trend_season_and_weekdays_are_learnt():
    forest = paper_regressor(20, oob_score=True)
    assert forest.fit(FRAME, Y).oob_score_ > 0.95
    number = FRAME.assign(when=seconds(*WHEN))
    assert paper_regressor(20, oob_score=True).fit(number, Y).oob_score_ < 0.9
    assert forest.n_features_in_ == 2 and len(forest.feature_importances_) == 2
    assert forest.feature_importances_[0] > 0.9 and forest.is_categorical_ is None


def same(frames):
    fitted = tree().fit(frames[0], Y)
    expected = fitted.predict(frames[0])
    for frame in frames[1:]:
        assert_array_equal(fitted.predict(frame), expected)
        assert_array_equal(tree().fit(frame, Y).predict(frame), expected)


def test_all_frames_hold_the_same_dates():
    objects = FRAME.assign(when=pd.Series([t.to_pydatetime() for t in WHEN], dtype=object))
    local = FRAME.assign(when=WHEN.tz_localize("Asia/Tokyo"))
    aware = FRAME.assign(when=pd.Series([t.to_pydatetime() for t in WHEN.tz_localize("Asia/Tokyo")], dtype=object))
    frames = [FRAME, objects, local, aware, pl.from_pandas(FRAME), pl.from_pandas(local), pa.Table.from_pandas(local)]
    same([*frames, FRAME.assign(when=WHEN.astype("datetime64[s]"))])


def test_days_without_a_time_are_dates_too():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(7 * i % 331) for i in range(N)]
    columns = {"when": days, "x": NUMBERS}
    same([pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), FRAME.assign(when=pd.to_datetime(days))])


def test_times_of_a_day_are_hours():
    times = [datetime.time(i % 24, 7 * i % 60, 1) for i in range(N)]
    columns = {"when": times, "x": NUMBERS}
    same([pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)])
    assert tree().fit(pl.DataFrame(columns), Y)._model.feature_names[:3] == [
        "when hour",
        "when day sine",
        "when day cosine",
    ]


def test_durations_are_numbers_of_seconds():
    durations = [datetime.timedelta(seconds=13.5 * i) for i in range(N)]
    columns = {"when": durations, "x": NUMBERS}
    numbers = FRAME.assign(when=13.5 * np.arange(N))
    same(
        [
            numbers,
            pd.DataFrame(columns),
            pl.DataFrame(columns),
            pa.table(columns),
            numbers.assign(when=np.array(durations, dtype=object)),
        ]
    )


def test_missing_dates_are_missing_values():
    gaps = FRAME.assign(when=WHEN.where(NUMBERS < 1))
    fitted = tree().fit(gaps, Y)
    assert np.isfinite(fitted.predict(gaps.assign(when=pd.NaT))).all()
    assert_array_equal(fitted.predict(pl.from_pandas(gaps)), fitted.predict(gaps))
    marked = tree(missing_indicator=True).fit(gaps, Y)
    assert "when is missing" in marked._model.feature_names
    assert_array_equal(marked.predict(gaps), marked.predict(pa.Table.from_pandas(gaps)))


def test_a_column_of_dates_is_one_player(reloaded):
    fitted = tree().fit(FRAME.assign(gap=WHEN.where(NUMBERS < 1)), Y)
    rows = FRAME.assign(gap=WHEN)[:5]
    explained = fitted.explain(rows)
    assert explained.values.shape == (5, 3)
    assert_allclose(explained.values.sum(axis=1) + explained.base_values, fitted.predict(rows))
    loaded = reloaded(fitted)
    assert_array_equal(loaded.predict(rows), fitted.predict(rows))
    assert loaded._model.feature_names == fitted._model.feature_names
    assert fitted.slope_importances_.shape == (3,)
    effect = fitted.effects(FRAME.assign(gap=WHEN), "when", grid_resolution=5)
    assert effect.grid[0].dtype.kind == "M" and effect.grid[0][0] >= WHEN[0]
    days = [datetime.date(2022, 6, 1), datetime.date(2022, 6, 2)]
    found = fitted.effects(FRAME.assign(gap=WHEN), "when", grid=days).average
    assert_allclose(found, [fitted.predict(FRAME.assign(gap=WHEN, when=day)).mean() for day in days])
    assert "when weekday" in fitted.to_dataframe().columns.str.cat()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"when": 3.5}, "Column 'when' of X held dates in the fit and holds numbers now"),
        ({"when": "2024-01-01"}, "Column 'when' of X held dates in the fit and holds text now, such as '2024-01-01'"),
        ({"when": pd.Timedelta(1, "s")}, "Column 'when' of X held dates in the fit and holds durations now"),
        ({"x": pd.Timestamp(2024, 1, 1)}, "Column 'x' of X held numbers in the fit and holds dates now"),
    ],
)
def test_a_column_that_is_no_longer_dates_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        tree().fit(FRAME, Y).predict(FRAME.assign(**change))


def test_what_cannot_be_read_or_constrained_is_refused():
    with pytest.raises(ValueError, match="holds dates or times, which are not categories"):
        tree(categorical_features=["when"]).fit(FRAME, Y)
    with pytest.raises(ValueError, match="monotonic_cst cannot constrain column 'when': it is not one number"):
        tree(monotonic_cst={"when": 1}).fit(FRAME, Y)
    with pytest.raises(ValueError, match="must hold numbers or text; got values of type Period"):
        tree().fit(FRAME.assign(when=pd.period_range("2024", periods=N)), Y)
    mixed = FRAME.assign(when=pd.Series([datetime.date(2024, 1, 1), 3] * (N // 2), dtype=object))
    with pytest.raises(ValueError, match="must hold numbers or text; got values of type date"):
        tree().fit(mixed, Y)
    with pytest.raises(ValueError, match="to_c takes columns of numbers and categories, and column 'when' has dates"):
        boostforest.export.to_c(tree().fit(FRAME, Y))


# -------------------------------------------------------------------------------------------- free text and identifiers

WORDS = ["red", "green", "blue", "large", "small", "old", "new", "fine"]
NOTES = [f"{' '.join(RNG.choice(WORDS, 5))} no{i}" for i in range(N)]
LIKES = np.array([("red" in note.split()) - 0.5 * ("old" in note.split()) for note in NOTES])


def test_free_text_is_left_out_with_a_warning_that_names_it():
    frame = pd.DataFrame({"note": NOTES, "x": NUMBERS})
    with pytest.warns(
        UserWarning, match="^Column 'note' of X has free text, nearly all of it different, and was left out"
    ):
        fitted = tree().fit(frame, NUMBERS)
    assert_array_equal(
        fitted.predict(frame), tree().fit(frame[["x"]].to_numpy(), NUMBERS).predict(frame[["x"]].to_numpy())
    )
    assert fitted.n_features_in_ == 2 and fitted.feature_importances_.tolist() == [0, 1]
    assert fitted.slope_importances_[0] == 0
    for how in ({}, {"algorithm": "path"}, {"interactions": True}):
        values = fitted.explain(frame[:3], **how).values
        assert not values[:, 0].any() and values[:, -1].any()
    assert_array_equal(fitted.predict(frame.assign(note=3)), fitted.predict(frame))


def test_words_are_hashed_by_choice(reloaded):
    frame = pl.DataFrame({"note": [None, *NOTES[1:]], "x": NUMBERS})
    forest = paper_regressor(20, text="hash", oob_score=True).fit(frame, LIKES)
    assert forest.oob_score_ > 0.6 and len(forest._model.feature_names) == N_HASHED + 1
    assert_array_equal(reloaded(forest).predict(frame), forest.predict(frame))
    explained = forest.explain(frame[:4])
    assert explained.values.shape == (4, 2)
    assert_allclose(explained.values.sum(axis=1) + explained.base_values, forest.predict(frame[:4]))
    assert np.isfinite(forest.effects(frame, "x").average).all()
    with pytest.raises(ValueError, match="column 0 has text or identifiers"):
        forest.effects(frame, "note")
    with pytest.raises(ValueError, match="held text in the fit and holds numbers now"):
        forest.predict(pd.DataFrame({"note": NUMBERS, "x": NUMBERS}))


def test_hashed_words_do_not_depend_on_order_and_case():
    found = TextColumn().features(["an old House", "house  AN old!", None, "", "an an old old house house"])
    assert_array_equal(found[0], found[1])
    assert not found[2:4].any()
    assert_allclose((found[[0, 4]] ** 2).sum(axis=1), 1)
    assert_allclose(found[0], found[4])


def test_a_category_of_texts_is_one_by_choice():
    frame = pd.DataFrame({"note": NOTES, "x": NUMBERS})
    plain = tree(text="category").fit(frame, NUMBERS)
    assert plain._model.feature_names == ["note:mean", "x"]
    for named in (
        tree(categorical_features=["note"]).fit(frame, NUMBERS),
        tree().fit(frame.astype({"note": "category"}), NUMBERS),
    ):
        assert_array_equal(named.predict(frame), plain.predict(frame))


def test_identifiers_are_named_and_text_among_them_left_out():
    frame = pd.DataFrame({"code": [f"c{i}" for i in range(N)], "order_id": RNG.permutation(10 * N)[:N], "x": NUMBERS})
    with pytest.warns(UserWarning, match="identifier") as caught:
        fitted = tree().fit(frame, NUMBERS)
    first, second = (str(warning.message) for warning in caught)
    assert first.startswith("Column 'order_id' of X has a different integer for each row, as an identifier has")
    assert second.startswith("Column 'code' of X has identifiers, one for each row, and was left out")
    assert fitted._model.feature_names == ["order_id", "x"]
    numbered = pd.DataFrame({"a": np.arange(N), "b": np.arange(N) + 5, "x": NUMBERS})
    with pytest.warns(UserWarning, match="^Columns 'a', 'b' of X have a different integer for each row"):
        tree().fit(numbered, NUMBERS)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"price": RNG.permutation(50_000)[:N], "x": NUMBERS}),
        pd.DataFrame({"id": RNG.integers(0, 50, N), "x": NUMBERS}),
        pd.DataFrame({"t": np.arange(N)}),
        pd.DataFrame({"town": [f"town {i % 100}" for i in range(N)], "x": NUMBERS}),
        pd.DataFrame({"name": [f"n{i}" for i in range(19)] + [None] * (N - 19), "x": NUMBERS}),
        np.column_stack([np.arange(N), NUMBERS]),
    ],
    ids=["integers", "repeated", "one column", "town", "few", "array"],
)
def test_ordinary_columns_are_taken_without_a_warning(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tree().fit(frame, Y)._model.feature_names) == frame.shape[1]


def test_a_table_of_identifiers_alone_is_refused():
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(ValueError, match="X has no column to learn from: all of them were left out"),
    ):
        tree().fit(pd.DataFrame({"code": [f"c{i}" for i in range(N)]}), Y)
    with pytest.raises(ValueError, match="text must be one of 'drop', 'hash', 'category'; got 'keep'"):
        tree(text="keep").fit(FRAME, Y)
