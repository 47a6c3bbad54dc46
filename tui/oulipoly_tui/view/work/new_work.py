"""A work session that is about to begin: its fields, and what will be made. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.worktrees.worktrees import BRANCH_PREFIX, FOLDER
from oulipoly_engine.records import Record
from oulipoly_tui.view.live.lists import start_rows
from oulipoly_tui.view.live.models import Start
from oulipoly_tui.view.transcript.spans import Line, Row, Tone, cut, fit_text, plain

if TYPE_CHECKING:
    from oulipoly_engine.core.boxes.levels import Availability
    from oulipoly_engine.core.worktrees.setup_file import Setup
    from oulipoly_engine.core.worktrees.work import Repository

_LABEL = 13
OWN, SAME, NONE = "own", "same", "none"
PLACES: tuple[tuple[str, str, str], ...] = (
    (OWN, "a branch of its own", "in a worktree beside your files"),
    (SAME, "the branch itself", "in a worktree beside your files"),
    (NONE, "your folder itself", "no worktree, your files change"),
)
LEVELS: Mapping[str, str] = {
    "none": "nothing holds its CLI",
    "guarded": "it reaches its worktree, not your other files",
    "sealed": "the same, and of the network its model alone",
}
LIVES: tuple[tuple[str, str, str], ...] = (
    ("persistent", "goes on", "takes messages, also after it has ended"),
    ("oneshot", "one turn", "ends with the answer to the prompt"),
)


class Draft(Record):
    """What is chosen so far."""

    repository: Path
    base: str = ""  # a branch; empty: what is checked out
    place: str = OWN
    start: Start | None = None
    next_account: str = ""  # who would serve
    lifecycle: str = "persistent"
    profile: str = "supervised"
    isolation: str = ""  # empty: as the settings say

    @property
    def wanted_isolation(self) -> str:
        """Return the isolation that is asked for; empty: none is."""
        return self.isolation * (self.place != NONE)


class Found(Record):
    """What was found in the folder; asked for in a thread."""

    folder: Path
    repository: Repository | None = None
    setup: Setup | None = None
    is_allowed: bool = True
    kind: str = ""  # of the runtime that would serve; empty: it is not known
    problem: str = ""
    isolation: str = "none"  # as the settings say
    levels: tuple[Availability, ...] = ()  # each with why this machine cannot give it


def field_rows(draft: Draft, found: Found | None, home: str, width: int) -> tuple[Row, ...]:
    """Return a row a field."""
    base = draft.base or ("…" if found is None else _current(found))
    who = f" → {draft.next_account}" if draft.next_account else ""
    place = next((name, note) for key, name, note in PLACES if key == draft.place)
    life = next((name, note) for key, name, note in LIVES if key == draft.lifecycle)
    kind = "" if found is None else found.kind
    profile = next(row.line for row in start_rows(kind, has_terminal=False) if row.key == draft.profile)
    texts = {
        "repository": (short_path(str(draft.repository), home), "" if found is None else _kind(found)),
        "base": (base, "" if draft.base or found is None else "checked out"),
        "place": place,
        "model": ("choose one" if draft.start is None else draft.start.name + who, ""),
        "lifecycle": life,
        "isolation": _describe_isolation(draft, found),
        "profile": (draft.profile.replace("_", " "), plain(profile[1:])),
    }
    names = {
        "repository": "folder",
        "base": "begins at",
        "place": "works on",
        "lifecycle": "lifetime",
        "isolation": "held by",
        "profile": "permissions",
    }
    return tuple(Row(key, _field(names.get(key, key), *told, width)) for key, told in texts.items())


def place_rows() -> tuple[Row, ...]:
    """Return the choices of where it works."""
    return tuple(Row(key, ((fit_text(name, 22), ""), (note, "dim"))) for key, name, note in PLACES)


def level_rows(known: Found) -> tuple[Row, ...]:
    """Return the choices of what holds its CLI; what this machine cannot give says why."""
    return tuple(_level_row(level) for level in known.levels)


def _level_row(level: Availability) -> Row:
    name = fit_text(level.level, 10)
    if level.obstacle:
        return Row(level.level, ((f"{name}{level.obstacle}", "dim"),), is_selectable=False)
    return Row(level.level, ((name, "strong"), (LEVELS[level.level], "dim")))


def _describe_isolation(draft: Draft, known: Found | None) -> tuple[str, str]:
    if draft.place == NONE:
        return "none", LEVELS["none"]
    if draft.isolation or known is None:
        return draft.isolation or "…", LEVELS.get(draft.isolation, "")
    return known.isolation, LEVELS[known.isolation]


def branch_rows(found: Repository) -> tuple[Row, ...]:
    """Return the branches, the one that is checked out first."""
    rest = [one for one in found.branches if one != found.current]
    first = Row("", ((visible_line(found.current or f"HEAD {found.head}"), "strong"), ("  checked out", "dim")))
    return (first, *(Row(one, ((visible_line(one), ""),)) for one in rest))


def reason_against(draft: Draft, found: Found | None, prompt: str) -> str | None:
    """Say why it cannot begin; None: it can."""
    if found is None:
        return "the folder is still being looked at"
    if found.problem:
        return found.problem
    if found.repository is None and draft.place != NONE:
        return f"{draft.repository} is not in a git repository: choose another folder, or let it work in the folder"
    if draft.start is None:
        return "choose a model"
    if draft.lifecycle == "oneshot" and not prompt.strip():
        return "a session of one turn needs a prompt"
    return None


def plan_lines(draft: Draft, found: Found | None, home: str) -> Iterator[Line]:
    """Yield what will be made, in the order in which it is."""
    if found is None:
        yield (("looking at the folder …", "dim"),)
        return
    if found.problem:
        yield ((visible_line(found.problem), "bad"),)
        return
    if found.repository is None:
        yield (("not a git repository: ", "warn"), ("no branch, no worktree, and no changes to look at", ""))
        return
    if draft.place == NONE:
        yield (("it works in ", ""), (short_path(str(draft.repository), home), "strong"), (" itself", "warn"))
        return
    root = Path(found.repository.root)
    base = draft.base or _current(found)
    if draft.place == OWN:
        yield (
            ("branch  ", "dim"),
            (f"{BRANCH_PREFIX}<session's id>", "strong"),
            (f" at {visible_line(base)}", ""),
        )
    else:
        yield (("branch  ", "dim"), (visible_line(base), "strong"), (", which nobody else may have checked out", ""))
    yield (("folder  ", "dim"), (f"{short_path(str(root / FOLDER), home)}/<id>", "strong"))
    yield from _setup_lines(found)


def command_lines(commands: Sequence[str]) -> tuple[Line, ...]:
    """Return commands that are to be allowed, each whole."""
    return tuple((("$ ", "dim"), (visible_line(one), "strong")) for one in commands)


def _setup_lines(found: Found) -> Iterator[Line]:
    setup = found.setup
    if setup is None:
        return
    files = ", ".join(visible_line(one) for one in (*setup.copy, *setup.link))
    if files:
        yield (("files   ", "dim"), (f"copied or linked into it: {files}", ""))
    for command in setup.setup:
        tone: Tone = "" if found.is_allowed else "warn"
        yield (("set-up  ", "dim"), (f"$ {visible_line(command)}", tone))
    if setup.commands and not found.is_allowed:
        yield (("You are asked once whether these commands may run.", "warn"),)


def _kind(found: Found) -> str:
    return "" if found.repository is not None else "not a git repository"


def _current(found: Found) -> str:
    one = found.repository
    return "-" if one is None else visible_line(one.current or f"HEAD {one.head}")


def _field(name: str, text: str, note: str, width: int) -> Line:
    shown = cut(visible_line(text), max(8, width - _LABEL))
    room = width - _LABEL - len(shown) - 2
    return ((fit_text(name, _LABEL), "dim"), (shown, "strong"), (f"  {cut(note, room)}" if room > 8 else "", "dim"))
