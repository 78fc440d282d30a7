"""Networks in model files: arrays of known names and shapes, and nothing that is run."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from boostforest import BoostForestClassifier, load_model
from boostforest.nodes.torch import CNN, MLP, TorchNode
from model_files import field, tensors_of, with_metadata, with_tensors

X, Y = load_iris(return_X_y=True)
SHAPE = {"max_depth": 2, "min_samples_leaf": 20, "random_state": 0}


torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'boostforest[torch]'")

SMALL = TorchNode(MLP((4,)), epochs=2, device="cpu")


def fitted(node_model, n=3):
    return BoostForestClassifier(n, node_model=node_model, **SHAPE, preset="paper").fit(X, Y)


def saved(model, folder, **options):
    model.save_model(folder / "m.safetensors", **options)
    return folder / "m.safetensors"


POOL = [
    SMALL,
    "ridge",
    TorchNode(CNN((2, 2), channels=3, kernel_size=2), epochs=[1, 2], lr=(0.01, 0.1), device="cpu"),
    TorchNode(MLP((4,)), epochs=2, device="cpu"),
]


@pytest.mark.parametrize("node_model", [SMALL, POOL], ids=["one", "pool"])
def test_networks_come_back_to_the_bit(node_model, tmp_path):
    forest = fitted(node_model, n=8 if node_model is POOL else 2)
    loaded = load_model(saved(forest, tmp_path))
    np.testing.assert_array_equal(loaded.predict_proba(X), forest.predict_proba(X))
    assert repr(loaded.tree_params_) == repr(forest.tree_params_)
    assert [str(m) for m in np.atleast_1d(loaded.node_model)] == [
        str(m).replace("[1, 2]", "(1, 2)") for m in np.atleast_1d(forest.node_model)
    ]


def test_a_loaded_forest_continues(tmp_path):
    whole = fitted(SMALL, n=4)
    loaded = load_model(saved(fitted(SMALL, n=2), tmp_path))
    loaded.set_params(n_estimators=4, warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))


def test_fewer_digits_round_the_weights(tmp_path):
    forest = fitted(SMALL)
    short = load_model(saved(forest, tmp_path, dtype="float16"))
    np.testing.assert_allclose(short.predict_proba(X), forest.predict_proba(X), atol=1e-3)
    assert not np.array_equal(short.predict_proba(X), forest.predict_proba(X))


def test_a_module_of_ones_own_is_asked_for(tmp_path):
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))
    forest = fitted(TorchNode(module, epochs=2, device="cpu"))
    path = saved(forest, tmp_path)
    with pytest.raises(ValueError, match=r"a module of your own.*node_model=TorchNode\(your_module\)"):
        load_model(path)
    loaded = load_model(path, node_model=TorchNode(module))
    np.testing.assert_array_equal(loaded.predict_proba(X), forest.predict_proba(X))
    with pytest.raises(ValueError, match="tensors of networks are missing or unknown"):
        load_model(path, node_model=TorchNode(torch.nn.Linear(4, 3)))


def test_two_modules_of_ones_own_do_not_fit_into_a_file(tmp_path):
    pool = [TorchNode(torch.nn.Linear(4, 3, bias=b), epochs=1) for b in (True, False)]
    with pytest.raises(ValueError, match="one module of your own, not of several"):
        saved(fitted(pool, n=6), tmp_path)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A file with networks."""
    return saved(fitted(SMALL), tmp_path_factory.mktemp("networks")).read_bytes()


def first(array):
    """Return an array without its last item."""
    return array[:-1]


def poisoned(array):
    array = array.copy()
    array.reshape(-1)[0] = np.nan
    return array


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("network", first, "'network' must have the shape"),
        ("network", np.zeros_like, "every node of a tree with networks must have one"),
        ("network", lambda a: np.where(a > 0, a + 1, a), "must name every network once"),
        ("network", lambda a: np.where(a > 0, 1, a), "must name every network once"),
        ("network.0.0.weight", first, r"'0.weight' of \d+ networks must have the shape"),
        ("network.0.0.weight", lambda a: a.astype(np.float64), "a type that fits"),
        ("network.0.2.bias", poisoned, "'2.bias' of a network has values that are not finite"),
        ("network.0.4.bias", lambda _: np.zeros(3), "missing or unknown: 4.bias"),
        ("network.1.bias", lambda _: np.zeros(3), "tensors are unknown: network.1.bias"),
        ("kind", np.zeros_like, "'sum_path' must be 0 with more than two classes"),
    ],
)
def test_damaged_networks_are_refused(content, name, change, match, refuses_file):
    tensors = tensors_of(content)
    refuses_file(with_tensors(content, **{name: change(tensors.get(name))}), match)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('{"MLP":{"hidden":[4]}}', '{"MLP":{"hidden":[5]}}', "must have the shape"),
        ('{"MLP":{"hidden":[4]}}', '{"MLP":{"hidden":[2147483647,2147483647]}}', "impossibly large"),
        ('{"MLP":{"hidden":[4]}}', '{"MLP":{"hidden":[1,1,1,1,1,1,1]}}', "more layers than there are tensors"),
        ('{"MLP":{"hidden":[4]}}', '{"MLP":{"hidden":[{}]}}', "a parameter that is not a number"),
        ('{"MLP":{"hidden":[4]}}', '{"Bilinear":{"hidden":[4]}}', "must be one of MLP, CNN; got 'Bilinear'"),
        ('{"MLP":{"hidden":[4]}}', '{"MLP":{"bias":false}}', "MLP has other parameters"),
        ('{"MLP":{"hidden":[4]}}', "4", "must be one of MLP, CNN"),
        ('"epochs":2', '"epochs":0', "TorchNode.epochs must be"),
        ('"epochs":2', '"passes":2', "a TorchNode has other parameters"),
        ('"device":"cpu"', '"device":"tpu"', "TorchNode.device must be"),
        ("TorchNode {", "TorchNode ", "is not JSON"),
    ],
    ids=range(11),
)
def test_made_up_networks_are_refused(content, old, new, match, refuses_file):
    drawn = field(content, "tree_params")
    assert old in drawn["node_model"][0]
    drawn["node_model"] = [drawn["node_model"][0].replace(old, new)]
    refuses_file(with_metadata(content, tree_params=drawn), match)
