"""What a command line asks for, turned into selections: names checked, missing things said."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from boostforest_paper import data, experiments, learners
from boostforest_paper.experiments import Block, Experiment
from boostforest_paper.running.jobs import Selection


@dataclass(frozen=True)
class Wish:
    """The options of a command line."""

    experiments: Sequence[str]
    datasets: Sequence[str] = ()
    learners: Sequence[str] = ()
    tuning: str | None = None
    repeats: int | None = None


class Choice(NamedTuple):
    """Selections, and what had to be left out of them."""

    selections: list[Selection]
    left_out: dict[str, str]  # name -> why


def _names(block: Block) -> set[str]:
    """Return the datasets of a block, and those that may stand in for them."""
    return {f"{name}{suffix}" for name in block.datasets for suffix in ("", "-subset", "-synthetic")}


def _keep(wanted: list[str], own: set[str], of_any: set[str]) -> tuple[str, ...]:
    """Keep the names that a block has, and those that no block has: these are new and join every block."""
    return tuple(name for name in wanted if name in own or name not in of_any)


def _narrow(experiment: Experiment, wish: Wish) -> Experiment:
    """Keep only the datasets and learners that were named; those that no wished experiment has join all blocks."""
    chosen = [data.find(name) for name in wish.datasets]
    wanted = [learners.find(name) for name in wish.learners]
    every = _all_blocks(wish)
    datasets_of_any = {name for block in every for name in _names(block)}
    learners_of_any = {name for block in every for name in block.learners}
    blocks = []
    for block in experiment.blocks:
        names = [dataset.name for dataset in chosen if dataset.task == block.task]
        entries = [entry.name for entry in wanted if block.task in entry.tasks]
        narrowed = replace(
            block,
            datasets=_keep(names, _names(block), datasets_of_any) if chosen else block.datasets,
            learners=_keep(entries, set(block.learners), learners_of_any) if wanted else block.learners,
        )
        if narrowed.datasets and narrowed.learners:
            blocks.append(narrowed)
    return replace(experiment, blocks=tuple(blocks))


def _all_blocks(wish: Wish) -> list[Block]:
    """Return the blocks of all wished experiments."""
    return [block for name in wish.experiments for block in experiments.find(name).blocks]


def added(wish: Wish) -> list[str]:
    """Return the names of a wish that do not belong to a wished experiment, nor stand in for one by themselves."""
    every = _all_blocks(wish)
    own = {name for block in every for name in (*block.datasets, *block.learners)}
    own |= {data.find(name).subset for block in every for name in block.datasets}
    named = [data.find(name).name for name in wish.datasets] + [learners.find(name).name for name in wish.learners]
    return [name for name in named if name not in own]


def widen(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """Let datasets and learners that are not the experiment's own join the blocks that would have run them."""
    of_any = {name for block in experiment.blocks for name in _names(block)}
    blocks = []
    for block in experiment.blocks:
        tables = [n for n in names if n in data.DATASETS and data.DATASETS[n].task == block.task]
        entries = [n for n in names if n in learners.LEARNERS and block.task in learners.LEARNERS[n].tasks]
        joined = (*block.datasets, *_keep(tables, _names(block), of_any))
        blocks.append(replace(block, datasets=joined, learners=(*block.learners, *entries)))
    return replace(experiment, blocks=tuple(blocks))


def wished(wish: Wish) -> list[Experiment]:
    """Return the experiments as narrowed by the options; unknown names raise."""
    return [_narrow(experiments.find(name), wish) for name in dict.fromkeys(wish.experiments)]


def select(experiment: Experiment, wish: Wish, usable: dict[str, str], available: frozenset[str]) -> Selection:
    """Return what an experiment asks for of what is there."""
    tuning = wish.tuning or experiment.tuning
    few = None if wish.repeats else experiment.repeats_of_large
    return Selection(experiment, tuning, wish.repeats or experiment.repeats, usable, available, few)


def choose(wish: Wish, folder: Path) -> Choice:
    """Find out what can be run here: read the datasets, try the learners."""
    chosen = wished(wish)
    prepared = data.prepare((name for e in chosen for block in e.blocks for name in block.datasets), folder)
    left_out = dict(prepared.left_out)
    for name, other in prepared.usable.items():
        if name != other:
            left_out[name] = f"not at hand; {other} stands in ({data.find(other).note})"
    available = set()
    for name in _all_learners(chosen):
        reason = learners.find(name).missing()
        if reason is None:
            available.add(name)
        else:
            left_out[name] = reason
    selections = [select(e, wish, prepared.usable, frozenset(available)) for e in chosen]
    return Choice(selections, left_out)


def choose_stored(wish: Wish, stored: set[tuple[str, str]], more: Sequence[str] = ()) -> list[Selection]:
    """Return the selections of a report: whatever the store has results of, given as pairs (dataset, learner).

    Without datasets or learners in the wish, ``more`` names those that join the experiments' own.
    """
    with_results = {dataset for dataset, _ in stored}
    ran = {learner for _, learner in stored}
    selections = []
    for experiment in wished(wish):
        if not wish.datasets and not wish.learners:
            experiment = widen(experiment, more)
        usable = {}
        for block in experiment.blocks:
            for name in block.datasets:
                found = [n for n in (name, data.find(name).subset) if n in with_results]
                if found:
                    usable[name] = found[0]
        available = frozenset(
            column for block in experiment.blocks for column in block.learners if _has_run(block, column, ran)
        )
        selections.append(select(experiment, wish, usable, available))
    return selections


def _has_run(block: Block, column: str, ran: set[str]) -> bool:
    instead = {name for (_, learner), name in block.instead.items() if learner == column}
    return bool(ran & {column, *instead})


def _all_learners(chosen: list[Experiment]) -> list[str]:
    return list(dict.fromkeys(name for e in chosen for block in e.blocks for name in block.learners))
