"""Sparse matrices of SciPy in fit and predict."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import boostforest
import boostforest.export
from boostforest import BoostTreeClassifier, BoostTreeRegressor
from boostforest._features.sparse import MAX_DENSE, N_CHOSEN, _ridge, fit_sparse
from models import paper_classifier, paper_regressor

RNG = np.random.default_rng(0)
N, D = 600, 700
WIDE = sparse.random(N, D, density=0.01, format="csr", random_state=0)
WIDE.data = 1 + WIDE.data
WEIGHTS = RNG.normal(size=D) * (RNG.random(D) < 0.3)
Y = WIDE @ WEIGHTS + 0.1 * RNG.normal(size=N)
NARROW = sparse.random(N, 30, density=0.1, format="csr", random_state=0)


def forest(**arguments):
    return paper_regressor(20, **arguments)


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.csc_array]
)
def test_a_narrow_matrix_is_as_good_as_dense(form):
    y = NARROW.sum(axis=1).A1 + 0.1 * RNG.normal(size=N)
    dense = forest().fit(NARROW.toarray(), y)
    fitted = forest().fit(form(NARROW), y)
    assert_array_equal(fitted.forest_.params, dense.forest_.params)
    assert_array_equal(fitted.predict(form(NARROW)), dense.predict(NARROW.toarray()))
    assert_array_equal(dense.predict(form(NARROW)), fitted.predict(NARROW.toarray()))
    assert_allclose(fitted.explain(NARROW[:3].toarray()).values.shape, (3, 30))


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array]
)
def test_a_wide_matrix_keeps_its_strongest_columns_and_a_score_of_all(form, reloaded):
    fitted = forest(oob_score=True).fit(form(WIDE), Y)
    assert fitted.n_features_in_ == D and len(fitted._model.feature_names) == N_CHOSEN + 1
    assert_array_equal(fitted.predict(form(WIDE)), fitted.predict(WIDE.toarray()))
    assert_array_equal(fitted.predict(form(WIDE)), forest().fit(WIDE, Y).predict(WIDE))
    assert fitted.oob_score_ > 0.3
    assert fitted.feature_importances_.shape == fitted.slope_importances_.shape == (D,)
    assert_allclose(fitted.feature_importances_.sum(), 1)
    assert np.corrcoef(fitted.slope_importances_, WEIGHTS)[0, 1] > 0.5
    loaded = reloaded(fitted)
    assert_array_equal(loaded.predict(WIDE), fitted.predict(WIDE))
    assert_array_equal(loaded.feature_importances_, fitted.feature_importances_)


def test_scores_are_ridge_regressions_of_all_columns():
    weight = RNG.random(N)
    coef, intercept = _ridge(WIDE, Y[:, None], weight, 3.0)
    expected = Ridge(3.0, tol=1e-8).fit(WIDE, Y, weight * N / weight.sum())
    assert_allclose(WIDE @ coef[:, 0] + intercept, expected.predict(WIDE), atol=0.05)


def test_no_row_sees_its_own_target_in_training():
    folds = np.arange(N) % 5
    noise = RNG.normal(size=N)
    columns, features = fit_sparse(WIDE, noise[:, None], None, folds)
    assert abs(np.corrcoef(features[:, -1], noise)[0, 1]) < 0.2
    changed = noise.copy()
    changed[0] += 100
    again = fit_sparse(WIDE, changed[:, None], None, folds, columns.chosen)[1]
    mates = folds == folds[0]
    first = _ridge(WIDE[~mates], noise[~mates][:, None], np.ones((~mates).sum()), 3.0)
    second = _ridge(WIDE[~mates], changed[~mates][:, None], np.ones((~mates).sum()), 3.0)
    assert_array_equal(first[0], second[0])
    assert again.shape == features.shape


def test_classes_weights_and_warm_starts_work_on_wide_matrices():
    classes = np.digitize(Y, np.quantile(Y, [0.3, 0.7])).astype(str)
    weight = RNG.integers(0, 3, N)
    fitted = paper_classifier(10, warm_start=True).fit(WIDE, classes, weight)
    assert len(fitted._model.feature_names) == N_CHOSEN + 3
    assert fitted.score(WIDE, classes) > 0.5
    before = fitted._model.features.sparse
    fitted.set_params(n_estimators=14).fit(WIDE, classes, weight)
    assert fitted._model.features.sparse is before and fitted._model.n_trees == 14
    assert BoostTreeClassifier(random_state=0).fit(WIDE, Y > 0).predict(WIDE).shape == (N,)
    table = BoostTreeRegressor(random_state=0).fit(WIDE, Y).to_dataframe()
    assert "slope_all columns:mean" in table.columns


def test_pipelines_of_encoders_and_vectorizers_work():
    towns = np.array([f"t{i % 40}" for i in range(N)])[:, None]
    y = (np.arange(N) % 40 < 20).astype(float)
    assert make_pipeline(OneHotEncoder(), forest()).fit(towns, y).score(towns, y) > 0.8
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(RNG.choice(words, 12)) for _ in range(N)]
    likes = np.array([any(word in text.split() for word in words[:15]) for text in texts])
    model = make_pipeline(TfidfVectorizer(), paper_classifier(10)).fit(texts, likes)
    assert model.score(texts, likes) > max(likes.mean(), 1 - likes.mean()) + 0.1


def test_names_of_columns_are_kept():
    frame = pd.DataFrame.sparse.from_spmatrix(NARROW, columns=[f"c{j}" for j in range(30)])
    y = NARROW.sum(axis=1).A1
    assert_array_equal(forest().fit(frame, y).predict(frame), forest().fit(NARROW, y).predict(NARROW))


@pytest.mark.parametrize(("value", "message"), [(np.nan, "^Input X contains NaN: a sparse"), (np.inf, "infinity")])
@pytest.mark.parametrize("table", [WIDE, NARROW], ids=["wide", "narrow"])
def test_missing_and_infinite_values_are_refused(table, value, message):
    fitted = forest().fit(table, Y)
    wrong = table.copy()
    wrong.data[3] = value
    before = fitted.predict(table)
    for call in (lambda: fitted.fit(wrong, Y), lambda: fitted.predict(wrong)):
        with pytest.raises(ValueError, match=message):
            call()
    assert_array_equal(fitted.predict(table), before)


def test_what_a_wide_sparse_matrix_does_not_go_with_is_refused():
    for name, value in {"split_features": [1], "monotonic_cst": [0] * D, "interaction_cst": "pairwise"}.items():
        with pytest.raises(
            ValueError, match=f"{name} needs a dense table, or a sparse one of at most {MAX_DENSE} columns"
        ):
            forest(**{name: value}).fit(WIDE, Y)
    fitted = forest().fit(WIDE, Y)
    with pytest.raises(ValueError, match="fitted on a wide sparse matrix cannot be explained"):
        fitted.explain(WIDE[:2].toarray())
    with pytest.raises(ValueError, match="fitted on a wide sparse matrix cannot be explained"):
        fitted.effects(WIDE[:2].toarray(), 1)
    with pytest.raises(ValueError, match="to_c takes tables of few columns"):
        boostforest.export.to_c(fitted)
    with pytest.raises(ValueError, match="X has 699 features, but BoostForestRegressor is expecting 700"):
        fitted.predict(WIDE[:, 1:])
    mixed = forest().fit(pd.DataFrame({"a": Y, "b": ["x", "y"] * (N // 2)}), Y)
    with pytest.raises(ValueError, match="table of the fit has columns that are not numbers"):
        mixed.predict(NARROW[:, :2])


def test_memory_grows_with_the_values_that_are_stored():
    places = RNG.integers(0, 1000, 5000), RNG.integers(0, 200_000, 5000)
    table = sparse.csr_matrix((np.ones(5000), places), shape=(1000, 200_000))  # 1.6 GB, were it dense
    fitted = BoostTreeRegressor(max_depth=2, random_state=0).fit(table, np.asarray(table.sum(axis=1)).ravel())
    assert fitted.predict(table).shape == (1000,)
