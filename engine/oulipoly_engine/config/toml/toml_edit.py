"""Edit TOML texts without losing comments. The only module that imports tomlkit; import it deferred (60 ms)."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import tomlkit
from tomlkit.items import AbstractTable, AoT, Array, Comment, InlineTable, Item, Table, Whitespace
from tomlkit.toml_document import TOMLDocument

Document = TOMLDocument


def parse(text: str) -> Document:
    """Parse a valid TOML text for editing."""
    return tomlkit.parse(text)


def render(document: Document) -> str:
    """Write an edited document out.

    Raises ValueError when the text would not say what the document holds (a layout the editor cannot handle).
    """
    text = tomlkit.dumps(document)
    if tomllib.loads(text) != document.unwrap():
        raise ValueError("its layout is too unusual to edit")
    return text


def render_new(values: Mapping[str, object]) -> str:
    """Write plain values as a new document."""
    return tomlkit.dumps(dict(values))


def at(document: Any, path: Sequence[str | int]) -> Any:  # noqa: ANN401 - any TOML item
    """Return the item at a place."""
    item: Any = document
    for part in path:
        item = item[part]
    return item


def set_value(table: Any, key: str, value: object, *, like: object = None) -> None:  # noqa: ANN401 - table or proxy
    """Set a key to plain values; an equal value is left as it is written.

    like: an item whose comment the new one takes over.
    """
    if key in table and _plain(table[key]) == value:
        return
    if key in table and isinstance(table[key], Array) and isinstance(value, list) and _change_items(table[key], value):
        return
    item = tomlkit.item(value)
    source = table.get(key, like)
    if isinstance(source, Item) and not isinstance(item, AbstractTable):
        item.trivia.comment_ws, item.trivia.comment = source.trivia.comment_ws, source.trivia.comment
    _set(table, key, item)


def _change_items(array: Array, value: Sequence[object]) -> bool:
    """Change the items of a list that are others now, so that comments between the others stay; tell whether it went.

    An empty list is written anew: there is nothing left that a comment could be about.
    """
    if not array or not value:
        return False
    steps = difflib.SequenceMatcher(None, [*map(repr, array.unwrap())], [*map(repr, value)], autojunk=False)
    for kind, begin, end, new_begin, new_end in reversed(steps.get_opcodes()):
        new = [] if kind == "equal" else value[new_begin:new_end]
        in_place = min(end - begin, len(new))
        for place, item in enumerate(new[:in_place], begin):
            array[place] = item
        for place in reversed(range(begin + in_place, begin if kind == "equal" else end)):
            array.pop(place)
        for place, item in enumerate(new[in_place:], begin + in_place):
            array.insert(place, item)
    return bool(tomllib.loads(f"value = {array.as_string()}")["value"] == value)


def remove(table: Any, key: str) -> None:  # noqa: ANN401 - table, document or proxy
    """Remove a key if it is there; what trails a last sub-table stays, for it belongs to the table that follows."""
    if key not in table:
        return
    body = getattr(_container(table), "body", [])  # a table in several pieces has none of its own
    is_last = bool(body) and body[-1][0] is not None and body[-1][0].key == key
    kept = _take_trailing(table[key]) if is_last else []
    del table[key]
    body.extend((None, item) for item in kept)


def remove_at(document: Document, path: Sequence[str | int]) -> None:
    """Remove what stands at a place, if anything does; a table that only dotted keys make goes with its last one."""
    *outer, key = path
    parent = at(document, outer)
    remove(parent, cast("str", key))
    if outer and not parent and tomllib.loads(tomlkit.dumps(document)) != document.unwrap():
        remove_at(document, outer)


def rename(table: Any, key: str, new: str, value: object) -> None:  # noqa: ANN401 - table or proxy
    """Put a new key with a value where an old key stands."""
    item = tomlkit.item(value)
    _container(table)._replace(key, new, item)  # tomlkit has no public way to keep a key's place


def add_table(parent: Any, key: str, values: Mapping[str, object] | Table) -> None:  # noqa: ANN401 - table or proxy
    """Add a sub-table; a table that came from `detached` keeps its comments."""
    _set(parent, key, values if isinstance(values, Table) else tomlkit.item(dict(values)))


def new_account(document: Document, name: str) -> Any:  # noqa: ANN401 - a table
    """Add an empty account at the end of the document, a blank line before it, and return it."""
    if document.body and not tomlkit.dumps(document).endswith("\n\n"):
        document.add(tomlkit.nl())
    document[name] = tomlkit.table()
    return document[name]


def new_pool_entry(document: Document) -> Any:  # noqa: ANN401 - a table
    """Add one `[[providers]]` to a document that has none, and return it."""
    if "providers" in document:
        document.remove("providers")
    entries = tomlkit.aot()
    entries.append(tomlkit.table())
    document["providers"] = entries
    found = document["providers"]
    assert isinstance(found, AoT)  # noqa: S101 - set two lines above
    return found[0]


def add_entry(document: Document, key: str, values: Mapping[str, object]) -> None:
    """Add one `[[key]]` behind the others; comments behind the last one stay above what follows them."""
    entries = document.get(key)
    if isinstance(entries, Array) and entries:
        entries.append(_inline(values))
        return
    entry = cast("Table", tomlkit.item(dict(values)))
    if isinstance(entries, AoT) and entries:
        kept = _take_trailing(entries[-1]) or [tomlkit.ws("\n")]
        _take_trailing(entry)
        entries[-1].value.body.append((None, tomlkit.ws("\n")))
        entries.append(entry)
        entry.value.body.extend((None, item) for item in kept)
        return
    remove(document, key)
    if document.body and not tomlkit.dumps(document).endswith("\n\n"):
        document.add(tomlkit.nl())
    entries = tomlkit.aot()
    entries.append(entry)
    document[key] = entries


def remove_entry(document: Document, key: str, place: int) -> None:
    """Remove one `[[key]]`, with its key where it was the last; comments behind it stay above what follows them."""
    entries = document[key]
    kept = _take_trailing(entries[place])
    if place:
        before = entries[place - 1].value.body
        if kept and before and isinstance(kept[0], Whitespace) and isinstance(before[-1][1], Whitespace):
            kept = kept[1:]  # one blank line is enough
        before.extend((None, item) for item in kept)
        del entries[place]
        return
    behind = document.body[[one and one.key for one, _ in document.body].index(key) + 1 :]
    heading = entries[1] if len(entries) > 1 else next((item for one, item in behind if one is not None), None)
    if isinstance(heading, AoT):
        heading = heading[0]
    if isinstance(heading, Table):  # its indent is what stands before the brackets
        heading.trivia.indent = "".join(item.as_string() for item in kept) + heading.trivia.indent
    elif heading is None:
        document.body.extend((None, item) for item in kept)
    if len(entries) > 1:
        del entries[0]
    else:
        remove(document, key)


def put_table(text: str, keys: Sequence[str], values: Mapping[str, object]) -> str:
    """Return a text whose table at some keys has these values; everything else in it stays as it is.

    A new table goes to the end, so that no other byte moves; values that stay in one that is there keep their comments.
    Raises ValueError for a layout that cannot be edited so, and for a text that is not TOML.
    """
    expected = tomllib.loads(text)
    *outer, name = keys
    parent: Any = expected
    for key in outer:
        parent = parent.setdefault(key, {})
    is_new = name not in parent
    parent[name] = dict(values)
    if is_new:
        told: object = dict(values)
        for key in reversed(keys):
            told = {key: told}
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        after = f"{text}{gap}{tomlkit.dumps(cast('dict[str, object]', told))}"
        with suppress(tomllib.TOMLDecodeError):  # of a table inside braces, which takes nothing from elsewhere
            if tomllib.loads(after) == expected:
                return after
    after = tomlkit.dumps(_edit_table(tomlkit.parse(text), keys, values))
    if tomllib.loads(after) != expected:
        raise ValueError("its layout is too unusual to edit")
    return after


def remove_table(text: str, keys: Sequence[str]) -> str:
    """Return a text without the table at some keys. Raises ValueError as `put_table`, KeyError where it is missing."""
    expected = tomllib.loads(text)
    *outer, name = keys
    del at(expected, outer)[name]
    document = tomlkit.parse(text)
    del at(document, outer)[name]
    after = tomlkit.dumps(document)
    if tomllib.loads(after) != expected:
        raise ValueError("its layout is too unusual to edit")
    return after.rstrip("\n") + "\n" if after.strip() else ""


def _edit_table(document: Document, keys: Sequence[str], values: Mapping[str, object]) -> Document:
    *outer, name = keys
    parent = at(document, outer)
    if name not in parent:
        parent[name] = _inline(values)
        return document
    table = parent[name]
    for key in [key for key in table if key not in values]:
        remove(table, key)
    for key, value in values.items():
        if isinstance(table, InlineTable) and isinstance(value, Mapping):
            table[key] = _inline(value)
        else:
            set_value(table, key, value)
    return document


def _inline(values: Mapping[str, object]) -> InlineTable:
    table = tomlkit.inline_table()
    for key, value in values.items():
        table[key] = _inline(value) if isinstance(value, Mapping) else value
    return table


def copy_table(table: AbstractTable) -> Table:
    """Copy a table, comments and all, so that it can be put under another name.

    Moving the original would keep the heading it was parsed with.
    """
    copy = tomlkit.table()
    body = list(table.value.body)
    while body and body[-1][0] is None:  # what trails belongs to whatever follows the table
        body.pop()
    for key, item in body:
        if isinstance(item, Comment):
            copy.add(item)
        elif isinstance(item, AbstractTable) and key is not None:
            copy.append(key.key, copy_table(item))
        elif key is not None:
            copy.append(key.key, item)
    return copy


def _set(table: Any, key: str, item: object) -> None:  # noqa: ANN401 - table, document or proxy
    """Set a key, a new one before the comments that trail the table: they belong to the next table."""
    kept = [] if key in table else _take_trailing(table)
    table[key] = item
    if kept:
        _container(table).body.extend((None, trailing) for trailing in kept)


def _take_trailing(item: object) -> list[Item]:
    """Take the comments and blank lines off the end of a table, or of its last sub-table."""
    if not isinstance(item, Table):
        return []
    body = item.value.body
    kept: list[Item] = []
    while body and body[-1][0] is None:
        kept.insert(0, body.pop()[1])
    return kept or (_take_trailing(body[-1][1]) if body else [])


def _container(table: Any) -> Any:  # noqa: ANN401 - table, document or proxy
    return table.value if isinstance(table, (Table, InlineTable)) else table


def _plain(item: object) -> object:
    return item.unwrap() if isinstance(item, Item) else item
