"""Lay the pages that `make docs` has built beside those of other versions: ``python docs/site.py FOLDER``.

FOLDER is what a server shows: a folder for each minor version, the list that all of them read for their menu, and a
page that leads to the newest one.
"""

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
START = """<!doctype html>
<meta charset="utf-8">
<title>boostforest</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">boostforest {version}</a>
"""


def main(folder: Path, built: Path = HERE / "_build" / "html") -> None:
    """Put the built pages in the place of their version, and make that the one shown first."""
    versions = built / "versions.json"
    (newest,) = (entry["version"] for entry in json.loads(versions.read_text()) if entry.get("preferred"))
    shutil.rmtree(folder / newest, ignore_errors=True)
    shutil.copytree(built, folder / newest)
    shutil.copy(versions, folder)
    (folder / "index.html").write_text(START.format(version=newest), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
