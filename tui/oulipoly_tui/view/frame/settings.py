"""The settings as rows: value, source and what is wrong, section by section; the keys with their clashes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_tui.keys.keymap import TABLE, UNBOUND, Keymap, format_keys
from oulipoly_tui.view.transcript.spans import Line, Row, fit_text, wrap_lines

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Section, Setting

KEY_ROW = "key:"  # begins the key of a row that binds a key of the app
_NAME_WIDTH, _SOURCE_WIDTH = 24, 10


def format_setting_rows(sections: Sequence[Section], keys: Keymap, width: int, wanted: str = "") -> tuple[Row, ...]:
    """Return the rows that hold a word: the files' settings, then the keys.

    A setting's row has its identity for a key, a key's row its id behind KEY_ROW.
    """
    word = wanted.strip().lower()
    found = [row for section in sections for row in _section(section, width, word)]
    return (*found, *_keys(keys, word))


def about(setting: Setting) -> str:
    """Say what may be typed for a setting, in a few lines."""
    lines = [f"{setting.file.name} · {setting.source}"]
    if setting.choices:
        lines.append(f"one of {', '.join(setting.choices)}")
    elif setting.shown.startswith("["):
        lines.append('a list in brackets, each text in quotes: ["-p", "--verbose"]')
    lines.append("empty takes it away, so that the default holds")
    return "\n".join(lines)


def clash_text(keys: Keymap, identity: str) -> str | None:
    """Say with what a binding clashes; None: with nothing."""
    clash = next((one for one in keys.clashes if identity in (one.first, one.second)), None)
    if clash is None:
        return None
    other = clash.first if clash.second == identity else clash.second
    return f"{clash.key} also means {other}"


def next_choice(setting: Setting, step: int) -> str | None:
    """Return the choice after the present one, or before it; None: there are none to choose from."""
    if not setting.choices:
        return None
    now = setting.text or setting.shown.strip('"')
    place = setting.choices.index(now) if now in setting.choices else -1 if step > 0 else 0
    return setting.choices[(place + step) % len(setting.choices)]


def _section(section: Section, width: int, word: str) -> Iterator[Row]:
    found = (one for one in section.settings if _holds(word, section.title, one.name, one.shown))
    rows = [row for one in found for row in _row(one, width)]
    if not rows and section.failure is None:
        return
    yield Row(f"# {section.title}", ((section.title, "heading"),), is_selectable=False)
    if section.failure is not None:
        yield Row(f"! {section.title}", (("! " + section.failure, "bad"),), is_selectable=False)
    yield from rows


def _row(setting: Setting, width: int) -> Iterator[Row]:
    is_set = setting.source != "default"
    value = setting.shown or "not set"
    room = max(10, width - _NAME_WIDTH - _SOURCE_WIDTH - 2)
    member = f"{int(setting.path[1]) + 1}. " if len(setting.path) == 3 and isinstance(setting.path[1], int) else ""
    line: Line = (
        (fit_text(member + setting.name, _NAME_WIDTH), "strong" if is_set else ""),
        (" " + fit_text(setting.source, _SOURCE_WIDTH), "dim"),
        (" " + fit_text(value, room), "" if is_set else "dim"),
    )
    if setting.fault is None:
        yield Row(setting.identity, line)
        return
    yield Row(setting.identity, (*line[:2], (" " + fit_text(f"✗ {value}", room), "bad")))
    for number, part in enumerate(wrap_lines([((f"    {setting.fault}", "bad"),)], width)):
        yield Row(f"{setting.identity} {number}", part, is_selectable=False)


def _keys(keys: Keymap, word: str) -> Iterator[Row]:
    rows = []
    for row in TABLE:
        bound = keys.find(row.id)
        text = UNBOUND if bound is None else format_keys(bound.keys)
        if not _holds(word, "keys", row.id, row.description, text):
            continue
        clash = clash_text(keys, row.id)
        source = "changed" if row.id in keys.changed else "preset"
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
