"""The paper's candidate values, from its supplementary table of parameter settings.

"N" there is the number of samples of a dataset. Its names of parameters are those of each package; where ours differ
(the baselines of ``boostforest``) the registration translates.
"""

from __future__ import annotations

from boostforest_paper.learners import Grid, Settings

LARGE = 10_000  # above so many samples the paper allows larger trees
PENALTIES = [1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100]
RATES = [0.01, 0.1]
SIZES = [50, 100, 150, 200, 250]
POOL_LAMBDA = [1e-4, 1e-3, 1e-2, 1e-1, 1]


def _weights(settings: Settings) -> list[float]:
    """Least sum of hessians in a leaf."""
    return settings.pick([0.01, 0.1, 1, 10, 100], [1, 10, 100])


def _leaves(settings: Settings) -> list[int]:
    return [2**4, 2**6, 2**8, 2**10] if settings.n_rows > LARGE else [2**1, 2**2, 2**4, 2**8]


def forest(settings: Settings) -> Grid:
    """RandomForest and Extra-Trees."""
    return {"min_samples_leaf": [1, 2, 4, 8], "n_estimators": SIZES}


def xgboost(settings: Settings) -> Grid:
    """XGBoost, with 250 rounds at the most."""
    return {
        "reg_alpha": PENALTIES,
        "reg_lambda": PENALTIES,
        "n_estimators": [250],
        "learning_rate": RATES,
        "min_child_weight": _weights(settings),
        "max_depth": [4, 6, 8, 10] if settings.n_rows > LARGE else [1, 2, 4, 8],
    }


def lightgbm(settings: Settings) -> Grid:
    """LightGBM, with 250 rounds at the most."""
    return {
        "reg_alpha": PENALTIES,
        "reg_lambda": PENALTIES,
        "n_estimators": [250],
        "learning_rate": RATES,
        "min_child_weight": _weights(settings),
        "num_leaves": _leaves(settings),
    }


def gbdt_pl(settings: Settings) -> Grid:
    """GBDT-PL: ``l2_reg``, ``l1_reg``, ``num_trees``, ``learning_rate``, ``min_sum_hessians``, ``num_leaves``."""
    return {
        "reg_lambda": PENALTIES,
        "reg_alpha": PENALTIES,
        "n_estimators": [250],
        "learning_rate": RATES,
        "min_child_weight": _weights(settings),
        "max_leaf_nodes": _leaves(settings),
    }


def multi_boosting(settings: Settings) -> Grid:
    """MultiBoosting."""
    return {"max_depth": [4, 8, 10, 12], "n_estimators": SIZES}


def deep_boosting(settings: Settings) -> Grid:
    """DeepBoosting: ``tree_depth``, ``num_iter``, ``beta``, ``lambda``."""
    return {
        "max_depth": [1, 2, 4, 8],
        "n_estimators": SIZES,
        "beta": [2.0**power for power in range(-6, 1)],
        "lambda_": [0.0001, 0.005, 0.01, 0.05, 0.1, 0.5],
    }


def filter_boost(settings: Settings) -> Grid:
    """FilterBoost, with 250 rounds at the most."""
    return {"max_depth": [1, 2, 4, 8], "n_estimators": [250]}


def bagged_tao(settings: Settings) -> Grid:
    """BaggedTAO-l, with 250 trees at the most."""
    return {"max_depth": [2, 4, 6, 8], "n_estimators": [250]}


def extra_tree(settings: Settings) -> Grid:
    """Extra-Tree, a single one."""
    return {"max_depth": [1, 2, 4, 6, 8, 10], "min_samples_leaf": [5, 10, 15]}


def elm(settings: Settings) -> Grid:
    """ELM by itself: the values of the pool."""
    return {"n_hidden": [10, 20, 30, 40], "reg_lambda": POOL_LAMBDA}


def linear_svr(settings: Settings) -> Grid:
    """Linear SVR by itself: the values of the pool."""
    return {"C": [0.01, 0.1, 1.0, 10.0, 100.0], "epsilon": [0.1, 0.2, 0.4, 0.8, 1.0]}
