"""What is said in several places about the package is the same everywhere."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["CONTRIBUTING.md", "ROADMAP.md", "SECURITY.md", "docs/dev/first_contribution.md", "docs/dev/support.md"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(text("pyproject.toml"))["project"]


def test_recipe_and_citation_have_the_version_of_the_package(project):
    assert re.search(r'^  version: "(.*?)"', text("recipe/recipe.yaml"), re.M)[1] == project["version"]
    assert re.search(r"^version: (.*)$", text("CITATION.cff"), re.M)[1] == project["version"]


def test_the_menu_of_the_site_has_the_version_of_the_package(project):
    latest = json.loads(text("docs/versions.json"))[0]
    assert latest["version"] == ".".join(project["version"].split(".")[:2])
    assert latest["url"] == f"/{latest['version']}/"


def test_the_recipe_wants_what_the_package_wants(project):
    run = text("recipe/recipe.yaml").split("  run:\n")[1].split("\n\n")[0]
    wanted = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    assert wanted - {"python"} == set(project["dependencies"])


@pytest.mark.parametrize("page", PAGES)
def test_pages_for_contributors_link_to_files_that_are_there(page):
    if not (ROOT / ".github").is_dir():
        pytest.skip("a source distribution has no .github")
    folder = (ROOT / page).parent
    links = re.findall(r"\]\((?!http)([^)#]+)", text(page))
    assert links
    assert not [link for link in links if not (folder / link).exists()]


def test_the_tutorial_names_files_that_are_there_or_that_it_adds():
    added = {"tests/test_log_cosh.py"}
    named = set(re.findall(r"`((?:src|tests|docs)/[\w/.]+\.\w+)`", text("docs/dev/first_contribution.md"))) - added
    assert len(named) >= 5
    assert not [name for name in named if not (ROOT / name).is_file()]


def test_the_site_has_a_folder_for_each_version_and_one_list_of_them(tmp_path):
    site = runpy.run_path(str(ROOT / "docs" / "site.py"))
    built, served = tmp_path / "built", tmp_path / "served"
    built.mkdir()
    for version in ("0.1", "0.2"):
        (built / "index.html").write_text(version)
        (built / "versions.json").write_text(json.dumps([{"version": version, "preferred": True}, {"version": "0.0"}]))
        site["main"](served, built)
    assert [(served / version / "index.html").read_text() for version in ("0.1", "0.2")] == ["0.1", "0.2"]
    assert json.loads((served / "versions.json").read_text())[0]["version"] == "0.2"
    assert 'url=0.2/index.html"' in (served / "index.html").read_text()
