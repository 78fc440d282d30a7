"""Fewer boosted trees where the out-of-bag loss hardly tells: one chain for two, fewer bags and rounds."""

from dataclasses import replace

import numpy as np

from .._base.typing import Floats
from .._losses import OutOfBag
from .._model.model import Stages, join
from .boosted import LEAST_WEIGHT, Chain, Forest, Mixture
from .groups import Growth

TOLERANCE = 0.001  # by which the loss may rise
_OF_A_CHAIN, _HARDLY_TELLS = 0.002, 1.0  # what the loss may rise by for one chain instead of two, and its t value
_SHARES = (0.25, 0.4, 0.55, 0.7, 0.85)  # of the rounds of every bag, the fewest first


def without_weak_chains(
    chains: list[Chain], weights: Floats, forest: Forest, growth: Growth
) -> tuple[list[Chain], Floats]:
    """Return one chain in place of several if it does nearly as well, and the weights."""
    objective, together = growth.objective, Mixture(growth.objective, forest, chains)
    before, rows = together.losses(weights), together.rows
    best, least = (chains, weights), np.inf

    def figure(losses: Floats) -> float:
        return objective.loss.figure(objective.average(losses, rows))[1]

    # A forest that counts nothing is not called back.
    for chain in chains if len(chains) > 1 and weights[0] > 0 else []:
        mixture = Mixture(objective, forest, [chain])
        alone = mixture.fit()
        if alone[1] < LEAST_WEIGHT:
            continue
        after = mixture.losses(alone)
        rise, t = objective.average(after - before, rows), objective.t_value(after - before, rows)
        if t <= _HARDLY_TELLS and rise < least and figure(after) <= (1 + _OF_A_CHAIN) * abs(figure(before)):
            best, least = ([chain], alone), rise
    return best


def with_fewer_rounds(chains: list[Chain], weights: Floats, forest: Forest, growth: Growth) -> list[Chain]:
    """Return the chains with the fewest rounds that keep the out-of-bag loss, all of them with about the same share."""
    objective = growth.objective

    def figure(tried: list[Chain]) -> float:
        # As if no row had been drawn: late rounds learn noise that the mean of all bags has less of than that of some.
        mixture = Mixture(objective, forest, tried)
        average = objective.average(mixture.losses(weights), mixture.rows)
        return average if average < 0 else objective.loss.figure(average)[1]  # an estimate below 0 has no root

    limit = figure(chains) + TOLERANCE * abs(figure(chains))
    for share in _SHARES:
        fewer = [_with_rounds(chain, share) for chain in chains]
        if figure([replace(chain, oob=oob) for chain, (oob, _) in zip(chains, fewer, strict=True)]) <= limit:
            return [_with_first_trees(chain, oob, n) for chain, (oob, n) in zip(chains, fewer, strict=True)]
    return chains


def with_fewer_bags(chains: list[Chain], weights: Floats, forest: Forest, growth: Growth) -> list[Chain]:
    """Return the chains with the fewest bags, at least half of them, whose noise hardly raises the loss.

    What is known out of bag stays that of all bags, for each row by as many of them as before.
    """
    objective, n_bags = growth.objective, chains[0].n_bags

    def figure(n: int) -> float:
        mixture = Mixture(objective, forest, [replace(chain, all_bags=n) for chain in chains])
        average = objective.average(mixture.losses(weights), mixture.rows)
        return average if average < 0 else objective.loss.figure(average)[1]

    limit = figure(n_bags) + TOLERANCE * abs(figure(n_bags))
    n_kept = next((n for n in range(-(-n_bags // 2), n_bags) if figure(n) <= limit), n_bags)
    return chains if n_kept == n_bags else [_with_first_bags(chain, n_kept) for chain in chains]


def _bags(chain: Chain) -> list[tuple[int, int]]:
    """Return the trees of every bag: where they begin and end."""
    return Stages((chain.model.n_trees,), (1.0,), (chain.n_bags,)).members(chain.model.seeds)[0]


def _with_first_bags(chain: Chain, n_bags: int) -> Chain:
    model = chain.model.take(0, _bags(chain)[n_bags - 1][1])
    return replace(chain, model=model, history=chain.history[:n_bags], all_bags=n_bags)


def _with_rounds(chain: Chain, share: float) -> tuple[OutOfBag, list[int]]:
    """Return what the bags add up to after a share of their rounds or a few more, and how many trees these are."""
    total, sizes = np.zeros_like(chain.oob.total), []
    squares = np.zeros_like(total)
    for rows, after in chain.history:
        n_trees, scores = next(part for part in after if part[0] >= share * after[-1][0])
        own = scores.reshape(len(rows), -1)
        total[rows] += own
        squares[rows] += own**2
        sizes.append(n_trees)
    return OutOfBag(total, squares, chain.oob.n_trees), sizes


def _with_first_trees(chain: Chain, oob: OutOfBag, sizes: list[int]) -> Chain:
    bags = zip(_bags(chain), sizes, chain.history, strict=True)
    parts = [(chain.model.take(first, first + n), rows, after, n) for (first, _), n, (rows, after) in bags]
    history = tuple((rows, [part for part in after if part[0] <= n]) for _, rows, after, n in parts)
    return replace(chain, model=join([model for model, *_ in parts]), oob=oob, history=history)
