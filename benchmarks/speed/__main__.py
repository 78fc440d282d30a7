"""Command line of the speed benchmarks."""

from __future__ import annotations

import argparse
import sys

from benchmarks.speed import boosting, compare, defaults, dtypes, kernels, memory, run, scaling

COMMANDS = {
    "run": run,
    "defaults": defaults,
    "dtypes": dtypes,
    "kernels": kernels,
    "boosting": boosting,
    "scaling": scaling,
    "memory": memory,
    "compare": compare,
}


def main(argv: list[str] | None = None) -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description="Speed of boostforest.")
    subparsers = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        assert module.__doc__ is not None
        summary = module.__doc__.splitlines()[0].split(": ", 1)[1]
        command = subparsers.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.set_defaults(parser=command)
    args = parser.parse_args(argv)
    command_parser = args.__dict__.pop("parser")
    return COMMANDS[args.command].main(command_parser, args)


if __name__ == "__main__":
    sys.exit(main())
