"""Say where images are built from, sign that, and read what is said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine import __version__
from oulipoly_engine.core.images.manifest import Descriptor, read_manifest
from oulipoly_engine.core.images.provenance import (
    LONGEST_PROVENANCE,
    PROVENANCE_KIND,
    PROVENANCE_LAYER,
    Envelope,
    Provenance,
    Source,
    make_envelope,
    make_provenance,
    read_envelope,
    read_provenance,
)
from oulipoly_engine.core.images.references import Reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused
from oulipoly_engine.registry.layout import Layout

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# ruff: noqa: PLC0415 - cryptography and git take 30 ms each, and most images need neither

_GIT_S = 5.0  # that git may take; what it cannot say in that time is not said
_MOST = 8  # statements that are read of an image


def find_source(digest: str, file: Path, others: Iterable[Path]) -> Source:
    """Return what an image is built from. file: its Agentfile or program; others: the files that it takes besides.

    A repository of git that cannot be read says nothing: that hinders no build.
    """
    real = Path(os.path.realpath(file))
    top = next((folder for folder in real.parents if os.path.lexists(folder / ".git")), None)
    if top is None:
        return Source(digest)
    from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
    from oulipoly_engine.service.worktrees.base.looking import for_looking, offline

    paths = [os.path.relpath(os.path.realpath(each), top) for each in (real, *others)]
    with suppress(GitFailed, OSError):
        git = for_looking(offline(Git(top, {"GIT_LITERAL_PATHSPECS": "1"})))
        commit = git.text("rev-parse", "--verify", "HEAD^{commit}", timeout_s=_GIT_S)
        words = ("status", "--porcelain", "--ignored", "--untracked-files=all", "--", *paths)
        is_outside = any(path.startswith("../") for path in paths)
        return Source(digest, commit, is_outside or bool(git.check(*words, timeout_s=_GIT_S)), paths[0])
    return Source(digest)


def attach(layout: Layout, references: Iterable[Reference], image: Descriptor, source: Source) -> None:
    """Keep the statement of a build beside its image, unless one says the same, signed or not. Raises OSError."""
    envelope = make_envelope(image.digest, source, __version__)
    if any(each.payload == envelope.payload for _, each in _list_envelopes(layout, image.digest)):
        return
    for reference in references:
        _keep(layout, reference, image, envelope)


def _keep(layout: Layout, reference: Reference, image: Descriptor, envelope: Envelope) -> None:
    stored = make_provenance(image, envelope)
    layout.settle(stored.contents.values(), stored.descriptor, stored.manifest, reference.name)


def sign_statements(
    layout: Layout, reference: Reference, image: Descriptor, key: Ed25519PrivateKey, keyid: str
) -> None:
    """Sign what is said of where an image was built, in place of the same unsigned. Raises OSError."""
    for entry, envelope in [*_list_envelopes(layout, image.digest)]:
        if not envelope.find_signature(keyid):
            _keep(layout, reference, image, envelope.sign(keyid, key.sign(envelope.signed_bytes)))
            layout.remove(lambda each, digest=entry.digest: each.digest == digest)  # type: ignore[misc]


def list_provenance(layout: Layout, image: str, keys: Mapping[str, bytes]) -> tuple[Provenance, ...]:
    """Return what is said of where an image was built, signed statements first.

    keys: those that have signed the image, by their fingerprints: no others count.
    """
    listed: dict[Provenance, tuple[str, ...]] = {}
    for _, envelope in _list_envelopes(layout, image):
        with suppress(ImageRefused):
            said = read_provenance(envelope, image)
            signers = [keyid for keyid, key in keys.items() if _is_signed(envelope, keyid, key)]
            listed[said] = tuple(dict.fromkeys((*listed.get(said, ()), *signers)))
    statements = (Provenance(said.source, said.builder, signers) for said, signers in listed.items())
    return tuple(sorted(statements, key=lambda each: not each.signers))


def _is_signed(envelope: Envelope, keyid: str, key: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(envelope.find_signature(keyid), envelope.signed_bytes)
    except (InvalidSignature, ImageRefused, ValueError):
        return False
    return True


def _list_envelopes(layout: Layout, image: str) -> Iterator[tuple[Descriptor, Envelope]]:
    """Yield the statements that are kept about an image; what cannot be read is none."""
    about = [entry for entry, manifest in layout.referrers(image) if manifest.kind == PROVENANCE_KIND]
    for entry in about[:_MOST]:
        with suppress(ImageRefused, ImageNotFound):
            layers = read_manifest(layout.read(entry.digest, entry.size)).layers
            data = next(
                (
                    layout.read(each.digest, LONGEST_PROVENANCE)
                    for each in layers
                    if each.media_type == PROVENANCE_LAYER
                ),
                b"",
            )
            yield entry, read_envelope(data)
