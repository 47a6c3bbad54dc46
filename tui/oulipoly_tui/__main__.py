"""The entry point of both faces. Nothing heavy at its top: the headless face must start within 40 ms."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the headless command and return its exit code."""
    from oulipoly_engine.cli.main import main as headless  # noqa: PLC0415 - the app will not need it

    return headless(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
