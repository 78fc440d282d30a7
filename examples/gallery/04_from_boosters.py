"""
Coming from LightGBM, XGBoost or CatBoost
=========================================

There is no learning rate, and no number of rounds to stop at: rows that trees have not drawn decide how much boosting
helps. What you know by other names:

============================================  ==================================================================
LightGBM, XGBoost, CatBoost                   boostforest
============================================  ==================================================================
``num_leaves``, ``min_child_samples``         ``max_leaf_nodes``, ``min_samples_leaf``
``lambda_l2``, ``reg_lambda``                 ``reg_lambda``
``early_stopping_rounds``                     out of bag, by itself; ``n_estimators="auto"``
``categorical_feature``, ``cat_features``     ``categorical_features``; text columns by themselves
``objective="poisson"``                       ``loss="poisson"``
``monotone_constraints``                      ``monotonic_cst``
``pred_contrib``, ``ShapValues``              ``explain``
``linear_tree``                               always: a model at every node, clipped to what it has seen
============================================  ==================================================================

scikit-learn's histogram boosting stands for the boosters here.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from boostforest import BoostForestClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
losses = {"HistGradientBoosting": [], "BoostForest": []}
for train, test in StratifiedShuffleSplit(4, test_size=0.3, random_state=0).split(X, y):
    for name, learner in {
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "BoostForest": BoostForestClassifier(random_state=0),
    }.items():
        with threadpool_limits(1):  # so small a table is quicker without threads
            fitted = learner.fit(X.iloc[train], y.iloc[train])
        losses[name].append(log_loss(y.iloc[test], fitted.predict_proba(X.iloc[test])))

# %%
# Boosters are over-confident on small tables; averaged and calibrated trees are not. Four random splits, each a line:

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for pair in zip(*losses.values(), strict=True):
    ax.plot(pair, [0, 1], "o-", color="0.6", markerfacecolor="#0072B2")
ax.set(yticks=[0, 1], yticklabels=losses, ylim=(-0.4, 1.4), xlim=(0, None))
_ = ax.set_xlabel("log-loss on test rows, less is better")
