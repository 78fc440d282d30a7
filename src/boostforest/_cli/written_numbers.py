"""Numbers as people write them: $321,864, 1.234,56 €, 12 %, (1,200), 1'000."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._base.typing import Array, Floats
from .messages import Refused, cut, some

# What stands for a missing value in a column that holds numbers otherwise.
NO_NUMBER = ("-", "--", "---", "–", "—", "?", ".", "..", "...", "*", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?")

_CURRENCY = (
    r"(?:US|R|A|C|NZ|HK|S)?\$|[€£¥₹₽₩₺₴₪₫฿₦₱]|USD|EUR|GBP|JPY|CNY|INR|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR"
    r"|KRW|TRY|RUB|SGD|HKD|Rs\.?|kr\.?|zł|Kč|Ft|Fr\."
)
_SPACE = "[ \u00a0\u2009\u202f]"


def _pattern(decimal: str) -> re.Pattern[str]:
    """Return the pattern of numbers with this decimal sign; the other one may separate thousands."""
    point, group = re.escape(decimal), rf"[{',' if decimal == '.' else '.'}'’ \u00a0\u2009\u202f]"
    lakh = r"\d{1,2}(?:,\d\d)+,\d{3}|" if decimal == "." else ""  # 12,34,567 as in India
    whole = rf"\d{{1,3}}(?P<group>{group})\d{{3}}(?:(?P=group)\d{{3}})*|{lakh}\d+"
    number = rf"(?:{whole})(?:{point}\d*)?|{point}\d+"
    return re.compile(
        rf"(?P<open>\()?(?P<minus>[-+−])?{_SPACE}*(?P<before>{_CURRENCY})?{_SPACE}*(?P<inner>[-−])?{_SPACE}*"
        rf"(?P<number>{number})(?P<power>[eE][-+]?\d+)?{_SPACE}*(?P<after>{_CURRENCY}|%)?(?(open)\))"
    )


_TELLING = re.compile(r"\d\D\d{3}(\D|$)")  # an example that shows what separates
_DIGITS = {
    ".": str.maketrans("", "", ",'’ \u00a0\u2009\u202f"),
    ",": str.maketrans(",", ".", ".'’ \u00a0\u2009\u202f"),
}
_PATTERNS = {decimal: _pattern(decimal) for decimal in ".,"}


@dataclass
class Readings:
    """A column of text that holds numbers: what they are with a decimal point and with a decimal comma."""

    column: str  #: what messages call it
    values: dict[str, Floats]  #: by decimal sign, for those with which all of the text can be read
    example: int  #: a row to show
    text: str  #: the text of that row
    has_currency: bool

    def at(self, indices: Array) -> "Readings":
        """Return the readings of a column whose cells are these, NaN where there is none."""
        given = ~np.isnan(indices.astype(np.float64))
        places = np.where(given, indices, 0).astype(np.intp)
        values = {decimal: np.where(given, found[places], np.nan) for decimal, found in self.values.items()}
        example = int(np.argmax(given & (places == self.example)))
        return replace(self, values=values, example=example)

    @property
    def shown(self) -> str | None:
        """The decimal sign that the column leaves no doubt about, None if either would do."""
        if len(self.values) == 1:
            return next(iter(self.values))
        if (
            self.has_currency and not self._agree
        ):  # money does not have three decimals: the sign before them separates thousands
            point, comma = (np.nansum(np.abs(self.values[decimal])) for decimal in ".,")
            return "." if point > comma else ","
        return None

    @property
    def only(self) -> str | None:
        """The same, and a point where there is no sign at all."""
        return self.shown or ("." if self._agree else None)

    @property
    def _agree(self) -> bool:
        return np.array_equal(self.values["."], self.values[","], equal_nan=True)


def is_number(text: str) -> bool:
    """Whether a text is a number, in whatever way."""
    return text in NO_NUMBER or any(pattern.fullmatch(text) for pattern in _PATTERNS.values())


def read_numbers(column: str, texts: Sequence[str | None]) -> Readings | None:
    """Return what numbers a column of text holds, None if it holds anything else as well; messages call it so.

    Raises
    ------
    Refused
        If they have different currencies, or only some of them are per cent.
    """
    values: dict[str, Floats] = {}
    signs: set[str] = set()
    for decimal, pattern in _PATTERNS.items():
        found = np.full(len(texts), np.nan)
        signs_here: set[str] = set()
        for i, text in enumerate(texts):
            if text is None or text in NO_NUMBER:
                continue
            match = pattern.fullmatch(text)
            if match is None:
                break
            signs_here.add(match["before"] or match["after"] or "")
            if match["before"] and match["after"]:
                break
            found[i] = _value(match, decimal)
        else:
            values[decimal], signs = found, signs_here
    if not values:
        return None
    _check_signs(column, signs)
    rows = [i for i, text in enumerate(texts) if text is not None and text not in NO_NUMBER]
    shown = (
        [i for i in rows if _TELLING.search(str(texts[i]))] or [i for i in rows if not str(texts[i]).isdigit()] or rows
    )
    return Readings(column, values, shown[0], str(texts[shown[0]]), bool(signs - {"", "%"})) if rows else None


def _value(match: re.Match[str], decimal: str) -> float:
    size = float(match["number"].translate(_DIGITS[decimal]) + (match["power"] or ""))
    minus = (match["minus"] in ("-", "−")) ^ bool(match["inner"]) ^ bool(match["open"])
    return -size if minus else size


def _check_signs(column: str, signs: set[str]) -> None:
    if "%" in signs and len(signs) > 1:
        raise Refused(f"{column} holds numbers with % and without: write all of them in one way")
    if len(signs - {""}) > 1:
        raise Refused(f"{column} holds numbers with {some(sorted(signs - {''}))}: write all of them in one currency")


def ambiguous(readings: Readings) -> Refused:
    """Return the question that such a column asks."""
    sign = "comma" if "," in readings.text else "point"
    return Refused(
        f"{readings.column} holds numbers such as {cut(readings.text)}, whose {sign} may be a decimal {sign} or "
        "separate thousands: say --decimal . or --decimal ,"
    )
