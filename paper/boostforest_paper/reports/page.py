"""One HTML page with everything: opens without a network, reads on a phone, in the light and in the dark."""

from html import escape
from pathlib import Path
from time import strftime

import numpy as np

from boostforest_paper.reports import arena, curves, pictures, summary, tables, text
from boostforest_paper.reports.pictures import Point
from boostforest_paper.reports.results import BlockResult, Result
from boostforest_paper.reports.statistics import LEAST_REPEATS
from boostforest_paper.reports.tables import LOSS, WIN, Cell, Table
from boostforest_paper.running.problem import HIGHER_IS_BETTER, METRICS
from boostforest_paper.types import Task

STYLE = Path(__file__).with_name("page.css")
TASKS: dict[Task, str] = {"classification": "Classification", "regression": "Regression"}
LEGEND = f"""
<details class="legend"><summary>How to read the tables</summary>
<p>Mean over the repeats, standard deviation in brackets; the best of a line is bold. RMSE and MAE are in units of the
training labels' standard deviation. Each repeat is another random split: 60 % train, 20 % validation, 20 % test;
parameters are chosen on the validation part, and the chosen ones are refitted on both.</p>
<p><b>{WIN}</b> the learner at hand is significantly worse than the base of the table, <b>{LOSS}</b> significantly
better: paired t-test over the repeats, Benjamini–Hochberg over the datasets, 5 %, with at least {LEAST_REPEATS}
repeats. The repeats share rows, so these tests are on the generous side.</p>
<p><span class="paper">Small figures are the paper's</span>: <span class="yes">✓</span> ours is within two of its
standard deviations, <span class="no">≠</span> further away. Its times come from 50 cores of another machine.</p>
<p>Lines, averages and ranks count the repeats that all learners of a table share. Training time includes the choice of
parameters; it grows when other work runs on the machine. Processor time does not: it is that of tuning, fit and
prediction. Model size is the length of the pickled model.</p>
</details>"""


def write(path: Path, results: list[Result]) -> None:
    """Write the page, whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(render(results), encoding="utf-8")
    part.replace(path)


def render(results: list[Result]) -> str:
    """Return the page."""
    links = "".join(f'<a href="#{r.experiment.name}">{escape(r.experiment.name)}</a>' for r in results)
    machines = list(dict.fromkeys(sentence for r in results for sentence in r.machines))
    has_paper = any(r.experiment.in_paper for r in results)
    toggle = '<label class="toggle"><input type="checkbox" id="show-paper" checked> the paper’s figures</label>'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>BoostForest benchmarks</title>
<link rel="icon" href="data:,">
<style>{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>BoostForest benchmarks</h1>
<p class="facts">Written on {strftime("%Y-%m-%d")}. {" ".join(f"Measured on {escape(m)}." for m in machines)}</p>
<nav>{links}{toggle if has_paper else ""}</nav>
{LEGEND}
</header>
<main>
{"".join(_experiment(result) for result in results)}
</main>
</body>
</html>
"""


def _experiment(result: Result) -> str:
    experiment = result.experiment
    blocks = "".join(_block(result, block) for block in result.blocks)
    return f"""<section class="experiment" id="{experiment.name}">
<h2>{escape(experiment.name)}</h2>
<p class="question">{escape(experiment.question)}</p>
<p class="facts">{escape(summary.facts(result))}</p>
{_arena(result) if experiment.kind == "arena" else ""}
{blocks}
{_notes(result)}
</section>
"""


def _arena(result: Result) -> str:
    """All tables as one field: pictures, then a table per measure and size."""
    base = result.blocks[0].block.base
    drawn = ""
    for measure in arena.MEASURES:
        found = arena.standings(arena.read(result, measure), base)
        points = [Point(s.name, s.seconds, 100 * s.improvability) for s in found if s.seconds > 0]
        if len(points) > 1:
            drawn += _figure(pictures.ratings(found, base), f"Elo by {measure}, {arena.ANCHOR} = 1000.")
            cost = pictures.pareto(points, base, "s per 1,000 rows", "improvability, %", text.seconds)
            drawn += _figure(cost, f"Improvability in {measure} against processor time (median over tables).")
    shown = "".join(_table(table) for table in arena.tables(result))
    return f'<h3>All tables</h3><p>{escape(arena.LEGEND)}</p><div class="pictures">{drawn}</div>{shown}'


def _block(result: Result, block: BlockResult) -> str:
    experiment = result.experiment
    title = block.block.title or TASKS[block.task]
    head = f"<h3>{escape(title)}</h3>"
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in summary.sentences(experiment, block))
    head += f'<ul class="said">{said}</ul>' if said else ""
    if experiment.kind in ("sizes", "leaves"):
        return head + _curves(experiment.kind, block)
    if experiment.kind == "times":
        return head + _table(tables.time_table(block)) + _table(tables.score_table(experiment, block, block.metric))
    if experiment.kind == "robustness":
        return head + _table(tables.robustness_table(experiment, block))
    if len(block.datasets) == 1:
        return head + _table(tables.single_table(experiment, block))
    others = [metric for metric in METRICS[block.task] if metric != block.metric and block.common(metric)]
    more = ""
    for metric in others:
        table = _table(tables.score_table(experiment, block, metric))
        more += f"<details><summary>{text.METRIC_NAMES[metric]}</summary>{table}</details>"
    return head + _table(tables.score_table(experiment, block, block.metric)) + more + _comparisons(block)


def _comparisons(block: BlockResult) -> str:
    """Wins and losses, and the pictures, beside each other where there is room."""
    parts = []
    test = block.friedman(block.metric)
    if test is not None:
        caption = (
            f"Average ranks over {test.n_datasets} datasets. Bars on the right join learners that the Nemenyi test "
            "does not tell apart at 5 %."
        )
        parts.append(_figure(pictures.critical_difference(test, block.ranked(block.metric), block.block.base), caption))
    table = tables.comparison_table(block, block.metric)
    if table is not None:
        parts.append(_table(table))
    parts += [_pareto(block, "cpu_seconds"), _pareto(block, "model_bytes")]
    return f'<div class="pictures">{"".join(parts)}</div>'


def _pareto(block: BlockResult, quantity: str) -> str:
    """Error against cost, averaged over the datasets that all learners have."""
    common = block.common(block.metric)
    if not common:
        return ""
    points = []
    for name, error in zip(block.ranked(block.metric), block.means(block.metric).mean(axis=0), strict=True):
        costs = [figure.mean for d in common if (figure := block.figure(d, name, quantity)) is not None]
        if len(costs) == len(common) and all(cost > 0 for cost in costs):
            error = 1 - error if HIGHER_IS_BETTER[block.metric] else error
            points.append(Point(name, float(np.exp(np.mean(np.log(costs)))), float(error)))
    if len(points) < 2:
        return ""
    is_time = quantity == "cpu_seconds"  # other work on the machine does not count
    label = text.METRIC_NAMES[quantity]
    error_name = "error rate" if block.task == "classification" else "RMSE"
    drawn = pictures.pareto(points, block.block.base, label, error_name, text.seconds if is_time else text.size)
    caption = (
        f"Average {error_name} against {label.removesuffix(', s')} (geometric mean). Nothing beats the learners on the "
        "line in both."
    )
    return _figure(drawn, caption)


def _curves(kind: str, block: BlockResult) -> str:
    found = curves.read(kind, block)
    base = block.block.base
    average, panels = pictures.curve_pictures(found, block.learners, base, block.metric)
    keys = "".join(
        f'<span class="key" style="--colour: {pictures.colour(name, block.learners, base)}">{escape(name)}</span>'
        for name in block.learners
    )
    axis = "number of base learners" if kind == "sizes" else "leaves of a base learner, at most"
    caption = f"Average of {len(found.by_dataset)} datasets against the {axis}."
    table = _table(tables.curve_table(block, found.points, found.average)) if found.average else ""
    return f"""<p class="keys">{keys}</p>
{_figure(average, caption) if average else ""}
{table}
<div class="panels">{"".join(panels)}</div>"""


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _notes(result: Result) -> str:
    notes = summary.notes(result)
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<details class="notes"><summary>Notes ({len(notes)})</summary><ul>{items}</ul></details>'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    width = len(table.head)
    body = ""
    for row in table.rows:
        note = f" <small>{escape(row.note)}</small>" if row.note else ""
        cells = "".join(_cell(cell, width if len(row.cells) == 1 and width > 1 else 1) for cell in row.cells)
        class_ = ' class="summary"' if row.is_summary else ""
        body += f'<tr{class_}><th scope="row">{escape(row.label)}{note}</th>{cells}</tr>'
    corner = f'<th scope="col">{escape(table.corner)}</th>'
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.caption)}"><table>
<caption>{escape(table.caption)}</caption><thead><tr>{corner}{head}</tr></thead><tbody>{body}</tbody></table></div>"""


def _cell(cell: Cell, span: int = 1) -> str:
    mean, _, deviation = cell.text.partition(" (")
    written = f"<span>{escape(mean)}</span>"
    if deviation:
        written += f' <span class="std">({escape(deviation)}</span>'
    if cell.mark:
        meaning = "significantly worse than the base" if cell.mark == WIN else "significantly better than the base"
        written += f' <abbr title="{meaning}">{cell.mark}</abbr>'
    if cell.paper:
        sign = {True: ' <b class="yes">✓</b>', False: ' <b class="no">≠</b>', None: ""}[cell.agrees]
        tip = f' title="{escape(cell.tip)}"' if cell.tip else ""
        written += f'<div class="paper"{tip}>{escape(cell.paper)}{sign}</div>'
    classes = " ".join(name for name, holds in (("best", cell.is_best), ("base", cell.is_base)) if holds)
    class_ = f' class="{classes}"' if classes else ""
    return f"<td{class_}{f' colspan={span}' if span > 1 else ''}>{written}</td>"
