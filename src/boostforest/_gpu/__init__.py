"""Growth and prediction of ridge trees in PyTorch, on a GPU: many trees at once, level by level.

Knows nothing of estimators: arrays and numbers in, the columns of a forest out. The draws are those of the core.
"""
