"""Where to compute: on the CPU, in the core, or on a GPU, with PyTorch, which is imported only then."""

from typing import Any


def find_device(device: str, pays: bool) -> Any:
    """Return the torch device that is asked for, None for the core; ``pays``: whether "auto" wants a GPU."""
    if device == "cpu" or (device == "auto" and not pays):
        return None
    try:
        import torch
    except ImportError as error:
        if device == "auto":
            return None
        raise ImportError(f"device={device!r} needs PyTorch: pip install 'boostforest[torch]'.") from error
    if device == "torch:cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if device == "auto":
            return None
        raise ValueError(f"device={device!r} needs a GPU that PyTorch can use, and there is none; use 'cpu' or 'auto'.")
    number = torch.device(device).index if device != "auto" else None
    number = torch.cuda.current_device() if number is None else number
    if number >= torch.cuda.device_count():
        raise ValueError(f"device={device!r} is not there: PyTorch sees {torch.cuda.device_count()} GPUs.")
    return torch.device("cuda", number)


def device_for_prediction(device: str, pays: bool) -> Any:
    """Return the same for a fitted model, which may have come to a machine without the GPU that it was fitted on."""
    try:
        return find_device(device, pays)
    except (ImportError, ValueError):
        return None
