"""
The compiled core of boostforest. Internal: its functions change without notice.
"""

from collections.abc import Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


class LossCode(enum.IntEnum):
    """Losses."""

    SQUARED_ERROR = 0

    LOGISTIC = 1

    SOFTMAX = 2

    POISSON = 3

    GAMMA = 4

    TWEEDIE = 5

    HUBER = 6

    QUANTILE = 7

    AFT = 8

    OWN = 9

    SQUARED_ERRORS = 10

    CLASS_TARGETS = 11

class Link(enum.IntEnum):
    """How scores become what a forest averages and predicts."""

    IDENTITY = 0

    LOG = 1

    SIGMOID = 2

    SOFTMAX = 3

class NodeFit(enum.IntEnum):
    """How node models are fitted."""

    CONSTANT = 0

    RIDGE = 1

    ELM = 2

    LINEAR_SVR = 3

class ModelKind(enum.IntEnum):
    """What is stored of node models; part of the file format."""

    CONSTANT = 0

    LINEAR = 1

    HIDDEN = 2

    PYTHON = 255

class Criterion(enum.IntEnum):
    """What splits are judged by."""

    XGB = 0

    MSE = 1

    GINI = 2

    C45 = 3

class TreeTag(enum.IntEnum):
    """What is drawn under a tree's seed; see base/random.hpp."""

    BOOTSTRAP = 0

    ROOT = 1

    POOLS = 2

    MEMBER_COLUMNS = 3

    MEMBER_SEEDS = 4

    TREE_MODELS = 3

    HIDDEN_LAYER = 5

    BOOSTING = 6

class NodeTag(enum.IntEnum):
    """What is drawn under a node's key."""

    LEFT_CHILD = 0

    RIGHT_CHILD = 1

    MODEL_BATCH = 2

    FIRST_ATTEMPT = 3

    MODEL_SEED = 4294967296

class AttemptTag(enum.IntEnum):
    """What is drawn under the key of an attempt to split a node."""

    SPLIT_BATCH = 0

    FEATURE_ORDER = 1

    CUTS = 2

MAX_ROOT_ATTEMPTS: int = 100

MAX_CONTEXTS: int = 32

def encode_bytes(symbols: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], contexts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_contexts: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """Code bytes by how often each occurs in its context."""

def decode_bytes(stream: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, contexts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_contexts: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """Read what encode_bytes has written."""

def encode_params(params: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_models: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_outputs: int, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], exponent: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], differences: bool) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """Code the parameters of a forest in int8."""

def decode_params(stream: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_params: int, n_models: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_outputs: int, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], exponent: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], differences: bool) -> Annotated[NDArray[numpy.int8], dict(shape=(None,))]:
    """Read what encode_params has written."""

def depth_first_nodes(tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The nodes of every tree depth first, counted from its root."""

def left_children(tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_split: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    The left children of trees that were grown depth first, given in that order which nodes are split.
    """

def node_depths(tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The depth of every node, 0 for roots."""

def complete_weights(tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """
    Weights of nodes, those of right children being what the left ones leave.
    """

def filled_rows(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Rows as node models see them, one after another: scaled, missing values filled.
    """

def expected_moments(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int) -> tuple:
    """
    Sums of the rows and of their products, where those of missing values are expected ones.
    """

def explain_interventional(model: Model, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], background: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, column_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, link: int, first: int, last: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], apart: bool, n_threads: int, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pairs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None, progress: object | None = None) -> None:
    """
    Add what each column contributes to the weighted outputs of the trees first … last - 1.
    """

def explain_path(model: Model, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], background: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, column_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, link: int, first: int, last: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], base: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], progress: object | None = None) -> None:
    """
    The same along the paths of the trees, and their outputs without a row.
    """

def add_effects(model: Model, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], grid: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], replaced: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, link: int, first: int, last: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], row_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
    """
    Add the weighted outputs of the trees first … last - 1 for rows whose replaced features are a grid's: of each row, or their sum with row_weights.
    """

def has_closed_forms(model: Model, link: int, first: int, last: int) -> bool:
    """
    Whether the contributions to the trees first … last - 1 are sums over their nodes.
    """

def has_paths(model: Model, link: int, first: int, last: int) -> bool:
    """Whether the trees first … last - 1 have path-dependent contributions."""

def takes_all_values(model: Model, link: int, first: int, last: int, one_number: bool) -> bool:
    """
    Whether the trees first … last - 1 take all values of a grid at once; one_number: of one feature, in ascending order.
    """

MOST_PAIRED: int = 12

def gbdt_pl_fit(x: numpy.ndarray, bins: numpy.ndarray, n_bins: numpy.ndarray, bin_mean: numpy.ndarray, bin_end: numpy.ndarray, y: numpy.ndarray, weight: numpy.ndarray, n_classes: int, start: numpy.ndarray, *, n_rounds: int, learning_rate: float, max_leaves: int, max_depth: int, max_regressors: int, reg_lambda: float, reg_alpha: float, min_child_weight: float, min_samples_leaf: float, n_threads: int) -> dict[str, numpy.ndarray]:
    """
    Boost piecewise linear trees on scaled features, column by column; return the trees' columns.
    """

class PiecewiseTrees:
    """Checked, read-only view of boosted piecewise linear trees."""

    def __init__(self, columns: dict, n_features: int, n_outputs: int) -> None: ...

    def add_scores(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: int, last: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Add the scores of the rounds first to last - 1 to out (rows × outputs).
        """

def l1_logistic(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], max_iter: int, tolerance: float) -> float:
    """
    Fit a logistic regression with an L1 penalty to some rows of x, from the coefficients in coef (outputs × (intercept, slopes)), which are overwritten; return the objective.
    """

def lmt_fit(columns: numpy.ndarray, scaled: numpy.ndarray, y: numpy.ndarray, weight: numpy.ndarray, n_classes: int, *, n_iter: int, max_iter: int, patience: int, use_aic: bool, error_on_probabilities: bool, choose_at_every_node: bool, split: bool, prune: bool, min_split: float, min_leaf: float) -> dict[str, numpy.ndarray]:
    """
    Grow a logistic model tree on a table given column by column; return the tree's columns.
    """

class LogisticTree:
    """Checked, read-only view of a logistic model tree."""

    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], model: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], params: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_outputs: int) -> None: ...

    def predict(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Write the outputs of every row to out (rows × outputs)."""

    def apply(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Write the leaf of every row to out."""

NO_EXPONENT: int = 127

LEAST_EXPONENT: int = -126

def quantise(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], at_least: int = -126) -> tuple:
    """
    Round the parameters of trees, so many of each: whole numbers, and per group of values the exponent of their unit. Of trees whose scores are sums along a path, n_nodes is not 0 and left has the left children: a node makes up for its parent.
    """

@overload
def halves(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float16], dict(shape=(None,))]: ...

@overload
def halves(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float16], dict(shape=(None,))]:
    """
    The nearest numbers of half precision, which NumPy takes several times as long to find.
    """

class Model:
    """Checked, read-only view of the columns of a forest."""

    def __init__(self, columns: dict, n_features: int, n_outputs: int) -> None: ...

    def predict(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], link: int, first: int, last: int, n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        Add what the link makes of the scores of the trees first … last - 1, each added to start, to out (rows × outputs).
        """

    def predict_oob(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], link: int, seeds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_draws: int, cumulative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_trees: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_rows: int = 0) -> None:
        """
        Like predict, over the trees that were not grown on the row; squares gets the sums of squared outputs. The rows are the training table, or those of its n_rows rows that numbers names.
        """

    def apply(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        Write the leaf of every row in every tree, or in those of these numbers, to out.
        """

def m5p_fit(x: numpy.ndarray, x_mean: numpy.ndarray, x_scale: numpy.ndarray, y: numpy.ndarray, y_mean: float, y_scale: float, weight: numpy.ndarray, min_samples_leaf: float, prune: bool, smooth: bool, regression_tree: bool) -> dict[str, numpy.ndarray]:
    """Grow an M5' tree; return its columns."""

def m5p_predict(columns: dict, x_mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Predict with the columns of an M5' tree."""

def m5p_apply(columns: dict, x_mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The leaf of every row in an M5' tree."""

BLAS_SIZE: int = 192

def set_blas(capsules: dict) -> None:
    """Use these BLAS and LAPACK functions."""

def kernels() -> str:
    """Name of the instruction set in use."""

def select_kernels(name: str) -> bool:
    """
    Use another instruction set from now on; False if this machine has none of that name.
    """

def word(keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], counter: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """The word with this number under each key."""

def bootstrap_counts(seed: int, n_rows: int, n_draws: int, cumulative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """How often a tree drew each row."""

def dealt_seeds(key: int, n_bags: int, mostly_one: bool = False) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Seeds of bags to which rows are dealt: each is left out by two of them, or most by one, and once in the others.
    """

def is_dealt(seed: int) -> bool:
    """Whether a seed is that of a bag to which rows are dealt."""

def bootstrap_draws(seed: int, n_rows: int, n_draws: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    The rows that a tree draws one after the other, all with the same probability.
    """

def batch_positions(key: int, n: int, b: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The positions that a batch takes."""

def ridge(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], reg_lambda: float, monotone: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, path_slopes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Intercept and slopes of one ridge node; with monotone, slopes that added to path_slopes have its signs.
    """

def linear_svr(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: float, epsilon: float, intercept_penalty: float, tolerance: float, max_iterations: int) -> tuple:
    """
    Intercept and slopes of one node of linear support vector regression, and whether it converged.
    """

def loss(code: int, n_classes: int, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss_numbers: Sequence[float] = [], targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> tuple:
    """Value, gradient, hessian, pseudo-labels and their weights."""

def outputs(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], link: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """What the link makes of the scores, outputs × rows."""

SPLIT_RULES: tuple = ...

class Interactions:
    """Which columns may act together."""

    def __init__(self, features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], inputs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, members: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class PausedBags:
    """Bags of boosted trees that may have more rounds."""

    def go_on(self, max_rounds: int, n_threads: int) -> dict[str, Any]:
        """
        Boost them up to so many rounds in all, once; return what `boost` would have with as many.
        """

class TrainingTable:
    """The training table of a fit: scaled, missing values filled."""

    def __init__(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: int, n_classes: int, fill: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, model_features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, monotone: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_threads: int = 1, loss_numbers: Sequence[float] = [], targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def grow(self, params: dict[str, numpy.ndarray], bootstrap: bool, n_draws: int, cumulative: numpy.ndarray | None, weight: numpy.ndarray | None, balance_classes: bool, n_threads: int, progress: object, split_features: numpy.ndarray | None = None, start: numpy.ndarray | None = None, dtype: str = 'float64', short_thresholds: bool = False, drawn: numpy.ndarray | None = None, interactions: Interactions | None = None) -> dict[str, Any]:
        """
        Grow one tree per entry of the parameter columns; return the forest's columns, coefficients as dtype.
        """

    def boost(self, rules: dict[str, float], seeds: numpy.ndarray, n_draws: int, cumulative: numpy.ndarray | None, row_weight: numpy.ndarray | None, balance_classes: bool, n_threads: int, split_features: numpy.ndarray | None = None, start: numpy.ndarray | None = None, dtype: str = 'float64', interactions: Interactions | None = None, goes_on: bool = False) -> dict[str, Any]:
        """
        Boost one bag of trees per seed; return their columns and sums over the rows they have not drawn, and `paused` bags if there may be more rounds.
        """

    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)]:
        """Rows × features as node models see them."""

    def is_missing(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: int) -> Annotated[NDArray[numpy.bool_], dict(shape=(None,))]:
        """Which of the rows miss the feature."""

    def find_splits(self, nodes: list, rules: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, split_features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> list:
        """
        How to split each of the nodes: feature, threshold, gain, saw_missing, missing_left, possible.
        """

    def pseudo_labels(self, nodes: list, n_threads: int) -> list:
        """
        What the models of the nodes are to be fitted to, and with which weights.
        """

    def losses(self, nodes: list, n_threads: int) -> list[float]:
        """The nodes' loss at their scores."""
