"""Ugly tables: each gives the right table, or one sentence that says what is wrong."""

import bz2
import csv
import datetime
import gzip
import io
import json
import lzma
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boostforest
from boostforest._cli.messages import number_text
from boostforest._cli.sources import Source, read_table
from command_line import refused, run

TABLES = Path(__file__).parent / "tables"
Y = [300, 420, 510]  # the target of most of these tables
_ = None

# What stands in the columns; those after "left out" are read but no features, unless they are kept.
RIGHT = {
    "array.json": {"area": [50.5, 61, 75.5], "town": ["Bonn", _, "Ulm"], "y": Y},
    "backslashes.csv": {"path": ["C:\\", "D:\\", "C:\\"], "y": Y},
    "backslash_quotes.csv": {"area": [1, 2, 3], "note": ['an "old" house', "new, small", "new, small"], "y": Y},
    "blank_lines.csv": {"area": [1, 2, 3], "y": Y},
    "byte_order_mark.csv": {"area": [1, 2, 3], "y": Y},
    "currency.csv": {"price": [1200, 950, -1300, -20], "fee": [5, 7, 1250, -3], "y": [321864, 1234567, 99, 5000]},
    "dates.csv": {
        **{
            name: [pd.Timestamp(2023, m, 10 + m) for m in range(1, 5)]
            for name in ("iso", "german", "american", "spoken")
        },
        "stamp": [pd.Timestamp(2023, m, 11, 10, m) for m in range(1, 5)],
        "hour": [datetime.time(10, m) for m in range(1, 5)],
        "area": [1.5, 3, 4.5, 6],
        "y": [301, 302, 303, 304],
    },
    "empty_column.csv": {"left out": ["nothing"], "area": [1, 2, 3], "y": Y},
    "free_text.csv": {"left out": ["note"], "town": ["Bonn", "Köln", "Ulm"] * 8, "y": list(range(300, 324))},
    "german_numbers.csv": {
        "flaeche": [1234.5, 950, 85.25],
        "preis": [1000, 2500, 750],
        "y": [1234567.89, 300, 20000.5],
    },
    "identifiers.csv": {  # different whole numbers are no identifiers by themselves
        "left out": ["customerID", "nr", "token"],
        "area": [(37 * i) % 101 for i in range(24)],
        "year": list(range(1990, 2014)),
        "y": list(range(300, 324)),
    },
    "inches.csv": {"pipe": ['5" pipe', '6" pipe', '5" pipe'], "y": Y},
    "indian_numbers.csv": {"income": [1234567, 500000, 99999], "y": [1, 2, 3]},
    "latin1.csv": {"town": ["Köln", "Zürich", "Köln"], "y": Y},
    "lines.ndjson": {"area": [1234.5, 61, _], "town": ["Bonn", "Bonn", "Ulm"], "y": Y},
    "missing_markers.csv": {
        "area": [_, 2.5, _, _, 5.5],
        "town": ["Bonn", _, _, "Ulm", _],
        "rooms": [1, _, 3, _, _],
        "y": [*Y, 640, 700],
    },
    "mixed_dates.csv": {"left out": ["sold"], "area": [1.5, 2.5, 3.5, 4.5], "y": [*Y, 640]},
    "mixed_line_ends.csv": {"area": [1, 2, 3], "y": Y},
    "names_by_case.csv": {"Area": [1, 2, 3], "area": [10, 20, 30], "y": Y},
    "nested.json": {"left out": ["size"], "area": [1, 2], "y": [300, 420]},
    "old_mac.csv": {"area": [1, 2, 3], "y": Y},
    "pandas_index.csv": {"area": [50.5, 61, 75.5], "y": Y},
    "percent.csv": {"share": [12, 7, 100], "y": [1.5, 2, 0.25]},
    "quoted_line_feeds.csv": {"area": [1, 2, 3], "note": ["two\nlines", 'said "no", then', "two\nlines"], "y": Y},
    "rows_with_hashes.csv": {"part": ["#1", "2b", "#1"], "y": Y},
    "semicolons_decimal_commas.csv": {
        "name": ["Miller, Tom", "Smith, Ann", "Miller, Tom"],
        "area": [50.5, 61.25, 75],
        "y": Y,
    },
    "spaces_around.csv": {"area": [1, 2, 3], "town": ["Bonn", "Bonn", "Ulm"], "y": Y},
    "single_quotes.csv": {"area": [1, 2, 3], "note": ["old, large", "new", "old, large"], "y": Y},
    "sparse_numbers.csv": {"area": [1.5] + [_] * 29, "y": list(range(300, 330))},
    "swiss_numbers.csv": {"area": [1234.5, 999, 12345678], "y": [300, 1200, 510]},
    "tabs.csv": {"area": [1, 2, 3], "town": ["Bonn", "Köln, Deutz", "Bonn"], "y": Y},
    "thousands_beside_decimals.csv": {"people": [1234, 12500, 950000], "rate": [0.5, 1.25, 3.5], "y": Y},
    "title_lines.csv": {"area": [1, 2, 3], "town": ["Bonn", "Bonn", "Ulm"], "y": Y},
    "trailing_commas.csv": {"rooms": [1, 2, 3, 4], "area": [50.5, 61, 75.5, 90], "y": [*Y, 640]},
    "trailing_commas_everywhere.csv": {"rooms": [1, 2, 3], "area": [50.5, 61, 75.5], "y": Y},
    "truth_values.csv": {"garden": [True, False, True], "cellar": ["yes", "no", "no"], "y": Y},
    "years_as_names.csv": {"2021": [1, 2, 3], "2022": [10, 20, 30], "y": Y},
}
# What is said, after "error: " and with the name of the file in place of @.
REFUSED = {
    "columns.json": "@ must hold one JSON object for every row",
    "cut_off.json": "@: Malformed JSON",
    "date_target.csv": "the target 'y' of @ holds dates or times",
    "distinct_text_target.csv": "the target 'y' of @ holds 24 different texts in 24 rows, such as '2265b1f5-91b7'",
    "duplicate_names.csv": "@ has two columns of the name 'area', number 1 and 3",
    "empty.csv": "@ is empty",
    "footer.csv": "line 5 of @ has 1 value where 3 columns are named",
    "header_only.csv": "@ has no rows",
    "late_short_row.csv": "line 254 of @ has 2 values where 3 columns are named",
    "long_row.csv": "line 3 of @ has 4 values where 3 columns are named",
    "missing_target.csv": "the target 'y' is missing in 1 of 3 rows of @, first in row 2",
    "no_header.csv": "@ has no names of columns, its first line holds '5.1', '3.5', 'red'",
    "no_header_text.csv": "@ has no names of columns, its first line holds 'sunny', 'hot', 'no'",
    "numbers.json": "@ must hold one JSON object for every row",
    "numbers_and_words.csv": "column 'area' of @ holds numbers and text, such as 'a very long remark that somebody h",
    "one_column.csv": "@ has no column to learn from besides the target 'y'",
    "one_row.csv": "@ has one row",
    "only_identifiers.csv": "@ has no column to learn from besides the target 'y'; left out: 'id' (identifier)",
    "only_line_ends.csv": "@ is empty",
    "open_decimals.csv": "column 'area' of @ holds numbers such as '1,234', whose comma may be a decimal comma or",
    "open_points.csv": "column 'price' of @ holds numbers such as '1.234', whose point may be a decimal point or",
    "row_names.csv": "@ names 3 columns but has 4 values in a row",
    "separated_by_spaces.csv": "--target: @ has no column 'y'; its columns are 'area rooms y': say with --sep what",
    "short_row.csv": "line 3 of @ has 2 values where 3 columns are named",
    "some_percent.csv": "column 'share' of @ holds numbers with % and without",
    "total_row.csv": "column 'area' of @ holds numbers and text, such as 'Total' in row 4",
    "two_currencies.csv": "column 'price' of @ holds numbers with '$', '€'",
    "unclosed_quote.csv": "line 3 of @ has a quotation mark that is not closed",
    "unnamed_column.csv": "column 2 of @ has no name",
    "zero_byte.csv": "@ has a zero byte in line 3",
}


def fit(table, model, *arguments, **kwargs):
    return run("fit", table, "-t", "y", "-o", model, "--trees", 20, *arguments, **kwargs)


def read(path, **kwargs):
    """Return a table as the commands read it, and what its columns hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_table(Source(Path(path), **kwargs))
    return table.frame([name for name, c in table.columns.items() if c.trouble is None])


def assert_holds(frame, expected):
    """Compare with lists of values, None where one is missing."""
    for name, values in expected.items():
        assert [None if value != value else value for value in frame[name].tolist()] == values, name


def test_every_ugly_table_has_its_expectation():
    assert sorted(path.name for path in TABLES.iterdir()) == sorted(RIGHT | REFUSED)


@pytest.mark.parametrize("name", RIGHT)
def test_an_ugly_table_gives_the_right_table(name, tmp_path):
    expected = dict(RIGHT[name])
    left_out = expected.pop("left out", [])
    frame = read(TABLES / name)
    assert set(frame) == {*expected, *left_out}
    assert_holds(frame, expected)
    out, said = fit(TABLES / name, tmp_path / "m.bf", "--json", "--task", "regression")
    assert json.loads(out)["n_rows"] == len(expected["y"])
    assert boostforest.load_model(tmp_path / "m.bf").feature_names_in_.tolist() == [n for n in expected if n != "y"]
    assert all(repr(column) in said for column in left_out)
    run("predict", tmp_path / "m.bf", TABLES / name)


@pytest.mark.parametrize("name", REFUSED)
def test_an_ugly_table_gives_one_sentence(name, tmp_path):
    said = refused("fit", TABLES / name, "-t", "y", "-o", tmp_path / "m.bf", "--trees", 5)
    assert said.startswith(REFUSED[name].replace("@", str(TABLES / name)))
    assert not (tmp_path / "m.bf").exists()


def test_nothing_is_read_or_left_beside_the_table(tmp_path, monkeypatch):
    """A name is not a pattern, and DuckDB neither spills into the folder nor reads what lies there."""
    monkeypatch.chdir(tmp_path)
    for name in ("house[1].csv", "house1.csv", "hous*.csv"):
        (tmp_path / name).write_text(f"area,y\n{len(name)},1\n2,2\n")
    for name in ("house[1].csv", "hous*.csv"):
        assert_holds(read(name), {"area": [len(name), 2]})
    pd.DataFrame({"area": [1, 2], "y": [3, 4]}).to_parquet("part[1].parquet")
    assert_holds(read("part[1].parquet"), {"area": [1, 2]})
    assert len(list(tmp_path.iterdir())) == 4


# ------------------------------------------------------------------------------------------------ other kinds of files

PLAIN = "area,town,y\n1,Köln,300\n2,Bonn,420\n3,Köln,510\n"
HOLDS = {"area": [1, 2, 3], "town": ["Köln", "Bonn", "Köln"], "y": Y}


def zstandard(data):
    return pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard])
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table"])
def test_compression_shows_in_the_bytes_not_in_the_name(pack, name, tmp_path):
    (tmp_path / name).write_bytes(pack(PLAIN.encode()))
    assert_holds(read(tmp_path / name), HOLDS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_encodings_are_recognised(encoding, tmp_path):
    (tmp_path / "table.csv").write_bytes(PLAIN.encode(encoding))
    assert_holds(read(tmp_path / "table.csv"), HOLDS)


def test_an_encoding_can_be_said(tmp_path):
    (tmp_path / "table.csv").write_bytes(PLAIN.replace("Köln", "Москва").encode("cp1251"))
    assert_holds(read(tmp_path / "table.csv", encoding="cp1251"), {"town": ["Москва", "Bonn", "Москва"]})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("book.csv", b"PK\x03\x04" + bytes(60), "is an Excel file"),
        ("book.xls", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(60), "is a file of Excel"),
        ("cut.csv.gz", gzip.compress(PLAIN.encode() * 50, mtime=0)[:-30], "is cut off"),
        ("bad.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)[:12] + bytes(40), "cannot be read"),
        ("bad.csv.xz", lzma.compress(PLAIN.encode())[:20] + bytes(40), "cannot be read"),
        ("bad.csv.zst", zstandard(PLAIN.encode())[:12] + bytes(40), "cannot be read"),
        ("bad.parquet", b"PAR1 and nothing else", "cannot be read"),
        ("image.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not recognised"),
    ],
)
def test_what_is_not_a_table_is_refused(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    said = refused("fit", tmp_path / name, "-t", "y", "-o", tmp_path / "m.bf")
    assert words in said and name in said


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    frame = pd.DataFrame(HOLDS)
    folder = tmp_path / "made=here" / "houses"
    for town, part in frame.groupby("town"):
        (folder / f"town={town}").mkdir(parents=True)
        part.drop(columns="town").to_parquet(folder / f"town={town}" / "part.parquet", index=False)
    found = read(folder)
    assert_holds(found.sort_values("area"), HOLDS)
    assert set(found) == set(HOLDS)
    (folder / "town=Bonn" / "more.parquet").write_bytes((folder / "town=Bonn" / "part.parquet").read_bytes())
    assert len(read(folder)) == 4
    pd.DataFrame({"area": [1.5]}).to_parquet(folder / "town=Bonn" / "less.parquet")
    assert "have different columns, such as 'y'" in refused("fit", folder, "-t", "y", "-o", tmp_path / "m.bf")


def test_categories_of_a_parquet_file_stay_categories(tmp_path):
    frame = pd.DataFrame({"kind": pd.Categorical([1, 2, 1] * 5), "y": range(15)})
    frame.to_parquet(tmp_path / "table.parquet")
    fit(tmp_path / "table.parquet", tmp_path / "m.bf")
    assert 0 in boostforest.load_model(tmp_path / "m.bf").encoder_.categories


def database(path, **tables):
    connection = sqlite3.connect(path)
    for name, rows in tables.items():
        connection.execute(f"CREATE TABLE {name} (area, town, y)")
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def test_sqlite_files_are_read(tmp_path):
    rows = [(1, "Köln", 300), (2, "Bonn", 420), (3, "Köln", 510)]
    assert_holds(read(database(tmp_path / "one.db", houses=rows)), HOLDS)
    path = database(tmp_path / "two.db", houses=rows, flats=rows[:2])
    said = refused("fit", path, "-t", "y", "-o", tmp_path / "m.bf")
    assert "holds 2 tables ('houses', 'flats')" in said and '--sql "SELECT * FROM houses"' in said
    assert_holds(read(path, sql="SELECT area + 1 AS area FROM flats"), {"area": [2, 3]})
    assert "no such table: huts" in refused(
        "fit", path, "-t", "y", "-o", tmp_path / "m.bf", "--sql", "SELECT * FROM huts"
    )


def test_a_query_is_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "houses.csv").write_text("id,area,y\n1,50,300\n2,60,420\n3,70,510\n")
    (tmp_path / "towns.csv").write_text("id,town\n1,Bonn\n2,Ulm\n3,Bonn\n")
    query = "SELECT area, town, y FROM 'houses.csv' JOIN 'towns.csv' USING (id) ORDER BY area"
    out, _ = run("fit", "--sql", query, "-t", "y", "-o", "m.bf", "--trees", 20, "--json", "--task", "regression")
    assert json.loads(out)["n_features"] == 2
    direct = run("predict", "m.bf", "--sql", query, "-q")[0]
    assert len(direct.split()) == 4
    for wrong, words in {
        "SELECT * FROM nowhere": "Table with name nowhere does not exist",
        "COPY (SELECT 1) TO 'made.csv'": "must be one query",
        "SELECT 1; SELECT 2": "must be one query",
        "SELECT 1 AS y, 2 AS y": "two columns of the name 'y'",
        "FROM 'https://example.com/table.csv'": "httpfs",
        "SELECT * FROM frame": "Table with name frame does not exist",
    }.items():
        assert words in refused("fit", "--sql", wrong, "-t", "y", "-o", "x.bf")
    said = refused("fit", "--sql", query, "-t", "y", "-o", "houses.csv")
    assert "--output houses.csv is the file houses.csv that is read" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["houses.csv", "m.bf", "towns.csv"]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "gz"])
def test_standard_input_is_a_table_of_any_kind(kind, tmp_path):
    (tmp_path / "table.csv").write_text(PLAIN, encoding="utf-8")
    fit(tmp_path / "table.csv", tmp_path / "m.bf", "--task", "regression")
    expected = run("predict", tmp_path / "m.bf", tmp_path / "table.csv", "-q")[0]
    content = io.BytesIO()
    pd.DataFrame(HOLDS).to_parquet(content)
    data = {
        "csv": PLAIN.encode(), "gz": gzip.compress(PLAIN.encode()), "parquet": content.getvalue(),
        "json": pd.DataFrame(HOLDS).to_json(orient="records").encode(),
    }[kind]  # fmt: skip
    out, said = run("predict", tmp_path / "m.bf", "-", "-o", "-", data=data)
    assert out == expected
    assert "standard input: not used: 'y'" in said


@pytest.mark.filterwarnings("ignore")
@given(
    st.lists(
        st.lists(st.text(st.sampled_from("a;,\"'\n\\ \t|#ä"), max_size=6), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    )
)
@settings(deadline=None, max_examples=60)
def test_rows_are_those_that_were_written(rows):
    """Python's writer as the oracle: no row is lost, added or shifted, whatever stands in the cells."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerows([["first", "second", "third"], *rows])
        table = read_table(Source(path, separator=","))
    found = table.frame(list(table.columns), list(table.columns))
    stripped = [[cell.strip(" \t\n\r") or None for cell in row] for row in rows]
    assert [[None if cell != cell else cell for cell in row] for row in found.to_numpy(object).tolist()] == stripped


def test_a_wide_table_is_read(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(6, 700)), columns=[f"f{j}" for j in range(700)])
    frame.to_csv(tmp_path / "wide.csv", index=False)
    assert np.array_equal(read(tmp_path / "wide.csv").to_numpy(), frame.to_numpy())


# -------------------------------------------------------------------------------------------------- what the user says


def test_the_user_says_what_a_table_leaves_open():
    path = TABLES / "open_decimals.csv"
    assert_holds(read(path, decimal=","), {"area": [1.234, 12.5, 5.125]})
    assert_holds(read(path, decimal="."), {"area": [1234, 12500, 5125]})
    path = TABLES / "open_points.csv"
    assert_holds(read(path, decimal=","), {"price": [1234, 12500, 5125], "area": [50.5, 61.25, 7]})
    assert_holds(read(path, decimal="."), {"price": [1.234, 12.5, 5.125], "area": [50.5, 61.25, 7]})
    assert_holds(read(TABLES / "separated_by_spaces.csv", separator=" "), {"area": [50.5, 61], "rooms": [1, 2]})


def test_columns_that_are_left_out_can_be_kept(tmp_path):
    path = TABLES / "identifiers.csv"
    _, said = fit(path, tmp_path / "m.bf", "--keep", "nr", "--keep", "token")
    assert boostforest.load_model(tmp_path / "m.bf").feature_names_in_.tolist() == ["nr", "token", "area", "year"]
    assert "'customerID' (identifier)" in said
    said = refused("fit", TABLES / "mixed_dates.csv", "-t", "y", "-o", tmp_path / "m.bf", "--keep", "sold")
    assert "dates or times that can be read in several ways" in said and "strptime(sold, " in said


def test_dates_that_can_be_read_in_several_ways_are_not_guessed(tmp_path):
    rows = [f"{month:02}/{month % 12 + 1:02}/2023,{month},{10 * month}" for month in range(1, 13)]
    path, model = tmp_path / "sold.csv", tmp_path / "m.bf"
    path.write_text("\n".join(["sold,area,y", *rows]), encoding="utf-8")
    _, said = fit(path, model, "--task", "regression", "--trees", 3)
    assert "'sold' (dates or times that can be read in several ways)" in said
    path.write_text("\n".join(["sold,area,y", *rows, "12/31/2023,1,5"]), encoding="utf-8")
    fit(path, model, "--task", "regression", "--trees", 3)
    names = boostforest.load_model(model)._model.feature_names
    assert names[:3] == ["sold days since 2023-01-02", "sold day of the month", "sold weekday"]
    run("predict", model, path, "-o", tmp_path / "found.csv")
    path.write_text("\n".join(["sold,area,y", *rows]), encoding="utf-8")
    assert "holds dates or times that can be read in several ways" in refused("predict", model, path)
    path.write_text("sold,area,y\n5,1,2\n", encoding="utf-8")
    assert "in the fit it held dates or times" in refused("predict", model, path)


def test_a_target_of_different_texts_is_a_classification_if_the_user_insists(tmp_path):
    path = TABLES / "distinct_text_target.csv"
    out, _ = fit(path, tmp_path / "m.bf", "--task", "classification", "--json")
    assert json.loads(out)["task"] == "classification"


def test_categories_that_look_like_numbers_are_known_again(tmp_path):
    """Of the levels 1, 2 and 2b a table may hold 1 and 2 alone."""
    rows = [f"{level},{i}" for i, level in enumerate(["1", "2", "2b", "x", "y"] * 8)]
    (tmp_path / "fit.csv").write_text("\n".join(["level,y", *rows]))
    fit(tmp_path / "fit.csv", tmp_path / "m.bf")
    for name, levels in {"all.csv": ["1", "2", "2b"], "some.csv": ["1", "2"]}.items():
        (tmp_path / name).write_text("\n".join(["level", *levels]))
    every, some = (run("predict", tmp_path / "m.bf", tmp_path / n)[0].split() for n in ("all.csv", "some.csv"))
    assert some == every[:3]


def test_a_word_among_the_numbers_of_a_new_table_is_named(tmp_path):
    fit(TABLES / "tabs.csv", tmp_path / "m.bf", "--task", "regression")
    (tmp_path / "new.csv").write_text("area,town\nlarge,Bonn\n")
    said = refused("predict", tmp_path / "m.bf", tmp_path / "new.csv")
    assert "column 'area'" in said and "'large' in row 1; in the fit it held numbers" in said


def test_predictions_stand_beside_their_identifiers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,code,area,y\n" + "".join(f"{7 * i},{i:03},{i % 5},{i}\n" for i in range(20)))
    fit(path, tmp_path / "m.bf", "--id", "id", "--id", "code")
    assert boostforest.load_model(tmp_path / "m.bf").feature_names_in_.tolist() == ["area"]
    out, _ = run("predict", tmp_path / "m.bf", path, "--id", "id", "--id", "code")
    rows = [line.split(",") for line in out.split()]
    assert rows[0] == ["id", "code", "prediction"]
    assert [row[:2] for row in rows[1:]] == [[str(7 * i), f"{i:03}"] for i in range(20)]
    run("predict", tmp_path / "m.bf", path, "--id", "id", "-o", tmp_path / "found.parquet")
    assert pq.read_table(tmp_path / "found.parquet").column("id").to_pylist() == [7 * i for i in range(20)]
    assert "no column 'key'" in refused("predict", tmp_path / "m.bf", path, "--id", "key")


def weighted(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.normal(size=60), "w": rng.integers(0, 3, 60)})
    frame["y"] = 2 * frame["area"] + rng.normal(0, 0.1, 60)
    frame["label"] = np.where(frame["y"] > 0, "high", "low")
    frame.to_csv(folder / "table.csv", index=False)
    return frame


def test_weights_reach_the_fit_and_the_scores(tmp_path):
    frame = weighted(tmp_path)
    path, model = tmp_path / "table.csv", tmp_path / "m.bf"
    fit(path, model, "--weight", "w", "--drop", "label")
    found = boostforest.load_model(model)
    assert found.feature_names_in_.tolist() == ["area"]
    oracle = boostforest.BoostForestRegressor(20, oob_score=True, random_state=0)
    oracle.fit(frame[["area"]], frame["y"], sample_weight=frame["w"])
    np.testing.assert_array_equal(found.predict(frame[["area"]]), oracle.predict(frame[["area"]]))
    metrics = json.loads(run("score", model, path, "-t", "y", "--weight", "w", "--json")[0])["metrics"]
    errors = frame["y"] - oracle.predict(frame[["area"]])
    assert metrics["MAE"] == pytest.approx(np.average(np.abs(errors), weights=frame["w"]))
    assert metrics["R²"] == pytest.approx(oracle.score(frame[["area"]], frame["y"], frame["w"]))
    both = [run("evaluate", path, "-t", "y", "--drop", "label", "--json", "--trees", 20, *more)[0] for more in (
        ["--weight", "w"], ["--drop", "w"])]  # fmt: skip
    means = [json.loads(out)["summary"]["RMSE"]["mean"] for out in both]
    assert means[0] != means[1]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["-1", "2"], "at least 0; it holds -1 in row 1"),
        (["1", ""], "it holds nothing in row 2"),
        (["0", "0"], "all of"),
    ],
)
def test_wrong_weights_are_named(weights, words, tmp_path):
    rows = "".join(f"{i},{w},{i}\n" for i, w in enumerate(weights))
    (tmp_path / "table.csv").write_text(f"area,w,y\n{rows}")
    said = refused("fit", tmp_path / "table.csv", "-t", "y", "-o", tmp_path / "m.bf", "--weight", "w")
    assert "--weight 'w'" in said and words in said


def test_score_gives_the_metrics_of_evaluate_on_another_table(tmp_path):
    frame = weighted(tmp_path)
    path, model = tmp_path / "table.csv", tmp_path / "m.bf"
    run("fit", path, "-t", "label", "-o", model, "--drop", "y", "--drop", "w", "--trees", 20)
    metrics = json.loads(run("score", model, path, "-t", "label", "--json")[0])["metrics"]
    found = boostforest.load_model(model)
    assert metrics["accuracy"] == pytest.approx(found.score(frame[["area"]], frame["label"]))
    folds = json.loads(run("evaluate", path, "-t", "label", "--folds", 2, "--trees", 5, "--json")[0])["folds"]
    assert metrics.keys() == folds[0].keys() - {"fit seconds", "predict seconds"}
    out, _ = run("score", model, path, "-t", "label")
    assert all(name in out for name in metrics)
    assert "--target 'area' is a feature of" in refused("score", model, path, "-t", "area")
    (tmp_path / "other.csv").write_text("area,label\n1,high\n2,none\n")
    assert "holds 'none', which is not a class of the model: 'high', 'low'" in refused(
        "score", model, tmp_path / "other.csv", "-t", "label"
    )
    (tmp_path / "one.csv").write_text("area,label\n1,high\n")
    assert (
        json.loads(run("score", model, tmp_path / "one.csv", "-t", "label", "--json")[0])["metrics"]["ROC AUC"] is None
    )


def test_balanced_accuracy_is_that_of_scikit_learn(tmp_path):
    from sklearn.metrics import balanced_accuracy_score

    from boostforest._cli.evaluation import figures

    frame = weighted(tmp_path)
    X, y, weight = frame[["area"]], frame["label"].to_numpy(dtype=str), frame["w"].to_numpy(dtype=float)
    model = boostforest.BoostForestClassifier(5, random_state=0).fit(X, y[::-1])
    for w in (None, weight):
        expected = balanced_accuracy_score(y, model.predict(X), sample_weight=w)
        assert figures(model, X, y, w)["balanced accuracy"] == pytest.approx(expected)


@pytest.mark.parametrize("link", ["same", "symlink", "hardlink"])
def test_a_command_does_not_overwrite_what_it_reads(link, tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "m.bf"
    table.write_text(PLAIN, encoding="utf-8")
    fit(table, model, "--task", "regression")
    for command, read_file in ((("fit", table, "-t", "y"), table), (("predict", model, table), table),
                               (("predict", model, table), model)):  # fmt: skip
        output = read_file
        if link != "same":
            output = tmp_path / f"other{read_file.suffix}"
            (output.symlink_to if link == "symlink" else output.hardlink_to)(read_file)
        before = read_file.read_bytes()
        assert f"is the file {read_file} that is read" in refused(*command, "-o", output)
        assert read_file.read_bytes() == before
        if link != "same":
            output.unlink()


def test_predictions_do_not_go_into_the_folder_that_is_read(tmp_path):
    (tmp_path / "parts").mkdir()
    pd.DataFrame(HOLDS).to_parquet(tmp_path / "parts" / "a.parquet")
    fit(tmp_path / "parts", tmp_path / "m.bf", "--task", "regression")
    said = refused("predict", tmp_path / "m.bf", tmp_path / "parts", "-o", tmp_path / "parts" / "b.parquet")
    assert "lies in the folder" in said


def test_quiet_is_quiet(tmp_path):
    out, said = fit(TABLES / "dates.csv", tmp_path / "m.bf", "--quiet", "--task", "regression", "--trees", 3)
    assert "out-of-bag" in out and said == ""
    assert run("predict", tmp_path / "m.bf", TABLES / "latin1.csv", "-q", status=1)[1].count("\n") == 1
    assert run("predict", tmp_path / "m.bf", TABLES / "dates.csv", "-q", "-o", tmp_path / "found.csv") == ("", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--param", "pool=adaptive", "--trees", 20], "needs --trees of at least 40; got 20"),
        (["--param", "n_estimators=0"], "n_estimators must be"),
        (["--jobs", 0], "--jobs must be"),
        (["--sep", "<=====>"], "--sep must be"),
        (["--encoding", "klingon"], "--encoding 'klingon' is not known"),
        (["--drop", "area", "--keep", "area"], "--keep 'area' is a column that --drop names as well"),
        (["--output", "-"], "a model is a file"),
    ],
)
def test_messages_name_what_the_user_typed(arguments, words, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("area,y\n" + "".join(f"{i % 7},{i}.5\n" for i in range(40)))
    _, said = run("fit", path, "-t", "y", "-o", tmp_path / "m.bf", *arguments, "-q", status=1)
    assert words in said and said.count("\n") == 1


def test_numbers_out_of_bounds_are_named_by_their_option(tmp_path):
    for option, value in (("--jobs", 2**31), ("--seed", 2**32), ("--trees", 0), ("--decimal", ";")):
        _, said = run("fit", TABLES / "tabs.csv", "-t", "y", "-o", tmp_path / "m.bf", option, value, status=2)
        assert option in said
    assert "TABLE" in run("fit", "-t", "y", "-o", tmp_path / "m.bf", status=2)[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(79740.3, "79,740"), (-1234567.8, "-1,234,568"), (0.012345, "0.01235"), (12.3456, "12.35"), (300, "300"), (0, "0"),
     (999.96, "1,000"), (1e20, "1e+20"), (0.5, "0.5")],
)  # fmt: skip
def test_numbers_are_written_as_people_do(value, text):
    assert number_text(value) == text


def test_without_duckdb_the_command_names_its_extra(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    said = refused("fit", TABLES / "tabs.csv", "-t", "y", "-o", tmp_path / "m.bf")
    assert 'pip install "boostforest[cli]"' in said
