"""Bagged XGBoost and LightGBM with the paper's settings."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from .._product import PoolClassifier, PoolForestBase, PoolRegressor, argument, declared
from .checks import check_integer


@declared
class BaggedBoosterPart(PoolForestBase):
    """A pool forest whose members are boosters of another package, one thread each."""

    _package: ClassVar[str]
    _module: ClassVar[str] = ""  # that has the estimator, where the package has not
    _booster: ClassVar[str]  # name of its estimator
    _quiet: ClassVar[dict[str, Any]]

    _takes_sparse: ClassVar[bool] = True

    n_estimators: int = argument(default=500, kw_only=False)
    n_rounds: int = argument(
        default=1000,
        doc="""int
        Boosting rounds of each member, the `n_estimators` of {package}.""",
    )
    pools: Any = argument(
        default=None,
        doc="""dict
        Other parameters of the members: a name that {package} knows, and a value, a sequence of values or a
        distribution with an `rvs` method as in `scipy.stats`, from which each member draws its own.""",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _table_checks(self) -> dict[str, Any]:
        return super()._table_checks() | {"dtype": "numeric"}  # of all rows: a replica may leave a bad one out

    def _declared(self) -> tuple[Any, Any, Any]:
        check_integer("n_rounds", self.n_rounds, 1)
        if isinstance(self.pools, Mapping) and "n_estimators" in self.pools:
            raise ValueError("pools must not have 'n_estimators', the rounds of a member: use n_rounds.")
        try:
            module = importlib.import_module(self._module or self._package)
        except ImportError as error:
            raise ImportError(
                f'{type(self).__name__} needs {self._package}: pip install "boostforest-paper[boosters]".'
            ) from error
        booster = getattr(module, self._booster)
        return booster(n_estimators=self.n_rounds, n_jobs=1, **self._quiet), self.pools, None


_DOC = """Bagging-{package} for {task}: {package} on bootstrap replicas, the mean of {averaged}.

    Each member minimises {package}'s objective [1]_ on its replica. {settings} Needs {package}:
    ``pip install "boostforest-paper[boosters]"``.

    {{parameters}}

    {{attributes}}

    See Also
    --------
    boostforest.PoolForest{kind} : Forests of any {kinds}.

    References
    ----------
    .. [1] {reference}
    .. [2] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> from boostforest_paper.baselines import {name}
    >>> {name}(100, n_rounds=200, pools={{"learning_rate": [0.03, 0.1]}})
    {name}(n_estimators=100, n_rounds=200,
    {indent}pools={{'learning_rate': [0.03, 0.1]}})
    """
_REFERENCES = {
    "XGBoost": 'T. Chen, C. Guestrin, "XGBoost: a scalable tree boosting system", KDD, 2016.',
    "LightGBM": 'G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS, 2017.',
}
_SETTINGS = {
    "XGBoost": "The defaults are the paper's [2]_.",
    "LightGBM": "The paper [2]_ bags 500 on MNIST and\n    HIGGS, as here, 600 elsewhere.",
}
_Class = TypeVar("_Class", bound=type)


def _describe(package: str) -> Callable[[_Class], _Class]:
    """Write the docstring of a class, which is the same for all packages and tasks but for a few words."""

    def describe(cls: _Class) -> _Class:
        regression = issubclass(cls, PoolRegressor)
        task, kind = ("regression", "Regressor") if regression else ("classification", "Classifier")
        cls.__doc__ = _DOC.format(
            package=package, task=task, averaged="all" if regression else "their probabilities", kind=kind,
            kinds=f"{kind.lower()}s", reference=_REFERENCES[package], settings=_SETTINGS[package], name=cls.__name__,
            indent=" " * (len(cls.__name__) + 1),
        )  # fmt: skip
        cls._words = {"package": package}  # type: ignore[attr-defined]
        return declared(cls)

    return describe


@_describe("XGBoost")
class BaggedXGBoostRegressor(BaggedBoosterPart, PoolRegressor):  # noqa: D101 - _describe
    _package, _booster, _quiet = "xgboost", "XGBRegressor", {"verbosity": 0}


@_describe("XGBoost")
class BaggedXGBoostClassifier(BaggedBoosterPart, PoolClassifier):  # noqa: D101 - _describe
    _package, _booster, _quiet = "xgboost", "XGBoostMember", {"verbosity": 0}
    _module = f"{__package__}.xgboost_member"  # replicas may lack classes


@_describe("LightGBM")
class BaggedLightGBMRegressor(BaggedBoosterPart, PoolRegressor):  # noqa: D101 - _describe
    _package, _booster, _quiet = "lightgbm", "LGBMRegressor", {"verbosity": -1}
    _takes_sparse = False  # LightGBM predicts no sparse arrays, only matrices


@_describe("LightGBM")
class BaggedLightGBMClassifier(BaggedBoosterPart, PoolClassifier):  # noqa: D101 - _describe
    _package, _booster, _quiet = "lightgbm", "LGBMClassifier", {"verbosity": -1}
    _takes_sparse = False  # LightGBM predicts no sparse arrays, only matrices
