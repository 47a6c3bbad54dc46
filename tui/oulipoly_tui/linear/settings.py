"""Settings for screen readers: a section, a setting, a new value; each refusal is said before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.facade.configuration import join_items
from oulipoly_engine.records import replace
from oulipoly_tui.keys.keymap import TABLE, resolve
from oulipoly_tui.own_files import OWN_THEMES
from oulipoly_tui.view.frame.settings import about, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.facade.configuration import Setting
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_ADD, _DEFAULT, _KEYS = "Add one", "The default", "app.toml · keys"


def open_settings(talk: Talk, _snapshot: Snapshot) -> None:
    """Let a section and a setting of it be chosen, and the setting be changed."""
    sections = talk.engine.configuration.settings.sections()
    title = talk.choose("Section", [*(one.title for one in sections), _KEYS])
    section = next((one for one in sections if one.title == title), None)
    if section is not None and section.failure is not None:
        talk.say(f"Error. {section.failure}.")
    settings = section.settings if section is not None else _list_keys(talk) if title == _KEYS else ()
    setting = _choose_setting(talk, settings) if settings else None
    if setting is not None:
        _change(talk, setting)


def line(setting: Setting) -> str:
    """Return a setting in a line."""
    fault = "" if setting.fault is None else f" Wrong: {setting.fault}."
    of = f" of account {int(setting.path[1]) + 1}, {setting.owner}" if len(setting.path) == 3 else ""
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


def _choose_setting(talk: Talk, settings: Sequence[Setting]) -> Setting | None:
    lines = [line(one) for one in settings]
    if talk.read_only:
        for text in lines:
            talk.say(text)
        return None
    place = talk.choose_place("Setting", lines)
    return None if place is None else settings[place]


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
    names = [f"Take {item} away" for item in setting.items]
    answer = talk.choose(setting.name, [_ADD, *names, _DEFAULT])
    if answer == _DEFAULT:
        _save(talk, setting, "")
    elif answer == _ADD:
        left = [one for one in setting.choices if one not in setting.items]
        item = talk.choose("Which", left) if setting.choices else talk.ask("Item, as it is, without quotes")
        if item:
            _save(talk, setting, join_items((*setting.items, item)))
    elif answer is not None:
        place = names.index(answer)
        _save(talk, setting, join_items((*setting.items[:place], *setting.items[place + 1 :])))


def _type(talk: Talk, setting: Setting) -> None:
    for text in about(setting).split("\n"):
        talk.say(text)
    label = f"New value of {setting.name}, now {setting.text or 'not set'}; a dash leaves it"
    hint = "Type a value. Nothing takes the setting away. A dash leaves it."
    while (typed := talk.ask(label, hint)).strip() != "-":
        if _save(talk, setting, typed):
            return


def _describe(talk: Talk, setting: Setting) -> None:
    talk.say(setting.description)
    talk.say(f"Now {setting.shown or 'not set'}. Default {setting.default or 'not set'}. {place_of(setting)}.")


def _save(talk: Talk, setting: Setting, typed: str) -> bool:
    """Write a value, or say what is wrong with it; return whether it was written."""
    wrong = talk.engine.configuration.settings.refusal(setting, typed)
    if wrong is not None:
        talk.say(f"Error. {wrong}.")
        return False
    talk.engine.configuration.settings.save(setting, typed)
    talk.say("Saved." if typed.strip() else "Taken away: the default holds.")
    return True
