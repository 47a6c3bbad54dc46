"""A session's branch pushed to a remote repository, and where its pull request is made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.worktrees.changes import Preflight, Promoted
from oulipoly_engine.core.worktrees.compare_url import compare_url, without_login
from oulipoly_engine.core.worktrees.refusals import BranchRefused, PushRefused, RemoteMissing
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.service.worktrees.base.git import Git, describe_failure
from oulipoly_engine.service.worktrees.base.orders import line_of, look
from oulipoly_engine.service.worktrees.base.place import Checkout, base_reference, branch_of, commit_of
from oulipoly_engine.service.worktrees.changes.index import commit, has_staged
from oulipoly_engine.service.worktrees.changes.status import count_commits, uncommitted_files

_PREFIX = "awrapper/"  # contract B7
_TIMEOUT_S = 300.0  # hooks may run a repository's checks before a push
_GH_TIMEOUT_S = 60.0


def preflight(checkout: Checkout, branch: str = "", *, is_new_branch: bool = True) -> Preflight:
    """Return what `promote` would do, and what stands against it. Nothing is asked of the remote itself."""
    own = branch_of(checkout)
    base, start = base_reference(checkout)
    remote = _remote_of(checkout, base)
    base = base.removeprefix(f"{remote}/") if start.startswith("refs/remotes/") else base
    url = None if remote is None else _url_of(checkout.quiet, remote)
    target = branch or default_branch(checkout, own, is_new_branch=is_new_branch)
    ahead, behind = count_commits(checkout, start)
    uncommitted = len(uncommitted_files(checkout.quiet))
    problems = []
    if remote is None:
        problems.append("there is no remote repository: `git remote add origin ADDRESS` names one")
    if not uncommitted and ahead == 0:
        problems.append("there is nothing to push: the branch has no commit that its base has not")
    return Preflight(
        branch=own,
        target=target,
        base=base,
        remote=remote,
        remote_url=None if url is None else without_login(url),
        compare_url=None if url is None else compare_url(url, base or "HEAD", target),
        has_gh=_find_gh() is not None,
        ahead=ahead,
        behind=behind,
        uncommitted=uncommitted,
        problems=tuple(problems),
    )


def promote(
    checkout: Checkout,
    message: str = "",
    branch: str = "",
    *,
    is_new_branch: bool = True,
    opens_pull_request: bool = False,
) -> Promoted:
    """Commit everything, push it, and return where a pull request is made.

    branch: its name at the remote; empty: the default one. opens_pull_request: with `gh`, where that is installed.
    Raises MessageMissing where something is to be committed without a message, RemoteMissing, PushRefused,
    BranchRefused.
    """
    told = preflight(checkout, branch, is_new_branch=is_new_branch)
    _check_name(checkout.quiet, told.target)
    if told.remote is None:
        raise RemoteMissing(told.problems[0])
    if told.uncommitted or has_staged(checkout):
        commit(checkout, message, stages_all=True)
    head = commit_of(checkout.quiet, "HEAD")
    if head is None:
        raise BranchRefused("the branch has no commit yet: commit something first")
    _push(checkout, told.remote, told.target)
    url, is_pull_request = told.compare_url, False
    if opens_pull_request and told.has_gh:
        url, is_pull_request = _open_pull_request(checkout.root, told, message), True
    return Promoted(told.target, told.remote, pushed=True, commit=head, url=url, is_pull_request=is_pull_request)


def default_branch(checkout: Checkout, own: str, *, is_new_branch: bool) -> str:
    """Return the name at the remote: that of an existing branch, else one by the session's id (contract B7)."""
    if checkout.place.repository is None or not is_new_branch:
        return own
    return _PREFIX + checkout.place.session_id[:8]


def _check_name(quiet: Git, branch: str) -> None:
    if branch.startswith("-") or not look(quiet, "check-ref-format", f"refs/heads/{branch}").succeeded:
        raise BranchRefused(f"{branch!r} is not a valid name for a branch: choose one without blanks, `..`, `~` or `:`")


def _remote_of(checkout: Checkout, base: str) -> str | None:
    """Return the remote that the base, or the branch, belongs to; else `origin`, else the only one."""
    known = line_of(checkout.quiet, "remote").split()
    if base.partition("/")[0] in known:
        return base.partition("/")[0]
    for key in (f"branch.{base}.remote", f"branch.{checkout.place.branch}.remote", "remote.pushDefault"):
        result = look(checkout.quiet, "config", "--get", key)
        name = os.fsdecode(result.stdout).strip()
        if result.succeeded and name in known:
            return name
    return "origin" if "origin" in known else known[0] if len(known) == 1 else None


def _url_of(quiet: Git, remote: str) -> str | None:
    result = look(quiet, "remote", "get-url", "--push", "--", remote)
    return os.fsdecode(result.stdout).strip() or None if result.succeeded else None


def _is_relative(url: str) -> bool:
    """Tell whether an address is a path that does not begin at the root: no scheme, and no host before a colon."""
    return bool(url) and not url.startswith(("/", "~")) and ":" not in url.partition("/")[0]


def _push(checkout: Checkout, remote: str, branch: str) -> None:
    # The network is wanted here, and the repository's own hooks and credentials: a person asked for the push.
    allowed = {key: value for key, value in checkout.git.env.items() if key != "GIT_ALLOW_PROTOCOL"}
    folder = checkout.root
    url = _url_of(checkout.quiet, remote) or ""
    if _is_relative(url):
        # Git looks for it from where it stands, but it was written for the repository's own folder.
        admin = checkout.git.text("rev-parse", "--absolute-git-dir")
        allowed |= {"GIT_DIR": admin, "GIT_WORK_TREE": str(checkout.root)}
        folder = checkout.common.parent
    git = Git(folder, env=allowed)
    words = ("push", "--quiet", "--set-upstream", "--", remote, f"HEAD:refs/heads/{branch}")
    result = git.run(*words, hooks=True, timeout_s=_TIMEOUT_S)
    if result.succeeded:
        return
    said = redact(without_login(result.stderr.decode("utf-8", "replace")))
    if "[rejected]" in said or "non-fast-forward" in said:
        raise PushRefused(f"{remote} has other commits on {branch!r}: push to another branch, or fetch and merge them")
    lines = [line for line in said.splitlines() if line.strip()]
    raise PushRefused(f"{remote} did not take {branch!r}: {lines[0] if lines else describe_failure(result)}")


def _find_gh() -> str | None:
    return shutil.which("gh", path=_environment().get("PATH"))


def _environment() -> Mapping[str, str]:
    return inherited_environment()


def _open_pull_request(root: Path, told: Preflight, message: str) -> str:
    title, _, body = message.strip().partition("\n")
    words = ["gh", "pr", "create", "--head", told.target, "--title", title or told.target, "--body", body.strip()]
    words += ["--base", told.base] if told.base else []
    env = dict(_environment()) | {"GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"}
    result = run_script(EXEC, env, arguments=tuple(words), timeout_s=_GH_TIMEOUT_S, cwd=root)
    if not result.succeeded:
        way_out = f"; make it at {told.compare_url}" if told.compare_url else ""
        raise PushRefused(f"the branch is pushed, but gh made no pull request: {describe_failure(result)}{way_out}")
    lines = [line for line in result.stdout.decode("utf-8", "replace").split() if line.startswith("http")]
    return lines[-1] if lines else told.compare_url or ""
