"""Any regressor with ``fit`` and ``predict`` at the nodes."""

import inspect
import pickle
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._base.draws import child
from .._base.typing import Floats, Indices, Ints
from ._python import NodeFitter, Problem

# Of the largest weight of a row in a node: rows that weigh less are left out. Models that count rows, as trees do,
# would care for them as for any other.
_NEGLIGIBLE = 1e-6
_MAX_REPEATS = 16  # rows of weight 1000 are drawn, not repeated


class RegressorFitter(NodeFitter):
    """One clone per node and output; a fitted model is the list of them."""

    def fit(self, problems: list[Problem]) -> list[Any]:
        """Fit clones to every node."""
        weight_names = weight_arguments(self.node_model)
        return [[self._fit_output(p, c, weight_names) for c in range(self.n_outputs)] for p in problems]

    def _fit_output(self, problem: Problem, output: int, weight_names: list[str]) -> Any:
        kept = problem.w >= _NEGLIGIBLE * problem.w.max()
        X, z, v = self.values[problem.rows[kept]], rounded(problem.z[output, kept]), rounded(problem.v[output, kept])
        key = child(problem.key, output)
        arguments: dict[str, Any] = {}
        if (v != 1).any():
            if weight_names:
                arguments = dict.fromkeys(weight_names, v)
            else:
                drawn = rows_for_weights(v, problem.count, key)
                X, z = X[drawn], z[drawn]
        model = with_seeds(clone(self.node_model, safe=False), key)
        # Without routing: its way to pass weights through a pipeline needs requests that the user would have to set.
        with self.named(problem.where), sklearn.config_context(enable_metadata_routing=False):
            model.fit(X, z, **arguments)
        return model

    def predict(self, asked: list[tuple[Any, Ints, str]]) -> list[Floats]:
        """Predict node after node."""
        return [
            np.array([self._predict_output(model, self.values[rows], where) for model in models])
            for models, rows, where in asked
        ]

    def _predict_output(self, model: Any, X: Floats, where: str) -> Floats:
        with self.named(where):
            predicted = np.asarray(model.predict(X))
        if predicted.shape not in ((len(X),), (len(X), 1)) or predicted.dtype.kind not in "fiub":
            what = f"{predicted.dtype} of shape {predicted.shape}"
            self.complain(where, f"must predict one number per row, {len(X)} in all, but gave {what}")
        return predicted.astype(np.float64, copy=False).reshape(-1)

    def n_bytes(self, model: Any) -> int:
        """Return the length of a model's pickle."""
        return len(pickle.dumps(model))


def weight_arguments(regressor: Any) -> list[str]:
    """Return the names under which ``fit`` takes the weights of the rows; none if it takes no weights.

    A pipeline passes them to its last step, and to those before it that take them too, such as a scaler.
    """
    if not isinstance(regressor, Pipeline):
        return ["sample_weight"] if has_fit_parameter(regressor, "sample_weight") else []
    (last, final), before = regressor.steps[-1], regressor.steps[:-1]
    names = [f"{last}__{name}" for name in weight_arguments(final)] if final is not None else []
    if not names:
        return []
    return names + [f"{name}__sample_weight" for name, step in before if _transformer_takes_weights(step)]


def _transformer_takes_weights(step: Any) -> bool:
    if not hasattr(step, "fit") or not has_fit_parameter(step, "sample_weight"):
        return False
    parameters = inspect.signature(step.fit_transform).parameters if hasattr(step, "fit_transform") else {}
    kinds = [p.kind for p in parameters.values()]
    return "sample_weight" in parameters or inspect.Parameter.VAR_KEYWORD in kinds


def rounded(values: Floats) -> Floats:
    """Return values to 36 bits of the largest, none of them lost.

    Rows that are alike stay so: their sums are the same in any order, and repeated rows are those of twice the weight.
    Trees of scikit-learn otherwise let the last bit choose between features that split the rows in the same way.
    """
    unit = 2.0 ** (np.frexp(np.abs(values).max())[1] - 36)
    counted = np.rint(values / unit)
    kept: Floats = np.where((counted == 0) & (values > 0), 1.0, counted) * unit
    return kept


def rows_for_weights(weight: Floats, count: int, key: int) -> Indices:
    """Return rows that stand for weighted ones: repeated where the weights are whole numbers, else drawn by them."""
    if (weight == np.rint(weight)).all() and weight.sum() <= _MAX_REPEATS * count:
        return np.repeat(np.arange(len(weight)), weight.astype(np.int64))
    rng = np.random.default_rng(child(key, 0))
    return np.sort(rng.choice(len(weight), size=count, p=weight / weight.sum()))


def with_seeds(regressor: Any, key: int) -> Any:
    """Set every ``random_state`` of a regressor, those of nested ones too, from the node's random numbers."""
    if not hasattr(regressor, "get_params"):
        return regressor
    names = [n for n in sorted(regressor.get_params()) if n == "random_state" or n.endswith("__random_state")]
    if names:
        regressor.set_params(**{name: child(key, 1 + i) >> 32 for i, name in enumerate(names)})
    return regressor
