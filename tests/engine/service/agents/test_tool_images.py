"""Programs of tools out of their images."""

import gzip
import io
import platform
import tarfile
from pathlib import Path

import pytest

from oulipoly_engine.core.images.manifest import (
    BIN_KIND,
    INDEX,
    MANIFEST,
    Image,
    Manifest,
    describe,
    encode,
)
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused
from oulipoly_engine.records import replace
from oulipoly_engine.service.agents.tool_images import find_program_name, place_program, read_usage
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.tool_build import ToolSource, build_tool

HERE = {
    "os": "linux",
    "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
}
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def archive(*entries):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            info.size = 0 if content is None else len(content)
            tar.addfile(info, None if content is None else io.BytesIO(content))
    return gzip.compress(data.getvalue())


def header(name, **fields):
    """A program's archive behind an entry that is nothing but a header."""
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return gzip.compress(info.tobuf() + gzip.decompress(archive(("jq", b"x"))))


def put(images, layers, where=HERE):
    config = describe(b"{}", "application/vnd.oci.empty.v1+json")
    contents = {config.digest: b"{}"}
    described = []
    for data, media_type, title in layers:
        layer = describe(data, media_type, title)
        contents[layer.digest] = data
        described.append(layer)
    manifest = encode(Manifest(2, MANIFEST, BIN_KIND, config, tuple(described)))
    child = replace(describe(manifest, MANIFEST), platform=where)
    images.put(Image(child, manifest, contents), parse_reference("example.com/jq-child"))
    index = encode(Manifest(2, INDEX, BIN_KIND, manifests=(child,)))
    images.put(Image(describe(index, INDEX), index, {}), parse_reference("example.com/jq"))


def test_program_is_taken_out_of_the_layer_for_this_machine(tmp_path):
    images = Images(tmp_path / "images")
    put(
        images,
        [(b"# usage", "text/markdown", "USAGE.md"), (archive(("./other", b"x"), ("jq", b"#!/bin/sh\n")), LAYER, "jq")],
    )
    digest = place_program(images, "example.com/jq", "jq", tmp_path / "jq")

    assert (tmp_path / "jq").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "jq").stat().st_mode & 0o777 == 0o755
    assert digest == images.resolve("example.com/jq")[1].digest
    assert read_usage(images, "example.com/jq") == "# usage"


def test_image_that_was_built_here_has_its_program_and_its_usage_and_the_same_digest_twice(tmp_path):
    images = Images(tmp_path / "images")
    (tmp_path / "jq.sh").write_text("#!/bin/sh\n")
    (tmp_path / "use.md").write_text("# use")
    own = {"org.opencontainers.image.version": "1.7"}
    source = ToolSource("jq", tmp_path / "jq.sh", usage=tmp_path / "use.md", annotations=own)
    first, second = (build_tool(images, source, (parse_reference(tag),)) for tag in ("example.com/jq", "b/jq:v1"))
    info = images.inspect("b/jq:v1")

    assert place_program(images, "example.com/jq", "jq", tmp_path / "jq") == first.digest == second.digest
    assert (tmp_path / "jq").read_text() == "#!/bin/sh\n"
    assert (read_usage(images, "b/jq:v1"), find_program_name(images, "b/jq:v1")) == ("# use", "jq")
    assert (info.media_type, info.annotations["org.opencontainers.image.version"]) == (BIN_KIND, "1.7")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "../x"}, "not a name of a tool"),
        ({"platform": "linux"}, "not a platform"),
        ({"program": Path("/none")}, "read"),
    ],
)
def test_tool_that_cannot_be_built_says_why(tmp_path, changes, words):
    source = replace(ToolSource("jq", Path("/bin/sh")), **changes)
    with pytest.raises(ImageRefused, match=words):
        build_tool(Images(tmp_path / "images"), source, (parse_reference("example.com/jq"),))


def test_layer_that_is_the_program_itself_is_taken(tmp_path):
    images = Images(tmp_path / "images")
    put(images, [(b"ELF", "application/octet-stream", "bin/jq")])
    place_program(images, "example.com/jq", "jq", tmp_path / "jq")

    assert (tmp_path / "jq").read_bytes() == b"ELF"


@pytest.mark.parametrize(
    ("layers", "where", "words"),
    [
        ([(archive(("jq", b"x")), LAYER, "jq")], {"os": "plan9", "architecture": "mips"}, "nothing for linux"),
        ([(archive(("jq", None)), LAYER, "jq")], HERE, "no program"),
        ([(b"not gzip", LAYER, "jq")], HERE, "cannot be unpacked"),
        ([(b"x", "text/markdown", "USAGE.md")], HERE, "no program"),
        ([(header("a", size=1 << 60), LAYER, "jq")], HERE, "unexpected end"),
        ([(header("a", pax_headers={"b": "c" * 5000}), LAYER, "jq")], HERE, "header of more than 4096"),
        ([(header("jq", type=tarfile.GNUTYPE_SPARSE)[:-8] + bytes(8), LAYER, "jq")], HERE, "CRC"),
    ],
    ids=["platform", "link", "damaged", "absent", "claims", "header", "checksum"],
)
def test_image_without_a_program_is_refused_and_writes_nothing(tmp_path, layers, where, words):
    images = Images(tmp_path / "images")
    put(images, layers, where)
    with pytest.raises(ImageRefused, match=words):
        place_program(images, "example.com/jq", "jq", tmp_path / "jq")

    assert not (tmp_path / "jq").exists()


def test_image_that_is_not_here_is_named(tmp_path):
    with pytest.raises(ImageNotFound, match="there is no image example"):
        place_program(Images(tmp_path / "images"), "example.com/jq", "jq", tmp_path / "jq")
