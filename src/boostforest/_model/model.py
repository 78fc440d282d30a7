"""A fitted forest, whoever grew it and whatever estimator shows it: prediction is a function of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import PerTree, TreeParams
from .._base.device import device_for_prediction
from .._base.sampling import Sampling
from .._base.typing import Entropy, Floats, Ints, Longs, Mask, Seeds
from .._core import Link, is_dealt
from .._features.features import Features
from .._losses import Loss, OutOfBag, Several
from .background import Background
from .columns import ForestColumns
from .distribution import Distribution
from .intervals import LeftOut, intervals, local_intervals
from .local import LocalErrors
from .python_models import add_trees, python_models_size

_VALUES_AT_ONCE = 2**22  # of distributions
CALIBRATIONS = (False, "temperature", "isotonic", "auto")


@dataclass(frozen=True)
class Stages:
    """Which trees belong to which stage, and what a stage counts.

    A score is the sum over the stages of the step times what the stage's trees add up to, divided by its units. The
    first stage is a forest, whose mean output is turned into a score.
    """

    ends: tuple[int, ...]  #: number of trees up to the end of each stage
    steps: tuple[float, ...] = (1.0,)  #: factor of each stage
    units: tuple[int, ...] = ()  #: per stage: its trees or, where it is boosted, its bags; empty: the trees everywhere

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """First tree and end of each stage."""
        return tuple(zip((0, *self.ends[:-1]), self.ends, strict=True))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """What the sum over the trees of each stage is divided by."""
        return self.units or tuple(end - first for first, end in self.parts)

    @property
    def boosted(self) -> tuple[bool, ...]:
        """Whether the trees of a stage add up to bags."""
        return tuple(n < end - first for n, (first, end) in zip(self.counts, self.parts, strict=True))

    def add(self, n_trees: int, step: float, n_bags: int | None = None) -> Stages:
        """Return the stages with one more: a forest, or some bags of boosted trees."""
        units = (*self.counts, n_trees if n_bags is None else n_bags)
        ends = (*self.ends, self.ends[-1] + n_trees)
        return Stages(ends, (*self.steps, step), units if self.units or n_bags is not None else ())

    def times(self, factor: float) -> Stages:
        """Return the stages with all steps multiplied."""
        return replace(self, steps=tuple(factor * step for step in self.steps))

    def members(self, seeds: Seeds) -> list[list[tuple[int, int]]]:
        """Return the trees, first and end, of every member of each stage: one tree, or those of a bag."""
        return [
            _runs(seeds, first, end) if boosted else [(t, t + 1) for t in range(first, end)]
            for (first, end), boosted in zip(self.parts, self.boosted, strict=True)
        ]

    def bags(self, seeds: Seeds) -> list[Seeds]:
        """Return the seeds of the bags of each boosted stage."""
        stages = zip(self.parts, self.boosted, strict=True)
        return [np.unique(seeds[first:end]) for (first, end), boosted in stages if boosted]

    def spread(self, most: int) -> Longs:
        """Return at most so many trees, evenly from the first stage and, where that has fewer, from the others."""
        n_first, n_trees = self.ends[0], self.ends[-1]
        n_own = min(most, n_first)
        n_others = min(most - n_own, n_trees - n_first)
        parts = np.linspace(0, n_first - 1, n_own), np.linspace(n_first, n_trees - 1, n_others)
        return np.concatenate(parts).astype(np.int64)

    def tree_weights(self) -> Floats:
        """Return what each tree counts."""
        stages = zip(self.parts, self.steps, self.counts, strict=True)
        weights: Floats = np.concatenate([np.full(end - first, step / n) for (first, end), step, n in stages])
        return weights


def _column(values: Floats | None, column: int) -> Floats | None:
    return None if values is None else np.ascontiguousarray(values[:, column])


def _runs(seeds: Seeds, first: int, end: int) -> list[tuple[int, int]]:
    """Return the runs of trees with the same seed among some."""
    starts = [first, *(first + 1 + np.flatnonzero(seeds[first + 1 : end] != seeds[first : end - 1])).tolist()]
    return list(zip(starts, [*starts[1:], end], strict=True))


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities: times a factor, or through a rising step function per output."""

    factor: float = 1.0
    knots: tuple[tuple[Floats, Floats], ...] = ()

    @property
    def is_identity(self) -> bool:
        """Whether nothing is changed."""
        return self.factor == 1.0 and not self.knots

    def scores(self, scores: Floats, offset: Floats | None = None) -> Floats:
        """Return scores times the factor; the offset that is in them stays as it is."""
        if self.factor == 1.0:
            return scores
        return self.factor * scores if offset is None else self.factor * (scores - offset) + offset

    def outputs(self, loss: Loss, scores: Floats, offset: Floats | None = None) -> Floats:
        """Return the probabilities of scores."""
        p = loss.outputs(self.scores(scores, offset))
        if not self.knots:
            return p
        mapped = np.column_stack([np.interp(p[:, k], *knots) for k, knots in enumerate(self.knots)])
        return mapped if len(self.knots) == 1 else mapped / mapped.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Known:
    """What a forest knows of itself from the rows that its trees have not drawn; None: it was not asked for."""

    score: Any = None  #: by the metric that ``oob_score`` names
    prediction: Any = None  #: of the training rows, or their probabilities; not in files
    losses: Floats | None = None  #: after each stage
    pool_report: list[dict[str, Any]] | None = None  #: what an adaptive pool has tried; not in files
    compression_report: list[dict[str, Any]] | None = None  #: what each step of ``compress`` has cost; not in files
    target: bytes | None = None  #: SHA-256 of the training target: which rows are those
    left_out: LeftOut | None = None  #: what prediction intervals need,
    left_outs: tuple[LeftOut, ...] = ()  #:   and those of each of several targets; not in files
    conformity: Floats | None = None  #: what prediction sets need,
    conformity_weight: Floats | None = None  #:   and what its rows weigh; None: all the same
    background: Background = field(
        default_factory=Background
    )  #: training rows that explanations compare with; not in files


@dataclass(frozen=True, eq=False)
class Places:
    """Which rows of the training table some rows are, as they were or changed."""

    n_rows: int  #: of the training table
    numbers: Longs | None = None  #: per row; None: all rows, in order

    def absent(self, sampling: Sampling, seed: int | np.uint64) -> Mask:
        """Return the rows that the member with this seed has not drawn."""
        absent = sampling.counts(seed, self.n_rows) == 0
        return absent if self.numbers is None else np.asarray(absent[self.numbers])


@dataclass(frozen=True, eq=False)
class Model:
    """All trees, and everything that leads from a table to predictions."""

    features: Features
    loss: Loss
    columns: ForestColumns
    seeds: Seeds  #: per tree
    params: TreeParams  #: what each tree has drawn
    entropy: Entropy  #: what the seeds follow from
    stages: Stages
    calibration: Calibration = field(default_factory=Calibration)
    draws: tuple[Any, ...] | None = None  #: how the trees got their rows, see ``Sampling``; None: not all alike
    known: Known = field(default_factory=Known)
    device: str = "cpu"  #: where trees are evaluated, as in the argument ``device``; not in files

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.columns.n_trees

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: of the columns, or of what became of them."""
        return self.features.feature_names(self.loss)

    @property
    def nbytes(self) -> int:
        """Bytes of everything that prediction needs."""
        in_python = python_models_size(self.columns, self.params["node_model"])
        return int(self.columns.nbytes + in_python + self.features.nbytes)

    # --------------------------------------------------------------------------------------------------- prediction

    def sums(
        self,
        X: Floats,
        threads: int,
        scores: bool = False,
        trees: slice = slice(None),
        offset: Floats | None = None,
    ) -> Floats:
        """Add up what some trees give for rows of features, rows × outputs: outputs or, if asked for, scores.

        ``offset``: what is added to the scores of each tree before, rows × outputs.
        """
        out = np.zeros((len(X), self.columns.n_outputs))
        first, last, _ = trees.indices(self.n_trees)
        link = Link.IDENTITY if scores else self.loss.link
        f = self.features
        if self.columns.models:
            node_models = self.params["node_model"]
            add_trees(self.columns, node_models, f, self.loss.task, X, link, range(first, last), threads, out, offset)
        elif offset is None and (found := self._sums_on_device(X, link, first, last, threads)) is not None:
            out = found
        else:
            self.columns.model.predict(X, f.mean, f.scale, link, first, last, threads, out, f.fill, offset)
        return out

    def _sums_on_device(
        self, X: Floats, link: Link, first: int, last: int, threads: int, out_of_bag: Sampling | None = None
    ) -> Any:
        """Add up what some trees give on a GPU, out of bag with squares and numbers; None: the core has to do it."""
        if self.device == "cpu" or (out_of_bag is not None and any(is_dealt(int(s)) for s in np.unique(self.seeds))):
            return None
        from . import on_device

        columns, features = self.columns, self.features
        if not on_device.can_predict(columns, first, last):
            return None
        device = device_for_prediction(self.device, on_device.pays(columns, len(X), first, last, threads))
        if device is None:
            return None
        if out_of_bag is None:
            return on_device.within_memory(
                columns, lambda: on_device.add_up(columns, features, X, link, first, last, device)
            )
        draws = self.seeds, out_of_bag
        return on_device.within_memory(
            columns, lambda: on_device.add_up_out_of_bag(columns, features, X, link, *draws, device)
        )

    @property
    def _is_plain(self) -> bool:
        return len(self.stages) == 1 and self.stages.steps[0] == 1 and self.calibration.is_identity

    def outputs(self, X: Floats, threads: int, offset: Floats | None = None) -> Floats:
        """Return what the forest predicts for rows of features: rows × outputs; the offset is in scores."""
        if self._is_plain:
            return self.sums(X, threads, offset=offset) / self.n_trees
        means = [
            self.sums(X, threads, stage > 0, slice(first, end), None if stage > 0 else offset) / n
            for stage, ((first, end), n) in enumerate(zip(self.stages.parts, self.stages.counts, strict=True))
        ]
        return self._combined(means, offset)

    def staged_outputs(self, X: Floats, threads: int, offset: Floats | None = None) -> Iterator[Floats]:
        """Yield what the first 1, 2, … trees predict; the first stage counts in full until others are added."""
        means: list[Floats] = []
        for stage, members in enumerate(self.stages.members(self.seeds)):
            total = np.zeros((len(X), self.columns.n_outputs))
            for n, (first, end) in enumerate(members, 1):
                for t in range(first, end):
                    total += self.sums(X, threads, stage > 0, slice(t, t + 1), None if stage > 0 else offset)
                    yield total / n if self._is_plain else self._combined([*means, total / n], offset)
            means.append(total / len(members))

    def _combined(self, means: list[Floats], offset: Floats | None = None) -> Floats:
        """Return the output that the means of the first stages make; the offset is in that of the first."""
        steps = self.stages.steps
        scores = self.loss.scores(means[0], offset)
        if steps[0] != 1 and (len(means) > 1 or len(steps) == 1):
            scores = steps[0] * scores if offset is None else steps[0] * (scores - offset) + offset
        for step, mean in zip(steps[1:], means[1:], strict=False):
            scores = scores + step * mean
        return self.calibration.outputs(self.loss, scores, offset)

    def leaves(self, X: Floats, threads: int, trees: Longs | None = None) -> Ints:
        """Return the leaf of every row in every tree, or in some: rows × trees."""
        leaves = np.empty((len(X), self.n_trees if trees is None else len(trees)), dtype=np.int32)
        self.columns.model.apply(X, self.features.mean, self.features.scale, threads, leaves, trees)
        return leaves

    def intervals(
        self, X: Floats, kept: LeftOut, coverage: float, threads: int, offset: Floats | None = None
    ) -> Floats:
        """Return lower and upper ends that hold the target of every row so often, in units of outputs."""

        def outputs_of(rows: slice, first: int, end: int, scores: bool) -> Floats:
            own = None if scores or offset is None else offset[rows]
            return self.sums(X[rows], threads, scores, slice(first, end), own)[:, 0]

        members, steps = self.stages.members(self.seeds), self.stages.steps
        return intervals(self.loss, outputs_of, len(X), members, steps, kept, coverage, offset)

    def local_intervals(
        self, X: Floats, kept: LeftOut, local: LocalErrors, coverage: float, threads: int, offset: Floats | None = None
    ) -> Floats:
        """Return the same with local widths."""
        centre = self.outputs(X, threads, offset)[:, 0]
        return local_intervals(local, kept, centre, self.leaves(X, threads, local.trees), coverage)

    def distributions(
        self, X: Floats, local: LocalErrors, threads: int, offset: Floats | None = None
    ) -> Iterator[Distribution]:
        """Yield the distributions of the targets, some rows at a time, in the user's units."""
        centre, leaves = self.outputs(X, threads, offset), self.leaves(X, threads, local.trees)
        block = max(1, _VALUES_AT_ONCE // len(local.residuals))
        for first in range(0, len(X), block):
            rows = slice(first, first + block)
            outputs = centre[rows] + local.scales(leaves[rows])[:, None] * local.errors
            values = self.loss.decode(outputs.reshape(-1, 1)).reshape(outputs.shape)
            yield Distribution(values, local.distribution(leaves[rows]))

    def out_of_bag(
        self,
        X: Floats,
        sampling: Sampling,
        threads: int,
        scores: bool = False,
        offset: Floats | None = None,
        places: Places | None = None,
    ) -> OutOfBag:
        """Add up what the trees give that have not drawn a training row: outputs or, if asked for, scores.

        ``offset``: what is added to the scores of each tree before, rows × outputs; ``places``: which training rows
        these are, None: all of them.
        """
        places = Places(len(X)) if places is None else places
        total, squares = np.zeros((2, len(X), self.columns.n_outputs))
        n_trees = np.zeros((len(X), 1))
        f = self.features
        if not self.columns.models and sampling.rows is None:
            link = Link.IDENTITY if scores else self.loss.link
            is_usual = offset is None and places.numbers is None
            if is_usual and (found := self._sums_on_device(X, link, 0, self.n_trees, threads, sampling)) is not None:
                return OutOfBag(*found)
            draws = self.seeds, sampling.n_draws, sampling.cumulative
            scaled = X, f.mean, f.scale
            outs = total, n_trees, f.fill, squares
            self.columns.model.predict_oob(*scaled, link, *draws, threads, *outs, offset, places.numbers, places.n_rows)
            return OutOfBag(total, squares, n_trees)
        for tree, seed in enumerate(self.seeds):
            rows = np.flatnonzero(places.absent(sampling, seed))
            if len(rows) > 0:
                own = None if offset is None else np.ascontiguousarray(offset[rows])
                part = self.sums(X[rows], threads, scores, slice(tree, tree + 1), own)
                total[rows] += part
                n_trees[rows] += 1
                squares[rows] += part**2
        return OutOfBag(total, squares, n_trees)

    def out_of_bag_outputs(
        self,
        X: Floats,
        sampling: Sampling,
        threads: int,
        offset: Floats | None = None,
        places: Places | None = None,
    ) -> tuple[Floats, Mask]:
        """Return predictions of training rows by the trees that have not drawn them, and which rows have such trees."""
        stages = [self.stage_out_of_bag(i, X, sampling, threads, offset, places) for i in range(len(self.stages))]
        return self.of_stages(stages, offset)

    def stage_out_of_bag(
        self,
        stage: int,
        X: Floats,
        sampling: Sampling,
        threads: int,
        offset: Floats | None = None,
        places: Places | None = None,
        columns: ForestColumns | None = None,
    ) -> OutOfBag:
        """Return the sums over the trees of a stage, or over its bags, that have not drawn a row.

        ``columns``: its trees, if they are not the model's own.
        """
        places = Places(len(X)) if places is None else places
        part = self.take(*self.stages.parts[stage], columns)
        oob = part.out_of_bag(X, sampling, threads, stage > 0, None if stage > 0 else offset, places)
        if not self.stages.boosted[stage]:
            return oob
        # Its trees add up to bags, each with one seed.
        n_bags = sum(places.absent(sampling, seed)[:, None] for seed in np.unique(part.seeds))
        return replace(oob, n_trees=np.asarray(n_bags, dtype=np.float64))

    def of_stages(self, stages: list[OutOfBag], offset: Floats | None = None) -> tuple[Floats, Mask]:
        """Return what all stages together predict out of bag, and which rows have trees for that."""
        seen = np.ones(len(stages[0].total), dtype=bool)
        for oob, step in zip(stages, self.stages.steps, strict=True):
            if step > 0:  # otherwise it takes no part
                seen &= oob.seen
        means = [oob.mean for oob in stages]
        return means[0] if self._is_plain else self._combined(means, offset), seen

    # -------------------------------------------------------------------------------------------------------- parts

    def tree_weights(self) -> Floats | None:
        """Return what each tree counts in a score; None: all the same, and 1 together."""
        if self._is_plain or (self.stages == Stages((self.n_trees,)) and self.calibration.factor == 1.0):
            return None
        return self.stages.tree_weights() * self.calibration.factor

    def take(self, first: int, last: int, columns: ForestColumns | None = None) -> Model:
        """Return some trees as a forest of their own; ``columns``: these trees, if they are not the model's own."""
        of_later_stage = first >= self.stages.ends[0]
        return replace(
            self,
            loss=self.loss.without_origin() if of_later_stage else self.loss,  # they correct the stages before
            columns=self.columns.take(first, last) if columns is None else columns,
            seeds=self.seeds[first:last],
            params={name: values[first:last] for name, values in self.params.items()},
            stages=Stages((last - first,)),
            calibration=Calibration(),
            draws=None,
            known=Known(background=self.known.background),
        )

    def of_target(self, target: int) -> Model:
        """Return the model of one of several targets."""
        assert isinstance(self.loss, Several)
        _, outputs, loss = next(each for each in self.loss.each() if each[0] == target)
        known, prediction = self.known, self.known.prediction
        own = Known(
            prediction=prediction[target] if isinstance(prediction, list) else _column(prediction, target),
            left_out=known.left_outs[target] if known.left_outs else None,
            background=known.background,
        )
        return replace(self, loss=loss, columns=self.columns.take_outputs(outputs), draws=None, known=own)

    def __add__(self, other: Model) -> Model:
        """Return the trees of both in one stage."""
        return join([self, other])


def join(models: list[Model]) -> Model:
    """Return the trees of all models in one stage."""
    if len(models) == 1:
        return models[0]
    columns = ForestColumns.concatenate([model.columns for model in models])
    return replace(
        models[0],
        columns=columns,
        seeds=np.concatenate([model.seeds for model in models]),
        params={name: PerTree.joined([model.params[name] for model in models]) for name in models[0].params},
        stages=Stages((columns.n_trees,)),
    )
