"""One-off questions, each answered by a table."""
