"""The field of today on the paper's 30 datasets, and a quick look at it that needs no data."""

from boostforest_paper.experiments import Block, experiment
from boostforest_paper.experiments.paper import CLASSIFICATION, FIVE, REGRESSION

FIELD = (
    "RandomForest",
    "Extra-Trees",
    "HistGradientBoosting",
    "XGBoost",
    "LightGBM",
    "LightGBM-linear",
    "CatBoost",
    "EBM",
    "ChimeraBoost",
    "PerpetualBooster",
    "RaFFLE",
    "linear-tree",
    "BoostForest",
)
# On one thread EBM takes minutes on thirty features, PerpetualBooster on ten classes.
QUICK = tuple(name for name in FIELD if name not in {"EBM", "PerpetualBooster", "linear-tree"})
QUICK_CLASSIFICATION = ("iris", "wine", "breast_cancer", "digits")
QUICK_REGRESSION = ("diabetes", "friedman1", "friedman2", "friedman3")
QUICK_SIZES = (3, 10, 25, 50, 100, 250)


def _both(
    learners: tuple[str, ...],
    classification: tuple[str, ...],
    regression: tuple[str, ...],
    points: tuple[int, ...] = (),
) -> tuple[Block, ...]:
    """Return a block per task; RaFFLE has no classifier."""
    without = tuple(name for name in learners if name != "RaFFLE")
    return (
        Block("classification", classification, without, points=points),
        Block("regression", regression, learners, points=points),
    )


experiment(
    "today",
    "How does BoostForest compare with today's learners, all with their defaults?",
    *_both(FIELD, CLASSIFICATION, REGRESSION),
)
experiment(
    "quick",
    "A first look: defaults of today's learners on what comes with scikit-learn.",
    *_both(QUICK, QUICK_CLASSIFICATION, QUICK_REGRESSION),
    repeats=3,
)
experiment(
    "quick_sizes",
    "A first look at how fast ensembles settle.",
    *_both(FIVE, QUICK_CLASSIFICATION, QUICK_REGRESSION, QUICK_SIZES),
    kind="sizes",
    repeats=1,
)
