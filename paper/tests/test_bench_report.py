"""Reports of the benchmarks, from made-up results: the page in a browser, tables in Markdown, the check."""

import csv
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from boostforest_paper import data, experiments
from boostforest_paper.__main__ import main
from boostforest_paper.reports import check, curves, markdown, page, paper, tables
from boostforest_paper.reports.results import read_results
from boostforest_paper.running.choose import Wish
from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Selection
from boostforest_paper.running.problem import METRICS
from boostforest_paper.running.store import Store
from browser import CHROMIUM, browse

MACHINE = {"processor": "P", "cores": 2, "memory_gb": 8, "system": "S", "python": "3", "packages": {"numpy": "2"}}
FIVE = ["BoostForest", "RandomForest", "Extra-Trees", "XGBoost", "LightGBM"]


def made_up(job, task, rng):
    """Invent a result around the paper's figure of Ex1; BoostForest is better than the others, LightGBM is quick."""
    theirs = paper.figure("Ex1", task, job.dataset, job.learner) or paper.Figure(0.5, 0.02)
    score = theirs.mean + 0.3 * (theirs.std or 0.01) * rng.normal() + (0.02 if job.learner == "BoostForest" else 0)
    metrics = {metric: float(score) for metric in METRICS[task]}
    curve = [metrics] * len(job.points) if job.setting.startswith("sizes") else None
    seconds = float(rng.uniform(1, 2)) * (0.1 if job.learner == "LightGBM" else 1)
    return Outcome(metrics, 1.0, seconds, 0.1, seconds, int(rng.integers(1e4, 1e7)), curve=curve)


def fill(store, name, learners=FIVE, repeats=6, tuning="none", datasets=None):
    """Write made-up results of an experiment."""
    experiment = experiments.find(name)
    rng = np.random.default_rng(0)
    usable = {d: d for block in experiment.blocks for d in block.datasets if datasets is None or d in datasets}
    machine = store.machine(MACHINE)
    store.note_run(name, tuning, machine, {"GBDT-PL": "there is no such thing", "linear-tree": "of another experiment"})
    for job in Selection(experiment, tuning, repeats, usable, frozenset(learners)).jobs():
        if store.claim(job):
            store.finish(job, made_up(job, data.find(job.dataset).task, rng), "1.2.3", machine, 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "store.sqlite"
    with Store(path) as store:
        fill(store, "Ex1")
        fill(store, "C2", repeats=2, datasets=["SON", "SEE", "QB"])
        fill(store, "R3", ["BoostForest", "XGBoost"], repeats=1, datasets=["BH", "CCS"])
        fill(store, "Ex_alpha_MSL", experiments.find("Ex_alpha_MSL").blocks[0].learners, 2, datasets=["SON", "BH"])
        fill(store, "mnist_higgs", ["RandomForest", "Extra-Trees"], 1, datasets=["MNIST"])  # run last, shown before
    return path


@pytest.fixture(scope="module")
def results(path):
    with Store(path) as store:
        return read_results(store, Wish([]))


def test_all_experiments_that_were_run_are_reported_in_the_order_of_the_registry(results):
    assert [result.experiment.name for result in results] == ["Ex1", "C2", "R3", "mnist_higgs", "Ex_alpha_MSL"]
    ex1 = results[0]
    assert ex1.left_out == {"GBDT-PL": "there is no such thing"}
    assert ex1.blocks[0].learners == FIVE, "the base comes first"
    assert ex1.blocks[0].repeats() == (6, 6)
    assert ex1.versions["XGBoost"] == ["1.2.3"]


def test_table_has_the_papers_figures_and_says_whether_ours_agree(results):
    table = tables.score_table(results[0].experiment, results[0].blocks[0], "accuracy")
    labels = ["average", "average rank", "training time, s", "processor time, s", "model size"]
    assert [row.label for row in table.rows[-5:]] == labels
    son = table.rows[0]
    assert (son.label, son.cells[0].paper) == ("SON", "0.8500 (0.0574)")
    assert son.cells[0].agrees is True
    assert all(cell.agrees for cell in table.rows[0].cells)
    assert sum(cell.is_best for cell in son.cells) >= 1
    average = results[0].blocks[0].average("XGBoost", "accuracy")
    cells = [results[0].blocks[0].values(d, "XGBoost", "accuracy") for d in results[0].blocks[0].datasets]
    np.testing.assert_allclose(average.mean, np.mean([[c[r] for r in range(6)] for c in cells]))
    assert table.rows[-4].cells[0].paper == "", "ranks among fewer learners are other ranks"


def test_curves_say_where_the_base_is_ahead(results):
    c2 = results[1].blocks[0]
    low, high = [0.9, 0.8], [0.7, 0.9]
    ahead = {name: high if name == "BoostForest" else low for name in FIVE}
    behind = {name: low if name == "BoostForest" else high for name in FIVE}
    level = dict.fromkeys(FIVE, low)
    found = curves.Curves([3, 10], {"a": ahead, "b": behind, "c": level, "part": {"BoostForest": high}}, {})
    said = "BoostForest is first, or level with the first, on {} of 3 datasets (12 not finished)."
    assert curves.sentence("sizes", c2, found) == "With 10 base learners " + said.format(2)
    leaves = "Each with the number of leaves that the test parts like best, "
    assert curves.sentence("leaves", c2, found) == leaves + said.format(3)
    rmse = results[2].blocks[0]
    found = curves.Curves([2], {"a": {"BoostForest": [0.2], "XGBoost": [0.3]}}, {})
    assert "on 1 of 1 dataset (" in curves.sentence("leaves", rmse, found)
    assert curves.sentence("sizes", c2, curves.Curves([3], {}, {})) == ""


def test_curves_are_of_the_repeats_that_all_learners_share(tmp_path):
    with Store(tmp_path / "s") as store:
        fill(store, "C2", repeats=3, datasets=["SON"])
        fill(store, "R3", ["BoostForest"], repeats=3, datasets=["BH"])
        fill(store, "R3", ["XGBoost"], repeats=2, datasets=["BH"])
        c2, r3 = read_results(store, Wish([]))
    block = r3.blocks[0]
    found = curves.read("leaves", block).by_dataset["BH"]["BoostForest"]
    cells = [block.values("BH", "BoostForest", "rmse", setting) for setting in block.settings]
    np.testing.assert_allclose(found, [np.mean([cell[0], cell[1]]) for cell in cells])
    assert len(curves.read("sizes", c2.blocks[0]).by_dataset["SON"]["BoostForest"]) == len(c2.blocks[0].block.points)


def test_averages_take_only_what_all_share(tmp_path):
    other = "BoostForest (w/o clipping)"
    with Store(tmp_path / "s") as store:
        fill(store, "Ex_clip_SI", ["BoostForest"], repeats=3, datasets=["BH", "CCS"])
        fill(store, "Ex_clip_SI", [other], repeats=2, datasets=["BH"])
        (result,) = read_results(store, Wish([]))
    block = result.blocks[0]
    assert block.common("rmse") == ["BH"]
    assert block.shared("BH", "rmse") == [0, 1]
    assert block.average("BoostForest", "rmse").n == 2
    assert block.figure("BH", "BoostForest", "rmse").n == 3
    assert [figure.n for figure in block.shared_figures("BH", "rmse")] == [2, 2]
    assert [figure and figure.n for figure in block.shared_figures("CCS", "rmse")] == [3, None]
    assert block.compare(other, "rmse").better == frozenset(), "two repeats are no test"
    average = tables.score_table(result.experiment, block, "rmse").rows[2]
    assert (average.note, average.cells[0].paper) == ("over 1 of 15", "0.3593"), "the paper's over the same sets"
    assert average.cells[0].agrees is None


def test_learner_that_has_just_begun_does_not_narrow_the_others(tmp_path):
    with Store(tmp_path / "s") as store:
        fill(store, "Ex1", FIVE[:4], repeats=2, datasets=["SON", "SEE"])
        fill(store, "Ex1", FIVE[4:], repeats=1, datasets=["SON"])
        fill(store, "Ex1", ["BoostForest"], repeats=9, datasets=["SON"])  # another experiment's: no reason to drop all
        (result,) = read_results(store, Wish([]))
    block = result.blocks[0]
    assert block.ranked("accuracy") == FIVE[:4]
    assert block.common("accuracy") == ["SON", "SEE"]
    assert block.average("XGBoost", "accuracy").n == 2
    assert block.average("LightGBM", "accuracy") is None
    shown = dict(zip(block.learners, block.shared_figures("SON", "accuracy"), strict=True))
    assert (shown["BoostForest"].n, shown["LightGBM"].n) == (2, 1)
    assert "Not far enough for averages and ranks: LightGBM." in page.render([result])


def test_significant_differences_are_marked(tmp_path):
    name, other = "Ex_clip_SI", "BoostForest (w/o clipping)"
    with Store(tmp_path / "s") as store:
        fill(store, name, ["BoostForest", other], repeats=6, datasets=["BH", "CCS"])
        store._db.execute("UPDATE fits SET rmse = 0.5 + repeat / 100.0")
        store._db.execute(
            "UPDATE fits SET rmse = rmse + 0.1 + repeat / 1000.0 WHERE dataset = 'BH' AND learner = ?", (other,)
        )
        (result,) = read_results(store, Wish([]))
    comparison = result.blocks[0].compare(other, "rmse")
    assert comparison.better == {"BH"}
    assert comparison.score == (1, 1, 0)
    table = tables.score_table(result.experiment, result.blocks[0], "rmse")
    assert [row.cells[1].mark for row in table.rows[:2]] == [tables.WIN, ""]


def test_failed_fits_are_in_the_notes(tmp_path):
    with Store(tmp_path / "s") as store:
        fill(store, "Ex_clip_SI", ["BoostForest"], repeats=2, datasets=["BH", "CCS"])
        job = next(iter(store.rows()))
        store.forget([job])
        store.claim(job)
        store.fail(job, "ValueError: <b>no</b>", "1", store.machine(MACHINE), 1)
        results = read_results(store, Wish([]))
    written = page.render(results)
    assert "Failed: BoostForest on BH, repeat 0: ValueError: &lt;b&gt;no&lt;/b&gt;" in written
    assert "1 failed" in written


def test_markdown_and_csv(results, tmp_path):
    paths = list(markdown.write(tmp_path, results))
    assert [p.name for p in paths[:2]] == ["Ex1.md", "Ex1.csv"]
    written = (tmp_path / "Ex1.md").read_text(encoding="utf-8")
    assert re.search(r"\| SON \| \*{0,2}0\.\d{4} \(0\.\d{4}\).*<br><sub>0\.8500 \(0\.0574\) ✓</sub>", written)
    assert "Machine: 2 cores of P, 8 GB; S; Python 3, numpy 2." in written
    assert "GBDT-PL: there is no such thing." in written
    for table in re.findall(r"(?:^\|.*\n)+", written, re.MULTILINE):
        assert len({line.count(" | ") + line.count("|---") for line in table.splitlines() if "---" not in line}) == 1
    rows = list(csv.DictReader((tmp_path / "Ex1.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 30 * 5
    assert float(rows[0]["accuracy"]) > 0.5
    curve = list(csv.DictReader((tmp_path / "C2.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["setting"] for row in curve[:2]] == ["size:3", "size:5"]
    assert "random pool" in (tmp_path / "Ex_alpha_MSL.md").read_text(encoding="utf-8")


def test_check_wants_ten_repeats_of_everything(path, tmp_path, capsys):
    assert main(["check", "Ex1", "--store", str(path)]) == 1
    assert "not measured (6 of 10 repeats" in capsys.readouterr().out
    with Store(tmp_path / "s") as store:
        fill(store, "Ex1", ["BoostForest"], repeats=10)
        store._db.execute("UPDATE fits SET rmse = rmse - 0.02, accuracy = accuracy - 0.02")
        lines, all_met = check.lines(read_results(store, Wish(["Ex1"])))
        assert all_met, lines
        assert "target: average accuracy >= 0.861: met; every dataset agrees with the paper" in lines
        store._db.execute("UPDATE fits SET accuracy = 0.5 WHERE dataset = 'SEE'")
        lines, all_met = check.lines(read_results(store, Wish(["Ex1"])))
    assert not all_met
    assert "missed; not every dataset" in "\n".join(lines)


def test_check_counts_the_datasets_that_a_forest_wins(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(check, "FULL_REPEATS", 1)
    with Store(tmp_path / "s") as store:
        fill(store, "pools", ["ETForest", "Extra-Tree"], repeats=1)
        store._db.execute("UPDATE fits SET accuracy = 0.8, rmse = 0.5")
        store._db.execute("UPDATE fits SET accuracy = 0.9, rmse = 0.4 WHERE learner = 'ETForest'")
        for dataset, text in (("SON", "29 of 30, met"), ("SEE", "28 of 30, met"), ("BH", "27 of 30, met")):
            store._db.execute("UPDATE fits SET accuracy = 0.8, rmse = 0.6 WHERE dataset = ?", (dataset,))
            assert f"Extra-Tree on 27 datasets: {text}" in "\n".join(
                check.lines(read_results(store, Wish(["pools"])))[0]
            )
        store._db.execute("UPDATE fits SET rmse = 0.5 WHERE dataset = 'CCS'")
    assert main(["check", "pools", "--store", str(tmp_path / "s")]) == 1
    printed = capsys.readouterr().out
    assert "Extra-Tree on 27 datasets: 26 of 30, missed" in printed
    assert "ModelForest better than M5P on 14 datasets: 0 of 0, of which 0 have 1 repeat: not decided" in printed


class Tables(HTMLParser):
    """Collects the text of every table cell."""

    def __init__(self):
        super().__init__()
        self.cells, self._inside, self.n_pictures = [], False, 0

    def handle_starttag(self, tag, attrs):
        if tag == "td":
            self.cells.append("")
            self._inside = True
        self.n_pictures += tag == "img"

    def handle_endtag(self, tag):
        if tag == "td":
            self._inside = False

    def handle_data(self, text):
        if self._inside:
            self.cells[-1] += text


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_page_opens_in_a_browser(path, tmp_path):
    """No network, no errors, all tables filled; nothing but the tables' own frames is wider than a phone."""
    written = tmp_path / "report.html"
    assert main(["report", "--store", str(path), "--html", str(written)]) == 0
    assert not re.search(r'(?:src|href)="(?!#|data:)', written.read_text(encoding="utf-8")), "nothing is fetched"
    frame = tmp_path / "frame.html"
    frame.write_text(
        '<iframe src="report.html" width="390" height="800"></iframe><script>'
        "onload = () => { const page = document.querySelector('iframe').contentDocument;"
        "console.log('loaded'); document.body.append('width ' + page.documentElement.scrollWidth); }</script>"
    )
    content, said = browse(written.as_uri())
    assert said == []
    found = Tables()
    found.feed(content)
    assert len(found.cells) > 500
    assert all(cell.strip() for cell in found.cells)
    assert found.n_pictures > 10
    content, said = browse(frame.as_uri(), "--allow-file-access-from-files")
    assert any("loaded" in line for line in said), "the console is read"
    assert int(re.search(r"width (\d+)", content).group(1)) <= 390
