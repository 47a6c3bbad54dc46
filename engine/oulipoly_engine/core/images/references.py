"""References of images: NAME[:TAG][@DIGEST]. Pure.

A name is qualified where its first part is a registry: it has a `.` or a `:`, or is `localhost`.
"""

from __future__ import annotations

from oulipoly_engine.core.images.refusals import ReferenceInvalid
from oulipoly_engine.late_pattern import LatePattern
from oulipoly_engine.records import Record

DEFAULT_TAG = "latest"
_LONGEST = 512  # characters
_DIGEST = LatePattern(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_TAG = LatePattern(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_REPOSITORY = LatePattern(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_REGISTRY = LatePattern(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class Reference(Record):
    """A reference in its parts."""

    name: str  # with the registry where it names one
    tag: str = DEFAULT_TAG
    digest: str = ""  # "sha256:…": what it must be, whatever the tag says

    @property
    def registry(self) -> str:
        """Return the registry, `HOST[:PORT]`; empty: it names none."""
        first = self.name.partition("/")[0]
        return first if is_qualified(self.name) else ""

    @property
    def repository(self) -> str:
        """Return the name within the registry."""
        return self.name[len(self.registry) + 1 :] if self.registry else self.name

    @property
    def target(self) -> str:
        """Return what a registry is asked for: the digest where there is one, else the tag."""
        return self.digest or self.tag

    @property
    def tagged(self) -> str:
        """Return NAME:TAG, under which a store keeps it."""
        return f"{self.name}:{self.tag}"

    def __str__(self) -> str:
        """Return all of it as one text."""
        return f"{self.tagged}@{self.digest}" if self.digest else self.tagged


def parse_reference(text: str) -> Reference:
    """Return what a text refers to. Raises ReferenceInvalid."""
    before, at, digest = text.partition("@")
    cut = before.rfind(":")
    has_tag = cut > before.rfind("/")
    name = before[:cut] if has_tag else before
    reference = Reference(name, before[cut + 1 :] if has_tag else DEFAULT_TAG, digest)
    if len(text) > _LONGEST:
        raise ReferenceInvalid(f"{text[:60]!r}… is longer than {_LONGEST} characters: no registry takes that")
    if at and not is_digest(digest):
        raise ReferenceInvalid(f"{text!r} has a digest that is not sha256: and 64 hexadecimal digits")
    if not _TAG.fullmatch(reference.tag):
        raise ReferenceInvalid(f"{text!r} has a tag that is not letters, digits, `.`, `_`, `-`, at most 128")
    is_right = _REPOSITORY.fullmatch(reference.repository)
    if not is_right or (reference.registry and not _REGISTRY.fullmatch(reference.registry)):
        raise ReferenceInvalid(f"{text!r} is not a reference such as meteo:v1 or ghcr.io/owner/meteo:1.0.0")
    return reference


def is_digest(text: str) -> bool:
    """Tell whether a text is a digest that we can check."""
    return _DIGEST.fullmatch(text) is not None


def is_repository(text: str) -> bool:
    """Tell whether a text is a name within a registry."""
    return len(text) <= _LONGEST and _REPOSITORY.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    """Tell whether a text is a tag."""
    return _TAG.fullmatch(text) is not None


def is_qualified(name: str) -> bool:
    """Tell whether a name begins with a registry."""
    first, slash, _ = name.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def qualify(reference: Reference, registry: str) -> Reference:
    """Return a reference that names a registry: its own, or the given one, `HOST[:PORT]`."""
    return (
        reference if reference.registry else Reference(f"{registry}/{reference.name}", reference.tag, reference.digest)
    )


def mirror(text: str, registry: str) -> str:
    """Return under which reference a registry of ours keeps an image: below its own address, under the whole name."""
    return text if text.startswith(f"{registry}/") else f"{registry}/{text}"
