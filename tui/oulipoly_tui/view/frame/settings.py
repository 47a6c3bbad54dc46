"""The settings as rows: value, source and what is wrong; pins and controls; the keys with their clashes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record, replace
from oulipoly_tui.actions.action import Action
from oulipoly_tui.actions.custom import custom_id
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.keys.keymap import TABLE, UNBOUND, Keymap, format_keys
from oulipoly_tui.view.transcript.spans import Line, Row, cells, fit_text, wrap_lines

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Section, Setting
    from oulipoly_engine.facade.snapshot import AccountView, PoolView, Snapshot

KEY_ROW = "key:"  # begins the key of a row that binds a key of the app
NEW_COMMAND = "new command"  # the key of the row that adds a command of the user's own
_NEW_COMMAND = "add a command of your own"
_NAME_WIDTH = 25  # of the longest setting; of names that have other names in them some are longer
_SOURCE_WIDTH = 10
_LEAST_VALUE_WIDTH = 10
_VALUE_WIDTH = 34  # where there is room for the description too
_ROOM_FOR_DESCRIPTION = 100
_LAYERS = {"project": "project", "environment": "variable", "command line": "--set"}
_HOW = {
    "switch": "enter or → flips it",
    "choice": "enter: choose from a list · →: the next one",
    "list": "enter: add, change and take away",
    "number": "enter: type a number",
    "text": "enter: type it",
}
_NEW_KEY = "enter: press a new key"


class Control(Record):
    """What is set for an account or a pool by a command, and stands in no configuration file."""

    key: str  # of its row
    name: str
    value: str  # empty: it is not set
    kind: str  # as that of a setting
    description: str
    command: tuple[str, ...]  # its name and first arguments; the value is the last one
    undo: tuple[str, ...]  # the whole command that takes it away
    choices: tuple[str, ...] = ()


def list_controls(snapshot: Snapshot | None) -> tuple[Control, ...]:
    """Return what can be pinned, drained, disabled and reserved now."""
    if snapshot is None:
        return ()
    pins = (_pin(pool) for pool in snapshot.pools)
    return (*pins, *(one for view in snapshot.accounts for one in _wishes(view)))


def _pin(pool: PoolView) -> Control:
    name, said = pool.model.name, _describe("pools.pin")
    members = tuple(dict.fromkeys(member.account for member in pool.model.members))
    return Control(
        f"pin:{name}", f"{name} pin", pool.pin or "", "choice", said, ("pin", name), ("unpin", name), members
    )


def _wishes(view: AccountView) -> Iterator[Control]:
    name, wishes = view.name, view.wishes
    for word, undo, is_on in (("drain", "undrain", wishes.drained), ("disable", "enable", wishes.disabled)):
        value, said = "true" if is_on else "", _describe(f"pools.{word}")
        on, off = (f"account {word}", name), (f"account {undo}", name)
        yield Control(f"{word}:{name}", f"{name} {word}", value, "switch", said, on, off)
    share, on = f"{100 * wishes.reserve:g}" if wishes.reserve else "", ("account reserve", name)
    yield Control(f"reserve:{name}", f"{name} reserve %", share, "number", _describe("pools.reserve"), on, (*on, "0"))


def _describe(action: str) -> str:
    return next(f"{one.description}." for one in ACTIONS if one.id == action)


def format_setting_rows(
    sections: Sequence[Section], keys: Keymap, width: int, wanted: str = "", controls: Sequence[Control] = ()
) -> tuple[Row, ...]:
    """Return the rows that hold a word: the files' settings, the controls, then the keys.

    A setting's row has its identity for a key, a key's row its id behind KEY_ROW.
    """
    word = wanted.strip().lower()
    found = [row for section in sections for row in _section(section, width, word)]
    return (*found, *_new_command(word), *_controls(controls, width, word), *_keys(keys, word))


def _new_command(word: str) -> Iterator[Row]:
    if _holds(word, _NEW_COMMAND, "app.toml"):
        yield Row("# new", (("commands of your own", "heading"),), is_selectable=False)
        yield Row(NEW_COMMAND, ((f"+ {_NEW_COMMAND} …", "key"),))


def about(setting: Setting) -> str:
    """Say what a setting is for, what holds now and without it, and what may be typed for it."""
    lines = [setting.description] if setting.description else []
    if setting.above is not None:
        lines.append(f"{setting.above.shown} by {setting.above.source} holds above this file, and goes on to do so")
    lines.append(f"now {setting.shown or 'not set'} · default {setting.default or 'not set'} · {place_of(setting)}")
    if setting.kind == "list":
        lines.append('a list in brackets, each text in quotes: ["-p", "--verbose"]')
    elif setting.choices:
        lines.append(f"one of {', '.join(setting.choices)}")
    lines.append("empty takes it away, so that the default holds")
    return "\n".join(lines)


def place_of(setting: Setting) -> str:
    """Say where a setting is set, or would be."""
    name = setting.file.name
    line = setting.source.removeprefix("line ")
    if setting.source == "default":
        return f"not in {name}"
    return f"{name}:{line}" if line.isdecimal() else name


def describe_setting(setting: Setting, *, is_of_command: bool = False, is_key: bool = False) -> tuple[str, ...]:
    """Return what stands below the list while the cursor is on a setting. is_key: it is pressed, not typed."""
    reset = " · del: its default" if setting.source != "default" else ""
    remove = f" · ctrl+r: remove the command {setting.owner}" if is_of_command else ""
    change = _NEW_KEY if is_key else _HOW[setting.kind]
    choices = f"one of {', '.join(setting.choices)}" if setting.choices else ""
    lines = (setting.description, _describe_origin(setting), choices, f"{change}{reset}{remove}")
    return tuple(line for line in lines if line)


def _describe_origin(setting: Setting) -> str:
    """Say what holds, which layer says it at which place, and what that hides."""
    own = f"{setting.shown} ({place_of(setting)})" if setting.source != "default" else ""
    built_in = f"built-in {setting.default or 'not set'}"
    above = setting.above
    if above is None:
        return f"{own} hides {built_in}" if own else f"{built_in} · {place_of(setting)}"
    hidden = [f"{layer.layer} {layer.shown} ({layer.source})" for layer in setting.between]
    hidden += [f"global {own}"] if own else []
    return f"{above.layer} {above.shown} ({above.source}) hides {', '.join((*hidden, built_in))}"


def describe_new_command(placeholders: Sequence[str]) -> tuple[str, ...]:
    """Return what stands below the list while the cursor is on the row that adds a command."""
    return (
        "A program that runs on the row under the cursor.",
        " ".join(f"{{{one}}}" for one in placeholders),
        "enter: type its name and its line; its key, panes and the rest are settings then",
    )


def describe_control(control: Control) -> tuple[str, ...]:
    """Return what stands below the list while the cursor is on a control."""
    reset = " · del: not set" if control.value else ""
    command = " ".join((":" + control.command[0], *control.command[1:]))
    return (control.description, f"default not set · in no file · {command}", f"{_HOW[control.kind]}{reset}")


def describe_key(keys: Keymap, identity: str, source: str) -> tuple[str, ...]:
    """Return what stands below the list while the cursor is on a key's action. source: where it is set."""
    action = next(row for row in list_key_actions(keys) if row.id == identity)
    reset = " · del: the preset's" if source != "default" else ""
    default = UNBOUND if action.custom is not None else format_keys(action.keys)
    told = f"default {default} · {'app.toml, ' + source if source != 'default' else 'not in app.toml'}"
    clash = clash_text(keys, identity)
    told = told if clash is None else f"{told} · ✗ {clash}"
    return (f"{action.description}.", told, f"{_NEW_KEY} · ctrl+n: one more · ctrl+r: no key{reset}")


def describe_choices(setting: Setting) -> tuple[Row, ...]:
    """Return a row for each choice, its key behind an equals sign, and one that takes the setting away."""
    width = max(map(len, setting.choices), default=0) + 2
    notes = setting.notes or ("",) * len(setting.choices)
    rows = [
        Row(f"={choice}", ((fit_text(choice, width), "strong"), (note, "dim")))
        for choice, note in zip(setting.choices, notes, strict=True)
    ]
    text = f"its default, {setting.default}" if setting.default else "not set"
    return (*rows, Row("default", ((text, "dim"),)))


def clash_text(keys: Keymap, identity: str) -> str | None:
    """Say with what a binding clashes; None: with nothing."""
    clash = next((one for one in keys.clashes if identity in (one.first, one.second)), None)
    if clash is None:
        return None
    other = clash.first if clash.second == identity else clash.second
    return f"{clash.key} also means {other}"


def next_choice(setting: Setting, step: int) -> str | None:
    """Return the choice after the present one, or before it; None: there are none to choose from."""
    if not setting.choices or setting.kind == "list":
        return None
    now = setting.text or setting.shown.strip('"')
    place = setting.choices.index(now) if now in setting.choices else -1 if step > 0 else 0
    return setting.choices[(place + step) % len(setting.choices)]


def _section(section: Section, width: int, word: str) -> Iterator[Row]:
    found = (one for one in section.settings if _holds(word, section.title, one.name, one.shown, one.description))
    rows = [row for one in found for row in _row(one, width)]
    notes = [note for note in section.notes if _holds(word, section.title, note)]
    if not rows and not notes and section.failure is None:
        return
    yield Row(f"# {section.title}", ((section.title, "heading"),), is_selectable=False)
    if section.failure is not None:
        yield Row(f"! {section.title}", (("! " + section.failure, "bad"),), is_selectable=False)
    for number, note in enumerate(notes):
        for place, part in enumerate(wrap_lines([((f"  {note}", "warn"),)], width)):
            yield Row(f"# note {number} {place}", part, is_selectable=False)
    yield from rows


def _row(setting: Setting, width: int) -> Iterator[Row]:
    member = f"{int(setting.path[1]) + 1}. " if len(setting.path) == 3 and isinstance(setting.path[1], int) else ""
    is_set = setting.source != "default"
    above = setting.above
    shown = setting.shown if above is None else above.shown
    source = setting.source if above is None else _LAYERS[above.layer]
    value = f"{_box(shown)}{shown or 'not set'}" if setting.kind == "switch" else shown
    line = _line(member + setting.name, source, value, setting.description, width, is_set=is_set or above is not None)
    if setting.fault is None:
        yield Row(setting.identity, line)
        return
    room = _room(width, member + setting.name)
    yield Row(setting.identity, (*line[:2], (" " + fit_text(f"✗ {value}", room), "bad")))
    for number, part in enumerate(wrap_lines([((f"    {setting.fault}", "bad"),)], width)):
        yield Row(f"{setting.identity} {number}", part, is_selectable=False)


def _controls(controls: Sequence[Control], width: int, word: str) -> Iterator[Row]:
    found = [one for one in controls if _holds(word, one.name, one.value, one.description, "pins and controls")]
    if found:
        title = "pins and controls · commands set them, no file has them"
        yield Row("# controls", ((title, "heading"),), is_selectable=False)
    for one in found:
        value = f"{_box(one.value)}{one.value or 'false'}" if one.kind == "switch" else one.value
        line = _line(one.name, "set" if one.value else "default", value, one.description, width, is_set=bool(one.value))
        yield Row(one.key, line)


def _line(name: str, source: str, value: str, description: str, width: int, *, is_set: bool) -> Line:
    value = value or "not set"
    line: Line = (
        (fit_text(name, _name_width(width, name)), "strong" if is_set else ""),
        (" " + fit_text(source, _SOURCE_WIDTH), "dim"),
    )
    if width < _ROOM_FOR_DESCRIPTION:
        return (*line, (" " + fit_text(value, _room(width, name)), "" if is_set else "dim"))
    room = max(10, _room(width, name) - _VALUE_WIDTH - 1)
    told: Line = (
        (" " + fit_text(value, _VALUE_WIDTH), "" if is_set else "dim"),
        (" " + fit_text(description, room), "dim"),
    )
    return (*line, *told)


def _name_width(width: int, name: str) -> int:
    """Return the columns of a name: all of it, as long as its value has some too."""
    return max(_NAME_WIDTH, min(cells(name), width - _SOURCE_WIDTH - 2 - _LEAST_VALUE_WIDTH))


def _room(width: int, name: str) -> int:
    return max(_LEAST_VALUE_WIDTH, width - _name_width(width, name) - _SOURCE_WIDTH - 2)


def _box(value: str) -> str:
    return "[x] " if value == "true" else "[ ] "


def list_key_actions(keys: Keymap) -> tuple[Action, ...]:
    """Return the actions whose keys can be changed: ours, then the user's own commands, each once."""
    own = {custom_id(one.custom): one for one in reversed(keys.own) if one.custom is not None}
    return (*TABLE, *(replace(own[identity], id=identity) for identity in reversed(own)))


def _keys(keys: Keymap, word: str) -> Iterator[Row]:
    rows = []
    for row in list_key_actions(keys):
        bound = row if row.custom is not None else keys.find(row.id)
        text = UNBOUND if bound is None or not bound.keys else format_keys(bound.keys)
        if not _holds(word, "keys", row.id, row.description, text):
            continue
        clash = clash_text(keys, row.id)
        source = "changed" if row.id in keys.changed else "preset"
        if row.custom is not None:
            source = "app.toml" if row.keys else "default"
        end: Line = ((f" {row.description}", "dim"),) if clash is None else ((f" ✗ {clash}", "bad"),)
        head: Line = ((fit_text(row.id, _NAME_WIDTH), ""), (" " + fit_text(source, _SOURCE_WIDTH), "dim"))
        rows.append(Row(KEY_ROW + row.id, (*head, (" " + fit_text(text, 18), "key"), *end)))
    if rows:
        count = len(keys.clashes)
        title = "keys" if not count else f"keys · {count} clash{'' if count == 1 else 'es'}"
        yield Row("# keys", ((title, "bad" if count else "heading"),), is_selectable=False)
        yield from rows


def _holds(word: str, *texts: str) -> bool:
    return not word or any(word in text.lower() for text in texts)
