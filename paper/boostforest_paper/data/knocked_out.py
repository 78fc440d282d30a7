"""Ten of the paper's datasets with cells knocked out, to see what missing values cost."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from boostforest_paper.data import Dataset, Table, find, paper, register
from boostforest_paper.types import Floats, Task

NAMES: dict[Task, tuple[str, ...]] = {
    "classification": ("SEE", "VC3", "PID", "VS", "DRD"),
    "regression": ("AMPG", "NO", "BH", "CCS", "ASN"),
}
KINDS = {"random": "any with the same chance", "large": "the likelier the larger a value is in its column"}
PERCENTS = (10, 30, 50)


def knock_out(X: Floats, share: float, kind: str, seed: int = 0) -> Floats:
    """Return the table without a share of its cells."""
    ranks = pd.DataFrame(X).rank(pct=True).to_numpy()
    chance = share if kind == "random" else np.minimum(1.0, 2 * share * ranks)
    return np.where(np.random.default_rng(seed).random(X.shape) < chance, np.nan, X)


def _read(name: str, kind: str, percent: int, folder: Path) -> Table:
    table = paper.read(name, folder)
    return table._replace(X=knock_out(table.X, percent / 100, kind))


def named(name: str, kind: str, percent: int) -> str:
    """Return how a dataset without some of its cells is called."""
    return f"{name}-{kind}{percent}"


for _name in (*NAMES["classification"], *NAMES["regression"]):
    for _kind, _which in KINDS.items():
        for _percent in PERCENTS:
            _like = find(_name)
            register(
                Dataset(
                    named(_name, _kind, _percent),
                    _like.task,
                    *(_like.n_rows, _like.n_features, _like.n_classes),
                    partial(_read, _name, _kind, _percent),
                    f"{_like.title}, {_percent} % of the cells missing",
                    f"{_percent} % of the cells knocked out: {_which}",
                )
            )
