"""What the table is: its columns and their values."""

import numpy as np

from .._base.typing import Floats
from . import html
from .facts import Facts
from .html import Cell

MOST_COLUMNS = 60  # rows of tables of columns
_MOST_LEVELS = 5  # that a cell names
_BINS = 20


def the_table(facts: Facts) -> str:
    """Describe the rows and columns of the table."""
    n_rows, n_columns = facts.table.shape
    categories = facts.model.features.columns.categories
    missing = np.isnan(facts.table).sum() + sum(
        int((facts.table[:, j] == len(category.levels)).sum()) for j, category in categories.items()
    )
    kinds = [f"{n_columns - len(categories)} of numbers"] if n_columns > len(categories) else []
    kinds += [f"{len(categories)} of categories"] if categories else []
    told = f"{n_rows:,} rows with {_count(n_columns, 'column')} ({', '.join(kinds)})"
    told += (
        f"; {html.percent(missing / max(facts.table.size, 1))} of the values are missing."
        if missing
        else "; nothing is missing."
    )
    if facts.weight is not None:
        told += f" The rows have weights, from {html.tell(facts.weight.min())} to {html.tell(facts.weight.max())}."
    order = np.argsort(-facts.importances.importances, kind="stable")[:MOST_COLUMNS]
    rows = [_target_row(facts), *(_column_row(facts, int(j)) for j in order)]
    heads = ["column", "holds", "missing", "distinct", "distribution", "values"]
    note = "" if n_columns <= MOST_COLUMNS else f'<p class="note">The {MOST_COLUMNS} most important columns.</p>'
    return f"<p>{told}</p>{html.table(heads, rows, ['target', *[''] * len(order)])}{note}"


def _target_row(facts: Facts) -> list[Cell]:
    name = html.words(facts.target, 40, "name")
    name = Cell(f"{name.html} <small>(target)</small>", name.order, look="name")
    if facts.classes is None:
        return [name, *_of_numbers(facts.y.astype(np.float64))]
    counts = np.array([(facts.y == label).sum() for label in facts.classes], dtype=np.float64)
    return [name, *_of_levels([str(label) for label in facts.classes], counts, 0, "classes")]


def _column_row(facts: Facts, j: int) -> list[Cell]:
    values, name = facts.table[:, j], html.words(facts.names[j], 40, "name")
    category = facts.model.features.columns.categories.get(j)
    if category is None:
        return [name, *_of_numbers(values)]
    counts = np.array([(values == k).sum() for k in range(len(category.levels))], dtype=np.float64)
    return [
        name,
        *_of_levels([str(level) for level in category.levels], counts, len(values) - int(counts.sum()), "text"),
    ]


def _of_numbers(values: Floats) -> list[Cell]:
    known = values[~np.isnan(values)]
    missing = len(values) - len(known)
    if len(known) == 0:
        return [
            html.words("numbers", look="short"),
            _missing(missing, len(values)),
            html.number(0),
            Cell("", 0),
            html.words("none"),
        ]
    low, middle, high = np.quantile(known, [0, 0.5, 1])
    counts = np.histogram(known, bins=min(_BINS, max(len(np.unique(known)), 1)))[0].astype(np.float64)
    told = f"{html.tell(low)} to {html.tell(high)}, median {html.tell(middle)}"
    return [
        html.words("numbers", look="short"), _missing(missing, len(values)), html.number(len(np.unique(known))),
        Cell(html.histogram(counts, told), float(middle)), Cell(told, float(middle)),
    ]  # fmt: skip


def _of_levels(levels: list[str], counts: Floats, missing: int, what: str) -> list[Cell]:
    order = np.argsort(-counts, kind="stable")
    total = counts.sum() + missing
    shown = [(levels[k], counts[k] / max(total, 1)) for k in order[:_MOST_LEVELS] if counts[k] > 0]
    told = html.shares(shown) + (" …" if len(levels) > _MOST_LEVELS else "")
    n = int((counts > 0).sum())
    return [
        html.words(what, look="short"), _missing(missing, int(total)), html.number(n),
        Cell(html.histogram(counts[order][:_BINS], f"{n} levels"), n), Cell(told),
    ]  # fmt: skip


def _missing(n: int, total: int) -> Cell:
    return Cell(html.percent(n / max(total, 1)) if n else "–", n, True)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
