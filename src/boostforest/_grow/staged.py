"""Forests in stages: each one corrects what the ones before leave over, as their out-of-bag predictions show it."""

from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._base.typing import Floats, Mask
from .._core import Link
from .._losses import OutOfBag, Several
from .._model.model import Model, Stages, join
from .adaptive import (
    ANY_LEAVES,
    MANY_ROWS,
    PLAIN_TREES,
    PLENTY_OF_ROWS,
    Search,
    Trial,
    allowed_changes,
    is_slow,
    trees_by_share,
)
from .boosted import Booster, Forest, Mixture
from .groups import Group, Growth, Settings, draws_features, joint_oob
from .objective import least_point, weighted_sum, weighted_sums
from .trim import with_fewer_bags, with_fewer_rounds, without_weak_chains

MOST_STAGES = 3  # of n_stages="auto"
LEAST_TREES = 20  # of a stage
_GROUP_TREES = 10  # of each setting that an adaptive pool tries where the number of trees is to be found out
_SLOW_GROUP_TREES, _GROUP_TREES_OF_MANY_ROWS = 5, 6  # where trees are slow, and where rows are many
_TRIAL_TREES = 16  # of each setting that a later stage tries
_GROUP_TREES_OF_PLENTY, _TRIAL_TREES_OF_PLENTY = 3, 8  # of rows, which tell more
_ROWS_OF_COMPANY = 1000  # from here on settings are judged together with boosted trees, of which two bags tell enough
_ROWS_OF_BOOSTING = 4000  # from here on trees without slopes are left to boosting, which is quicker
_ACCEPTED = -1.0  # t value of the change of the loss by a stage
# The same in its trial, whose few trees do not tell much: of the second stage, and of later ones, which bring less;
# then of any of them after a few dozen trees.
_HOPEFUL, _HOPEFUL_LATER, _STILL_HOPEFUL = -0.2, -0.6, -0.7
_TREES_OF_SECOND_LOOK = 24  # beyond those of the trial
_SETTLED = 0.005  # share of the loss that more trees could still take away: then there are enough
_LONGEST_OF_CLASSES = 3  # step: where classes are separated, the loss never stops falling
_STEP_SETTLED = 1e-3
_SMALL_VARIANCE = 0.1  # of a mean score
_PILOT_TREES, _MOST_TREES = 50, 1000


@dataclass
class Grown:
    """A forest that was grown in stages."""

    groups: list[Group]
    stages: Stages
    scores: Floats  #: out-of-bag scores of all rows
    seen: Mask  #: rows that have them
    losses: list[float]  #: out-of-bag loss after each stage
    trials: list[Trial] = field(default_factory=list)

    @property
    def model(self) -> Model:
        """All trees, with their stages."""
        return replace(join([group.model for group in self.groups]), stages=self.stages)


class StageGrower:
    """Grows a forest in stages, from an adaptive pool or a plain one."""

    def __init__(
        self,
        growth: Growth,
        budget: int | None,
        n_stages: int | str,
        own: Set[str] | None,
        boost: bool = False,
        few_leaves: bool = False,
    ) -> None:
        """``budget``: trees, None to find out; ``own``: tree parameters that stay as they are, None: all of them.

        ``few_leaves``: trees of classes have few of them, which probabilities that are calibrated like.
        """
        self._growth, self._objective = growth, growth.objective
        self._budget, self._n_stages, self._own = budget, n_stages, own
        self._few_leaves = few_leaves
        self._is_slow, self._some_features = is_slow(growth.data), draws_features(growth.request)
        self._booster = Booster(growth) if boost else None

    def grow(self) -> Grown:
        """Grow all stages."""
        most = MOST_STAGES if self._n_stages == "auto" else int(self._n_stages)
        if self._n_stages == "auto" and self._is_slow and not self._some_features:
            most = 1  # what time there is is better spent on the first
        first_groups, trials, budget = self._first_stage(most)
        grown = self._begin(first_groups, trials)
        best = max(trials, key=lambda t: t.share).settings if trials else {}
        boosts_first = self._boosts_first(grown)
        if not boosts_first:
            self._add_stages(grown, best, most, budget)
        has_left = boosts_first or (self._leaves_to_boosting and len(self._growth.data.y) < MANY_ROWS)
        has_chains = self._booster is not None and self._add_chains(grown, self._booster)
        if self._booster is not None and not has_chains and has_left:
            self._booster = None
            self._add_stages(grown, best, most, budget)
        if self._n_stages == "auto" and not has_chains and self._scales:
            self._scale(grown)
        self._growth.finish()
        return grown

    def _add_stages(self, grown: Grown, best: Settings, most: int, budget: int) -> None:
        """Add forests while they help, up to so many stages."""
        for _ in range(len(grown.stages), most):
            hopeful = _HOPEFUL if len(grown.stages) == 1 else _HOPEFUL_LATER
            group, step, rows = self._next_stage(grown.scores, best, budget // (2 * (most - 1)), hopeful)
            losses = self._losses(grown.scores, group.oob, step)
            before = self._objective.losses(grown.scores)
            t = self._objective.t_value(losses - before, rows)
            if step == 0 or (self._n_stages == "auto" and t > _ACCEPTED):
                break
            grown.scores = grown.scores + step * group.oob.mean
            grown.groups.append(group)
            grown.stages = grown.stages.add(group.n_trees, step)
            grown.losses.append(self._objective.average(self._objective.losses(grown.scores), grown.seen))

    def _scale(self, grown: Grown) -> None:
        """Multiply the scores of a forest by a factor: averaged trees with penalties often are too near to the mean."""
        mixture = Mixture(self._objective, self._forest(grown), [])
        if mixture.rows.any():
            grown.scores = mixture.scores(mixture.alone)
            self._multiply_steps(grown, float(mixture.alone[0]))
            grown.losses[-1] = self._objective.average(self._objective.losses(grown.scores), grown.seen)

    def _multiply_steps(self, grown: Grown, factor: float) -> None:
        """Multiply what the stages count; of a forest that counts nothing one tree is left, as there has to be one."""
        if factor == 0:
            grown.groups, grown.stages = [self._growth.first_trees(grown.groups[0], 1)], Stages((1,))
            grown.losses = grown.losses[:1]
        grown.stages = grown.stages.times(factor)

    def _add_chains(self, grown: Grown, booster: Booster) -> bool:
        """Add boosted stages if they are worth it, and return whether they are; all steps are weighed anew."""
        forest = self._forest(grown)
        found = booster.grow(forest)
        if found is None:
            return False
        chains, weights = without_weak_chains(*found, forest, self._growth)
        chains = with_fewer_rounds(chains, weights, forest, self._growth)
        chains = with_fewer_bags(chains, weights, forest, self._growth)
        mixture = Mixture(self._objective, forest, chains)
        mixed = mixture.scores(weights)
        known = np.logical_and.reduce([chain.oob.seen for chain in chains])  # others keep the forest's scores
        grown.scores = np.where(known[:, None], mixed, grown.scores)
        self._multiply_steps(grown, float(weights[0]))
        for chain, weight in zip(chains, weights[1:], strict=True):
            grown.groups.append(Group({}, chain.model, chain.oob))
            grown.stages = grown.stages.add(chain.model.n_trees, float(weight), chain.n_bags)
        loss = self._objective.average(self._objective.losses(grown.scores), grown.seen)
        grown.losses += [loss] * len(chains)
        return True

    def _forest(self, grown: Grown) -> Forest:
        return Forest(grown.scores, grown.seen, self._excess_noise(grown))

    def _excess_noise(self, grown: Grown) -> Floats:
        """Return twice what the loss of each row would fall by if all trees had been left to it."""
        curvature = self._objective.loss.curvature(grown.scores)
        noise, first = np.zeros(len(grown.scores)), 0
        for stage, ((begin, end), step) in enumerate(zip(grown.stages.parts, grown.stages.steps, strict=True)):
            last = first
            while sum(group.n_trees for group in grown.groups[first:last]) < end - begin:
                last += 1
            oob, first = joint_oob(grown.groups[first:last]), last
            excess = oob.spread * np.maximum(1 / np.maximum(oob.n_trees, 1) - 1 / (end - begin), 0)
            if stage == 0:  # outputs are averaged
                noise += step**2 * self._objective.noise(grown.scores, excess)
            else:
                noise += step**2 * (curvature * excess).sum(axis=1)
        return noise

    # ------------------------------------------------------------------------------------------------- first stage

    def _first_stage(self, n_stages: int) -> tuple[list[Group], list[Trial], int]:
        """Return the groups of the first stage, the trials behind them, and the trees of all stages."""
        growth, parts = self._growth, 1 if n_stages == 1 else 2  # later stages have the second half of the trees
        share = None if self._budget is None else self._budget // parts
        if self._own is None:
            first = growth.grow({}, growth.seeds(_PILOT_TREES if share is None else share))
            n = self._enough_trees(first.oob) if share is None else share
            more = [growth.grow({}, growth.seeds(n - first.n_trees))] if n > first.n_trees else []
            return [first, *more], [], n * parts
        size = _GROUP_TREES if self._budget is None else max(8, self._budget // 50)
        if self._is_slow:
            size = min(size, _SLOW_GROUP_TREES)
        elif self._has_plenty_of_rows:
            size = min(size, _GROUP_TREES_OF_PLENTY)
        elif len(growth.data.X) >= MANY_ROWS:
            size = min(size, _GROUP_TREES_OF_MANY_ROWS)
        changes = allowed_changes(self._own, growth.data, self._few_leaves, self._some_features)
        company = None
        if self._booster is not None and len(growth.data.y) >= _ROWS_OF_COMPANY:
            company = self._booster.beside
        search = Search(growth, size, changes, self._few_leaves, company)
        trials = search.run(_MOST_TREES if share is None else int(0.8 * share))
        if share is None:
            share = growth.n_grown + self._enough_trees(max(trials, key=lambda t: t.share).group.oob)
        n_more = max(share - growth.n_grown + search.n_replaced, 0)
        return self._fill(trials, n_more), trials, share * parts

    def _enough_trees(self, oob: OutOfBag) -> int:
        """Return how many trees make the noise of the forest a small share of its loss."""
        rows = oob.n_trees[:, 0] >= 2
        noise = self._objective.average(oob.spread.sum(axis=1), rows)
        errors = (oob.mean - self._objective.targets) ** 2 - oob.variance_of_mean
        loss = self._objective.average(errors.sum(axis=1), rows)
        if not loss > 0:
            return _MOST_TREES
        return int(np.clip(np.ceil(noise / (_SETTLED * loss)), _PILOT_TREES, _MOST_TREES))

    def _fill(self, trials: list[Trial], n_more: int) -> list[Group]:
        """Return the trees of the trials in their shares, after growing more."""
        groups = []
        for trial, n in zip(trials, trees_by_share(trials, n_more), strict=True):
            if n == 0:
                continue
            groups.append(self._growth.first_trees(trial.group, min(n, trial.group.n_trees)))
            if n > trial.group.n_trees:
                seeds = self._growth.seeds(n - trial.group.n_trees)
                groups.append(self._growth.grow(trial.settings, seeds))
        return groups

    def _begin(self, groups: list[Group], trials: list[Trial]) -> Grown:
        oob = joint_oob(groups)
        seen, mean = oob.seen, oob.mean.copy()
        offset = self._objective.offset
        if seen.any() and offset is None:
            mean[~seen] = mean[seen].mean(axis=0)  # rows that every tree has drawn start where the others are
        scores = self._objective.scores(mean)
        if seen.any() and offset is not None:
            scores[~seen] = (scores - offset)[seen].mean(axis=0) + offset[~seen]
        loss = self._objective.average(self._objective.losses(scores), seen)
        n = sum(g.n_trees for g in groups)
        return Grown(list(groups), Stages((n,)), scores, seen, [loss], trials)

    # ------------------------------------------------------------------------------------------------ later stages

    def _next_stage(self, scores: Floats, best: Settings, n_trees: int, hopeful: float) -> tuple[Group, float, Any]:
        """Return the trees of a stage that starts from these scores, its step and the rows that judge it.

        ``hopeful``: t value of the change of the loss that its first trees have to reach.
        """
        growth, start = self._growth, np.ascontiguousarray(scores)
        n_trees = max(n_trees, LEAST_TREES)
        plain = self._plain_trees(best)
        if self._n_stages != "auto" and not plain:  # there is nothing to choose
            group = growth.grow(best, growth.seeds(n_trees), start)
            return group, *self._step(scores, group.oob)
        seeds = growth.seeds(_TRIAL_TREES_OF_PLENTY if self._has_plenty_of_rows else _TRIAL_TREES)
        chosen = growth.grow(best, seeds, start)
        change, n_tried = self._change(scores, chosen.oob), len(seeds)
        for settings in plain:
            tried = growth.grow(settings, seeds, start)
            of_tried, n_tried = self._change(scores, tried.oob), n_tried + len(seeds)
            if not of_tried[0] < change[0]:
                break
            chosen, change = tried, of_tried
        judges = self._n_stages == "auto"
        if change[0] == 0 or (judges and change[1] > hopeful):
            return chosen, 0.0, chosen.oob.seen
        n_left = max(n_trees - n_tried, LEAST_TREES)
        n_next = min(n_left, _TREES_OF_SECOND_LOOK)
        group = self._with_more_trees(chosen, n_next, start)
        if judges and n_next < n_left and self._change(scores, group.oob)[1] > _STILL_HOPEFUL:
            return group, 0.0, group.oob.seen
        group = self._with_more_trees(group, n_left - n_next, start)
        return group, *self._step(scores, group.oob)

    def _with_more_trees(self, group: Group, n: int, start: Floats) -> Group:
        if n == 0:
            return group
        more = self._growth.grow(group.settings, self._growth.seeds(n), start)
        return Group(group.settings, group.model + more.model, group.oob + more.oob)

    def _plain_trees(self, best: Settings) -> list[Settings]:
        """Return settings of trees without slopes to try, those with more thresholds if the first are good."""
        if self._own is None or self._leaves_to_boosting or (self._is_slow and self._some_features):
            return []
        cut = {name: value for name, value in best.items() if name == "split_features"}
        cut |= ANY_LEAVES if self._few_leaves else {}
        plain = [{**PLAIN_TREES, **cut}, {**PLAIN_TREES, "n_cuts": 32, **cut}]
        return [s for s in plain if s != best and not s.keys() & self._own]

    def _boosts_first(self, grown: Grown) -> bool:
        """Whether later stages are tried only if boosting is of no use: where it does better, in less time.

        So it does with several targets, and with plenty of rows if it has most of the weight beside the first stage.
        """
        if self._booster is None or self._n_stages != "auto":
            return False
        if isinstance(self._growth.data.loss, Several):
            return True
        return self._has_plenty_of_rows and self._booster.outweighs(self._forest(grown))

    @property
    def _scales(self) -> bool:
        """Whether scores are multiplied by a factor in the end: those of classes are when they are calibrated."""
        return self._objective.loss.boosts and self._objective.loss.n_classes == 0

    @property
    def _has_plenty_of_rows(self) -> bool:
        return len(self._growth.data.y) >= PLENTY_OF_ROWS

    @property
    def _leaves_to_boosting(self) -> bool:
        """Whether trees without slopes are not tried, as there are enough rows for boosted ones."""
        return self._booster is not None and len(self._growth.data.y) >= _ROWS_OF_BOOSTING

    def _losses(self, scores: Floats, oob: OutOfBag, step: float) -> Floats:
        """Return the losses after a step, were there infinitely many such trees."""
        noise = self._noise(scores, oob.variance_of_mean)
        return np.asarray(self._objective.losses(scores + step * oob.mean) - step**2 * noise / 2)

    def _noise(self, scores: Floats, variance: Floats) -> Floats:
        """Return twice what the loss of each row rises by, as the mean of few trees has this variance."""
        loss = self._objective.loss
        if loss.link != Link.IDENTITY:  # a parabola is good for small changes only then
            variance = np.minimum(variance, _SMALL_VARIANCE)
        return np.asarray((loss.curvature(scores) * variance).sum(axis=1))

    def _step(self, scores: Floats, oob: OutOfBag) -> tuple[float, Any]:
        """Return the factor with the least out-of-bag loss, 0 to 1 or a little more, and the rows that judge it."""
        rows = self._objective.counted(oob.n_trees[:, 0] >= 2)
        if not rows.any():
            return 0.0, rows
        longest = _LONGEST_OF_CLASSES if self._objective.loss.n_classes else 1
        judges = self._objective.judges(rows)
        part, noise = self._objective.part(judges), self._noise(scores[judges], oob.variance_of_mean[judges])
        share, start, change = part.shares(part.all_rows), scores[judges], oob.mean[judges]
        mean_noise = weighted_sum(share, noise)

        def loss(steps: Floats) -> Floats:
            losses = part.losses_at(start + steps[:, None, None] * change)
            return weighted_sums(losses, share) - steps**2 * mean_noise / 2

        step = least_point(loss, 0, longest, _STEP_SETTLED)
        before, after = loss(np.array([0.0, step]))
        return (step if after < before and step > 1e-3 else 0.0), rows

    def _change(self, scores: Floats, oob: OutOfBag) -> tuple[float, float]:
        """Return by how much the loss falls with the best step, below 0, and its t value."""
        step, rows = self._step(scores, oob)
        if step == 0:
            return 0.0, 0.0
        change = self._losses(scores, oob, step) - self._objective.losses(scores)
        return self._objective.average(change, rows), self._objective.t_value(change, rows)
