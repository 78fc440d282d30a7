"""Dates and times of a day as features: a trend, the season, and where a moment is in its month, week and day.

What comes again after a year, a week or a day is a sine and a cosine, so that node models see no jump at its end.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DAYS, YEAR, MONTH, WEEK, HOUR, INDICATOR = (1 << bit for bit in range(6))  # what a column may become; part of files
_SIZES = {DAYS: 1, YEAR: 2, MONTH: 1, WEEK: 3, HOUR: 3, INDICATOR: 1}
ALL_PARTS = sum(_SIZES)
_NAMES = {
    YEAR: ("year sine", "year cosine"),
    MONTH: ("day of the month",),
    WEEK: ("weekday", "week sine", "week cosine"),
    HOUR: ("hour", "day sine", "day cosine"),
    INDICATOR: ("is missing",),
}
_DAY = 86400.0  # seconds
_A_YEAR = 365.0  # days: what is shorter does not tell a season from a trend


def count_parts(parts: int) -> int:
    """Return how many features these parts are."""
    return sum(size for part, size in _SIZES.items() if parts & part)


@dataclass(frozen=True, eq=False)
class CalendarColumn:
    """A column of dates, or of times of a day: those features that differ in the training table."""

    origin: float  #: the first date, in seconds since 1970, local time; 0 for times of a day
    parts: int  #: sum of DAYS, YEAR, …

    @property
    def indicator(self) -> bool:
        """Whether it has a missing indicator."""
        return bool(self.parts & INDICATOR)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return count_parts(self.parts)

    @property
    def is_clock(self) -> bool:
        """Whether the values are times of a day."""
        return not self.parts & DAYS

    def with_indicator(self) -> "CalendarColumn":
        """Return the same with a missing indicator."""
        return CalendarColumn(self.origin, self.parts | INDICATOR)

    def features(self, seconds: Floats) -> Floats:
        """Return the features of moments, NaN where one is missing: rows × features."""
        moments = _moments(seconds)
        found: list[Floats] = []
        if self.parts & DAYS:
            found.append((seconds - self.origin) / _DAY)
        if self.parts & YEAR:
            found += _turn(_share_of_year(moments))
        if self.parts & MONTH:
            found.append(_day_of_month(moments))
        if self.parts & WEEK:
            weekday = _weekday(moments)
            found += [weekday, *_turn(weekday / 7)]
        if self.parts & HOUR:
            share = _share_of_day(seconds)
            found += [24 * share, *_turn(share)]
        if self.parts & INDICATOR:
            found.append(np.isnan(seconds).astype(np.float64))
        return np.column_stack(found)

    def feature_names(self, name: str) -> list[str]:
        """Return the names of the features, given that of the column."""
        found = (
            [f"{name} days since {_moments(np.array([self.origin]))[0].astype('M8[D]')}"] if self.parts & DAYS else []
        )
        return found + [f"{name} {what}" for part, names in _NAMES.items() if self.parts & part for what in names]


def fit_calendar(seconds: Floats, kind: str) -> CalendarColumn:
    """Return what becomes of a column of "dates" or "times" of a day, without parts that never change."""
    if kind == "times":
        return CalendarColumn(0.0, HOUR)
    known = seconds[~np.isnan(seconds)]
    if len(known) == 0:
        return CalendarColumn(0.0, DAYS)
    moments, first = _moments(known), float(known.min())
    parts = DAYS
    parts |= YEAR * (float(known.max()) - first >= _A_YEAR * _DAY)
    for part, values in ((MONTH, _day_of_month(moments)), (WEEK, _weekday(moments)), (HOUR, _share_of_day(known))):
        parts |= part * bool(values.min() < values.max())
    return CalendarColumn(np.floor(first / _DAY) * _DAY, parts)


def _moments(seconds: Floats) -> npt.NDArray[np.datetime64]:
    micro = np.full(len(seconds), np.datetime64("NaT", "us"))
    known = ~np.isnan(seconds)
    micro[known] = np.rint(seconds[known] * 1e6).astype(np.int64).view("datetime64[us]")
    return micro


def _turn(share: Floats) -> list[Floats]:
    return [np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)]


def _number(differences: npt.NDArray[np.timedelta64], unit: Literal["s", "D"]) -> Floats:
    return np.asarray(differences / np.timedelta64(1, unit), dtype=np.float64)  # NaN where one is missing


def _share_of_year(moments: npt.NDArray[np.datetime64]) -> Floats:
    year = moments.astype("datetime64[Y]")
    begin, end = year.astype("datetime64[us]"), (year + np.timedelta64(1, "Y")).astype("datetime64[us]")
    return _number(moments - begin, "s") / _number(end - begin, "s")


def _day_of_month(moments: npt.NDArray[np.datetime64]) -> Floats:
    month = moments.astype("datetime64[M]").astype("datetime64[D]")
    return 1 + _number(moments.astype("datetime64[D]") - month, "D")


def _weekday(moments: npt.NDArray[np.datetime64]) -> Floats:
    """Return 1 for a Monday to 7 for a Sunday."""
    days = _number(moments.astype("datetime64[D]") - np.datetime64(0, "D"), "D")
    return 1 + (days + 3) % 7  # 1970 began with a Thursday


def _share_of_day(seconds: Floats) -> Floats:
    return (seconds % _DAY) / _DAY
