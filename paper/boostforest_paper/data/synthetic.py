"""Stand-ins: made tables of the shape of SUSY, HIGGS and RLCT where those are not at hand.

They say how long a fit takes and how large a model gets at that size. Their errors say nothing about the originals.
"""

from __future__ import annotations

from pathlib import Path

from boostforest_paper.data import DATASETS, Dataset, Table, register
from boostforest_paper.data import generators as synthetic


def _stand_in(original: str) -> None:
    """Register a table of the same shape."""
    like = DATASETS[original]

    def read(folder: Path) -> Table:
        if like.n_classes:
            return Table(*synthetic.classification(like.n_rows, like.n_features, like.n_classes))
        return Table(*synthetic.regression(like.n_rows, like.n_features))

    note = f"made data of the shape of {original}"
    size = (like.n_rows, like.n_features, like.n_classes)
    register(Dataset(f"{original}-synthetic", like.task, *size, read, f"{original}, synthetic", note))


for _original in ("SUSY", "HIGGS", "RLCT"):
    _stand_in(_original)
