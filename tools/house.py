"""Figures about the structure of the source: files that a call opens, import knots, modules and packages.

Run it as ``python tools/house.py`` with the package installed; ``tests/test_house.py`` guards the same figures.
"""

import ast
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PACKAGE = "boostforest"
SOURCE = Path(__file__).resolve().parent.parent / "src" / PACKAGE


def files_opened(call: Callable[[], Any]) -> tuple[list[str], int]:
    """Return the files of the package whose functions a call runs, and how often it goes from one file to another."""
    opened: dict[str, None] = {}
    switches, last = 0, ""

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal switches, last
        name = frame.f_code.co_filename
        if event != "call" or str(SOURCE) not in name:
            return
        name = str(Path(name).relative_to(SOURCE))
        opened[name] = None
        switches += name != last
        last = name

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(opened), switches


def walks() -> dict[str, tuple[list[str], int]]:
    """Return what a fit, a prediction and a load of a frame with a text column open."""
    import pandas as pd
    from sklearn.datasets import load_iris

    from boostforest import BoostForestRegressor, load_model

    X, y = load_iris(return_X_y=True, as_frame=True)
    X["kind"] = pd.Series(["short", "long"] * 75)
    forest = BoostForestRegressor(5, preset="paper", random_state=0)  # what a default chooses is not counted
    forest.fit(X, y)  # once before: imports are not what is counted
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bf"
        forest.save_model(path)
        load_model(path)
        return {
            "fit": files_opened(lambda: forest.fit(X, y)),
            "predict": files_opened(lambda: forest.predict(X)),
            "load_model": files_opened(lambda: load_model(path)),
        }


def modules() -> dict[str, Path]:
    """Return every module of the package by its name within it ("" for the package itself)."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a module imports: at its top, lazily, or for types alone."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            whole = ".".join([*base, alias.name])
            yield whole if whole in known or whole == "_core" else ".".join(base)


def graph() -> dict[str, set[str]]:
    """Return which modules each module imports."""
    known = modules()
    return {name: set(imports(name, path, known)) - {name} for name, path in known.items()}


def knots(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (strongly connected components)."""
    reach: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        todo = list(edges[start])
        while todo:
            if (name := todo.pop()) not in seen:
                seen.add(name)
                todo += edges.get(name, ())
        reach[start] = seen
    groups = {tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in edges if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def main() -> None:
    """Print the figures."""
    for call, (opened, switches) in walks().items():
        print(f"{call}: {len(opened)} files, {switches} switches between them")
        print("   ", ", ".join(opened))
    flat = [p.stem for p in SOURCE.glob("*.py")]
    packages = [path for path in SOURCE.iterdir() if (path / "__init__.py").exists()]
    print(f"modules directly in {PACKAGE}: {len(flat)}; packages: {len(packages)}")
    for group in knots(graph()):
        print(f"knot of {len(group)}: {', '.join(group)}")


if __name__ == "__main__":
    main()
