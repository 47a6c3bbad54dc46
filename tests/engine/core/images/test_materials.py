"""The bill of materials of an agent."""

from oulipoly_engine.core.images.info import ImageInfo
from oulipoly_engine.core.images.materials import Material, describe_materials, list_programs
from oulipoly_engine.core.images.parser import parse_agentfile

FILE = b"FROM scratch\nRUNTIME r/run:v1\nBIN jq ghcr.io/o/jq:1.7\nBIN gone r/gone@sha256:" + b"a" * 64
OCI = "org.opencontainers.image"
DIGEST = "sha256:" + "b" * 64


def image(ref, **annotations):
    named = {f"{OCI}.{key}": value for key, value in annotations.items()}
    return ImageInfo(ref, DIGEST, "k", 1, 0, "reads JSON", "https://example.com/jq", {}, named)


def test_each_program_has_its_digest_and_what_its_image_says():
    programs = dict(list_programs(parse_agentfile(FILE).agent))
    jq = image("ghcr.io/o/jq:1.7", version="1.7.1", licenses="MIT", vendor="o")
    materials = [Material(name, ref, jq if name == "jq" else None) for name, ref in programs.items()]
    document = describe_materials(image("meteo:v1"), materials)
    runtime, tool, gone = document["components"]

    assert ["runtime", "jq", "gone"] == list(programs)
    assert f"pkg:oci/jq@sha256%3A{'b' * 64}?repository_url=ghcr.io/o/jq&tag=1.7" == tool["purl"]
    assert ("jq", "1.7.1", [{"expression": "MIT"}]) == (tool["name"], tool["version"], tool["licenses"])
    assert [{"type": "vcs", "url": "https://example.com/jq"}] == tool["externalReferences"]
    assert "pkg:oci/run?repository_url=r/run&tag=v1" == runtime["purl"]
    assert "sha256:" + "a" * 64 == gone["version"]
    assert "io.oulipoly.absent" == gone["properties"][0]["name"]
    assert ["program:runtime", "program:jq", "program:gone"] == document["dependencies"][0]["dependsOn"]
