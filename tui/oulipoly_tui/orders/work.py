"""What both faces ask of the engine for work sessions: the screens in a thread, `--linear` at once.

Each may take long, and raises RunnerError.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError
from oulipoly_tui.view.live.models import Start
from oulipoly_tui.view.work.new_work import NONE, SAME, Draft, Found

if TYPE_CHECKING:
    from oulipoly_engine.core.worktrees.changes import ChangeSet, MergePreview, Moved, Preflight, Promoted
    from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
    from oulipoly_engine.core.worktrees.prompts import Comment
    from oulipoly_engine.core.worktrees.work import Repository
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.worktrees.work import BegunWork


def find_kind(engine: Engine, account: str | None, runtime: str = "") -> str:
    """Return the kind of a runtime, or of an account's; empty: it cannot be driven."""
    catalogue = engine.live.catalogue()
    found = catalogue.find(runtime) if runtime else catalogue.find_for_account(account or "")
    return found.kind if found is not None and found.is_enabled else ""


def find(engine: Engine, draft: Draft) -> Found:
    """Return what is known of a folder, and what its repository asks for; what is wrong is told in its place."""
    folder = draft.repository
    try:
        kind = find_kind(engine, draft.next_account or None, "" if draft.start is None else draft.start.runtime)
        repository = engine.work.repository(folder)
        if repository is None:
            return Found(folder, kind=kind, isolation=engine.work.usual_isolation)
        told = engine.worktrees.setup_of(folder, draft.base)
    except RunnerError as error:
        return Found(folder, problem=error.message)
    usual = engine.work.usual_isolation
    return Found(folder, repository, told.setup, told.is_allowed, kind, isolation=usual, levels=engine.work.levels())


def begin(engine: Engine, draft: Draft, prompt: str, allowed: tuple[Path, str] | None = None) -> BegunWork:
    """Begin what was chosen. allowed: a repository, and the digest of its commands, which a person has just allowed."""
    from oulipoly_engine.facade.worktrees.work import NewWork  # noqa: PLC0415 - only where one is begun

    start, has_branch = draft.start or Start(), draft.place != NONE
    wish = NewWork(
        draft.repository,
        model=start.pool or None,
        runtime=start.runtime or None,
        branch=draft.base if has_branch else "",
        reuses=draft.place == SAME,
        lifecycle=draft.lifecycle,
        prompt=prompt.strip() or None,
        profile=draft.profile,
        uses_worktree=has_branch,
        isolation=draft.wanted_isolation,
        parameters={"model": start.cli_model} if start.cli_model else {},
    )
    if allowed is not None:
        engine.worktrees.allow_setup(*allowed)
    return engine.work.begin(wish)


def find_repository(engine: Engine, session_id: str) -> Repository | None:
    """Return the repository of a session, with its branches; None: its folder lies in none."""
    work = engine.work.find(session_id)
    return engine.work.repository(Path(work.session.workspace if work.worktree is None else work.worktree.repository))


def find_committed(engine: Engine, session_id: str, found: ChangeSet) -> tuple[ChangeEntry, ...]:
    """Return the files that a session's branch has committed; none where nobody knows at which commit it began."""
    if found.ahead:
        with suppress(RunnerError):
            return engine.changes.committed(session_id)
    return ()


def preview_move(engine: Engine, session_id: str, verb: str, into: str) -> MergePreview:
    """Return what a merge, a rebase or an apply would do."""
    if verb == "apply":
        return engine.changes.preview_apply(session_id)
    return engine.changes.preview_merge(session_id, into)


def move(engine: Engine, session_id: str, verb: str, preview: MergePreview) -> Moved:
    """Merge, rebase or apply what was shown before."""
    changes = engine.changes
    if verb == "rebase":
        return changes.rebase(session_id, preview.into)
    if verb == "apply":
        return changes.apply(session_id)
    return changes.merge(session_id, preview.into, committed_only=bool(preview.uncommitted))


def promote(engine: Engine, session_id: str, found: Preflight, message: str) -> Promoted:
    """Push what was shown before, and open a pull request where `gh` can."""
    return engine.changes.promote(session_id, message, opens_pull_request=found.has_gh)


def hand_over(engine: Engine, session_id: str, into: str) -> None:
    """Ask a session's agent to resolve a conflict."""
    engine.live.send(session_id, engine.changes.hand_conflict_over(session_id, into))


def send_comments(engine: Engine, session_id: str, comments: Sequence[Comment]) -> int:
    """Send comments to a session's agent as one message, and return how many they are."""
    engine.live.send(session_id, engine.changes.comments_prompt(session_id, comments))
    return len(comments)
