"""How trees and forests explain their predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from .._base.typing import Floats
from .._explain.explain import Request, explain
from .._explain.explanation import Explanation
from .._model.model import Model


class ExplainedMixin:
    """Contributions of columns to predictions."""

    @abstractmethod
    def _fitted(self) -> Model:
        """Return the model."""

    @abstractmethod
    def _threads(self) -> int:
        """Return the number of threads."""

    def explain(
        self,
        X: Any,
        background: Any = None,
        *,
        output: str = "prediction",
        algorithm: str = "interventional",
        interactions: bool = False,
    ) -> Explanation:
        """Share out predictions among the columns: Shapley values, which add up to the prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.
        background : array-like of shape (n_rows, n_features), default=None
            Rows to compare with: contributions are what a row has differently from these, on average. More rows make
            the values steadier and take as much longer; 100 are a good number. None: 100 training rows that the fit
            has drawn by `random_state` (and by the weights of the rows). They are in memory alone: a model that
            was saved and loaded, or pickled, needs a background.
        output : {"prediction", "score", "probability"}, default="prediction"
            What is explained: "prediction" is what `predict` gives in regression and `predict_proba` in classification,
            "probability" the latter, "score" what `decision_function` gives.
        algorithm : {"interventional", "path"}, default="interventional"
            "interventional" mixes each row with those of the background, exactly where the scores of trees are linear
            or a node's model sees at most 8 columns; elsewhere (clipped models and probabilities with more columns) a
            part of the values is sampled: they still add up exactly, and ``noise`` says how far they may be off.
            "path" is a tenth of the work: an unknown column goes both ways at a split, by the shares of the training
            rows, and models that are clipped or give probabilities count as lines between the node's mean and the row.
        interactions : bool, default=False
            Share out among pairs of columns as well. Where models are clipped or give probabilities they may see at
            most 12 columns.

        Returns
        -------
        explanation : Explanation
            ``values``, ``base_values``, ``data``, ``feature_names``, ``output_names`` as in shap, and ``noise``;
            `to_shap` and `to_frame` convert it.

        Notes
        -----
        Players are the columns of the table: all features that a category or a missing indicator became move together.
        Missing values are filled within the row and within each background row before they are mixed. Outputs that
        are not linear in what the trees add up to (log-odds of a forest, stages and calibration of classifiers) are
        rescaled for each background row. The values do not depend on the number of threads, nor on the other rows.

        Examples
        --------
        >>> from boostforest import BoostForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = BoostForestClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> explanation = forest.explain(X.iloc[[0, 75]])
        >>> explanation.values.shape, explanation.output_names
        ((2, 4, 3), ['0', '1', '2'])
        """
        request = Request(output, algorithm, interactions)
        model, name = self._fitted(), type(self).__name__
        return explain(model, X, background, request, name, self._threads(), int(getattr(self, "verbose", 0)))

    def shap_values(
        self,
        X: Any,
        background: Any = None,
        *,
        output: str = "prediction",
        algorithm: str = "interventional",
        interactions: bool = False,
    ) -> Floats:
        """Return the values of `explain` alone, in shap's shapes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.
        background : array-like of shape (n_rows, n_features), default=None
            See `explain`; so for the others.
        output : {"prediction", "score", "probability"}, default="prediction"
            What is explained.
        algorithm : {"interventional", "path"}, default="interventional"
            How columns are left out.
        interactions : bool, default=False
            Share out among pairs of columns as well.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            What each column adds to each prediction; with interactions there is one more axis of columns.
        """
        how: dict[str, Any] = {"output": output, "algorithm": algorithm, "interactions": interactions}
        return self.explain(X, background, **how).values
