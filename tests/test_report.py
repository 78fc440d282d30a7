"""The report: one page for every task, with the right figures, which opens in a browser without network or errors."""

import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import root_mean_squared_error

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, load_model
from boostforest._report import baselines
from boostforest._report.facts import Facts
from boostforest._report.figures import losses_of
from browser import CHROMIUM, browse
from models import paper_classifier, paper_regressor

pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")

SECTIONS = ["how-good-it-is", "what-matters", "effects", "largest-errors", "the-table", "model-card"]

rng = np.random.default_rng(0)
X = pd.DataFrame({"size": rng.normal(50, 10, 160), "town <b>": rng.choice(["Ulm & Co", "Rom", "Bern"], 160)})
X.loc[::11, "size"] = np.nan
X.loc[::13, "town <b>"] = None
y = pd.Series(
    3 * X["size"].fillna(50) + 40 * (X["town <b>"] == "Rom") + rng.normal(size=160) * 5 + 200, name="price of a house"
)
LABELS = np.array(["cheap", "fair", "dear"])[np.searchsorted(np.quantile(y, [0.4, 0.7]), y)]


class Page(HTMLParser):
    """What a page holds: its tags are closed, no two have the same identifier."""

    VOID = ("meta", "wbr", "br", "link", "img", "hr", "input")

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.tables, self.tags, self.words, self._cell = [], [], [], [], [], None
        self.feed(html)
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.tags.append((tag, own))
        if "id" in own:
            self.ids.append(own["id"])
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._cell = self.tables[-1][-1]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell[-1] += data
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def said(estimator, table, target, **options):
    """Return the page of a report, read; nothing is fetched."""
    html = estimator.report(table, target, **options)
    assert not re.search(r'(?:src|href)="(?!#)', html), "nothing is fetched"
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    return Page(html)


@pytest.fixture(scope="module")
def forest():
    return paper_regressor(20).fit(X, y)


@pytest.fixture(scope="module")
def page(forest):
    return said(forest, X, y)


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_page_has_all_sections_and_says_what_is_predicted(page):
    assert [identifier for identifier in page.ids if identifier in SECTIONS] == SECTIONS
    assert "Predicting price of a house" in page.text and "BoostForestRegressor" in page.text
    assert sum(tag == "svg" and "picture" in own.get("class", "") for tag, own in page.tags) == 2 + 2 * 2
    assert "out of bag" in page.text and "160 rows with 2 columns (1 of numbers, 1 of categories)" in page.text


def test_names_of_the_user_are_text_and_not_tags(page):
    assert "town <b>" in page.text and "Ulm & Co" in page.text
    assert not any(tag == "b" and not page.tags[i - 1][1].get("class", "").startswith("tile")
                   for i, (tag, _) in enumerate(page.tags))  # fmt: skip


def test_the_figures_are_those_of_the_forest_and_of_simple_models(forest, page):
    rows = {row[0]: row[1:] for row in page.tables[0]}
    assert rows["model"][0].startswith("RMSE")
    known = Facts(forest, X, y, None, None)
    oob = paper_regressor(20, oob_score=True).fit(X, y).oob_prediction_
    seen = ~np.isnan(oob)
    assert_allclose(known.scores[0].figures["RMSE"], root_mean_squared_error(y[seen], oob[seen]))
    assert rows["this forest, out of bag"][0] == f"{root_mean_squared_error(y[seen], oob[seen]):.4g}"
    assert_allclose(known.scores[1].figures["RMSE"], root_mean_squared_error(y[seen], forest.predict(X)[seen]))
    spread = float(rows["mean of the target"][0])
    assert abs(spread - y.std()) < 0.05 * y.std() and float(rows["linear model"][0]) < spread


def test_the_linear_model_is_ridge_regression_on_standardised_columns():
    own = np.random.default_rng(1)
    table = own.normal(size=(50, 3))
    target = table @ [1.0, 2.0, 3.0] + own.normal(size=50)
    forest = paper_regressor(2).fit(table, target)
    matrix = baselines.design(table, forest._model.features.columns)
    assert_allclose(matrix, (table - table.mean(axis=0)) / table.std(axis=0))
    constant, linear = baselines.cross_validated(forest._model.loss, matrix, target, None)
    fold = np.random.default_rng(0).permutation(np.arange(50) % 5)
    for k in range(5):
        model = Ridge().fit(matrix[fold != k], target[fold != k])
        assert_allclose(linear[fold == k], model.predict(matrix[fold == k]))
        assert_allclose(constant[fold == k], target[fold != k].mean())


def test_the_largest_errors_are_listed_with_contributions_that_add_up(forest, page):
    facts = Facts(forest, X, y, None, None)
    worst = facts.counted[np.argsort(-facts.losses[facts.counted])[:10]]
    errors = re.findall(r"row(\d+) ?observed", page.text.replace(" ", " "))
    assert [int(row) for row in errors] == worst.tolist()
    steps = page.tables[[table[0] for table in page.tables].index(["column", "value", "", "adds"])]
    numbers = [float(row[3].replace("−", "-").replace(",", "")) for row in steps[1:]]
    assert_allclose(sum(numbers[:-1]), numbers[-1], atol=0.5)
    assert_allclose(numbers[-1], forest.predict(X.iloc[[worst[0]]])[0], rtol=1e-3)


def test_the_same_call_gives_the_same_page_and_leaves_the_settings_of_matplotlib(forest):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "black"}):
        assert forest.report(X, y) == forest.report(X, y)
    assert dict(mpl.rcParams) == before


def test_the_file_is_written_whole_with_its_title(forest, tmp_path):
    path = tmp_path / "r.html"
    html = forest.report(X, y, path, title="Häuser", target="Preis")
    assert path.read_bytes() == html.encode() and "<h1>Häuser</h1>" in html and "Preis" in html
    with pytest.raises(OSError, match="No such file"):
        forest.report(X, y, tmp_path / "no" / "r.html")


# ---------------------------------------------------------------------------------------------------- tasks and models


@pytest.mark.parametrize(
    ("estimator", "target", "expected"),
    [
        (BoostTreeRegressor(random_state=0), y, ["it has seen these rows", "RMSE", "a tree grown by boosting"]),
        (BoostTreeClassifier(random_state=0), LABELS, ["it has seen these rows", "log-loss", "logistic regression"]),
        (paper_classifier(10), LABELS == "dear", ["True", "Calibration"]),
        (BoostForestClassifier(10, random_state=0), LABELS, ["cheap", "calibrated", "balanced accuracy"]),
        (BoostForestRegressor(10, loss="quantile", quantile=0.8, random_state=0), y, ["pinball loss", "share below"]),
        (BoostForestRegressor(10, loss="absolute_error", random_state=0), y, ["MAE", "0.5 quantile of the target"]),
        (BoostForestRegressor(10, loss="gamma", random_state=0), y, ["deviance", "gamma"]),
        (BoostForestRegressor(40, random_state=0), y, ["only rows that its fit has not seen tell"]),
    ],
    ids=lambda value: str(value)[:60],
)
def test_every_task_has_its_page(estimator, target, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that all of few trees have drawn
        estimator.fit(X, target)
    text = said(estimator, X, target).text
    for words in expected:
        assert words in text


def test_rows_that_the_fit_has_not_seen_show_intervals_and_their_own_names():
    forest = BoostForestRegressor(50, random_state=0).fit(X[:100], y[:100])
    new = X[100:].set_index(pd.Index([f"house {i}" for i in range(60)]))
    page = said(forest, new, y[100:])
    assert "These rows are not those of the fit" in page.text and "house " in page.text
    assert "90 % intervals hold" in page.text and "out-of-bag score" not in page.text
    assert "100 rows; those of this report are others" in page.text


def test_a_model_from_a_file_knows_the_rows_of_its_fit_by_their_target(forest, reloaded):
    page = said(reloaded(forest), X, y)
    assert "out of bag" in page.text
    assert any(table[0] == ["column", "value", "", "adds"] for table in page.tables), (
        "the rows are compared with each other"
    )


def test_arrays_lists_and_weights():
    own = np.random.default_rng(2)
    table = own.normal(size=(60, 3))
    table[::5, 1] = np.nan
    target, weight = table[:, 0] * 3 + own.normal(size=60), own.integers(0, 3, 60).astype(float)
    forest = paper_regressor(30).fit(table, target, weight)
    page = said(forest, table.tolist(), target.tolist(), sample_weight=weight)
    assert "The rows have weights, from 0 to 2" in page.text and "x0" in page.text
    facts = Facts(forest, table, target, weight, None)
    assert (weight[facts.counted] > 0).all()
    with pytest.raises(ValueError, match="sample_weight must be that of the fit"):
        forest.report(table, target)


def test_little_data_and_nothing_to_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = BoostForestRegressor(5, random_state=0).fit(X[:7], y[:7])
        constant = BoostForestRegressor(5, random_state=0).fit(np.ones((30, 2)), np.ones(30))
        one = BoostForestClassifier(5, random_state=0).fit(X, np.zeros(160))
    assert "7 rows are few" in said(few, X[:7], y[:7]).text
    said(constant, np.ones((30, 2)), np.ones(30))
    said(one, X, np.zeros(160))


def test_models_that_cannot_be_explained_say_why():
    whole = X.assign(size=X["size"].fillna(50), **{"town <b>": 0.0})
    forest = paper_regressor(2, node_model=LinearRegression()).fit(whole, y)
    assert "There are no contributions: explain needs node models of the core" in said(forest, whole, y).text


def test_losses_of_predictions_are_those_of_the_loss():
    for name, target in (("squared_error", y), ("quantile", y), ("poisson", np.round(y)), ("huber", y)):
        forest = paper_regressor(2, loss=name).fit(X, target)
        model, features = forest._model, forest._model.features.transform(X, "x")
        outputs = model.outputs(features, 1)
        expected = model.loss.losses(model.loss.encode(np.asarray(target, dtype=float)), model.loss.scores(outputs))
        assert_allclose(losses_of(model.loss, np.asarray(target, dtype=float), forest.predict(X)), expected, rtol=1e-9)


def test_what_cannot_be_reported_is_said_in_one_sentence(forest, monkeypatch):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        forest.report(X, y[:-1])
    with pytest.raises(ValueError, match="'size' is missing"):
        forest.report(X[["town <b>"]], y)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r'needs matplotlib: pip install "boostforest\[plot\]"\.'):
        forest.report(X, y)


# ---------------------------------------------------------------------------------------------------- the command line


def test_the_command_writes_the_page(forest, tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("duckdb")
    from typer.testing import CliRunner

    from boostforest._cli.commands import app

    forest.save_model(tmp_path / "m.bf")
    table = X.assign(price=y, number=[f"n{i}" for i in range(160)])
    table.loc[3, "price"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    run = CliRunner().invoke

    def report(*more):
        files = str(tmp_path / "m.bf"), str(tmp_path / "t.csv")
        return run(app, ["report", *files, "--target", "price", "-o", str(tmp_path / "r.html"), *more])

    assert report().exit_code == 1, "a target is missing"
    assert not (tmp_path / "r.html").exists()
    done = report("--drop-missing-target", "--id", "number", "--json", "--title", "Prices")
    assert done.exit_code == 0, done.output
    assert '"n_rows": 159' in done.output
    text = Page((tmp_path / "r.html").read_text(encoding="utf-8")).text
    facts = Facts(load_model(tmp_path / "m.bf"), X.drop(index=3), y.drop(index=3), None, None)
    assert "Prices" in text and f"rown{facts.labels[int(np.argmax(facts.losses))]}" in text.replace(" ", "")
    assert "there is no folder" in report("-o", str(tmp_path / "no" / "r.html")).output.replace("\n", " ")
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    refused = report("--drop-missing-target")
    assert refused.exit_code == 1 and "boostforest[plot]" in refused.output


# ----------------------------------------------------------------------------------------------------------- a browser

CLICKS = """
<iframe src="report.html" width="390" height="800"></iframe><script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument, say = (text) => document.body.append(text + "; ");
  console.log("loaded");
  say("width " + page.documentElement.scrollWidth);
  const head = [...page.querySelectorAll("#what-matters th")].find((th) => th.textContent === "rise");
  const rows = () => [...page.querySelectorAll("#what-matters tbody tr")];
  const rises = () => rows().map((row) => Number(row.children[2].dataset.order));
  head.click();
  say("descending " + rises().every((v, i, all) => i === 0 || all[i - 1] >= v) + " " + head.getAttribute("aria-sort"));
  head.click();
  say("ascending " + rises().every((v, i, all) => i === 0 || all[i - 1] <= v) + " " + head.getAttribute("aria-sort"));
  const section = page.getElementById("effects");
  section.querySelector("summary").click();
  say("closed " + !section.open);
  page.defaultView.location.hash = "#effects";
  setTimeout(() => {
    say("opened " + section.open);
    const error = page.querySelectorAll("details.error")[1];
    error.querySelector("summary").click();
    say("error " + error.open + " " + error.querySelectorAll("tbody tr").length);
    const light = getComputedStyle(page.body).color;
    say("colour " + light);
  }, 200);
};
</script>
"""


def picture(url, path, *options):
    """Return a screenshot as an array."""
    from matplotlib.image import imread

    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *options]
    subprocess.run([*command, f"--screenshot={path}", url], capture_output=True, timeout=120, check=True)
    return imread(path)[..., :3]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_page_opens_in_a_browser(forest, tmp_path):
    """No network, no errors in the console; clicks sort tables and open sections; it fits a phone, dark and light."""
    written = tmp_path / "report.html"
    forest.report(X, y, written)
    content, console = browse(written.as_uri(), "--host-resolver-rules=MAP * ~NOTFOUND")
    assert console == [] and content.count("sortable") >= 10
    frame = tmp_path / "frame.html"
    frame.write_text(CLICKS)
    content, console = browse(frame.as_uri(), "--allow-file-access-from-files")
    assert len(console) == 1 and "loaded" in console[0], "the console is read, and says nothing else"
    told = content[content.index("</script>") :]
    assert int(re.search(r"width (\d+)", told)[1]) <= 390
    for words in (
        "descending true descending",
        "ascending true ascending",
        "closed true",
        "opened true",
        "error true 4",
    ):
        assert words in told, told
    wide = picture(written.as_uri(), tmp_path / "wide.png", "--window-size=1200,900")
    phone = picture(written.as_uri(), tmp_path / "phone.png", "--window-size=500,900")
    dark = picture(
        written.as_uri(), tmp_path / "dark.png", "--window-size=1200,900", "--blink-settings=preferredColorScheme=0"
    )
    assert wide.shape[1] == 1200 and phone.shape[1] == 500
    for image in (wide, phone, dark):
        assert 0.03 < image.std() < 0.4, "something is there"
    assert wide.mean() > 0.8 > 0.3 > dark.mean()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_without_javascript_everything_is_there(forest, tmp_path):
    written = tmp_path / "report.html"
    html = forest.report(X, y)
    written.write_text(re.sub(r"<script>.*?</script>", "", html, flags=re.S), encoding="utf-8")
    content, console = browse(written.as_uri())
    assert console == [] and Page(html).text.replace(" ", "") == Page(content).text.replace(" ", "")
    printed = tmp_path / "report.pdf"
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--print-to-pdf={printed}",
        Path(written).as_uri(),
    ]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert printed.read_bytes().startswith(b"%PDF")
