"""The paper's tables and figures."""

from boostforest_paper.data.paper import SMALL
from boostforest_paper.experiments import Block, experiment
from boostforest_paper.learners import grids
from boostforest_paper.learners.own import LEAF_SIZES

CLASSIFICATION, REGRESSION = SMALL["classification"], SMALL["regression"]
BINARY = tuple(name for name in CLASSIFICATION if name not in {"SEE", "VC3", "VS", "WDG"})
RANDOM = "random:20"  # draws from the paper's grids; all of a grid is hours of computing per dataset
FIVE = ("RandomForest", "Extra-Trees", "XGBoost", "LightGBM", "BoostForest")
SIZES = (3, 5, 10, 15, 25, 50, 75, 100, 150, 200, 250)
LEAVES = (2, 4, 8, 16, 32, 64, 128, 256)
SUSY = {(name, "BoostForest"): "BoostForest (SUSY)" for name in ("SUSY", "SUSY-synthetic")}
PAPER = {"in_paper": True}
TUNED = {"tuning": RANDOM, "in_paper": True}
experiment(
    "Ex1",
    "How does BoostForest compare with other ensembles on 30 small and medium datasets?",
    Block("classification", CLASSIFICATION, (*FIVE[:4], "MultiBoosting", "BoostForest")),
    Block("regression", REGRESSION, (*FIVE[:4], "GBDT-PL", "BoostForest")),
    **TUNED,
)
experiment(
    "Ex1_binary",
    "And with ensembles for two classes?",
    Block("classification", BINARY, ("GBDT-PL", "DeepBoosting", "FilterBoost", "BoostForest")),
    **TUNED,
)
SIZES_NOTE = (
    "Every size has its own choice of parameters, as in the paper. RandomForest and Extra-Trees are tuned on the "
    "validation part here, not out of bag. "
)
AHEAD = "In the paper BoostForest is first on {} of 15 datasets."
for _name, _measure, _block, _ahead in (
    ("C2", "accuracy", Block("classification", CLASSIFICATION, FIVE, points=SIZES), 11),
    ("R2", "RMSE", Block("regression", REGRESSION, FIVE, points=SIZES), 7),
):
    experiment(
        _name,
        f"How fast does the {_measure} settle with the number of base learners?",
        _block,
        kind="sizes",
        tuning=RANDOM,
        note=SIZES_NOTE + AHEAD.format(_ahead),
    )
for _name, _measure, _block, _ahead in (
    ("C3", "accuracy", Block("classification", CLASSIFICATION, FIVE, points=LEAVES[:5]), 12),
    ("R3", "RMSE", Block("regression", REGRESSION, FIVE, points=LEAVES), 7),
):
    experiment(
        _name,
        f"How does the {_measure} depend on the number of leaves of a base learner?",
        _block,
        kind="leaves",
        tuning=RANDOM,
        note=AHEAD.format(_ahead),
    )
experiment(
    "bigData",
    "Does it hold on large data?",
    Block("classification", ("YB", "LR", "SUSY"), FIVE, instead=SUSY),
    Block("regression", ("PTS", "RLCT"), FIVE),
    **TUNED,
)
_BAGGED = ("Bagging-LightGBM", "BoostForest")
experiment(
    "BLGBM_SI",
    "Is it only the size of the model? BoostForest against 600 bagged LightGBMs.",
    Block("classification", (*CLASSIFICATION, "YB", "LR", "SUSY"), _BAGGED, instead=SUSY),
    Block("regression", (*REGRESSION, "PTS", "RLCT"), _BAGGED),
    note="Bagging-LightGBM has LightGBM's defaults and 1,000 rounds: the paper does not say how it was tuned.",
    **PAPER,
)
experiment(
    "TAO_SI",
    "BoostForest against bagged trees with oblique splits and linear leaves.",
    Block("classification", (*CLASSIFICATION, "YB", "LR"), ("BaggedTAO-l", "BoostForest")),
    **TUNED,
)
experiment(
    "Ex_LMT_M5P_SI",
    "Does bootstrap with a random pool turn other trees into better forests, too?",
    Block(
        "classification",
        (*CLASSIFICATION, "YB"),
        ("Extra-Tree", "LMT", "BoostTree", "ETForest", "LMForest", "BoostForest"),
        instead={("YB", name): f"{name} (25 trees)" for name in ("LMForest", "BoostForest")},
    ),
    Block(
        "regression",
        (*REGRESSION, "RLCT"),
        ("Extra-Tree", "M5P", "BoostTree", "ETForest", "ModelForest", "BoostForest"),
    ),
    note="On YB, BoostForest and LMForest have 25 trees instead of 250, which would take more than 10 GB.",
    **TUNED,
)
experiment(
    "Ex7_SI",
    "Do other regression models work at the nodes?",
    *(
        Block("regression", REGRESSION, (node, f"BoostTree-{node}", f"BoostForest-{node}"), f"BoostForest-{node}", node)
        for node in ("ELM", "SVR")
    ),
    **TUNED,
)
_NAMES_OF = {"MNIST": ("MNIST",), "HIGGS": ("HIGGS", "HIGGS-subset", "HIGGS-synthetic")}
BAGGED = ("RandomForest", "Extra-Trees", "Bagging-XGBoost", "Bagging-LightGBM")
experiment(
    "mnist_higgs",
    "And networks at the nodes?",
    *(
        Block(
            "classification",
            (dataset,),
            (*BAGGED, f"Bagging-{net}_150", f"Bagging-{net}_3", f"BoostForest-{net}"),
            f"BoostForest-{net}",
            dataset,
            instead={(name, learner): f"{learner} (500)" for name in _NAMES_OF[dataset] for learner in BAGGED},
        )
        for dataset, net in (("MNIST", "CNN"), ("HIGGS", "DNN"))
    ),
    repeats=1,
    **PAPER,
)
_POOL = tuple(f"BoostForest (MSL={leaf}, lambda={float(value)})" for value in grids.POOL_LAMBDA for leaf in LEAF_SIZES)
experiment(
    "Ex_alpha_MSL",
    "How much do the leaf size and λ matter?",
    Block("classification", CLASSIFICATION, (*_POOL, "BoostForest")),
    Block("regression", REGRESSION, (*_POOL, "BoostForest")),
    kind="robustness",
    **PAPER,
)
experiment(
    "Ex_clip_SI",
    "Does clipping the node models pay in regression?",
    Block("regression", REGRESSION, ("BoostForest (w/o clipping)", "BoostForest")),
    **PAPER,
)
experiment(
    "Ex_criterion_SI",
    "Does the split criterion matter?",
    Block("classification", CLASSIFICATION, ("BoostForest (Gini-SC)", "BoostForest (C4.5-SC)", "BoostForest")),
    Block("regression", REGRESSION, ("BoostForest (MSE-SC)", "BoostForest")),
    **PAPER,
)
