"""Pool forests against the trees they are made of, and mixtures against forests of one kind."""

from boostforest_paper.experiments import Block, experiment
from boostforest_paper.experiments.paper import CLASSIFICATION, RANDOM, REGRESSION
from boostforest_paper.types import Task

DATASETS: dict[Task, tuple[str, ...]] = {"classification": CLASSIFICATION, "regression": REGRESSION}
TREES: dict[Task, dict[str, str]] = {  # forest -> its tree
    "classification": {"ETForest": "Extra-Tree", "LMForest": "LMT", "BoostForest": "BoostTree"},
    "regression": {"ETForest": "Extra-Tree", "ModelForest": "M5P", "BoostForest": "BoostTree"},
}

experiment(
    "pools",
    "Is a pool forest better than its tree, and a mixture better than each forest?",
    *(
        Block(task, DATASETS[task], (tree, forest), base=forest, title=f"{forest} against {tree}")
        for task, trees in TREES.items()
        for forest, tree in trees.items()
    ),
    *(
        Block(task, DATASETS[task], (*trees, "Mixture"), base="Mixture", title="Mixture")
        for task, trees in TREES.items()
    ),
    tuning=RANDOM,
    note="Mixture: BoostTree, Extra-Tree and LMT or M5P in equal parts, each with the pools of its own forest.",
)
