"""`make demo`: the table, the report page and the picture; and the table alone without optional packages."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """Return the demo as a module, on its last dataset and with few trees, to run in an empty folder."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "demo", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PROBLEMS", module.PROBLEMS[-1:])
    monkeypatch.setattr(module, "N_TREES", 30)
    monkeypatch.setattr(sys, "argv", ["demo.py"])
    monkeypatch.chdir(tmp_path)
    return module


def test_the_demo_opens_with_the_table_and_writes_a_page_and_a_picture(demo, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    demo.main()
    said = capsys.readouterr().out
    assert said.startswith(demo.HEADER)
    assert all(name in said for name in ("diabetes", "demo_report.html", "demo_convergence.png"))
    assert "BoostForest on diabetes" in (tmp_path / "demo_report.html").read_text(encoding="utf-8")
    assert (tmp_path / "demo_convergence.png").stat().st_size > 10_000


def test_without_optional_packages_the_demo_prints_the_table_and_names_the_extra(demo, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    demo.main()
    said = capsys.readouterr().out
    assert said.startswith(demo.HEADER) and 'pip install "boostforest[plot]"' in said
    assert not list(tmp_path.iterdir())
