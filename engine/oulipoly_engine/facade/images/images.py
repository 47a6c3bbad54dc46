"""Images of agents: built, listed, inspected, compared, carried. Every method blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.core.images.changes import Change
from oulipoly_engine.core.images.info import ImageInfo
from oulipoly_engine.core.images.manifest import Descriptor
from oulipoly_engine.core.images.materials import Material, list_programs
from oulipoly_engine.core.images.provenance import Provenance
from oulipoly_engine.core.images.references import Reference, parse_reference
from oulipoly_engine.core.images.refusals import ImageNotFound
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.facade.base.own_process import inherited_environment, require_person
from oulipoly_engine.private_files import write_private
from oulipoly_engine.service.images import build as builder
from oulipoly_engine.service.images import images as service
from oulipoly_engine.service.images.images import AgentImage
from oulipoly_engine.service.images.tool_build import ToolSource, build_tool
from oulipoly_engine.service.transcripts.atomic_file import new_file

__all__ = ["AgentImage", "Images", "ToolSource"]

_SOURCE_DATE = "SOURCE_DATE_EPOCH"  # https://reproducible-builds.org/specs/source-date-epoch/


class Images(Part):
    """The images of one user."""

    @cached_property
    def _images(self) -> service.Images:
        return service.Images(self._home.paths.images, _guard_tag)

    def list(self) -> tuple[ImageInfo, ...]:
        """Return what is told of every NAME:TAG. Raises ImageRefused."""
        return self._images.list_entries()

    def inspect(self, text: str) -> ImageInfo:
        """Return what is told of an image. Raises ReferenceInvalid, ImageNotFound, ImageRefused."""
        return self._images.inspect(text)

    def load(self, text: str) -> AgentImage:
        """Return an agent's image, its claims checked. Raises as `inspect`, and AgentfileInvalid."""
        return self._images.load(text)

    def list_materials(self, text: str) -> tuple[ImageInfo, tuple[Material, ...]]:
        """Return an agent's image, and the images of its tools and of its runtime. Raises as `load`."""
        programs = list_programs(self.load(text).agentfile.agent)
        return self.inspect(text), tuple(Material(name, ref, self._find_info(ref)) for name, ref in programs)

    def list_provenance(self, text: str) -> tuple[Provenance, ...]:
        """Return what is said of where an image was built, what its signers have signed first. Raises as `inspect`."""
        from oulipoly_engine.service.images.provenance import list_provenance  # noqa: PLC0415 - few ask
        from oulipoly_engine.service.images.signatures import find_signers, stored_signatures  # noqa: PLC0415 - few ask

        layout = self._images.layout
        digest = self._images.resolve(text)[1].digest
        return list_provenance(layout, digest, find_signers(layout, digest, stored_signatures(layout, digest)))

    def _find_info(self, reference: str) -> ImageInfo | None:
        with suppress(ImageNotFound):
            return self.inspect(reference)
        return None

    def kind(self, text: str) -> str:
        """Return what a reference is an image of: its artifact type, or nothing. Raises as `inspect`."""
        return self._images.kind(text)

    def fetch(self, layer: Descriptor) -> Iterator[bytes]:
        """Yield a content of an image in blocks. Raises ImageRefused behind the last, if it is not what it says."""
        return self._images.fetch(layer)

    def compare(self, before: str, after: str) -> tuple[AgentImage, AgentImage, tuple[Change, ...]]:
        """Return two agents, and what differs. Raises as `load`."""
        old = self._images.load(before)
        new = self._images.load(after)
        return old, new, self._images.compare(old, new)

    def build(self, path: Path, tags: tuple[str, ...]) -> tuple[Reference, Descriptor]:
        """Build the image of an Agentfile, of its folder, or of an agent definition; return it and its reference.

        Raises AgentfileInvalid, ReferenceInvalid, and RequestRefused where an agent would replace an image.
        """
        with self._changing("build an image"):
            return builder.build(self._images, path, tags, inherited_environment().get(_SOURCE_DATE, ""))

    def build_text(self, data: bytes) -> tuple[Reference, Descriptor]:
        """Build the image of an Agentfile that has no files beside it; return it and what it is. Raises as `build`."""
        with TemporaryDirectory(prefix="agents-") as folder:
            write_private(Path(folder, "Agentfile"), data)
            return self.build(Path(folder), ())

    def build_tool(self, source: ToolSource, tags: tuple[str, ...]) -> tuple[Reference, Descriptor]:
        """Build the image of a tool; return it and its first reference. Raises ImageRefused, and as `build`."""
        references = tuple(map(parse_reference, tags))
        if not references:
            raise UsageInvalid("the image of a tool has no name of its own: give it one with -t REFERENCE")
        with self._changing("build an image"):
            return references[0], build_tool(self._images, source, references)

    def assemble(self, path: Path) -> tuple[AgentImage, Mapping[str, bytes]]:
        """Return the image that a path would give, and its contents by digest. Nothing is tagged. Raises as `build`."""
        with self._changing("build an image"):
            date = inherited_environment().get(_SOURCE_DATE, "")
            references, image = builder.assemble(self._images, path, (), date)
            checked = self._images.check(references[0], image.descriptor, image.manifest, image.contents)
        return checked, image.contents

    def tag(self, source: str, target: str) -> Descriptor:
        """Have another reference mean the same image. Raises as `inspect`, and as `build`."""
        with self._changing("tag an image"):
            return self._images.tag(source, target)

    def remove(self, text: str) -> tuple[str, ...]:
        """Remove an image with all its tags, and return those. Raises as `inspect`."""
        with self._changing("remove an image"):
            return self._images.remove(text)

    def export_to(self, text: str, path: Path, *, force: bool = False) -> int:
        """Write an image into one file, whole or not at all; return its bytes. force: in place of one that is there.

        Raises as `inspect`, FileExists, and OSError for what the file's folder refuses.
        """
        self._home.refuse_if_read_only("export an image")
        data = self._images.export(text)
        with new_file(path, force=force) as file:
            file.write(data)
        return len(data)

    def import_file(self, path: Path, target: str) -> tuple[Reference, Descriptor]:
        """Take in an exported image. target: a reference instead of its own. Raises as `inspect`, and as `build`."""
        with self._changing("import an image"):
            return self._images.import_file(path, target)

    @contextmanager
    def _changing(self, what: str) -> Iterator[None]:
        self._home.refuse_if_read_only(what)
        try:
            yield
        except OSError as error:
            place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            way = f"free some space, or mend the rights of {self._home.paths.images}"
            raise RunnerError(f"images cannot be written: {place}{error.strerror or error}: {way}") from error


def _guard_tag(name: str, _before: str, _after: str) -> None:
    """Keep an agent from having a name mean another image: whoever runs it next would not look."""
    require_person(f"have {name} mean another image")
