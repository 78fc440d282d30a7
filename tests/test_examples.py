"""The examples run, and print what the documentation shows."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_own_node_model_prints_what_the_page_shows(capsys):
    runpy.run_path(str(ROOT / "examples" / "own_node_model.py"))
    assert capsys.readouterr().out in (ROOT / "docs" / "nodes.md").read_text(encoding="utf-8")


def test_the_page_shows_the_class_of_the_example():
    page, code = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/nodes.md", "examples/own_node_model.py"))
    begin, end = "    def predict", "@ self.slopes_\n"
    assert code[code.index(begin) : code.index(end)] in page
