"""Everything that this package takes from private modules of boostforest.

`baselines.network_bags` alone takes more, from ``boostforest.nodes._torch``, which needs PyTorch.
"""

from boostforest import _core
from boostforest._bagging import Sampling
from boostforest._columns import ReadOnlyColumns
from boostforest._declare import is_integer, is_real
from boostforest._docs import fill_docstring
from boostforest._draws import Entropy, Seeds, child, entropy_of, tree_seeds
from boostforest._member_jobs import drawn_rows
from boostforest._members import seeded_clone
from boostforest._pool_base import PoolClassification, PoolForestPart, PoolRegression
from boostforest._pool_docs import describe_pool_forest
from boostforest._snapshot import fitted_aside, on_snapshot
from boostforest._tasks import LabelsPart
from boostforest._threads import n_threads
from boostforest._validation import (
    check_sample_weight,
    class_weights,
    mean_and_deviation,
    n_bootstrap_draws,
    warn_if_one_class,
)
from boostforest.nodes._python import Problem, centred

__all__ = [
    "Entropy",
    "LabelsPart",
    "PoolClassification",
    "PoolForestPart",
    "PoolRegression",
    "Problem",
    "ReadOnlyColumns",
    "Sampling",
    "Seeds",
    "_core",
    "centred",
    "check_sample_weight",
    "child",
    "class_weights",
    "describe_pool_forest",
    "drawn_rows",
    "entropy_of",
    "fill_docstring",
    "fitted_aside",
    "is_integer",
    "is_real",
    "mean_and_deviation",
    "n_bootstrap_draws",
    "n_threads",
    "on_snapshot",
    "seeded_clone",
    "tree_seeds",
    "warn_if_one_class",
]
