"""Pictures of fitted trees and forests; needs matplotlib (``pip install "boostforest[plot]"``).

Every function takes a fitted estimator (or what its ``explain`` returns), draws into the axes that it is given or into
a figure of its own, and returns the axes. Colours can be told apart by colour-blind readers, and fit dark backgrounds.
"""

from ._contributions import beeswarm, waterfall
from ._effects import effect
from ._errors import intervals, residuals
from ._growth import compression, convergence, pool
from ._importances import importances
from ._probabilities import calibration
from ._tree import plot_tree, to_dot, tree

__all__ = [
    "beeswarm",
    "calibration",
    "compression",
    "convergence",
    "effect",
    "importances",
    "intervals",
    "plot_tree",
    "pool",
    "residuals",
    "to_dot",
    "tree",
    "waterfall",
]
