"""A new work session for screen readers: its fields one by one, then what will be made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.paths import expand_user
from oulipoly_engine.records import replace
from oulipoly_tui.linear import live
from oulipoly_tui.orders import work as orders
from oulipoly_tui.view.live.lists import start_rows
from oulipoly_tui.view.live.models import Start, picker_rows, read_start, reason_against
from oulipoly_tui.view.transcript.spans import Line, plain
from oulipoly_tui.view.work import new_work
from oulipoly_tui.view.work.new_work import NONE, Draft, Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk
    from oulipoly_tui.view.transcript.spans import Row

_WIDTH = 400  # columns: nothing is cut
_LABELS = {"base": "Begins at", "place": "Works on", "isolation": "What holds its CLI"}
_BEGIN, _PROMPT = "Begin it", "prompt"


def begin(talk: Talk, snapshot: Snapshot) -> None:
    """Let the fields be changed until it is begun, then talk."""
    draft, prompt = Draft(Path.cwd()), ""
    name = next((one.model.name for one in snapshot.pools if one.next_account), None)
    if name is not None:
        draft = _with_start(snapshot, draft, Start(pool=name))
    while True:
        found = orders.find(talk.engine, draft)
        if found.repository is None and not found.problem:
            draft = replace(draft, place=NONE)
        home = str(Path.home())
        for line in new_work.plan_lines(draft, found, home):
            talk.quote(spoken(line))
        rows = new_work.field_rows(draft, found, home, _WIDTH)
        names = [spoken(row.line) for row in rows]
        place = talk.choose_place("New work session", [_BEGIN, *names, f"{_PROMPT} {prompt}".rstrip()])
        if place is None:
            return
        if place > len(rows):
            prompt = talk.ask("Prompt, empty for none", "Type what the agent is told first.").strip()
        elif place:
            draft = _change(talk, snapshot, draft, found, rows[place - 1].key)
        elif (reason := new_work.reason_against(draft, found, prompt)) is not None:
            talk.quote(f"{reason[:1].upper()}{reason[1:]}.")
        elif _begin(talk, draft, found, prompt):
            return


def spoken(line: Line) -> str:
    """Return a line of a screen without the blanks that stand for columns."""
    return " ".join(plain(line).split())


def choose_row(talk: Talk, label: str, rows: Sequence[Row]) -> str | None:
    """Let one of the rows of a screen's list be chosen, and return its key."""
    chosen = talk.choose_of(label, rows, lambda row: spoken(row.line))
    return None if chosen is None else chosen.key


def _begin(talk: Talk, draft: Draft, found: Found, prompt: str) -> bool:
    setup, repository = found.setup, None if draft.place == NONE else found.repository
    allowed = None
    if setup is not None and repository is not None and setup.commands and not found.is_allowed:
        talk.say("This repository asks to run these commands in each new worktree, as you:")
        for line in new_work.command_lines(setup.commands):
            talk.quote(plain(line))
        talk.drop_typed_ahead()
        if not talk.confirm("Run these commands, always?"):
            return False
        allowed = (Path(repository.root), setup.digest)
    begun = orders.begin(talk.engine, draft, prompt, allowed)
    talk.quote(f"Begun on {begun.session.account or begun.session.runtime_id}. {begun.why}.")
    if begun.login_in_reach:
        talk.quote(f"Note: {begun.login_in_reach}.")
    if begun.waits_for:
        talk.quote(f"{begun.waits_for}.")
    else:
        live.open_talk(talk, begun.session.session_id, begun.turn_id or "")
    return True


def _change(talk: Talk, snapshot: Snapshot, draft: Draft, found: Found, field: str) -> Draft:
    """Ask for one field, and return the draft with it."""
    if field == "repository":
        folder = talk.ask_until("Folder", _read_folder)
        return draft if folder is None else replace(draft, repository=folder, base="", place=new_work.OWN)
    if field == "model":
        return _change_model(talk, snapshot, draft)
    if field == "base":
        if found.repository is None:
            talk.say("There are no branches to choose from.")
            return draft
        rows = new_work.branch_rows(found.repository)
    elif field == "place":
        rows = new_work.place_rows()
    elif field == "profile":
        rows = start_rows(found.kind, has_terminal=False)
    elif field == "isolation":
        if draft.place == NONE:
            talk.say("Only a worktree of its own can be held.")
            return draft
        rows = tuple(row for row in new_work.level_rows(found) if row.is_selectable)
    else:
        chosen = talk.choose_of("Lifetime", new_work.LIVES, lambda life: f"{life[1]}: {life[2]}")
        return draft if chosen is None else replace(draft, lifecycle=chosen[0])
    key = choose_row(talk, _LABELS.get(field, "What it may do unasked"), rows)
    return draft if key is None else replace(draft, **{field: key})


def _change_model(talk: Talk, snapshot: Snapshot, draft: Draft) -> Draft:
    runtimes = talk.engine.runtimes.summaries()
    starts = [read_start(row.key) for row in picker_rows(snapshot.pools, runtimes, _WIDTH) if row.is_selectable]
    start = talk.choose_of("Model", starts, lambda start: start.name)
    if start is None:
        return draft
    reason = next((reason_against(one) for one in runtimes if one.runtime.id == start.runtime), None)
    if reason is not None:
        talk.quote(f"{reason}.")
        return draft
    return _with_start(snapshot, draft, start)


def _with_start(snapshot: Snapshot, draft: Draft, start: Start) -> Draft:
    view = snapshot.pool(start.pool) if start.pool else None
    return replace(draft, start=start, next_account="" if view is None else view.next_account or "")


def _read_folder(typed: str) -> Path:
    folder = expand_user(typed).absolute()
    if not folder.is_dir():
        raise RequestRefused(f"there is no folder {typed!r}")
    return folder
