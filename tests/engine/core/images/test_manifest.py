"""Images: the same parts give the same bytes, and what an image of somebody else claims is checked."""

import json

import pytest

from oulipoly_engine.core.images import manifest as images
from oulipoly_engine.core.images.parser import parse_agentfile
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ImageRefused
from oulipoly_engine.records import replace

SOURCE = b"""\
FROM scratch
NAME meteo
LABEL b=1
LABEL a=2
CONTEXT SOUL <<E
x
E
CONTEXT K file://k.md
ADD c.json
ENV A=b
"""
FILES = {"context K": b"know", "add c.json": b"{}"}


def build(source=SOURCE, **options):
    return images.build_image(parse_agentfile(source), source, FILES, **options)


def test_the_manifest_has_the_media_types_and_the_order_of_the_contract():
    image = build(created="2026-01-02T03:04:05Z")
    document = json.loads(image.manifest)

    assert "application/vnd.openotters.agent.v1" == document["artifactType"]
    assert "application/vnd.openotters.agent.config.v1+json" == document["config"]["mediaType"]
    assert [
        ("application/vnd.openotters.agentfile", "Agentfile"),
        ("application/vnd.openotters.context.v1", "SOUL.md"),
        ("application/vnd.openotters.context.v1", "K.md"),
        ("application/octet-stream", "c.json"),
    ] == [(layer["mediaType"], layer["annotations"][images.TITLE]) for layer in document["layers"]]
    assert {images.TITLE: "meteo", images.CREATED: "2026-01-02T03:04:05Z", "a": "2", "b": "1"} == document[
        "annotations"
    ]
    assert images.digest_of(image.manifest) == image.descriptor.digest


def test_equal_parts_give_equal_bytes_and_a_label_pins_the_time():
    pinned = SOURCE + b"LABEL org.opencontainers.image.created=2020-01-01T00:00:00Z\n"

    assert build().manifest == build().manifest
    assert build(pinned, created="2026-01-02T03:04:05Z").manifest == build(pinned).manifest


def test_the_config_is_the_whole_agentfile_in_openotters_keys():
    image = build()
    config = image.contents[images.read_manifest(image.manifest).config.digest]

    assert parse_agentfile(SOURCE) == images.read_config(config)
    assert {"from", "name", "contexts", "adds", "labels", "envs"} == json.loads(config)["agent"].keys()
    assert [{"src": "c.json", "dst": "c.json"}] == json.loads(config)["agent"]["adds"]


def test_the_layers_are_those_that_are_declared():
    image = build()
    manifest = images.read_manifest(image.manifest)
    agentfile = parse_agentfile(SOURCE)
    layers = images.match_layers(agentfile, manifest)

    assert b"know" == image.contents[layers["context K"].digest]
    for wrong in (manifest.layers[:-1], (*manifest.layers, images.describe(b"", images.FILE_LAYER, "more"))):
        with pytest.raises(ImageRefused):
            images.match_layers(agentfile, replace(manifest, layers=wrong))


@pytest.mark.parametrize("title", ["../../escape", "/etc/passwd", "", ".x", "a/b", "a\0b"])
@pytest.mark.parametrize("media_type", [images.FILE_LAYER, images.CONTEXT_LAYER])
def test_a_title_that_is_not_a_plain_name_is_refused(title, media_type):
    manifest = images.Manifest(2, layers=(images.describe(b"", media_type, title),))

    with pytest.raises(ImageRefused):
        list(images.titled_layers(manifest))


def test_a_context_that_is_another_text_in_config_and_layer_is_refused():
    manifest = images.read_manifest(build().manifest)
    other = parse_agentfile(SOURCE.replace(b"\nx\n", b"\ny\n"))

    with pytest.raises(ImageRefused, match="another text"):
        images.match_layers(other, manifest)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schemaVersion":1,"manifests":[]}',
        b'{"schemaVersion":2}',
        b'{"schemaVersion":2,"config":{"mediaType":"a","digest":"sha256:..","size":1}}',
        b'{"schemaVersion":2,"config":{"mediaType":"a","digest":"sha256:' + b"a" * 64 + b'","size":-1}}',
        b'{"schemaVersion":2,"manifests":[],"config":{"mediaType":"a","digest":"sha256:' + b"a" * 64 + b'","size":1}}',
        b"[" * 100_000,
        b" " * (images.LONGEST_MANIFEST + 1),
    ],
)
def test_a_manifest_that_cannot_be_one_is_refused(data):
    with pytest.raises(ImageRefused):
        images.read_manifest(data)


def test_a_config_with_a_name_that_escapes_is_refused():
    with pytest.raises(AgentfileInvalid, match="NAME"):
        images.read_config(b'{"syntax":"","agent":{"from":"scratch","name":"../escape"}}')
