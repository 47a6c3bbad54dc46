"""How the CLI of a session that works in a worktree is started in a box: what it sees of the repository, and of us."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.agents.boxes import OF_WORK, work_box
from oulipoly_engine.core.agents.environment import box_environment
from oulipoly_engine.core.boxes.box import Access, Level, Mount, Network, list_branch_folders
from oulipoly_engine.core.worktrees.setup_file import setup_from
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import IsolationUnavailable, SystemRefused
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record
from oulipoly_engine.service.agents.logins import CLI_HOMES, CliAccount, CliBox, CliStart, start_cli_in_box
from oulipoly_engine.service.agents.start import AgentStart, list_cli_reads, list_logins, system_bin_dirs
from oulipoly_engine.service.worktrees.base.box_mounts import mount_tree
from oulipoly_engine.service.worktrees.base.git import PEOPLE, Git
from oulipoly_engine.service.worktrees.setup.files import make_folders

# Of the user's configuration of git, what a commit in the box needs to be as one outside; nothing that logs in.
_OF_GIT = r"^(user\.(name|email)|core\.(autocrlf|eol|symlinks)|filter\.lfs\.(clean|smudge|process|required))$"
_NO_UPKEEP = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"  # it would fail, for it writes more than a commit


class WorkPlace(Record):
    """Where a session works that stands in a box."""

    level: str
    worktree: Worktree
    root: Path  # a folder of ours for the box alone
    artifacts: Path  # the folder in which it leaves files for people
    addresses: tuple[str, ...] = ()  # that a sealed box reaches besides its model


def check_level(level: str) -> Level:
    """Return a level that this machine can give. Raises IsolationUnavailable, which names the fix."""
    if level not in tuple(Level):
        raise IsolationUnavailable(f"this release knows no isolation {level!r}: update it, or begin a new session")
    if obstacle := find_level(Level(level)).obstacle:
        raise IsolationUnavailable(f"{obstacle}; until then nothing is started, for it was to be held at {level}")
    return Level(level)


def start_in_worktree(place: WorkPlace, chosen: CliAccount, clock: Clock) -> CliStart:
    """Return how a CLI is started in the box of its worktree. Raises as `check_level` and `start_cli_in_box`."""
    level = check_level(place.level)
    tree = place.worktree
    root = place.root
    try:
        _prepare_root(place)
        mounts = (*mount_tree(Path(tree.path), tree.branch), *_list_linked(tree))
    except OSError as error:
        raise SystemRefused(f"the box of {tree.path} cannot be prepared: {error.strerror or error}") from error
    own = {"GIT_CONFIG_GLOBAL": str(root / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    own |= {name: value for name, value in inherited_environment().items() if name in PEOPLE}

    def make_start(program: str, homes: tuple[str, ...], network: Network) -> AgentStart:
        environment = {**dict(box_environment(str(root), system_bin_dirs(program))), **own}
        writes = (*list_logins(homes), str(place.artifacts))
        reads = list_cli_reads(program)
        box = work_box(level, str(root), tree.path, mounts, reads=reads, writes=writes, network=network)
        return AgentStart(environment, box, program=program)

    network = Network.PROXY if level is Level.SEALED else Network.SHARED
    box = CliBox("the session", place.level, root / CLI_HOMES, tree.path, network, place.addresses, make_start)
    return start_cli_in_box(box, chosen, clock)


def _prepare_root(place: WorkPlace) -> None:
    for name in (*OF_WORK, CLI_HOMES):
        make_folder(place.root / name)
    make_folder(place.artifacts)
    git = Path(place.worktree.git_folder)
    if not (git / "reftable").is_dir():
        for folder in list_branch_folders(str(git), place.worktree.branch):
            make_folders(git, Path(folder))
    listed = Git(Path(place.worktree.path)).run("config", "-z", "--get-regexp", _OF_GIT).stdout
    write_private(place.root / "gitconfig", (_NO_UPKEEP + "".join(_list_settings(os.fsdecode(listed)))).encode())


def _list_settings(listed: str) -> Iterator[str]:
    """Yield settings of git as lines of its file. listed: `KEY NEWLINE VALUE NUL` each."""
    for entry in listed.split("\0"):
        key, _, value = entry.partition("\n")
        section, _, name = key.rpartition(".")
        if section:
            head, _, rest = section.partition(".")
            yield f"[{head} {_quote(rest)}]\n" if rest else f"[{head}]\n"
            yield f"\t{name} = {_quote(value)}\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _list_linked(tree: Worktree) -> Iterator[Mount]:
    """Yield what the repository's settings link to from the worktree: it is read, where it lies in the checkout."""
    for name in setup_from(tree.settings).link:
        path = posixpath.join(tree.repository, name.rstrip("/"))
        yield Mount(path, Access.READ, is_optional=True, within=tree.repository)
