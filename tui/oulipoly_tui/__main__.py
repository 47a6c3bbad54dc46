"""The entry point of both faces. Nothing heavy at its top: the headless face must start within 40 ms."""

from __future__ import annotations

import sys


def main() -> int:
    """Open the app where nothing is asked for, else run the headless command; return the exit code."""
    arguments = sys.argv[1:]
    if all(word in ("--linear", "--read-only", "--no-anim") for word in arguments):
        from oulipoly_tui import entry  # noqa: PLC0415 - the headless face must not load it

        if entry.is_for_app(arguments):
            return entry.run(arguments)
    if arguments[:1] == ["terminal"]:
        from oulipoly_tui import bare_entry  # noqa: PLC0415 - as above

        if bare_entry.is_for_pane(arguments[1:]):
            return bare_entry.run(arguments[1:])
    from oulipoly_engine.cli.main import main as headless  # noqa: PLC0415 - the app does not need it

    return headless(arguments)


if __name__ == "__main__":
    sys.exit(main())
