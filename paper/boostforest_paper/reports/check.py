"""Our figures held against the paper's and against what has to be reached."""

from typing import NamedTuple

from boostforest_paper.data.paper import SMALL
from boostforest_paper.experiments import Experiment
from boostforest_paper.reports import paper, text
from boostforest_paper.reports.results import BlockResult, Result
from boostforest_paper.reports.tables import AVERAGES, paper_figure
from boostforest_paper.running.problem import HIGHER_IS_BETTER
from boostforest_paper.types import Task

FULL_REPEATS = 10


class Target(NamedTuple):
    """An average that a learner has to reach over all datasets of a task, in ten repeats."""

    experiment: str
    learner: str
    task: Task
    bound: float


TARGETS = (
    Target("Ex1", "BoostForest", "classification", 0.861),
    Target("Ex1", "BoostForest", "regression", 0.455),
)


class Wins(NamedTuple):
    """Datasets, of all tasks together, on which a learner has to be better than another, in ten repeats."""

    experiment: str
    learner: str
    rival: str
    n_datasets: int


WINS = (Wins("pools", "ETForest", "Extra-Tree", 27), Wins("pools", "ModelForest", "M5P", 14))


def concerned(experiment: Experiment) -> list[str]:
    """Return the learners that a check looks at: others must not narrow the averages."""
    rivals = {wins.rival for wins in WINS if wins.experiment == experiment.name}
    return [name for block in experiment.blocks for name in block.learners if name in {block.base, *rivals}]


def lines(results: list[Result]) -> tuple[list[str], bool]:
    """Return the text, and whether every target of these experiments is met and every dataset agrees with the paper."""
    written: list[str] = []
    all_met = bool(results)
    for result in results:
        for block in result.blocks:
            base = block.block.base
            if base not in block.learners:
                continue
            column, all_agree = _column(result, block, base)
            written += column
            for target in TARGETS:
                if (target.experiment, target.task) == (result.experiment.name, block.task):
                    verdict, is_met = _judge(target, block)
                    written.append(f"{verdict}; {'every' if all_agree else 'not every'} dataset agrees with the paper")
                    all_met = all_met and is_met and all_agree
            written.append("")
        for wins in WINS:
            if wins.experiment == result.experiment.name:
                verdict, is_met = _count(wins, result.blocks)
                written.append(verdict)
                all_met = all_met and is_met
    written.append("apart: (our mean - the paper's) / the paper's standard deviation, or ours where the paper's is 0")
    return written, all_met


def _column(result: Result, block: BlockResult, name: str) -> tuple[list[str], bool]:
    """One learner's figures beside the paper's, and whether all agree."""
    all_agree = True
    metric = text.METRIC_NAMES[block.metric]
    written = [f"{result.experiment.name}, {name}", f"{'dataset':<10}{metric:>18}{'paper':>18}{'apart':>8}{'fit s':>9}"]
    for dataset in block.datasets:
        ours = block.figure(dataset, name, block.metric)
        theirs = paper_figure(result.experiment, block, block.metric, dataset, name)
        seconds = block.figure(dataset, name, "train_seconds")
        distance = paper.apart(ours, theirs) if ours and theirs else None
        agrees = distance is None or abs(distance) <= paper.AGREES
        all_agree = all_agree and agrees
        sign = "" if distance is None else f"{distance:+.1f}" + ("" if agrees else " !")
        time = text.seconds(seconds.mean) if seconds else "–"
        written.append(f"{dataset:<10}{text.score(ours):>18}{text.score(theirs):>18}{sign:>8}{time:>9}")
    theirs = paper_figure(result.experiment, block, block.metric, AVERAGES[block.metric], name)
    written.append(f"{'average':<10}{text.score(block.average(name, block.metric)):>18}{text.score(theirs):>18}")
    return written, all_agree


def _judge(target: Target, block: BlockResult) -> tuple[str, bool]:
    """Whether a target is met; a run of fewer datasets or repeats does not decide."""
    higher = HIGHER_IS_BETTER[block.metric]
    head = f"target: average {text.METRIC_NAMES[block.metric]} {'>=' if higher else '<='} {target.bound}"
    repeats = [len(block.values(dataset, target.learner, block.metric)) for dataset in SMALL[target.task]]
    if min(repeats) < FULL_REPEATS:
        return f"{head}: not measured ({min(repeats)} of {FULL_REPEATS} repeats on all datasets)", False
    average = block.average(target.learner, block.metric)
    is_met = average is not None and (average.mean >= target.bound if higher else average.mean <= target.bound)
    return f"{head}: {'met' if is_met else 'missed'}", is_met


def _count(wins: Wins, blocks: list[BlockResult]) -> tuple[str, bool]:
    """Whether a learner is better than its rival often enough; a run of fewer datasets or repeats does not decide."""
    won = n_wanted = n_measured = 0
    for block in blocks:
        if block.block.base != wins.learner or wins.rival not in block.block.learners:
            continue
        comparison = block.compare(wins.rival, block.metric)
        won += comparison.score.win if comparison else 0
        n_wanted += len(block.block.datasets)
        for dataset in block.block.datasets:
            both = [block.values(dataset, name, block.metric) for name in (wins.learner, wins.rival)]
            n_measured += min(map(len, both)) >= FULL_REPEATS
    head = f"target: {wins.learner} better than {wins.rival} on {wins.n_datasets} datasets: {won} of {n_wanted}"
    if n_wanted == 0 or n_measured < n_wanted:
        return f"{head}, of which {n_measured} have {text.plural(FULL_REPEATS, 'repeat')}: not decided", False
    return f"{head}, {'met' if won >= wins.n_datasets else 'missed'}", won >= wins.n_datasets
