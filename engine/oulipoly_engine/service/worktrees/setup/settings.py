"""The repository's file of settings: found, and allowed once by a person in exactly its words."""

from __future__ import annotations

import os
from datetime import datetime

from oulipoly_engine.core.worktrees.setup_file import NAME, Setup, ask_for_commands, read_setup
from oulipoly_engine.core.worktrees.worktree_refusals import SetupInvalid, SetupNotAllowed
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.regular_files import CONFIGURATION_LIMIT, read_regular
from oulipoly_engine.service.worktrees.base.repository import Repository
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.grants import grants
from oulipoly_engine.store.live import live_requests


def find_setup(repository: Repository, commit: str) -> Setup:
    """Return the settings as a commit has them, or else as the main checkout has them. Raises SetupInvalid."""
    git = repository.git
    listed = os.fsdecode(git.check("ls-tree", "-z", "--full-tree", commit, "--", NAME))
    if listed.startswith("100"):
        blob = listed.split(None, 3)[2]
        return read_setup(_decode(git.check("cat-file", "blob", blob, output_limit=CONFIGURATION_LIMIT)))
    if listed:
        raise SetupInvalid(f"{NAME} is not a regular file: make it one")
    file = repository.folder / NAME
    if not os.path.lexists(file):
        return Setup()
    try:
        return read_setup(_decode(read_regular(file, CONFIGURATION_LIMIT, follows_links=False)))
    except OSError as error:
        raise SetupInvalid(f"{NAME} cannot be read: {error.strerror or error}") from error


def require_permission(store: Store, repository: Repository, setup: Setup, now: datetime) -> None:
    """Raise SetupNotAllowed, which shows the commands, unless a person has allowed them; a request asks for it then."""
    if _is_allowed(store, str(repository.git_folder), setup):
        return
    shown = "; ".join(setup.commands)
    prompt = ask_for_commands(str(repository.folder), setup)
    asker = str(repository.git_folder)
    request = live_requests.ask_once(store, "worktree", asker, setup.digest, "command_approval", prompt, now)
    raise SetupNotAllowed(
        f"{NAME} of {repository.folder} runs commands that nobody has allowed yet: {shown}. "
        "`agents worktree allow` shows and allows them, as does the inbox; `--no-setup` does without",
        digest=setup.digest,
        commands=list(setup.commands),
        request_id=request.request_id,
    )


def allow(store: Store, git_folder: str, digest: str, now: datetime, by: str) -> None:
    """Note that a person allows the commands that a digest stands for, and that the request for it is answered."""
    with store.write():
        grants.allow(store, git_folder, digest, now)
        live_requests.settle_asked(store, "worktree", git_folder, digest, now, decision="approve", by=by)


def require_permission_still(store: Store, worktree: Worktree, setup: Setup) -> None:
    """Raise SetupNotAllowed where the commands that a worktree was made with have been withdrawn since."""
    if _is_allowed(store, worktree.git_folder, setup):
        return
    raise SetupNotAllowed(
        f"the commands that the worktree of session {worktree.session_id} was made with are not allowed any more: "
        f"{'; '.join(setup.commands)}. `agents worktree allow` allows those that {NAME} has now; "
        "`worktree remove --force` does without",
        digest=setup.digest,
        commands=list(setup.commands),
    )


def _is_allowed(store: Store, git_folder: str, setup: Setup) -> bool:
    return not setup.commands or setup.digest in grants.list_allowed(store, git_folder)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SetupInvalid(f"{NAME} is not UTF-8") from error
