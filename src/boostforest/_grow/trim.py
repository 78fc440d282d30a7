"""Fewer boosted trees where the out-of-bag loss hardly tells: one chain for two, and without the last rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._base.typing import Floats
from .._losses import OutOfBag
from .._model.model import Model, Stages, join
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
    """Return the chains with the fewest rounds that keep the out-of-bag loss, all of them with the same share."""
    objective = growth.objective

    def figure(candidates: list[Chain]) -> float:
        # As if no row had been drawn: late rounds learn noise that the mean of all bags has less of than that of some.
        mixture = Mixture(objective, forest, candidates)
        average = objective.average(mixture.losses(weights), mixture.rows)
        return average if average < 0 else objective.loss.figure(average)[1]  # an estimate below 0 has no root

    limit = figure(chains) + TOLERANCE * abs(figure(chains))
    oobs = zip(*(_after_shares(chain, growth) for chain in chains), strict=True)
    for share, of_chains in zip(_SHARES, oobs, strict=True):
        shorter = [replace(chain, oob=oob) for chain, oob in zip(chains, of_chains, strict=True)]
        if figure(shorter) <= limit:
            return [replace(chain, model=_first_rounds(chain, share)) for chain in shorter]
    return chains


def _rounds(chain: Chain, share: float) -> list[tuple[int, int]]:
    """Return the first trees of every bag: where they begin and end."""
    bags = Stages((chain.model.n_trees,), (1.0,), (chain.n_bags,)).members(chain.model.seeds)[0]
    return [(first, first + max(1, round(share * (end - first)))) for first, end in bags]


def _first_rounds(chain: Chain, share: float) -> Model:
    return join([chain.model.take(first, end) for first, end in _rounds(chain, share)])


def _after_shares(chain: Chain, growth: Growth) -> Iterator[OutOfBag]:
    """Yield what the bags add up to after each share of their rounds, for the rows that they have not drawn."""
    data, threads = growth.data, growth.request.threads
    done = [first for first, _ in _rounds(chain, 1.0)]
    totals = [np.zeros_like(chain.oob.total) for _ in done]
    for share in _SHARES:
        for bag, (_, end) in enumerate(_rounds(chain, share)):
            if end > done[bag]:
                part = chain.model.take(done[bag], end).out_of_bag(data.X, data.sampling, threads, scores=True)
                totals[bag], done[bag] = totals[bag] + part.total, end
        yield OutOfBag(sum(totals[1:], totals[0]), sum((t**2 for t in totals[1:]), totals[0] ** 2), chain.oob.n_trees)
