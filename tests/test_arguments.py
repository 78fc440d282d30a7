"""Arguments are declared once: signatures, docstrings, checks and files follow."""

import dataclasses
import inspect
import pickle
import re
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_diabetes, load_iris

import boostforest
import boostforest.model_trees
import boostforest.nodes
import boostforest.nodes.torch
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest._base.declare import BOOL, argument, arguments_of, check_arguments, declared, integer, pooled
from boostforest._core import SPLIT_RULES
from boostforest._grow.parameters import TREE_PARAMETERS

MODULES = (boostforest, boostforest.model_trees, boostforest.nodes, boostforest.nodes.torch)
CLASSES = [v for module in MODULES for v in (getattr(module, n) for n in module.__all__) if inspect.isclass(v)]
OF_TREES = [BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor]


def methods(cls):
    found = [(name, value) for name, value in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")]
    return [(name, value) for name, value in found if value.__module__.startswith("boostforest")]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_argument_stands_in_the_docstring_with_its_default(cls):
    for name, parameter in inspect.signature(cls).parameters.items():
        line = re.search(rf"^{name} : (.+)$", inspect.getdoc(cls), re.MULTILINE)
        assert line, name
        assert ("default=" in line[1]) == (parameter.default is not parameter.empty), name


@pytest.mark.parametrize("cls", CLASSES)
def test_every_docstring_has_an_example(cls):
    assert ">>> " in cls.__doc__
    assert cls.__name__ in cls.__doc__.partition(">>> ")[2]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_public_method_says_what_it_takes(cls):
    for name, method in methods(cls):
        doc = inspect.getdoc(method)
        for argument_name in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"^{argument_name} : ", doc, re.MULTILINE), f"{name}: {argument_name}"


@pytest.mark.parametrize("cls", CLASSES)
def test_no_docstring_has_an_open_place(cls):
    for doc in [cls.__doc__, *(method.__doc__ for _, method in methods(cls))]:
        assert not re.search(r"\{[a-z_]+\}", doc)


@pytest.mark.parametrize("cls", OF_TREES)
def test_every_tree_parameter_is_an_argument_and_in_files(cls, reloaded):
    names = [p.name for p in TREE_PARAMETERS]
    signature = inspect.signature(cls).parameters
    missing = [name for name in names if name not in signature]
    assert missing == ["shared_hessian" if cls._task == "regression" else "clip"]
    X, y = load_diabetes(return_X_y=True) if cls._task == "regression" else load_iris(return_X_y=True)
    arguments = {"n_estimators": 2} if "n_estimators" in signature else {}
    model = cls(**arguments, random_state=0).fit(X, y)
    assert list(model.tree_params_[0]) == names
    assert reloaded(model).tree_params_ == model.tree_params_


def test_a_tree_parameter_keeps_the_number_of_its_draws():
    first = ["node_model", "criterion", "min_samples_leaf", "reg_lambda", "max_leaf_nodes", "max_depth", "max_features"]
    assert [p.name for p in TREE_PARAMETERS][:10] == [*first, "n_cuts", "batch_size", "clip"]


def test_the_rules_of_a_split_are_tree_parameters():
    assert set(SPLIT_RULES) < {p.name for p in TREE_PARAMETERS}


@declared
class _Base:
    depth: Any = pooled(default=3, rule=integer(1), doc="int\nSplits, and\n{more}.")
    name: str = argument(default="x", doc="str\nA name.")


@declared
class _Estimator(BaseEstimator, _Base):
    """Something.

    {parameters}

    {attributes}
    """

    _words = {"more": "levels " * 30}  # noqa: RUF012
    _attributes = "n_ : int\n    Number.\n"

    size: int = argument(kw_only=False, doc="int\nHow large.")
    flag: bool = argument(default=True, rule=BOOL, doc="bool\nA flag.")
    depth: Any = argument(default=(1, 2, 3, 4, 5, 6))


def test_a_declared_class_has_a_real_signature():
    shown = "(size: int, *, depth: Any = (1, 2, 3, 4, 5, 6), name: str = 'x', flag: bool = True) -> None"
    assert str(inspect.signature(_Estimator)).replace("typing.", "") == shown
    made = _Estimator(4, flag=False)
    assert made.get_params() == {"size": 4, "depth": (1, 2, 3, 4, 5, 6), "name": "x", "flag": False}
    assert clone(made).get_params() == pickle.loads(pickle.dumps(made)).get_params() == made.get_params()
    assert not dataclasses.is_dataclass(_Estimator)
    with pytest.raises(TypeError, match=r"_Estimator.__init__\(\) got an unexpected keyword argument 'flags'"):
        _Estimator(4, flags=False)


def test_a_declared_class_has_the_docstring_of_its_arguments():
    lines = inspect.getdoc(_Estimator).splitlines()
    assert lines[2:6] == ["Parameters", "----------", "size : int", "    How large."]
    assert lines[6] == "depth : int, default=(1, 2, …, 6)"
    assert lines[7].startswith("    Splits, and levels levels")
    assert max(map(len, lines)) <= 116
    assert lines[-4:] == ["Attributes", "----------", "n_ : int", "    Number."]


def test_declared_arguments_are_checked():
    check_arguments(_Estimator(4, depth=[1, 2]))
    with pytest.raises(ValueError, match=r"^flag must be True or False; got 1\.$"):
        check_arguments(_Estimator(4, flag=1))
    with pytest.raises(ValueError, match="depth must be an integer from 1 to 2\\^31 - 1, a sequence of such"):
        arguments_of(_Estimator)["depth"].rule.pool([1, 0])
