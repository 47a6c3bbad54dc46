"""The demo world's past: quota use of three weeks, conversations in the CLIs' own files, and which of them we ran.

What goes into the state file is the service's business; here are the accounts' homes and the plan. Building it again
for the same instant writes the same files.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from oulipoly_demo.base import ids, turn
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.past.claude import PastClaude
from oulipoly_demo.past.codex import PastCodex
from oulipoly_demo.past.quota import AccountPast, Habit, account_past
from oulipoly_demo.past.stories import STORIES, WORKSPACES, Story, Workspace
from oulipoly_demo.past.talk import exchanges
from oulipoly_demo.quota.meter import Reading
from oulipoly_demo.world import World
from oulipoly_demo.world_files import ACCOUNTS

SEED = 20
# The present state is the one that a world without a past begins with.
HABITS: Mapping[str, Habit] = {
    "demo-claude1": Habit((0.94, 0.85), (0.61, 0.55), evenings=0.5, spends=(0.5, 0.95), dry=0.2),  # nearly spent
    "demo-claude2": Habit((0.35, 0.40), (0.48, 0.70)),
    "demo-claude3": Habit(None, None, evenings=0.1, rests=2.2),  # fresh
    "demo-codex1": Habit(  # burns too fast: it works while people sleep
        (0.76, 0.25), (0.90, 0.40), evenings=0.9, nights=0.8, weekends=0.9, spends=(0.5, 1.0), dry=0.25
    ),
    "demo-codex2": Habit((0.12, 0.60), (0.30, 0.50), spends=(0.1, 0.6), dry=0.0),
}
_POOLS = {  # pool -> (model's name, its accounts)
    "demo-opus": ("demo-opus-1", ("demo-claude1", "demo-claude2", "demo-claude3")),
    "demo-haiku": ("demo-haiku-1", ("demo-claude1", "demo-claude2", "demo-claude3")),
    "demo-codex": ("demo-gpt-1", ("demo-codex1", "demo-codex2")),
    "demo-mix": ("demo-sonnet-1", ("demo-claude2", "demo-claude3", "demo-codex2")),
}
_ONE_SHOTS = 44
_FAILURES = (  # (category, exit code, text)
    ("quota_exhausted", 1, "You've hit your session limit"),
    ("unknown", 1, "API Error: 500 Internal server error. This is a made-up failure of the demo."),
    ("rate_limit", 1, "exceeded retry limit, last status: 429 Too Many Requests"),
)
_FAMILIES = (0.03, 1.1, 3.2, 8.1, 15.0)  # days ago: a run that starts others, one of which starts one more
_LATEST = 100.0  # seconds before now at which the last thing was said


class PastSession(NamedTuple):
    """A conversation as it lies in an account's home."""

    story: Story
    session_id: str
    path: Path
    begin: float
    end: float
    calls: int  # answered API calls


class PastRun(NamedTuple):
    """An invocation of ours."""

    uuid: str
    model: str  # pool
    account: str
    member: int
    begin: float
    end: float
    parent: str | None = None  # uuid
    session_id: str | None = None
    failure: tuple[str, int, str] | None = None


class Past(NamedTuple):
    """Everything that happened."""

    accounts: tuple[AccountPast, ...]
    sessions: tuple[PastSession, ...]
    runs: tuple[PastRun, ...]  # oldest first


def make(world: World, now: float) -> Past:
    """Write the past of a world that was born at `now`: its homes, workspaces and quota files; return all of it."""
    accounts = {name: account_past(name, vendor, HABITS[name], now, SEED) for name, vendor in ACCOUNTS.items()}
    for name, past in accounts.items():
        world.meter(name).save(Reading(past.readings[-1].tiers))
    for space in WORKSPACES.values():
        _furnish(world.home / space.folder, space)
    sessions = tuple(_session(world, story, accounts[story.account], now) for story in STORIES)
    return Past(tuple(accounts.values()), sessions, tuple(_runs(accounts, sessions, now)))


def _furnish(folder: Path, space: Workspace) -> None:
    """Make a workspace that can be worked in: resuming a conversation needs its folder."""
    for name in space.files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(space.code.format(space.names[0]) + "\n", encoding="utf-8")


def _session(world: World, story: Story, past: AccountPast, now: float) -> PastSession:
    space = WORKSPACES[story.workspace]
    dice = random.Random(f"{SEED} {story.asks}")  # noqa: S311 - a demo's dice, meant to fall the same way every time
    context = CliContext(
        vendor=past.vendor,
        account=story.account,
        home=world.account_home(story.account),
        cwd=(world.home / space.folder).resolve(),
        now=lambda: now,
        pace_s=0.0,
        thinking_s=0.0,
        colour=False,
    )
    dialogue = exchanges(story, space, dice)
    instants = _instants(story, past, now, dice)
    model = _POOLS[story.model][0] if story.model else turn.model_name(past.vendor, None)
    if past.vendor == "claude":
        writer: PastClaude | PastCodex = PastClaude(story, space, context, model, dice)
    else:
        writer = PastCodex(story, space, context, model, dice, past)
    path, end = writer.write(dialogue, instants)
    for file in (path, *path.with_suffix("").glob("**/*.jsonl")):
        os.utime(file, (end, end))
    return PastSession(story, writer.session_id, path, instants[0], end, writer.calls)


def _instants(story: Story, past: AccountPast, now: float, dice: random.Random) -> list[float]:
    """Return when each prompt was typed: while the account was at work, and never after now."""
    instant = now - story.days * 86_400
    if "long" in story.traits:
        marks = past.marks_after(instant)
        each = -(-story.exchanges // len(marks))
        instants = [mark + 110.0 * place for mark in marks for place in range(each)]
        instants.sort()
        instants = instants[: story.exchanges]
    else:
        begin = instant if instant < past.cycles[0].begin else past.works_near(instant)
        instants = [begin]
        while len(instants) < story.exchanges:
            instants.append(instants[-1] + dice.uniform(50, 150))
    late = max(0.0, instants[-1] + _LATEST + 60 - now)
    return [at - late for at in instants]


def _runs(accounts: Mapping[str, AccountPast], sessions: Sequence[PastSession], now: float) -> Iterator[PastRun]:
    dice = random.Random(SEED)  # noqa: S311 - as above
    instants = [_of_session(session, dice) for session in sessions if session.story.model]
    for number in range(_ONE_SHOTS):
        model = dice.choice(tuple(_POOLS))
        ago = 20 * 86_400 * (number + 0.5) / _ONE_SHOTS
        failure = dice.choice(_FAILURES) if number % 7 == 3 and ago > 7200 else None
        instants.append(_one_shot(accounts, model, now - ago, dice, failure=failure))
    for days in _FAMILIES:
        instants += _family(accounts, now - days * 86_400, dice)
    yield from sorted((run for run in instants if run.end < now - 60), key=lambda run: run.begin)


def _of_session(session: PastSession, dice: random.Random) -> PastRun:
    story = session.story
    member = _POOLS[story.model][1].index(story.account)
    return PastRun(
        _uuid(dice), story.model, story.account, member, session.begin - 2, session.end + 1, None, session.session_id
    )


def _one_shot(
    accounts: Mapping[str, AccountPast],
    model: str,
    instant: float,
    dice: random.Random,
    *,
    parent: PastRun | None = None,
    failure: tuple[str, int, str] | None = None,
) -> PastRun:
    names = _POOLS[model][1]
    # Who worked next to that moment is who would have been chosen.
    near = {name: accounts[name].works_near(instant) for name in names}
    account = min(names, key=lambda name: abs(near[name] - instant))
    begin = instant if parent is not None else near[account] + dice.uniform(0, 20)
    end = begin + dice.uniform(4, 95)
    return PastRun(_uuid(dice), model, account, names.index(account), begin, end, parent and parent.uuid, None, failure)


def _family(accounts: Mapping[str, AccountPast], instant: float, dice: random.Random) -> list[PastRun]:
    parent = _one_shot(accounts, "demo-opus", instant, dice)
    parent = parent._replace(end=parent.begin + 420)
    models = ("demo-haiku", "demo-codex", "demo-haiku")
    children = [
        _one_shot(accounts, model, parent.begin + 30 + 120 * place, dice, parent=parent)
        for place, model in enumerate(models)
    ]
    failed = children[1]._replace(failure=_FAILURES[2])
    children[1] = failed if dice.random() < 0.4 else children[1]
    grandchild = _one_shot(accounts, "demo-mix", children[0].begin + 3, dice, parent=children[0])
    grandchild = grandchild._replace(end=min(grandchild.end, children[0].end - 1))
    return [parent, *children, grandchild]


def _uuid(dice: random.Random) -> str:
    return ids.uuid_of(dice.randbytes(16), version=4)
