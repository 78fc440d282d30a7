"""Forests of Dask collections: arrays and data frames that no single worker has to hold.

The forest does not depend on partitions or workers. Its features are fitted to 200,000 rows, which also judge it out of
bag; every tree gets the rows that it has drawn from wherever they are.
"""

from typing import Any, Self

from ._base.dask_engine import DaskEngine
from ._base.declare import argument, declared
from ._estimator.base import engine_of
from ._grow.on_dask import DaskRows, is_collection, partitions
from .forest import BoostForestClassifier, BoostForestRegressor


def _predict(forest: Any, method: str, table: Any) -> Any:
    outputs = getattr(forest, method)(table)
    if not hasattr(table, "iloc"):
        return outputs
    import pandas as pd

    if outputs.ndim == 1:
        return pd.Series(outputs, index=table.index)
    return pd.DataFrame(outputs, index=table.index, columns=[str(c) for c in forest.classes_])


@declared
class _DaskForest:
    """Fitting and prediction of collections."""

    client: Any = argument(
        default=None, doc="distributed.Client\nThe cluster to use; None: the client that was started last."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Grow the trees where the partitions are.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame
            Training table; categories and missing values are taken as they are.
        y : dask.array.Array or dask.dataframe.Series
            Target values, or class labels, with the partitions of X.
        sample_weight, offset : None
            All rows weigh the same, and start from nothing.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if sample_weight is not None:
            raise ValueError("sample_weight must be None: all rows of a collection weigh the same.")
        if offset is not None:
            raise ValueError("offset must be None with a collection.")
        client = self.client
        if client is None:
            from distributed import get_client

            try:
                client = get_client()
            except ValueError as error:
                raise ValueError("client must be a Dask client, or there must be one: Client() starts one.") from error
        if client.status != "running":
            raise ValueError(f"client must be running; it is {client.status}.")
        with DaskEngine(client) as engine, engine_of(self.n_jobs) as other:  # type: ignore[attr-defined]
            self._model = self._fit_model(DaskRows(X, y, engine), None, None, None, other)  # type: ignore[attr-defined]
        return self

    def to_local(self) -> Any:
        """Return the forest without Dask: an ordinary estimator, which can be saved."""
        arguments = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}  # type: ignore[attr-defined]
        local = self._local(**arguments)  # type: ignore[attr-defined]
        local._model = self._fitted()  # type: ignore[attr-defined]
        return local

    def _lazily(self, method: str, X: Any, dtype: Any, n_columns: int | None = None) -> Any:
        """Return a collection of what the local forest predicts for each partition; of a table in memory, an array."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        import dask

        forest = dask.delayed(local, pure=True)
        parts = [dask.delayed(_predict)(forest, method, part) for part in partitions(X, "X")]
        if hasattr(X, "chunks") and not hasattr(X, "divisions"):
            import dask.array as da

            tail = () if n_columns is None else (n_columns,)
            shapes = [(n, *tail) for n in X.chunks[0]]
            return da.concatenate(
                [da.from_delayed(part, shape, dtype) for part, shape in zip(parts, shapes, strict=True)]
            )
        import dask.dataframe as dd

        return dd.from_delayed(parts, meta=_predict(local, method, X._meta_nonempty).iloc[:0], verify_meta=False)


@declared
class DaskBoostForestRegressor(_DaskForest, BoostForestRegressor):
    """A forest of boosted regression trees, fitted to a Dask array or data frame larger than any worker.

    It does not depend on partitions or workers. The table is read in few passes, and each tree takes the rows that it
    draws, at most 200,000 unless `max_samples` says otherwise. With more rows than that the forest is a single stage,
    whatever the preset; 200,000 rows decide how columns are scaled, filled and encoded, and judge out of bag.

    {parameters}

    {attributes}

    See Also
    --------
    boostforest.BoostForestRegressor : What ``to_local`` returns.

    Examples
    --------
    >>> from boostforest.dask import DaskBoostForestRegressor
    >>> forest = DaskBoostForestRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    >>> forest.predict(X).compute()  # doctest: +SKIP
    >>> forest.to_local().save_model("forest.safetensors")  # doctest: +SKIP
    """

    _local = BoostForestRegressor

    def predict(self, X: Any, offset: None = None) -> Any:
        """Predict the target of a collection, lazily, or of a table in memory."""
        return self._lazily("predict", X, "float64")


@declared
class DaskBoostForestClassifier(_DaskForest, BoostForestClassifier):
    """A forest of boosted classification trees, fitted to a Dask array or data frame larger than any worker.

    It does not depend on partitions or workers. The table is read in few passes, and each tree takes the rows that it
    draws, at most 200,000 unless `max_samples` says otherwise. With more rows than that the forest is a single,
    calibrated stage, whatever the preset; 200,000 rows decide how columns are scaled, filled and encoded, and judge out
    of bag.

    {parameters}

    {attributes}

    See Also
    --------
    boostforest.BoostForestClassifier : What ``to_local`` returns.

    Examples
    --------
    >>> from boostforest.dask import DaskBoostForestClassifier
    >>> forest = DaskBoostForestClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    >>> forest.predict_proba(X).compute()  # doctest: +SKIP
    """

    _local = BoostForestClassifier

    def predict(self, X: Any, offset: None = None) -> Any:
        """Predict the class of the rows of a collection, lazily, or of a table in memory."""
        return self._lazily("predict", X, self.classes_.dtype)

    def predict_proba(self, X: Any, offset: None = None) -> Any:
        """Predict the probabilities of the classes for a collection, lazily, or for a table in memory."""
        return self._lazily("predict_proba", X, "float64", len(self.classes_))
