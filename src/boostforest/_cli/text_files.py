"""Text as it lies on disk, compressed or in whatever encoding, as lines of Unicode."""

import bz2
import codecs
import gzip
import io
import lzma
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from .messages import Refused

_CHUNK = 1 << 22  # characters
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WESTERN = "cp1252"  # Latin-1 as Windows writes it


def _open_zstandard(path: Path) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


# How a compressed file begins; its ending may say anything.
_COMPRESSED = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _open_zstandard,
}


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, decompressed if it is compressed."""
    with path.open("rb") as file:
        head = file.read(8)
    for begin, opener in _COMPRESSED.items():
        if head.startswith(begin):
            return opener(path)  # type: ignore[operator,no-any-return]
    return path.open("rb")


def read_text(path: Path, label: str, encoding: str | None) -> Iterator[str]:
    """Yield the text of a file in chunks, its lines ended by line feeds, without a byte order mark."""
    with open_bytes(path) as file:
        head = file.read(1 << 16)
    found = encoding or next((name for bom, name in _BOMS.items() if head.startswith(bom)), None) or _utf16(head)
    if found is None:
        found = "utf-8" if _is_encoded(path, "utf-8") else _WESTERN
        if found == _WESTERN:
            if not _is_encoded(path, _WESTERN):
                raise Refused(f"{label} is text in an encoding that is not recognised: say which with --encoding")
            warnings.warn(
                f"{label} is not UTF-8 and is read as Windows-1252 (Latin-1); if letters are wrong, say --encoding",
                stacklevel=2,
            )
    line, bom = 1, "\ufeff"
    with open_bytes(path) as file:
        try:
            stream = io.TextIOWrapper(file, encoding=found)
            while chunk := stream.read(_CHUNK):
                if "\0" in chunk:
                    line += chunk[: chunk.index("\0")].count("\n")
                    raise Refused(f"{label} has a zero byte in line {line}: it is not a table as text, or is damaged")
                line += chunk.count("\n")
                yield chunk.removeprefix(bom)
                bom = "\0"  # at the beginning only
        except UnicodeError as error:
            how = f"--encoding {encoding}" if encoding else found
            raise Refused(f"{label} cannot be read as {how}: {error}") from error


def _utf16(head: bytes) -> str | None:
    """Return the encoding of text that has a zero in every other byte but no mark."""
    if head[1::2].count(0) > len(head) // 3:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > len(head) // 3 else None


def _is_encoded(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with open_bytes(path) as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", True)
        except UnicodeDecodeError:
            return False
    return True
