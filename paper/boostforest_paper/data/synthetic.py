"""Synthetic tables of any size, and stand-ins of the shape of SUSY, HIGGS and RLCT where those are not at hand.

They say how long a fit takes and how large a model gets at that size. Errors of the stand-ins say nothing about the
originals.
"""

from pathlib import Path

from boostforest_paper import generators
from boostforest_paper.data import DATASETS, Dataset, Table, register


def _register(n_rows: int, n_features: int, n_classes: int = 0, *, like: str = "") -> None:
    """Register a table of a shape, named after it or after the dataset whose shape it has."""

    def read(folder: Path) -> Table:
        if n_classes:
            return Table(*generators.classification(n_rows, n_features, n_classes))
        return Table(*generators.regression(n_rows, n_features))

    name = f"{like}-synthetic" if like else "x".join(str(n) for n in (n_rows, n_features, n_classes) if n)
    note = f"synthetic data of the shape of {like}" if like else "synthetic data"
    title = f"{like}, synthetic" if like else "Synthetic"
    task = "classification" if n_classes else "regression"
    register(Dataset(name, task, n_rows, n_features, n_classes, read, title, note))


def _read_one_hot(folder: Path) -> Table:
    return Table(*generators.one_hot(50_000))


for _original in ("SUSY", "HIGGS", "RLCT"):
    _like = DATASETS[_original]
    _register(_like.n_rows, _like.n_features, _like.n_classes, like=_original)
for _shape in ((20_000, 20), (100_000, 20), (1_000_000, 20), (5_000, 1_000), (3_000, 10), (500, 150), (3_000, 10, 5)):
    _register(*_shape)
register(
    Dataset(
        "onehot", "classification", 50_000, 106, 2, _read_one_hot, "Six numbers, seven categories", "synthetic data"
    )
)
