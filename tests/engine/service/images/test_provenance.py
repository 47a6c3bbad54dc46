"""Where images were built from: said beside them, signed with them, and never part of them."""

import subprocess

import msgspec
import pytest

from oulipoly_engine.core.images import provenance as core
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import ImageRefused
from oulipoly_engine.facade.images.documents import provenance_line
from oulipoly_engine.records import replace
from oulipoly_engine.service.images import provenance, signatures
from oulipoly_engine.service.images.build import build
from oulipoly_engine.service.images.images import Images

FILE = "FROM scratch\nNAME meteo\nCONTEXT K file://k.md\n"


@pytest.fixture
def repository(home, tmp_path):
    """Return the folder of an agent, committed in a repository."""
    folder = tmp_path / "repository/meteo"
    folder.mkdir(parents=True)
    (folder / "Agentfile").write_text(FILE)
    (folder / "k.md").write_text("know")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
        subprocess.run(("git", "-C", str(folder.parent), *words), check=True)
    return folder


def say(images):
    layout = images.layout
    digest = images.resolve("meteo")[1].digest
    about = signatures.stored_signatures(layout, digest)
    return provenance.list_provenance(layout, digest, signatures.find_signers(layout, digest, about))


def test_a_build_says_its_commit_and_is_no_other_image_for_that(repository, tmp_path):
    images = Images(tmp_path / "images")
    (repository / "other").write_text("it takes none of this")
    clean = build(images, repository, ())[1]
    (said,) = say(images)
    build(images, repository, ())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("Agentfile", "k.md"):
        (elsewhere / name).write_text((repository / name).read_text())

    assert (40, False, "meteo/Agentfile", ()) == (
        len(said.source.commit),
        said.source.is_dirty,
        said.source.path,
        said.signers,
    )
    assert (said,) == say(images)  # the same once
    assert clean.digest == build(images, elsewhere, ())[1].digest
    assert ["", said.source.commit] == sorted(each.source.commit for each in say(images))
    assert f"built from commit {said.source.commit[:12]} (meteo/Agentfile)" in provenance_line(said)
    (repository / "k.md").write_text("know more")
    build(images, repository, ())
    assert [True] == [each.source.is_dirty for each in say(images)]


def test_only_what_the_signers_of_the_image_have_signed_is_signed(repository, tmp_path):
    images = Images(tmp_path / "images")
    entry = build(images, repository, ())[1]
    reference = parse_reference("meteo")
    key = signatures.sign(images.layout, reference, entry, tmp_path / "key")
    (signed,) = say(images)
    forged = core.make_envelope(entry.digest, replace(signed.source, commit="f" * 40), "9").sign(key, b"x" * 64)
    stored = core.make_provenance(entry, forged)
    images.layout.settle(stored.contents.values(), stored.descriptor, stored.manifest, "meteo")
    build(images, repository, ())
    path = tmp_path / "meteo.json"
    path.write_bytes(images.export("meteo"))
    (other := Images(tmp_path / "other")).import_file(path)

    assert (key,) == signed.signers
    assert [(signed.source.commit, (key,)), ("f" * 40, ())] == [
        (each.source.commit, each.signers) for each in say(images)
    ]
    assert say(images) == say(other)
    assert "which nobody has signed" in provenance_line(say(images)[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"payload": "%"}, "not base64"),
        ({"payload": "e30="}, "cannot be read"),
        ({}, "is not about sha256:b"),
    ],
    ids=["base64", "JSON", "another image"],
)
def test_a_statement_that_says_something_else_is_none(change, words):
    envelope = replace(core.make_envelope("sha256:a", core.Source("sha256:c"), "1"), **change)

    with pytest.raises(ImageRefused, match=words):
        core.read_provenance(core.read_envelope(msgspec.json.encode(envelope)), "sha256:b")
