"""Models of older configurations, in which each pool entry carried its account's whole launch. Pure.

An entry's command line and arguments are taken apart into what belongs to the account and what to the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from oulipoly_engine.config.base import legacy
from oulipoly_engine.config.base.legacy import OLD_TOP_KEYS
from oulipoly_engine.config.base.problem import Fault, KeyPath, describe_value
from oulipoly_engine.records import Record

BLOCKS = ("resume", "session_capture", "session_storage", "resume_acceptance")
_ONE_SHOT_FLAGS = ("-p", "--print")  # Claude's; an interactive launch must not have them
_ONE_SHOT_SUBCOMMAND = "exec"  # Codex's


class OldEntry(Record):
    """One pool entry, taken apart."""

    index: int | None  # place among [[providers]]; None: the model's file itself is the entry
    account: str
    prompt_mode: str | None  # None: nothing is said
    model_args: tuple[str, ...]
    model_interactive: tuple[str, ...]
    blocks: Mapping[str, KeyPath]  # a block's name to its place in the file
    command: str | None = None  # None: the entry names an account that has one already
    account_args: tuple[str, ...] | None = None  # None: nothing is said of them
    account_interactive: tuple[str, ...] | None = None


def entries(data: Mapping[str, Any]) -> tuple[tuple[OldEntry, ...], tuple[Fault, ...]]:
    """Take apart every pool entry of an old model's values; keys at the top serve entries that lack them."""
    top = {key: data[key] for key in OLD_TOP_KEYS if key in data}
    members = data.get("providers")
    if members is None or members == []:
        places: list[tuple[int | None, Mapping[str, Any]]] = [(None, {})]
    elif isinstance(members, list) and all(isinstance(entry, dict) for entry in members):
        places = list(enumerate(members))
    else:
        return (), (Fault(("providers",), "it must be a list of tables", "write [[providers]]"),)
    found: list[OldEntry] = []
    faults: list[Fault] = []
    for index, own in places:
        wrong = tuple(_faults(index, own, top))
        faults += wrong
        if not wrong:
            found.append(_entry(index, own, top))
    return tuple(found), tuple(faults)


def split_model_args(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part arguments into the account's and the model's: `--model V`, `-m V` and `-c model_...=V` are the model's."""
    account: list[str] = []
    model: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("--model=") or _is_model_setting(word.removeprefix("--config="), word):
            model.append(word)
            continue
        value = next(rest, None) if word in ("--model", "-m", "-c", "--config") else None
        if value is None:
            account.append(word)
        elif word in ("--model", "-m") or _sets_model(value):
            model += (word, value)
        else:
            account += (word, value)
    return tuple(account), tuple(model)


def split_command(command: str) -> tuple[str, tuple[str, ...]]:
    """Part an old command line into the program and its arguments."""
    words = legacy.split_command(command)
    return (words[0], words[1:]) if words else ("", ())


def interactive_prefix(program: str, args: Sequence[str]) -> tuple[str, ...]:
    """Return the command's own arguments that an interactive launch needs as well: not those of one-shots."""
    wrapper = wrapper_args(program, args)
    rest = list(args[len(wrapper) :])
    if rest[:1] == [_ONE_SHOT_SUBCOMMAND]:
        rest = rest[1:]
    return (*wrapper, *(word for word in rest if word not in _ONE_SHOT_FLAGS))


def wrapper_args(program: str, args: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of `env` up to the real executable; nothing for any other program."""
    if PurePath(program).name != "env":
        return ()
    return tuple(args[: legacy.wrapper_length(args) + 1])


def is_launch(program: str, args: Sequence[str]) -> bool:
    """Return whether arguments are clearly an account's launch and not a model's options."""
    return PurePath(program).name == "env" or any(word in (*_ONE_SHOT_FLAGS, _ONE_SHOT_SUBCOMMAND) for word in args)


def _is_model_setting(value: str, word: str) -> bool:
    return value != word and _sets_model(value)


def _sets_model(setting: str) -> bool:
    key = setting.partition("=")[0]
    return key == "model" or key.startswith("model_")


def find_wrong_shapes(launch: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key of an account's or a pool entry's launch whose value has the wrong shape, and the right one."""
    for key in ("name", "command", "prompt_mode"):
        if not isinstance(launch.get(key, ""), str):
            yield key, "a text in quotes"
    for key in ("args", "interactive_args"):
        value = launch.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            yield key, "a list of texts"
    for key in BLOCKS:
        if not isinstance(launch.get(key, {}), dict):
            yield key, "a table"


def shape_faults(place: KeyPath, launch: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Return what is wrong with the shapes of one launch. place: of its table in the file."""
    return tuple(
        Fault((*place, key), f"it must be {wanted}, not {describe_value(launch[key])}", f"write {wanted}")
        for key, wanted in find_wrong_shapes(launch)
    )


def _faults(index: int | None, own: Mapping[str, Any], top: Mapping[str, Any]) -> Iterator[Fault]:
    for key, wanted in find_wrong_shapes({**top, **own}):
        yield _wrong(index, key, own, top, wanted)
    if not own.get("name") and not own.get("command", top.get("command")):
        place: KeyPath = () if index is None else ("providers", index)
        yield Fault(place, "there is neither a `command` nor a `name`, so no account is known", "add one of them")


def _wrong(index: int | None, key: str, own: Mapping[str, Any], top: Mapping[str, Any], wanted: str) -> Fault:
    place: KeyPath = ("providers", index, key) if key in own and index is not None else (key,)
    return Fault(place, f"it must be {wanted}, not {describe_value(own.get(key, top.get(key)))}", f"write {wanted}")


def _entry(index: int | None, own: Mapping[str, Any], top: Mapping[str, Any]) -> OldEntry:
    line = str(own.get("command", top.get("command", "")))
    program, from_command = split_command(line)
    words = tuple(own.get("args", top.get("args", ())))
    said = own.get("interactive_args", top.get("interactive_args"))
    common: dict[str, Any] = {
        "index": index,
        "account": str(own.get("name") or legacy.derive_provider_name(line)),
        "prompt_mode": own.get("prompt_mode", top.get("prompt_mode")),
        "blocks": {key: (key,) for key in BLOCKS if key in top}
        | {key: ("providers", index, key) for key in BLOCKS if key in own},
    }
    if not program:  # the entry names an account, and its arguments are the model's already
        return OldEntry(**common, model_args=words, model_interactive=tuple(said or ()))
    command_args, command_model = split_model_args(from_command)
    args, model = split_model_args(words)
    interactive, interactive_model = split_model_args(said or ())
    return OldEntry(
        **{**common, "prompt_mode": common["prompt_mode"] or "stdin"},
        command=program,
        account_args=(*command_args, *args),
        account_interactive=None if said is None else _interactive(program, command_args, interactive),
        model_args=(*command_model, *model),
        model_interactive=interactive_model or (command_model if said is not None else ()),
    )


def _interactive(program: str, command_args: Sequence[str], interactive: tuple[str, ...]) -> tuple[str, ...]:
    """Compose an account's interactive arguments; an entry that repeats the wrapper has said everything itself."""
    wrapper = wrapper_args(program, command_args)
    if wrapper and interactive[: len(wrapper)] == wrapper:
        return interactive
    return (*interactive_prefix(program, command_args), *interactive)
