"""Functions of the compiled core called wrongly: they say no, and neither crash nor hang."""

import enum
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import core_calls
from boostforest import _core

CALLS = core_calls.calls(_core)


def test_every_function_and_method_of_the_core_is_called():
    names = set()
    for name, value in vars(_core).items():
        if inspect.isclass(value) and not issubclass(value, enum.Enum):
            methods = {f"{name}.{m}" for m, f in vars(value).items() if callable(f) and not m.startswith("_")}
            names |= {name} | methods
        elif callable(value) and not inspect.isclass(value):
            names.add(name)
    assert names == {name.split(" (")[0] for name in CALLS}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_neither_crash_nor_hang(name):
    # In a process of its own that has nothing but the core: a crash would take the tests along.
    script = Path(core_calls.__file__)
    factor = float(os.environ.get("BOOSTFOREST_TIME_FACTOR", "1"))  # sanitizers are slow
    arguments = [sys.executable, str(script), _core.__file__, name]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=120 * factor, check=False)
    assert result.returncode == 0, f"after: {result.stdout.splitlines()[-1:]}\n{result.stderr[-2000:]}"
    assert result.stdout.endswith("done\n")
