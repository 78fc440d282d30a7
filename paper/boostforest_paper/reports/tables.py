"""Tables of results, the same for HTML and Markdown."""

from dataclasses import dataclass, field

import numpy as np

from boostforest_paper.experiments import Experiment
from boostforest_paper.learners import grids
from boostforest_paper.learners.own import LEAF_SIZES
from boostforest_paper.reports import paper, text
from boostforest_paper.reports.paper import Figure
from boostforest_paper.reports.results import BlockResult, Comparison
from boostforest_paper.running.problem import HIGHER_IS_BETTER

WIN, LOSS = "●", "○"  # the base is significantly better, worse than this one
# How the paper calls the rows of averages below its tables.
AVERAGES = {
    "accuracy": "Average accuracy",
    "rmse": "Average RMSE",
    "train_seconds": "Average time",
    "model_bytes": "Average model size",
}


COSTS = ("train_seconds", "cpu_seconds", "model_bytes")


@dataclass
class Cell:
    """One figure, and the paper's below it."""

    text: str
    is_best: bool = False
    is_base: bool = False  # of the learner that the others are tested against
    mark: str = ""
    paper: str = ""
    agrees: bool | None = None
    tip: str = ""


@dataclass
class TableRow:
    """A line; summaries stand below the datasets."""

    label: str
    cells: list[Cell]
    is_summary: bool = False
    note: str = ""


@dataclass
class Table:
    """A table with its caption."""

    caption: str
    head: list[str]
    rows: list[TableRow] = field(default_factory=list)
    corner: str = ""  # head of the first column

    @property
    def has_paper(self) -> bool:
        """Whether any cell has the paper's figure."""
        return any(cell.paper for row in self.rows for cell in row.cells)


def _best(values: list[float | None], higher_is_better: bool) -> float | None:
    """Return the best value as it is shown; None where there is nothing to choose from."""
    known = [round(value, 4) for value in values if value is not None]
    return (max(known) if higher_is_better else min(known)) if len(known) > 1 else None


def _with_paper(cell: Cell, ours: Figure | None, theirs: Figure | None, written: str) -> Cell:
    """Add the paper's figure, and whether ours agrees with it."""
    if theirs is None:
        return cell
    cell.paper = written
    if ours is not None:
        cell.agrees = paper.agrees(ours, theirs)
        distance = paper.apart(ours, theirs)
        if distance is not None:
            cell.tip = f"{distance:+.1f} of the paper's standard deviations"
    return cell


def score_table(experiment: Experiment, result: BlockResult, metric: str) -> Table:
    """Datasets × learners, with averages and ranks below; the paper's figures for its own measure."""
    comparisons = {name: result.compare(name, metric) for name in result.learners}
    table = Table(text.METRIC_NAMES[metric], result.learners, corner="dataset")
    for dataset in result.datasets:
        table.rows.append(_dataset_row(experiment, result, metric, dataset, comparisons))
    table.rows.append(_average_row(experiment, result, metric))
    if len(result.learners) > 1:
        table.rows.append(_rank_row(experiment, result, metric))
    if metric == result.metric:
        table.rows += [_cost_row(experiment, result, quantity) for quantity in COSTS]
    for row in table.rows:
        for name, cell in zip(result.learners, row.cells, strict=True):
            cell.is_base = name == result.block.base and len(result.learners) > 1
    return table


def _dataset_row(
    experiment: Experiment,
    result: BlockResult,
    metric: str,
    dataset: str,
    comparisons: dict[str, Comparison | None],
) -> TableRow:
    figures = result.shared_figures(dataset, metric)
    best = _best([figure and figure.mean for figure in figures], HIGHER_IS_BETTER[metric])
    row = TableRow(dataset, [])
    for name, figure in zip(result.learners, figures, strict=True):
        cell = Cell(text.score(figure), figure is not None and round(figure.mean, 4) == best)
        comparison = comparisons[name]
        if comparison is not None:
            cell.mark = WIN if dataset in comparison.better else LOSS if dataset in comparison.worse else ""
        if figure is None and any(j.dataset == dataset and j.learner == name for j in result.failures):
            cell.text = "failed"
        theirs = paper_figure(experiment, result, metric, dataset, name)
        row.cells.append(_with_paper(cell, figure, theirs, text.score(theirs)))
    return row


def paper_figure(experiment: Experiment, result: BlockResult, metric: str, row: str, learner: str) -> Figure | None:
    """Return the paper's figure of a cell; it has accuracy and RMSE only."""
    if not experiment.in_paper or metric != result.metric:
        return None
    return paper.figure(experiment.name, result.task, row, learner)


def _average_row(experiment: Experiment, result: BlockResult, metric: str) -> TableRow:
    figures = [result.average(name, metric) for name in result.learners]
    best = _best([figure and figure.mean for figure in figures], HIGHER_IS_BETTER[metric])
    common = result.common(metric)
    row = TableRow("average", [], is_summary=True)
    if set(common) != set(result.block.datasets):
        n, n_all = len(common), len(result.block.datasets)
        row.note = f"over {n} of {n_all}" if n < n_all else "with stand-ins"
    for name, figure in zip(result.learners, figures, strict=True):
        cell = Cell(text.score(figure), figure is not None and round(figure.mean, 4) == best)
        theirs = _paper_average(experiment, result, metric, common, name)
        row.cells.append(_with_paper(cell, figure, theirs, text.score(theirs)))
    return row


def _paper_average(
    experiment: Experiment, result: BlockResult, metric: str, datasets: list[str], learner: str
) -> Figure | None:
    """Return the paper's average over the same datasets; with its deviation only if these are all of the table's."""
    if set(datasets) == set(result.block.datasets):
        return paper_figure(experiment, result, metric, AVERAGES.get(metric, ""), learner)
    figures = [paper_figure(experiment, result, metric, dataset, learner) for dataset in datasets]
    if not figures or any(figure is None for figure in figures):
        return None
    return Figure(sum(figure.mean for figure in figures if figure) / len(figures), None)


def _rank_row(experiment: Experiment, result: BlockResult, metric: str) -> TableRow:
    average_ranks = result.average_ranks(metric)
    best = _best(list(average_ranks.values()), higher_is_better=False)
    row = TableRow("average rank", [], is_summary=True)
    # Ranks among fewer learners or datasets are other ranks.
    is_whole = set(result.block.learners) == set(result.ranked(metric)) and set(result.common(metric)) == set(
        result.block.datasets
    )
    for name in result.learners:
        rank = average_ranks.get(name)
        cell = Cell("–" if rank is None else f"{rank:.2f}", rank is not None and round(rank, 4) == best)
        theirs = paper_figure(experiment, result, metric, "Average rank", name) if is_whole else None
        cell.paper = f"{theirs.mean:.2f}" if theirs else ""
        row.cells.append(cell)
    return row


def _cost_row(experiment: Experiment, result: BlockResult, quantity: str) -> TableRow:
    """Average cost over the datasets that all have scores of; the paper's machine was another."""
    row = TableRow(text.METRIC_NAMES[quantity], [], is_summary=True)
    for name in result.learners:
        figure = result.average(name, quantity)
        theirs = paper_figure(experiment, result, result.metric, AVERAGES.get(quantity, ""), name)
        row.cells.append(Cell(text.quantity(quantity, figure), paper=text.quantity(quantity, theirs) if theirs else ""))
    return row


def time_table(result: BlockResult) -> Table:
    """Datasets × learners: seconds of a fit, and how often the base's, the geometric mean over the datasets."""
    table = Table("time of a fit, s", result.learners, corner="dataset")
    ratios: dict[str, list[float]] = {name: [] for name in result.learners}
    for dataset in result.datasets:
        figures = [result.figure(dataset, name, "fit_seconds") for name in result.learners]
        best = _best([figure and figure.mean for figure in figures], higher_is_better=False)
        cells = [Cell(text.quantity("fit_seconds", f), f is not None and round(f.mean, 4) == best) for f in figures]
        table.rows.append(TableRow(dataset, cells))
        base = result.figure(dataset, result.block.base, "fit_seconds")
        for name, figure in zip(result.learners, figures, strict=True):
            if figure and base:
                ratios[name].append(figure.mean / base.mean)
    means = [f"× {np.exp(np.mean(np.log(found))):.2f}" if found else "–" for found in ratios.values()]
    table.rows.append(TableRow(f"over {result.block.base}'s", [Cell(mean) for mean in means], is_summary=True))
    return table


def comparison_table(result: BlockResult, metric: str) -> Table | None:
    """Wins, ties and losses of the base against every other learner."""
    measure = text.METRIC_NAMES[metric]
    table = Table(
        f"datasets on which {result.block.base} is …, by {measure}; {WIN} significantly better, {LOSS} worse",
        ["better", "equal", "worse", WIN, LOSS],
        corner="against",
    )
    for name in result.learners:
        comparison = result.compare(name, metric)
        if comparison is not None:
            counts = (*comparison.score, len(comparison.better), len(comparison.worse))
            table.rows.append(TableRow(name, [Cell(str(count)) for count in counts]))
    return table if table.rows else None


def single_table(experiment: Experiment, result: BlockResult) -> Table:
    """Show a block of one dataset: learners in the rows, what was measured in the columns."""
    (dataset,) = result.datasets
    quantities = (result.metric, "train_seconds", "model_bytes")
    names = {result.metric: result.metric, "train_seconds": "time", "model_bytes": "model size"}
    table = Table(dataset, [text.METRIC_NAMES[quantity] for quantity in quantities], corner="learner")
    original = result.block.title or dataset
    for name in result.learners:
        row = TableRow(name, [])
        for quantity in quantities:
            ours = result.figure(dataset, name, quantity)
            theirs = paper_figure(experiment, result, result.metric, f"{original} {names[quantity]}", name)
            cell = Cell(text.quantity(quantity, ours))
            cell.paper = text.quantity(quantity, theirs) if theirs else ""
            row.cells.append(cell)
        table.rows.append(row)
    return table


def robustness_table(experiment: Experiment, result: BlockResult) -> Table:
    """λ × leaf size, the average over the datasets in every cell, and the pool that draws from all of them."""
    table = Table(f"average {text.METRIC_NAMES[result.metric]}", [f"MSL={leaf}" for leaf in LEAF_SIZES], corner="λ")
    averages = {name: result.average(name, result.metric) for name in result.learners}
    best = _best([f and f.mean for f in averages.values()], HIGHER_IS_BETTER[result.metric])
    is_whole = set(result.common(result.metric)) == set(result.block.datasets)

    def cell(name: str, theirs: Figure | None) -> Cell:
        ours = averages.get(name)
        made = Cell(text.score(ours), ours is not None and round(ours.mean, 4) == best)
        return _with_paper(made, ours, theirs if is_whole else None, text.score(theirs))

    for value in grids.POOL_LAMBDA:
        label = f"lambda={float(value)}"
        cells = [
            cell(f"BoostForest (MSL={leaf}, {label})", paper.figure(experiment.name, result.task, label, f"MSL={leaf}"))
            for leaf in LEAF_SIZES
        ]
        table.rows.append(TableRow(f"{float(value):g}", cells))
    if "BoostForest" in averages:
        theirs = paper.figure("Ex1", result.task, AVERAGES[result.metric], "BoostForest")
        table.rows.append(TableRow("random pool", [cell("BoostForest", theirs)], is_summary=True))
    return table


def curve_table(result: BlockResult, points: list[int], averages: dict[str, list[float]]) -> Table:
    """Average score at every point of a curve."""
    metric = result.metric
    table = Table(f"average {text.METRIC_NAMES[metric]}", [str(point) for point in points], corner="learner")
    bests = [_best([averages[name][i] for name in averages], HIGHER_IS_BETTER[metric]) for i in range(len(points))]
    for name, values in averages.items():
        cells = [Cell(f"{value:.4f}", round(value, 4) == best) for value, best in zip(values, bests, strict=True)]
        table.rows.append(TableRow(name, cells))
    return table
