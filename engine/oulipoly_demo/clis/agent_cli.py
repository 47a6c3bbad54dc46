"""The bundled demo CLI: a small real program that behaves like an agent CLI of either vendor, with made-up answers.

`python -m oulipoly_demo.clis.agent_cli claude|codex|quota ARGUMENTS…`. Standard library only and quick to start:
tests and demos spawn it often. A program of its own: it alone reads the variables listed in `context.from_environment`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run one command line, the vendor first; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    env = os.environ if environ is None else environ
    vendor = words.pop(0) if words else ""
    try:
        return _run(vendor, words, env)
    except BrokenPipeError:
        # Whoever read our answer has left; the interpreter must not complain about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 130


def _run(vendor: str, words: list[str], env: Mapping[str, str]) -> int:
    # Each face is imported where it is chosen: the others would cost 5 ms a start.
    if vendor == "quota":
        from oulipoly_demo.base import context  # noqa: PLC0415
        from oulipoly_demo.clis import quota_cli  # noqa: PLC0415

        return quota_cli.run(words, context.clock(env))
    from oulipoly_demo.base import streams  # noqa: PLC0415

    if vendor not in ("claude", "codex"):
        streams.complain("usage: agent_cli claude|codex|quota [ARGUMENTS…]  (a demo: its answers are made up)")
        return 2
    from oulipoly_demo.base.context import from_environment  # noqa: PLC0415
    from oulipoly_demo.quota.meter import MeterBroken  # noqa: PLC0415

    try:
        if vendor == "claude":
            from oulipoly_demo.clis import claude_cli  # noqa: PLC0415

            return claude_cli.run(words, from_environment(vendor, env))
        from oulipoly_demo.clis import codex_cli  # noqa: PLC0415

        return codex_cli.run(words, from_environment(vendor, env))
    except (MeterBroken, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        streams.complain(f"Error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
