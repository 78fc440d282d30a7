"""A loss of the user's own: a function that has its derivatives, in Python or compiled."""

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import LowLevelCallable

from .._base.typing import Floats
from .._core import LossCode
from .loss import OutOfBag
from .squared_error import IdentityLink

_DOUBLES = ctypes.POINTER(ctypes.c_double)
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, ctypes.c_void_p)
_POINTERS = 5  # of a compiled function, behind the number of rows
_LEAST_CURVATURE = 1e-12  # as in the core


def is_own(loss: Any) -> bool:
    """Tell whether something is a function that has derivatives."""
    return isinstance(loss, LowLevelCallable) or (callable(loss) and not isinstance(loss, type))


class _InPython:
    """A function of Python, as the core calls it, and what it raised."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.error: Exception | None = None
        self._function = function
        self.compiled = _FUNCTION(self._call)
        self.address = int(ctypes.cast(self.compiled, ctypes.c_void_p).value or 0)
        self.data = 0

    def _call(self, n: int, y: Any, scores: Any, gradient: Any, curvature: Any, _: Any) -> int:
        try:
            own = [np.ctypeslib.as_array(array, (n,)) for array in (y, scores)]
            found = derivatives_of(self._function, own[0].copy(), own[1].copy())
        except Exception as error:
            self.error = error
            return 1
        for values, place in zip(found, (gradient, curvature), strict=True):
            np.ctypeslib.as_array(place, (n,))[:] = values
        return 0


class _Compiled:
    """A compiled function; scipy checks that it is one."""

    error = None

    def __init__(self, function: LowLevelCallable) -> None:
        signature = function.signature
        inside = signature[signature.index("(") + 1 : signature.rindex(")")].split(",")
        if not signature.startswith("int ") or len(inside) != 1 + _POINTERS or not all("*" in p for p in inside[1:]):
            raise ValueError(
                "loss must be compiled with the signature 'int (int64_t n, const double *y, const double *score, "
                f"double *gradient, double *hessian, void *data)'; got {signature!r}."
            )
        capsule = tuple.__getitem__(function, 0)
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = api.PyCapsule_GetContext.restype = ctypes.c_void_p
        api.PyCapsule_GetName.restype = ctypes.c_char_p
        for call in (api.PyCapsule_GetName, api.PyCapsule_GetContext):
            call.argtypes = [ctypes.py_object]
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.address = int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)) or 0)
        self.data = int(api.PyCapsule_GetContext(capsule) or 0)


def derivatives_of(function: Callable[..., Any], y: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return gradient and second derivative of rows by a function of Python; refuse what cannot be."""
    found = function(y, scores)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise ValueError(f"loss must return two arrays, gradient and second derivative; got {type(found).__name__}.")
    gradient, curvature = (np.asarray(values, dtype=np.float64) for values in found)
    for name, values in (("gradient", gradient), ("second derivative", curvature)):
        if values.shape != y.shape:
            raise ValueError(f"loss must return a {name} for each of {len(y)} rows; got shape {values.shape}.")
        if not np.isfinite(values).all():
            raise ValueError(f"loss must return finite numbers; its {name} contains NaN or infinity.")
    if (curvature < 0).any():
        raise ValueError(f"loss must return second derivatives that are not negative; got {curvature.min():g}.")
    return gradient, curvature


@dataclass(frozen=True)
class OwnLoss(IdentityLink):
    """A function's: what it returns are the derivatives by the score, which is what is predicted."""

    name = "own"
    code = LossCode.OWN
    predicts_mean = False

    function: Any = None  #: not in files: a model that was loaded only predicts

    @classmethod
    def fit(
        cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None, function: Any = None
    ) -> Self:
        return cls(function=function)

    @cached_property
    def called(self) -> _InPython | _Compiled:
        """The function as the core calls it; it must live as long as the core may."""
        is_compiled = isinstance(self.function, LowLevelCallable)
        return _Compiled(self.function) if is_compiled else _InPython(self.function)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "called"}

    @property
    def numbers(self) -> tuple[float, ...]:  # type: ignore[override]
        bits = struct.pack("QQ", self.called.address, self.called.data)
        return tuple(float(number) for number in struct.unpack("dd", bits))

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "Newton decrement", mean_loss

    def losses(self, y: Floats, scores: Floats) -> Floats:
        gradient, curvature = self._derivatives(y, scores[:, 0])
        return np.asarray(gradient**2 / (2 * np.maximum(curvature, _LEAST_CURVATURE)))

    def _derivatives(self, y: Floats, scores: Floats) -> tuple[Floats, Floats]:
        if self.function is None:
            raise ValueError("The function of the loss is needed here, and model files do not keep it.")
        if not isinstance(self.function, LowLevelCallable):
            return derivatives_of(self.function, y, scores)
        found = np.empty((2, len(y)))
        labels, at = (np.ascontiguousarray(values, dtype=np.float64) for values in (y, scores))
        places = [array.ctypes.data_as(_DOUBLES) for array in (labels, at, found[0], found[1])]
        _FUNCTION(self.called.address)(len(y), *places, self.called.data)
        return found[0], found[1]

    def curvature(self, scores: Floats) -> Floats:
        return np.ones_like(scores)

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        return self.losses(y, oob.mean)
