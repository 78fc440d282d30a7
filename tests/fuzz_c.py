"""Give damaged model files to the C header and to Python: ``python tests/fuzz_c.py --seconds 600``.

The files are those of ``fuzz_io``. The header runs with sanitizers, and no file may do harm. What Python loads the
header must load too, unless it says that it cannot, and predictions must be the same. The header may load what Python
refuses for something that it need not know to predict safely; how often is said at the end.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

import boostforest
from boostforest import load_model
from fuzz_io import CHANGES, CONTENTS, DAMAGES
from model_files import GOLDEN

ROOT = Path(__file__).parent
FLAGS = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
CANNOT = range(30, 40)  # status: the header says that it does not know something
N_ROWS = 5
HUGE = 1e30  # numbers beyond it are somebody's joke: sums of them depend on their order


def compilers():
    """Return the C compilers that are here with their sanitizers (those of clang may be a package of their own)."""
    with tempfile.TemporaryDirectory() as folder:
        make = ["-x", "c", "-", *SANITIZERS, "-o", str(Path(folder) / "nothing")]
        return [
            name
            for name in ("gcc", "clang")
            if shutil.which(name)
            and not subprocess.run([name, *make], input=b"int main(void) { return 0; }", capture_output=True).returncode
        ]


def build(folder, compiler="gcc", source="fuzz.c", flags=()):
    """Return a program of ``tests/c``, with warnings as errors and sanitizers."""
    program = Path(folder) / Path(source).stem
    include = ["-I", boostforest.get_include()]
    command = [compiler, *FLAGS, *SANITIZERS, *flags, *include, str(ROOT / "c" / source), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return program


class Header:
    """The program that loads files in C, one after another."""

    def __init__(self, program):
        self._process = subprocess.Popen([program, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def load(self, content):
        """Return the status, and if it is 0 the results of some rows and an interval."""
        self._process.stdin.write(len(content).to_bytes(8, "little") + content)
        self._process.stdin.flush()
        status = int(self._read(1)[0])
        if status != 0:
            return status, None, None
        _, n_results = self._read(2).astype(int)
        return status, self._read(N_ROWS * n_results).reshape(N_ROWS, -1), self._read(2)

    def _read(self, n):
        content = self._process.stdout.read(8 * n)
        assert len(content) == 8 * n, "the header has crashed"
        return np.frombuffer(content)

    def close(self):
        """End the program; it must have done no harm."""
        self._process.stdin.close()
        assert self._process.wait() == 0
        self._process.stdout.close()


def rows_of(model):
    """Return the rows that the program predicts, as numbers."""
    i, j = np.arange(N_ROWS)[:, None], np.arange(model.n_features_in_)
    rows = ((i * 7 + j * 13) % 11 - 5) / 2.0
    encoder = model._model.features.encoder
    for k, column in {} if encoder is None else encoder.categories.items():
        rows[:, k] = (i[:, 0] * 7 + k) % column.n_levels
    rows[0] = np.nan
    return rows


def compare(header, content, path):
    """Return what became of a file: the header's status, and whether Python has loaded it."""
    status, results, ends = header.load(content)
    path.write_bytes(content)
    try:
        with warnings.catch_warnings(action="ignore"):
            model = load_model(path)
    except ValueError:
        return status, False
    assert status == 0 or status in CANNOT, f"Python loads what the header refuses with status {status}"
    if status != 0:
        return status, True
    own, rows = model._model, rows_of(model)
    if has_huge_numbers(own):
        return status, True
    X = rows if own.features.encoder is None else own.features.encoder.transform(rows)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        expected = own.loss.decode(own.outputs(X, 1)).reshape(N_ROWS, -1)
        assert_same(results, expected)
        if own.known.left_out is not None and len(own.known.left_out.residuals) > 0:
            interval = own.intervals(X[:1], own.known.left_out, 0.8, 1)
            assert_same(ends, np.ravel([own.loss.decode(interval[:, [side]]) for side in (0, 1)]))
    return status, True


def has_huge_numbers(model):
    """Tell whether the order of a sum may decide what is finite."""
    f, columns = model.features, model.columns
    with np.errstate(all="ignore"):
        numbers = [f.mean, f.scale, 1 / f.scale, columns.hidden, columns.coefficients()]
        numbers += [] if f.fill is None else [f.fill]
        return any((np.abs(part) > HUGE).any() for part in numbers)


def assert_same(found, expected):
    """Compare numbers, unless they are so large that the order of a sum decides what is finite."""
    large = ~(np.abs(expected) < 1e100)
    size = np.abs(expected[~large]).max(initial=0.0)
    assert_allclose(found[~large], expected[~large], rtol=1e-9, atol=1e-9 * max(size, 1e-3))


def damaged_files(seed):
    """Yield damaged golden files for ever, each with its seed."""
    while True:
        rng = random.Random(seed)
        content = rng.choice(CONTENTS)
        yield seed, rng.choice([*DAMAGES, *CHANGES])(rng, content)
        seed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    say = sys.stdout.write
    folder = Path(tempfile.mkdtemp())
    program = build(folder, compilers()[-1])
    begin, counts = time.monotonic(), Counter()
    half = options.seconds / 2
    command = [program, str(options.seed % 2**60), str(int(half)), *map(str, GOLDEN)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    header, path = Header(program), folder / "damaged.safetensors"
    say(f"seed {options.seed}; if this stops, the culprit is {path}\n")
    for seed, content in damaged_files(options.seed):
        try:
            counts[compare(header, content, path)] += 1
        except BaseException:
            path.write_bytes(content)
            say(f"seed {seed}\n")
            raise
        if time.monotonic() > begin + options.seconds:
            break
    header.close()
    for (status, in_python), n in sorted(counts.items()):
        say(f"{n:>9} with status {status:>2}, {'loaded' if in_python else 'refused'} by Python\n")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
