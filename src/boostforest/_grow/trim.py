"""Fewer boosted trees where the out-of-bag loss hardly tells: one chain for two, fewer bags and rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._base.typing import Floats, Mask
from .._losses import OutOfBag
from .._model.model import Places, Stages, join
from .boosted import LEAST_WEIGHT, Chain, Forest, Mixture
from .groups import Growth

TOLERANCE = 0.001  # by which the loss may rise
_OF_A_CHAIN, _HARDLY_TELLS = 0.002, 1.0  # what the loss may rise by for one chain instead of two, and its t value
_SHARES = (0.25, 0.4, 0.55, 0.7, 0.85)  # of the rounds of every bag, the fewest first
_MANY_ROWS, _JUDGES = 8000, 2000  # from here on so many rows tell how many rounds there should be


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
    n_rows = len(growth.data.X)
    judges = np.zeros(n_rows, dtype=bool)
    judges[:: n_rows // _JUDGES if n_rows >= _MANY_ROWS else 1] = True
    objective = growth.objective.part(judges)
    own = Forest(forest.scores[judges], forest.seen[judges], forest.noise[judges])

    def figure(oobs: list[OutOfBag]) -> float:
        # As if no row had been drawn: late rounds learn noise that the mean of all bags has less of than that of some.
        mixture = Mixture(objective, own, [replace(chain, oob=oob) for chain, oob in zip(chains, oobs, strict=True)])
        average = objective.average(mixture.losses(weights), mixture.rows)
        return average if average < 0 else objective.loss.figure(average)[1]  # an estimate below 0 has no root

    of_all = [_of_rows(chain.oob, judges) for chain in chains]
    limit = figure(of_all) + TOLERANCE * abs(figure(of_all))
    oobs = zip(*(_after_shares(chain, _SHARES, growth, judges) for chain in chains), strict=True)
    for share, of_share in zip(_SHARES, oobs, strict=True):
        if figure(list(of_share)) <= limit:
            return [_with_first_rounds(chain, share, growth) for chain in chains]
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


def _of_rows(oob: OutOfBag, rows: Mask) -> OutOfBag:
    return OutOfBag(oob.total[rows], oob.squares[rows], oob.n_trees[rows])


def _bags(chain: Chain) -> list[tuple[int, int]]:
    """Return the trees of every bag: where they begin and end."""
    return Stages((chain.model.n_trees,), (1.0,), (chain.n_bags,)).members(chain.model.seeds)[0]


def _rounds(chain: Chain, share: float) -> list[tuple[int, int]]:
    """Return the first trees of every bag."""
    return [(first, first + max(1, round(share * (end - first)))) for first, end in _bags(chain)]


def _with_first_bags(chain: Chain, n_bags: int) -> Chain:
    return replace(chain, model=chain.model.take(0, _bags(chain)[n_bags - 1][1]), n_bags=n_bags, all_bags=n_bags)


def _with_first_rounds(chain: Chain, share: float, growth: Growth) -> Chain:
    model = join([chain.model.take(first, end) for first, end in _rounds(chain, share)])
    oob = next(_after_shares(chain, (share,), growth, growth.objective.all_rows))
    return replace(chain, model=model, oob=oob)


def _after_shares(chain: Chain, shares: tuple[float, ...], growth: Growth, rows: Mask) -> Iterator[OutOfBag]:
    """Yield what the bags add up to after shares of their rounds, for those of some rows that they have not drawn."""
    data, threads = growth.data, growth.request.threads
    is_all = bool(rows.all())
    X, places = (data.X, None) if is_all else (data.X[rows], Places(len(rows), np.flatnonzero(rows)))
    done = [first for first, _ in _rounds(chain, 1.0)]
    totals = [np.zeros((len(X), chain.oob.total.shape[1])) for _ in done]
    for share in shares:
        for bag, (_, end) in enumerate(_rounds(chain, share)):
            if end > done[bag]:
                own = chain.model.take(done[bag], end)
                part = own.out_of_bag(X, data.sampling, threads, scores=True, places=places)
                totals[bag], done[bag] = totals[bag] + part.total, end
        squares = sum((t**2 for t in totals[1:]), totals[0] ** 2)
        yield OutOfBag(sum(totals[1:], totals[0]), squares, chain.oob.n_trees[rows])
