"""What matters: importances of the columns, and how predictions follow them."""

from typing import Any

import numpy as np

from .. import plot
from .._base.typing import Floats
from . import html
from .facts import Facts
from .html import Cell
from .pictures import Gallery
from .table import MOST_COLUMNS

_MOST_EFFECTS = 6


def what_matters(facts: Facts) -> str:
    """Show by how much the loss rises when columns are shuffled, and what else is known of their importance."""
    found = facts.importances
    order = np.argsort(-found.importances, kind="stable")[:MOST_COLUMNS]
    largest = float(max(found.intervals[:, 1].max(), 0.0))
    gain = facts.estimator.feature_importances_
    slope = _slopes(facts)
    rows = []
    for j in order:
        value, (low, high) = float(found.importances[j]), found.intervals[j]
        cells = [
            html.words(facts.names[j], 40, "name"),
            Cell(html.bar(value, float(low), float(high), largest), value, look="wide"),
            html.number(value, sign=True, digits=3),
            Cell(f"± {html.tell(float(high - low) / 2, digits=2)}", float(high - low), True),
            Cell(html.percent(float(gain[j])), float(gain[j]), True),
        ]
        rows.append(cells if slope is None else [*cells, html.number(float(slope[j]), sign=True, digits=3)])
    heads = ["column", f"rise of the {found.figure}", "rise", "95 %", "share of gain"]
    unit = "in units of the target" if facts.classes is None else "in log-odds"
    unit += " (root mean square over the classes)" if facts.model.loss.n_outputs > 1 else ""
    heads += [] if slope is None else ["effect of one SD"]
    where = "out of bag" if found.out_of_bag else "on these rows"
    judged = "" if found.n_rows == len(facts.counted) else f" for {found.n_rows:,} of the rows"
    told = (
        f"How much worse predictions get {where} when the values of a column are shuffled among the rows: the "
        f"{found.figure} is {html.tell(found.loss)}{judged}, and rises by so much. Columns that can stand in for each "
        "other share their importance."
    )
    more = ""
    if slope is not None:
        more = (
            f" Effect of one SD: how a standard deviation of the column moves predictions, {unit}; rising and falling "
            "effects cancel."
        )
    note = f"Thin lines are 95 % intervals. Share of gain: what splits on the column have gained in the fit.{more}"
    return f'<p>{told}</p>{html.table(heads, rows)}<p class="note">{note}</p>'


def _slopes(facts: Facts) -> Floats | None:
    try:
        return np.asarray(facts.estimator.slope_importances_)
    except AttributeError:  # node models without slopes
        return None


def effects(facts: Facts, gallery: Gallery) -> str:
    """Draw how predictions follow the most important columns."""
    order = np.argsort(-facts.importances.importances, kind="stable")
    usable = [int(j) for j in order if _has_values(facts, int(j))][:_MOST_EFFECTS]
    if not usable:
        return "<p>No column has values.</p>"

    def pictures(kind: str, n_points: int, max_rows: int) -> str:
        found = []
        for j in usable:

            def draw(ax: Any, j: int = j) -> Any:
                how: dict[str, Any] = {"kind": kind, "n_points": n_points, "max_rows": max_rows}
                plot.effect(facts.estimator, facts.X, j, **how, ax=ax)
                ax.set(
                    **{"ylabel" if j in facts.model.features.columns.categories else "xlabel": ""}
                )  # it is the title

            height = 2.8 if j not in facts.model.features.columns.categories else 3.0
            picture = gallery.draw(draw, facts.names[j], 4.4, height)
            found.append(f"<figure><h3>{html.text(facts.names[j])}</h3>{picture}</figure>")
        return f'<div class="pictures">{"".join(found)}</div>'

    told = (
        "The mean prediction when all rows have the same value of a column and keep their others (partial dependence). "
        "Ticks at the bottom are where the data are."
    )
    more = (
        "Accumulated local effects: what small steps of the column do to rows that have such values, added up; 0 is "
        "the mean. Where columns go together they are the better picture: no row gets a value that is unlike the rest "
        "of it."
    )
    return (
        f"<p>{told} Effects are of the model, not of the world: they need not be causes.</p>"
        f"{pictures('partial', 24, 300)}"
        f'<details class="more"><summary>The same as accumulated local effects</summary><p>{more}</p>'
        f"{pictures('ale', 24, 2000)}</details>"
    )


def _has_values(facts: Facts, j: int) -> bool:
    return not np.isnan(facts.table[:, j]).all()
