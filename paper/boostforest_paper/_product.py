"""Everything that this package takes from private modules of boostforest.

`baselines.network_bags` alone takes more, from ``boostforest.nodes._torch``, which needs PyTorch.
"""

from boostforest import _core
from boostforest._base.arrays import ReadOnlyColumns, check_sample_weight, class_weights, mean_and_deviation
from boostforest._base.declare import argument, arguments_of, declared, is_integer, is_real
from boostforest._base.docs import fill_docstring
from boostforest._base.draws import child, entropy_of, tree_seeds
from boostforest._base.sampling import Sampling
from boostforest._base.typing import Array, Bytes, Entropy, Floats, Indices, Ints, Labels, Longs, Mask, Seeds
from boostforest._base.validation import warn_if_one_class
from boostforest._estimator.base import n_threads
from boostforest._estimator.classifier import find_classes
from boostforest._estimator.forest import n_bootstrap_draws
from boostforest._estimator.snapshot import fitted_aside, on_snapshot
from boostforest._grow.rounding import with_smallest_dtype
from boostforest._pools.base import PoolClassifier, PoolForestBase, PoolRegressor
from boostforest._pools.jobs import drawn_rows
from boostforest._pools.members import seeded_clone
from boostforest.nodes._python import Problem, centred
