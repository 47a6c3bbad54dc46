"""Where an image was built from: a statement of in-toto, as SLSA has it, in an envelope that its publisher signs. Pure.

    manifest   artifactType application/vnd.in-toto+json, subject: the image
    └── layer    a DSSE envelope: the statement in base64, and signatures of it

It says no time and no place of a machine: who builds the same from the same commit says the same. Until it is signed,
anybody can have written it.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from oulipoly_engine.core.images.manifest import Descriptor, Image, encode, make_referrer
from oulipoly_engine.core.images.refusals import ImageRefused
from oulipoly_engine.records import Record, field, prepare, replace

PROVENANCE_KIND = "application/vnd.in-toto+json"
PROVENANCE_LAYER = "application/vnd.dsse.envelope.v1+json"
LONGEST_PROVENANCE = 64 << 10  # bytes
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:agent-runner:build:1"
_BUILDER = "urn:agent-runner"


class Source(Record):
    """What an image was built from."""

    digest: str  # of its Agentfile, or of a tool's program
    commit: str = ""  # of git; empty: it lay in no repository
    is_dirty: bool = False  # a file of it was not as in that commit
    path: str = ""  # of the Agentfile in the repository


class Provenance(Record):
    """What a statement says of an image."""

    source: Source
    builder: str  # its version
    signers: tuple[str, ...] = ()  # fingerprints of those of the image's signers who have signed it


class EnvelopeSignature(Record):
    """One signature of an envelope."""

    keyid: str  # the fingerprint of the key
    sig: str  # base64


class Envelope(Record):
    """A DSSE envelope, version 1."""

    payload_type: str = field(name="payloadType")
    payload: str  # base64
    signatures: tuple[EnvelopeSignature, ...] = ()

    @property
    def statement(self) -> bytes:
        """Return what it holds. Raises ImageRefused."""
        return _decode(self.payload)

    @property
    def signed_bytes(self) -> bytes:
        """Return what is signed: `PAE` of DSSE 1. Raises ImageRefused."""
        kind = self.payload_type.encode()
        body = self.statement
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)

    def sign(self, keyid: str, signature: bytes) -> Envelope:
        """Return the same with a signature, in place of one of that key."""
        others = tuple(each for each in self.signatures if each.keyid != keyid)
        return replace(self, signatures=(*others, EnvelopeSignature(keyid, base64.b64encode(signature).decode())))

    def find_signature(self, keyid: str) -> bytes:
        """Return the signature of a key; empty: there is none. Raises ImageRefused."""
        return next((_decode(each.sig) for each in self.signatures if each.keyid == keyid), b"")


class _Resource(Record, omit_defaults=True):
    digest: dict[str, str]
    name: str = ""
    annotations: dict[str, bool] = field(default_factory=dict)


class _Definition(Record):
    build_type: str = field(name="buildType")
    dependencies: tuple[_Resource, ...] = field(name="resolvedDependencies")
    parameters: dict[str, str] = field(name="externalParameters", default_factory=dict)


class _Builder(Record):
    id: str
    version: dict[str, str] = field(default_factory=dict)


class _Details(Record):
    builder: _Builder


class _Predicate(Record):
    definition: _Definition = field(name="buildDefinition")
    details: _Details = field(name="runDetails")


class _Statement(Record):
    type: str = field(name="_type")
    subject: tuple[_Resource, ...]
    predicate_type: str = field(name="predicateType")
    predicate: _Predicate


def make_envelope(image: str, source: Source, version: str) -> Envelope:
    """Return the statement of a build, unsigned. image: its digest; version: of the builder."""
    parts = [_Resource(_split(source.digest), "source")]
    if source.commit:
        parts.append(_Resource({"gitCommit": source.commit}, "git", {"dirty": source.is_dirty}))
    predicate = _Predicate(
        _Definition(_BUILD_TYPE, tuple(parts), {"path": source.path} if source.path else {}),
        _Details(_Builder(_BUILDER, {"agent-runner": version})),
    )
    statement = encode(_Statement(_STATEMENT, (_Resource(_split(image)),), _PREDICATE, predicate))
    return Envelope(PROVENANCE_KIND, base64.b64encode(statement).decode())


def make_provenance(subject: Descriptor, envelope: Envelope) -> Image:
    """Return an envelope as what is stored and pushed."""
    return make_referrer(subject, PROVENANCE_KIND, encode(envelope), PROVENANCE_LAYER)


def read_envelope(data: bytes) -> Envelope:
    """Return an envelope. Raises ImageRefused."""
    try:
        return msgspec.json.decode(data, type=prepare(Envelope))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ImageRefused(f"a statement of where an image was built cannot be read: {error}") from error


def read_provenance(envelope: Envelope, image: str) -> Provenance:
    """Return what a statement says. image: the digest of the image that it must be about. Raises ImageRefused."""
    try:
        statement = msgspec.json.decode(envelope.statement, type=prepare(_Statement))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ImageRefused(f"a statement of where an image was built cannot be read: {error}") from error
    if (statement.type, statement.predicate_type) != (_STATEMENT, _PREDICATE):
        raise ImageRefused("a statement about an image is not of the kind that says where it was built")
    if all(each.digest != _split(image) for each in statement.subject):
        raise ImageRefused(f"a statement of where an image was built is not about {image}")
    definition = statement.predicate.definition
    parts = {each.name: each for each in definition.dependencies}
    git = parts.get("git", _Resource({}))
    digest = ":".join(next(iter(parts.get("source", _Resource({})).digest.items()), ("", "")))
    source = Source(
        digest,
        git.digest.get("gitCommit", ""),
        git.annotations.get("dirty", False),
        definition.parameters.get("path", ""),
    )
    return Provenance(source, statement.predicate.details.builder.version.get("agent-runner", ""))


def _split(digest: str) -> dict[str, str]:
    algorithm, _, value = digest.partition(":")
    return {algorithm: value}


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ImageRefused("a statement of where an image was built is not base64") from error
