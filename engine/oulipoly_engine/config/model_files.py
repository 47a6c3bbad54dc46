"""models/*.toml: the pools. Each file is read on its own, so that a broken one stops nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.problem import Fault, Loaded
from oulipoly_engine.core.accounts.accounts import Account, Model
from oulipoly_engine.core.accounts.clis.adapters import codex_overlap
from oulipoly_engine.paths import Paths


def names(folder: Path) -> tuple[str, ...]:
    """Return the names of the models in a folder, sorted; a missing folder has none."""
    try:
        return tuple(sorted(path.stem for path in folder.glob("*.toml") if is_name(path.stem) and path.is_file()))
    except OSError:
        return ()


def is_name(name: str) -> bool:
    """Return whether a name can be a file in a folder of ours and nowhere else, and a text that can be stored."""
    is_place = bool(name) and not name.startswith(".") and not any(mark in name for mark in "/\\\0")
    return is_place and (name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name))


def read(paths: Paths, path: Path) -> Loaded[Model | None]:
    """Return the model of a file, None when it has an error, and all problems of the file."""

    def parse(raw: bytes | None) -> Loaded[Model | None]:
        from oulipoly_engine.config.parse import models  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return models.parse(path, raw)

    return snapshot.read(paths, path, "model", Loaded[Model | None], parse)


def overlaps(model: Model, accounts: Mapping[str, Account]) -> Iterator[Fault]:
    """Find arguments that the account `codex` and its pool entry both have."""
    for member in model.members:
        account = accounts.get(member.account)
        if account is None:
            continue
        pairs = (
            ("args", account.args, member.args),
            ("interactive_args", account.interactive_args or (), member.interactive_args or ()),
        )
        for key, account_args, model_args in pairs:
            if (token := codex_overlap(member.account, account_args, model_args)) is not None:
                message = f"{token!r} is already in `{key}` of the account 'codex', and Codex refuses it twice"
                yield Fault(("providers", member.index, key), message, "remove it from one of the two")
