"""What all pictures share: where they are drawn, colours, names that fit, and checks of what is drawn."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._base.typing import Floats, Labels
from .._estimator.targets import require_one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which colour-blind readers can tell apart; the order is for the contrast to the background.
ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#555555")
ON_DARK = ("#56B4E9", "#E69F00", "#2CC79B", "#CC79A7", "#F0E442", "#3D8FCC", "#BBBBBB")
MARKERS = "osD^vPX"
N_COLOURS = len(ON_LIGHT)
_LONGEST_NAME = 28  # characters


def check_axes(ax: Any) -> None:
    """Say at once that matplotlib is missing, or that there is nothing to draw into."""
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError('boostforest.plot needs matplotlib: pip install "boostforest[plot]".') from error
    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(f"ax must be None or the Axes of a matplotlib figure; got {type(ax).__name__}.")


class Canvas:
    """Axes to draw into, with the colours that can be seen on them."""

    def __init__(self, ax: Axes | None, width: float, height: float) -> None:
        from matplotlib.colors import to_rgb, to_rgba

        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        self.ax = ax
        own = to_rgba(ax.get_facecolor())
        self._paper = np.array(own[:3] if own[3] > 0.5 else to_rgb(ax.figure.get_facecolor()))
        self.is_dark = bool(self._paper @ (0.299, 0.587, 0.114) < 0.5)
        self.ink = "#f2f2f2" if self.is_dark else "#1a1a1a"
        self.colours = ON_DARK if self.is_dark else ON_LIGHT
        self.up, self.down = self.colours[:2]  # of what raises and what lowers a prediction

    def tint(self, colour: str, share: float) -> str:
        """Return the colour of the background with a share of another."""
        from matplotlib.colors import to_hex, to_rgb

        return to_hex(self._paper + share * (np.array(to_rgb(colour)) - self._paper))

    def soft(self, share: float) -> str:
        """Return a colour between that of the background (0) and that of text (1)."""
        return self.tint(self.ink, share)

    def behind_text(self) -> dict[str, Any]:
        """Return a box that keeps lines from running through text."""
        return {"facecolor": self.soft(0), "edgecolor": "none", "pad": 0.8}

    def style(self, grid: Literal["both", "x", "y"] = "both") -> None:
        """Draw a light grid behind everything, and no frame."""
        self.ax.spines[["top", "right"]].set_visible(False)
        self.ax.grid(visible=False)
        self.ax.grid(visible=True, axis=grid, color=self.soft(0.12), linewidth=0.8)
        self.ax.set_axisbelow(True)

    def legend(self, **options: Any) -> None:
        """Name what was drawn with a label."""
        options = {"frameon": False, "fontsize": "small", "labelcolor": self.ink} | options
        self.ax.legend(**options)

    def say(self, text: str) -> None:
        """Write figures above the picture."""
        self.ax.set_title(text, loc="left", fontsize="medium")

    def name_rows(self, names: Sequence[str]) -> None:
        """Name the bars of a picture from top to bottom."""
        self.ax.set_yticks(range(len(names)), list(names))
        self.ax.tick_params(axis="y", length=0)
        self.ax.set_ylim(len(names) - 0.4, -0.6)


def shortened(name: object, longest: int) -> str:
    """Return a name of a few characters: both ends of a longer one, for these often begin alike."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    head = (longest - 1) * 2 // 3
    return f"{text[:head].rstrip()}…{text[len(text) - (longest - 1 - head) :].lstrip()}"


def short(name: object, longest: int = _LONGEST_NAME) -> str:
    """Return a name that fits beside a picture, and in which matplotlib finds no formulas."""
    return shortened(name, longest).replace("$", r"\$")


def width_beside(names: Sequence[str], width: float) -> float:
    """Return the width of a figure, in inches, whose axes have some width beside the names of rows."""
    return width + 0.085 * max(map(len, names), default=0)


def names_of(estimator: Any, n_columns: int) -> list[str]:
    """Return the names of the columns of the fit, x0, x1, … if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]


def tell_number(value: float) -> str:
    """Write a number with three digits, or all of those before the point."""
    if not np.isfinite(value):
        return "infinite" if value > 0 else "missing"
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def largest(values: Floats, most: int) -> list[int]:
    """Return the places of the largest values, beginning with these; where there are more, without nearly zero."""
    order: list[int] = np.argsort(-values, kind="stable")[:most].tolist()
    return (
        order if len(order) == len(values) else [j for j in order if values[j] > 1e-3 * values[order[0]]] or order[:1]
    )


def of_columns(n_shown: int, n_columns: int) -> str:
    """Say that there are more columns than are shown."""
    return f"\nthe largest {n_shown} of {n_columns} columns" if n_shown < n_columns else ""


# --------------------------------------------------------------------------------------------------------------- checks


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Check an argument that is a number of things."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Check an argument that is one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}; got {value!r}.")


def check_estimator(estimator: Any, what: str) -> None:
    """Check that something is a fitted estimator; ``what``: "a classifier", "a regressor" or "a tree or a forest"."""
    kinds = {"a classifier": is_classifier, "a regressor": is_regressor}
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"the estimator must be {what} that is fitted; got {_told(estimator)}.")
    if what in kinds and not kinds[what](estimator):
        raise TypeError(f"this picture needs {what}; got {_told(estimator)}.")
    check_is_fitted(estimator)
    if what in kinds:
        check_one_target(estimator)


def check_one_target(estimator: Any) -> None:
    """Refuse several targets."""
    if hasattr(estimator, "get_target"):
        require_one(estimator._fitted(), "this picture")


def _told(something: object) -> str:
    return f"the class {something.__name__}" if isinstance(something, type) else type(something).__name__


def read_target(y: Any, n_rows: int) -> Labels:
    """Return a target, one value per row."""
    target: Labels = column_or_1d(y)
    if len(target) != n_rows:
        raise ValueError(f"y must have one value per row of X; got {len(target)} values for {n_rows} rows.")
    return target


def read_numbers(y: Any, n_rows: int) -> Floats:
    """Return a target of numbers."""
    target = read_target(y, n_rows)
    try:
        found = target.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers; got {target[:3].tolist()!r}.") from error
    if not np.isfinite(found).all():
        raise ValueError("y must be finite, and some of its values are missing or infinite; leave out these rows.")
    return found


def read_labels(y: Any, classes: Labels, n_rows: int) -> Labels:
    """Return the places of labels among the classes."""
    target = read_target(y, n_rows)
    places = {label: place for place, label in enumerate(classes.tolist())}
    unknown = [label for label in target.tolist() if label not in places]
    if unknown:
        raise ValueError(f"y must hold classes of the fit, such as {classes[0]!s}; got {unknown[0]!r}.")
    return np.array([places[label] for label in target.tolist()], dtype=np.intp)
