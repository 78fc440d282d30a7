"""Tables in Markdown for the docs, and a CSV file of all figures beside each."""

import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from boostforest_paper.reports import arena, curves, pictures, summary, tables
from boostforest_paper.reports.page import TASKS
from boostforest_paper.reports.paper import AGREES, Figure
from boostforest_paper.reports.results import BlockResult, Result, figure_of, quantity_of
from boostforest_paper.reports.tables import LOSS, WIN, Cell, Table
from boostforest_paper.running.problem import METRICS

COSTS = ("train_seconds", "predict_seconds", "cpu_seconds", "model_bytes")
LEGEND = (
    "Mean (standard deviation) over the repeats, best in bold; RMSE and MAE in units of the training labels' standard "
    "deviation. "
    f"{WIN} marks a learner that is significantly worse than the first one, {LOSS} one that is better (paired t-test, "
    f"Benjamini–Hochberg, 5 %). Small: the paper's figure, ✓ within {AGREES:g} of its standard deviations, ≠ not. "
    "Training time is that of the clock, tuning included, and grows with other work on the machine; processor time "
    "(tuning, fit and prediction) does not."
)


def write(folder: Path, results: list[Result]) -> Iterator[Path]:
    """Write NAME.md and NAME.csv for every experiment; yield the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        path = folder / f"{result.experiment.name}.md"
        path.write_text(render(result), encoding="utf-8")
        yield path
        if result.experiment.kind == "arena":
            yield from _write_ratings(path.with_suffix(".svg"), result)
        yield write_csv(path.with_suffix(".csv"), result)


def render(result: Result) -> str:
    """Return one experiment as Markdown."""
    experiment = result.experiment
    lines = [f"# {experiment.name}", "", experiment.question, "", f"{_capital(summary.facts(result))}.", ""]
    lines += [f"Machine: {machine}." for machine in result.machines]
    lines += ["", LEGEND, ""]
    if experiment.kind == "arena":
        lines += ["## All tables", "", arena.LEGEND, "", f"![{pictures.RATINGS}]({experiment.name}.svg)", ""]
        for table in arena.tables(result):
            lines += [*table_lines(table), ""]
    for block in result.blocks:
        lines += [f"## {block.block.title or TASKS[block.task]}", ""]
        said = summary.sentences(experiment, block)
        lines += [f"- {sentence}" for sentence in said]
        lines += [""] if said else []
        for table in _tables(result, block):
            lines += [*table_lines(table), ""]
    lines += ["## Notes", "", *(f"- {note}" for note in summary.notes(result))]
    return "\n".join(lines).rstrip() + "\n"


def _write_ratings(path: Path, result: Result) -> Iterator[Path]:
    """Write the picture of the ratings by the first measure."""
    base = result.blocks[0].block.base
    found = arena.standings(arena.read(result, next(iter(arena.MEASURES))), base)
    if found:
        path.write_bytes(pictures.ratings_file(found, base))
        yield path


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _tables(result: Result, block: BlockResult) -> Iterator[Table]:
    experiment = result.experiment
    if experiment.kind in ("sizes", "leaves"):
        found = curves.read(experiment.kind, block)
        if found.average:
            yield tables.curve_table(block, found.points, found.average)
    elif experiment.kind == "times":
        yield from (tables.time_table(block), tables.score_table(experiment, block, block.metric))
    elif experiment.kind == "robustness":
        yield tables.robustness_table(experiment, block)
    elif len(block.datasets) == 1:
        yield tables.single_table(experiment, block)
    else:
        for metric in METRICS[block.task]:
            if block.common(metric):
                yield tables.score_table(experiment, block, metric)
        comparison = tables.comparison_table(block, block.metric)
        if comparison is not None:
            yield comparison


def table_lines(table: Table) -> list[str]:
    """Return one table."""
    head = f"| {' | '.join([table.corner or ' ', *table.head])} |"
    lines = [f"**{_capital(table.caption)}**", "", head, "|---" + "|---:" * len(table.head) + "|"]
    for row in table.rows:
        label = f"*{row.label}*" if row.is_summary else row.label
        label += f" ({row.note})" if row.note else ""
        cells = [_cell(cell) for cell in row.cells] + [""] * (len(table.head) - len(row.cells))
        lines.append(f"| {' | '.join([label, *cells])} |")
    return lines


def _cell(cell: Cell) -> str:
    written = f"**{cell.text}**" if cell.is_best else cell.text
    written += f" {cell.mark}" if cell.mark else ""
    if cell.paper:
        sign = {True: " ✓", False: " ≠", None: ""}[cell.agrees]
        written += f"<br><sub>{cell.paper}{sign}</sub>"
    return written


def write_csv(path: Path, result: Result) -> Path:
    """Write mean and standard deviation of everything measured, a line per dataset, learner and setting."""
    metrics = sorted({metric for block in result.blocks for metric in METRICS[block.task]})
    quantities = [*metrics, *COSTS]
    columns = [f"{quantity}{suffix}" for quantity in quantities for suffix in ("", "_std")]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "learner", "setting", "tuning", "repeats", *columns])
        for block in result.blocks:
            for dataset, learner, setting in product(block.datasets, block.learners, block.settings):
                for head, rows in _records(block.rows(dataset, learner, setting), dataset, learner, setting):
                    figures = (figure_of(row[q] for row in rows if row.get(q) is not None) for q in quantities)
                    writer.writerow([*head, len(rows), *(number for f in figures for number in _numbers(f))])
    return path


def _records(rows: dict[int, Any], dataset: str, learner: str, setting: str) -> Iterator[tuple[list[str], list[Any]]]:
    """Yield the fits of a cell; a curve is taken apart into its points."""
    if not rows:
        return
    found = [{**row, "train_seconds": quantity_of(row, "train_seconds")} for row in rows.values()]
    tuning = found[0]["tuning"]
    if not setting.startswith("sizes"):
        yield [dataset, learner, setting, tuning], found
        return
    for i, size in enumerate(setting.partition(":")[2].split(",")):
        yield [dataset, learner, f"size:{size}", tuning], [curves.points_of(row)[i] for row in found]


def _numbers(figure: Figure | None) -> tuple[str, str]:
    return ("", "") if figure is None else (f"{figure.mean:.6g}", f"{figure.std:.3g}")
