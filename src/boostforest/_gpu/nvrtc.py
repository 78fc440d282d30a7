"""CUDA kernels that are compiled when they are first needed, by the compiler that comes with PyTorch."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

_FOLDER = Path(__file__).parent


class Kernel:
    """A compiled kernel; all of its arguments are tensors."""

    def __init__(self, function: ctypes.c_void_p, module: ctypes.c_void_p, driver: Any) -> None:
        self._function, self._module, self._driver = function, module, driver

    def __call__(self, n_threads: int, block: int, tensors: Sequence[torch.Tensor | None]) -> None:
        """Run at least so many threads, in blocks of that size, on the current stream; None is a null pointer."""
        pointers = [ctypes.c_void_p(None if t is None else t.data_ptr()) for t in tensors]
        arguments = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(p) for p in pointers))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        grid = max(1, -(-n_threads // block))
        code = self._driver.cuLaunchKernel(self._function, grid, 1, 1, block, 1, 1, 0, stream, arguments, None)
        if code != 0:
            raise RuntimeError(f"a CUDA kernel could not be launched (error {code})")


@cache
def kernel(file: str, name: str, defines: tuple[tuple[str, object], ...], device: int) -> Kernel | None:
    """Compile a kernel of a file in this folder; None where there is no compiler."""
    if torch.version.cuda is None:
        return None
    compiler, driver = _compiler(), _driver()
    if compiler is None or driver is None:
        return None
    source = "".join(f"#define {key} {value}\n" for key, value in defines) + (_FOLDER / file).read_text()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        with torch.cuda.device(device):
            torch.zeros(1, device="cuda")  # the driver's context is there from now on
            binary = _compile(compiler, source, torch.cuda.get_device_capability(device))
            _require(driver.cuModuleLoadData(ctypes.byref(module), binary))
            _require(driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    except RuntimeError as error:  # a GPU that is newer than the compiler, say
        warnings.warn(f"PyTorch's own operations are used, which are slower: {error}", stacklevel=2)
        return None
    return Kernel(function, module, driver)


def _compile(compiler: Any, source: str, capability: tuple[int, int]) -> bytes:
    program = ctypes.c_void_p()
    _require(compiler.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None))
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture=sm_{capability[0]}{capability[1]}".encode(), b"--std=c++17")
    size = ctypes.c_size_t()
    try:
        if compiler.nvrtcCompileProgram(program, len(options), options) != 0:
            compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            compiler.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"a CUDA kernel could not be compiled:\n{log.value.decode()}")
        _require(compiler.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        binary = ctypes.create_string_buffer(size.value)
        _require(compiler.nvrtcGetCUBIN(program, binary))
    finally:
        compiler.nvrtcDestroyProgram(ctypes.byref(program))
    return binary.raw


def _require(code: int) -> None:
    if code != 0:
        raise RuntimeError(f"a CUDA kernel could not be loaded (error {code})")


@cache
def _driver() -> Any:
    return _load(["nvcuda.dll"] if sys.platform == "win32" else ["libcuda.so.1"])


@cache
def _compiler() -> Any:
    """Return NVRTC: among PyTorch's own libraries, or wherever the system finds it."""
    major = str(torch.version.cuda).split(".")[0]
    pattern = f"nvrtc64_{major}*.dll" if sys.platform == "win32" else f"libnvrtc.so.{major}*"
    torch_folder = Path(torch.__file__).parent
    places = [torch_folder / "lib", *sorted((torch_folder.parent / "nvidia").glob("*/lib"))]
    places += sorted((torch_folder.parent / "nvidia").glob("*/bin"))
    found = [str(path) for folder in places for path in sorted(folder.glob(pattern))]
    return _load([*found, f"libnvrtc.so.{major}", "libnvrtc.so"])


def _load(names: list[str]) -> Any:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
