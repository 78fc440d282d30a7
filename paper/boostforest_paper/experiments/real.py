"""Tables of mixed columns that nobody here chose, as they come; the folder that ``--data`` names says which."""

from dataclasses import replace
from pathlib import Path

from boostforest_paper.data import real
from boostforest_paper.experiments import EXPERIMENTS, Block, Experiment, register
from boostforest_paper.types import Task

BEST = "BoostForest-best"
LEARNERS = (
    "RandomForest",
    "Extra-Trees",
    "HistGradientBoosting",
    "XGBoost",
    "LightGBM",
    "CatBoost",
    "EBM",
    "ChimeraBoost",
    "BoostForest",
    BEST,
)
NAME = "real"
TASKS: tuple[Task, ...] = ("classification", "regression")

register(
    Experiment(
        NAME,
        "Which default is the most accurate on tables of mixed columns that nobody here chose?",
        tuple(Block(task, (), LEARNERS, base=BEST) for task in TASKS),
        kind="arena",
        repeats=10,
        repeats_of_large=3,
        limit=600.0,
        note="Frames as they come: boosters, EBM and BoostForest get text and missing values themselves, RandomForest "
        "and Extra-Trees one-hot columns and the mean of a column for missing values. The commands: "
        "`boostforest-paper run real --data DIR`, then `report real --data DIR --markdown docs/results`.",
    )
)


def use_folder(folder: Path) -> bool:
    """Fill the experiment with the tables that the folder's manifest lists; return whether there are any."""
    names = real.register_folder(folder)
    experiment = EXPERIMENTS[NAME]
    blocks = tuple(replace(block, datasets=names[block.task]) for block in experiment.blocks)
    EXPERIMENTS[NAME] = replace(experiment, blocks=blocks)
    return any(names.values())
