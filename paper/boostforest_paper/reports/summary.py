"""What a block says in a few sentences, made from its figures."""

from boostforest_paper.experiments import Experiment
from boostforest_paper.reports import curves, paper, text
from boostforest_paper.reports.results import BlockResult, Result
from boostforest_paper.reports.tables import paper_figure

MOST_FAILURES = 20  # that are listed one by one


def facts(result: Result) -> str:
    """Say how much was done, and how."""
    n_done = sum(block.n_done for block in result.blocks)
    n_failed = sum(len(block.failures) for block in result.blocks)
    low = min(block.repeats()[0] for block in result.blocks)
    high = max(block.repeats()[1] for block in result.blocks)
    repeats = text.plural(high, "repeat") if low == high else f"{low} to {high} repeats"
    failed = f", {n_failed} failed" if n_failed else ""
    return f"tuning {result.tuning} · {repeats} · {text.plural(n_done, 'fit')}{failed}"


def sentences(experiment: Experiment, result: BlockResult) -> list[str]:
    """Say what the table or the curves show about the base, and how it agrees with the paper."""
    if experiment.kind in ("sizes", "leaves"):
        ahead = curves.sentence(experiment.kind, result, curves.read(experiment.kind, result))
        return [ahead] if ahead else []
    said = []
    base, metric = result.block.base, result.metric
    ranks = result.average_ranks(metric)
    if base in ranks and len(ranks) > 1:
        place = 1 + sum(rank < ranks[base] for other, rank in ranks.items() if other != base)
        said.append(
            f"{base} has place {place} of {len(ranks)} by average rank ({ranks[base]:.2f}) over "
            f"{text.plural(len(result.common(metric)), 'dataset')}."
        )
    test = result.friedman(metric)
    if test is not None:
        verdict = "differ" if test.p_value < 0.05 else "are not told apart"
        said.append(f"The learners {verdict} (Friedman, p = {test.p_value:.2g}).")
    begun = [name for name in result.learners if name not in result.ranked(metric)]
    if begun:
        said.append(f"Not far enough for averages and ranks: {', '.join(begun)}.")
    agreement = _agreement(experiment, result)
    return [*said, agreement] if agreement else said


def _agreement(experiment: Experiment, result: BlockResult) -> str:
    """Say on how many datasets each learner is within two standard deviations of the paper."""
    counts = []
    for name in result.learners:
        judged = []
        for dataset in result.datasets:
            ours = result.figure(dataset, name, result.metric)
            theirs = paper_figure(experiment, result, result.metric, dataset, name)
            if ours is not None and theirs is not None:
                judged.append(paper.agrees(ours, theirs))
        if judged:
            counts.append(f"{name} {sum(bool(verdict) for verdict in judged)} of {len(judged)}")
    return f"Within two standard deviations of the paper: {', '.join(counts)}." if counts else ""


def notes(result: Result) -> list[str]:
    """Return what a reader has to know: what differs, what is missing, what failed, versions."""
    said = [result.experiment.note] if result.experiment.note else []
    said += [f"{note}." for note in result.notes]
    said += [f"{name}: {reason}." for name, reason in result.left_out.items()]
    failures = [f"Failed: {job}: {error}" for block in result.blocks for job, error in block.failures.items()]
    said += failures[:MOST_FAILURES]
    if len(failures) > MOST_FAILURES:
        said.append(f"… and {len(failures) - MOST_FAILURES} failed fits more.")
    versions = (f"{name} {' and '.join(found)}" for name, found in result.versions.items())
    return [*said, f"Versions: {', '.join(versions)}."]
