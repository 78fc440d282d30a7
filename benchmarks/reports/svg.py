"""Just enough SVG for the pictures: shapes as text, scales, ticks. Colours are classes, which the page's style sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from html import escape
from typing import NamedTuple

FONT = 11.0
CHARACTER = 0.56 * FONT  # width of a character, about


def element(name: str, content: str = "", **attributes: object) -> str:
    """Write an element; an underscore in a name stands for a hyphen, ``class_`` for class."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value), quote=True)


def text(x: float, y: float, content: str, anchor: str = "start", **attributes: object) -> str:
    """Write text at a point, centred on the line."""
    return element("text", escape(content), x=x, y=y, text_anchor=anchor, dominant_baseline="central", **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "axis") -> str:
    """Draw a line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str) -> str:
    """Draw a line through points."""
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def dot(x: float, y: float, tip: str, class_: str, r: float = 4.0) -> str:
    """Draw a point that says what it is when it is pointed at."""
    return element("circle", element("title", escape(tip)), cx=x, cy=y, r=r, class_=class_)


def picture(width: float, height: float, parts: Sequence[str], label: str, class_: str = "picture") -> str:
    """Put the parts together; the label is what a screen reader says."""
    view = f"0 0 {width:g} {height:g}"
    return element(
        "svg",
        "".join(parts),
        viewBox=view,
        role="img",
        aria_label=label,
        class_=class_,
        xmlns="http://www.w3.org/2000/svg",
    )


class Scale(NamedTuple):
    """Maps values to places, in proportion or by the logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high, value = (
            (math.log(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        )
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, n: int = 5) -> list[float]:
        """Return round values within the scale."""
        return self._log_ticks(n) if self.log else self._linear_ticks(n)

    def _linear_ticks(self, n: int) -> list[float]:
        """Return multiples of the round step that gives about so many."""
        span = (self.high - self.low) or abs(self.high) or 1.0
        power = Decimal(10) ** math.floor(math.log10(span / n))
        step = min((Decimal(m) * power for m in ("1", "2", "2.5", "5", "10")), key=lambda s: abs(span / float(s) - n))
        # In decimals, as they are written: a multiple of the step within the scale is a float within the scale.
        low, high = (Decimal(repr(float(end))) for end in (self.low, self.high))
        return [float(i * step) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]

    def _log_ticks(self, n: int) -> list[float]:
        for steps in ((1, 2, 5), (1, 3), (1,)):
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [s * 10.0**p for p in powers for s in steps if self.low * 0.999 <= s * 10.0**p <= self.high * 1.001]
            if len(found) <= n + 2:
                return found
        return found[:: math.ceil(len(found) / n)]


def padded(values: Sequence[float], start: float, end: float, log: bool = False, share: float = 0.08) -> Scale:
    """Return a scale that leaves some room around the values."""
    low, high = min(values), max(values)
    if log:
        room = (high / low) ** share if high > low else 1.5
        return Scale(low / room, high * room, start, end, True)
    room = (high - low) * share or abs(high) * share or 1.0
    return Scale(low - room, high + room, start, end)
