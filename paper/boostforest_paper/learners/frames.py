"""How learners take frames of numbers and text as they come: by themselves, with their categories, or one-hot."""

from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

MISSING = "(missing)"  # the level of missing values where a learner refuses them among its categories
_IS_TEXT = make_column_selector(dtype_exclude="number")
_IS_NUMBER = make_column_selector(dtype_include="number")


def as_it_comes(estimator: Any) -> Any:
    """Return the estimator itself."""
    return estimator


def one_hot(estimator: Any) -> Any:
    """Put the ordinary encoding before an estimator: one-hot columns, and the mean of a column for missing numbers."""
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((SimpleImputer(), _IS_NUMBER), (encode, _IS_TEXT)), estimator)


class AsCategories(TransformerMixin, BaseEstimator):
    """Gives columns of text the type of a category, with the levels of the fit; unknown levels become missing."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> "AsCategories":
        """Note the levels."""
        self.types_ = {name: pd.CategoricalDtype(sorted(X[name].dropna().unique())) for name in _IS_TEXT(X)}
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with categories in place of text."""
        known = {name: X[name].where(X[name].isin(type_.categories)) for name, type_ in self.types_.items()}
        return X.assign(**known).astype(self.types_)


def with_categories(estimator: Any) -> Any:
    """Hand categories as pandas has them to an estimator that goes by the type of a column."""
    return make_pipeline(AsCategories(), estimator)


def xgboost(estimator: Any) -> Any:
    """Hand categories as pandas has them to XGBoost, which has to be told so."""
    return with_categories(estimator.set_params(enable_categorical=True))


class NamedCategories(BaseEstimator):
    """Tells an estimator with a parameter ``cat_features`` which columns are text; missing text is a level."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def _filled(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].astype(object).fillna(MISSING) for name in self.text_})

    def fit(self, X: pd.DataFrame, y: Any) -> "NamedCategories":
        """Fit the estimator."""
        self.text_ = _IS_TEXT(X)
        self.estimator.fit(self._filled(X), y, cat_features=self.text_ or None)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Return the estimator's predictions."""
        return self.estimator.predict(self._filled(X))

    def __getattr__(self, name: str) -> Any:
        if name != "predict_proba":  # which regressors must not have
            raise AttributeError(name)
        method = self.estimator.predict_proba
        return lambda X: method(self._filled(X))
