"""Rows with the largest errors, and what their columns add to the predictions."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._base.typing import Floats, Longs
from . import html
from .facts import Facts, take, thinned
from .html import Cell

_N_ERRORS = 10
_MOST_STEPS = 8  # columns whose contributions are shown


def largest_errors(facts: Facts) -> str:
    """List the rows with the largest losses, and what their columns add to the predictions."""
    every = facts.counted
    worst = every[np.argsort(-facts.losses[every], kind="stable")[:_N_ERRORS]]
    explained = _explained(facts, worst)
    told = "The rows that are predicted worst, and what each column adds to the prediction (Shapley values)."
    if facts.out_of_bag:
        told += f" The error is that out of bag; the contributions add up to what the whole {facts.noun} predicts."
    if isinstance(explained, str):
        told += f' </p><p class="note">There are no contributions: {html.text(explained)}'
    found = [
        f'<details class="error"{" open" if i == 0 else ""}><summary>{"".join(_error_cells(facts, int(row)))}</summary>'
        f"{'' if isinstance(explained, str) else explained(i)}</details>"
        for i, row in enumerate(worst)
    ]
    return f"<p>{told}</p>{''.join(found)}"


def _error_cells(facts: Facts, row: int) -> Iterator[str]:
    yield f"<span><small>row</small>{html.text(facts.labels[row])}</span>"
    yield f"<span><small>observed</small>{_value(facts, facts.y[row])}</span>"
    if facts.classes is None:
        predicted = float(facts.judged[0][row])
        yield f"<span><small>predicted</small>{html.tell(predicted)}</span>"
        yield f"<span><small>observed − predicted</small>{html.tell(float(facts.y[row]) - predicted, True)}</span>"
        return
    p = facts.judged[0][row]
    likely = int(p.argmax())
    own = float(p[list(facts.classes).index(facts.y[row])])
    share = html.percent(float(p[likely]))
    yield f"<span><small>predicted</small>{_value(facts, facts.classes[likely])} ({share})</span>"
    yield f"<span><small>probability of the observed class</small>{html.percent(own)}</span>"


def _value(facts: Facts, value: Any) -> str:
    return html.tell(float(value)) if facts.classes is None else html.text(value)


def _explained(facts: Facts, rows: Longs) -> Callable[[int], str] | str:
    """Return what shows the contributions to one of the rows, or why there are none."""
    own = facts.model.known.background.table is not None
    background = None if own else take(facts.X, thinned(np.arange(len(facts.y)), 100))
    try:
        explanation = facts.estimator.explain(take(facts.X, rows), background)
    except ValueError as error:
        return str(error)

    def tell(i: int) -> str:
        values, base = explanation.values[i], explanation.base_values[i]
        if facts.classes is not None:
            likely = int(facts.judged[0][rows[i]].argmax())
            values, base = values[:, likely], base[likely]
        return _steps(facts, values, float(base), np.asarray(explanation.data)[i])

    return tell


def _steps(facts: Facts, values: Floats, base: float, data: Any) -> str:
    """Show how contributions lead from the base value, above, to the prediction, below."""
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:_MOST_STEPS], order[_MOST_STEPS:]
    steps = [(facts.names[j], _datum(data[j]), float(values[j])) for j in shown]
    if len(rest):
        steps.append((f"{len(rest)} other columns", "", float(values[rest].sum())))
    ends = base + np.cumsum([step for *_, step in steps])
    starts = np.concatenate([[base], ends[:-1]])
    low, high = min(base, *ends), max(base, *ends)
    what = "prediction" if facts.classes is None else "probability"
    rows = [[html.words(f"mean {what}"), Cell(""), Cell(""), html.number(base)]]
    for (name, value, step), start, end in zip(steps, starts, ends, strict=True):
        cells = [html.words(name, 40, "name"), html.words(value, 24)]
        rows.append(
            [*cells, Cell(html.step(start, end, low, high), look="wide"), html.number(step, sign=True, digits=3)]
        )
    whole = f"{what} by all trees" if facts.out_of_bag else what
    rows.append([html.words(whole), Cell(""), Cell(""), html.number(float(ends[-1]))])
    heads = ["column", "value", "", "adds"]
    return html.table(heads, rows, ["pale", *[""] * len(steps), "own"], sortable=False)


def _datum(value: Any) -> str:
    is_missing = value is None or value != value or type(value).__name__ == "NAType"
    if is_missing:
        return "missing"
    return value if isinstance(value, str) else html.tell(float(value))
