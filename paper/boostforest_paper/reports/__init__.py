"""From the store to readers: statistics, tables, pictures, one HTML page, Markdown."""
