"""README and guide: figures are those of the results, code runs as written, and the site lists every page."""

import importlib
import os
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
# "2.07<!-- figure: real.md / all tables / CatBoost / average rank -->": a file in docs/results, words of the line above a
# table (a heading or a sentence), the first cell of a row, the head of a column.
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
        elif not before.endswith(there) or re.search(r"[\d.,]$", before[: -len(there)]):
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
