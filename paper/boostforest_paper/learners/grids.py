"""The paper's candidate values, from its supplementary table of parameter settings.

"N" there is the number of samples of a dataset. Its names of parameters are those of each package; where ours differ
(the baselines of ``boostforest``) the registration translates.
"""

from boostforest_paper.learners import Grid, Settings

LARGE = 10_000  # above so many samples the paper allows larger trees
PENALTIES = [1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100]
SIZES = [50, 100, 150, 200, 250]
POOL_LAMBDA = [1e-4, 1e-3, 1e-2, 1e-1, 1]


def _leaves(settings: Settings) -> list[int]:
    return [2**4, 2**6, 2**8, 2**10] if settings.n_rows > LARGE else [2**1, 2**2, 2**4, 2**8]


def _boosting(settings: Settings) -> Grid:
    """Return what boosters share, with 250 rounds at the most."""
    weights = settings.pick([0.01, 0.1, 1, 10, 100], [1, 10, 100])  # least sum of hessians in a leaf
    penalties = {"reg_alpha": PENALTIES, "reg_lambda": PENALTIES}
    return {**penalties, "n_estimators": [250], "learning_rate": [0.01, 0.1], "min_child_weight": weights}


def xgboost(settings: Settings) -> Grid:
    """XGBoost."""
    return {**_boosting(settings), "max_depth": [4, 6, 8, 10] if settings.n_rows > LARGE else [1, 2, 4, 8]}


def lightgbm(settings: Settings) -> Grid:
    """LightGBM."""
    return {**_boosting(settings), "num_leaves": _leaves(settings)}


def gbdt_pl(settings: Settings) -> Grid:
    """GBDT-PL: ``l2_reg``, ``l1_reg``, ``num_trees``, ``learning_rate``, ``min_sum_hessians``, ``num_leaves``."""
    return {"reg_lambda": PENALTIES, **_boosting(settings), "max_leaf_nodes": _leaves(settings)}


FOREST = {"min_samples_leaf": [1, 2, 4, 8], "n_estimators": SIZES}  # RandomForest and Extra-Trees
MULTI_BOOSTING = {"max_depth": [4, 8, 10, 12], "n_estimators": SIZES}
DEEP_BOOSTING = {  # tree_depth, num_iter, beta, lambda
    "max_depth": [1, 2, 4, 8],
    "n_estimators": SIZES,
    "beta": [2.0**power for power in range(-6, 1)],
    "lambda_": [0.0001, 0.005, 0.01, 0.05, 0.1, 0.5],
}
FILTER_BOOST = {"max_depth": [1, 2, 4, 8], "n_estimators": [250]}  # rounds at the most
BAGGED_TAO = {"max_depth": [2, 4, 6, 8], "n_estimators": [250]}  # trees at the most
EXTRA_TREE = {"max_depth": [1, 2, 4, 6, 8, 10], "min_samples_leaf": [5, 10, 15]}
# By themselves: the values of the pools.
ELM = {"n_hidden": [10, 20, 30, 40], "reg_lambda": POOL_LAMBDA}
LINEAR_SVR = {"C": [0.01, 0.1, 1.0, 10.0, 100.0], "epsilon": [0.1, 0.2, 0.4, 0.8, 1.0]}
