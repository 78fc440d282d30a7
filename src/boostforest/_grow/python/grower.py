"""Growth of trees whose node models are fitted in Python.

The core grows its own trees (``src/core/grow``); this is the same algorithm, but for constraints, which only the core
knows. Replicas, batches and thresholds follow from the same random numbers; splits, pseudo-labels and losses come from
the core, models from a ``NodeFitter``, which may want all rows of a node where the core would take a batch.

Random numbers depend on a node's path, not on the order of growth, so open leaves can be worked on together: all of a
tree, or under ``max_leaf_nodes`` the one with the highest loss. Several trees grow together only if their models ask
for it (``grows_together``): a fitter then sees the new nodes of up to ``_TREES_TOGETHER`` trees at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ... import _core
from ..._base.arrays import TreeParams
from ..._base.draws import child
from ..._base.progress import Progress
from ..._base.typing import Floats, Ints, Seeds
from ..._core import SPLIT_RULES, AttemptTag, NodeTag
from ..._model.columns import ForestColumns
from ...nodes._fitters import fitter_for, grows_together
from ...nodes._python import Problem, seen_values
from ..data import TrainingData
from ..parameters import TREE_PARAMETERS
from .tree import Columns, GrowingTree, Leaf, Sample, Split, TreePlan

_TREES_TOGETHER = 32


def make_plans(
    params: TreeParams, seeds: Seeds, trees: Sequence[int], first_number: int, n_features: int
) -> list[TreePlan]:
    """Return what is settled of some trees before they grow."""
    rules = sorted((p for p in TREE_PARAMETERS if p.name in SPLIT_RULES), key=lambda p: SPLIT_RULES.index(p.name))
    return [
        TreePlan(
            number=first_number + t,
            seed=int(seeds[t]),
            params={name: values[t] for name, values in params.items()},
            rules=[p.encode(params[p.name][t], n_features) for p in rules],
        )
        for t in trees
    ]


def grow_in_python(data: TrainingData, plans: Sequence[TreePlan], n_jobs: int, verbose: int = 0) -> list[ForestColumns]:
    """Return the trees, grown one after another, on ``n_jobs`` processes, or together if their models ask for that."""
    progress = Progress(len(plans)) if verbose else None
    grown: dict[int, Columns] = {}
    for columns in _grow_in_groups(data, plans, n_jobs):
        grown |= columns
        if progress is not None:
            progress(len(grown))
    if progress is not None:
        progress.close()
    sizes = data.X.shape[1], data.loss.n_outputs
    trees = [ForestColumns.from_python(grown[plan.number], *sizes) for plan in plans]
    return [replace(tree, **data.kept_roles) for tree in trees]


def _grow_in_groups(data: TrainingData, plans: Sequence[TreePlan], n_jobs: int) -> Iterator[dict[int, Columns]]:
    together: list[TreePlan] = []
    apart: list[TreePlan] = []
    for plan in plans:
        (together if grows_together(plan.params["node_model"]) else apart).append(plan)
    for i in range(0, len(together), _TREES_TOGETHER):
        yield grow_group(data, together[i : i + _TREES_TOGETHER], n_jobs)
    if n_jobs == 1:
        yield from (grow_group(data, [plan], 1) for plan in apart)
    elif apart:
        yield from Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(grow_group)(data, [plan], 1) for plan in apart
        )


def grow_group(data: TrainingData, plans: Sequence[TreePlan], n_threads: int) -> dict[int, Columns]:
    """Grow some trees together."""
    table = data.table(n_threads)
    models = {id(plan.params["node_model"]): plan.params["node_model"] for plan in plans}
    seen = seen_values(table.values, data.roles.model_features)
    fitters = {key: fitter_for(model, seen, data.loss.n_outputs, data.loss.task) for key, model in models.items()}
    trees = [
        GrowingTree(plan, data.replica(plan.seed), fitters[id(plan.params["node_model"])], data.first_scores)
        for plan in plans
    ]
    with ExitStack() as held:
        for fitter in fitters.values():
            held.enter_context(fitter.limits())
        _grow_to_the_end(trees, table, data.roles.split_features, n_threads)
    return {tree.plan.number: tree.finish() for tree in trees}


def _grow_to_the_end(
    trees: Sequence[GrowingTree], table: _core.TrainingTable, split_features: Ints | None, n_threads: int
) -> None:
    _start(trees, table, n_threads)
    while leaves := [leaf for tree in trees for leaf in tree.take_open()]:
        children = []
        splits = _find_splits(leaves, table, split_features, n_threads)
        for leaf, split in zip(leaves, splits, strict=True):
            if split is not None:
                children += leaf.tree.split(table, leaf, split)
        _fit_models(children, table, n_threads)
        for leaf in children:
            leaf.tree.open.append(leaf)
    _fit_models([tree.root for tree in trees if tree.n_leaves == 1], table, n_threads)


def _start(trees: Sequence[GrowingTree], table: _core.TrainingTable, n_threads: int) -> None:
    """Set the losses of the roots."""
    samples = [_model_sample(tree.root) for tree in trees]
    for tree, sample, loss in zip(trees, samples, table.losses(samples, n_threads), strict=True):
        tree.set_start(loss * tree.root.weight / sample.weights.sum())


def _model_sample(leaf: Leaf) -> Sample:
    """Return the rows that a leaf's model is fitted to, with what its parent's path makes of them."""
    return leaf.tree.sample(leaf, child(leaf.key, NodeTag.MODEL_BATCH), leaf.model_uses_batch, leaf.parent)


def _find_splits(
    leaves: list[Leaf], table: _core.TrainingTable, split_features: Ints | None, n_threads: int
) -> list[Split | None]:
    """Return how to split each of the leaves. A root is tried again until a split is found, within reason."""
    found: list[Split | None] = [None] * len(leaves)
    todo = [i for i, leaf in enumerate(leaves) if leaf.tree.can_split(leaf)]
    for attempt in range(_core.MAX_ROOT_ATTEMPTS):
        if not todo:
            break
        keys = [child(leaves[i].key, NodeTag.FIRST_ATTEMPT + attempt) for i in todo]
        samples = [
            leaves[i].tree.sample(leaves[i], child(key, AttemptTag.SPLIT_BATCH), leaves[i].uses_batch, leaves[i].node)
            for i, key in zip(todo, keys, strict=True)
        ]
        rules = np.array([leaves[i].tree.plan.rules for i in todo])
        results = table.find_splits(samples, rules, np.array(keys, dtype=np.uint64), n_threads, split_features)
        again = []
        for i, sample, result in zip(todo, samples, results, strict=True):
            leaf, split = leaves[i], Split(*result)
            if split.feature >= 0:
                found[i] = split._replace(gain=split.gain * leaf.weight / sample.weights.sum())
            elif leaf.parent < 0 and (split.possible or leaf.uses_batch):
                again.append(i)
        todo = again
    return found


def _fit_models(leaves: list[Leaf], table: _core.TrainingTable, n_threads: int) -> None:
    """Fit the models of new leaves to what their parents' paths leave over, and add them to the scores."""
    samples = [_model_sample(leaf) for leaf in leaves]
    labels = table.pseudo_labels(samples, n_threads)
    problems = [_problem(*parts) for parts in zip(leaves, samples, labels, strict=True)]
    models, outputs = _fit_and_evaluate(leaves, problems)
    ranges = [
        tuple(limits) if leaf.tree.plan.params["clip"] else (-np.inf, np.inf)
        for leaf, (*_, limits) in zip(leaves, labels, strict=True)
    ]
    after = [
        sample._replace(scores=sample.scores + np.clip(output, *limits))
        for sample, output, limits in zip(samples, outputs, ranges, strict=True)
    ]
    losses = table.losses(after, n_threads)
    for leaf, model, limits, sample, loss in zip(leaves, models, ranges, after, losses, strict=True):
        leaf.loss = loss * leaf.weight / sample.weights.sum()
        leaf.scores = None if leaf.model_uses_batch else sample.scores
        leaf.tree.set_model(leaf, model, *limits)


def _problem(leaf: Leaf, sample: Sample, labels: tuple[Floats, Floats, Floats]) -> Problem:
    z, v = (part.reshape(sample.scores.shape) for part in labels[:2])
    count = leaf.tree.plan.params["batch_size"] if leaf.model_uses_batch else leaf.count
    key = child(leaf.key, NodeTag.MODEL_SEED)
    return Problem(
        leaf.where, sample.rows, count, sample.weights, z, v, leaf.tree.model_above(leaf), key, leaf.tree.key
    )


def _fit_and_evaluate(leaves: list[Leaf], problems: list[Problem]) -> tuple[list[Any], list[Floats]]:
    """Return the models of all leaves and what they make of the rows that they were fitted to."""
    models: list[Any] = [None] * len(leaves)
    outputs: list[Any] = [None] * len(leaves)
    for fitter in {id(leaf.tree.fitter): leaf.tree.fitter for leaf in leaves}.values():
        own = [i for i, leaf in enumerate(leaves) if leaf.tree.fitter is fitter]
        fitted = fitter.fit([problems[i] for i in own])
        values = fitter.outputs([(m, problems[i].rows, problems[i].where) for i, m in zip(own, fitted, strict=True)])
        for i, model, output in zip(own, fitted, values, strict=True):
            models[i], outputs[i] = model, output
    return models, outputs
