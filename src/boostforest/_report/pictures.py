"""Pictures of matplotlib as SVG within a page: colours and fonts are the page's own, dark or light."""

import io
import re
from collections.abc import Callable
from html import escape
from itertools import count
from typing import Any

from ..plot._canvas import ON_LIGHT, check_axes

GREYS = 20  # steps between the colour of the page and that of text: --g0 to --g20
_INK = 0x1A  # brightness of text in what is drawn
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "boostforest", "font.size": 9.5, "axes.linewidth": 0.7,
    "xtick.major.width": 0.7, "ytick.major.width": 0.7, "axes.edgecolor": "#8c8c8c", "xtick.color": "#5a5a5a",
    "ytick.color": "#5a5a5a",
}  # fmt: skip
_COLOURS = {colour.lower(): f"var(--c{k})" for k, colour in enumerate(ON_LIGHT)}


class Gallery:
    """Makes the pictures of one page; no two of them share an identifier."""

    def __init__(self) -> None:
        check_axes(None)
        self._numbers = count(1)

    def draw(self, draw: Callable[[Any], Any], title: str, width: float = 4.6, height: float = 3.0) -> str:
        """Return a figure of the page: what is drawn into axes of so many inches, which a title says to all readers."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context():
            mpl.rcdefaults()
            for name, value in _SETTINGS.items():
                mpl.rcParams[name] = value  # type: ignore[index]
            figure = Figure(figsize=(width, height), layout="constrained")
            draw(figure.add_subplot())
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None})
        return _in_page(out.getvalue(), f"p{next(self._numbers)}-", title)


def _in_page(svg: str, prefix: str, title: str) -> str:
    """Return a drawing as a part of a page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{prefix}", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r"font: (?:[a-z]+ )*([\d.]+px)[^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)  # but no text
    svg = re.sub(r"#[0-9a-fA-F]{6}\b", lambda m: _colour(m[0]), svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    box = re.search(r'viewBox="([^"]+)"', svg)
    inside = svg[svg.index(">") + 1 :]
    label = escape(title, quote=True)
    return f'<svg class="picture" role="img" aria-label="{label}" viewBox="{box[1] if box else ""}">{inside.strip()}'


def _colour(text: str) -> str:
    """Return a colour of the page for one that was drawn; others stay."""
    if text.lower() in _COLOURS:
        return _COLOURS[text.lower()]
    red, green, blue = (int(text[i : i + 2], 16) for i in (1, 3, 5))
    if max(red, green, blue) - min(red, green, blue) > 4:
        return text
    return f"var(--g{min(max(round(GREYS * (255 - green) / (255 - _INK)), 0), GREYS)})"
