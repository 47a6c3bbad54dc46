"""A pool whose CLIs only answer: what makes them work without tools of their own is added to their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, Model
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.records import replace

_PURPOSE = "setup"  # how traces tell these runs from others
_LOOSE = ("dangerously", "yolo", "full-auto")  # arguments that win over a sandbox


def answer_only(
    model: Model, accounts: Mapping[str, Account], home: Path, purpose: str = _PURPOSE
) -> tuple[Model, tuple[str, ...]]:
    """Return the pool for turns of a purpose, and those accounts of it whose CLI keeps tools of its own."""
    members, others = [], []
    for member in model.members:
        account = accounts.get(member.account)
        found = None if account is None else recognise_cli(account, home)
        launch = None if found is None else found.cli.launch
        given = (*member.args, *(() if account is None else account.args))
        is_loose = any(word in argument for argument in given for word in _LOOSE)
        if account is not None and (launch is None or not launch.can_forbid_tools or is_loose):
            others.append(member.account)
        words = () if launch is None else _drop_repeated((*launch.answer_words, *launch.test_words), given)
        members.append(replace(member, args=(*member.args, *words)))
    return replace(model, purpose=purpose, members=tuple(members), inputs=()), tuple(dict.fromkeys(others))


def _drop_repeated(words: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """Leave out flags that stand alone and are given already: Codex refuses a repeated one."""
    following = (*words[1:], "-")
    return tuple(
        word
        for word, after in zip(words, following, strict=True)
        if not (word.startswith("--") and after.startswith("-") and word in given)
    )
