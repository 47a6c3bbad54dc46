"""What the configuration's files and the terminal around are worth to the program. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from oulipoly_engine.core.checks.finding import Area, Finding, Severity, in_shell, tell_well
from oulipoly_engine.records import Record

_UTF_8 = re.compile(r"utf-?8", re.IGNORECASE)
_COMMAND = re.compile(r"`(agents [^`]+)`")


class SeenProblem(Record):
    """A problem of a configuration file."""

    file: str
    line: int | None
    text: str  # key and what is wrong
    fix: str
    is_error: bool


def judge_configuration(
    folder: str, problems: Sequence[SeenProblem], sizes: tuple[int, int], editor: str
) -> Iterator[Finding]:
    """Say what is wrong with the configuration. sizes: how many accounts and models there are. editor: the user's."""
    accounts, models = sizes
    for one in problems:
        place = one.file if one.line is None else f"{one.file}:{one.line}"
        told = _COMMAND.search(one.fix)
        jump = () if one.line is None else (f"+{one.line}",)
        command = told[1] if told else " ".join(filter(None, (editor, in_shell(*jump, one.file))))
        if one.file.startswith("$"):  # a variable
            command = f"unset {one.file[1:]}"
        if one.is_error:
            yield _fail(place, one.text, "what needs this does not start", one.fix, command)
        else:
            yield _warn(Area.CONFIGURATION, place, one.text, "it is left out or does not work", one.fix, command)
    if not accounts and not models and not any(one.is_error for one in problems):
        follows, fix = (
            "there is nobody to ask: no run and no session can start",
            "add a login of yours; `agents demo` shows everything without one",
        )
        yield _fail("", f"nothing is configured yet in {folder}", follows, fix, "agents account add")
    elif not models:
        fix = "name a pool of accounts in a file in `models`"
        yield _warn(Area.CONFIGURATION, "", "there is no model", "no prompt can be sent", fix, "agents config path")
    if not problems and accounts:
        yield tell_well(Area.CONFIGURATION, f"{folder}: {accounts} accounts, {models} models, no problems")


def judge_cut_change(what: str, journal: str, edited: Sequence[str]) -> Finding:
    """Say that a change of the accounts was cut off and nothing can take it back.

    what: the change, or what hinders its reading. edited: its files that somebody has changed by hand since.
    """
    fix = "delete its journal to leave everything as it is now"
    if edited:
        fix = f"{', '.join(edited)} was edited since: restore what it said, or {fix}"
    follows = "accounts and state file may not fit each other, and no other change of the accounts is written"
    command = f"rm {in_shell(journal)}"
    return _fail(journal, f"a change was cut off and is not taken back: {what}", follows, fix, command)


def judge_surroundings(variables: Mapping[str, str], versions: Sequence[str]) -> Iterator[Finding]:
    """Say what this terminal cannot show. variables: the environment. versions: of what we stand on, a text each."""
    term = variables.get("TERM", "")
    if term in ("", "dumb"):
        cause = "TERM is not set" if not term else f"TERM is {term}"
        fix = "use a terminal that can be drawn on, or the form for lines"
        yield _warn(Area.SURROUNDINGS, "", cause, "the app cannot be drawn here", fix, "agents --linear")
    elif not (variables.get("COLORTERM") in ("truecolor", "24bit") or "256" in term or "direct" in term):
        follows, fix = "the app shows few colours", "set TERM to what your terminal can, if it can more"
        yield _warn(
            Area.SURROUNDINGS, "", f"TERM is {term}, which says 16 colours", follows, fix, "export TERM=xterm-256color"
        )
    name = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if variables.get(name)), None)
    if name is None or not _UTF_8.search(variables[name]):
        cause = "no locale is set" if name is None else f"the locale is not UTF-8: {name} is {variables[name]}"
        follows, fix = "letters beyond ASCII and frames may be shown wrong", "choose a locale of UTF-8"
        yield _warn(Area.SURROUNDINGS, "", cause, follows, fix, f"export {name or 'LANG'}=C.UTF-8")
    yield tell_well(Area.SURROUNDINGS, ", ".join(versions))


def _fail(subject: str, cause: str, consequence: str, fix: str, command: str) -> Finding:
    return Finding(Area.CONFIGURATION, Severity.ERROR, subject, cause, consequence, fix, command)


def _warn(area: Area, subject: str, cause: str, consequence: str, fix: str, command: str) -> Finding:
    return Finding(area, Severity.WARNING, subject, cause, consequence, fix, command)
