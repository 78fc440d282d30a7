"""Running experiments: what is to be fitted, by whom, and where the results go."""
