"""Data frames reach the members as frames where that matters: columns that are not numbers, or picked by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import ExtraTreeRegressor

from boostforest import PoolForestRegressor
from twin import example_data

X, Y = example_data("regression")
NUMBERS = pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X))[::-1])
MIXED = NUMBERS.assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
TEXT = pd.DataFrame(np.where(X > 0, "+", "-"), columns=list("abcd"))
ENCODED = NUMBERS.assign(red=X[:, 0] > 0).to_numpy(dtype=float)
ONE_HOT = make_pipeline(
    make_column_transformer((OneHotEncoder(drop=["blue"]), ["colour"]), remainder="passthrough"), Ridge()
)


@pytest.mark.parametrize("frame", [lambda table: table, pl.from_pandas], ids=["pandas", "polars"])
def test_pipelines_get_text_columns_by_name(frame):
    forest = PoolForestRegressor(ONE_HOT, 10, pools={"ridge__alpha": [0.1, 1.0]}, random_state=0)
    forest.fit(frame(MIXED), Y)
    assert forest.feature_names_in_.tolist() == [*"abcd", "colour"]
    expected = []
    for rows, params in zip(forest.estimators_samples_, forest.member_params_, strict=True):
        expected.append(Ridge(alpha=params["ridge__alpha"]).fit(ENCODED[rows], Y[rows]).predict(ENCODED))
    assert_allclose(forest.predict(frame(MIXED)), np.mean(expected, axis=0))


@pytest.mark.parametrize("frame", [lambda table: table, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_of_numbers_become_an_array_once(frame):
    forest = PoolForestRegressor(ExtraTreeRegressor(), 5, max_features=3, random_state=0).fit(frame(NUMBERS), Y)
    assert not hasattr(forest.estimators_[0], "feature_names_in_")
    assert_array_equal(forest.predict(frame(NUMBERS)), forest.fit(X, Y).predict(X))


def test_columns_of_numbers_are_picked_by_name_as_well():
    pipeline = make_pipeline(make_column_transformer((StandardScaler(), ["d", "a"])), Ridge())
    forest = PoolForestRegressor(pipeline, 30, oob_score=True, random_state=0).fit(NUMBERS, Y)
    assert_allclose(
        forest.predict(NUMBERS), forest.fit(NUMBERS[["d", "c", "b", "a"]], Y).predict(NUMBERS[list("dcba")])
    )


def test_members_draw_columns_of_a_frame():
    forest = PoolForestRegressor(make_pipeline(OrdinalEncoder(), Ridge()), 6, max_features=2, random_state=0)
    forest.fit(TEXT, Y)
    for member, columns in zip(forest.estimators_, forest.estimators_features_, strict=True):
        assert member.feature_names_in_.tolist() == [TEXT.columns[i] for i in columns]
    assert np.isfinite(forest.predict(TEXT)).all()


def test_what_is_no_longer_the_same_frame_is_refused():
    forest = PoolForestRegressor(ONE_HOT, 3, warm_start=True).fit(MIXED, Y)
    with pytest.raises(ValueError, match="X must be a data frame with the columns of the training table"):
        forest.predict(MIXED.to_numpy())
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(MIXED.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="same kind of table as in the first fit"):
        forest.set_params(n_estimators=4).fit(ENCODED, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PoolForestRegressor(ONE_HOT, 3).fit(MIXED, Y[:-1])
    with pytest.raises(ValueError, match=r"Member 0 \(ExtraTreeRegressor\) .*could not convert string to float: '"):
        PoolForestRegressor(ExtraTreeRegressor(), 3).fit(MIXED, Y)
