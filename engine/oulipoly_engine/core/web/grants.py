"""What a person has allowed, of every kind, in one form; each is kept where it was allowed. Pure.

| kind      | subject        | right                      | kept as                                      |
|-----------|----------------|----------------------------|----------------------------------------------|
| device    | its name       | its scopes                 | the device                                   |
| link      | its name       | its scopes                 | the same                                     |
| commands  | the repository | its commands, by a digest  | the permission of `worktree allow`           |
| project   | the folder     | its settings, by a digest  | the permission of `config trust`             |
| extension | its name       | one right, by a digest     | the same, for its files as they are          |
| publisher | an image's name | its key, by a digest       | the signature that was pinned at its first use |
| prompt    | an agent       | to prompt another agent    | the permission of `agent link`, by their ids |
| approval  | the session    | what its CLI asks no more  | the answer "for the session" of a request    |
| profile   | the session    | what it may do unasked     | the options that the session is opened with  |

A table of grants beside these would say each a second time: a device is its token, an approval and a profile end with
what has them, and a right that stood in two places could be withdrawn in one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.agents.capabilities import AGENT_PREFIX
from oulipoly_engine.core.extensions.installed import SUBJECT_PREFIX, describe_right
from oulipoly_engine.core.live.permissions import read_profile
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession
from oulipoly_engine.core.web.devices import Device
from oulipoly_engine.core.worktrees.setup_file import NAME
from oulipoly_engine.paths import PROJECT_FOLDER
from oulipoly_engine.records import Record

Kind = Literal["device", "link", "commands", "project", "extension", "publisher", "prompt", "approval", "profile"]
REVOKING: Mapping[Kind, str] = {
    "device": "shuts it out at once; it has to be paired anew",
    "link": "makes it worthless at once",
    "commands": "they run no more until they are allowed again",
    "project": "its settings count no more, until they are trusted again",
    "extension": "counts at its next call; `ext enable` asks for it again",
    "publisher": "the next image of that name that is signed pins its signer anew",
    "prompt": "counts at its next prompt; what is asked already is answered",
    "approval": "ends the session's process; the next one asks again",
    "profile": "ends the session's process; the next one asks first",
}
PUBLISHER_PREFIX = "publisher:"  # of a subject: then an image's name without its tag
PUBLISHER_RIGHT = "sign"
_ID_DIGITS = 12


class Grant(Record):
    """Something that a person has allowed."""

    grant_id: str
    kind: Kind
    subject: str
    right: str
    allowed_at: datetime
    digest: str | None = None  # SHA-256 of what may be run; None: the right says all
    revoked_at: datetime | None = None

    @property
    def revoking(self) -> str:
        """Return what revoking it does."""
        return REVOKING[self.kind]


def grant_of_device(device: Device) -> Grant:
    """Return what a device or a link may do."""
    kind: Kind = "link" if device.kind == "link" else "device"
    return Grant(device.device_id, kind, device.name, ", ".join(device.scopes), device.created_at)


def grant_by_digest(folder: str, digest: str, allowed_at: datetime, right: str = "") -> Grant:
    """Return what stands in the files of a folder and is allowed as it is: a repository's commands, settings.

    folder: git's own of a repository, or that of a project's settings; of an extension its subject.
    right: an extension's; others have none.
    """
    words = (f"{folder}\0{digest}\0{right}" if right else f"{folder}\0{digest}").encode("utf-8", "surrogatepass")
    grant_id = hashlib.sha256(words).hexdigest()[:_ID_DIGITS]
    if folder.startswith(PUBLISHER_PREFIX):
        signs = f"sign images of this name, by the key {digest[:16]}"
        return Grant(grant_id, "publisher", folder.removeprefix(PUBLISHER_PREFIX), signs, allowed_at, digest)
    if right:
        name = folder.removeprefix(SUBJECT_PREFIX)
        return Grant(grant_id, "extension", name, describe_right(right), allowed_at, digest)
    if folder.endswith(f"/{PROJECT_FOLDER}"):
        project = folder.removesuffix(f"/{PROJECT_FOLDER}")
        return Grant(grant_id, "project", project, f"have what its {PROJECT_FOLDER} sets count", allowed_at, digest)
    repository = folder.removesuffix("/.git")
    return Grant(grant_id, "commands", repository, f"run the commands of its {NAME}", allowed_at, digest)


def grant_of_link(source: tuple[str, str], target: tuple[str, str], allowed_at: datetime) -> Grant:
    """Return what an agent may have another one do. source, target: the id and the name of each."""
    grant_id = hashlib.sha256(f"{AGENT_PREFIX}{source[0]}\0{target[0]}".encode()).hexdigest()[:_ID_DIGITS]
    return Grant(grant_id, "prompt", source[1], f"prompt the agent {target[1]}", allowed_at)


def grant_of_approval(request: LiveRequest) -> Grant:
    """Return what a session may do without asking again, as its request was answered "for the session"."""
    allowed_at = request.resolved_at or request.created_at
    right = request.prompt.reach or request.prompt.title
    return Grant(request.request_id, "approval", request.session_id, right, allowed_at)


def grant_of_profile(session: LiveSession) -> Grant:
    """Return what a session may do without asking, as it was begun."""
    right = read_profile(session.opening.profile).replace("_", " ")
    if session.opening.never_asks:
        right = f"{right}, and asks nothing"
    return Grant(session.session_id, "profile", session.session_id, right, session.created_at)


def grant_document(grant: Grant) -> dict[str, Any]:
    """Return a grant as scripts get it (docs/json.md)."""
    return {
        "id": grant.grant_id,
        "kind": grant.kind,
        "subject": grant.subject,
        "right": grant.right,
        "digest": grant.digest,
        "allowed_at": to_text(grant.allowed_at),
        "revoked_at": None if grant.revoked_at is None else to_text(grant.revoked_at),
        "revoking": grant.revoking,
    }
