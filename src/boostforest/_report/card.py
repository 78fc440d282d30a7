"""The model card: what was fitted, with which settings and versions, and where it should not be trusted."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from . import html
from .facts import Facts

_FEW_ROWS = 200
_RARE = 0.02  # share of a class


def model_card(facts: Facts) -> str:
    """Return the card as HTML."""
    model, estimator = facts.model, facts.estimator
    items = [
        ("Model", f"<code>{type(estimator).__name__}</code>: {_what(facts)}"),
        ("Predicts", f"{html.text(facts.target)}, {_of_what(facts)}"),
        ("From", f"{len(facts.names)} columns: {html.text(_some(facts.names, 30))}"),
        ("Learned from", _training(facts)),
        ("Settings that are not defaults", _settings(estimator)),
        ("Trees", _trees(facts)),
        ("Size", f"{html.tell(model.nbytes / 1e6)} MB in memory"),
        ("Probabilities", _calibration(facts)),
        ("Versions", _versions()),
    ]
    limits = "".join(f"<li>{limit}</li>" for limit in _limits(facts))
    return html.pairs([(name, what) for name, what in items if what]) + f"<h3>Limits</h3><ul>{limits}</ul>"


def _what(facts: Facts) -> str:
    return f"a {facts.noun} of boosted trees" if facts.noun == "forest" else "a tree grown by boosting"


def _of_what(facts: Facts) -> str:
    loss = facts.model.loss
    if facts.classes is None:
        return f"a number (loss: {html.text(loss.name.replace('_', ' '))})"
    return f"one of {len(facts.classes)} classes: {html.text(_some([str(c) for c in facts.classes], 12))}"


def _some(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _training(facts: Facts) -> str:
    draws = facts.model.draws
    if facts.rows.is_training:
        return f"the {len(facts.y):,} rows of this report"
    if draws is not None:
        return f"{draws[1]:,} rows; those of this report are others" if facts.knows_its_rows else (
            f"{draws[1]:,} rows, which the file does not have"
        )  # fmt: skip
    return "other rows" if facts.knows_its_rows else "rows that the file does not have"


def _settings(estimator: Any) -> str:
    defaults = type(estimator)().get_params(deep=False)
    changed = {k: v for k, v in estimator.get_params(deep=False).items() if repr(v) != repr(defaults[k])}
    return ", ".join(f"<code>{html.text(k)}={html.text(v)}</code>" for k, v in changed.items()) or "none"


def _trees(facts: Facts) -> str:
    model, estimator = facts.model, facts.estimator
    told = f"{model.n_trees:,}, with {int(estimator.n_leaves_.sum()):,} leaves"
    if len(model.stages) == 1:
        return told
    parts = [
        f"{end - first:,} {'boosted ' if boosted else ''}trees × {html.tell(step)}"
        for (first, end), step, boosted in zip(
            model.stages.parts, model.stages.steps, model.stages.boosted, strict=True
        )
    ]
    return f"{told}, in {len(parts)} stages: {', '.join(parts)}"


def _calibration(facts: Facts) -> str:
    if facts.classes is None:
        return ""
    calibration = facts.model.calibration
    if calibration.is_identity:
        return "as the trees give them"
    return "isotonic" if calibration.knots else f"calibrated: log-odds × {html.tell(calibration.factor)}"


def _versions() -> str:
    found = [f"{name} {version(name)}" for name in ("boostforest", "numpy", "scikit-learn")]
    return f"{', '.join(found)}, Python {platform.python_version()}"


def _limits(facts: Facts) -> list[str]:
    told = "Effects, importances and contributions describe this model. They are not causes: to change a column in the "
    found = [f"{told}world may do something else."]
    if facts.model.columns.n_inputs.any():
        found.append(
            "Models at the nodes are lines: beyond the ranges in the table above predictions are continued, within the "
            "limits of each node; do not trust them far outside."
        )
    else:
        found.append("Beyond the ranges in the table above predictions stay as they are at the ends.")
    if facts.model.features.columns.categories:
        found.append("A level that the fit has not seen counts as unknown, like a missing value.")
    if facts.classes is None and hasattr(facts.estimator, "predict_interval"):
        found.append(
            "Prediction intervals hold on average over rows like those of the fit, not for every group of rows, and no "
            "longer when the world has changed."
        )
    if len(facts.y) < _FEW_ROWS:
        found.append(f"{len(facts.y)} rows are few: all figures here would be somewhat different with other rows.")
    if facts.classes is not None:
        shares = {str(label): float(np.mean(facts.y == label)) for label in facts.classes}
        rare = [label for label, share in shares.items() if share < _RARE]
        if rare:
            found.append(
                f"Rare classes ({html.text(_some(rare, 5))}) have fewer than {_RARE:.0%} of the rows: look at the "
                "balanced accuracy and their rows in the table of classes."
            )
    if not facts.rows.is_training and not facts.knows_its_rows:
        found.append("The model cannot tell whether its fit has seen the rows of this report.")
    return found
