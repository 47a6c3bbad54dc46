"""Settings for screen readers: a section, a setting, a new value; each refusal is said before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.text.redact import redact_argv
from oulipoly_engine.facade.configuration import PLACEHOLDERS, is_of_command, join_items
from oulipoly_engine.records import replace
from oulipoly_tui.base.own_files import OWN_THEMES
from oulipoly_tui.keys.keymap import TABLE, resolve
from oulipoly_tui.view.frame.settings import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.facade.configuration import Setting
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_ADD, _DEFAULT, _KEYS = "Add one", "The default", "app.toml · keys"
_NEW_COMMAND, _REMOVE_COMMAND = "Add a command of your own", "Remove this command"


def open_settings(talk: Talk, _snapshot: Snapshot) -> None:
    """Let a section and a setting of it be chosen, and the setting be changed."""
    sections = talk.engine.configuration.settings.sections()
    new = () if talk.read_only else (_NEW_COMMAND,)
    title = talk.choose("Section", [*(one.title for one in sections), _KEYS, *new])
    if title == _NEW_COMMAND:
        _add_command(talk)
        return
    section = next((one for one in sections if one.title == title), None)
    if section is not None and section.failure is not None:
        talk.say(f"Error. {section.failure}.")
    settings = section.settings if section is not None else _list_keys(talk) if title == _KEYS else ()
    if settings:
        _change_one(talk, settings)


def _add_command(talk: Talk) -> None:
    """Ask for a command's name and its line; the rest is changed like any setting."""
    name = talk.ask("Name of the command", "Type what it is to be called.").strip()
    if not name:
        return
    settings = talk.engine.configuration.settings
    new = settings.command(name)
    if new.text:
        talk.say(f"Error. There is a command {name!r} already: change it in its section.")
        return
    talk.say(f"Placeholders: {', '.join(f'{{{one}}}' for one in PLACEHOLDERS)}. Each stands for what the row has.")
    while line := talk.ask("Command line", "Type a program and its arguments, for example: git -C {cwd} log").strip():
        if _save(talk, new, line):
            talk.say("Its key, its panes, where it runs and whether it asks are settings of its own section.")
            return


def _remove_command(talk: Talk, name: str) -> None:
    if talk.confirm(f"Remove the command {name}?"):
        settings = talk.engine.configuration.settings
        settings.save(settings.command(name), "")
        talk.say("Removed.")


def line(setting: Setting) -> str:
    """Return a setting in a line."""
    fault = "" if setting.fault is None else f" Wrong: {setting.fault}."
    is_member = len(setting.path) == 3 and not is_of_command(setting)
    of = f" of account {int(setting.path[1]) + 1}, {setting.owner}" if is_member else ""
    return f"{setting.name}{of}: {setting.shown or 'not set'}. From {setting.source}.{fault}"


def _list_keys(talk: Talk) -> tuple[Setting, ...]:
    """Return the keys of the full screen, as its settings do."""
    settings, app = talk.engine.configuration.settings, talk.engine.configuration.app().value
    known = resolve(app.preset, app.keys)
    return tuple(
        replace(
            settings.key(action.id, "none" if (row := known.find(action.id)) is None else row.keys),
            description=f"{action.description}. Names of keys with commas between them, ctrl+d or slash; none: no key.",
        )
        for action in TABLE
    )


def _change_one(talk: Talk, settings: Sequence[Setting]) -> None:
    lines = [line(one) for one in settings]
    if talk.read_only:
        for text in lines:
            talk.say(text)
        return
    is_own = is_of_command(settings[0])
    place = talk.choose_place("Setting", [*lines, _REMOVE_COMMAND] if is_own else lines)
    if place == len(settings):
        _remove_command(talk, settings[0].owner)
    elif place is not None:
        _change(talk, settings[place])


def _change(talk: Talk, setting: Setting) -> None:
    if setting.names == "themes":  # those of the user's own can be typed: there is a list of ours alone
        setting = replace(setting, choices=(*OWN_THEMES[:5], *_own_themes(talk)))
    if setting.kind == "list":
        _change_items(talk, setting)
    elif setting.choices:
        _choose(talk, setting)
    else:
        _type(talk, setting)


def _own_themes(talk: Talk) -> list[str]:
    return [one.name for one in talk.engine.configuration.themes().value]


def _choose(talk: Talk, setting: Setting) -> None:
    _describe(talk, setting)
    notes = setting.notes or ("",) * len(setting.choices)
    names = [f"{word}. {note}" if note else word for word, note in zip(setting.choices, notes, strict=True)]
    default = f"{_DEFAULT}, {setting.default or 'not set'}"
    answer = talk.choose(f"New value of {setting.name}", [*names, default])
    if answer is not None:
        _save(talk, setting, "" if answer == default else setting.choices[names.index(answer)])


def _change_items(talk: Talk, setting: Setting) -> None:
    _describe(talk, setting)
    names = [f"Take {item} away" for item in redact_argv(setting.items)]
    answer = talk.choose_place(setting.name, [_ADD, *names, _DEFAULT])
    if answer == len(names) + 1:
        _save(talk, setting, "")
    elif answer == 0:
        left = [one for one in setting.choices if one not in setting.items]
        item = talk.choose("Which", left) if setting.choices else talk.ask("Item, as it is, without quotes")
        if item:
            _save(talk, setting, join_items((*setting.items, item)))
    elif answer is not None:
        _save(talk, setting, join_items((*setting.items[: answer - 1], *setting.items[answer:])))


def _type(talk: Talk, setting: Setting) -> None:
    _describe(talk, setting)
    label = f"New value of {setting.name}; empty leaves it, a dash takes it away"
    while typed := talk.ask(label, "Type a value. An empty answer leaves it. A dash takes it away.").strip():
        if _save(talk, setting, "" if typed == "-" else typed):
            return


def _describe(talk: Talk, setting: Setting) -> None:
    if setting.description:
        talk.say(setting.description)
    place = place_of(setting)
    talk.say(
        f"Now {setting.shown or 'not set'}. Default {setting.default or 'not set'}. {place[0].upper()}{place[1:]}."
    )


def _save(talk: Talk, setting: Setting, typed: str) -> bool:
    """Write a value, or say what is wrong with it; return whether it was written."""
    wrong = talk.engine.configuration.settings.refusal(setting, typed)
    if wrong is not None:
        talk.say(f"Error. {wrong}.")
        return False
    talk.engine.configuration.settings.save(setting, typed)
    talk.say("Saved." if typed.strip() else "Taken away: the default holds.")
    return True
