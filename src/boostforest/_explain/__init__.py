"""Explanations: what each column of the table adds to a prediction."""
