"""`config get`, `config set`, `config unset`, `config edit`: one setting, or a whole file in the user's editor."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.setup.config_layers import note_ignored, origin_document
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import ConfigInvalid, RequestRefused
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.configuration import ABOVE, Level

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Origin, Setting, Statement

_LAYERS = ("layer", "shadowed")
_KEY = (
    "settings.tie_rule, app.theme, app.commands.NAME, accounts.NAME.args, models.NAME.sticky, models.NAME.ACCOUNT.args"
)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    served = {"config edit": _edit, "config get": _get, "config set": _set, "config unset": _unset}
    return served[name](context, f"{context.program} {name}", arguments)


def _get(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="Print one setting as it is in force; secrets are left out.")
    parser.add_argument("key", metavar="KEY", help=f"{_KEY}; `settings.` and `app.` may be left out")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    name, setting = context.engine.configuration.settings.find(options.key)
    origin = context.engine.configuration.find_origin(setting)
    above = _what_holds_above(origin)
    value = _value_of(setting) if above is None else above.value
    if options.json:
        source = setting.source if above is None else above.source
        where = {"file": str(setting.file), "source": source, "option": setting.option or None}
        layers = (
            {} if origin is None else {key: each for key, each in origin_document(origin).items() if key in _LAYERS}
        )
        output.write_json({"key": name, "value": value} | where | layers)
    elif value is None:
        diagnostics.note(f"[{name} is not set]")
    else:
        output.write_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    for problem in context.engine.configuration.origins().problems:
        if not problem.key or setting.option in problem.text:  # of a whole file or variable, or of this setting
            diagnostics.note(f"{problem.level.value}: {problem.text}")
    return 0


def _what_holds_above(origin: Origin | None) -> Statement | None:
    """Return what holds in place of what the user's own file says; None: that holds."""
    if origin is None or origin.holds.layer not in ABOVE:
        return None
    return origin.holds


def _value_of(setting: Setting) -> object:
    """Return the value in force, without secrets; None: not set, and there is no default."""
    text = redact(setting.text) or setting.shown
    if setting.text and setting.shown.startswith('"'):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text or None


def _set(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=prog,
        description="Change one setting in its file. Comments stay; what the file's rules refuse is not written. "
        "app.commands.NAME with a command line adds a command of your own.",
    )
    parser.add_argument("key", metavar="KEY", help=f"{_KEY}; `settings.` and `app.` may be left out")
    parser.add_argument("value", metavar="VALUE", help="a text, or TOML: true, 30, ['-p']; '' takes the setting away")
    _add_place(parser)
    return _change(context, parser.parse(arguments))


def _unset(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="Take one setting out of its file, so that what lies below it holds.")
    parser.add_argument("key", metavar="KEY", help=f"{_KEY}; `settings.` and `app.` may be left out")
    _add_place(parser)
    return _change(context, Namespace(**vars(parser.parse(arguments)), value=""))


def _add_place(parser: Parser) -> None:
    parser.add_argument("--project", action="store_true", help="in the project of this folder, not in your own file")
    parser.add_argument("--dry-run", action="store_true", help="check it, and write nothing")


def _change(context: Context, options: Namespace) -> int:
    settings = context.engine.configuration.settings
    name, setting = settings.find(options.key, may_be_new=True)
    if options.project:
        setting = settings.of_project(setting, Path.cwd())
    if options.dry_run:
        wrong = settings.refusal(setting, options.value)
        if wrong is not None:
            raise ConfigInvalid(f"{name}: {wrong}")
    elif settings.save(setting, options.value, what=f"set {name}") is None:
        output.write_line(f"{name}: {_describe(setting)}, as it was")
        return 0
    setting_now = setting if options.dry_run else settings.find_again(setting)
    new = repr(options.value) if options.dry_run else _describe(setting_now)
    if not options.dry_run and not options.value and _is_default(context, setting):
        new = f"{new} (the default)"
    output.write_line(f"{name}: {_describe(setting)} -> {new}{' (not written)' if options.dry_run else ''}")
    if not options.dry_run:
        above = _what_holds_above(context.engine.configuration.find_origin(setting))
        if above is not None and not above.source.startswith(str(setting.file)):
            diagnostics.note(f"It has no effect here: {plain(above.source)} stands above it")
        if options.project:
            note_ignored(context, setting.name)
        diagnostics.note(f"Undo: {context.program} account undo")
    return 0


def _is_default(context: Context, setting: Setting) -> bool:
    origin = context.engine.configuration.find_origin(setting)
    return origin is not None and origin.holds.layer == "built-in"


def _describe(setting: Setting | None) -> str:
    return "not set" if setting is None else setting.shown or "not set"


def _edit(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=prog,
        description="Open a copy of a file in $VISUAL or $EDITOR. It is written only when it is right. What is wrong "
        "is shown with its line, and you can go on.",
    )
    parser.add_argument(
        "file",
        nargs="?",
        default="config",
        metavar="NAME",
        help="config (default), providers, sessions, app, project, models/NAME or agents/NAME",
    )
    file = parser.parse(arguments).file
    questions = Questions(is_agreed=False)
    with context.engine.configuration.edit_file(file) as edited:
        while True:
            failure = edited.open_editor()
            if failure is not None:
                raise RequestRefused(failure)
            if not edited.is_changed:
                output.write_line(f"{edited.path} is as it was")
                return 0
            problems = edited.problems()
            for problem in problems:
                diagnostics.note(f"{problem.level.value}: {problem.text}")
            if all(problem.level is not Level.ERROR for problem in problems):
                edited.save()
                output.write_line(f"wrote {edited.path}")
                if file == "project":
                    note_ignored(context)
                return 0
            if not (questions.can_ask and questions.confirm("Edit again?", is_default=True)):
                raise ConfigInvalid(f"{edited.path} is as it was: what you wrote has errors")
