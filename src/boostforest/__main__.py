"""``python -m boostforest`` is the command line."""

from ._cli import main

main()
