"""Parts of pages: text that is escaped, tables that can be sorted, small drawings in cells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from .._base.typing import Floats

_PERCENT = "\u00a0%"  # stays with its number


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    html: str
    order: float | str | None = None  #: what it is sorted by; None: its text
    is_number: bool = False
    look: str = ""  #: class of its style


def text(content: object) -> str:
    """Return text as a page has it."""
    return escape(str(content))


def words(content: object, longest: int = 60, look: str = "") -> Cell:
    """Return a cell of text; the whole of a long one shows where the pointer rests."""
    whole = " ".join(str(content).split())
    short = whole if len(whole) <= longest else f"{whole[: longest - 1]}…"
    title = "" if short == whole else f' title="{escape(whole, quote=True)}"'
    return Cell(f"<span{title}>{text(short).replace('_', '_<wbr>')}</span>", whole.lower(), look=look)


def number(value: float | None, look: str = "", sign: bool = False, digits: int = 4) -> Cell:
    """Return a cell with a number."""
    if value is None or math.isnan(value):
        return Cell("–", -math.inf, True, look)
    return Cell(tell(value, sign, digits), float(value), True, look)


def tell(value: float, sign: bool = False, digits: int = 4) -> str:
    """Write a number with so many digits, or all of those before the point; the minus is a minus."""
    size = abs(value)
    if not math.isfinite(value):
        return "infinite" if value > 0 else "−infinite" if value < 0 else "–"
    if value == 0:
        return "0"
    if 1e-4 <= size < 1e9:
        decimals = max(0, digits - 1 - math.floor(math.log10(size)))
        shown = f"{size:,.{decimals}f}" if size >= 1e4 else f"{size:.{decimals}f}"  # 2026 may be a year
        shown = shown.rstrip("0").rstrip(".") if decimals else shown
    else:
        shown = f"{size:.3g}"
    return ("−" if value < 0 else "+" if sign else "") + shown


def percent(share: float) -> str:
    """Write a share."""
    if 0 < share < 0.001:
        return f"< 0.1{_PERCENT}"
    if 0.999 < share < 1:
        return f"> 99.9{_PERCENT}"
    return f"{100 * share:.1f}".removesuffix(".0") + _PERCENT


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    looks: Sequence[str] = (),
    caption: str = "",
    sortable: bool = True,
) -> str:
    """Return a table whose heads sort it, if there is JavaScript; ``looks`` are classes of its rows."""
    numeric = [all(row[k].is_number for row in rows) if rows else False for k in range(len(heads))]
    out = [f'<div class="scroll"><table{_class("sorts" * sortable)}>']
    if caption:
        out.append(f"<caption>{caption}</caption>")
    out.append("<thead><tr>")
    out += [f'<th scope="col"{_class("n" * n)}>{_two_lines(head)}</th>' for head, n in zip(heads, numeric, strict=True)]
    out.append("</tr></thead><tbody>")
    for i, row in enumerate(rows):
        out.append(f"<tr{_class(looks[i] if looks else '')}>")
        for cell in row:
            order = "" if cell.order is None else f' data-order="{escape(str(cell.order), quote=True)}"'
            out.append(
                f"<td{_class(' '.join(filter(None, ['n' * cell.is_number, cell.look])))}{order}>{cell.html}</td>"
            )
        out.append("</tr>")
    return "".join([*out, "</tbody></table></div>"])


def _two_lines(head: str) -> str:
    """Return the head of a column; what is behind a line break is small."""
    name, _, more = head.partition("\n")
    return f"<span>{text(name)}</span>{f'<small>{text(more)}</small>' if more else ''}"


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


def pairs(items: Sequence[tuple[str, str]]) -> str:
    """Return names and what belongs to them; the latter is HTML."""
    return "<dl>" + "".join(f"<div><dt>{text(name)}</dt><dd>{what}</dd></div>" for name, what in items) + "</dl>"


def histogram(counts: Floats, label: str) -> str:
    """Return a small drawing of how many rows are in some bins."""
    width, height = 96.0, 22.0
    step, top = width / max(len(counts), 1), float(counts.max(initial=0)) or 1.0
    bars = "".join(
        f'<rect x="{i * step:.1f}" y="{height * (1 - c / top):.1f}" width="{max(step - 0.8, 0.6):.1f}" '
        f'height="{height * c / top:.1f}"/>'
        for i, c in enumerate(counts)
        if c > 0
    )
    title = escape(label, quote=True)
    return f'<svg class="spark" role="img" aria-label="{title}" viewBox="0 0 {width:.0f} {height:.0f}">{bars}</svg>'


def bar(value: float, low: float, high: float, largest: float) -> str:
    """Return a small drawing of a value from 0, with its interval."""
    left, right = min(low, 0.0), max(high, largest, 1e-300)
    lowest = min(left, -0.03 * right)
    width = right - lowest

    def x(at: float) -> float:
        return float(np.clip(100 * (at - lowest) / width, 0, 100))

    start, end = sorted((x(0), x(value)))
    return (
        '<svg class="bar" aria-hidden="true" viewBox="0 0 100 12" preserveAspectRatio="none">'
        f'<rect x="{start:.2f}" y="1.5" width="{end - start:.2f}" height="9"/>'
        f'<line class="whisker" x1="{x(low):.2f}" x2="{x(high):.2f}" y1="6" y2="6"/>'
        f'<line class="zero" x1="{x(0):.2f}" x2="{x(0):.2f}" y1="0" y2="12"/></svg>'
    )


def step(start: float, end: float, low: float, high: float) -> str:
    """Return a small drawing of a step on the way from the lowest to the highest value."""
    width = (high - low) or 1.0
    left, right = (100 * (at - low) / width for at in sorted((start, end)))
    look = "up" if end >= start else "down"
    return (
        f'<svg class="bar {look}" aria-hidden="true" viewBox="0 0 100 12" preserveAspectRatio="none">'
        f'<rect x="{left:.2f}" y="1.5" width="{max(right - left, 0.6):.2f}" height="9"/></svg>'
    )


def shares(values: Sequence[tuple[str, float]]) -> str:
    """Return names with their shares as a line of text."""
    return ", ".join(f"{text(name)} {percent(share)}" for name, share in values)
