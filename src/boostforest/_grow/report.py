"""What an adaptive pool has learned, as a table and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .adaptive import Trial
from .objective import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def plot_pool(report: list[dict[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw the change of the loss by each setting, and the shares that the settings have got."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(8, 1 + 0.3 * len(report)), layout="constrained")
    changes = [100 * row["change"] for row in report]
    colours = ["tab:green" if row["share"] > 0 else "lightgrey" for row in report]
    ax.barh(range(len(report)), changes, color=colours)
    ax.set_yticks(range(len(report)), [_label(row["settings"]) for row in report], fontsize="small")
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=0.8)
    for place, row in enumerate(report):
        if row["share"] > 0:
            ax.annotate(
                f" {row['share']:.0%} of the trees", (max(changes[place], 0), place), va="center", fontsize="small"
            )
    ax.margins(x=0.25)
    ax.set_xlabel("out-of-bag loss against the first setting, %")
    return ax


def _label(settings: dict[str, Any]) -> str:
    """Return settings in few characters."""
    if not settings:
        return "as given"
    parts = []
    for name, value in settings.items():
        if name == "split_features":
            parts.append(f"{len(value)} features")
            continue
        several = isinstance(value, tuple) and len(value) > 1
        parts.append(f"{name} {value[0]:g}…{value[-1]:g}" if several else f"{name} {value}")
    return ", ".join(parts)
