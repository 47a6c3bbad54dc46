"""Single settings of the configuration files: what there is, where each value comes from, and a change of one.

A change is checked against the file's own rules before anything is written, and leaves every comment where it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.config import app_file, extension_files, load, prompt_files
from oulipoly_engine.config.base import mask
from oulipoly_engine.config.base.layers import YES_OR_NO, Layer, LayerName
from oulipoly_engine.config.base.problem import KeyPath
from oulipoly_engine.config.edit import commands_edit
from oulipoly_engine.config.edit.write_files import FileChange, edit_lines
from oulipoly_engine.config.layers import PROJECT_FILES, find_project_file, read_above
from oulipoly_engine.config.toml import json_file, toml_file, toml_lines
from oulipoly_engine.config.toml.toml_file import TomlFile
from oulipoly_engine.core.accounts.clis import account_files
from oulipoly_engine.core.text.control_characters import escape_toml
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import PROJECT_FOLDER, Paths, find_project
from oulipoly_engine.records import Record, replace

if TYPE_CHECKING:
    from oulipoly_engine.config.edit.rules import Kind, Rule
    from oulipoly_engine.config.schema.fields import Table

_TEXT_CHARACTERS = 4000
_MEMBERS = "providers"  # the key of a pool's accounts
_COMMAND = "A command of your own on the row under the cursor."
COMMAND = "app.commands."  # begins the names of the user's own commands and of what they have


class Above(Record):
    """What stands above a setting's file."""

    layer: LayerName
    shown: str  # the value as TOML, secrets hidden
    source: str  # "FILE:LINE", "$VARIABLE", "--set KEY"


class Setting(Record):
    """One setting as it stands."""

    file: Path
    path: KeyPath  # its place in the file
    shown: str  # its value as TOML, secrets hidden and the home as `~`; empty: not set, and there is no default
    text: str  # what one would type to get it; empty: not set
    source: str  # "line 3", or "default"
    description: str = ""  # one sentence, the schema's
    default: str = ""  # as TOML; empty: there is none
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # a sentence for each choice; empty: they speak for themselves
    option: str = ""  # of `agents`, that stands above the file for one start
    names: str = ""  # what its value names, "accounts", "models" or "themes"; it has to be there
    items: tuple[str, ...] = ()  # of a list of texts
    fault: str | None = None  # what is wrong with it now
    owner: str = ""  # the account or the command whose table it is in; empty: the file has but one of it
    above: Above | None = None  # what holds instead of the file; None: the file does
    between: tuple[Above, ...] = ()  # what stands above the file too and is hidden by `above`, the highest first

    @property
    def name(self) -> str:
        """Return its own key."""
        return str(self.path[-1])

    @property
    def identity(self) -> str:
        """Return what tells it from every other setting."""
        return json.dumps([str(self.file), *self.path])


class Section(Record):
    """Settings that belong together."""

    title: str
    settings: tuple[Setting, ...]
    failure: str | None = None  # why its file cannot be read; then nothing of it can be changed
    notes: tuple[str, ...] = ()  # what is to be said of it besides


def sections(paths: Paths, models_dir: Path | None = None) -> tuple[Section, ...]:
    """Return every setting of the app, of config.toml, of each account and of each model."""
    return tuple(_sections(paths, models_dir or paths.models))


def names(paths: Paths, models_dir: Path | None = None) -> Mapping[str, Setting]:
    """Return every setting by its name, in the words of `config show`.

    `settings.tie_rule`, `app.theme`, `app.commands.NAME`, `app.commands.NAME.key`, `accounts.NAME.args`,
    `models.NAME.sticky`, `models.NAME.ACCOUNT.args`.
    """
    heads = {app_file.path_of(paths): "app", paths.settings: "settings", paths.providers: "accounts"}
    found: dict[str, Setting] = {}
    for command in commands_edit.list_names(toml_file.read(app_file.path_of(paths)).data):
        found[f"{COMMAND}{command}"] = command_setting(paths, command)
    for section in sections(paths, models_dir):
        members = {str(one.path[:2]): one.text for one in section.settings if len(one.path) == 3 and one.name == "name"}
        for one in section.settings:
            head = heads.get(one.file) or f"models.{one.file.stem}"
            member = members.get(str(one.path[:2]))
            parts = one.path if member is None else (member, one.name)
            head = COMMAND[:-1] if is_of_command(one) else head
            found.setdefault(".".join((head, *map(str, parts))), one)
    return found


def of_project(paths: Paths, setting: Setting, folder: Path) -> Setting:
    """Return a setting as the project around a folder has it; where there is none, the folder begins one.

    Raises ConfigInvalid for what a project may not set.
    """
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    known = {rule.name: rule for table in (rules.SettingsTable, rules.AppTable) for rule in rules.list_rules(table)}
    rule = known.get(setting.name) if len(setting.path) == 1 else None
    if rule is None or rule.in_project == "never":
        raise ConfigInvalid(f"{setting.name} counts in your own files alone: leave out --project")
    place = find_project(folder) or folder / PROJECT_FOLDER
    file = json_file.read(find_project_file(place) or place / PROJECT_FILES[1])
    models = load.list_models(paths)
    return _make(paths, file, (rule.name,), rule, _inside(file.data, (rule.name,)), {"models": models})


def failure(paths: Paths, models_dir: Path | None = None) -> str | None:
    """Return why some settings cannot be read, if a file of them is broken."""
    return next((section.failure for section in sections(paths, models_dir) if section.failure is not None), None)


def refusal(setting: Setting, typed: str, file: TomlFile | None = None) -> str | None:
    """Say what is wrong with a new value as it was typed; None: it can be saved. Empty takes the setting away.

    file: the setting's, with changes that are not written yet; None: as it lies there.
    """
    if len(typed) > _TEXT_CHARACTERS:
        return f"that is {len(typed)} characters long: {_TEXT_CHARACTERS} are the most"
    file = json_file.read(setting.file) if file is None else file
    if file.failure is not None:
        return file.failure.text
    if is_command(setting):
        return _refuse_command(file, setting, _value(file, setting, typed))
    if setting.name != "name" and _owner(file, setting.path[:-1]) != setting.owner:
        return f"the file was changed, and {setting.owner} is not there any more: open the settings again"
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    value = _value(file, setting, typed)
    unknown = next((one for one in _list_named(setting, value) if one not in setting.choices), None)
    if unknown is not None:
        return _say_unknown(setting, unknown)
    if _is_members(setting) and isinstance(value, list):
        value = _member_tables(file, value)
    wrong = rules.find_new_slip(file, setting.path, value)
    # What is typed needs no quotes where a text is wanted: only the file does.
    return wrong if wrong is None else wrong.replace("write one of these in quotes", "write one of these")


def _list_named(setting: Setting, value: object) -> list[str]:
    """Return the accounts or models that a value names; the app alone knows its themes."""
    named = value if isinstance(value, list) else [value]
    return [one for one in named if isinstance(one, str)] if setting.names in ("accounts", "models") else []


def _say_unknown(setting: Setting, name: str) -> str:
    found = nearest(name, setting.choices)
    known = f"did you mean {found[0]!r}?" if found else f"there are {', '.join(setting.choices[:8])}"
    hint = known if setting.choices else "there is none yet"
    return f"there is no {setting.names.removesuffix('s')} {name[:80]!r}: {hint}"


def is_of_command(setting: Setting) -> bool:
    """Tell whether a setting is one of those that one of the user's own commands has; its owner is the command."""
    return _is_below_commands(setting) and len(setting.path) == 3


def is_command(setting: Setting) -> bool:
    """Tell whether a setting is a whole command of the user's own."""
    return _is_below_commands(setting) and len(setting.path) == 2


def _is_below_commands(setting: Setting) -> bool:
    return setting.path[0] == commands_edit.KEY and app_file.is_app_file(setting.file)  # an account may have that name


def _refuse_command(file: TomlFile, setting: Setting, value: object) -> str | None:
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    if value is None:
        is_there = commands_edit.find_place(file.data, setting.name) is not None
        return None if is_there else f"there is no command {setting.name[:80]!r}"
    slip = rules.find_slip(file, (commands_edit.KEY,))  # what is no list takes none
    return slip or rules.find_command_slip(commands_edit.make_table(file.data, setting.name, value))


def _is_members(setting: Setting) -> bool:
    return setting.path == (_MEMBERS,)


def _member_tables(file: TomlFile, names: list[object]) -> list[object]:
    members = file.data.get(_MEMBERS)
    known = {one.get("name"): one for one in members if isinstance(one, dict)} if isinstance(members, list) else {}
    return [known.get(name, {"name": name}) for name in names]


def plan(changes: Sequence[tuple[Setting, str]]) -> tuple[FileChange, ...]:
    """Return the changes of files that several new values make together. Raises ConfigInvalid where one is refused."""
    before: dict[Path, TomlFile] = {}
    after: dict[Path, TomlFile] = {}
    for setting, typed in changes:
        file = after.get(setting.file)
        if file is None:
            file = before[setting.file] = json_file.read(setting.file)
        wrong = refusal(setting, typed, file)
        if wrong is not None:
            raise ConfigInvalid(f"{setting.name}: {wrong}")
        change = make_change(setting, typed, file)
        after[setting.file] = file if change is None else json_file.parse(setting.file, change.after or "")
    return tuple(
        FileChange(path, before[path].text if before[path].exists else None, _text_after(file))
        for path, file in after.items()
        if file.text != before[path].text
    )


def _text_after(file: TomlFile) -> str | None:
    """Return what is written; None: a project's file that says nothing any more goes."""
    if file.path.parent.name == PROJECT_FOLDER and not file.text.strip():
        return None
    return file.text


def make_change(setting: Setting, typed: str, file: TomlFile | None = None) -> FileChange | None:
    """Return the change of the file that a new value makes, its rules left aside; None: there is nothing to change.

    file: as `refusal` takes it. Raises ConfigInvalid where the file's layout cannot be edited.
    """
    file = json_file.read(setting.file) if file is None else file
    value = _value(file, setting, typed)
    if _is_members(setting) and isinstance(value, list):
        from oulipoly_engine.config.edit import account_edit  # noqa: PLC0415 - only a change of a pool needs it

        return account_edit.set_members(file, [str(one) for one in value])
    if file.path.suffix == json_file.SUFFIX:
        after = json_file.change(file, setting.name, value)
        return edit_lines(setting.file, file.text if file.exists else None, after)
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms, only a change needs it

    document = toml_edit.parse(file.text)
    if is_command(setting):
        table = None if value is None else commands_edit.make_table(file.data, setting.name, value)
        commands_edit.change(document, file.data, setting.name, table)
    elif value is None:
        parent = _inside(file.data, setting.path[:-1])
        if isinstance(parent, Mapping):
            toml_edit.remove_at(document, setting.path)
    else:
        at: Any = document
        for part in setting.path[:-1]:
            if isinstance(part, str) and part not in at:
                toml_edit.add_table(at, part, {})
            at = at[part]
        toml_edit.set_value(at, setting.name, value)
    try:
        after = toml_edit.render(document)
    except ValueError as error:
        raise ConfigInvalid(f"{setting.file} cannot be edited here: {error}; edit it by hand") from error
    return edit_lines(setting.file, file.text if file.exists else None, after)


def command_setting(paths: Paths, name: str) -> Setting:
    """Return one of the user's own commands as one setting: a table in braces, or a line that becomes its `command`.

    There need be none of that name: then a value adds it. No value removes it.
    """
    path = app_file.path_of(paths)
    file = toml_file.read(path)
    place = commands_edit.find_place(file.data, name)
    at: KeyPath = (commands_edit.KEY, name)
    if place is None:
        return Setting(path, at, "", "", "default", description=_COMMAND)
    table = file.data[commands_edit.KEY][place]
    pairs = (f"{account_files.quote_key(key)} = {as_toml(value)}" for key, value in table.items() if key != "name")
    text = f"{{{', '.join(pairs)}}}"
    return Setting(path, at, mask.text(text), text, _source(file, (commands_edit.KEY, place)), description=_COMMAND)


def command_key_setting(paths: Paths, place: int) -> Setting:
    """Return the setting that binds the key of one of the user's own commands. place: from 0, in the file."""
    return _key_setting(paths, ("commands", place, "key"), "")


def key_setting(paths: Paths, identity: str, keys: str) -> Setting:
    """Return the setting that binds a key of the app. keys: those of now, for the value that is shown."""
    return _key_setting(paths, ("keys", identity), keys)


def _key_setting(paths: Paths, place: KeyPath, keys: str) -> Setting:
    path = app_file.path_of(paths)
    file = toml_file.read(path)
    text = _text(_inside(file.data, place))
    source = _source(file, place) if text else "default"
    return Setting(path, place, text or keys, text, source, default=keys, owner=_owner(file, place[:-1]))


def _sections(paths: Paths, models: Path) -> Iterator[Section]:
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - 100 ms, only who looks at settings needs it

    accounts = toml_file.read(paths.providers)
    models_known = load.list_models(paths, models)
    # What a setting may name; nobody knows the accounts of a file that cannot be read.
    known = {"models": models_known} | ({"accounts": tuple(accounts.data)} if accounts.failure is None else {})
    app = toml_file.read(app_file.path_of(paths))
    layers = tuple(read_above(paths))
    above = _read_above(paths, layers)
    yield from _list_ignored(paths, layers)
    yield Section("app.toml · this app", _of_table(paths, app, rules.AppTable, (), known, above), _failure(app))
    for place, name in commands_edit.list_places(app.data):
        title = f"app.toml · command {name}"
        yield Section(title, _of_table(paths, app, rules.CommandTable, (commands_edit.KEY, place), known))
    settings = toml_file.read(paths.settings)
    found = _of_table(paths, settings, rules.SettingsTable, (), known, above)
    yield Section("config.toml · every run", found, _failure(settings))
    if accounts.failure is not None:
        yield Section("providers.toml", (), _failure(accounts))
    for name in accounts.data:
        yield Section(f"providers.toml · {name}", _of_table(paths, accounts, rules.AccountTable, (name,), known))
    for name in models_known:
        file = toml_file.read(models / f"{name}.toml")
        found = (*_of_members(paths, file, known), *_of_table(paths, file, rules.ModelTable, (), known))
        members = file.data.get(_MEMBERS)
        for place, _ in enumerate(members if isinstance(members, list) else ()):
            found += _of_table(paths, file, rules.MemberTable, (_MEMBERS, place), known)
        yield Section(f"models/{name}.toml", found, _failure(file))


def _failure(file: TomlFile) -> str | None:
    return None if file.failure is None else f"{file.failure.message}: {file.failure.fix}"


def _list_ignored(paths: Paths, layers: Sequence[Layer]) -> Iterator[Section]:
    """Yield sections of what layers above the user's own files say without effect, where there is any."""
    home = str(paths.home)
    of_files = (*prompt_files.list_ignored(paths), *extension_files.list_ignored(paths))
    notes = tuple(
        f"{each.key} ({each.source.replace(home, '~')}): {each.why}"
        for each in (*(each for layer in layers for each in layer.ignored), *of_files)
    )
    if notes:
        yield Section("project · what it says without effect", (), notes=notes)
    problems = tuple(mask.text(problem.text).replace(home, "~") for layer in layers for problem in layer.problems)
    if problems:
        yield Section("above your own files · what is wrong there", (), notes=problems)


def _read_above(paths: Paths, layers: Sequence[Layer]) -> dict[str, tuple[Above, ...]]:
    """Return what stands above the user's own files, by key, the highest first."""
    above: dict[str, tuple[Above, ...]] = {}
    for layer in layers:
        for key, stated in layer.values.items():
            shown = mask.text(as_toml(stated.value))
            statement = Above(layer.name, shown, stated.source.replace(str(paths.home), "~"))
            above[key] = (statement, *above.get(key, ()))
    return above


def _of_table(
    paths: Paths,
    file: TomlFile,
    table: type[Table],
    at: KeyPath,
    known: Mapping[str, tuple[str, ...]],
    above: Mapping[str, tuple[Above, ...]] | None = None,
) -> tuple[Setting, ...]:
    """Return the settings of one table; tables within it are left to the editor. above: what stands above it."""
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    settings: list[Setting] = []
    for rule in rules.list_rules(table):
        setting = _make(paths, file, (*at, rule.name), rule, _inside(file.data, (*at, rule.name)), known)
        if statements := (above or {}).get(rule.name):
            setting = replace(setting, above=statements[0], between=statements[1:])
        settings.append(setting)
    return tuple(settings)


def _of_members(paths: Paths, file: TomlFile, known: Mapping[str, tuple[str, ...]]) -> tuple[Setting, ...]:
    """Return the accounts of a pool as one list of names, where its file can be read."""
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    members = file.data.get(_MEMBERS)
    if not isinstance(members, list) or not all(isinstance(one, dict) and "name" in one for one in members):
        return ()
    names = [str(one["name"]) for one in members]
    return (_make(paths, file, (_MEMBERS,), rules.members_rule(_MEMBERS), names, known),)


def _make(
    paths: Paths, file: TomlFile, path: KeyPath, rule: Rule, value: object, known: Mapping[str, tuple[str, ...]]
) -> Setting:
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    shown = rule.default if value is None else value
    return Setting(
        file=file.path,
        path=path,
        shown="" if shown is None else mask.text(as_toml(shown)).replace(str(paths.home), "~"),
        text=_text(value),
        source=_source(file, path) if value is not None else "default",
        description=rule.description,
        default="" if rule.default is None else as_toml(rule.default),
        kind=rule.kind,
        choices=known.get(rule.names, rule.choices),
        notes=rule.notes,
        option=rule.option,
        names=rule.names if rule.names in (*known, "themes") else "",
        items=tuple(map(str, value)) if isinstance(value, list) else (),
        fault=rules.find_slip(file, path) if value is not None else None,
        owner=_owner(file, path[:-1]),
    )


def _value(file: TomlFile, setting: Setting, typed: str) -> object:
    """Read what was typed: as TOML where that fits the setting, else as a text without its quotes."""
    typed = typed.strip()
    if not typed:
        return None
    word = typed.casefold()
    if setting.kind == "switch" and word in YES_OR_NO:
        return YES_OR_NO[word]
    if word in setting.choices:
        return word
    parsed = toml_file.parse(Path(), f"value = {typed}")
    if "value" not in parsed.data:
        return typed
    value: object = parsed.data["value"]
    if isinstance(value, str):
        return value
    if is_command(setting):  # a program may be called `true`
        return value if isinstance(value, (dict, list)) else typed
    from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - as in `_sections`

    is_text = rules.find_new_slip(file, setting.path, value) and not rules.find_new_slip(file, setting.path, typed)
    return typed if is_text else value  # a text that looks like a number


def _inside(data: object, path: KeyPath) -> object:
    for part in path:
        try:
            data = data[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _owner(file: TomlFile, at: KeyPath) -> str:
    """Return whose table stands at a place, among several of its kind; what is numbered may have moved since."""
    table = _inside(file.data, at)
    is_one_of_several = file.path.name == "providers.toml" or len(at) > 1
    return str(table.get("name", at[0])) if is_one_of_several and at and isinstance(table, Mapping) else ""


def _source(file: TomlFile, path: KeyPath) -> str:
    text = "" if file.path.suffix == json_file.SUFFIX else file.text
    line = toml_lines.line_of(toml_lines.index(text), path)
    return "set" if line is None else f"line {line}"


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) and _reads_back(value) else as_toml(value)


def _reads_back(text: str) -> bool:
    """Tell whether a text may be shown without quotes and still be read as itself."""
    if text != text.strip() or not text or "\n" in text:
        return False
    return bool(toml_file.parse(Path(), f"value = {text}").data.get("value", text) == text)


def as_toml(value: object) -> str:
    """Return a plain value as TOML, on one line."""
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return escape_toml(json.dumps(value, ensure_ascii=False, default=str))
