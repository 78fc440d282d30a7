"""skops, which loads only the types that the reader trusts, stores fitted estimators as they are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import HuberRegressor

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor
from twin import example_data

skops = pytest.importorskip("skops.io")
pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    "estimator",
    [
        BoostTreeRegressor(),
        BoostForestRegressor(3, node_model=HuberRegressor(), max_depth=1, preset="paper"),
        BoostForestClassifier(3, preset="paper"),
    ],
)
def test_skops_keeps_the_predictions(estimator):
    classes = isinstance(estimator, BoostForestClassifier)
    X, y = example_data("binary" if classes else "regression", n=80)
    X = pd.DataFrame(X, columns=list("abcd"))
    X["e"] = np.where(X["a"] > 0, "high", "low")
    stored = skops.dumps(estimator.set_params(random_state=0).fit(X, y))
    trusted = skops.get_untrusted_types(data=stored)
    assert all(name.split(".")[0] in ("boostforest", "sklearn") for name in trusted)
    assert_array_equal(skops.loads(stored, trusted=trusted).predict(X), estimator.predict(X))
