"""What missing values cost: the same datasets with fewer and fewer cells, beside two boosters that take them too."""

from boostforest_paper.data.knocked_out import KINDS, NAMES, PERCENTS, named
from boostforest_paper.experiments import Block, experiment

LEARNERS = ("HistGradientBoosting", "LightGBM", "BoostForest")

experiment(
    "missing",
    "What do missing values cost?",
    *(Block(task, names, LEARNERS, title=f"Nothing missing, {task}") for task, names in NAMES.items()),
    *(
        Block(
            task,
            tuple(named(name, kind, percent) for name in names),
            LEARNERS,
            title=f"{percent} % missing, {kind}, {task}",
        )
        for task, names in NAMES.items()
        for kind in KINDS
        for percent in PERCENTS
    ),
    repeats=5,
)
