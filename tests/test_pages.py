"""README and guide: figures are those of the results, code runs as written, and the site lists every page."""

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path

import joblib
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
# "2.07<!-- figure: real.md / all tables / CatBoost / average rank -->": a file in docs/results, words of the line above
# a table (a heading or a sentence), the first cell of a row, the head of a column.
FIGURE = re.compile(r"<!-- figure: (.+?) / (.+?) / (.+?) / (.+?) -->")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    """Return the cells of a table's line, without marks of bold or significance."""
    return [cell.strip().strip("*●○ ").strip() for cell in line.strip().strip("|").split("|")]


def figure_of(text: str, words: str, row: str, column: str) -> str | None:
    """Return the cell of the first table below a line with these words that has the row and the column."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if words in line and not line.startswith("|")), len(lines))
    head: list[str] = []
    for before, line in zip(lines[start:], lines[start + 1 :], strict=False):
        if re.fullmatch(r"\|[-:| ]+\|", line):
            head = cells(before)
        found = cells(line)
        if line.startswith("|") and column in head and found[0] == row:
            return found[head.index(column)]
    return None


def wrong_figures(page: str, results: Path) -> list[str]:
    """Say what is wrong about each marked figure of a page."""
    wrong = []
    for mark in FIGURE.finditer(page):
        name, words, row, column = mark.groups()
        file = results / name
        there = figure_of(read(file), words, row, column) if file.is_file() else None
        before = page[: mark.start()]
        if there is None:
            wrong.append(f"{mark[0]} names no cell of a table")
        elif not before.endswith(there := there.split(" (")[0]) or re.search(r"[\d.,]$", before[: -len(there)]):
            wrong.append(f"{mark[0]} marks {before.split()[-1]}; the table has {there}")
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_marked_figures_are_those_of_the_results(path):
    page = read(path)
    assert wrong_figures(page, DOCS / "results") == []
    assert page.count("<!-- figure:") == len(FIGURE.findall(page)), "a mark is not written as it should be"


def test_the_claims_of_the_readme_are_marked():
    claims = read(ROOT / "README.md").split("## Why")[1].split("## Where")[0]
    unmarked = re.sub(r"[\d.,]+(?: [kM]B)?" + FIGURE.pattern, "", claims.split("- **", 1)[1])
    assert re.findall(r"\d+\.\d+", unmarked) == []


def test_a_figure_that_the_results_do_not_have_is_found(tmp_path):
    table = "**Rank of all**\n\n| learner | rank |\n|---|---:|\n| A | **2.07** |\n| B | 12.7 ● |\n"
    (tmp_path / "r.md").write_text(table, encoding="utf-8")

    def check(text: str, row: str) -> list[str]:
        return wrong_figures(f"{text}<!-- figure: r.md / of all / {row} / rank -->", tmp_path)

    assert check("2.07", "A") == check("rank 12.7", "B") == []
    assert check("2.08", "A") and check("12.07", "A") and check("2.7", "B")
    assert check("2.07", "C") and wrong_figures("2.07<!-- figure: no.md / of all / A / rank -->", tmp_path)


# What the code of a page takes for granted; every block then runs as written, one after another.
COMMON = """
import joblib, numpy as np, pandas as pd, matplotlib.pyplot as plt
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import cross_val_score, train_test_split
from boostforest import BoostForestClassifier, BoostForestRegressor, plot
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
"""
FITTED = COMMON + "X_test = X_new; forest = BoostForestRegressor(40, random_state=0).fit(X, y)"
CLASSES = COMMON + "X, y = load_breast_cancer(return_X_y=True); X = X[::3, :8]; y = y[::3]"
SETUPS = {
    "deploy.md": CLASSES
    + """
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
forest = BoostForestClassifier(10, random_state=0).fit(X, y)
""",
    "explain.md": FITTED,
    "losses.md": COMMON
    + """
rng = np.random.default_rng(0)
claims, years, years_new = rng.poisson(y / 50), rng.uniform(1, 2, len(y)), rng.uniform(1, 2, len(y_new))
days, died = y, rng.random(len(y)) < 0.7
y_new = np.column_stack([y_new, np.ones(len(y_new))])
""",
    "report.md": FITTED,
    "small_models.md": CLASSES,
    "tables.md": COMMON
    + """
X["left"] = np.where(y > 150, "yes", "no")
X.to_csv("customers.csv", index=False), X_new.to_csv("new_customers.csv", index=False)
""",
}
BLOCK = re.compile(r"^(<!-- not run: .+? -->\n)?```python\n(.*?)^```$(?:\s*^```\n(.*?)^```$)?", re.M | re.S)
OPTIONAL = ("onnx", "onnxruntime", "skl2onnx", "shap", "torch", "skops", "dask")


def missing_package(code: str) -> str | None:
    """Return the optional package that code names and that is not installed."""
    named = (name for name in OPTIONAL if re.search(rf"\b{name}\.|import {name}\b|\bto_{name}\(", code))
    return next((name for name in named if importlib.util.find_spec(name) is None), None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")  # of other packages
@pytest.mark.parametrize("path", [page for page in PAGES if "```python" in read(page)], ids=lambda path: path.name)
def test_code_runs_as_written(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    page, left_out = read(path), None
    assert page.count("```python") == len(BLOCK.findall(page))
    names: dict[str, object] = {"__name__": "page"}
    exec(SETUPS.get(path.name, COMMON), names)
    if importlib.util.find_spec("shap") and "shap." in page:
        names["shap"] = importlib.import_module("shap")
    capsys.readouterr()
    for not_run, code, shown in BLOCK.findall(page):
        if not_run or (package := missing_package(code)):
            left_out = left_out or (not not_run and package)
            continue
        with joblib.parallel_config(backend="threading"):  # starting processes takes longer than the work
            exec(compile(code, path.name, "exec"), names)
        printed = capsys.readouterr().out
        if shown and printed:  # what a page cuts short ends in "…"
            begins = shown.endswith("…\n") and printed.startswith(shown.removesuffix("…\n"))
            assert begins or printed.strip() == shown.strip()
    matplotlib.pyplot.close("all")
    if left_out:
        pytest.skip(f"a part of {path.name} needs {left_out}")


def test_every_page_of_the_site_is_in_its_tables_of_contents():
    listed = {"index"}
    for page in [*DOCS.rglob("*.md"), DOCS / "reference" / "index.rst"]:
        for entries in re.findall(r"```\{toctree\}\n(.*?)```", read(page), re.DOTALL):
            names = [line for line in entries.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / name).relative_to(DOCS).as_posix() for name in names}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    left_out = {page for page in pages if page.startswith(("results/", "_build/", "auto_examples/", "browser/"))}
    assert pages - left_out <= listed, "add the page to a toctree of docs/guide.md or docs/dev/index.md"
    assert {name for name in listed if not name.startswith("auto_examples")} <= pages | {"reference/index"}


MODULES = ("", ".nodes", ".nodes.torch", ".model_trees", ".export", ".plot", ".sources")


def test_the_reference_lists_everything_public():
    text = read(DOCS / "reference" / "index.rst")
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE)) | {"__version__", "plot_tree", "export_text"}
    for module in MODULES:
        if module != ".nodes.torch" or importlib.util.find_spec("torch"):
            missing = set(importlib.import_module(f"boostforest{module}").__all__) - listed
            assert not missing, f"add these names of boostforest{module} to docs/reference/index.rst"


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)", read(page)):
            if not target.startswith("auto_examples/") and "auto_examples" not in page.parts:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_badges_are_true():
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    readme = read(ROOT / "README.md")
    assert f"badge/python-{project['requires-python'].removeprefix('>=')}+-blue" in readme
    assert f"badge/license-{project['license'].replace('-', '--')}-blue" in readme
    assert readme.count("img.shields.io") == 2


def test_examples_of_the_gallery_are_numbered_and_say_what_they_show():
    examples = sorted((ROOT / "examples" / "gallery").glob("*.py"))
    assert len(examples) >= 12
    for example in examples:
        assert re.match(r"\d\d_\w+\.py", example.name)
        assert re.match(r'"""\n.+\n=+\n\n', read(example)), f"{example.name} begins with a title and its underline"


def test_pictures_of_the_readme_are_small():
    assert max(picture.stat().st_size for picture in (DOCS / "_static").glob("*.png")) <= 100_000
