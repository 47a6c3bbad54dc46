"""Signatures of images: Ed25519 over the digest of a manifest, kept as a manifest that is about it. Pure.

    manifest   artifactType …oulipoly.signature.v1, subject: the image
    └── layer    JSON: what was signed, by which key

A signature says that its publisher has seen these bytes, not under which tag: who pulls by tag gets any image of
theirs, an older one too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Literal

import msgspec

from oulipoly_engine.core.images.manifest import Descriptor, Image, encode, make_referrer
from oulipoly_engine.core.images.refusals import SignatureRefused
from oulipoly_engine.records import Record, prepare

SIGNATURE_KIND = "application/vnd.oulipoly.signature.v1"
SIGNATURE_LAYER = "application/vnd.oulipoly.signature.v1+json"
LONGEST_SIGNATURE = 16 << 10  # bytes
_FIRST_LINE = b"agent-runner image signature v1\n"

# Verdict      the image is …
#   pinned     signed by the publisher that was pinned for its name
#   new        signed, and nobody was pinned for its name yet
#   unsigned   not signed, and nobody was pinned
#   refused    not signed by the one who was pinned
Verdict = Literal["pinned", "new", "unsigned", "refused"]


class Signature(Record):
    """What the layer of a signature says."""

    digest: str  # of the image's manifest
    public_key: str  # base64 of 32 bytes
    signature: str  # base64 of 64 bytes

    @property
    def key_bytes(self) -> bytes:
        """Return the public key. Raises SignatureRefused."""
        return _decode(self.public_key)

    @property
    def signature_bytes(self) -> bytes:
        """Return the signature. Raises SignatureRefused."""
        return _decode(self.signature)


class Verification(Record):
    """What the signatures of an image say."""

    verdict: Verdict
    signers: tuple[str, ...]  # fingerprints of the keys whose signatures are valid
    pinned: tuple[str, ...]  # those that were pinned for its name


def signed_bytes(digest: str) -> bytes:
    """Return what is signed of an image."""
    return _FIRST_LINE + digest.encode() + b"\n"


def fingerprint(public_key: bytes) -> str:
    """Return the name of a key: the SHA-256 of its 32 bytes, in hexadecimal digits."""
    return hashlib.sha256(public_key).hexdigest()


def make_signature(subject: Descriptor, public_key: bytes, signature: bytes) -> Image:
    """Return a signature as what is stored and pushed."""
    key, value = (base64.b64encode(data).decode() for data in (public_key, signature))
    layer = encode(Signature(subject.digest, key, value))
    return make_referrer(subject, SIGNATURE_KIND, layer, SIGNATURE_LAYER)


def read_signature(data: bytes) -> Signature:
    """Return what a signature's layer says. Raises SignatureRefused."""
    try:
        return msgspec.json.decode(data, type=prepare(Signature))
    except (msgspec.DecodeError, RecursionError) as error:
        raise SignatureRefused(f"a signature cannot be read: {error}") from error


def judge(signers: Iterable[str], pinned: Iterable[str]) -> Verification:
    """Return what the keys whose signatures are valid mean beside those that were pinned."""
    valid = tuple(signers)
    expected = tuple(pinned)
    if expected:
        verdict: Verdict = "pinned" if set(valid) & set(expected) else "refused"
    else:
        verdict = "new" if valid else "unsigned"
    return Verification(verdict, valid, expected)


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SignatureRefused("a signature is not base64") from error
