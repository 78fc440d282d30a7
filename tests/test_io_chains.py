"""Trees that are one long chain, as only made-up files have them: nothing takes time that grows with their square."""

import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boostforest import load_model
from model_files import GOLDEN, chain

CONTENTS = {
    path.stem: path.read_bytes()
    for path in GOLDEN
    if path.stem in ("v1-forest-binary", "v1-forest-multiclass", "v2-halves-regressor", "v2-monotone-regressor")
}
N_SPLITS = 50_000


@pytest.fixture(params=CONTENTS)
def model(request, tmp_path):
    """Return a model of one deep tree."""
    path = tmp_path / "chain.safetensors"
    path.write_bytes(chain(CONTENTS[request.param], N_SPLITS, to_the_left=True))
    return load_model(path)


def test_deep_trees_are_used_in_time_that_is_linear_in_their_depth(model):
    rows = np.repeat([[-5.0, 0.0, 0.0], [5.0, 0.0, 0.0], [np.nan, 0.0, 0.0]], 2, axis=0)
    begin = time.perf_counter()
    assert len(model.predict(rows)) == 6
    assert_array_equal(model.apply(rows)[:, 0], [2 * N_SPLITS - 1] * 2 + [2] * 4)
    assert_array_equal(np.diff(model.decision_path(rows)[0].indptr), [N_SPLITS + 1] * 2 + [2] * 4)
    assert model.forest_.depth.max() == N_SPLITS
    assert_array_equal(model.forest_.depth[1::2], np.arange(1, N_SPLITS + 1))
    assert len(model.feature_importances_) == len(model.slope_importances_) == 3
    # Half a second; with squares of the depth 20 s for a row under constraints, 18 s for the rest.
    assert time.perf_counter() - begin < 10


def test_a_table_of_all_conditions_is_refused_where_it_would_take_all_memory(model, tmp_path):
    with pytest.raises(ValueError, match=f"are too many: the trees are up to {N_SPLITS} levels deep"):
        model.to_dataframe()


def test_deep_trees_can_be_saved_and_shown(tmp_path):
    for content in CONTENTS.values():
        (tmp_path / "a").write_bytes(chain(content, 1200))
        model = load_model(tmp_path / "a")
        model.save_model(tmp_path / "b")
        rows = np.random.default_rng(0).normal(size=(5, 3))
        assert_array_equal(load_model(tmp_path / "b").predict(rows), model.predict(rows))
        assert model.to_dataframe()["path"].iloc[-1] == "R" * 1200
