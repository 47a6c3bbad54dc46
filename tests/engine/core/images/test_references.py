"""References of images."""

import pytest

from oulipoly_engine.core.images.references import is_qualified, mirror, parse_reference, qualify
from oulipoly_engine.core.images.refusals import ReferenceInvalid


@pytest.mark.parametrize(
    ("text", "name", "tag", "registry"),
    [
        ("meteo", "meteo", "latest", ""),
        ("meteo:v1", "meteo", "v1", ""),
        ("ghcr.io/o/a/meteo:1.0.0", "ghcr.io/o/a/meteo", "1.0.0", "ghcr.io"),
        ("localhost:5000/meteo", "localhost:5000/meteo", "latest", "localhost:5000"),
        ("localhost:5000/meteo:dev", "localhost:5000/meteo", "dev", "localhost:5000"),
        ("[::1]:5000/meteo:dev", "[::1]:5000/meteo", "dev", "[::1]:5000"),
    ],
)
def test_a_reference_is_split_and_its_tag_is_latest_where_it_has_none(text, name, tag, registry):
    reference = parse_reference(text)

    assert (name, tag, registry) == (reference.name, reference.tag, reference.registry)


def test_a_digest_says_what_a_registry_is_asked_for():
    digest = "sha256:" + "a" * 64

    assert digest == parse_reference(f"meteo@{digest}").target
    assert f"meteo:v1@{digest}" == str(parse_reference(f"meteo:v1@{digest}"))


@pytest.mark.parametrize(
    "text",
    ["", ":v1", "a:", "a@sha256:12", "a//b", "../a", "A/b", "a:b c", "ghcr.io/", "-a", "a:" + "t" * 129, "a" * 600],
)
def test_what_is_not_a_reference_is_refused(text):
    with pytest.raises(ReferenceInvalid):
        parse_reference(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bdd-base:v1", False),
        ("agents/x", False),
        ("127.0.0.1:5527/x", True),
        ("ghcr.io/x", True),
        ("localhost/foo", True),
    ],
)
def test_a_name_is_qualified_where_its_first_part_is_a_registry(text, expected):
    assert expected == is_qualified(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("foo", "127.0.0.1:5527/foo"),
        ("ghcr.io/o/b:latest", "127.0.0.1:5527/ghcr.io/o/b:latest"),
        ("localhost:5000/foo:v1", "127.0.0.1:5527/localhost:5000/foo:v1"),
        ("127.0.0.1:5527/foo:v1", "127.0.0.1:5527/foo:v1"),
    ],
)
def test_a_mirror_keeps_an_image_under_its_full_name(text, expected):
    assert expected == mirror(text, "127.0.0.1:5527")


def test_a_name_without_a_registry_gets_the_default_one():
    assert "reg.io/a:v1" == str(qualify(parse_reference("a:v1"), "reg.io"))
    assert "ghcr.io/a:v1" == str(qualify(parse_reference("ghcr.io/a:v1"), "reg.io"))
