"""Model files converted for other programs, one function for each format."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._files.files import replace_file
from ..export import to_c, to_onnx
from ..export._c import is_name
from .messages import Refused


def check_output(model: Path, output: Path) -> None:
    """Refuse to write where nothing can be written, or over the model."""
    if str(output) == "-":
        raise Refused("--output - cannot be: name a file")
    if not output.parent.is_dir():
        raise Refused(f"--output {output}: there is no folder {output.parent}")
    if output.exists() and model.exists() and os.path.samefile(model, output):
        raise Refused(f"--output {output} is the model that is read: write to another file")


def write(estimator: Any, to: str, dtype: str, output: Path) -> None:
    """Write a converted model whole or not at all."""
    try:
        content = _FORMATS[to](estimator, dtype, output)
    except ImportError as error:
        raise Refused(str(error).removesuffix(".")) from error
    try:
        replace_file(str(output), [content])
    except OSError as error:
        raise Refused(f"{output} cannot be written: {error.strerror or error}") from error


def _onnx(estimator: Any, dtype: str, output: Path) -> bytes:
    model = to_onnx(estimator, dtype)
    from ..export._packed import LARGEST, packed_bytes  # needs onnx, as to_onnx does

    if model.ByteSize() > LARGEST:
        raise Refused(
            "the model is larger than the 2 GB of an ONNX file: in Python, onnx.save_model(to_onnx(forest), path, "
            "save_as_external_data=True) writes it in two"
        )
    return packed_bytes(model)


def _c(estimator: Any, dtype: str, output: Path) -> bytes:
    """Return C source; the model is called as the file."""
    name = re.sub(r"\W", "_", output.stem, flags=re.ASCII)
    return to_c(estimator, name if is_name(name) else f"model_{name}", dtype).encode("ascii")


_FORMATS: dict[str, Callable[[Any, str, Path], bytes]] = {"onnx": _onnx, "c": _c}
