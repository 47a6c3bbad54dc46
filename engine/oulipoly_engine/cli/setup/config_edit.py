"""`config get`, `config set`, `config edit`: one setting, or a whole file in the user's editor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import ConfigInvalid, RequestRefused
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.configuration import Level

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Setting

_KEY = (
    "settings.tie_rule, app.theme, app.commands.NAME, accounts.NAME.args, models.NAME.sticky, models.NAME.ACCOUNT.args"
)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    served = {"config edit": _edit, "config get": _get, "config set": _set}
    return served[name](context, f"{context.program} {name}", arguments)


def _get(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="Print one setting as it is in force; secrets are left out.")
    parser.add_argument("key", metavar="KEY", help=f"{_KEY}; `settings.` and `app.` may be left out")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    name, setting = context.engine.configuration.settings.find(options.key)
    value = _value_of(setting)
    if options.json:
        where = {"file": str(setting.file), "source": setting.source, "option": setting.option or None}
        output.write_json({"key": name, "value": value} | where)
    elif value is None:
        diagnostics.note(f"[{name} is not set]")
    else:
        output.write_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return 0


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
    parser.add_argument("--dry-run", action="store_true", help="check it, and write nothing")
    options = parser.parse(arguments)
    settings = context.engine.configuration.settings
    name, setting = settings.find(options.key, may_be_new=True)
    if options.dry_run:
        wrong = settings.refusal(setting, options.value)
        if wrong is not None:
            raise ConfigInvalid(f"{name}: {wrong}")
    else:
        settings.save(setting, options.value, what=f"set {name}")
        setting_now = settings.find_again(setting)
    new = repr(options.value) if options.dry_run else _describe(setting_now)
    output.write_line(f"{name}: {_describe(setting)} -> {new}{' (not written)' if options.dry_run else ''}")
    if not options.dry_run:
        diagnostics.note(f"Undo: {context.program} account undo")
    return 0


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
        help="config (default), providers, sessions, app, models/NAME or agents/NAME",
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
                return 0
            if not (questions.can_ask and questions.confirm("Edit again?", is_default=True)):
                raise ConfigInvalid(f"{edited.path} is as it was: what you wrote has errors")
