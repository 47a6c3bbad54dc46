"""Archives of packages from elsewhere: npm, repositories of git, and addresses of https. Nothing of a package runs.

A repository is fetched without its history and never checked out: git writes the files of one commit as an archive,
without the user's own filters, which a repository could ask for by its attributes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NoReturn
from urllib.parse import urlsplit

from oulipoly_engine import stopping
from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.core.packages import tree
from oulipoly_engine.core.packages.lock import SourceKind
from oulipoly_engine.core.packages.names import check_address, parse_git, parse_npm
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.private_files import open_private
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import Record

NETWORK_TIMEOUT_S = 30.0
_LINES = 3  # of what a program says when it fails
_NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Download(Record):
    """What has come."""

    archive: Path
    commit: str = ""  # of git


def download(source: str, kind: SourceKind, folder: Path, timeout_s: float) -> Download:
    """Get a package's archive into a folder. kind: npm, git or url. Raises PackageRefused, OSError."""
    if kind == "npm":
        return _pack(*parse_npm(source), folder, timeout_s)
    if kind == "git":
        return _fetch(source, folder, timeout_s)
    return _request(source, folder, timeout_s)


def _pack(name: str, version: str, folder: Path, timeout_s: float) -> Download:
    """Have npm download a package's archive into a folder, without running anything of it. Raises PackageRefused."""
    wish = f"{name}@{version}" if version else name
    settings = {"ignore_scripts": "true", "update_notifier": "false", "audit": "false", "fund": "false"}
    env = inherited_environment() | {f"npm_config_{key}": value for key, value in settings.items()}
    words = ("npm", "pack", "--ignore-scripts", "--pack-destination", str(folder), "--", wish)
    result = run_script(EXEC, env, arguments=words, timeout_s=timeout_s, cwd=folder)
    archives = sorted(folder.glob("*.tgz"))
    if result.succeeded and len(archives) == 1:
        return Download(archives[0])
    if result.exit_code == 127:
        raise PackageRefused(
            "npm is not installed, and npm: packages come through it: install Node.js, or get the .tgz"
        )
    if result.problem is not None:
        raise PackageRefused(f"npm could not get {wish}: {result.problem}: try again, or give a longer --timeout")
    lines = map(str.strip, result.stderr.decode("utf-8", "replace").splitlines())
    reasons = [line for line in lines if "error" in line]
    why = plain(redact("; ".join(reasons[:_LINES]))) or result.outcome
    raise PackageRefused(f"npm could not get {wish}: {why[:500]}: check the name and the network")


def _fetch(source: str, folder: Path, timeout_s: float) -> Download:
    """Get one commit of a repository. Raises PackageRefused."""
    address = parse_git(source)
    if address is None:
        raise PackageRefused(f"{source[:120]!r} is not an address of git")
    deadline = time.monotonic() + timeout_s
    repository = folder / "repository"
    archive = folder / "files.tar"

    def git(*words: str, more: Mapping[str, str] | None = None) -> ScriptResult:
        env = {name: value for name, value in inherited_environment().items() if name not in _LEADS_ELSEWHERE}
        env = (
            {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
            | env
            | {
                "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",  # `ext::` would run a command
                "GIT_TERMINAL_PROMPT": "0",
                "LC_ALL": "C",
                **(more or {}),
            }
        )
        left_s = max(0.1, deadline - time.monotonic())
        result = run_script(EXEC, env, arguments=("git", *words), timeout_s=left_s, cwd=folder)
        if not result.succeeded:
            _explain_git(address.url, result)
        return result

    git("init", "--quiet", "--bare", "--template=", str(repository), more=_NO_CONFIGURATION)
    at = ("-C", str(repository), "-c", f"core.hooksPath={os.devnull}")
    # Without a target what is fetched is FETCH_HEAD alone; a ref may be a whole commit id.
    options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules")
    git(*at, "fetch", *options, "--", address.url, address.ref or "HEAD")
    resolved = git(*at, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
    commit = resolved.stdout.decode("ascii", "replace").strip()
    git(*at, "archive", "--format=tar", "-o", str(archive), commit, more=_NO_CONFIGURATION)
    return Download(archive, commit)


# What a git that runs in a hook of another repository has: it would lead ours there.
_LEADS_ELSEWHERE = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
)


def _explain_git(url: str, result: ScriptResult) -> NoReturn:
    if result.exit_code == 127:
        raise PackageRefused("git is not installed, and packages of repositories come through it: install git")
    if result.problem is not None:
        raise PackageRefused(f"git could not get {url}: {result.problem}: try again, or give a longer --timeout")
    lines = [line.strip() for line in result.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    why = plain(redact("; ".join(lines[:_LINES]))) or result.outcome
    raise PackageRefused(f"git could not get {url}: {why[:500]}: check the address, the ref and the network")


def _request(url: str, folder: Path, timeout_s: float) -> Download:
    """Get an archive by HTTPS. Raises PackageRefused."""
    from http.client import HTTPException  # noqa: PLC0415 - with the next: 60 ms, few packages come so
    from urllib.error import HTTPError  # noqa: PLC0415 - see above
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # noqa: PLC0415 - see above

    class CheckedRedirects(HTTPRedirectHandler):
        def redirect_request(self, *words):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN202
            check_address(words[-1], ("https",))
            return super().redirect_request(*words)

    archive = folder / Path(urlsplit(url).path).name
    request = Request(url, headers={"User-Agent": "agent-runner"})  # noqa: S310 - its scheme is checked
    try:
        with build_opener(CheckedRedirects).open(request, timeout=timeout_s) as answer:
            _write(answer, archive, timeout_s)
    except HTTPError as error:
        with error:
            problem = f"the server answers {error.code} {error.reason}"
    except (HTTPException, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
    except OSError as error:
        if error.filename is not None:
            raise  # of what we write
        problem = str(getattr(error, "reason", None) or error)
    else:
        return Download(archive)
    raise PackageRefused(f"{url} could not be downloaded: {plain(redact(problem))}: check it and the network")


def _write(answer: IO[bytes], archive: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    size = 0
    with os.fdopen(open_private(archive, os.O_WRONLY | os.O_EXCL | os.O_NOFOLLOW), "wb") as file:
        while block := answer.read(BLOCK):
            stopping.check()
            size += len(block)
            tree.check_size(archive.name, 0, size)
            if time.monotonic() > deadline:
                raise PackageRefused(f"{archive.name} took longer than {timeout_s:g} s: give a longer --timeout")
            file.write(block)
