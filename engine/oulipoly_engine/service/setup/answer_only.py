"""A pool whose CLIs only answer: what makes them work without tools of their own is added to their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, Model
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.records import replace

_LABEL = "~setup"  # behind a pool's name: how traces tell these runs from others


def answer_only(model: Model, accounts: Mapping[str, Account], home: Path) -> tuple[Model, tuple[str, ...]]:
    """Return the pool for the set-up's turns, and those accounts of it whose CLI keeps tools of its own."""
    members, others = [], []
    for member in model.members:
        account = accounts.get(member.account)
        found = None if account is None else recognise_cli(account, home)
        launch = None if found is None else found.cli.launch
        if account is not None and (launch is None or not launch.can_forbid_tools):
            others.append(member.account)
        given = (*member.args, *(() if account is None else account.args))
        words = () if launch is None else (*launch.answer_words, *(w for w in launch.test_words if w not in given))
        members.append(replace(member, args=(*member.args, *words)))
    return replace(model, name=f"{model.name}{_LABEL}", members=tuple(members), inputs=()), tuple(dict.fromkeys(others))
