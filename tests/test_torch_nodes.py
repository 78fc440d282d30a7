"""Networks at the nodes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_regression

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest.nodes.torch import CNN, MLP, TorchNode

NUMBERS = make_regression(200, 4, noise=10.0, random_state=0)
CLASSES = make_classification(240, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
SHAPE = {"max_depth": 2, "min_samples_leaf": 30, "random_state": 0}


torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'boostforest[torch]'")

from boostforest._grow.python import grower as _python_grower  # noqa: E402
from boostforest.nodes import _python, _torch, _torch_stack, _torch_training  # noqa: E402


def small(**params):
    """Return networks that are trained in no time."""
    return TorchNode(MLP((8,)), **{"epochs": 4, "batch_size": 32, **params})


def n_parameters(module):
    return sum(p.numel() for p in module.parameters())


# --------------------------------------------------------------------------------------------------------- the networks


def test_the_networks_are_as_large_as_the_papers():
    assert n_parameters(CNN((28, 28))(784, 10)) == 3106  # 3,140 there
    assert n_parameters(MLP()(28, 1)) == 343_297  # about 350,000 there


@pytest.mark.parametrize("shape", [(8, 8), (2, 4, 8)])
def test_rows_are_images(shape):
    module = CNN(shape, channels=3, kernel_size=2)(64, 5)
    assert module(torch.zeros(7, 64)).shape == (7, 5)


@pytest.mark.parametrize("padding", [0, 1])
def test_a_convolution_as_a_matrix_product_is_the_same(padding):
    module = torch.nn.Sequential(torch.nn.Unflatten(1, (3, 9, 8)), torch.nn.Conv2d(3, 4, (3, 2), 2, padding))
    other = _torch_stack.with_matrix_convolutions(module)
    x = torch.randn(5, 3 * 9 * 8)
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in module.named_parameters()]
    torch.testing.assert_close(other(x), module(x))


# ------------------------------------------------------------------------------------------------------------- training


def problems(n_problems, n_outputs, n_features=3):
    """Return regressions of different size and their table."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(100, n_features))
    found = []
    for i in range(n_problems):
        rows = np.sort(rng.choice(100, 20 + 15 * i, replace=False)).astype(np.int32)
        z, v = rng.normal(size=(n_outputs, len(rows))), rng.random((n_outputs, len(rows)))
        found.append(_python.Problem(f"node {i}", rows, len(rows), np.ones(len(rows)), z, v, None, 5 + i, 7))
    return found, table


def train_plainly(module, table, problem, node):
    """Train one network the textbook way, with PyTorch's own optimiser."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=node.lr, weight_decay=node.weight_decay)
    rng = np.random.default_rng(problem.key)
    x = torch.from_numpy(table[problem.rows]).float()
    z, v = (torch.from_numpy(a.T.copy()).float() for a in (problem.z, problem.v / problem.v.mean()))
    for _ in range(node.epochs):
        order = rng.permutation(len(x))
        for first in range(0, len(x), node.batch_size):
            some = order[first : first + node.batch_size]
            optimizer.zero_grad()
            (v[some] * (module(x[some]) - z[some]) ** 2).mean().backward()
            optimizer.step()
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


@pytest.mark.parametrize(("nodes_at_once", "n_outputs"), [(1, 3), (2, 1), (8, 3)])
def test_stacked_networks_are_trained_as_one_by_one_with_pytorchs_optimiser(nodes_at_once, n_outputs):
    found, table = problems(3, n_outputs)
    node = small(nodes_at_once=nodes_at_once, device="cpu")
    fitter = _torch.TorchFitter(node, table, n_outputs, "regression")
    for network, problem in zip(fitter.fit(found), found, strict=True):
        expected = train_plainly(fitter._build(problem.tree_key), table, problem, node)
        for name, array in expected.items():
            np.testing.assert_allclose(network.arrays[name], array, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("nodes_at_once", [1, 4])
def test_networks_are_evaluated_on_their_rows(nodes_at_once):
    found, table = problems(3, 2)
    fitter = _torch.TorchFitter(small(nodes_at_once=nodes_at_once, device="cpu"), table, 2, "classification")
    networks = fitter.fit(found)
    outputs = fitter.predict([(n, p.rows, p.where) for n, p in zip(networks, found, strict=True)])
    for network, problem, output in zip(networks, found, outputs, strict=True):
        module = fitter._build(0)
        module.load_state_dict({name: torch.from_numpy(a) for name, a in network.arrays.items()})
        raw = module(torch.from_numpy(table[problem.rows]).float()).detach().numpy().T
        np.testing.assert_allclose(output, 4 * np.tanh(raw / 4), rtol=1e-4, atol=1e-5)
    assert np.abs(np.concatenate(outputs, axis=1)).max() < 4


def test_large_blocks_of_rows_are_evaluated_in_pieces(monkeypatch):
    found, table = problems(2, 1)
    fitter = _torch.TorchFitter(small(device="cpu"), table, 1, "regression")
    asked = [(n, p.rows, p.where) for n, p in zip(fitter.fit(found), found, strict=True)]
    whole = fitter.predict(asked)
    monkeypatch.setattr(_torch, "_ROWS_PER_PREDICTION", 7)
    for a, b in zip(whole, fitter.predict(asked), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_stack_too_large_for_the_memory_is_halved():
    done, sizes = [], []

    def work(items):
        sizes.append(len(items))
        if len(items) > 3:
            raise torch.cuda.OutOfMemoryError
        done.extend(items)

    _torch_stack.in_stacks(range(10), 8, work)
    assert done == list(range(10)) and sizes == [8, 4, 2, 2, 2, 2, 2]


def test_children_start_from_their_parents_weights():
    X, y = NUMBERS
    still = TorchNode(MLP((8,)), epochs=1, lr=1e-12, weight_decay=0.0, device="cpu")
    tree = BoostTreeRegressor(node_model=still, **SHAPE).fit(X, y)
    networks = [m.arrays for m in tree.forest_.models if m is not None]
    assert len(networks) == len(tree.forest_.feature) - 1 > 2
    for network in networks[1:]:
        for name, array in network.items():
            np.testing.assert_allclose(array, networks[0][name], atol=1e-9)


def test_trees_start_from_different_weights():
    X, y = NUMBERS
    still = TorchNode(torch.nn.Linear(4, 1), epochs=1, lr=1e-12, device="cpu")
    forest = BoostForestRegressor(2, node_model=still, **SHAPE, preset="paper").fit(X, y)
    first, second = (next(m for m in forest.get_tree(t).forest_.models if m is not None) for t in range(2))
    assert np.abs(first.arrays["weight"] - second.arrays["weight"]).max() > 0.01


# ---------------------------------------------------------------------------------------------------- trees and forests


def test_networks_learn_images():
    X, y = load_digits(return_X_y=True)
    node = TorchNode(CNN((8, 8), kernel_size=3, stride=1), epochs=10, batch_size=128)
    tree = BoostTreeClassifier(node_model=node, batch_size=None, scale=False, **SHAPE | {"min_samples_leaf": 200})
    assert tree.fit(X[:1200] / 16, y[:1200]).score(X[1200:] / 16, y[1200:]) > 0.9


def test_a_forest_of_networks_is_the_same_on_several_processes_and_after_pickling():
    X, y = CLASSES
    one, two = (
        BoostForestClassifier(2, node_model=small(device="cpu"), n_jobs=n, **SHAPE, preset="paper").fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), one.predict_proba(X))
    assert one.score(X, y) > 0.5
    assert one.model_size_ > 2 * 6 * 4 * 8 and "Network(" in one.to_dataframe()["model"].iloc[1]


def test_trees_that_grow_together_are_those_that_grow_alone(monkeypatch):
    X, y = CLASSES
    forest = BoostForestClassifier(3, node_model=small(device="cpu", nodes_at_once=5), **SHAPE, preset="paper")
    alone = forest.fit(X, y).predict_proba(X)
    monkeypatch.setattr(_python_grower, "grows_together", lambda node_model: True)
    monkeypatch.setattr(_python_grower, "_TREES_TOGETHER", 2)
    np.testing.assert_allclose(clone(forest).fit(X, y).predict_proba(X), alone, atol=1e-4)


def test_networks_see_all_rows_while_splits_take_batches():
    X, y = NUMBERS
    seen = []
    monkey = _torch_training.train

    def note(form, table, problems, *rest):
        seen.extend(len(p.rows) for p in problems)
        return monkey(form, table, problems, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_torch, "train", note)
        BoostTreeRegressor(node_model=small(device="cpu"), batch_size=80, **SHAPE | {"max_depth": 1}).fit(X, y)
    assert sum(seen) == len(y)


def test_each_tree_draws_its_training_from_pools():
    X, y = NUMBERS
    node = small(lr=[0.01, 0.001], epochs=(1, 2), device="cpu")
    forest = BoostForestRegressor(8, node_model=node, **SHAPE, preset="paper").fit(X, y)
    drawn = {(t["node_model"].lr, t["node_model"].epochs) for t in forest.tree_params_}
    assert {lr for lr, _ in drawn} == {0.01, 0.001} and {epochs for _, epochs in drawn} == {1, 2}


def test_normalisation_layers_keep_their_state():
    X, y = NUMBERS
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    tree = BoostTreeRegressor(node_model=TorchNode(module, epochs=3, nodes_at_once=8, device="cpu"), **SHAPE).fit(X, y)
    network = next(m for m in tree.forest_.models if m is not None)
    assert network.arrays["0.num_batches_tracked"] == 3
    assert np.abs(network.arrays["0.running_mean"]).max() > 0
    assert np.isfinite(tree.predict(X)).all()


def test_normalisation_layers_see_real_rows_only():
    found, table = problems(1, 1)
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3, momentum=1.0), torch.nn.Linear(3, 1))
    n = len(found[0].rows)
    fitter = _torch.TorchFitter(TorchNode(module, epochs=1, batch_size=n - 5, device="cpu"), table, 1, "regression")
    last = np.random.default_rng(found[0].key).permutation(n)[-5:]
    expected = table[found[0].rows[last]].mean(axis=0)
    np.testing.assert_allclose(fitter.fit(found)[0].arrays["0.running_mean"], expected, atol=1e-6)


def test_random_layers_follow_from_the_seed():
    X, y = NUMBERS
    node = TorchNode(lambda d, k: torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(d, k)), epochs=3)
    torch.manual_seed(1)
    one = BoostTreeRegressor(node_model=node, **SHAPE).fit(X, y).predict(X)
    state = torch.get_rng_state()
    two = BoostTreeRegressor(node_model=node, **SHAPE).fit(X, y).predict(X)
    np.testing.assert_array_equal(one, two)
    assert torch.equal(state, torch.get_rng_state())  # the user's own random numbers are left alone


# ----------------------------------------------------------------------------------------------------- what cannot work


@pytest.mark.parametrize(
    ("node", "match"),
    [
        (TorchNode("mlp"), r"TorchNode.module must be MLP\(…\).*; got 'mlp'"),
        (TorchNode(lambda d, k: None), "TorchNode.module must return a torch.nn.Module when it is called; got None"),
        (TorchNode(MLP(0)), "MLP.hidden must hold integers of at least 1; got 0"),
        (TorchNode(CNN((3, 3))), r"CNN.image_shape must be .* of an image of 4 values.*; got \(3, 3\)"),
        (TorchNode(CNN((2, 2))), r"CNN.kernel_size=5 leaves nothing of an image of \(2, 2\) after 1 convolutions"),
        (small(epochs=0), "TorchNode.epochs must be an integer from 1"),
        (small(lr=0.0), "TorchNode.lr must be a finite number above 0"),
        (small(device="gpu"), "TorchNode.device must be one of 'auto', 'cpu', 'cuda'"),
        (small(nodes_at_once=0), "TorchNode.nodes_at_once must be 'auto' or an integer of at least 1; got 0"),
        (
            TorchNode(torch.nn.Linear(4, 2)),
            r"node_model=TorchNode\(.* must return rows × 1, but gave the shape \(2, 2\) for 2 rows at node L of",
        ),
        (TorchNode(torch.nn.Flatten(0)), r"TorchNode\(.* has no parameters to train"),
    ],
    ids=range(11),
)
def test_networks_that_cannot_work_are_refused(node, match):
    with pytest.raises(ValueError, match=match):
        BoostTreeRegressor(node_model=node, **SHAPE).fit(*NUMBERS)


def test_an_error_of_the_module_names_the_node():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught:
        BoostTreeRegressor(node_model=TorchNode(torch.nn.Linear(9, 1)), **SHAPE).fit(*NUMBERS)
    assert "TorchNode(module=Linear(" in caught.value.__notes__[0] and "node L of tree 0" in caught.value.__notes__[0]


def test_diverging_training_names_the_node():
    with pytest.raises(ValueError, match=r"node_model=TorchNode\(.* predicted NaN or infinity at node \w+ of tree 0"):
        BoostTreeRegressor(node_model=small(lr=1e30), **SHAPE).fit(*NUMBERS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_said_and_prediction_does_without():
    X, y = NUMBERS
    with pytest.raises(ValueError, match=r"TorchNode\(.* asks for device='cuda', but PyTorch finds no GPU"):
        BoostTreeRegressor(node_model=small(device="cuda"), **SHAPE).fit(X, y)
    tree = BoostTreeRegressor(node_model=small(device="cpu"), **SHAPE).fit(X, y)
    expected = tree.predict(X)
    tree._model.params["node_model"][0].device = "cuda"  # as if it had been fitted elsewhere
    np.testing.assert_array_equal(tree.predict(X), expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("module", [MLP((8,)), CNN((2, 2), kernel_size=1, stride=1)], ids=repr)
def test_a_gpu_gives_what_a_cpu_gives(module):
    X, y = make_classification(400, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1)
    nodes = [TorchNode(module, epochs=3, device=device) for device in ("cpu", "cuda")]
    cpu, gpu = (BoostForestClassifier(4, node_model=node, **SHAPE, preset="paper").fit(X, y) for node in nodes)
    np.testing.assert_allclose(cpu.predict_proba(X), gpu.predict_proba(X), atol=0.02)
