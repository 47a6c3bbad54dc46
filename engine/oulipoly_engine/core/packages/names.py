"""Names of packages and of what they bring. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from oulipoly_engine.core.extensions.manifest import NAME
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.records import Record

# Behind a slash and in settings a package's name stands where these stand for something of ours.
_OURS = frozenset({"agents", "blobs", "builtin", "cli", "extension", "prompt", "project", "skill", "theme", "user"})
_UNFINISHED = "unfinished-"  # what a package is called while it is looked at
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NPM = re.compile(
    r"(?P<name>(@[a-z0-9][a-z0-9._~-]{0,80}/)?[a-z0-9][a-z0-9._~-]{0,120})(@(?P<version>[\w.+^~*-]{1,80}))?"
)

ARCHIVE_ENDS = (".tgz", ".tar.gz", ".tar")
_REF = r"[A-Za-z0-9][\w./+-]{0,200}"
_GITHUB = re.compile(rf"github:(?P<path>[A-Za-z0-9][\w-]{{0,38}}/[\w.-]{{1,100}}?)(\.git)?(@(?P<ref>{_REF}))?")
_SCP = r"(?P<scp>[a-z0-9][\w.-]*@[a-z0-9][\w.-]*:)"
_GIT = re.compile(rf"(git\+)?(?P<url>((https|http|ssh|file)://|{_SCP})[^\s#]{{1,1000}}?)(#(?P<ref>{_REF}))?", re.I)
_LOCAL = ("localhost", "127.0.0.1", "::1")


class GitAddress(Record):
    """A repository, and what of it."""

    url: str
    ref: str = ""  # a branch, a tag or a whole commit id; empty: what its HEAD is


def folder_name(name: str) -> str:
    """Return what a package's folder is called: `foo-oxi-tools` for `@foo/oxi-tools`. Raises PackageRefused."""
    safe = re.sub(r"[^a-z0-9_-]", "-", name.removeprefix("@").lower())
    if not NAME.fullmatch(safe):
        raise PackageRefused(f"{name[:80]!r} is not a name for a package: letters, digits, `-` and `_`, at most 64")
    if safe in _OURS or _DIGEST.fullmatch(safe) or safe.startswith(_UNFINISHED):
        raise PackageRefused(f"the package's name {name!r} is one of ours: rename it in its manifest")
    return safe


def part_name(file_name: str) -> str:
    """Return the name of what a package brings, from its file's; empty: none can be made of it."""
    safe = re.sub(r"[^a-z0-9_-]", "-", file_name.lower()).strip("-_")
    return safe if NAME.fullmatch(safe) else ""


def parse_npm(source: str) -> tuple[str, str]:
    """Return name and version, empty for the newest, of `npm:NAME[@VERSION]`. Raises PackageRefused."""
    parsed = _NPM.fullmatch(source.removeprefix("npm:"))
    if parsed is None:
        raise PackageRefused(f"{source[:120]!r} is not npm:NAME, npm:@SCOPE/NAME or one of them with @VERSION")
    return parsed["name"], parsed["version"] or ""


def parse_git(source: str) -> GitAddress | None:
    """Return the repository that `github:OWNER/REPO[@REF]` or an address of git names; None: it is none.

    An address ends in `.git` or begins with `git+`, and may have `#REF`. Raises PackageRefused.
    """
    if source.startswith("github:"):
        parsed = _GITHUB.fullmatch(source)
        if parsed is None:
            raise PackageRefused(f"{source[:120]!r} is not github:OWNER/REPO or github:OWNER/REPO@REF")
        return GitAddress(f"https://github.com/{parsed['path']}.git", parsed["ref"] or "")
    parsed = _GIT.fullmatch(source)
    is_marked = source.startswith("git+")
    if parsed is None and is_marked:
        raise PackageRefused(f"{source[:120]!r} is not an address of git: https, ssh or file, with #REF or without")
    if parsed is None or not (is_marked or parsed["url"].endswith(".git")):
        return None
    if not parsed["scp"]:
        check_address(parsed["url"], ("https", "ssh", "file"))
    return GitAddress(parsed["url"], parsed["ref"] or "")


def is_archive_address(source: str) -> bool:
    """Tell whether a source is the address of an archive. Raises PackageRefused for one that may not be asked."""
    if not source.lower().startswith(("https://", "http://")):
        return False
    if not urlsplit(source).path.endswith(ARCHIVE_ENDS):
        message = f"{source[:120]!r} is not the address of an archive ({', '.join(ARCHIVE_ENDS)}) or of git (.git)"
        raise PackageRefused(message)
    check_address(source, ("https",))
    return True


def check_address(url: str, schemes: tuple[str, ...]) -> None:
    """Raise PackageRefused for an address that others could answer for, or that has a password in it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        has_password = parts.password is not None
    except ValueError as error:
        raise PackageRefused(f"{url[:120]!r} is not an address: {error}") from error
    if (not host and parts.scheme.lower() != "file") or (host or "").startswith("-"):
        raise PackageRefused(f"{url[:120]!r} names no host")
    if has_password:
        raise PackageRefused("the address has a password in it, which would be kept: give it to git or to ~/.netrc")
    if parts.scheme.lower() not in schemes and not (parts.scheme.lower() == "http" and host in _LOCAL):
        others = " or ".join(f"{scheme}://" for scheme in schemes)
        raise PackageRefused(f"{parts.scheme}:// lets others answer in its place: use {others}")
