"""Who is timed: learners of boostforest-paper's registry, with as many trees as were asked for, and their sizes."""

from typing import Any

from boostforest_paper.learners import Settings, find
from boostforest_paper.running.size import file_bytes

BASE = "BoostForest"  # what all others are divided by
# Parameters of those that are not as they are registered; None: the number of trees, which boosters decide themselves.
LEARNERS: dict[str, dict[str, Any]] = {
    BASE: {"n_estimators": None},
    "RandomForest": {"n_estimators": None},
    "Extra-Trees": {"n_estimators": None, "bootstrap": False},
    "HistGradientBoosting": {},
    "LightGBM": {},
    "LightGBM-linear": {},
    "XGBoost": {},
    "CatBoost": {},
}


def make(name: str, settings: Settings, n_estimators: int) -> Any:
    """Make an unfitted model."""
    params = {key: n_estimators if value is None else value for key, value in LEARNERS.get(name, {}).items()}
    return find(name).build(settings, params)


def model_bytes(model: Any) -> int | None:
    """Size of a fitted model: its own count or file format where it has one, else its pickle's length."""
    return int(model.model_size_) if hasattr(model, "model_size_") else file_bytes(model)
