"""Make of parsers, commands, errors and settings what repeats them: completion, man page, pages of docs.

Every command is started until it has made its parser, and no further.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "engine"), str(ROOT / "tui")]

from oulipoly_engine import errors, variables  # noqa: E402
from oulipoly_engine.cli.base import commands, parser  # noqa: E402
from oulipoly_engine.cli.base.context import Context  # noqa: E402
from oulipoly_engine.config.edit import rules, settings_edit  # noqa: E402
from oulipoly_engine.config.schema.app import AppTable, CommandTable, ViewTable  # noqa: E402
from oulipoly_engine.config.schema.settings import SettingsTable  # noqa: E402
from oulipoly_engine.core.accounts.resource_lists import TYPES  # noqa: E402
from oulipoly_engine.core.commands.table import find  # noqa: E402
from oulipoly_engine.facade.configuration import schema_titles  # noqa: E402
from oulipoly_engine.paths import PROJECT_FOLDER, Paths  # noqa: E402
from oulipoly_engine.stopping import Stopped  # noqa: E402

TABLE = ROOT / "engine" / "oulipoly_engine" / "cli" / "completion" / "table.json"
MAN, PAGE = ROOT / "man" / "agents.1", ROOT / "docs" / "commands.md"
SETTINGS = ROOT / "docs" / "settings.md"
_SETTINGS = [*settings_edit.names(Paths(Path("/c"), Path("/d"), Path("/h")))]  # not those of accounts and models
_KINDS = {  # what a parser calls a value, and what can be offered for it
    "MODEL": "model",
    "POOL": "model",
    "MODEL|RUN": "model|run",
    "ACCOUNT": "account",
    "RUNTIME": "runtime",
    "ID": "session",
    "[ID] ANSWER...": "session",
    "TERMINAL": "terminal",
    "RUN": "run",
    "DIR": "folder",
    "AGENT PROMPT": "agent",
}
_PLACES = {  # what else can be offered for an argument
    ("session export", "format"): ["canonical-jsonl", "markdown", "html"],
    ("config edit", "file"): ["config", "providers", "sessions", "app", "project"],
    ("config schema", "file"): [*schema_titles()],
    ("config get", "key"): _SETTINGS,
    ("config set", "key"): _SETTINGS,
    **{(f"config {verb}", "type"): [*TYPES] for verb in ("enable", "disable", "list")},
}
_RAISING = ("core", "drivers", "facade", "host", "service", "terminal", "web")  # packages with errors of their own
_SIGNALS = (errors.Interrupted.slug, Stopped.slug)  # their exit codes are the signals'
_EXITS = (  # what no error of ours stands for
    ("the CLI's own", "It ran; 128 + n if signal n ended it."),
    ("0", "Done, also when the reader of stdout has left."),
    ("75", "`--wait` of a live session: the message was taken and its turn is not over; it must not be sent again."),
    ("124", "A run was stopped at its time limit."),
    ("129, 130, 131, 143", "Stopped by HUP, INT, QUIT, TERM; the CLI and all that it started are stopped too."),
)


class Found(Exception):
    """The parser that a command has made."""


def parser_of(entry: commands.Subcommand) -> parser.Parser:
    """Return the parser that a command makes."""

    def stop(self: parser.Parser, arguments: object) -> NoReturn:
        raise Found(self)

    kept = parser.Parser.parse, parser.Parser.parse_plain
    parser.Parser.parse = parser.Parser.parse_plain = stop  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:  # some open the state file before they parse
            commands.load(entry).run(Context(paths=Paths(*map(Path(folder).joinpath, "cdh"))), entry.name, [])
    except Found as found:
        return found.args[0]  # type: ignore[no-any-return]
    finally:
        parser.Parser.parse, parser.Parser.parse_plain = kept  # type: ignore[method-assign]
    raise AssertionError(entry)


def every_command() -> Iterator[tuple[str, str, parser.Parser | None]]:
    """Yield (name, summary, parser) of every command; a noun has no parser, and its verbs follow."""
    nouns = [entry for entry in commands.SUBCOMMANDS if " " not in entry.name]
    for entry in nouns:
        made = parser_of(entry) if entry.module else None
        nested = [one for one in made._actions if isinstance(one, argparse._SubParsersAction)] if made else []
        yield entry.name, entry.summary, None if nested else made
        for verb in commands.verbs(entry.name):
            yield verb.name, verb.summary, parser_of(verb)
        for action in nested:
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for word, below in action.choices.items():
                yield f"{entry.name} {word}", texts[word], below


def table() -> str:
    """Return what completion reads: an object a command, with its options, its arguments and its summary."""
    top = parser.top_level("agents")
    found: dict[str, Any] = {"": {**_describe(top), "summary": "", "repeats": False}}
    for option in parser._MAKES_ONE_SHOT:
        found[""]["options"][option]["one_shot"] = True
    for name, summary, made in every_command():
        found[name] = {**(_describe(made) if made else {}), "summary": summary}
    found["terminal new"]["runs"] = True
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _describe(made: parser.Parser) -> dict[str, Any]:
    command = made.prog.partition(" ")[2]
    options: dict[str, Any] = {}
    for action in made._actions:
        if action.help is not argparse.SUPPRESS:
            one: dict[str, Any] = {"help": _help(made, action)}
            if action.nargs != 0:
                one["takes"] = _kind(command, action)
            if isinstance(action, argparse._AppendAction):
                one["repeats"] = True
            options |= {option: dict(one) for option in action.option_strings}
    for older, option in made.older.items():
        options[older] = {**options[option], "older": True}
    arguments = [action for action in made._actions if not action.option_strings]
    described: dict[str, Any] = {"options": options, "arguments": [_kind(command, action) for action in arguments]}
    if arguments and arguments[-1].nargs in ("*", "+"):
        described["repeats"] = True
    return described


def _kind(command: str, action: argparse.Action) -> str | list[str]:
    if action.choices is None and (words := _PLACES.get((command, action.dest))):
        return words
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    name = str(action.metavar or action.dest.upper())
    if name == "ID" and command and not action.option_strings:
        return "session" if find(command).arguments[0].name in ("session", "sessions") else "text"
    return _KINDS.get(name) or ("file" if action.type is parser.path else "text")


def _help(made: parser.Parser, action: argparse.Action) -> str:
    return made._get_formatter()._expand_help(action) if action.help else ""


def sections() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield (usage, what it does, its arguments and options) of every command."""
    for name, summary, made in every_command():
        if made is not None:
            usage = re.sub(r"\s+", " ", made.format_usage().removeprefix("usage: ")).replace(" [-h]", "").strip()
            made.describe()
            text = (made.description or f"{summary[:1].upper()}{summary[1:]}.").strip()
            yield usage or name, text, list(_rows(made))


def _rows(made: parser.Parser) -> Iterator[tuple[str, str]]:
    formatter = made._get_formatter()
    for action in made._actions:
        if action.help is not argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            yield formatter._format_action_invocation(action), _help(made, action)


def every_error() -> Iterator[type[errors.RunnerError]]:
    """Yield every kind of error that a command can end with, those of our modules far down too."""
    for package in _RAISING:
        for module in pkgutil.walk_packages(
            [str(Path(errors.__file__).parent / package)], f"oulipoly_engine.{package}."
        ):
            importlib.import_module(module.name)
    kinds = [errors.RunnerError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    # In the same order whatever was imported before us: of two with one code, the more general one explains it.
    packages = ("oulipoly_engine.errors", *(f"oulipoly_engine.{package}." for package in _RAISING))
    own = [kind for kind in dict.fromkeys(kinds) if kind.__module__.startswith(packages)]
    yield from sorted(own, key=_generality)


def _generality(kind: type[errors.RunnerError]) -> tuple[bool, int, str, int]:
    place = [*vars(sys.modules[kind.__module__])].index(kind.__name__)  # in its module
    return not kind.__subclasses__(), len(kind.__mro__), kind.__module__, place


def exit_codes() -> list[tuple[str, str, str]]:
    """Return (exit code, the errors' name in JSON, what it means), by code."""
    rows = [
        (str(error.exit_code), error.slug, (error.__doc__ or "").split("\n")[0])
        for error in every_error()
        if "slug" in vars(error) and error.slug not in _SIGNALS
    ]
    rows += [(code, "", text) for code, text in _EXITS]
    return sorted({(code, name): (code, name, text) for code, name, text in reversed(rows)}.values(), key=_order)


def _order(row: tuple[str, str, str]) -> tuple[int, str]:
    return int(re.split(r"\D", row[0])[0] or -1), row[1]


def older() -> list[tuple[str, str]]:
    """Return (older spelling, present one) of commands and options."""
    found = [(one, entry.name) for entry in commands.SUBCOMMANDS for one in entry.older]
    for name, _, made in every_command():
        found += [(f"{name} {one}", f"{name} {option}") for one, option in (made.older if made else {}).items()]
    return sorted(found)


def man_page() -> str:
    """Return the man page."""
    top = parser.top_level("agents")
    parts = [
        '.\\" Made by scripts/command_reference.py.',
        ".TH AGENTS 1",
        ".SH NAME",
        "agents \\- pool the accounts of agent CLIs, run prompts, keep sessions",
        ".SH SYNOPSIS",
        ".B agents\n[OPTIONS] [AGENT] [PROMPT...]\n.br\n.B agents\nCOMMAND [ARGS...]\n.br\n.B agents",
        ".SH DESCRIPTION",
        "Runs a prompt on that account of a model's pool that has most quota left. Without arguments the app opens.",
        ".SH OPTIONS",
        *(_man_row(*row) for row in _rows(top)),
        ".SH COMMANDS",
    ]
    for usage, text, rows in sections():
        parts += [f".SS {_roff(usage)}", _roff(text), *(_man_row(*row) for row in rows)]
    parts += [".SH EXIT STATUS", *(_man_row(f"{code} {name}".strip(), text) for code, name, text in exit_codes())]
    parts += [".SH OLDER SPELLINGS", *(_man_row(one, f"the same as {present}") for one, present in older())]
    return "\n".join(parts) + "\n"


def _man_row(name: str, text: str) -> str:
    return f".TP\n.B {_roff(name)}\n{_roff(text)}"


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return re.sub(r"(?m)^([.'])", r"\\&\1", escaped)


def page() -> str:
    """Return docs/commands.md."""
    parts = ["# Commands\n\n<!-- Made by scripts/command_reference.py. -->\n"]
    for usage, text, rows in sections():
        listed = "".join(f"* `{name}`: {one}\n" for name, one in rows)
        parts.append(f"## `{usage}`\n\n{text}\n" + (f"\n{listed}" if listed else ""))
    codes = "".join(f"| {code} | {name and f'`{name}`'} | {text} |\n" for code, name, text in exit_codes())
    parts.append(f"## Exit codes\n\n| code | `code` in JSON errors | means |\n|---|---|---|\n{codes}")
    spellings = "".join(f"| `{one}` | `{present}` |\n" for one, present in older())
    parts.append(f"## Older spellings\n\nThey do the same.\n\n| older | now |\n|---|---|\n{spellings}")
    return "\n".join(parts)


_ABOUT_SETTINGS = f"""\
`agents config set KEY VALUE` writes one, `agents config unset KEY` takes it away, `agents config get KEY` tells what
holds. `agents config show --origin` tells of each where it comes from and what it hides.

A setting can stand in five places. The last that has it counts; lists and texts take each other's place whole.

1. built in: the defaults below;
2. your own files, config.toml and app.toml;
3. the project that you are in: `{PROJECT_FOLDER}/settings.toml` (or `.json`, which goes first) in the nearest folder
   upwards, with the keys of both files. `agents config set --project` writes it;
4. the environment: `{variables.SETTING}` and the key in capitals, such as `{variables.SETTING}TIE_RULE`. Words for
   yes and no are true, 1, yes, on and false, 0, no, off; a value that cannot be used is told and left out;
5. the command line: `agents --set KEY=VALUE …`, before the command.

A project can come from anybody. Of its settings those count at once that can do no harm; those that spend, send or
permit more count once you trust the folder (`agents config trust` shows them and asks), until its file changes; all
others never do. What is ignored is listed. `agents grants list` shows whom you trust, `agents grants revoke` ends it.
"""


def settings_page() -> str:
    """Return docs/settings.md: every setting and every variable of ours, as they are declared."""
    files = {
        "config.toml: what holds for every run": SettingsTable,
        "app.toml: the app": AppTable,
        "app.toml: each of `[[commands]]`": CommandTable,
        "app.toml: each `[views.NAME]`": ViewTable,
    }
    parts = [
        "# Settings\n\n<!-- Made by scripts/command_reference.py. -->\n",
        _ABOUT_SETTINGS,
    ]
    for title, table in files.items():
        rows = "".join(map(_setting_row, rules.list_rules(table, with_tables=True)))
        parts.append(f"## {title}\n\n| key | default | meaning |\n|---|---|---|\n{rows}")
    names = {"Variables that you can set": variables.TAKEN, "Variables that our programs get": variables.GIVEN}
    for title, described in names.items():
        rows = "".join(f"| `{name}` | {text} |\n" for name, text in described.items())
        parts.append(f"## {title}\n\n| variable | meaning |\n|---|---|\n{rows}")
    return "\n".join(parts)


_IN_PROJECTS = {"never": "", "trusted": " In a project you trust.", "always": " In any project."}


def _setting_row(rule: rules.Rule) -> str:
    default = "" if rule.default is None else f"`{settings_edit.as_toml(rule.default)}`"
    notes = rule.notes or ("",) * len(rule.choices)
    words = [f"`{choice}`{note and f': {note}'}" for choice, note in zip(rule.choices, notes, strict=True)]
    choices = f" {' · '.join(words)}" if words and rule.kind == "choice" else ""
    option = f" For one start: `agents {rule.option}`." if rule.option else ""
    project = _IN_PROJECTS[rule.in_project]
    others = "".join(f" Also `{name}`." for name in rule.variables)
    return f"| `{rule.name}` | {default} | {rule.description}{choices}{option}{project}{others} |\n"


def main(arguments: list[str] | None = None) -> int:
    """Write, or compare."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--check", action="store_true", help="compare with what is kept")
    made = {TABLE: table(), MAN: man_page(), PAGE: page(), SETTINGS: settings_page()}
    if reader.parse_args(arguments).check:
        return int(any(not path.exists() or path.read_text(encoding="utf-8") != text for path, text in made.items()))
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
