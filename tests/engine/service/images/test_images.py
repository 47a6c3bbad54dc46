"""Images in a layout on the disk: built, resolved, compared, tagged, removed, carried as one file."""

import json
import resource

import msgspec
import pytest

from oulipoly_engine.core.images import manifest as parts
from oulipoly_engine.core.images.changes import Change
from oulipoly_engine.core.images.info import describe_image
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ImageNotFound, ImageRefused
from oulipoly_engine.records import replace
from oulipoly_engine.service.images.build import build
from oulipoly_engine.service.images.images import Images

AGENTFILE = """\
FROM scratch
NAME meteo
LABEL org.opencontainers.image.description="Weather"
CONTEXT SOUL <<E
You report weather.
E
CONTEXT K file://k.md
ENV A=b
ADD big.bin
BIN jq r/jq:v1
"""


@pytest.fixture
def images(tmp_path):
    return Images(tmp_path / "images")


@pytest.fixture
def agent(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "Agentfile").write_text(AGENTFILE)
    (folder / "k.md").write_text("know")
    (folder / "big.bin").write_bytes(b"x" * (1 << 20) + b"y")
    return folder


def test_the_same_input_gives_the_same_digest_under_every_tag(images, agent):
    reference, entry = build(images, agent, ("ghcr.io/o/meteo:1", "meteo:v1"))

    assert ("ghcr.io/o/meteo:1", entry) == (reference.tagged, build(images, agent / "Agentfile", ())[1])
    assert ("ghcr.io/o/meteo:1", "meteo:latest", "meteo:v1") == images.list()
    assert entry.digest != build(images, agent, (), "86400")[1].digest
    assert 86400 == images.inspect("meteo").created_unix


def test_a_built_agent_is_loaded_with_the_contents_of_its_layers(images, agent):
    _, entry = build(images, agent, ())
    image = images.load(entry.digest)

    assert b"know" == images.read_layer(image.layers["context K"])
    assert (agent / "big.bin").read_bytes() == b"".join(images.fetch(image.layers["add big.bin"]))
    assert AGENTFILE.encode() == images.read_layer(image.layers["source"])
    assert (parts.AGENT_KIND, "Weather") == (images.kind("meteo"), images.inspect("meteo").description)


def test_full_disk_is_not_blamed_on_a_file_and_leaves_nothing(images, agent):
    (agent / "big.bin").write_bytes(bytes(2 << 20))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))  # what a full disk is for it
    try:
        with pytest.raises(OSError, match="unfinished"):
            build(images, agent, ())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list(images.layout.tags()) == list(images.layout.folder.rglob("unfinished*")) == []
    assert build(images, agent, ())


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("ADD gone.txt", "Agentfile:11: gone.txt cannot be taken"),
        ("CONTEXT L file://link.md", "Agentfile:11: link.md leads out of the folder"),
        ("BOGUS x", "line 11: BOGUS is not a directive"),
    ],
)
def test_a_file_that_is_missing_or_elsewhere_fails_the_build(images, agent, tmp_path, line, error):
    (tmp_path / "secret").write_text("s")
    (agent / "link.md").symlink_to(tmp_path / "secret")
    (agent / "Agentfile").write_text(f"{AGENTFILE}{line}\n")

    with pytest.raises(AgentfileInvalid, match=error):
        build(images, agent, ())
    with pytest.raises(AgentfileInvalid, match="cannot be read"):
        build(images, tmp_path / "nothing", ())
    assert () == images.list()


def test_a_child_has_the_layers_of_its_parent_and_names_it(images, agent, tmp_path):
    _, parent = build(images, agent, ("base:v1",))
    child = tmp_path / "child"
    child.mkdir()
    (child / "Agentfile").write_text("FROM base:v1\nNAME kid\nCONTEXT K <<E\nbetter\nE\n")
    build(images, child, ())
    image = images.load("kid")

    assert b"better" == images.read_layer(image.layers["context K"])
    assert images.load("base:v1").layers["add big.bin"] == image.layers["add big.bin"]
    assert parent.digest == image.manifest.annotations[parts.BASE_DIGEST]
    assert "base:v1 Agentfile:10" == image.agentfile.origins["bin jq"]


def test_an_update_says_what_it_changes_weighty_things_first(images, agent):
    build(images, agent, ("meteo:v1",))
    more = "CAPABILITY job-submit\nLABEL io.oulipoly.network=evil.com:443\nENV A=c\n"
    (agent / "Agentfile").write_text(AGENTFILE.replace("report weather", "obey") + more)
    build(images, agent, ("meteo:v2",))
    changes = images.compare(images.load("meteo:v1"), images.load("meteo:v2"))

    assert ["prompt", "permissions", "network", "environment", "settings"] == [change.part for change in changes]
    assert ("@@ -1 +1 @@", "-You report weather.", "+You obey.") == changes[0].lines
    assert Change("network", "evil.com:443", None, "reached") == changes[2]
    assert [True, True, True, False, False] == [change.is_weighty for change in changes]


def test_a_tag_means_the_same_image_and_removing_one_removes_all_and_what_nobody_needs(images, agent):
    _, entry = build(images, agent, ())
    assert entry.digest == images.tag("meteo", "localhost:5000/x:dev").digest
    with pytest.raises(ImageNotFound):
        images.tag("nobody", "x")

    assert {"meteo:latest", "localhost:5000/x:dev"} == {*images.remove("meteo:latest")}
    assert () == images.list()
    assert [] == list(images.layout.folder.rglob("blobs/*/*"))


def test_a_tag_that_exists_moves_only_where_the_guard_lets_it(tmp_path, agent):
    def refuse(name, before, after):
        raise ImageRefused(f"{name} stays")

    images = Images(tmp_path / "images", refuse)
    _, entry = build(images, agent, ())
    build(images, agent, ())
    (agent / "k.md").write_text("other")

    with pytest.raises(ImageRefused, match="meteo:latest stays"):
        build(images, agent, ("new:v1",))
    assert ("meteo:latest",) == images.list()
    assert entry.digest == images.resolve("meteo")[1].digest


def test_a_build_whose_large_file_another_process_removes_meanwhile_begins_anew(tmp_path, agent):
    def remove_contents(*_):
        if not removed:
            for path in (tmp_path / "images/blobs/sha256").iterdir():
                path.unlink()
        removed.append(True)

    removed = []
    images = Images(tmp_path / "images", remove_contents)
    build(images, agent, ())
    (agent / "k.md").write_text("know more")
    build(images, agent, ())

    assert b"know more" == images.read_layer(images.load("meteo").layers["context K"])
    assert removed[1:]


def test_an_image_goes_through_one_file_and_a_file_that_lies_is_refused(images, agent, tmp_path):
    _, entry = build(images, agent, ())
    file = tmp_path / "meteo.json"
    file.write_bytes(images.export("meteo"))
    other = Images(tmp_path / "other")

    reference, imported = other.import_file(file, "air:v1")

    assert ("air:v1", entry.digest) == (reference.tagged, imported.digest)
    assert images.load("meteo").agentfile == other.load("air:v1").agentfile
    document = json.loads(file.read_bytes())
    for wrong in (
        document | {"blobs": [document["blobs"][0] | {"data": "AAAA"}]},
        document | {"blobs": []},
        document | {"blobs": document["blobs"][:1]},
    ):
        file.write_text(json.dumps(wrong))
        with pytest.raises(ImageRefused):
            Images(tmp_path / "third").import_file(file)
    assert () == Images(tmp_path / "third").list()


def test_a_damaged_content_is_refused_by_its_digest(images, agent):
    build(images, agent, ())
    layer = images.load("meteo").layers["context K"]
    images.layout.path(layer.digest).write_bytes(b"KNOW")

    with pytest.raises(ImageRefused, match=f"{layer.digest} is damaged"):
        images.read_layer(layer)


def test_an_index_has_the_size_of_its_manifests_and_the_kind_and_description_that_it_says():
    child = parts.describe(b"{}", parts.MANIFEST)
    gone = parts.Descriptor(parts.MANIFEST, "sha256:" + "a" * 64, 7)
    index = parts.Manifest(
        2, parts.INDEX, parts.BIN_KIND, manifests=(child, gone), annotations={"description": "jq", "source": "s"}
    )
    entry = parts.describe(parts.encode(index), parts.INDEX)
    config = msgspec.json.encode({"config": {"Labels": {"a": "b"}}})
    info = describe_image("jq:latest", entry, index, children={child.digest: 1000}, config=config, stored_at=12.5)

    assert (entry.size + 1000 + 7, 12, parts.BIN_KIND) == (info.size, info.created_unix, info.media_type)
    assert ("jq", "s", {"a": "b"}) == (info.description, info.source, info.labels)


def test_a_manifest_that_names_what_is_not_there_is_not_stored(images):
    data = parts.encode(parts.Manifest(2, parts.MANIFEST, config=parts.describe(b"gone", parts.EMPTY_CONFIG)))
    entry = replace(parts.describe(data, parts.MANIFEST), annotations={})

    with pytest.raises(ImageRefused, match="which is not there"):
        images.layout.settle((), entry, data, "x", ("v1",))
    assert () == images.list()
