"""The fitted forest: its columns, and everything that is computed from them."""
