"""Foreign estimators as members of a forest."""
