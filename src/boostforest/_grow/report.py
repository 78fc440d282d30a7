"""What an adaptive pool has learned, as a table."""

from typing import Any

from .adaptive import Trial
from .objective import Objective


def pool_report(trials: list[Trial], objective: Objective) -> list[dict[str, Any]]:
    """Return one row per setting that was tried."""
    rows = trials[0].group.oob.n_trees[:, 0] >= 2
    first = objective.average(trials[0].losses, rows)
    return [
        {
            "round": trial.round,
            "settings": trial.settings,
            "n_trees": trial.group.n_trees,
            "oob_loss": (loss := objective.average(trial.losses, rows)),
            "change": loss / first - 1 if first > 0 else float("nan"),
            "share": trial.share,
        }
        for trial in trials
    ]
