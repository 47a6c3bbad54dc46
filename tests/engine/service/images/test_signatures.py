"""Who has signed an image, whom the user has pinned, and what agents may not do."""

import json

import pytest

from oulipoly_engine.core.images import manifest as parts
from oulipoly_engine.core.images import signature as signing
from oulipoly_engine.core.images.refusals import SignatureRefused
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.images.transfer import Candidate
from oulipoly_engine.records import replace
from oulipoly_engine.registry.transfer import Pulled
from oulipoly_engine.service.images import signatures

PARENT = {"source": "a", "id": "11111111-1111-4111-8111-111111111111"}


@pytest.fixture
def engine(home, tmp_path):
    (tmp_path / "Agentfile").write_text("FROM scratch\nNAME meteo\n")
    engine = Engine()
    engine.images.build(tmp_path, ())
    yield engine
    engine.close()


@pytest.fixture
def as_agent(monkeypatch):
    return lambda: monkeypatch.setenv("OULIPOLY_PARENT_INVOCATION", json.dumps(PARENT))


def change(tmp_path, engine, line):
    with (tmp_path / "Agentfile").open("a") as file:
        file.write(line)
    return engine.images.build(tmp_path, ())


def test_a_signed_image_is_that_of_the_pinned_key_and_an_unsigned_one_behind_it_is_refused(engine, tmp_path):
    transfer = engine.image_transfer
    _, entry, verification = transfer.verify("meteo")
    assert ("unsigned", entry) == (verification.verdict, transfer.require_verified("meteo"))
    _, _, key = transfer.sign("meteo", None)

    assert signing.Verification("pinned", (key,), (key,)) == transfer.verify("meteo")[2]
    assert 0o600 == engine.paths.signing_key.stat().st_mode & 0o777
    assert ["publisher"] == [grant.kind for grant in engine.grants.list()]
    change(tmp_path, engine, "LABEL a=b\n")
    with pytest.raises(SignatureRefused, match="signed by nobody"):
        transfer.require_verified("meteo")


def test_another_key_is_refused_until_the_first_is_forgotten(engine, tmp_path):
    transfer = engine.image_transfer
    first = transfer.sign("meteo", None)[2]
    reference, entry = change(tmp_path, engine, "LABEL a=b\n")
    layout = transfer._images.layout
    other = signatures.sign(layout, reference, entry, tmp_path / "other.pem")

    assert signing.Verification("refused", (other,), (first,)) == transfer.verify("meteo")[2]
    engine.grants.revoke(engine.grants.list()[0].grant_id)
    assert "new" == transfer.verify("meteo")[2].verdict


def test_a_signature_that_is_not_valid_counts_nothing(engine):
    layout = engine.image_transfer._images.layout
    reference, entry = engine.image_transfer._images.resolve("meteo")
    other = parts.describe(b"another image", parts.MANIFEST)
    layers = (b"{}", b"", b'{"digest":"x","public_key":"%","signature":"%"}')
    forged = [signing.make_signature(entry, bytes(32), bytes(64)), signing.make_signature(other, b"short", b"x")]
    for layer in layers:
        manifest = parts.encode(
            parts.Manifest(
                2, parts.MANIFEST, signing.SIGNATURE_KIND, parts.describe(b"{}", parts.EMPTY_CONFIG),
                (parts.describe(layer, signing.SIGNATURE_LAYER),), subject=entry,
            )
        )  # fmt: skip
        contents = {"config": b"{}", "layer": layer}
        forged.append(parts.Image(parts.describe(manifest, parts.MANIFEST), manifest, contents))
    for image in forged:
        layout.settle(image.contents.values(), image.descriptor, image.manifest, reference.name)

    assert {} == signatures.find_signers(layout, entry.digest, [image.manifest for image in forged])


def test_an_agent_signs_nothing_pins_nobody_and_moves_no_tag(engine, tmp_path, as_agent):
    transfer = engine.image_transfer
    reference, entry = transfer._images.resolve("meteo")
    key = signatures.sign(transfer._images.layout, reference, entry, tmp_path / "key.pem")
    pulled = Pulled(entry, transfer._images.layout.read(entry.digest, entry.size), (), ())
    as_agent()

    with pytest.raises(RequestRefused, match="an agent may not sign an image"):
        transfer.sign("meteo", None)
    with pytest.raises(RequestRefused, match="an agent may not have meteo:latest mean another image"):
        change(tmp_path, engine, "LABEL a=b\n")
    found = transfer.verify("meteo")[2]
    assert (entry.digest, "new", (key,)) == (transfer._images.resolve("meteo")[1].digest, found.verdict, found.signers)
    transfer.accept(transfer_candidate(reference, pulled, found))
    assert () == engine.grants.list()
    with pytest.raises(RequestRefused, match="accept an update"):
        transfer.accept(transfer_candidate(reference, pulled, found, parts.describe(b"before", parts.MANIFEST)))


def test_another_program_under_the_name_of_a_tool_is_asked_about(engine):
    transfer = engine.image_transfer
    reference, before = transfer._images.resolve("meteo")
    tool = Pulled(replace(parts.describe(b"{}", parts.MANIFEST), artifact_type=parts.BIN_KIND), b"{}", (), ())
    (change,) = transfer._compare(reference, before, tool)

    assert ("tools", "meteo:latest", True) == (change.part, change.name, change.is_weighty)


def transfer_candidate(reference, pulled, verification, before=None):
    return Candidate(reference, pulled, before, verification, ())


def test_an_agent_cannot_forget_whom_a_person_has_pinned(engine, as_agent):
    engine.image_transfer.sign("meteo", None)
    grant = engine.grants.list()[0]
    as_agent()

    with pytest.raises(RequestRefused, match="an agent may not forget"):
        engine.grants.revoke(grant.grant_id)
    assert [grant] == list(engine.grants.list())


def test_a_key_of_another_kind_is_refused(engine, tmp_path):
    (tmp_path / "k.pem").write_text("nothing")

    with pytest.raises(SignatureRefused, match="cannot be used"):
        engine.image_transfer.sign("meteo", tmp_path / "k.pem")
