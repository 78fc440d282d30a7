"""Categories in model files: they come back as they were, and damaged ones are refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from boostforest import BoostForestRegressor, BoostTreeClassifier, load_model
from boostforest._features.encoder import NumberColumn
from model_files import tensors_of, with_metadata, with_tensors

CONTENT = (Path(__file__).parent / "data" / "v2-table-regressor.safetensors").read_bytes()
TENSORS = tensors_of(CONTENT)


def assert_same_columns(found, expected):
    """Assert that two encoders do the same, to the bit and to the type of the levels."""
    assert len(found.columns) == len(expected.columns)
    for ours, theirs in zip(found.columns, expected.columns, strict=True):
        assert type(ours) is type(theirs)
        if isinstance(theirs, NumberColumn):
            assert ours.indicator == theirs.indicator
        else:
            assert ours.levels == theirs.levels and ours.missing == theirs.missing
            assert [type(level) for level in ours.levels] == [type(level) for level in theirs.levels]
            assert_array_equal(ours.means, theirs.means)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
NUMBER = st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)


@given(
    texts=st.lists(TEXT, min_size=1, max_size=9),
    numbers=st.lists(NUMBER, min_size=1, max_size=9),
    gaps=st.booleans(),
    one_hot=st.booleans(),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_categories_of_any_text_and_number_come_back(texts, numbers, gaps, one_hot, reloaded):
    n = 40
    frame = pd.DataFrame(
        {
            "text": pd.Series([texts[i % len(texts)] for i in range(n)], dtype=object),
            "number": pd.Series([numbers[i % len(numbers)] for i in range(n)], dtype=object),
            "plain": np.arange(n, dtype=float),
        }
    )
    if gaps:
        frame.loc[:3, ["text", "plain"]] = None
    y = np.arange(n) % 2
    categories = {"categorical_features": ["text", "number"], "max_one_hot": None if one_hot else 0}
    fitted = BoostTreeClassifier(random_state=0, missing_indicator=True, **categories).fit(frame, y)
    loaded = reloaded(fitted)
    assert_same_columns(loaded.encoder_, fitted.encoder_)
    assert_array_equal(loaded.predict_proba(frame), fitted.predict_proba(frame))
    assert loaded.n_features_in_ == 3 and loaded.get_params() == fitted.get_params()


def test_a_warm_start_goes_on_after_loading(reloaded):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(list("abcdefgh"), 80), "x": rng.normal(size=80)})
    y = rng.normal(size=80) + (frame["town"] == "a")
    forest = BoostForestRegressor(3, warm_start=True, random_state=0, preset="paper").fit(frame, y)
    loaded = reloaded(forest)
    for model in (loaded, forest):
        model.set_params(n_estimators=6).fit(frame, y)
    assert_array_equal(loaded.forest_.params, forest.forest_.params)


def test_text_with_lone_surrogates_comes_back(reloaded):
    frame = pd.DataFrame({"text": pd.Series(["\ud800", "b"] * 20, dtype=object)})
    fitted = BoostTreeClassifier().fit(frame, np.arange(40) // 20)
    assert_same_columns(reloaded(fitted).encoder_, fitted.encoder_)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_up_to_400_digits_can_be_categories_and_longer_ones_cannot(sign, reloaded):
    longest = sign * (10**400 - 1)
    for value, fits in ((longest, True), (longest + sign, False), (sign * 10**5000, False)):
        frame = pd.DataFrame({"number": pd.Series([value, 3] * 20, dtype=object)})
        tree = BoostTreeClassifier(categorical_features=["number"])
        if fits:
            assert_same_columns(reloaded(tree.fit(frame, np.arange(40) // 20)).encoder_, tree.encoder_)
        else:
            with pytest.raises(ValueError, match="Column 'number' of X has an integer of more than 400 digits"):
                tree.fit(frame, np.arange(40) // 20)


def test_levels_that_share_a_hash_are_refused(tmp_path):
    levels = [k * (2**61 - 1) for k in range(1, 300)]  # all of them have hash 0
    frame = pd.DataFrame({"number": pd.Series([*levels, 3], dtype=object)})
    tree = BoostTreeClassifier(categorical_features=["number"]).fit(frame, np.arange(300) % 2)
    with pytest.raises(ValueError, match="too many levels of a category have the same hash"):
        tree.save_model(tmp_path / "a")


def element(name, i, value):
    """Return the file with one value of a tensor changed."""
    array = TENSORS[name].copy()
    array[i] = value
    return with_tensors(CONTENT, **{name: array})


def text(old, new):
    """Return the file with a level spelt another way, of the same length."""
    content = TENSORS["level_text"].tobytes()
    assert old in content and len(old) == len(new)
    return with_tensors(CONTENT, level_text=np.frombuffer(content.replace(old, new), dtype=np.uint8))


SHORT = {name: array[:-1] for name, array in TENSORS.items() if array.ndim}
BAD = {
    "a tensor missing": (with_tensors(CONTENT, level_end=None), "tensors are missing: level_end"),
    "no encoder at all": (
        with_tensors(CONTENT, **{name: None for name in TENSORS if name.startswith(("level_", "column_"))}),
        "n_features must be 5, as the tensors have it; got 4",
    ),
    "another type": (
        with_tensors(CONTENT, level_start=TENSORS["level_start"].astype("i4")),
        "'level_start' must be int64",
    ),
    "two dimensions": (
        with_tensors(CONTENT, column_kind=TENSORS["column_kind"][:, None]),
        r"'column_kind' must have the shape \(4,\); got \(4, 1\)",
    ),
    "no columns": (with_tensors(CONTENT, column_kind=TENSORS["column_kind"][:0]), "'level_start' must have the shape"),
    "unknown kind": (element("column_kind", 0, 8), "'column_kind' has unknown kinds"),
    "too few flags": (with_tensors(CONTENT, level_missing=SHORT["level_missing"]), "'level_missing' must have"),
    "too few starts": (with_tensors(CONTENT, level_start=SHORT["level_start"]), "'level_start' must have the shape"),
    "start backward": (element("level_start", 2, -1), "'level_start' must ascend"),
    "start behind the levels": (element("level_start", -1, 10**12), "'level_start' must ascend"),
    "start not at 0": (element("level_start", 0, 1), "'level_start' must ascend"),
    "end backward": (element("level_end", 1, -5), "'level_end' must ascend"),
    "end behind the text": (element("level_end", -1, 10**12), "'level_end' must ascend"),
    "numbers with levels": (element("column_kind", 1, 0), "a column of numbers has none"),
    "category without levels": (element("column_kind", 2, 2), "a category needs levels"),
    "no UTF-8": (text("é".encode(), b"\xff\xff"), "'level_text' is not UTF-8"),
    "levels in disorder": (text(b"ab", b"ba"), "the levels of a category must ascend"),
    "a level twice": (text(b"ab", b"aa"), "the levels of a category must ascend"),
    "a number in words": (text(b"2.5", b"two"), "the level 'two' is not a number"),
    "a number that is none": (text(b"2.5", b"nan"), "the level 'nan' is not a number"),
    "means of infinity": (element("level_means", 3, np.inf), "'level_means' has values that are not finite"),
    "means too few": (with_tensors(CONTENT, level_means=SHORT["level_means"]), "'level_means' is too short"),
    "means too many": (with_tensors(CONTENT, level_means=np.zeros(99)), "'level_means' is too long"),
    "features miscounted": (element("column_kind", 0, 0), "the columns make 4 features, but the trees have 5"),
    "columns miscounted": (with_metadata(CONTENT, n_features=5), "n_features must be 4"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_damaged_categories_are_refused_with_a_reason(content, reason, tmp_path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{str(path)!r} cannot be loaded: ") and str(caught.value).endswith(".")


@pytest.mark.parametrize("n_values", [0, 59, 60, 3600])
def test_a_basis_of_classes_must_have_as_many_values_for_each_class(n_values, tmp_path, refuses_file):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.integers(60, size=600).astype(str)})
    tree = BoostTreeClassifier(random_state=0, max_leaf_nodes=2).fit(frame, rng.permutation(600) % 60)
    tree.save_model(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    refuses_file(
        with_tensors(content, class_basis=np.zeros(n_values)),
        r"'class_basis' must have|features, but the trees have|'level_means' is too",
    )
