"""Trees whose node models are fitted in Python."""
