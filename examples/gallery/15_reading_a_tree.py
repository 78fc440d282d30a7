"""
Reading a single tree
=====================

One tree with few leaves is a model to read: conditions, and a formula at each leaf, in the units of the table.
"""

from sklearn.datasets import load_diabetes

from boostforest import BoostTreeRegressor, export_text, plot_tree

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tree = BoostTreeRegressor(max_leaf_nodes=4, n_cuts=20, min_samples_leaf=40, reg_lambda=1, random_state=0).fit(X, y)
print(export_text(tree))

# %%
# The same as a table with one row per node ...

print(tree.to_dataframe().iloc[:, :6].round(2).to_string())

# %%
# ... and as a picture. ``plot.tree(forest, 3)`` draws a tree of a forest.

_ = plot_tree(tree)
