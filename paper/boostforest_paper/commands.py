"""What the command line does: run, status, report, check, list, forget."""

import argparse
from pathlib import Path

from boostforest_paper import data, experiments, learners
from boostforest_paper.running import estimate, machine
from boostforest_paper.running.choose import Choice, Wish, added, choose, choose_stored
from boostforest_paper.running.jobs import Job, Selection, all_jobs
from boostforest_paper.running.progress import Progress, duration
from boostforest_paper.running.runner import Limits, Runner
from boostforest_paper.running.store import Store
from boostforest_paper.running.workers import Setup
from boostforest_paper.studies import STUDIES, print_table


def wish_of(args: argparse.Namespace) -> Wish:
    """Return the options that choose fits."""
    return Wish(args.experiments, args.datasets, args.learners, args.tuning, args.repeats)


def _say_left_out(choice: Choice) -> None:
    for name, reason in choice.left_out.items():
        print(f"{name} is left out: {reason}." if "stands in" not in reason else f"{name} is {reason}.")


def run(args: argparse.Namespace) -> int:
    """Do the fits that are not done yet."""
    choice = choose(wish_of(args), args.data)
    _say_left_out(choice)
    jobs = all_jobs(choice.selections)
    if not jobs:
        print("There is nothing to fit.")
        return 1
    with Store(args.store) as store:
        here = store.machine(machine.describe())
        for selection in choice.selections:
            new = added(wish_of(args))
            store.note_run(selection.experiment.name, selection.tuning, here, choice.left_out, new)
        rows = store.rows()
        done = {job: row for job, row in rows.items() if not (args.retry_failed and row["state"] == "failed")}
        progress = Progress(jobs, done, estimate.from_store(rows), args.processes)
        limits = Limits(args.minutes, args.limit or _limit(choice), args.retry_failed)
        runner = Runner(store, Setup(args.data, args.threads, tuple(args.plugin)), here, limits, progress)
        try:
            in_time = runner.run(jobs, args.processes)
        except KeyboardInterrupt:
            progress.close()
            print("Stopped; the same command goes on from here.")
            return 130
        progress.close()
        if not in_time:
            print(f"The {args.minutes:g} minutes are over; the same command goes on from here.")
    return 0


def _limit(choice: Choice) -> float | None:
    """Return the seconds that a fit may take: the experiments' own limit, if all of them have one."""
    limits = [selection.experiment.limit for selection in choice.selections]
    return max((limit for limit in limits if limit), default=None) if all(limits) else None


def status(args: argparse.Namespace) -> int:
    """Print what is done, and how long the rest will take."""
    wish = wish_of(args)
    choice = choose(wish, args.data)
    _say_left_out(choice)
    with Store(args.store, must_exist=True) as store:
        rows = store.rows()
    by_cpu = estimate.from_store(rows, "cpu")
    print(f"{'experiment':<18}{'tuning':<12}{'fits':>7}{'done':>7}{'failed':>7}{'left':>7}  processor time of the rest")
    for selection in choice.selections:
        print(_status_line(selection, rows, by_cpu))
    if len(choice.selections) > 1:
        left = [job for job in all_jobs(choice.selections) if job not in rows]
        print(f"together {len(left)} fits left, {_time_of(left, by_cpu)}; a fit that several ask for counts once")
    return 0


def _status_line(selection: Selection, rows: dict[Job, dict], by_cpu: estimate.Estimate) -> str:
    jobs = list(selection.jobs())
    states = [rows[job]["state"] for job in jobs if job in rows]
    left = [job for job in jobs if job not in rows]
    head = f"{selection.experiment.name:<18}{selection.tuning:<12}{len(jobs):>7}"
    return f"{head}{states.count('done'):>7}{states.count('failed'):>7}{len(left):>7}  {_time_of(left, by_cpu)}"


def _time_of(jobs: list[Job], by_cpu: estimate.Estimate) -> str:
    """Return the time of some fits; those that nothing is known about are counted."""
    known = [seconds for job in jobs if (seconds := by_cpu.seconds(job)) is not None]
    unknown = f", and {len(jobs) - len(known)} fits of unknown length" if len(known) < len(jobs) else ""
    return duration(sum(known)) + unknown


def report(args: argparse.Namespace) -> int:
    """Write the page, and Markdown and CSV tables where asked."""
    from boostforest_paper.reports import markdown, page
    from boostforest_paper.reports.results import read_results

    with Store(args.store, must_exist=True) as store:
        results = read_results(store, wish_of(args))
    if not results:
        print("The store has no results of these experiments.")
        return 1
    args.html.parent.mkdir(parents=True, exist_ok=True)
    page.write(args.html, results)
    print(f"Written: {args.html}")
    if args.markdown is not None:
        for path in markdown.write(args.markdown, results):
            print(f"Written: {path}")
    return 0


def check(args: argparse.Namespace) -> int:
    """Hold our figures against the paper's and against the targets; 1 if a target is missed or not measured."""
    from boostforest_paper.reports import check as checking
    from boostforest_paper.reports.results import read_results

    results = []
    with Store(args.store, must_exist=True) as store:
        for name in args.experiments:
            names = args.learners or checking.concerned(experiments.find(name))
            results += read_results(store, Wish([name], args.datasets, names, args.tuning, args.repeats))
    lines, all_met = checking.lines(results)
    print("\n".join(lines))
    return 0 if all_met else 1


def show_list(args: argparse.Namespace) -> int:
    """Print what the registries hold."""
    listed = {
        "experiments": (f"{e.name:<18}{e.question}" for e in experiments.EXPERIMENTS.values()),
        "learners": (f"{entry.name:<36}{_here(entry)}" for entry in learners.LEARNERS.values()),
        "datasets": map(_described, data.DATASETS.values()),
        "studies": (f"{name:<18}{(module.__doc__ or '').splitlines()[0]}" for name, module in STUDIES.items()),
    }
    for what, lines in listed.items():
        if args.what in (what, "all"):
            print("\n  ".join([f"{what.capitalize()}:", *lines]))
    return 0


def _here(entry: learners.Learner) -> str:
    reason = entry.missing()
    return entry.version() if reason is None else f"not here: {reason}"


def _described(dataset: data.Dataset) -> str:
    classes = f"{dataset.n_classes} classes" if dataset.n_classes else "regression"
    note = f" ({dataset.note})" if dataset.note else ""
    return f"{dataset.name:<18}{dataset.n_rows:>10,} × {dataset.n_features:<6,}{classes:<12}{dataset.title}{note}"


def study(args: argparse.Namespace) -> int:
    """Print the table of a study."""
    print_table(STUDIES[args.study].rows(args))
    return 0


def forget(args: argparse.Namespace) -> int:
    """Delete results, so that they are made anew: after a change of a learner that keeps its version."""
    wish = wish_of(args)
    with Store(args.store, must_exist=True) as store:
        stored = {(job.dataset, job.learner) for job in store.rows()}
        jobs = all_jobs(choose_stored(wish, stored))
        print(f"{store.forget(jobs)} fits forgotten.")
    return 0


def plugin_path(text: str) -> Path:
    """Check the name of a plug-in."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path.resolve()
