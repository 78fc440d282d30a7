"""Numbers as they are written in reports."""

from boostforest_paper.reports.paper import Figure

METRIC_NAMES = {
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "auc": "AUC",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "train_seconds": "training time, s",
    "predict_seconds": "prediction time, s",
    "cpu_seconds": "processor time, s",
    "model_bytes": "model size",
}


def score(figure: Figure | None) -> str:
    """Write mean and standard deviation as the paper does."""
    if figure is None:
        return "–"
    return f"{figure.mean:.4f}" if figure.std is None or figure.n == 1 else f"{figure.mean:.4f} ({figure.std:.4f})"


def seconds(value: float) -> str:
    """Write seconds with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def size(n_bytes: float) -> str:
    """Write bytes with a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5 or unit == "GB":
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    raise AssertionError


def quantity(name: str, figure: Figure | None) -> str:
    """Write a figure of any quantity."""
    if figure is None:
        return "–"
    if name.endswith("seconds"):
        return seconds(figure.mean)
    return size(figure.mean) if name == "model_bytes" else score(figure)


def plural(n: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
