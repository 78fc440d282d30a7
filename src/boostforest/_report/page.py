"""The whole page: one file without anything to fetch, which says first what matters most."""

import datetime
from importlib import resources
from typing import Any

from ..plot._canvas import ON_DARK, ON_LIGHT
from . import card, errors, html, matters, quality, table
from .facts import Facts
from .figures import MORE_IS_BETTER
from .pictures import GREYS, Gallery

_LIGHT = {"paper": (255, 255, 255), "ink": (26, 26, 26), "back": (245, 246, 248)}
_DARK = {"paper": (27, 30, 36), "ink": (240, 241, 243), "back": (17, 19, 23)}


def make_page(facts: Facts, title: str | None) -> str:
    """Return the page as HTML."""
    gallery = Gallery()
    heading = title if title is not None else f"Predicting {facts.target}"
    parts = {
        "How good it is": quality.how_good(facts, gallery),
        "What matters": matters.what_matters(facts),
        "Effects": matters.effects(facts, gallery),
        "Largest errors": errors.largest_errors(facts),
        "The table": table.the_table(facts),
        "Model card": card.model_card(facts),
    }
    links = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in parts)
    body = "".join(
        f'<details class="section" id="{_anchor(name)}" open><summary><h2>{name}</h2></summary>{content}</details>'
        for name, content in parts.items()
    )
    made = datetime.date.today().isoformat()
    estimator = type(facts.estimator).__name__
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="boostforest"><title>{html.text(heading)}</title>'
        f"<style>{_style()}</style></head>"
        f'<body><header><div><p class="kicker">{estimator} · report of {made}</p><h1>{html.text(heading)}</h1>'
        f'<p class="lead">{_summary(facts)}</p>{_tiles(facts)}<nav aria-label="Sections">{links}</nav></div></header>'
        f"<main>{body}</main><footer>Made by boostforest. One file: nothing is fetched, nothing is sent.</footer>"
        f"<script>{_resource('page.js')}</script></body></html>\n"
    )


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _style() -> str:
    """Return the style, with the colours of light and of dark pages."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_colours(_DARK, ON_DARK)} }} }}"
    return f":root {{ {_colours(_LIGHT, ON_LIGHT)} }}\n{dark}\n{_resource('page.css')}{_heat()}"


def _colours(theme: dict[str, tuple[int, int, int]], series: tuple[str, ...]) -> str:
    steps = []
    for k in range(GREYS + 1):
        mixed = [round(p + (i - p) * k / GREYS) for p, i in zip(theme["paper"], theme["ink"], strict=True)]
        steps.append(f"--g{k}: #{bytes(mixed).hex()};")
    named = [f"--{name}: #{bytes(theme[name]).hex()};" for name in ("paper", "back")]
    return " ".join([*named, *steps, *(f"--c{k}: {colour};" for k, colour in enumerate(series))])


def _heat() -> str:
    """Return the colours of a confusion matrix, by the share of a class."""
    return "".join(
        f"td.h{k} {{ background: color-mix(in srgb, var(--c0) {6 * k}%, transparent); }}\n" for k in range(11)
    )


# ------------------------------------------------------------------------------------------------------------ the top


def _summary(facts: Facts) -> str:
    """Say in a sentence or two how good it is."""
    own, *others = facts.scores
    name = _headline(facts)
    where = (
        "out of bag" if facts.out_of_bag else "on the rows of its fit" if facts.rows.is_training else "on these rows"
    )
    value = own.figures[name]
    told = f"{name[0].upper()}{name[1:]} {html.tell(value)} {where}" if value is not None else f"{len(facts.y):,} rows"
    simple = [row for row in others if row.is_honest and row.figures[name] is not None]
    if value is not None and simple:
        beside = " and ".join(f"{_cell(row.figures[name])} of {_article(row.name)}" for row in simple)
        told += f", against {beside}"
        if own.is_honest and not all(_is_better(name, value, row.figures[name]) for row in simple):
            told += f": the {facts.noun} is not better than both"
    order = sorted(range(len(facts.names)), key=lambda j: -facts.importances.importances[j])
    top = [facts.names[j] for j in order[:3] if facts.importances.intervals[j, 0] > 0]
    told += "."
    if top:
        told += f" What matters most: {html.text(', '.join(top))}."
    return told


def _article(name: str) -> str:
    return f"the {name}" if name.startswith(("mean", "shares")) or name[0].isdigit() else f"a {name}"


def _cell(value: Any) -> str:
    return "–" if value is None else html.tell(float(value))


def _is_better(name: str, value: float, other: float | None) -> bool:
    return other is None or (value > other if MORE_IS_BETTER.get(name, False) else value < other)


def _headline(facts: Facts) -> str:
    """Return the name of the figure that is said first."""
    return "log-loss" if facts.classes is not None else next(iter(facts.scores[0].figures))


def _tiles(facts: Facts) -> str:
    own = facts.scores[0].figures
    where = (
        "out of bag" if facts.out_of_bag else "on the rows of the fit" if facts.rows.is_training else "on these rows"
    )
    shown = [name for name, value in own.items() if value is not None and name != "balanced accuracy"]
    tiles = [(_cell(own[name]), f"{name}, {where}") for name in shown[:3]]
    tiles += [(f"{len(facts.y):,}", "rows"), (str(len(facts.names)), "columns"), (f"{facts.model.n_trees:,}", "trees")]
    found = "".join(
        f'<div class="tile{" first" if i == 0 else ""}"><b>{value}</b><span>{html.text(what)}</span></div>'
        for i, (value, what) in enumerate(tiles)
    )
    return f'<div class="tiles">{found}</div>'
