"""A look at an installed package, which needs nothing but its dependencies: ``python tests/smoke.py``.

Fits, predicts, saves and loads each kind of forest, and says where the package lies and how long it takes to import.
"""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

MOST_SECONDS = 0.4  # of processor time to import it
IMPORT = "import time; start = time.process_time(); import boostforest; print(time.process_time() - start)"


def import_seconds() -> float:
    """Return the processor time that a new interpreter takes to import the package: the best of three."""
    command = [sys.executable, "-c", IMPORT]
    return min(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3))


def check_forests(folder: Path) -> None:
    """Fit forests, and see that what is loaded again predicts the same."""
    import numpy as np
    from sklearn.datasets import load_diabetes, load_iris

    import boostforest

    for loader, kind, least in (
        (load_diabetes, boostforest.BoostForestRegressor, 0.4),
        (load_iris, boostforest.BoostForestClassifier, 0.9),
    ):
        X, y = loader(return_X_y=True)
        X[::7, 1] = np.nan
        forest = kind(50, n_jobs=2, random_state=0).fit(X, y)
        assert forest.score(X, y) > least, f"{kind.__name__} scores {forest.score(X, y)}"
        forest.save_model(folder / "model.bf")
        np.testing.assert_array_equal(boostforest.load_model(folder / "model.bf").predict(X), forest.predict(X))
        assert boostforest.export_text(forest.get_tree(0)).strip()


def check_threads() -> None:
    """Fit from several threads at once: the same forest in all of them, with the GIL or without."""
    from sklearn.datasets import load_diabetes

    from boostforest import BoostForestRegressor

    X, y = load_diabetes(return_X_y=True)
    found: list[bytes] = []

    def fit() -> None:
        found.append(BoostForestRegressor(20, preset="paper", random_state=0).fit(X, y).predict(X).tobytes())

    threads = [threading.Thread(target=fit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1, "threads differ"
    if hasattr(sys, "_is_gil_enabled") and "free-threading" in sys.version:
        assert not sys._is_gil_enabled(), "the import of some module has turned the GIL on"


def main() -> None:
    """Check the package that this interpreter imports."""
    seconds = import_seconds()
    assert seconds < MOST_SECONDS, f"the import takes {seconds:.2f} s"
    with tempfile.TemporaryDirectory() as folder:
        check_forests(Path(folder))
    check_threads()
    import boostforest

    version, place = boostforest.__version__, Path(boostforest.__file__).parent
    sys.stdout.write(f"boostforest {version} in {place}: well; imported in {seconds:.2f} s\n")


if __name__ == "__main__":
    main()
