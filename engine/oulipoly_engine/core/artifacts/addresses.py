"""How an artifact is named: a run id, a name within it, and a version. Pure.

A run id is any text of a caller's choice, or `scratchpad:<uuid>` for what an invocation keeps for itself, or
`return:<uuid>` for what it hands back. Contract: section 14; the addresses of the other two kinds are ours.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from oulipoly_engine.core.text.control_characters import replace_hidden
from oulipoly_engine.errors import ArtifactMisused
from oulipoly_engine.records import Record, replace

SCRATCHPAD, RETURN = "scratchpad:", "return:"
_SCHEME, _RUN = "store://", "run"
_PRIVATE = {"scratchpad": SCRATCHPAD, "return": RETURN}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_VERSION = re.compile(r"[1-9][0-9]{0,17}")  # SQLite's whole numbers have 63 bits
_LABEL = re.compile(r"[^\W\d][\w.-]{0,63}")
_LONGEST = 1024  # bytes of a name
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Address(Record):
    """Where an artifact lies. version: None: the latest one that is not removed, or the one with the label."""

    run: str
    name: str
    version: int | None = None
    label: str | None = None

    def at(self, version: int) -> Address:
        """Return the address of one version."""
        return replace(self, version=version, label=None)

    @property
    def text(self) -> str:
        """Return it as one word: `store://return/<uuid>/<name>/<version>`, all but `A-Za-z0-9-._~` as %XX."""
        kind = next((kind for kind, prefix in _PRIVATE.items() if self.run.startswith(prefix)), _RUN)
        place = self.run if kind == _RUN else self.run[len(_PRIVATE[kind]) :]
        last = () if self.version is None else (str(self.version),)
        return _SCHEME + "/".join((kind, _encode(place), _encode(self.name), *last))

    @property
    def short(self) -> str:
        """Return it as people type it, `RUN/NAME@VERSION`; as %XX only what would be read otherwise, or not be seen."""
        run, name = (replace_hidden(text.replace("%", "%25"), _encode_each) for text in (self.run, self.name))
        run = run.replace("/", "%2F")
        if run[:1] == "-" or run[:1].isspace():  # an option, or what nobody sees in front of a line
            run = _encode_each(run[0]) + run[1:]
        name = name.replace("@", "%40")
        if name.startswith("/"):  # behind the run `store:`
            name = "%2F" + name[1:]
        return f"{run}/{name}" + ("" if self.version is None else f"@{self.version}")


def scratchpad_of(uuid: str) -> str:
    """Return the run id of what an invocation keeps for itself."""
    return SCRATCHPAD + check_uuid(uuid)


def returns_of(uuid: str) -> str:
    """Return the run id of what an invocation hands back."""
    return RETURN + check_uuid(uuid)


def check_uuid(text: str) -> str:
    """Return an invocation's UUID in lower case. Raises ArtifactMisused."""
    if not _UUID.fullmatch(text.lower()):
        message = f"{text[:80]!r} is not the UUID of an invocation: give it as OULIPOLY_INVOCATION shows it"
        raise ArtifactMisused(message)
    return text.lower()


def check_key(text: str, what: str, forbidden: tuple[str, ...] = ()) -> str:
    """Return a run id, a name or an actor that may be stored. Raises ArtifactMisused.

    what: the option, for the message. forbidden: what it must not begin with.
    """
    if not text.strip():
        raise ArtifactMisused(f"{what} is empty: give one")
    for prefix in forbidden:
        if text.startswith(prefix):
            message = f"{what} {text[:80]!r} begins with {prefix!r}, which is kept for addresses of our own"
            raise ArtifactMisused(message)
    if (found := _CONTROL.search(text)) is not None:
        raise ArtifactMisused(
            f"{what} has the character U+{ord(found[0]):04X}, which no terminal and no file name shows: leave it out"
        )
    if len(text.encode()) > _LONGEST:
        raise ArtifactMisused(f"{what} has {len(text.encode())} bytes, and {_LONGEST} at most are kept: {text[:40]!r}…")
    return text


def check_run(text: str) -> str:
    """Return a run id of any kind. Raises ArtifactMisused."""
    for prefix in _PRIVATE.values():
        if text.startswith(prefix):
            return prefix + check_uuid(text[len(prefix) :])
    return check_key(text, "the run id")


def check_label(text: str) -> str:
    """Return a label: a letter, then letters, digits, `_`, `.` and `-`. Raises ArtifactMisused."""
    if not _LABEL.fullmatch(text):
        message = f"{text[:80]!r} is not a label: it begins with a letter, and has letters, digits, '_', '.' and '-'"
        raise ArtifactMisused(message)
    return text


def parse(text: str) -> Address:
    """Read an address: `store://…`, or `RUN/NAME`, with `@VERSION` or `@LABEL` behind it. Raises ArtifactMisused.

    In the short form only what would be read otherwise needs to be %XX: a slash of the run, an `@` of the name.
    """
    if text.startswith(_SCHEME):
        return _parse_whole(text)
    run, slash, rest = text.partition("/")
    name, at, last = rest.rpartition("@") if "@" in rest else (rest, "", "")
    if not slash or not run or not name:
        raise ArtifactMisused(f"{text[:80]!r} is not an address: give RUN/NAME, RUN/NAME@VERSION or store://…")
    run, name = (unquote(part, errors="surrogateescape") for part in (run, name))
    found = Address(check_run(run), check_key(name, "the name"))
    if not at:
        return found
    return found.at(int(last)) if _VERSION.fullmatch(last) else replace(found, label=check_label(last))


def parse_returned(text: str) -> Address:
    """Read the `version_id` of something returned. Raises ArtifactMisused for any other address."""
    found = _parse_whole(text) if text.startswith(f"{_SCHEME}return/") else None
    if found is None or found.version is None:
        message = f"{text[:120]!r} is not the address of something returned: store://return/UUID/NAME/VERSION"
        raise ArtifactMisused(message)
    return found


def _parse_whole(text: str) -> Address:
    kind, *parts = text.removeprefix(_SCHEME).split("/")
    if (kind != _RUN and kind not in _PRIVATE) or not 2 <= len(parts) <= 3 or not all(parts):
        message = f"{text[:120]!r} is not an address: store://return/UUID/NAME/VERSION, or …/run/RUN/NAME/VERSION"
        raise ArtifactMisused(message)
    place, name = (unquote(part, errors="surrogateescape") for part in parts[:2])
    run = check_run(place if kind == _RUN else _PRIVATE[kind] + place)
    found = Address(run, check_key(name, "the name"))
    if parts[2:]:
        if not _VERSION.fullmatch(parts[2]):
            raise ArtifactMisused(f"{parts[2][:40]!r} is not a version in {text[:120]!r}: versions count from 1")
        found = found.at(int(parts[2]))
    if found.text != text:
        raise ArtifactMisused(f"{text[:120]!r} is not written as addresses are: {found.text}")
    return found


def _encode(text: str) -> str:
    return quote(text, safe="")


def _encode_each(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
