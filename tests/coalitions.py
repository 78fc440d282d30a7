"""Shapley values the slow way: every coalition of columns, for the tests of explanations."""

import math

import numpy as np


def coalitions(n):
    """Return all sets of n columns, sets × columns."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def game(outputs, row, others):
    """Return what a function of tables gives for all mixtures of a row and each other: others × sets × outputs."""
    row, others = np.asarray(row), np.asarray(others)
    sets = coalitions(len(row))
    mixed = np.where(sets[None], row, others[:, None]).reshape(-1, len(row))
    seen = outputs(mixed)
    return seen.reshape(len(others), len(sets), -1)


def shapley(values):
    """Return the Shapley values of games, … × columns × outputs, given … × sets × outputs."""
    n = int(np.log2(values.shape[-2]))
    sets = coalitions(n)
    found = []
    for i in range(n):
        without = np.flatnonzero(~sets[:, i])
        sizes = sets[without].sum(axis=1)
        weights = np.array([math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in sizes])
        found.append(np.einsum("s,...so->...o", weights, values[..., without + 2**i, :] - values[..., without, :]))
    return np.stack(found, axis=-2)


def interaction(values):
    """Return the matrix of interactions of games in shap's convention, … × columns × columns × outputs."""
    n = int(np.log2(values.shape[-2]))
    sets = coalitions(n)
    own = shapley(values)
    found = np.zeros((*own.shape[:-2], n, n, own.shape[-1]))
    for i in range(n):
        for j in range(i):
            without = np.flatnonzero(~sets[:, i] & ~sets[:, j])
            sizes = sets[without].sum(axis=1)
            weights = np.array([math.factorial(s) * math.factorial(n - s - 2) / math.factorial(n - 1) for s in sizes])
            both, one, other = without + 2**i + 2**j, without + 2**i, without + 2**j
            change = values[..., both, :] - values[..., one, :] - values[..., other, :] + values[..., without, :]
            found[..., i, j, :] = found[..., j, i, :] = np.einsum("s,...so->...o", weights, change) / 2
    for i in range(n):
        found[..., i, i, :] = own[..., i, :] - found[..., i, :, :].sum(axis=-2)
    return found
