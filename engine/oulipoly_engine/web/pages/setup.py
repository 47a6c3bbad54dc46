"""The commands that a repository has run in new worktrees: shown whole, before a person allows just these."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.records import Record
from oulipoly_engine.web.access.viewer import check_command
from oulipoly_engine.web.api.machine import find_repository
from oulipoly_engine.web.pages.weights import weight_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from oulipoly_engine.facade.worktrees.worktrees import RepositorySetup
    from oulipoly_engine.web.pages.page import Page

_LONGEST = 20_000  # bytes that a page shows; longer ones are read and allowed on the computer
_OVERHEAD = 90  # of the markup of a command


class Asked(Record):
    """What a repository asks for, as a page shows it."""

    found: RepositorySetup

    @property
    def is_shown_whole(self) -> bool:
        """Tell whether a page holds all of it."""
        setup = self.found.setup
        words = (*setup.commands, *setup.copy, *setup.link)
        return sum(weight_of(one) + _OVERHEAD for one in words) <= _LONGEST


def look(page: Page, repository: str, base: str) -> tuple[Asked | None, str]:
    """Return what a repository asks for, or why nobody can tell."""
    try:
        return Asked(page.engine.worktrees.setup_of(find_repository(page.engine, page.viewer, repository), base)), ""
    except RunnerError as error:
        return None, error.message


def ask(page: Page, wish: Mapping[str, str], message: str = "", status: int = 403) -> Response:
    """Show the commands that stand between a person and a session. wish: the session's form."""
    folder = find_repository(page.engine, page.viewer, wish["repo_path"])
    found = page.engine.worktrees.setup_of(folder, wish.get("branch", ""))
    # ASCII, so that it comes back as it was: a page shows hidden characters as signs.
    return page.show("setup.html", status, asked=Asked(found), kept=json.dumps(wish), message=message)


def read_wish_back(page: Page) -> dict[str, str]:
    """Return the session's form that `ask` was given. Raises UsageInvalid."""
    try:
        wish = json.loads(page.field("session"))
    except ValueError:
        wish = None
    if not isinstance(wish, dict) or not all(isinstance(one, str) for one in wish.values()) or "repo_path" not in wish:
        raise UsageInvalid("the session's form is missing: begin again at /sessions/new")
    return wish


def refuse(page: Page, wish: Mapping[str, str]) -> None:
    """Say no to the commands that were shown, so that nothing asks for them any more."""
    with suppress(RunnerError):  # a session can begin without them whatever the repository is
        folder = find_repository(page.engine, page.viewer, wish["repo_path"])
        page.engine.worktrees.refuse_setup(folder, page.field("digest"))


def allow(page: Page, wish: Mapping[str, str]) -> None:
    """Allow the commands that were shown. Raises RunnerError; a code confirms the device on the way."""
    folder = find_repository(page.engine, page.viewer, wish["repo_path"])
    asked = Asked(page.engine.worktrees.setup_of(folder, wish.get("branch", "")))
    if page.field("digest") != asked.found.setup.digest:
        raise UsageInvalid("the commands have changed since they were shown to you: read them again, then answer")
    if not asked.is_shown_whole:
        raise UsageInvalid("they are too long to be read here: `agents worktree allow` on the computer shows them")
    if page.viewer.is_confirmed or not (code := page.field("code").strip()):
        check_command(page.viewer, "worktree allow")
    else:
        page.engine.web.confirm_by_code(page.viewer.device_id, code, page.request.state.address)
    page.engine.worktrees.allow_setup(folder, asked.found.setup.digest)
