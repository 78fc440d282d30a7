"""BoostForest-CNN beside Bagging of the same network on MNIST, as in the paper's table of networks (mnist_higgs).

A tree of depth 5, at least 1,024 rows per leaf, networks of 20 epochs, against networks of 150 epochs on bootstrap
replicas. Forests are enlarged in steps while the time allows; whatever was measured is written after every step.

    python -m benchmarks.mnist_nodes --data MNIST.parquet --write-npz mnist.npz   # for a machine without pyarrow
    python -m benchmarks.mnist_nodes --data mnist.npz --out mnist_nodes.json      # on a machine with a GPU
    python -m benchmarks.mnist_nodes --data mnist.npz --quick                     # a minute of a CPU
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import clone

import boostforest
from boostforest import BoostForestClassifier, _core
from boostforest._base.draws import child, tree_seeds
from boostforest.nodes._python import Problem
from boostforest.nodes._torch import TorchFitter
from boostforest.nodes.torch import CNN, TorchNode

PAPER = {"BoostForest-CNN": 0.9887, "Bagging-CNN": 0.9871}  # 100 base learners


class Mnist(NamedTuple):
    """Pixels from 0 to 1, digits as integers."""

    X_train: npt.NDArray[np.float64]
    y_train: npt.NDArray[np.int64]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[np.int64]


def read(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return pixels, digits and which rows are for training, from a Parquet file or from what ``write_npz`` wrote."""
    if path.suffix == ".npz":
        return dict(np.load(path))
    import pandas as pd

    frame = pd.read_parquet(path)
    target = frame.pop("target").to_numpy(dtype=str).astype(np.uint8)
    is_train = (frame.pop("split") == "train").to_numpy()
    return {"pixels": frame.to_numpy(dtype=np.uint8), "digits": target, "is_train": is_train}


def load(path: Path, quick: bool) -> Mnist:
    """Return the two parts of the data; a tenth of each if it is to be quick."""
    raw = read(path)
    X, y, is_train = raw["pixels"] / 255.0, raw["digits"].astype(np.int64), raw["is_train"]
    step = 10 if quick else 1
    return Mnist(X[is_train][::step], y[is_train][::step], X[~is_train][::step], y[~is_train][::step])


class Step(NamedTuple):
    """What one learner shows at one size."""

    n_learners: int
    accuracy: float
    fit_seconds: float  # of all learners so far
    predict_seconds: float
    megabytes: float


class BoostForestCnn:
    """A forest that is enlarged step by step."""

    def __init__(self, data: Mnist, node: TorchNode, min_samples_leaf: int, seed: int) -> None:
        self._data = data
        self.forest = BoostForestClassifier(
            1, node_model=node, max_depth=5, min_samples_leaf=min_samples_leaf, reg_lambda=0.1, batch_size=None,
            scale=False, warm_start=True, n_jobs=-1, random_state=seed,
        )  # fmt: skip
        self._probabilities = np.zeros((len(data.y_test), 10))
        self._n = 0

    def enlarge(self, n: int) -> tuple[npt.NDArray[np.float64], float, float, float]:
        """Grow to n trees; return the probabilities, the seconds of fit and predict and the size."""
        start = time.perf_counter()
        self.forest.set_params(n_estimators=n).fit(self._data.X_train, self._data.y_train)
        fitted = time.perf_counter()
        self._probabilities += self.forest._sum_trees(self._data.X_test, True, slice(self._n, n))
        self._n = n
        return self._probabilities / n, fitted - start, time.perf_counter() - fitted, self.forest.model_size_ / 1e6


class CrossEntropyFitter(TorchFitter):
    """Trains networks as classifiers."""

    @staticmethod
    def loss(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the weighted cross-entropy: networks × rows."""
        return -(weights * targets * outputs.log_softmax(dim=2)).sum(dim=2)


class BaggingCnn:
    """Networks on bootstrap replicas, whose probabilities are averaged."""

    def __init__(self, data: Mnist, node: TorchNode, seed: int) -> None:
        self._data = data
        self._seed = seed
        self._fitter = CrossEntropyFitter(node, data.X_train, 10, "regression")  # no limit on the outputs
        self._tester = CrossEntropyFitter(node, data.X_test, 10, "regression")
        self._probabilities = np.zeros((len(data.y_test), 10))
        self._n = 0
        self._bytes = 0

    def _problem(self, seed: int) -> Problem:
        counts = _core.bootstrap_counts(seed, len(self._data.y_train), len(self._data.y_train), None)
        rows = np.flatnonzero(counts).astype(np.int32)
        targets = (self._data.y_train[rows] == np.arange(10)[:, None]).astype(np.float64)
        w = counts[rows].astype(np.float64)
        v = np.broadcast_to(w, targets.shape)
        return Problem("a network", rows, int(counts.sum()), w, targets, v, None, child(seed, 5), seed)

    def enlarge(self, n: int) -> tuple[npt.NDArray[np.float64], float, float, float]:
        """Train up to n networks; return the probabilities, the seconds of fit and predict and the size."""
        start = time.perf_counter()
        seeds = tree_seeds(self._seed, n)[self._n :]
        with self._fitter.limits():
            networks = self._fitter.fit([self._problem(int(seed)) for seed in seeds])
            fitted = time.perf_counter()
            rows = np.arange(len(self._data.y_test), dtype=np.int32)
            for scores in self._tester.predict([(network, rows, "") for network in networks]):
                odds = np.exp(scores - scores.max(axis=0))
                self._probabilities += (odds / odds.sum(axis=0)).T
        self._n = n
        self._bytes += sum(self._fitter.n_bytes(network) for network in networks)
        return self._probabilities / n, fitted - start, time.perf_counter() - fitted, self._bytes / 1e6


def measure(name: str, learner: Any, n: int, y: npt.NDArray[np.int64], before: Step | None) -> Step:
    """Enlarge a learner, and say what it shows."""
    p, fit_seconds, predict_seconds, megabytes = learner.enlarge(n)
    accuracy = float((p.argmax(axis=1) == y).mean())
    total = fit_seconds + (before.fit_seconds if before else 0.0)
    step = Step(n, accuracy, round(total, 2), round(predict_seconds, 2), round(megabytes, 3))
    print(
        f"{name:16} {n:4} learners: accuracy {accuracy:.4f}, fitted in {total:.1f} s, "
        f"the last ones predicted in {predict_seconds:.1f} s, {megabytes:.2f} MB",
        flush=True,
    )
    return step


def run(learners: dict[str, Any], sizes: list[int], y: npt.NDArray[np.int64], seconds: float,
        write: Callable[[dict[str, list[Step]]], None]) -> dict[str, list[Step]]:  # fmt: skip
    """Enlarge all learners from size to size, as long as the next step can be expected to end in time."""
    start = time.perf_counter()
    steps: dict[str, list[Step]] = {name: [] for name in learners}
    costs = dict.fromkeys(learners, 0.0)  # seconds per base learner in the last step
    for before, n in zip([0, *sizes], sizes, strict=False):
        for name, learner in learners.items():
            left = seconds - (time.perf_counter() - start)
            if (steps[name] or before == 0) and left > costs[name] * (n - before):
                began = time.perf_counter()
                last = steps[name][-1] if steps[name] else None
                if last is None or last.n_learners == before:
                    steps[name].append(measure(name, learner, n, y, last))
                costs[name] = (time.perf_counter() - began) / (n - before)
            else:
                print(f"{name}: no time left for {n} learners ({left:.0f} s)", flush=True)
            write(steps)
    return steps


def main() -> None:
    """Measure both, or write the data for another machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="MNIST as .parquet or .npz")
    parser.add_argument("--write-npz", type=Path, help="only write the data there, for --data on another machine")
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 40, 70, 100], help="numbers of base learners")
    parser.add_argument("--epochs", type=int, default=20, help="of a node's network")
    parser.add_argument("--bagging-epochs", type=int, default=150)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=420.0, help="no step is begun that would end later")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, few and short base learners")
    options = parser.parse_args()
    if options.write_npz:
        np.savez_compressed(options.write_npz, **read(options.data))
        return
    if options.quick:
        options.sizes, options.epochs, options.bagging_epochs = [2, 3], 4, 8
    began = time.perf_counter()
    data = load(options.data, options.quick)
    node = TorchNode(CNN((28, 28)), epochs=options.epochs, device=options.device)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() and options.device != "cpu" else "none"
    about = {
        "rows": len(data.y_train), "test_rows": len(data.y_test), "epochs": options.epochs,
        "bagging_epochs": options.bagging_epochs, "gpu": gpu, "torch": torch.__version__,
        "python": platform.python_version(), "boostforest": boostforest.__version__, "quick": options.quick,
        "paper_100_learners": PAPER,
    }  # fmt: skip
    print(f"read in {time.perf_counter() - began:.1f} s: {about}", flush=True)
    learners = {
        "BoostForest-CNN": BoostForestCnn(data, node, 128 if options.quick else 1024, options.seed),
        "Bagging-CNN": BaggingCnn(data, clone(node).set_params(epochs=options.bagging_epochs), options.seed),
    }

    def write(steps: dict[str, list[Step]]) -> None:
        if options.out:
            figures = {name: [step._asdict() for step in own] for name, own in steps.items()}
            options.out.write_text(json.dumps(about | {"results": figures}, indent=1) + "\n")

    run(learners, options.sizes, data.y_test, options.seconds, write)
    print(f"done after {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
