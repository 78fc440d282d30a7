"""What can be read from a fitted forest beyond what its trees tell: stages, out-of-bag figures, single trees."""

import copy
import numbers
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._base.arrays import check_sample_weight
from .._base.declare import arguments_of
from .._base.typing import Floats, Ints, Longs
from .._files.files import file_size
from .._grow.compress import check_compression, compress, judge_of
from .._model.model import Calibration, Model, Stages
from . import docs
from .arguments import LossArguments, TableArguments
from .base import BoostEstimator
from .fitted import FromModel

_SHARED = {*arguments_of(LossArguments), *arguments_of(TableArguments)} - {"random_state"}


class FittedForestMixin(BoostEstimator):
    """Attributes and inspection of forests of the core."""

    _tree_class: type[BoostEstimator]
    _words = docs.FOREST
    _attributes = docs.STAGE_ATTRIBUTES + docs.OOB_ATTRIBUTES

    stages_ = FromModel[Stages](lambda m: m.stages, "Which trees belong to which stage, and what it counts.")
    calibration_ = FromModel[Calibration](lambda m: m.calibration, "How scores become probabilities.")
    oob_score_ = FromModel[float](lambda m: m.known.score, "Score on the rows that trees have not drawn.")
    oob_losses_ = FromModel[Floats](lambda m: m.known.losses, "Out-of-bag loss after each stage.")
    pool_report_ = FromModel[list[dict[str, Any]]](lambda m: m.known.pool_report, "What an adaptive pool has tried.")

    compression_report_ = FromModel[list[dict[str, Any]]](
        lambda m: m.known.compression_report, "What each step of ``compress`` has made of size and loss."
    )

    @property
    def n_stages_(self) -> int:
        """Stages that the forest has."""
        return len(self.stages_)

    @property
    def steps_(self) -> Floats:
        """What each stage counts: 1 for the first, for the others what was best out of bag."""
        return np.array(self.stages_.steps)

    def _staged_outputs(self, X: Any, offset: Any = None) -> Iterator[tuple[Model, Floats]]:
        model, X, in_scores = self._read_with(X, offset)
        for outputs in model.staged_outputs(X, self._threads(), in_scores):
            yield model, outputs

    def compress(
        self,
        tolerance: float = 0.001,
        max_bytes: int | None = None,
        X: Any = None,
        y: Any = None,
        offset: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Return a smaller forest that predicts nearly the same.

        Thresholds and coefficients get as few digits as the loss allows, for a file and in memory. If that is not small
        enough, subtrees of small gain are taken off and trees left out: those that are kept are chosen one by one, each
        the best addition to those before. With `max_bytes` nothing is taken off that needs not be: a forest that is
        small enough stays as it is.

        Parameters
        ----------
        tolerance : float, default=0.001
            By how much fewer digits may raise the loss (log-loss, RMSE, or that of another `loss`): 0.001 is a
            thousandth.
        max_bytes : int, default=None
            Largest size of the file that ``save_model`` writes. None: as few digits as `tolerance` allows, and no trees
            are left out.
        X : array-like of shape (n_samples, n_features)
            Rows to judge by. They are needed: a forest does not keep its training rows. The training rows themselves
            (in the order of the fit) are judged out of bag; other rows should not have been seen in the fit.
        y : array-like of shape (n_samples,)
            Their target.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            Their offset, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            What they count; of the training rows as in `fit`.

        Returns
        -------
        small : object
            A forest of the same class. ``compression_report_`` has a row per step: what was done, the number of trees,
            bytes of the file, and loss. What the forest has learned out of bag (intervals, sets of classes, scores) is
            gone if trees were left out.
        """
        check_compression(tolerance, max_bytes)
        if X is None or y is None:
            raise ValueError(
                "compress needs X and y: the training rows, which are judged out of bag, or rows that the forest has "
                "not seen."
            )
        model, rows, in_scores = self._read_with(X, offset)
        weight = check_sample_weight(sample_weight, len(rows))
        judge = judge_of(model, rows, y, self._threads(), self._draws_of_fit, in_scores, weight)
        name, params = type(self).__name__, self.get_params(deep=False) | {"n_jobs": None}  # as long as any other

        def size_of(smaller: Model) -> int:
            own = params | {"dtype": smaller.columns.dtype.name, "n_estimators": smaller.n_trees}
            return file_size(name, own, smaller)

        small = copy.copy(self)
        small._model = compress(model, judge, float(tolerance), max_bytes, size_of)
        small.set_params(dtype=small._model.columns.dtype.name)
        if small._model.n_trees < model.n_trees:
            small.set_params(n_estimators=small._model.n_trees)
        return small

    def get_tree(self, i: int) -> Any:
        """Return one tree of the forest as an estimator of its own.

        Parameters
        ----------
        i : int
            Number of the tree; negative ones count from the end.

        Returns
        -------
        tree : BoostTreeRegressor or BoostTreeClassifier
            The fitted tree, with the parameters that it has drawn.
        """
        model = self._fitted()
        n_trees = model.n_trees
        if not isinstance(i, numbers.Integral) or not -n_trees <= int(i) < n_trees:
            raise IndexError(f"i must be the number of a tree from {-n_trees} to {n_trees - 1}; got {i!r}.")
        own = model.take(int(i) % n_trees, int(i) % n_trees + 1)
        params = {name: values[0] for name, values in own.params.items()}
        names = self._tree_class._get_param_names()
        params |= {name: getattr(self, name) for name in _SHARED.intersection(names)}
        params["dtype"] = own.columns.dtype.name
        tree = self._tree_class(**{name: params[name] for name in names if name in params})
        tree._model = own
        tree.max_features = tree.tree_params_[0]["max_features"]
        return tree

    def apply(self, X: Any) -> Ints:
        """Return the leaf that each row falls into in each tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees)
            Number of the leaf's node within its tree.
        """
        return self._leaves(X)[1]

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, Longs]:
        """Return the nodes that each row visits.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row visits the node; the nodes of all trees, tree after tree.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree ``t`` are ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1]``.
        """
        model, paths = self._paths(X)
        return paths, model.columns.tree_start.copy()


def learned(known: Any, method: str) -> Any:
    """Return what was kept of the out-of-bag rows, or say why there is nothing."""
    if known is None:
        raise AttributeError(
            f"{method} needs what the forest has learned out of bag: fit it with oob_score=True or, with 40 trees and "
            "more, preset='best'; compress keeps it only while no tree is left out."
        )
    return known
