"""What the commands say: tables for people, JSON for programs."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._files.files import read_description
from .messages import number_text

Report = dict[str, Any]


def print_json(report: Report) -> None:
    """Print a report for programs."""
    print(json.dumps(report, indent=2, ensure_ascii=False, default=_plain))  # noqa: T201


def count_targets(estimator: Any) -> int:
    """Return the number of targets of a fitted model."""
    n_classes = getattr(estimator, "n_classes_", None)
    return len(n_classes) if isinstance(n_classes, list) else int(np.size(getattr(estimator, "target_mean_", 0.0)))


def print_values(console: Console, values: dict[str, Any]) -> None:
    """Print names and values in two columns."""
    table = Table.grid(padding=(0, 2))
    for name, value in values.items():
        table.add_row(f"[bold]{escape(name)}[/]", escape(str(value)))
    console.print(table)


def print_table(console: Console, title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Print a table: text, then numbers."""
    console.print(
        f"[italic]{escape(title)}[/]", soft_wrap=True, highlight=False
    )  # a title of the table would be wrapped
    table = Table(header_style="bold")
    for k, head in enumerate(heads):
        table.add_column(escape(head), justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)


def figure_text(value: float | None) -> str:
    """Return a figure: four decimals of a share, others in the user's units."""
    if value is None:
        return "undefined"
    return f"{value:.4f}" if abs(value) <= 1 else number_text(value)


def bytes_text(n: float) -> str:
    """Return a number of bytes as people say it."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}" if unit == "bytes" else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the columns, numbers where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [str(j) for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def importances(estimator: Any, top: int) -> list[Report]:
    """Return the columns that matter most."""
    gain, slope = estimator.feature_importances_, _slopes(estimator)
    names = feature_names(estimator)
    return [
        {"feature": names[j], "gain": float(gain[j]), "slope": None if slope is None else float(slope[j])}
        for j in np.argsort(-gain, kind="stable")[:top]
    ]


def _slopes(estimator: Any) -> Any:
    try:
        return estimator.slope_importances_
    except (AttributeError, ValueError):  # node models without slopes
        return None


def print_importances(console: Console, found: list[Report]) -> None:
    """Print the columns that matter most."""
    rows = [
        [item["feature"], f"{item['gain']:.3f}", "" if item["slope"] is None else number_text(item["slope"])]
        for item in found
    ]
    print_table(console, "Features", ["feature", "share of gain", "effect of one standard deviation"], rows)


def describe(path: Path, estimator: Any, top: int) -> Report:
    """Return what is in a model file."""
    head, parts = read_description(path)
    n_targets, classes = count_targets(estimator), getattr(estimator, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes).tolist() if n_targets == 1 else [np.asarray(own).tolist() for own in classes]
    defaults = type(estimator)().get_params(deep=False)
    changed = {k: v for k, v in estimator.get_params(deep=False).items() if repr(v) != repr(defaults[k])}
    return {
        "file": str(path),
        "bytes": os.path.getsize(path),
        "estimator": type(estimator).__name__,
        "format_version": int(head["format_version"]),
        "written_by": head["boostforest_version"],
        "parameters": {name: _plain(value) for name, value in changed.items()},
        "n_trees": int(estimator.forest_.n_trees),
        "n_nodes": int(estimator.n_nodes_.sum()),
        "n_leaves": int(estimator.n_leaves_.sum()),
        "n_targets": n_targets,
        "classes": classes,
        "oob_score": getattr(estimator, "oob_score_", None),
        "features": feature_names(estimator),
        "top_features": importances(estimator, top),
        "bytes_by_part": dict(sorted(parts.items(), key=lambda item: -item[1])),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def print_description(console: Console, report: Report) -> None:
    """Print what is in a model file."""
    classes, names = report["classes"], report["features"]
    values = {
        report["estimator"]: ", ".join(f"{k}={v}" for k, v in report["parameters"].items()) or "default parameters",
        "file": f"{report['file']}, {bytes_text(report['bytes'])}, format {report['format_version']}, "
        f"written by boostforest {report['written_by']}",
        "trees": f"{report['n_trees']:,}, with {report['n_nodes']:,} nodes, {report['n_leaves']:,} of them leaves",
        "features": f"{len(names)}: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}",
    }
    if report["n_targets"] > 1:
        values["targets"] = str(report["n_targets"])
    if classes is not None:
        values["classes"] = ", ".join(str(c) for c in classes[:20]) + (" …" if len(classes) > 20 else "")
    if report["oob_score"] is not None:
        values["out-of-bag score"] = f"{report['oob_score']:.4f}"
    print_values(console, values)
    print_importances(console, report["top_features"])
    total = sum(report["bytes_by_part"].values())
    rows = [
        [part, bytes_text(n), f"{n / total:.0%}"] for part, n in report["bytes_by_part"].items() if n > 0.005 * total
    ]
    print_table(console, "Size by part", ["part", "size", "share"], rows)
