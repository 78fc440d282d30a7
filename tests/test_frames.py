"""Frames of every library: the same numbers come out, and what cannot be used is named."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from boostforest import BoostTreeRegressor, PoolForestRegressor
from boostforest.model_trees import LMTClassifier, M5PRegressor
from models import paper_classifier, paper_regressor
from twin import example_data

X, Y = example_data("regression", n=60, d=3)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
DAY = datetime.date(2024, 2, 29)


def tree(**params):
    """Return a small tree."""
    return BoostTreeRegressor(random_state=0, **params)


def column(values, library="pandas"):
    """Return the numbers that a column is read as, next to one of plain numbers."""
    rows = {"x": values, "plain": np.arange(len(values), dtype=float)}
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    fitted = tree(min_samples_leaf=1, missing_indicator=False).fit(make(rows), np.arange(len(values)))
    return fitted._read(make(rows))[1][:, 0]


# --------------------------------------------------------------------------------------------------- what comes through


@pytest.mark.parametrize(
    "convert",
    [
        pl.DataFrame,
        pa.Table.from_pandas,
        lambda frame: frame.convert_dtypes(),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
        lambda frame: frame.astype(object),
        lambda frame: pl.DataFrame(frame).with_columns(pl.col("a").fill_nan(None)),
    ],
    ids=["polars", "pyarrow", "pandas nullable", "pandas on pyarrow", "pandas objects", "polars nulls"],
)
def test_every_library_gives_the_same_forest(convert):
    frame = FRAME.assign(a=np.where(X[:, 0] > 1, np.nan, X[:, 0]), n=np.arange(60), is_odd=np.arange(60) % 2 == 1)
    plain = paper_regressor(3).fit(frame.astype(float).to_numpy(), Y)
    fitted = paper_regressor(3).fit(convert(frame), Y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "n", "is_odd"]
    assert_array_equal(fitted.forest_.params, plain.forest_.params)
    for rows in (frame, convert(frame), convert(frame[["is_odd", "c", "a", "n", "b"]])):
        assert_array_equal(fitted.predict(rows), plain.predict(frame.astype(float).to_numpy()))


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame.astype({"town": "category"}),
        lambda frame: frame.astype({"town": object}),
        lambda frame: frame.astype({"town": "string"}),
        lambda frame: pl.DataFrame(frame),
        lambda frame: pl.DataFrame(frame).with_columns(pl.col("town").cast(pl.Categorical)),
        lambda frame: pl.DataFrame(frame).with_columns(pl.col("town").cast(pl.Enum(["z", "c", "b", "a"]))),
        lambda frame: pa.Table.from_pandas(frame),
        lambda frame: pa.Table.from_pandas(frame.astype({"town": "category"})),
        lambda frame: frame.astype({"town": pd.ArrowDtype(pa.string())}),
    ],
    ids=[
        *("category", "object", "string", "polars text", "polars categorical", "polars enum"),
        *("pyarrow text", "pyarrow dictionary", "pandas on pyarrow"),
    ],
)
def test_categories_are_the_same_in_every_library(convert):
    town = np.random.default_rng(0).choice(["a", "b", "c", None], 60)
    frame = FRAME.assign(town=pd.Series(town, dtype="str"))
    labels = Y + (town == "a") > 0.5
    expected = paper_classifier(3).fit(frame, labels)
    fitted = paper_classifier(3).fit(convert(frame), labels)
    assert fitted.encoder_.columns[3].levels == ("a", "b", "c") and fitted.encoder_.columns[3].missing
    assert_array_equal(fitted.forest_.params, expected.forest_.params)
    assert_array_equal(expected.predict_proba(convert(frame)), fitted.predict_proba(frame))


BIG = 2**60 + 2**7 + 1  # float64 has steps of 2^8 there


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_large_integers_and_decimals_become_the_nearest_float(library):
    assert_array_equal(column([BIG, -BIG, 2**63 - 1, 3], library), [float(BIG), float(-BIG), 2.0**63, 3.0])
    assert float(BIG) == 2**60 + 2**8
    unsigned = np.array([2**64 - 1, 0, 7], dtype=np.uint64)
    assert_array_equal(column(pa.array(unsigned) if library == "pyarrow" else unsigned, library), [2.0**64, 0.0, 7.0])
    decimals = [Decimal("0.1"), Decimal("-12345678.875"), None, Decimal("1e-7")]
    assert_array_equal(column(decimals, library), [0.1, -12345678.875, np.nan, 1e-7])


def test_gaps_in_whole_numbers_and_in_booleans_are_missing_values():
    values = [1, None, 2**55 + 1, 4]
    expected = [1.0, np.nan, float(2**55 + 1), 4.0]
    for library, given in (
        *(("pandas", pd.array(values, dtype="Int64")), ("polars", values), ("pyarrow", values)),
        *(("polars", pl.Series(values, dtype=pl.Int128)), ("pandas", pd.Series(values, dtype=object))),
    ):
        assert_array_equal(column(given, library), expected)
    flags = [True, None, False]
    for library, given in (
        *(("pandas", pd.array(flags, dtype="boolean")), ("polars", flags), ("pyarrow", flags)),
        ("pandas", pd.Series(flags, dtype=object)),
    ):
        assert_array_equal(column(given, library), [1.0, np.nan, 0.0])
    for library, given in (("pandas", [np.nan] * 3), ("polars", [None] * 3), ("pyarrow", [None] * 3)):
        assert np.isnan(column(given, library)).all()


def test_names_that_are_no_text_count_by_their_place():
    fitted = tree().fit(pd.DataFrame(X), Y)
    assert not hasattr(fitted, "feature_names_in_")
    assert_array_equal(fitted.predict(pd.DataFrame(X, columns=[7, 8, 9])), fitted.predict(X))
    frame = pd.DataFrame(X).assign(**{"3": 1.0}).rename(columns={"3": 3}).astype({3: object})
    frame[3] = ["red", "green"] * 30
    assert tree().fit(frame, Y)._model.feature_names[-1] == "x3=red"


def test_a_frame_without_categories_costs_no_encoder():
    fitted = tree().fit(FRAME, Y)
    assert fitted.encoder_ is None
    assert_array_equal(fitted.forest_.params, tree().fit(X, Y).forest_.params)


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", 1.5] * 30, "Column 'x' of X mixes text and numbers"),
        ([[1], [2]] * 30, "Column 'x' of X must hold numbers or text; got values of type list"),
        ([b"a", b"b"] * 30, "Column 'x' of X must hold numbers or text; got values of type bytes"),
        ([1j, 2.0] * 30, "Column 'x' of X must hold numbers or text; got values of type complex"),
        ([np.inf, 2.0] * 30, "Input X contains infinity .* in column 'x'"),
        ([10**400, 2] * 30, "Input X contains infinity or a value too large .* in column 'x'"),
        ([Decimal("1e400"), None] * 30, "Input X contains infinity or a value too large .* in column 'x'"),
        (pd.Categorical([np.inf, 2.0] * 30), "Input X contains infinity .* in column 'x'"),
    ],
    ids=["mixed", "lists", "bytes", "complex", "infinity", "integer", "decimal", "category"],
)
def test_values_that_are_no_numbers_and_no_text_are_refused(values, message):
    for frame in (pd.DataFrame({"x": values}), FRAME.assign(x=pd.Series(values), flag="yes")):
        with pytest.raises(ValueError, match=message):
            tree().fit(frame, Y)
    assert not hasattr(tree(), "encoder_")


def test_text_is_refused_where_it_is_no_category():
    frame = FRAME.assign(colour="red", town="a")
    for categorical in (None, ["town"]):
        with pytest.raises(
            ValueError, match=r"^Column 'colour' of X holds text, such as 'red': name it in categorical_"
        ):
            tree(categorical_features=categorical).fit(frame, Y)
    with pytest.raises(ValueError, match=r"^Column 3 of X holds text, such as 'red'"):
        tree().fit(frame.to_numpy(), Y)
    fitted = tree().fit(X, Y)
    with pytest.raises(ValueError, match=r"^Column 1 of X holds text, such as 'x'"):
        fitted.predict([[1.0, "x", 2.0]])


def test_sparse_categories_lazy_tables_and_names_that_stand_twice_are_refused():
    with pytest.raises(ValueError, match=r"^categorical_features needs a dense table, and X is a sparse matrix\.$"):
        tree(categorical_features=[0]).fit(sparse.csr_matrix(X), Y)
    with pytest.raises(TypeError, match=r"lazy table .*: collect it first"):
        tree().fit(pl.LazyFrame(X), Y)
    with pytest.raises(ValueError, match=r"different names: .*'a' 2 times"):
        tree().fit(FRAME.set_axis(["a", "a", "b"], axis=1), Y)


def test_columns_that_are_missing_or_unknown_are_named():
    fitted = tree().fit(FRAME.assign(colour="red"), Y)
    match = r"feature names should match .*: 'b', 'colour' are missing, 'd' is unknown\.$"
    for rows in (FRAME.rename(columns={"b": "d"}), pl.DataFrame(FRAME.rename(columns={"b": "d"}))):
        with pytest.raises(ValueError, match=match):
            fitted.predict(rows)
    with pytest.raises(ValueError, match=r"'b' is missing, 'x0', 'x1', 'x2', 'x3', 'x4' and 3 more are unknown"):
        fitted.predict(FRAME.assign(colour="red", **{f"x{i}": 1.0 for i in range(8)}).drop(columns="b"))


OTHERS = [PoolForestRegressor(LinearRegression(), 2, random_state=0), M5PRegressor(), LMTClassifier(n_iter=3)]


@pytest.mark.parametrize(
    "convert", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_columns_that_the_fit_did_not_have_are_ignored(convert):
    for table in (FRAME, FRAME.assign(colour=["red", "blue"] * 30)):
        fitted = tree().fit(convert(table), Y)
        more = table.assign(target="a text that is no feature", day=DAY, code=None).iloc[:, ::-1]
        assert_array_equal(fitted.predict(convert(more)), fitted.predict(table))
        assert_array_equal(fitted.apply(convert(more)), fitted.apply(table))
        assert fitted.n_features_in_ == len(table.columns)


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda e: type(e).__name__)
def test_pool_forests_and_model_trees_find_columns_by_name_too(estimator):
    fitted = clone(estimator).fit(FRAME, Y > 0)
    for more in (FRAME.assign(target=Y), FRAME.assign(target="left", a_first=1.0).iloc[:, ::-1]):
        assert_array_equal(fitted.predict(more), fitted.predict(FRAME))
    with pytest.raises(ValueError, match=r"feature names should match .*: 'b' is missing, 'target' is unknown\.$"):
        fitted.predict(FRAME.assign(target=Y).drop(columns="b"))
    with pytest.raises(ValueError, match="X has 4 features, but"):
        clone(estimator).fit(X, Y > 0).predict(np.column_stack([X, Y]))


def test_a_pool_forest_of_frames_ignores_columns_that_the_fit_did_not_have():
    table = FRAME.assign(colour=["red", "blue"] * 30)
    fitted = PoolForestRegressor(BoostTreeRegressor(), 2, random_state=0).fit(table, Y)
    assert_array_equal(fitted.predict(table.assign(target=Y).iloc[:, ::-1]), fitted.predict(table))


def test_tables_without_names_and_fits_that_go_on_take_no_other_columns():
    with pytest.raises(ValueError, match="X has 4 features, but BoostTreeRegressor is expecting 3"):
        tree().fit(X, Y).predict(np.column_stack([X, Y]))
    with pytest.raises(ValueError, match="X has 4 features, but BoostTreeRegressor is expecting 3"):
        tree().fit(X, Y).predict(pd.DataFrame(np.column_stack([X, Y])))
    forest = paper_regressor(2, warm_start=True).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"feature names should match .*: 'target' is unknown"):
        forest.set_params(n_estimators=3).fit(FRAME.assign(target=Y), Y)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("a", "text", "Column 'a' of X held numbers in the fit and holds text now, such as 'text'"),
        ("colour", 3, "Column 'colour' of X held text in the fit and holds numbers now, such as 3"),
        ("code", "x", "Column 'code' of X held numbers in the fit and holds text now, such as 'x'"),
        ("a", DAY, "Column 'a' of X held numbers in the fit and holds dates now"),
    ],
)
def test_a_column_that_changed_its_type_is_named(name, values, message):
    frame = FRAME.assign(colour=["red", "blue"] * 30, code=pd.Categorical([1, 2, 3] * 20))
    fitted = tree().fit(frame, Y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(frame.assign(**{name: values}))
    assert np.isfinite(fitted.predict(frame.assign(**{name: None}))).all()
    assert np.isfinite(fitted.predict(frame.assign(code=[1.0, 2.0, 3.0] * 20))).all()


@pytest.mark.parametrize(
    "gaps", [pd.Categorical([None] * 60), pd.Series([None] * 60, dtype="str")], ids=["category", "text"]
)
def test_a_category_of_nothing_but_gaps_takes_any_value_later(gaps):
    fitted = tree().fit(FRAME.assign(colour=gaps), Y)
    assert fitted.is_categorical_[3] and fitted._model.feature_names[-1] == "colour is missing"
    for values in ("red", 3, None):
        assert np.isfinite(fitted.predict(FRAME.assign(colour=values))).all()


def test_names_on_one_side_only_are_a_warning():
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        tree().fit(FRAME, Y).predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but BoostTreeRegressor was fitted without"):
        tree().fit(X, Y).predict(FRAME)


def test_tables_without_rows_or_columns_are_refused():
    for frame in (FRAME[:0], FRAME[[]], FRAME.assign(colour="red")[:0]):
        with pytest.raises(ValueError, match=r"0 (sample|feature)\(s\)"):
            tree().fit(frame, Y[: len(frame)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree().fit(FRAME.assign(colour="red"), Y[:50])
