"""Every random number that is drawn in Python: tree seeds and pool draws.

The core draws the rest (bootstrap rows, thresholds, batches) from the tree's seed with the same counter-based function,
see ``src/core/base/random.hpp``. There is no generator state anywhere: tree ``t`` is the same whatever else is drawn,
so warm starts continue where a larger forest would have been and threads cannot change the result.
"""

import numbers
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import TreeTag, word
from .arrays import PerTree
from .typing import Entropy

Seeds: TypeAlias = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_HALF_WORD = np.uint64(32)
_FOLD_TAG, _ROWS_TAG, _BAGS_TAG = 1, 2, 3  # apart from the tree seeds, which have no spawn key


def child(key: int, tag: int) -> int:
    """Return the key of what is named by ``tag`` under a key."""
    return int(word(np.array([key], dtype=np.uint64), tag)[0])


def entropy_of(random_state: object) -> Entropy:
    """Return what all seeds of a fit follow from; None asks the operating system."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, np.random.Generator):
        return tuple(int(v) for v in random_state.integers(2**32, size=4))
    if isinstance(random_state, np.random.RandomState):
        return tuple(int(v) for v in random_state.randint(2**32, size=4, dtype=np.int64))
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(
        "random_state must be None, a non-negative integer, a numpy RandomState or a numpy Generator; "
        f"got {random_state!r}."
    )


def tree_seeds(entropy: Entropy, n_trees: int) -> Seeds:
    """Return one seed per tree; fewer trees get the first of the same seeds."""
    seeds: Seeds = np.random.SeedSequence(entropy).generate_state(n_trees, np.uint64).astype(np.uint64, copy=False)
    return seeds


def bag_seeds(entropy: Entropy, n_bags: int) -> Seeds:
    """Return one seed per bag of boosted trees: the forest beside them has the same trees as without them."""
    sequence = np.random.SeedSequence(entropy, spawn_key=(_BAGS_TAG,))
    return sequence.generate_state(n_bags, np.uint64).astype(np.uint64, copy=False)


def is_distribution(pool: object) -> bool:
    """Tell whether a pool is a distribution in the style of scipy.stats."""
    return callable(getattr(pool, "rvs", None))


def pool_keys(seeds: Seeds) -> Seeds:
    """Return the keys that the parameters of each tree are drawn under."""
    return word(seeds, TreeTag.POOLS)


def pool_words(seeds: Seeds, parameter: int) -> Seeds:
    """Return the words that one parameter of each tree is drawn with.

    ``parameter`` numbers the parameter, so that each has its own draws whatever the other pools are.
    """
    return word(pool_keys(seeds), parameter)


def draw(pool: Any, words: Seeds, check: Callable[[Any], Any]) -> PerTree:
    """Draw one value per word from a pool: a list, or a distribution whose draws are checked one by one."""
    if not isinstance(pool, list):
        values = [check(pool.rvs(random_state=np.random.default_rng(int(w)))) for w in words]
        return PerTree(values, np.arange(len(values)))
    picks = ((words >> _HALF_WORD) * np.uint64(len(pool))) >> _HALF_WORD
    return PerTree(pool, picks.astype(np.intp))


def draw_parameter(pool: Any, keys: Seeds, parameter: int, check: Callable[[Any], Any]) -> PerTree:
    """Draw one value per tree; ``keys`` of `pool_keys`, ``parameter`` as in ``pool_words``."""
    if isinstance(pool, list) and len(pool) == 1:  # most are: no words are needed
        return PerTree.same(pool[0], len(keys))
    return draw(pool, word(keys, parameter), check)


def choose_columns(seed: np.uint64, n: int, k: int) -> npt.NDArray[np.intp]:
    """Choose k of n columns without replacement, in ascending order: those with the smallest words."""
    key = word(np.array([seed], dtype=np.uint64), TreeTag.MEMBER_COLUMNS)
    words = word(key + _STEP * np.arange(n, dtype=np.uint64), 0)  # word(key, i) for every column i, at once
    return np.sort(np.argsort(words, kind="stable")[:k])


def member_words(seeds: Seeds, parameter: int) -> Seeds:
    """Return the words that foreign members are seeded with, for each of their ``random_state`` parameters."""
    return word(word(seeds, TreeTag.MEMBER_SEEDS), parameter)


def fold_numbers(entropy: Entropy, n_rows: int, n_folds: int) -> npt.NDArray[np.int64]:
    """Deal the rows into folds of the same size at random; return the number of each row's fold."""
    key = np.random.SeedSequence(entropy, spawn_key=(_FOLD_TAG,)).generate_state(1, np.uint64)
    words = word(key + _STEP * np.arange(n_rows, dtype=np.uint64), 0)  # word(key, row)
    folds = np.empty(n_rows, dtype=np.int64)
    folds[np.argsort(words, kind="stable")] = np.arange(n_rows) % n_folds
    return folds


def choose_rows(entropy: Entropy, n_rows: int, n: int, weight: npt.NDArray[np.float64] | None) -> npt.NDArray[np.int64]:
    """Choose at most n rows without replacement, by their weights if they have some, in ascending order."""
    if weight is None and n_rows <= n:
        return np.arange(n_rows)
    generator = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_ROWS_TAG,)))
    if weight is None:
        return np.sort(generator.choice(n_rows, n, replace=False))
    n_left = int(np.count_nonzero(weight))
    return np.sort(generator.choice(n_rows, min(n, n_left), replace=False, p=weight / weight.sum()))
