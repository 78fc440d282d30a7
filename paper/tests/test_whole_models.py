"""The promises that all estimators of the product keep are kept by the paper's ensembles as well."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boostforest_paper.baselines import (
    BaggedTAOClassifier,
    DeepBoostClassifier,
    ELMClassifier,
    FilterBoostClassifier,
    GBDTPLClassifier,
    GBDTPLRegressor,
    LogitBoostClassifier,
    TAOClassifier,
)
from test_read_only import COPIES, assert_read_only
from test_snapshot import test_a_fit_shows_nothing_of_itself_before_its_end as check_that_a_fit_shows_nothing
from test_snapshot import (
    test_a_result_is_that_of_one_model_whenever_another_fit_ends as check_that_a_result_is_of_one_model,
)
from twin import example_data

check_that_a_fit_shows_nothing.__test__ = check_that_a_result_is_of_one_model.__test__ = False

ESTIMATORS = [
    GBDTPLRegressor(3),
    GBDTPLClassifier(3),
    TAOClassifier(max_depth=2, max_iter=1, random_state=0),
    ELMClassifier(random_state=0),
    LogitBoostClassifier(n_estimators=3, random_state=0),
    DeepBoostClassifier(n_estimators=3, random_state=0),
    FilterBoostClassifier(n_estimators=3, random_state=0),
]


@pytest.mark.parametrize("n_features", [4, 3], ids=["same width", "other width"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_result_is_that_of_one_model_whenever_another_fit_ends(estimator, n_features):
    check_that_a_result_is_of_one_model(estimator, n_features)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fit_shows_nothing_of_itself_before_its_end(estimator):
    check_that_a_fit_shows_nothing(estimator)


@pytest.mark.parametrize("estimator", [TAOClassifier(), BaggedTAOClassifier(2)], ids=lambda e: type(e).__name__)
def test_a_warning_points_at_the_line_of_the_caller(estimator):
    X, _ = example_data("regression")
    with pytest.warns(UserWarning, match="one class only") as record:
        estimator.fit(X, np.zeros(len(X), dtype=int))
    assert {warning.filename for warning in record} == {__file__}


@pytest.mark.parametrize(("estimator", "task"), [(GBDTPLRegressor, "regression"), (GBDTPLClassifier, "multiclass")])
def test_columns_are_read_only_however_a_model_came_to_be(estimator, task, tmp_path):
    X, y = example_data(task, n=80)
    fitted = estimator(3, min_samples_leaf=5).fit(X, y)
    for way, copied in COPIES.items():
        model = copied(fitted, tmp_path)
        assert_read_only(model.trees_)
        assert_array_equal(model.predict(X), fitted.predict(X), err_msg=way)


@pytest.mark.parametrize("estimator", [GBDTPLClassifier(3), TAOClassifier()], ids=lambda e: type(e).__name__)
def test_a_single_class_is_predicted_with_a_warning(estimator):
    X = np.arange(10.0)[:, None]
    with pytest.warns(UserWarning, match="one class only"):
        model = estimator.fit(X, ["x"] * 10)
    assert_array_equal(model.predict(X), ["x"] * 10)
    assert_array_equal(model.predict_proba(X), np.ones((10, 1)))
    assert_array_equal(model.predict_log_proba(X), np.zeros((10, 1)))


@pytest.mark.parametrize("estimator", [GBDTPLRegressor(1), TAOClassifier()], ids=lambda e: type(e).__name__)
def test_missing_values_are_refused(estimator):
    X, y = example_data("binary")
    gaps = X.copy()
    gaps[3, 1] = np.nan
    for call in (lambda: estimator.fit(gaps, y), lambda: estimator.fit(X, y).predict(gaps)):
        with pytest.raises(ValueError, match="contains NaN"):
            call()
