"""Images that come from registries and go to them, and whose signatures count. Every method blocks."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path

from oulipoly_engine.core.images.changes import Change
from oulipoly_engine.core.images.credentials import Credentials
from oulipoly_engine.core.images.manifest import AGENT_KIND, Descriptor
from oulipoly_engine.core.images.references import Reference, parse_reference, qualify
from oulipoly_engine.core.images.refusals import ContentMissing
from oulipoly_engine.core.images.signature import SIGNATURE_KIND, Verification
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.facade.base.own_process import inherited_environment, parent_invocation, require_person
from oulipoly_engine.records import Record, replace
from oulipoly_engine.registry import transfer
from oulipoly_engine.registry.credentials import look_up
from oulipoly_engine.registry.remote import Remote
from oulipoly_engine.registry.transfer import EVERY_PLATFORM, Pulled
from oulipoly_engine.service.images import signatures
from oulipoly_engine.service.images.build import TRIES
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.tool_build import own_platform

__all__ = ["Candidate", "Transfer", "Verification"]

DEFAULT_REGISTRY = "127.0.0.1:5527"  # where `registry serve` answers


class Candidate(Record):
    """An image that was pulled and does not count yet."""

    reference: Reference
    pulled: Pulled
    before: Descriptor | None  # what its tag means now
    verification: Verification
    changes: tuple[Change, ...]  # against that
    platform: str = EVERY_PLATFORM  # whose part of an index was taken

    @property
    def is_same(self) -> bool:
        """Tell whether the tag means it already."""
        return self.before is not None and self.before.digest == self.pulled.entry.digest

    @property
    def is_weighty(self) -> bool:
        """Tell whether a person must look at what changes."""
        return any(change.is_weighty for change in self.changes)


class Transfer(Part):
    """Pull, push, sign and verify, for one user."""

    @cached_property
    def _images(self) -> Images:
        return Images(self._home.paths.images)

    def _remote(self, reference: Reference) -> Remote:
        qualified = qualify(reference, DEFAULT_REGISTRY)
        return Remote(qualified.registry, qualified.repository, self._find_login)

    def _find_login(self, registry: str) -> Credentials:
        return look_up(registry, inherited_environment(), self._home.paths.home)

    def pull(self, text: str, platform: str = "") -> Candidate:
        """Get the contents of an image, check them, and say what it would change; `accept` has it count.

        text: a reference; without a registry `registry serve` of this computer is asked. platform: what is taken of an
        index, `OS/ARCHITECTURE`; empty: what this computer runs; `all`: each. Raises UsageInvalid, ReferenceInvalid,
        ImageNotFound, ImageRefused, RegistryFailed, and SignatureRefused where the one who was pinned has not signed.
        """
        self._home.refuse_if_read_only("pull an image")
        reference = parse_reference(text)
        platform = platform or own_platform()
        if platform != EVERY_PLATFORM and platform.count("/") != 1:
            raise UsageInvalid(f"{platform[:80]!r} is not a platform: write linux/amd64, linux/arm64 or all")
        layout = self._images.layout
        pulled = transfer.pull(self._remote(reference), reference, layout, SIGNATURE_KIND, platform)
        about = tuple(data for _, data in pulled.signatures)
        with self._home.lend_store_to_read() as store:
            verification = signatures.verify(store, layout, reference, pulled.entry.digest, about)
        signatures.require(verification, reference)
        before = layout.find(reference.name, reference.tag)
        changes = self._compare(reference, before, pulled)
        return Candidate(reference, pulled, before, verification, changes, platform)

    def _compare(self, reference: Reference, before: Descriptor | None, pulled: Pulled) -> tuple[Change, ...]:
        """Return what an update changes; of a tool or a runtime no more is known than that it is another one."""
        entry = pulled.entry
        if before is None or before.digest == entry.digest:
            return ()
        if {entry.artifact_type, self._images.manifest(before).artifact_type} != {AGENT_KIND}:
            return (Change("tools", reference.tagged, before.digest, entry.digest),)
        old = self._images.load(before.digest)
        new = self._images.check(Reference(""), pulled.entry, pulled.manifest)
        return self._images.compare(old, new)

    def accept(self, candidate: Candidate) -> None:
        """Have a pulled image count, and pin its signer where it is the first.

        Raises RequestRefused where an agent would have a tag mean another image. An agent pins nobody.
        """
        reference = candidate.reference
        if candidate.before is not None and not candidate.is_same:
            require_person(f"accept an update of {reference.tagged}")
        if candidate.verification.verdict == "new" and parent_invocation() is None:
            with self._home.lend_store() as store:
                for key in candidate.verification.signers[:1]:
                    signatures.pin(store, reference, key, self._home.clock)
        layout = self._images.layout
        for _ in range(TRIES - 1):
            with suppress(ContentMissing):
                transfer.settle_pulled(candidate.pulled, reference, layout)
                return
            # Another process has removed an image with the same contents meanwhile.
            transfer.pull(
                self._remote(reference),
                replace(reference, digest=candidate.pulled.entry.digest),
                layout,
                SIGNATURE_KIND,
                candidate.platform,
            )
        transfer.settle_pulled(candidate.pulled, reference, layout)

    def push(self, text: str, target: str = "") -> tuple[Reference, Descriptor]:
        """Put an image into a registry with its signatures; return where to, and what. target: another reference there.

        Raises as `pull`.
        """
        _, entry = self._images.resolve(text)
        self._images.require_parts(entry)
        reference = qualify(parse_reference(target or text), DEFAULT_REGISTRY)
        transfer.push(self._remote(reference), entry, reference.tag, self._images.layout)
        return reference, entry

    def sign(self, text: str, key_file: Path | None) -> tuple[Reference, Descriptor, str]:
        """Sign an image, and pin the key for its name; return it, and the fingerprint of the key.

        key_file: None: the user's own, made at the first use. Raises SignatureRefused, ImageNotFound, and
        RequestRefused in what an agent has started.
        """
        self._home.refuse_if_read_only("sign an image")
        require_person("sign an image")
        reference, entry = self._images.resolve(text)
        key = signatures.sign(self._images.layout, reference, entry, key_file or self._home.paths.signing_key)
        with self._home.lend_store() as store:
            signatures.pin(store, reference, key, self._home.clock)
        return reference, entry, key

    def verify(self, text: str) -> tuple[Reference, Descriptor, Verification]:
        """Return what the signatures of an image say. Raises ImageNotFound, ReferenceInvalid."""
        reference, entry = self._images.resolve(text)
        about = signatures.stored_signatures(self._images.layout, entry.digest)
        with self._home.lend_store_to_read() as store:
            return reference, entry, signatures.verify(store, self._images.layout, reference, entry.digest, about)

    def require_verified(self, text: str) -> Descriptor:
        """Return an image that may be run by what its signatures say. Raises SignatureRefused, and as `verify`."""
        reference, entry, verification = self.verify(text)
        signatures.require(verification, reference)
        return entry
