"""The tables that ``benchmarks.speed run`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.speed.learners import BASE
from benchmarks.speed.measure import QUANTITIES
from benchmarks.speed.results import Spread, TableResult, geometric_mean, spread

TITLES = {
    "fit_seconds": ("fit", "ms", 1e3),
    "predict_seconds": ("predict the test fifth", "ms", 1e3),
    "row_seconds": ("predict one row", "µs", 1e6),
    "peak_bytes": ("peak memory of the fit above the data", "MB", 1e-6),
    "model_bytes": ("model size", "MB", 1e-6),
}
LEAST_WIDTH = 14  # of a column with a ratio and its spread


def decimals(value: float) -> int:
    """Decimals that leave about three significant digits, and never more than three decimals."""
    return 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3


def number(value: float) -> str:
    """Write a value with as many decimals as make sense."""
    return f"{value:.{decimals(value)}f}"


def ratio(value: Spread) -> str:
    """Median and, equally exact, half the distance of the quartiles unless a single repeat has none."""
    if value.half_width == 0:
        return number(value.median)
    return f"{number(value.median)} ±{value.half_width:.{decimals(value.median)}f}"


def suite_text(results: list[TableResult]) -> str:
    """One suite with one number of threads: a table per quantity, then why anything is missing."""
    first = results[0]
    threads = f"{first.threads} thread{'' if first.threads == '1' else 's'}"
    known = [name for name in QUANTITIES if name == "fit_seconds" or _is_known(results, name)]
    parts = ["\n".join(_quantity_lines(results, quantity, threads)) for quantity in known]
    notes = "\n".join(_notes(results))
    return "\n\n".join([*parts, notes] if notes else parts)


def _is_known(results: list[TableResult], quantity: str) -> bool:
    """Whether there is anything to show."""
    return any(BASE in result.outcomes and result.outcomes[BASE].median(quantity) is not None for result in results)


def _quantity_lines(results: list[TableResult], quantity: str, threads: str) -> Iterator[str]:
    """One quantity: BoostForest's own value, and what the others have of it as a multiple."""
    title, unit, _ = TITLES[quantity]
    learners = [name for name in results[0].outcomes if name != BASE]
    yield f"{results[0].suite} suite, {threads}, {title}: {BASE} in {unit}, the others / {BASE}"
    widths = {name: max(LEAST_WIDTH, len(name) + 2) for name in learners}
    columns = "".join(f"{name:>{widths[name]}}" for name in learners)
    yield f"{'table':<12}{'n':>8}{'d':>6}{'classes':>9}{BASE:>13}{columns}"
    for result in results:
        cells = "".join(f"{_cell(result, name, quantity):>{widths[name]}}" for name in learners)
        classes = str(result.size.n_classes) if result.size.n_classes > 1 else "-"
        head = f"{result.table:<12}{result.size.n:>8}{result.size.d:>6}{classes:>9}"
        yield f"{head}{_own_value(result, quantity):>13}{cells}"
    if len(results) > 1:
        means = "".join(f"{_mean(results, name, quantity):>{widths[name]}}" for name in learners)
        yield f"{'geometric mean':<48}{means}"


def _own_value(result: TableResult, quantity: str) -> str:
    value = result.outcomes[BASE].median(quantity) if BASE in result.outcomes else None
    return "-" if value is None else number(value * TITLES[quantity][2])


def _cell(result: TableResult, learner: str, quantity: str) -> str:
    ratios = result.ratios(learner, quantity)
    if ratios:
        return ratio(spread(ratios))
    at_least = result.fit_at_least(learner) if quantity == "fit_seconds" else None
    return "-" if at_least is None else f"> {number(at_least)}"


def _mean(results: list[TableResult], learner: str, quantity: str) -> str:
    mean = geometric_mean(results, learner, quantity)
    if mean is None:
        return "-"
    # A mean over fewer tables is not comparable with the others: it says so.
    return ratio(mean.ratio) + ("" if mean.n_tables == len(results) else f" [{mean.n_tables}]")


def _notes(results: list[TableResult]) -> Iterator[str]:
    for result in results:
        for name, outcome in result.outcomes.items():
            if outcome.note:
                yield f"{name} on {result.table}: {outcome.note}"


LEGEND = f"""\
Medians over the repeats; ± half the distance of the quartiles. Ratios are taken within each repeat, means over the
tables as well. > : ended at the time limit. [k]: mean over k tables only. Above 1, {BASE} is faster or smaller.
The memory is what the process grew by; below 1 MB it tells more of the allocator than of the learner."""
