"""Boosted stages: bags of trees that are boosted on most rows, beside the forest or on top of it, weighed out of bag.

Rows are dealt to the bags of a chain: one or two bags leave a row out, all others have it. So a bag has more rows than
a bootstrap replica, which boosting makes more of than a forest does, and still every row has bags to judge it by.

A chain is a number of bags. It starts from nothing, or at the out-of-bag scores of the forest. Two bags of each, with
some hundred rounds at the most, are a trial; the chains that prove useful get all their bags and rounds. The score of
the forest and those of the chains are then added with the non-negative weights that have the least out-of-bag loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from .._base.draws import bag_seeds
from .._base.typing import Floats, Ints, Longs, Mask, Seeds
from .._core import Link, PausedBags, dealt_seeds
from .._features.roles import Roles
from .._losses import ClassTargets, Loss, OutOfBag, Several
from .._model.columns import ForestColumns
from .._model.model import Model, Stages
from .data import TrainingData
from .groups import Growth
from .native import Request
from .objective import Objective
from .parameters import TREE_PARAMETERS

_BAGS_OF_FEW_ROWS, _FEW_ROWS = 10, 1000  # to which rows are dealt so that two of them leave a row out,
N_BAGS = 8  #   and with more rows mostly one
_FEWER_BAGS, _MANY_SCORES = 5, 3_300  # of more scores (rows times outputs), or several targets: they take longer
_BAGS_OF_MANY_ROWS, _MANY_ROWS = 4, 16_000
_TRIAL_BAGS, _TRIAL_ROUNDS = 2, 256
_ROWS_OF_DOUBT = 3_300  # from here on all bags decide, not those of the trial, whether bags from nothing are of use if
_NEARLY = 0.2  #   they alone raise the loss by no more than this share in the trial
_ROWS_OF_ONE_CHAIN = 10_000  # from here on only the better chain is boosted if, in the trial,
_OF_ONE_CHAIN = 0.02  #   it alone raises the loss by no more: whole, it finds most of what both would
_ACCEPTED = -1.0  # t value of the change of the loss, in the trial and by all bags
LEAST_WEIGHT = 0.05  # of a chain, after the trial and in the end
_RELIED_ON = 0.1  # weight of all chains that can make up for larger leaves of the forest
_MOST_WEIGHT = 8.0
_PRIOR = 10.0  # rows' worth of belief that the forest is best alone
_MOST_JUDGES = 20_000  # rows that weights are found by
_LEAST_ROWS = 50  # that have not been drawn by a bag
_MOST_WORK = 3e6  # rows × features × outputs: more would take longer than the forest
_SMALL_NOISE = 0.1  # of a row's loss
_MOST_STEPS, _SETTLED = 20, 1e-3  # of Newton's method, and of weights
_ROWS_OF_FULL_TREES = 2000
_LEAST_BINS, _MOST_BINS, _MOST_CELLS = 31, 127, 5 * 127  # of a feature; cells are bins times outputs
_ROWS_OF_BIN = 8  # on average, at least
_ROWS_OF_SPLITS, _LEAST_SHARE = 8000, 0.3  # of more rows a tree looks for splits in a share, which saves time only
_MANY_FEATURES = 20  # where there are many features
_MOST_OUTPUTS = 8000  # rounds times outputs
_LEAST_ROUNDS = 150  # that are allowed: where classes are separated, the loss never stops falling


@dataclass(frozen=True)
class Rules:
    """How boosted trees are grown; see ``BoostRules`` in ``src/core/boost``."""

    max_leaves: int = 64
    reg_lambda: float = 3.0
    feature_share: float = 0.7
    learning_rate: float = 0.2
    max_rounds: int = 1000
    patience: int = 20
    overshoot: float = 1.5

    def for_table(self, n_rows: int, n_features: int, n_outputs: int, most_rounds: int) -> dict[str, float]:
        """Return the rules as the core takes them; few rows have fewer rounds and levels.

        Many outputs have fewer rounds and bins: each bin has sums for every output, and adding them up takes the time.
        So do few rows: most bins of a leaf would be empty. Of many rows and features a part tells where to split.
        """
        size = min(1.0, n_rows / _ROWS_OF_FULL_TREES)
        leaves = 2 ** round(np.log2(self.max_leaves) - 2 * (1 - size))
        rounds = min(self.max_rounds, most_rounds, max(min(n_rows // 2, _MOST_OUTPUTS // n_outputs), _LEAST_ROUNDS))
        bins = int(np.clip(min(_MOST_CELLS // n_outputs, n_rows // _ROWS_OF_BIN), _LEAST_BINS, _MOST_BINS))
        share = max(min(_ROWS_OF_SPLITS / n_rows, 1.0), _LEAST_SHARE) if n_features >= _MANY_FEATURES else 1.0
        own = {"max_leaves": leaves, "max_rounds": rounds, "most_bins": bins, "row_share": share}
        return vars(self) | own


RULES = Rules()
_RULES_OF_SEVERAL = Rules(learning_rate=0.3, overshoot=0.5)  # targets: fewer rounds


#: Of a bag: the rows that it has not drawn, and their scores after so many trees, rows × outputs; the last are all.
History = tuple[Longs, list[tuple[int, Floats]]]


@dataclass(frozen=True, eq=False)
class Chain:
    """Bags that start alike."""

    starts_at_forest: bool
    model: Model
    oob: OutOfBag  #: sums over the bags that leave a row out
    history: tuple[History, ...]  #: of each bag
    is_cut: bool  #: a bag has ended because no more rounds were allowed
    paused: PausedBags | None = None  #: its bags, if they may have more rounds
    all_bags: int = N_BAGS  #: those that it has in the end

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.history)

    def __add__(self, other: Chain) -> Chain:
        joined = {name: getattr(self, name) + getattr(other, name) for name in ("model", "oob", "history")}
        return replace(self, **joined)


def why_not_boosted(data: TrainingData) -> str | None:
    """Return why boosted stages cannot be had, as the rest of a sentence; None if they can."""
    n_rows = len(data.X)
    if not data.loss.boosts:
        return f"does not go with loss={data.loss.name!r}: constant leaves that follow its gradient do not minimise it."
    if data.loss.n_classes == 1:
        return "needs at least two classes; got 1."
    if n_rows < 3 * _LEAST_ROWS:
        return f"needs at least {3 * _LEAST_ROWS} rows, as those that are not drawn tell when to stop; got {n_rows}."
    return None


def can_boost(data: TrainingData) -> bool:
    """Tell whether boosted stages can be had at all, and in reasonable time."""
    n_rows, n_features = data.X.shape
    if isinstance(data.loss, ClassTargets):  # a bag takes as long for each target: only if it is asked for by name
        return False
    quick = n_rows * n_features * data.loss.n_outputs <= _MOST_WORK
    return quick and data.sampling.bootstrap and data.roles.monotonic_cst is None and why_not_boosted(data) is None


def number_of_bags(loss: Loss, n_rows: int) -> int:
    """Return how many bags a chain has."""
    if n_rows < _FEW_ROWS and n_rows * loss.n_outputs <= _MANY_SCORES and not isinstance(loss, Several):
        return _BAGS_OF_FEW_ROWS
    if n_rows >= _MANY_ROWS:
        return _BAGS_OF_MANY_ROWS
    return _FEWER_BAGS if n_rows * loss.n_outputs > _MANY_SCORES or isinstance(loss, Several) else N_BAGS


def rules_for(loss: Loss) -> Rules:
    """Return how trees are boosted."""
    return _RULES_OF_SEVERAL if isinstance(loss, Several) else RULES


class Bags(NamedTuple):
    """Bags of boosted trees as the core has them."""

    columns: dict[str, Any]  #: of all trees
    sizes: Ints  #: trees of each bag
    oob: OutOfBag  #: sums over the bags that leave a row out
    history: list[History]  #: of each bag
    is_cut: bool  #: one has ended because no more rounds were allowed
    paused: PausedBags | None = None  #: the bags, if they may have more rounds


def boost_bags(
    request: Request, data: TrainingData, seeds: Seeds, most_rounds: int, goes_on: bool
) -> tuple[Model, OutOfBag, tuple[History, ...], bool, PausedBags | None]:
    """Boost a bag for each seed, from the scores that the data start from; ``goes_on``: there may be more rounds."""
    if request.engine is None:
        parts = [_bags_in_core(data, seeds, most_rounds, request.dtype, request.threads, goes_on)]
    else:
        shared = [data.shared(request.engine), request.engine.share(data.start)]
        tasks = [(data.roles, seeds[b : b + 1], most_rounds, request.dtype) for b in range(len(seeds))]
        parts = list(request.engine.run(_bag_on_worker, shared, tasks))
    return _join_bags(request, data, seeds, parts)


def go_on(
    request: Request, data: TrainingData, seeds: Seeds, most_rounds: int, paused: PausedBags
) -> tuple[Model, OutOfBag, tuple[History, ...], bool, PausedBags | None]:
    """Boost paused bags for more rounds, as if so many had been allowed at once."""
    rounds = _rules_of(data, most_rounds)["max_rounds"]
    return _join_bags(request, data, seeds, [_read_bags(paused.go_on(rounds, request.threads), data, request.dtype)])


def _join_bags(
    request: Request, data: TrainingData, seeds: Seeds, parts: list[Bags]
) -> tuple[Model, OutOfBag, tuple[History, ...], bool, PausedBags | None]:
    oob = reduce(add, (part.oob for part in parts))
    history = tuple(of_bag for part in parts for of_bag in part.history)
    sizes = np.concatenate([part.sizes for part in parts])
    made = [ForestColumns(**part.columns, **data.kept_roles, **data.shape) for part in parts]
    forest = made[0] if len(made) == 1 else ForestColumns.concatenate(made)
    rules = rules_for(data.loss)
    own = {
        "node_model": "constant",
        "criterion": "xgb",
        "min_samples_leaf": 1,
        "reg_lambda": rules.reg_lambda,
        "max_leaf_nodes": rules.max_leaves,
        "max_features": rules.feature_share,
        "batch_size": None,
    }
    changed = {p.name: p.pool(own[p.name]) for p in TREE_PARAMETERS if p.name in own}
    drawn = request.draw(seeds, data.loss.task, changed)
    params = {name: values.repeated(sizes) for name, values in drawn.items()}
    stages = Stages((forest.n_trees,))
    model = Model(data.features, data.loss, forest, np.repeat(seeds, sizes), params, request.entropy, stages)
    paused = parts[0].paused if len(parts) == 1 else None
    return model, oob, history, any(part.is_cut for part in parts), paused


def _rules_of(data: TrainingData, most_rounds: int) -> dict[str, Any]:
    return rules_for(data.loss).for_table(len(data.y), data.X.shape[1], data.loss.n_outputs, most_rounds)


def _bags_in_core(
    data: TrainingData, seeds: Seeds, most_rounds: int, dtype: str, threads: int, goes_on: bool = False
) -> Bags:
    sampling, rules = data.sampling, _rules_of(data, most_rounds)
    weight = None if sampling.cumulative is None else np.diff(sampling.cumulative, prepend=0.0)
    columns: dict[str, Any] = data.table(threads).boost(
        rules,
        seeds,
        sampling.n_draws,
        sampling.cumulative,
        weight,
        sampling.balance_classes,
        threads,
        data.roles.split_features,
        data.first_scores,
        dtype,
        data.interactions,
        goes_on,
    )
    paused = columns.pop("paused", None)
    is_cut = most_rounds == rules["max_rounds"] and bool((columns["n_rounds"] == most_rounds).any())
    return _read_bags(columns, data, dtype)._replace(is_cut=is_cut, paused=paused)


def _read_bags(columns: dict[str, Any], data: TrainingData, dtype: str) -> Bags:
    history = columns.pop("history")
    sums = [columns.pop(f"oob_{name}").reshape(len(data.y), -1) for name in ("total", "squares", "bags")]
    sizes = np.diff(columns.pop("bag_end"), prepend=0)
    if dtype == "int8":
        columns["loss"] = None
    for name in ("n_rounds", "loss_before", "loss_after", "n_unconverged"):
        columns.pop(name)
    return Bags(columns, sizes, OutOfBag(*sums), history, is_cut=False)


def _bag_on_worker(
    data: TrainingData, start: Floats | None, roles: Roles, seeds: Seeds, most_rounds: int, dtype: str
) -> Bags:
    return _bags_in_core(replace(data, start=start, roles=roles), seeds, most_rounds, dtype, threads=1)


@dataclass(frozen=True, eq=False)
class Forest:
    """What chains are weighed against: a forest out of bag."""

    scores: Floats  #: rows × outputs
    seen: Mask  #: rows that have them
    noise: Floats  #: per row: second derivative of the loss times the variance that the trees which drew it would end


class Mixture:
    """The scores of a forest and of chains, and the weights that are best out of bag."""

    def __init__(self, objective: Objective, forest: Forest, chains: list[Chain]) -> None:
        self._objective, self._offset = objective, objective.offset
        self.rows = objective.counted(np.logical_and.reduce([forest.seen, *(chain.oob.seen for chain in chains)]))
        own = forest.scores if objective.offset is None else forest.scores - objective.offset
        self._parts = np.stack([own, *(chain.oob.mean for chain in chains)])
        curvature = objective.loss.curvature(forest.scores)
        of_chains = [(curvature * _excess_variance(chain, objective)).sum(axis=1) for chain in chains]
        self._noise = np.stack([forest.noise, *of_chains])
        if objective.loss.link != Link.IDENTITY:  # a parabola is good for small changes only then
            self._noise = np.minimum(self._noise, np.minimum(objective.losses(forest.scores), _SMALL_NOISE))

    def scores(self, weights: Floats) -> Floats:
        """Return the mixed scores of all rows."""
        mixed: Floats = np.tensordot(weights, self._parts, axes=1)
        return mixed if self._offset is None else mixed + self._offset

    def losses(self, weights: Floats) -> Floats:
        """Return the losses of all rows, as if no bag had drawn any of them."""
        return np.asarray(self._objective.losses(self.scores(weights)) - weights**2 @ self._noise / 2)

    @cached_property
    def alone(self) -> Floats:
        """The weights of the forest without chains: probabilities are calibrated in the end, numbers scaled."""
        first = np.eye(len(self._parts))[0]
        return self._least(first, first > 0)

    def t_value(self, weights: Floats) -> float:
        """Return the t value of the change of the loss against the forest alone."""
        return self._objective.t_value(self.losses(weights) - self.losses(self.alone), self.rows)

    def fit(self) -> Floats:
        """Return the weights with the least loss, held near the forest alone where there are few rows."""
        return self._least(self.alone, np.ones(len(self._parts), dtype=bool))

    def _least(self, start: Floats, free: Mask) -> Floats:
        """Return the weights with the least loss, held near those to start from; only some are free."""
        rows = np.flatnonzero(self.rows)
        chosen = np.zeros(len(self.rows), dtype=bool)
        chosen[rows[:: max(1, len(rows) // _MOST_JUDGES)]] = True
        share, y, loss = self._objective.shares(chosen), self._objective.y[chosen], self._objective.loss
        parts, noise = self._parts[:, chosen], self._noise[:, chosen] @ share
        offset: Any = 0.0 if self._offset is None else self._offset[chosen]
        held = _PRIOR / self._objective.n_rows(chosen)

        def value(weights: Floats) -> float:
            distance = weights - start
            losses = loss.losses(y, np.tensordot(weights, parts, axes=1) + offset)
            return float(share @ losses - weights**2 @ noise / 2 + held * distance @ distance)

        weights, now = start, value(start)
        for _ in range(_MOST_STEPS):
            scores = np.tensordot(weights, parts, axes=1) + offset
            slope = np.tensordot(parts, loss.gradient(y, scores) * share[:, None], axes=2)
            slope += 2 * held * (weights - start) - noise * weights
            bent = parts * (loss.curvature(scores) * share[:, None])
            curvature = np.tensordot(bent, parts, axes=([1, 2], [1, 2])) + np.diag(2 * held - noise)
            change = np.zeros(len(weights))
            change[free] = _least_parabola(curvature[np.ix_(free, free)], slope[free], weights[free]) - weights[free]
            while (after := value(weights + change)) > now and np.abs(change).max() > _SETTLED:
                change = change / 2
            if not after < now:
                break
            weights, now = weights + change, after
            if np.abs(change).max() <= _SETTLED:
                break
        return weights


def _excess_variance(chain: Chain, objective: Objective) -> Floats:
    """Return by how much the variance of an out-of-bag mean is above that of the mean of all bags."""
    rows = objective.counted(chain.oob.n_trees[:, 0] >= 2)
    spread: Any = 0.0
    if rows.any():
        spread = np.average(chain.oob.spread[rows], axis=0, weights=objective.part(rows).weight)
    return np.asarray(spread * np.maximum(1 / np.maximum(chain.oob.n_trees, 1) - 1 / chain.all_bags, 0))


def _least_parabola(curvature: Floats, slope: Floats, weights: Floats) -> Floats:
    """Return the weights, none below 0, at which a parabola is least that has this slope at the weights now."""
    values, vectors = np.linalg.eigh(curvature)
    root = np.sqrt(np.maximum(values, 1e-6 * max(values.max(), 1e-300)))
    target = (vectors.T @ (curvature @ weights - slope)) / root
    least: Floats = np.minimum(nnls((vectors * root).T, target)[0], _MOST_WEIGHT)
    return least


class Booster:
    """Grows the chains of one fit."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth

    @cached_property
    def _seeds(self) -> Seeds:
        data = self._growth.data
        seeds = bag_seeds(self._growth.request.entropy, number_of_bags(data.loss, len(data.y)))
        if data.sampling.rows is not None or data.sampling.n_draws != len(data.y):  # draws as they were asked for
            return seeds
        return dealt_seeds(int(seeds[0]), len(seeds), len(data.y) >= _FEW_ROWS)

    def grow(self, forest: Forest) -> tuple[list[Chain], Floats] | None:
        """Return the chains that are worth it and all weights, that of the forest first; None: the forest is best."""
        at_forest = self._boost(True, forest.scores, self._seeds[:_TRIAL_BAGS], _TRIAL_ROUNDS)
        tried = [self._from_nothing, at_forest]
        mixture = Mixture(self._growth.objective, forest, tried)
        if mixture.rows.sum() < _LEAST_ROWS:
            return None
        weights = mixture.fit()
        is_accepted = mixture.t_value(weights) <= _ACCEPTED
        useful = [chain for chain, w in zip(tried, weights[1:], strict=True) if is_accepted and w >= LEAST_WEIGHT]
        if self._from_nothing not in useful and self._is_nearly_as_good(forest):
            useful.insert(0, self._from_nothing)
        if len(useful) > 1 and len(self._growth.data.y) >= _ROWS_OF_ONE_CHAIN:
            losses = [self._loss_beside(forest, [chain]) for chain in useful]
            if min(losses) <= self._loss_beside(forest, useful) + _OF_ONE_CHAIN * abs(min(losses)):
                useful = [useful[int(np.argmin(losses))]]
        chains = [self._whole(chain, forest.scores) for chain in useful]
        while chains:
            mixture = Mixture(self._growth.objective, forest, chains)
            weights = mixture.fit()
            kept = [chain for chain, w in zip(chains, weights[1:], strict=True) if w >= LEAST_WEIGHT]
            if len(kept) == len(chains):
                return (chains, weights) if mixture.t_value(weights) <= _ACCEPTED else None
            chains = kept
        return None

    def beside(self, forest: Forest) -> list[Chain]:
        """Return bags from nothing, as a trial; none if they count little beside the forest."""
        return [self._from_nothing] if self._weights_beside(forest)[1] >= _RELIED_ON else []

    def outweighs(self, forest: Forest) -> bool:
        """Tell whether bags from nothing, as a trial, count more than the forest."""
        of_forest, of_chain = self._weights_beside(forest)
        return bool(of_chain > of_forest)

    def _is_nearly_as_good(self, forest: Forest) -> bool:
        """Tell whether bags from nothing come near to the forest in their trial, which is short, and may be chance."""
        if len(self._growth.data.y) < _ROWS_OF_DOUBT or self._growth.data.loss.n_outputs > 1:
            return False
        mixture = Mixture(self._growth.objective, forest, [self._from_nothing])
        of_forest, of_chain = (
            self._growth.objective.average(mixture.losses(weights), mixture.rows)
            for weights in (mixture.alone, np.array([0.0, 1.0]))
        )
        return bool(of_chain <= of_forest + _NEARLY * abs(of_forest))

    def _weights_beside(self, forest: Forest) -> Floats:
        return Mixture(self._growth.objective, forest, [self._from_nothing]).fit()

    def _loss_beside(self, forest: Forest, chains: list[Chain]) -> float:
        mixture = Mixture(self._growth.objective, forest, chains)
        return self._growth.objective.average(mixture.losses(mixture.fit()), mixture.rows)

    @cached_property
    def _from_nothing(self) -> Chain:
        return self._boost(False, np.empty(0), self._seeds[:_TRIAL_BAGS], _TRIAL_ROUNDS)

    def _whole(self, trial: Chain, scores: Floats) -> Chain:
        """Return a chain with all bags and rounds: those of the trial go on, or are kept if they have all theirs."""
        if trial.is_cut and trial.paused is None:  # its bags are on other machines
            return self._boost(trial.starts_at_forest, scores, self._seeds, RULES.max_rounds)
        others = self._boost(trial.starts_at_forest, scores, self._seeds[_TRIAL_BAGS:], RULES.max_rounds)
        return (self._with_all_rounds(trial) if trial.is_cut else trial) + others

    def _with_all_rounds(self, trial: Chain) -> Chain:
        growth = self._growth
        assert trial.paused is not None
        bags = go_on(growth.request, growth.data, self._seeds[:_TRIAL_BAGS], RULES.max_rounds, trial.paused)
        return Chain(trial.starts_at_forest, *bags, trial.all_bags)

    def _boost(self, at_forest: bool, scores: Floats, seeds: Seeds, most_rounds: int) -> Chain:
        start = np.ascontiguousarray(scores) if at_forest else None
        data = replace(self._growth.data, start=start)
        bags = boost_bags(self._growth.request, data, seeds, most_rounds, most_rounds < RULES.max_rounds)
        return Chain(at_forest, *bags, len(self._seeds))
