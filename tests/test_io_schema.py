"""The list of what a model file holds: the documentation shows it, and every entry of it is needed."""

import re
from pathlib import Path

import numpy as np
import pytest

from boostforest._files.field import table
from boostforest._files.files import FORMAT_VERSION
from boostforest._files.schema import METADATA, TENSORS
from model_files import GOLDEN, split, tensors_of, with_metadata, with_tensors

PAGE = (Path(__file__).parent.parent / "docs" / "dev" / "format.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "fields"), [("tensors", TENSORS), ("metadata", METADATA)])
def test_the_documentation_shows_the_list(name, fields):
    shown = re.search(rf"<!-- table of {name} -->\n(.*?)\n<!-- end of table -->", PAGE, re.DOTALL)
    assert shown is not None and shown[1] == table(fields), "put what table() renders into docs/dev/format.md"


@pytest.mark.parametrize("fields", [TENSORS, METADATA], ids=["tensors", "metadata"])
def test_every_field_is_described_once_and_its_doc_fits_into_a_table(fields):
    assert len({field.name for field in fields}) == len(fields)
    for field in fields:
        assert field.doc and not re.search(r"[|\n]|\.$", field.doc), field.name
        assert 1 <= field.since <= FORMAT_VERSION


def test_the_golden_files_hold_nothing_else_and_older_ones_nothing_newer():
    tensors, metadata = ({field.name: field for field in fields} for fields in (TENSORS, METADATA))
    for path in GOLDEN:
        content = path.read_bytes()
        version = int(path.stem[1 : path.stem.index("-")])
        found = [tensors[re.sub(r"^coded\..*", "coded.<name>", name)] for name in tensors_of(content)]
        found += [metadata[name] for name in split(content)[0]["__metadata__"]]
        assert max(field.since for field in found) <= version


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_tensor_needs_its_type_and_its_shape(path, refuses_file):
    content = path.read_bytes()
    for name, array in tensors_of(content).items():
        if name == "classes":  # any type will do, and one dimension or two
            continue
        other = np.zeros(array.shape, dtype=np.uint8 if array.dtype == np.int8 else np.int8)
        for changed, what in ((other, "be"), (array.reshape(*array.shape, 1), "have the shape")):
            refuses_file(with_tensors(content, **{name: changed}), f"tensor '{name}' must {what} ")


def test_fields_that_must_be_there_cannot_be_left_out(refuses_file):
    content = GOLDEN[0].read_bytes()
    for field in TENSORS:
        if not field.when.optional and field.name in tensors_of(content):
            refuses_file(with_tensors(content, **{field.name: None}), f"tensors are missing: {field.name}")
    for field in METADATA:
        if field.dtype == "JSON" and field.default is None:
            refuses_file(with_metadata(content, **{field.name: None}), "its metadata must be")
