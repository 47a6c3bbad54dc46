"""Accounts in the configuration's files: added, renamed and removed with every comment where it is.

Nothing is written here: each function returns the changes. Every new text is read back and compared with what it
should say, so a layout that cannot be edited is refused instead of being damaged.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.config import app_file, load
from oulipoly_engine.config.edit.write_files import FileChange, edit_lines
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.config.toml.toml_file import TomlFile
from oulipoly_engine.core.accounts.clis import account_files
from oulipoly_engine.core.accounts.clis.account_files import Login
from oulipoly_engine.core.live.runtimes import normalise_id
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record

Data = dict[str, Any]
_MEMBER = re.compile(r"\s*\[\[\s*providers\s*\]\]")  # the heading of a pool's member
_ACCOUNT_FIELD = re.compile(r"(?<!\S)(-?account:)([^\s\"]+)", re.IGNORECASE)  # in a query
_MEMBER_PART = re.compile(r"\s*\[\[?\s*providers\s*[.\]]")  # and those of the tables within it


class Addition(Record):
    """An account to be added, and the pools that it shall serve."""

    login: Login
    pools: tuple[str, ...] = ()


def add(paths: Paths, models: Path, additions: Sequence[Addition]) -> tuple[FileChange, ...]:
    """Return the changes that add accounts; what the files say already stays. Raises ConfigInvalid."""
    if not additions:
        return ()
    logins = [addition.login for addition in additions]
    pools: dict[str, list[str]] = {}
    for addition in additions:
        for pool in dict.fromkeys(addition.pools):
            pools.setdefault(pool, []).append(addition.login.account)
    changes = [
        append_tables(paths.providers, account_files.HEAD, map(account_files.account_table, logins)),
        append_tables(paths.sessions, account_files.HEAD, filter(None, map(account_files.scripts_table, logins))),
    ]
    if not paths.settings.exists():
        changes.append(FileChange(paths.settings, None, account_files.settings_file(logins[0].account)))
    for pool, names in pools.items():
        changes.append(_add_to_pool(read_file(models / f"{pool}.toml"), names))
    return tuple(change for change in changes if change is not None)


def remove(paths: Paths, models: Path, account: str) -> tuple[FileChange, ...]:
    """Return the changes that take an account out of every file; a pool that it was alone in is deleted."""
    changes = [_without_table(path, account) for path in (paths.providers, paths.sessions)]
    changes.append(_without_default(paths.settings, account))
    changes += [
        _without_member(read_file(models / f"{name}.toml"), account) for name in load.list_models(paths, models)
    ]
    return tuple(change for change in changes if change is not None)


def rename(paths: Paths, models: Path, account: str, new: str) -> tuple[FileChange, ...]:
    """Return the changes that give an account another name in every file."""
    changes = [_rename_table(path, account, new) for path in (paths.providers, paths.sessions)]
    changes.append(_rename_in_settings(paths.settings, account, new))
    changes += [_rename_member(models / f"{name}.toml", account, new) for name in load.list_models(paths, models)]
    changes.append(_rename_in_views(app_file.path_of(paths), account, new))
    return tuple(change for change in changes if change is not None)


def pools_of(paths: Paths, models: Path, account: str) -> tuple[str, ...]:
    """Return the pools that have an account, by their files; one that cannot be read has none."""
    return tuple(
        name
        for name in load.list_models(paths, models)
        if account in (member.get("name") for member in _members(toml_file.read(models / f"{name}.toml").data))
    )


def set_members(before: TomlFile, names: Sequence[str]) -> FileChange | None:
    """Return the change that makes some accounts a pool's, one at least; those that stay keep what is said of them.

    None: they are its accounts already. Raises ConfigInvalid.
    """
    file = before
    gone = [str(name) for member in _members(file.data) if (name := member.get("name")) not in names]
    change = _add_to_pool(file, names)
    for account in dict.fromkeys(gone):
        file = file if change is None or change.after is None else toml_file.parse(file.path, change.after)
        change = _without_member(file, account) or change
    return None if change is None else FileChange(file.path, before.text if before.exists else None, change.after)


def append_tables(path: Path, head: str, tables: Iterable[str]) -> FileChange | None:
    """Return the change that puts new tables behind a file's own. head: how a new file begins. Raises ConfigInvalid."""
    added = "\n".join(tables)
    if not added:
        return None
    file = read_file(path)
    known = set(file.data) & set(tomllib.loads(added))
    if known:
        raise ConfigInvalid(f"{path} has [{sorted(known)[0]}] already: choose another name")
    expected = {**file.data, **tomllib.loads(added)}
    return _change(file, (_with_end(file.text) if file.exists else head) + "\n" + added, expected)


def _add_to_pool(file: TomlFile, accounts: Sequence[str]) -> FileChange | None:
    path = file.path
    known = [member.get("name") for member in _members(file.data)]
    new = [name for name in accounts if name not in known]
    if not new:
        return None
    if not file.exists:
        text = account_files.pool_head() + "".join("\n" + account_files.pool_entry(name) for name in new)
        return FileChange(path, None, text)
    expected = {**file.data, "providers": [*file.data.get("providers", []), *({"name": name} for name in new)]}
    text = _with_end(file.text) + "".join("\n" + account_files.pool_entry(name) for name in new)
    if _says(text, expected):
        return edit_lines(path, file.text, text)

    def append(document: Any) -> None:  # noqa: ANN401 - tomlkit's
        for name in new:
            document["providers"].append({"name": name})

    return _edit(file, append, expected)


def _without_table(path: Path, account: str) -> FileChange | None:
    file = read_file(path)
    if account not in file.data:
        return None
    expected = {name: value for name, value in file.data.items() if name != account}
    text = "".join(_lines_without(file.text, _heading_of(account).match))
    if _says(text, expected):
        return edit_lines(path, file.text, text)
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms, only a change needs it

    return _edit(file, lambda document: toml_edit.remove(document, account), expected)


def _lines_without(text: str, is_dropped: Callable[[str], object]) -> Iterator[str]:
    """Yield the lines of a file without some tables. is_dropped: asked for each line that begins a table, in order.

    Comments right before a heading belong to the table below it, those behind an empty line at a table's end to nobody.
    """
    lines = text.splitlines(keepends=True)
    begins = [place for place, line in enumerate(lines) if line.lstrip().startswith("[")]
    tables = [(begin - _count_comments(lines, begin), is_dropped(lines[begin])) for begin in begins]
    ends = [*(begin for begin, _ in tables), len(lines)]
    yield from lines[: ends[0]]
    for (begin, is_gone), end in zip(tables, ends[1:], strict=True):
        yield from _comments_behind(lines[begin:end]) if is_gone else lines[begin:end]


def _comments_behind(table: Sequence[str]) -> Sequence[str]:
    """Return what stands at a table's end behind an empty line, unless that is nothing but empty lines."""
    values = [place for place, line in enumerate(table) if line.strip() and not line.lstrip().startswith("#")]
    behind = list(itertools.dropwhile(str.strip, table[values[-1] + 1 :]))
    return behind[1:] if any(map(str.strip, behind)) else []


def _count_comments(lines: Sequence[str], place: int) -> int:
    before = itertools.takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[:place]))
    return sum(1 for _ in before)


def _heading_of(account: str, above: str = "") -> re.Pattern[str]:
    """Return what recognises the headings of an account's tables; the first group is what stands before its name.

    above: the table that they are in.
    """
    written = "|".join(re.escape(form) for form in {account, f'"{account}"', f"'{account}'", _quote(account)})
    outer = rf"{above}\s*\.\s*" if above else ""
    return re.compile(rf"^(\s*\[\[?\s*{outer})(?:{written})(?=\s*[.\]])", re.MULTILINE)


def _without_member(file: TomlFile, account: str) -> FileChange | None:
    path = file.path
    members = _members(file.data)
    places = [place for place, member in enumerate(members) if member.get("name") == account]
    if not places:
        return None
    if len(places) == len(members):
        return FileChange(path, file.text, None)
    expected = {**file.data, "providers": [member for place, member in enumerate(members) if place not in places]}
    seen = itertools.count(-1)
    current = next(seen)

    def is_dropped(heading: str) -> bool:
        nonlocal current
        if _MEMBER.match(heading):
            current = next(seen)
        return current in places and _MEMBER_PART.match(heading) is not None

    text = "".join(_lines_without(file.text, is_dropped))
    if _says(text, expected):
        return edit_lines(path, file.text, text)

    def drop(document: Any) -> None:  # noqa: ANN401 - tomlkit's
        for place in reversed(places):
            del document["providers"][place]

    return _edit(file, drop, expected)


def _rename_member(path: Path, account: str, new: str) -> FileChange | None:
    file = read_file(path)
    members = _members(file.data)
    if not any(member.get("name") == account for member in members):
        return None
    expected = {
        **file.data,
        "providers": [member | {"name": new} if member.get("name") == account else member for member in members],
    }

    def change(document: Any) -> None:  # noqa: ANN401 - tomlkit's
        from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

        for entry in document["providers"]:
            if entry.get("name") == account:
                toml_edit.set_value(entry, "name", new)

    return _edit(file, change, expected)


def _rename_table(path: Path, account: str, new: str) -> FileChange | None:
    """Change the headings of an account's tables, which leaves their place and their comments."""
    file = read_file(path)
    if account not in file.data:
        return None
    expected = {(new if name == account else name): value for name, value in file.data.items()}
    return _change(file, _heading_of(account).sub(lambda found: found[1] + _quote(new), file.text), expected)


def _without_default(path: Path, account: str) -> FileChange | None:
    file = toml_file.read(path)  # a broken config.toml counts as empty everywhere
    if file.failure is not None or file.data.get("default_provider") != account:
        return None
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

    expected = {name: value for name, value in file.data.items() if name != "default_provider"}
    return _edit(file, lambda document: toml_edit.remove(document, "default_provider"), expected)


def _rename_in_settings(path: Path, account: str, new: str) -> FileChange | None:
    """Change the default account, the tables of its runtime, and the runtimes that use its login."""
    file = toml_file.read(path)  # as above
    if file.failure is not None:
        return None
    runtimes = file.data.get("runtimes")
    runtimes = runtimes if isinstance(runtimes, dict) else {}
    own = [key for key in runtimes if normalise_id(key) == normalise_id(account)]
    users = [key for key, table in runtimes.items() if isinstance(table, dict) and table.get("account") == account]
    is_default = file.data.get("default_provider") == account
    if not (own or users or is_default):
        return None
    expected = {**file.data, **({"default_provider": new} if is_default else {})}
    if own or users:
        tables = {key: {**table, "account": new} if key in users else table for key, table in runtimes.items()}
        expected["runtimes"] = {new if key in own else key: table for key, table in tables.items()}

    def change(document: Any) -> None:  # noqa: ANN401 - tomlkit's
        from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

        if is_default:
            toml_edit.set_value(document, "default_provider", new)
        for key in users:
            toml_edit.set_value(document["runtimes"][key], "account", new)

    text = _text_after(file, change)
    for key in own:
        text = _heading_of(key, "runtimes").sub(lambda found: found[1] + _quote(new), text)
    return _change(file, text, expected)


def _rename_in_views(path: Path, account: str, new: str) -> FileChange | None:
    """Change the filters of saved views that name an account; a broken app.toml has none."""
    file = toml_file.read(path)
    views = file.data.get("views")
    if file.failure is not None or not isinstance(views, dict):
        return None
    filters = {name: view["filter"] for name, view in views.items() if isinstance(view, dict) and "filter" in view}
    renamed = {name: _rename_in_filter(text, account, new) for name, text in filters.items() if isinstance(text, str)}
    changed = {name: text for name, text in renamed.items() if text != filters[name]}
    if not changed:
        return None
    expected = {
        **file.data,
        "views": {**views, **{name: views[name] | {"filter": text} for name, text in changed.items()}},
    }

    def change(document: Any) -> None:  # noqa: ANN401 - tomlkit's
        from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

        for name, text in changed.items():
            toml_edit.set_value(document["views"][name], "filter", text)

    return _edit(file, change, expected)


def _rename_in_filter(text: str, account: str, new: str) -> str:
    """Return a query with an account's new name, in lists of names too: `account:work,job`."""

    def rename_values(found: re.Match[str]) -> str:
        values = (new if value.casefold() == account.casefold() else value for value in found[2].split(","))
        return found[1] + ",".join(values)

    return _ACCOUNT_FIELD.sub(rename_values, text)


def _edit(file: TomlFile, change: Callable[[Any], None], expected: Mapping[str, Any]) -> FileChange:
    return _change(file, _text_after(file, change), expected)


def _text_after(file: TomlFile, change: Callable[[Any], None]) -> str:
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

    document = toml_edit.parse(file.text)
    try:
        change(document)
        return toml_edit.render(document)
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # tomlkit's own, for layouts that it cannot edit
        raise _refusal(file) from error


def _change(file: TomlFile, text: str, expected: Mapping[str, Any]) -> FileChange:
    if not _says(text, expected):
        raise _refusal(file)
    return edit_lines(file.path, file.text if file.exists else None, text)


def _says(text: str, expected: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        return False


def _refusal(file: TomlFile) -> ConfigInvalid:
    return ConfigInvalid(f"{file.path} cannot be edited here: its layout is too unusual; edit it by hand")


def read_file(path: Path) -> TomlFile:
    """Return a file that is to be changed. Raises ConfigInvalid for a broken one."""
    file = toml_file.read(path)
    if file.failure is not None:
        raise ConfigInvalid(file.failure.text)
    return file


def _members(data: Mapping[str, Any]) -> list[Data]:
    found = data.get("providers")
    return [member for member in found if isinstance(member, dict)] if isinstance(found, list) else []


def _with_end(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _quote(name: str) -> str:
    return account_files.quote_key(name)
