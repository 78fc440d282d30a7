"""How trees and forests explain their predictions."""

from abc import abstractmethod
from typing import Any

from .._base.typing import Floats
from .._explain.accumulated import accumulated_effect
from .._explain.effects import Effect, check_effect, effect
from .._explain.explain import Request, explain
from .._explain.explanation import Explanation
from .._explain.judged import JudgedRows
from .._explain.permutation import PermutationImportances, permutation_importances
from .._model.model import Model
from .targets import require_one


class ExplainedMixin:
    """Contributions of columns to predictions."""

    @abstractmethod
    def _fitted(self) -> Model:
        """Return the model."""

    @abstractmethod
    def _threads(self) -> int:
        """Return the number of threads."""

    @abstractmethod
    def _judged_rows(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> JudgedRows:
        """Return rows with their target as a model is judged by them."""

    def explain(
        self,
        X: Any,
        background: Any = None,
        *,
        output: str = "prediction",
        algorithm: str = "interventional",
        interactions: bool = False,
        offset: Any = None,
    ) -> Explanation:
        """Share out predictions among the columns: Shapley values, which add up to the prediction.

        Parameters
        ----------
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
            or few columns differ: up to 10 in regression, up to 8 for probabilities, log links, `monotonic_cst` and ELM
            nodes. With more a part of the values is sampled: they still add up exactly, and ``noise`` says how far they
            may be off.
            "path" is a tenth of the work: an unknown column goes both ways at a split, by the shares of the training
            rows, and models that are clipped or give probabilities, and hidden units of ELM nodes, count as lines
            between the node's mean and the row. Not with `monotonic_cst` or log links.
        interactions : bool, default=False
            Share out among pairs of columns as well. Where models are clipped or give probabilities they may see at
            most 12 columns.
        offset : float or array-like of shape (n_samples,), default=None
            As in `predict`. The background gets that of the row, so it is in the base values: added to them or, with a
            log link, a factor of the row's base and values. A forest of classes takes none.

        Returns
        -------
        explanation : Explanation
            ``values``, ``base_values``, ``data``, ``feature_names``, ``output_names`` as in shap, and ``noise``;
            `to_shap` and `to_frame` convert it.

        Notes
        -----
        Players are the columns of the table: all features that a category or a missing indicator became move together.
        Missing values are filled within the row and within each background row before they are mixed. Outputs that
        are not linear in what the trees add up to (log-odds of a forest, stages and calibration of classifiers, stages
        with a log link, times of ``loss="aft"``) are rescaled for each background row. The values do not depend on the
        number of threads, nor on the other rows.

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
        model, name = require_one(self._fitted(), "explain"), type(self).__name__
        verbose = int(getattr(self, "verbose", 0))
        return explain(model, X, background, request, name, self._threads(), verbose, offset)

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

    def effects(
        self,
        X: Any,
        columns: Any,
        *,
        kind: str = "partial",
        grid: Any = None,
        grid_resolution: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        output: str = "prediction",
        individual: bool = False,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> Effect:
        """Compute the effect of one column, or of two together: how the mean output follows their values.

        Partial dependence: the same figures as ``sklearn.inspection.partial_dependence(method="brute")``, without a
        prediction for each value, since a row goes down a tree once with all values. Or accumulated local effects
        [1]_, which move rows by small steps only, and so do not mix values that never occur together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows whose other columns stay as they are.
        columns : int, str, or a pair of them
            Number or name of the column, or of two columns.
        kind : {"partial", "ale"}, default="partial"
            Partial dependence, or accumulated local effects, which are 0 on average and take one column.
        grid : array-like, or a list of two, default=None
            Values of the column (of each of both). None: all that X has, or `grid_resolution` evenly spaced ones
            between two quantiles if a column of numbers has more. With ``kind="ale"`` these are the ends of intervals
            with about as many rows each, ten on average, or all values of a column that has few; rows outside, or
            without a value, are left out. Levels of a category are accumulated in the order of the grid, by default so
            that neighbours are alike in the other columns.
        grid_resolution : int, default=100
            Number of these, at most.
        percentiles : pair of float, default=(0.05, 0.95)
            The quantiles.
        output : {"prediction", "score", "probability"}, default="prediction"
            As in `explain`.
        individual : bool, default=False
            Return the output of each row as well: individual conditional expectation.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean.
        offset : float or array-like of shape (n_samples,), default=None
            Of the rows of X, as in `predict`. It needs ``kind="partial"``, and a forest of classes takes none.

        Returns
        -------
        effect : Effect
            ``columns``, ``grid``, ``average``, ``individual``, ``output_names`` and ``kind``.

        References
        ----------
        .. [1] D. W. Apley, J. Zhu, "Visualizing the effects of predictor variables in black box supervised learning
           models", Journal of the Royal Statistical Society B 82 (4), 2020.

        Examples
        --------
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> forest = BoostForestRegressor(n_estimators=20, random_state=0).fit(X, y)
        >>> effect = forest.effects(X, "bmi", grid=[-0.05, 0.0, 0.05])
        >>> bool((effect.average[1:] > effect.average[:-1]).all())
        True
        """
        model, name, threads = require_one(self._fitted(), "effects"), type(self).__name__, self._threads()
        check_effect(kind, output, individual)
        if kind == "ale":
            if offset is not None:
                raise ValueError("offset needs kind='partial': accumulated local effects are differences of rows.")
            how = grid, grid_resolution, percentiles, output, sample_weight
            return accumulated_effect(model, X, columns, *how, name, threads)
        options = grid, grid_resolution, percentiles, output, individual, sample_weight
        return effect(model, X, columns, *options, name, threads, offset)

    def permutation_importances(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_repeats: int = 5,
        max_rows: int | None = None,
        random_state: int = 0,
        offset: Any = None,
    ) -> PermutationImportances:
        """Compute by how much the loss rises when the values of a column are shuffled among the rows.

        Of the rows of its fit, a forest asks for every row only the trees that have not drawn it: importances out of
        bag need no other data. Other rows are predicted by all trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit, in their order, or rows that it has not seen.
        y : array-like of shape (n_samples,)
            Their target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: what their losses count, and how often their values are drawn for other rows. With the
            rows of the fit, these must be its weights.
        n_repeats : int, default=5
            How often each column is shuffled.
        max_rows : int, default=None
            So many rows, evenly spaced in X, are judged and shuffled at most; None: all.
        random_state : int, default=0
            Seed of the shuffling.
        offset : float or array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            Of the rows of X, as in `predict`; with the rows of the fit, that of the fit.

        Returns
        -------
        importances : PermutationImportances
            ``importances``, ``standard_errors``, ``intervals`` and ``columns``; ``figure`` and ``loss``: what was
            measured, and its value before; ``out_of_bag``: whether it was.

        Notes
        -----
        All features that a column became (a category, a missing indicator) are shuffled together. A column that others
        can stand in for has a small importance, though the forest may use it much. Trees, forests without
        bootstrap and models from files, which do not know the rows of their fit, are judged on these rows as on any
        others: then importances count what was learned by heart, too.

        Examples
        --------
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> forest = BoostForestRegressor(n_estimators=30, random_state=0).fit(X, y)
        >>> found = forest.permutation_importances(X, y)
        >>> found.figure, found.out_of_bag
        ('RMSE', True)
        >>> bmi, age = (found.importances[found.columns.index(name)] for name in ("bmi", "age"))
        >>> bool(bmi > age)
        True
        """
        rows = self._judged_rows(X, y, sample_weight, offset)
        return permutation_importances(rows, n_repeats, max_rows, random_state, self._threads())
