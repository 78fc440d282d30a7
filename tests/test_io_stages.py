"""Files of forests beyond the paper that were damaged or made up: refused with one sentence."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from boostforest import BoostForestClassifier, BoostForestRegressor, load_model
from model_files import tensors_of, with_tensors

BAD_REGRESSORS = {
    "a stage beyond the trees": (
        {"stage_end": lambda t: t["stage_end"] + 1},
        "'stage_end' must ascend from above 0 to the number of trees",
    ),
    "a stage of no trees": ({"stage_end": lambda t: np.array([40, 40], dtype=np.int64)}, "'stage_end' must ascend"),
    "stages of the wrong type": (
        {"stage_end": lambda t: t["stage_end"].astype(np.int32)},
        "'stage_end' must be int64; got int32",
    ),
    "steps without stages": ({"stage_end": lambda t: None}, "tensors are missing: stage_end"),
    "a step of almost 0": ({"stage_step": lambda t: np.array([1.0, 5e-324])}, "'stage_step' must start with 1"),
    "a step of 0": ({"stage_step": lambda t: np.array([1.0, 0.0])}, "'stage_step' must start with 1"),
    "a step that is too long": ({"stage_step": lambda t: np.array([1.0, 1001.0])}, "values from 1e-100 to 1000"),
    "a step that is NaN": ({"stage_step": lambda t: np.array([1.0, np.nan])}, "'stage_step' has values that are"),
    "too many steps": ({"stage_step": lambda t: np.ones(3)}, "'stage_step' must have the shape .2,.; got .3,."),
    "losses of no stages": (
        {"stage_end": lambda t: None, "stage_step": lambda t: None},
        "'oob_loss' must have the shape .1,.; got .2,.",
    ),
    "losses of other stages": ({"oob_loss": lambda t: np.ones(5)}, "'oob_loss' must have the shape .2,.; got .5,."),
    "errors below zero": ({"residuals": lambda t: -1 - t["residuals"]}, "'residuals' has values below zero"),
    "errors without trees": ({"absent": lambda t: None}, "tensors are missing: absent"),
    "one seed, other rows": (
        {"tree_seeds": lambda t: np.zeros_like(t["tree_seeds"])},
        "'absent' must be the same for all trees of a seed",
    ),
    "bits of other rows": ({"absent": lambda t: t["absent"][:, :-1].copy()}, "'absent' must have the shape"),
    "leaves that are not there": (
        {"residual_leaf": lambda t: t["residual_leaf"] + np.uint8(99)},
        "'residual_leaf' has leaves that the trees do not have",
    ),
    "leaves below zero": (
        {"residual_leaf": lambda t: -1 - t["residual_leaf"].astype(np.int32)},
        "'residual_leaf' has leaves that the trees do not have",
    ),
    "leaves of trees that are not there": (
        {"leaf_tree": lambda t: t["leaf_tree"] + 40},
        "'leaf_tree' must hold numbers of trees, ascending",
    ),
    "leaves of one tree twice": (
        {"leaf_tree": lambda t: np.maximum(t["leaf_tree"], 3)},
        "'leaf_tree' must hold numbers of trees, ascending",
    ),
    "leaves of other rows": (
        {"residual_leaf": lambda t: t["residual_leaf"][:, 1:].copy()},
        "'residual_leaf' must have the shape",
    ),
    "leaves without trees": ({"leaf_tree": lambda t: None}, "tensors are missing: leaf_tree"),
    "leaves without errors": (
        {name: lambda t: None for name in ("residuals", "absent")},
        "tensors are missing: residuals",
    ),
    "leaves of a single row": (
        {
            "residuals": lambda t: t["residuals"][:1],
            "absent": lambda t: t["absent"][:, :1].copy(),
            "residual_negative": lambda t: t["residual_negative"][:1],
            "residual_leaf": lambda t: t["residual_leaf"][:, :1].copy(),
        },
        "'residual_negative' needs at least two rows in 'residuals'",
    ),
    "sets of classes": ({"conformity": lambda t: np.ones(3)}, "unknown for BoostForestRegressor: conformity"),
}
BAD_CLASSIFIERS = {
    "a factor below zero": ({"calibration_factor": lambda t: np.array(-1.0)}, "'calibration_factor' must be at"),
    "a factor of almost 0": ({"calibration_factor": lambda t: np.array(5e-324)}, "must be at least 1e-100"),
    "knots that fall": ({"knot_x": lambda t: t["knot_x"][::-1].copy()}, "'knot_x' must ascend for every output"),
    "knots that are no probabilities": ({"knot_y": lambda t: t["knot_y"] + 1}, "'knot_y' must hold probabilities"),
    "knots of other outputs": ({"knot_start": lambda t: np.array([0, 1, len(t["knot_x"])])}, "'knot_start' must have"),
    "knots that end elsewhere": ({"knot_start": lambda t: np.array([0, 2**62])}, "'knot_start' must ascend from 0 to"),
    "knots without values": ({"knot_y": lambda t: None}, "tensors are missing: knot_y"),
    "conformity in disorder": ({"conformity": lambda t: t["conformity"][::-1].copy()}, "'conformity' must ascend"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the bytes of a regressor with two stages and of a calibrated classifier."""
    folder = tmp_path_factory.mktemp("models")
    X, y = make_friedman1(120, noise=0.1, random_state=0)
    BoostForestRegressor(40, n_stages=2, random_state=0, preset="paper").fit(X, y).save_model(folder / "r")
    BoostForestClassifier(40, calibrate="isotonic", random_state=0, preset="paper").fit(X, y > y.mean()).save_model(
        folder / "c"
    )
    assert "stage_end" in tensors_of((folder / "r").read_bytes()), "the example must have two stages"
    return {name: (folder / name).read_bytes() for name in "rc"}


@pytest.mark.parametrize(
    ("kind", "case"), [*(("r", name) for name in BAD_REGRESSORS), *(("c", name) for name in BAD_CLASSIFIERS)]
)
def test_a_damaged_file_is_refused_with_one_sentence(files, kind, case, tmp_path):
    changes, message = (BAD_REGRESSORS if kind == "r" else BAD_CLASSIFIERS)[case]
    tensors = tensors_of(files[kind])
    path = tmp_path / "model.safetensors"
    path.write_bytes(with_tensors(files[kind], **{name: change(tensors) for name, change in changes.items()}))
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_a_stage_that_counts_more_than_the_first_is_saved(files, tmp_path):
    (tmp_path / "model").write_bytes(with_tensors(files["r"], stage_step=np.array([1.0, 2.5])))
    forest = load_model(tmp_path / "model")
    forest.save_model(tmp_path / "again")  # classes that are apart are worth such steps
    X = make_friedman1(20, random_state=1)[0]
    np.testing.assert_array_equal(load_model(tmp_path / "again").predict(X), forest.predict(X))


def test_the_files_are_good_before_they_are_damaged(files, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(with_tensors(content))
        assert load_model(tmp_path / name).forest_.n_trees == 40


def test_a_stage_of_separated_classes_that_counts_more_than_the_first_can_be_saved(files, tmp_path, reloaded):
    (tmp_path / "r").write_bytes(with_tensors(files["r"], stage_step=np.array([1.0, 1.4])))
    loaded = load_model(tmp_path / "r")
    assert reloaded(loaded).stages_.steps == (1.0, 1.4)
