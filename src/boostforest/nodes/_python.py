"""Models in Python at the nodes: what a tree asks of them, whoever they are."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from .._base.threads import ONE_BLAS_THREAD
from .._base.typing import Floats, Ints

_MAX_NAME = 120  # characters of a model's repr in a message


@dataclass
class Problem:
    """The regression of one node."""

    where: str  #: the node, for messages
    rows: Ints  #: its rows in the table, each once
    count: int  #: how many they are, drawn ones as often as they were drawn
    w: Floats  #: what each row weighs in the tree
    z: Floats  #: outputs × rows: what to fit
    v: Floats  #: outputs × rows: with which weights, those of the rows times those of the loss
    parent: Any  #: the model of the node above, None if that has none
    key: int  #: all random numbers of the node follow from it,
    tree_key: int  #:   and what the nodes of a tree have in common from this


class NodeFitter(ABC):
    """Fits one kind of model to the nodes of trees over one table, and evaluates them."""

    fits_all_rows: ClassVar[bool] = False  #: models see all rows of a node, `batch_size` is for the split alone
    predicts_on_threads = True  #: trees may be evaluated at the same time
    called: ClassVar[str] = "node_model"  #: what messages call the model

    def __init__(self, node_model: Any, values: Floats, n_outputs: int, task: str) -> None:
        self.node_model = node_model
        self.values = values  #: rows × features that the models see, scaled, missing values filled
        self.n_outputs = n_outputs
        self.task = task

    @abstractmethod
    def fit(self, problems: list[Problem]) -> list[Any]:
        """Return a fitted model for each of the nodes."""

    @abstractmethod
    def predict(self, asked: list[tuple[Any, Ints, str]]) -> list[Floats]:
        """Return outputs × rows for each (model, rows of the table, name of the node)."""

    def limits(self) -> AbstractContextManager[None]:
        """Return what must be held while models are fitted or evaluated.

        One BLAS thread, whatever the number of processes: for the same bits, and small models gain nothing from more.
        """
        return ONE_BLAS_THREAD

    @abstractmethod
    def n_bytes(self, model: Any) -> int:
        """Return the size of a fitted model."""

    def outputs(self, asked: list[tuple[Any, Ints, str]]) -> list[Floats]:
        """Return what the nodes add to the scores before clipping, checked: outputs × rows."""
        results = self.predict(asked)
        for (_, _, where), result in zip(asked, results, strict=True):
            if not np.isfinite(result).all():
                self.complain(where, "predicted NaN or infinity")
        return [centred(result) for result in results]

    def complain(self, where: str, what: str) -> NoReturn:
        """Raise an error that names the model and the node."""
        raise ValueError(f"{self.called}={short_name(self.node_model)} {what} at {where}.")

    @contextmanager
    def named(self, where: str) -> Iterator[None]:
        """Add to whatever is raised within which model it was, and at which node."""
        try:
            yield
        except Exception as error:
            error.add_note(f"This was {self.called}={short_name(self.node_model)} at {where}.")
            raise


def centred(outputs: Floats) -> Floats:
    """Return f_c <- (J - 1)/J (f_c - mean of f), as in LogitBoost, if there are several outputs."""
    n = len(outputs)
    return outputs if n == 1 else (outputs - outputs.mean(axis=0)) * ((n - 1) / n)


def short_name(node_model: Any) -> str:
    """Return the repr of a model on one line of limited length."""
    name = " ".join(repr(node_model).split())
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"


def seen_values(values: Floats, features: Ints | None) -> Floats:
    """Return what models see of a table: all features, or some."""
    return values if features is None else np.ascontiguousarray(values[:, features])
