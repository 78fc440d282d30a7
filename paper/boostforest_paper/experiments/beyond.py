"""What the options beyond the paper bring: on the 30 datasets among today's learners, and where the paper's lose."""

from boostforest_paper.data.hard import HARD
from boostforest_paper.experiments import Block, experiment
from boostforest_paper.experiments.paper import CLASSIFICATION, REGRESSION
from boostforest_paper.experiments.today import FIELD

BEST = "BoostForest-best"
RIVALS = tuple(name for name in FIELD if name not in {"PerpetualBooster", "RaFFLE", "linear-tree"})

experiment(
    "beyond",
    "What does preset='best' bring, and how does it rank among today's learners?",
    Block("classification", CLASSIFICATION, (*RIVALS, BEST), base=BEST),
    Block("regression", REGRESSION, (*RIVALS, BEST), base=BEST),
)
experiment(
    "beyond_hard",
    "Does it find what helps on tables where the paper's settings lose to boosting?",
    *(
        Block(task, names, ("LightGBM", "HistGradientBoosting", "BoostForest", BEST), base=BEST)
        for task, names in HARD.items()
    ),
    repeats=5,
)
