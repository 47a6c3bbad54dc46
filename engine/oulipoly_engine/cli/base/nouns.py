"""What `--help` lists: commands by section; and the answer where a noun has no verb, or an unknown one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from oulipoly_engine.cli.base import commands
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import output

_ASKED = ("-h", "--help")


def run(program: str, noun: commands.Subcommand, arguments: list[str]) -> int:
    """Print a noun's commands where its help is asked for. Raises UsageInvalid, which names the nearest one, else."""
    verbs = commands.verbs(noun.name)
    if arguments and arguments[0] in _ASKED:
        output.write_block(_help(program, noun, verbs))
        return 0
    known = [entry.name.partition(" ")[2] for entry in verbs]
    see = f"(see `{program} {noun.name} --help`)"
    if not arguments or arguments[0].startswith("-"):
        raise UsageInvalid(f"say what to do after `{program} {noun.name}`: {', '.join(known)} {see}")
    from oulipoly_engine.core.text.nearest import nearest  # noqa: PLC0415 - only an error needs it

    near = nearest(arguments[0], known)
    hint = f"did you mean `{program} {noun.name} {near[0]}`?" if near else f"there are {', '.join(known)}"
    raise UsageInvalid(f"unknown command `{program} {noun.name} {arguments[0][:80]}`: {hint} {see}")


def listing(entries: Sequence[commands.Subcommand], *, prefix: str = "") -> str:
    """Return a line a command below the headings of their sections. prefix: what to leave out of their names."""
    width = max(len(entry.name) for entry in entries) - len(prefix) + 2
    lines = []
    for section, members in itertools.groupby(entries, key=lambda entry: entry.section):
        lines += [f"{section}:"] if section else []
        lines += [f"  {entry.name.removeprefix(prefix):<{width}}{entry.summary}" for entry in members]
    return "\n".join(lines)


def _help(program: str, noun: commands.Subcommand, verbs: Sequence[commands.Subcommand]) -> str:
    name = f"{program} {noun.name}"
    return (
        f"usage: {name} COMMAND [ARGS...]\n\n{listing(verbs, prefix=f'{noun.name} ')}\n\n"
        f"`{name} COMMAND --help` tells more.\n"
    )
