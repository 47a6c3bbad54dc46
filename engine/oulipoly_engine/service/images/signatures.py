"""Sign images, check their signatures, and remember publishers in the book of grants."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.images.manifest import Descriptor, read_manifest
from oulipoly_engine.core.images.references import Reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused, SignatureRefused
from oulipoly_engine.core.images.signature import (
    LONGEST_SIGNATURE,
    SIGNATURE_KIND,
    SIGNATURE_LAYER,
    Verification,
    fingerprint,
    judge,
    make_signature,
    read_signature,
    signed_bytes,
)
from oulipoly_engine.core.web.grants import PUBLISHER_PREFIX, PUBLISHER_RIGHT
from oulipoly_engine.private_files import keep_first, make_folder
from oulipoly_engine.registry.layout import Layout
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.images.provenance import sign_statements
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.grants import grants

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# ruff: noqa: PLC0415 - cryptography takes 30 ms, and only what is signed needs it


def sign(layout: Layout, reference: Reference, entry: Descriptor, key_file: Path) -> str:
    """Sign an image and keep the signature beside it; return the key's fingerprint.

    key_file: a PEM of an Ed25519 key without a password; made where it is missing. Raises SignatureRefused, OSError.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = _load_key(key_file)
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = make_signature(entry, public, key.sign(signed_bytes(entry.digest)))
    layout.settle(signature.contents.values(), signature.descriptor, signature.manifest, reference.name)
    sign_statements(layout, reference, entry, key, fingerprint(public))
    return fingerprint(public)


def _load_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    if not os.path.lexists(path):
        fresh = Ed25519PrivateKey.generate()
        make_folder(path.parent)
        keep_first(path, fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    try:
        key = load_pem_private_key(read_regular(path, 64 << 10), None)
    except (OSError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None) or "it is not a PEM of a key without a password"
        raise SignatureRefused(f"the key {path} cannot be used: {why}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureRefused(f"the key {path} is not an Ed25519 key: `openssl genpkey -algorithm ed25519` makes one")
    return key


def find_signers(layout: Layout, digest: str, signatures: Iterable[bytes]) -> Mapping[str, bytes]:
    """Return the keys that have signed an image, by their fingerprints. signatures: manifests that are about it.

    A signature that is not valid counts nothing: anybody may add one.
    """
    return dict(_find_signers(layout, digest, signatures))


def _find_signers(layout: Layout, digest: str, signatures: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    for data in signatures:
        with suppress(InvalidSignature, SignatureRefused, ImageRefused, ImageNotFound, ValueError):
            layers = [each for each in read_manifest(data).layers if each.media_type == SIGNATURE_LAYER]
            signature = read_signature(layout.read(layers[0].digest, LONGEST_SIGNATURE) if layers else b"")
            key = Ed25519PublicKey.from_public_bytes(signature.key_bytes)
            key.verify(signature.signature_bytes, signed_bytes(digest))
            yield fingerprint(signature.key_bytes), signature.key_bytes


def stored_signatures(layout: Layout, digest: str) -> tuple[bytes, ...]:
    """Return the manifests of all signatures that are kept for an image."""
    about = (entry for entry, manifest in layout.referrers(digest) if manifest.kind == SIGNATURE_KIND)
    return tuple(layout.read(entry.digest, entry.size) for entry in about)


def verify(
    store: Store, layout: Layout, reference: Reference, digest: str, signatures: tuple[bytes, ...]
) -> Verification:
    """Return what the signatures of an image say, beside whom the user has pinned for its name."""
    signers = find_signers(layout, digest, signatures) if signatures else ()
    return judge(signers, grants.list_allowed(store, f"{PUBLISHER_PREFIX}{reference.name}"))


def require(verification: Verification, reference: Reference) -> None:
    """Raise SignatureRefused where an image lacks the signature of the publisher who was pinned."""
    if verification.verdict == "refused":
        pinned = ", ".join(key[:16] for key in verification.pinned)
        signers = ", ".join(key[:16] for key in verification.signers) or "nobody"
        raise SignatureRefused(
            f"{reference.tagged} is signed by {signers}, and {pinned} was pinned for {reference.name}: where you trust "
            "the new one, `agents grants list` and `agents grants revoke ID` forget the old one first"
        )


def pin(store: Store, reference: Reference, key: str, clock: Clock) -> None:
    """Remember the publisher of a name."""
    grants.allow(store, f"{PUBLISHER_PREFIX}{reference.name}", key, clock.now(), (PUBLISHER_RIGHT,))
