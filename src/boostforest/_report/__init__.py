"""The report: one HTML page on a fitted tree or forest and a table with its target."""
