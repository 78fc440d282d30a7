"""Arguments of the baselines that are pool forests."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any


@dataclass(eq=False, repr=False)
class PoolArguments:
    """What all of them take; see `boostforest.PoolForestClassifier`."""

    n_estimators: int = 500
    _: KW_ONLY
    bootstrap: bool = True
    max_samples: Any = None
    oob_score: Any = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
