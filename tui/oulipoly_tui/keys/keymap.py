"""The actions that have keys, with the keys that they have for this user. Pure.

It is what the panes bind, the footer shows, the help lists and the documentation prints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record, replace
from oulipoly_tui.actions.action import FRAME, LISTS, Action
from oulipoly_tui.actions.custom import custom_id, make_actions
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.keys.names import near, read_key

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand

TABLE: tuple[Action, ...] = tuple(action for action in ACTIONS if action.keys)
UNBOUND = "none"
CLASH_FIX = "change one in [keys]"
_QUIT = "frame.quit"
Reach = Callable[[Action], Action | None]  # see `make_reach`
_WAYS_OUT = (_QUIT, "frame.palette", "frame.command")  # who has a key for none of them could not leave the app

_SHOWN = {
    "question_mark": "?",
    "exclamation_mark": "!",
    "colon": ":",
    "plus": "+",
    "underscore": "_",
    "comma": ",",
    "full_stop": ".",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "space": "space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


class Clash(Record):
    """Two bindings that the same key would serve in the same place."""

    key: str
    first: str
    second: str

    @property
    def text(self) -> str:
        """Say what is wrong."""
        return f"the key {self.key} means both {self.first} and {self.second}"


class KeymapProblem(Record):
    """What `[keys]` says that cannot be meant, and the way out."""

    id: str  # as it is written there
    cause: str
    fix: str


_TRAPPED = KeymapProblem(
    _QUIT,
    f"[keys] takes the keys of all that leads out of the app, {', '.join(_WAYS_OUT)}, so {_QUIT} keeps its own",
    "give one of them a key",
)


class Keymap(Record):
    """The keys as they are for this user."""

    rows: tuple[Action, ...]  # with the user's own keys; those without any left out
    changed: Mapping[str, str]  # id -> keys, for what differs from the preset `default`; "none" takes all away
    clashes: tuple[Clash, ...] = ()
    slips: tuple[KeymapProblem, ...] = ()  # ids of app.toml that are none, and keys that are none
    withheld: tuple[Action, ...] = ()  # what read-only mode takes away, with its keys
    own: tuple[Action, ...] = ()  # the user's own commands, those without keys too; with keys they are in `rows`

    def of(self, where: str) -> tuple[Action, ...]:
        """Return what works in one place."""
        return tuple(row for row in self.rows if row.where == where)

    def find(self, identity: str) -> Action | None:
        """Return an action by its id; None where it has no key, or is none."""
        return next((row for row in (*self.rows, *self.own) if row.id == identity), None)

    def find_own(self, key: str, pane: str) -> Action | None:
        """Return the user's own command that a key runs in a pane; a key of ours is not for it."""
        if any(
            key in row.keys.split(",") for place in (pane, LISTS, FRAME) for row in self.of(place) if not row.custom
        ):
            return None
        return next((row for row in self.own if row.where in (pane, FRAME) and key in row.keys.split(",")), None)

    def withheld_at(self, key: str, pane: str) -> Action | None:
        """Return what a key would do in a pane if the app were not read-only; None where it does something else."""
        if any(key in row.keys.split(",") for place in (pane, LISTS, FRAME) for row in self.of(place)):
            return None
        rows = (row for row in self.withheld if row.where in (pane, FRAME) and key in row.keys.split(","))
        return next(rows, None)


def make_reach(rows: Sequence[Action], works: Callable[[Action], bool]) -> Reach:
    """Return what gives a row the keys that no row before it takes; None where it does not work, or keeps no key.

    works: is asked once of a row at most, and of none that nobody wants to know of.
    """
    of_key: dict[str, list[Action]] = {}
    for row in rows:
        for key in row.keys.split(","):
            of_key.setdefault(key, []).append(row)
    known: dict[str, bool] = {}

    def does_work(row: Action) -> bool:
        if row.id not in known:
            known[row.id] = works(row)
        return known[row.id]

    def reach(row: Action) -> Action | None:
        if not does_work(row):
            return None
        keys = [key for key in row.keys.split(",") if next(filter(does_work, of_key[key])).id == row.id]
        own = ",".join(keys)
        if own == row.keys:
            return row
        return replace(row, keys=own) if keys else None

    return reach


def resolve(
    preset: str = "default",
    own: Mapping[str, str] | None = None,
    *,
    read_only: bool = False,
    commands: Sequence[CustomCommand] = (),
) -> Keymap:
    """Return the keys of a preset with the user's own laid over them, and what is wrong with those.

    commands: the user's own.
    """
    wishes = {identity: _understood(written) for identity, written in (own or {}).items()}
    trapped = [] if any(wishes.get(way) != UNBOUND for way in _WAYS_OUT) else [_TRAPPED]
    if trapped:
        del wishes[_QUIT]
    customs = make_actions(commands, [_understood(one.key).removeprefix(UNBOUND) for one in commands])
    rows = []
    withheld = []
    changed = {}
    for row in TABLE:
        keys = wishes.get(row.id) or getattr(row, preset, None) or row.keys
        if read_only and row.writes:
            withheld.append(replace(row, keys=keys))
            keys = UNBOUND
        if keys != row.keys:
            changed[row.id] = keys
        if keys != UNBOUND:
            rows.append(replace(row, keys=keys, emacs=None))
    withheld += customs if read_only else ()
    customs = () if read_only else customs
    rows += (one for one in customs if one.keys)
    clashes = _clashes(rows, {*wishes, *(one.id for one in customs)})
    wrong = (*slips(own or {}), *trapped, *_command_slips(commands))
    return Keymap(tuple(rows), changed, tuple(clashes), wrong, tuple(withheld), customs)


def free_keys(
    preset: str, own: Mapping[str, str], identity: str, keys: str, commands: Sequence[CustomCommand] = ()
) -> dict[str, str]:
    """Return the actions that some keys would have to be taken from, with those that they keep, or "none".

    identity: the action that the keys are for. commands: the user's own, each an action too.
    """
    wishes = {identity: keys}
    while True:
        changed = [replace(one, key=wishes.get(custom_id(one), one.key)) for one in commands]
        ids = {custom_id(one) for one in commands}
        found = resolve(preset, {**own, **{key: wishes[key] for key in wishes if key not in ids}}, commands=changed)
        whole = {action.id: custom_id(action.custom) for action in found.own if action.custom is not None}
        clashes = (
            (one.key, whole.get(one.first, one.first), whole.get(one.second, one.second)) for one in found.clashes
        )
        clash = next((one for one in clashes if identity in one), None)
        if clash is None:
            return {other: left for other, left in wishes.items() if other != identity}
        key, first, second = clash
        other = first if second == identity else second
        row = found.find(other) or next((action for action in found.own if whole[action.id] == other), None)
        left = [] if row is None else [one for one in row.keys.split(",") if one != key]
        wishes[other] = ",".join(left) or UNBOUND


def format_first_key(keys: str) -> str:
    """Return the first of some keys as people write it: `?`, `ctrl+p`, `esc`."""
    return format_key(keys.split(",")[0])


def format_key(key: str) -> str:
    """Return one key as people write it."""
    *modifiers, last = key.split("+") if key != "+" else ["+"]
    return "+".join((*modifiers, _SHOWN.get(last, last)))


def format_keys(keys: str) -> str:
    """Return all of some keys as people write them."""
    return " ".join(format_key(key) for key in keys.split(","))


def _clashes(rows: Iterable[Action], own: Collection[str]) -> Iterable[Clash]:
    """Find keys that two rows of one place share, and users' own keys that hide another, or are hidden.

    A pane of ours may hide a key of the frame or of the lists on purpose, as one that has no list does with enter.
    """
    taken: dict[tuple[str, str], str] = {}
    order = {FRAME: 0, LISTS: 1}
    for row in sorted(rows, key=lambda row: order.get(row.where, 2)):
        for key in row.keys.split(","):
            places = (row.where, *(place for place in (LISTS, FRAME) if order[place] < order.get(row.where, 2)))
            other = next((taken[place, key] for place in places if (place, key) in taken), None)
            is_here = (row.where, key) in taken
            if other is not None and other != row.id and (is_here or row.id in own or other in own):
                yield Clash(key, other, row.id)
            taken.setdefault((row.where, key), row.id)


def slips(own: Mapping[str, str]) -> Iterable[KeymapProblem]:
    """Find what nobody understands in a user's own keys: it counts as not written."""
    known = [row.id for row in TABLE]
    for identity, written in own.items():
        if identity not in known:
            found = get_close_matches(identity, known, n=1)
            fix = f"write {found[0]!r}" if found else "see the ids in the help (?)"
            yield KeymapProblem(identity, f"[keys] has {identity!r}, which is not an action", fix)
            continue
        for key, fix in _unknown_keys(written):
            yield KeymapProblem(identity, f"[keys] gives {identity} the key {key!r}, which there is not", fix)


def _unknown_keys(written: str) -> Iterable[tuple[str, str]]:
    """Find keys that there are not, each with the way out."""
    for key in _parts(written):
        if read_key(key) is None and _understood(written) != UNBOUND:
            like = near(key)
            fix = "write it as the help (?) does, `ctrl+d` or `slash`, and several by comma"
            yield key, fix if like is None else f"write {like!r}"


def _command_slips(commands: Sequence[CustomCommand]) -> Iterable[KeymapProblem]:
    for one in commands:
        for key, fix in _unknown_keys(one.key):
            cause = f"the command {one.name!r} has the key {key!r}, which there is not"
            yield KeymapProblem(custom_id(one), cause, fix)


def _understood(written: str) -> str:
    """Return some keys by comma by Textual's names; empty where none of them is one, so that the preset's stay."""
    parts = _parts(written)
    if [part.lower() for part in parts] == [UNBOUND]:
        return UNBOUND
    return ",".join(dict.fromkeys(key for part in parts if (key := read_key(part)) is not None))


def _parts(written: str) -> list[str]:
    """Take keys apart by comma, unless the comma is the key."""
    alone = written.strip()
    return [alone] if alone == "," else [part.strip() for part in written.split(",") if part.strip()]
