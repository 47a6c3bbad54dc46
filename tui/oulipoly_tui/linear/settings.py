"""Settings for screen readers: a section, a setting, a new value; each refusal is said before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui.view.frame.settings import about

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Section, Setting
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk


def open_settings(talk: Talk, _snapshot: Snapshot) -> None:
    """Let a section and a setting of it be chosen, and the setting be changed."""
    sections = talk.engine.configuration.settings.sections()
    title = talk.choose("Section", [one.title for one in sections])
    section = next((one for one in sections if one.title == title), None)
    if section is None:
        return
    if section.failure is not None:
        talk.say(f"Error. {section.failure}.")
    setting = _choose_setting(talk, section)
    if setting is not None:
        _change(talk, setting)


def line(setting: Setting) -> str:
    """Return a setting in a line."""
    fault = "" if setting.fault is None else f" Wrong: {setting.fault}."
    return f"{setting.name}: {setting.shown or 'not set'}. From {setting.source}.{fault}"


def _choose_setting(talk: Talk, section: Section) -> Setting | None:
    lines = [line(one) for one in section.settings]
    if talk.read_only:
        for text in lines:
            talk.say(text)
        return None
    answer = talk.choose("Setting", lines)
    return None if answer is None else section.settings[lines.index(answer)]


def _change(talk: Talk, setting: Setting) -> None:
    for text in about(setting).split("\n"):
        talk.say(text)
    label = f"New value of {setting.name}, now {setting.text or 'not set'}; a dash leaves it"
    hint = "Type a value. Nothing takes the setting away. A dash leaves it."
    while (typed := talk.ask(label, hint)).strip() != "-":
        wrong = talk.engine.configuration.settings.refusal(setting, typed)
        if wrong is None:
            break
        talk.say(f"Error. {wrong}.")
    else:
        return
    talk.engine.configuration.settings.save(setting, typed)
    talk.say("Saved." if typed.strip() else "Taken away: the default holds.")
