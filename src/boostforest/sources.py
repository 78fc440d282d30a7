"""Tables that do not fit into memory, for the ``fit`` of forests: Parquet files, and arrays on disk."""

from ._features.sources import ArrayRows, ParquetRows, RowSource

__all__ = ["ArrayRows", "ParquetRows", "RowSource"]
