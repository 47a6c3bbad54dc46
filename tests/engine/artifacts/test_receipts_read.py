"""The receipts of a return channel: each has to be the run's own, and the artifact store has to bear it out."""

import json
import os

import pytest

from oulipoly_engine.core.artifacts.addresses import Address, returns_of
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.errors import ArtifactError
from oulipoly_engine.service.artifacts.artifact_store import make_store
from oulipoly_engine.service.artifacts.returned import append_receipt, read_receipts
from oulipoly_engine.testing import FakeClock

UUID, OTHER = "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"


class Run:
    """A run's channel, and the store that it returns from."""

    def __init__(self, folder):
        self.channel, self.path = folder / "channel", folder / "artifacts.db"
        self.channel.touch()
        self.store = make_store(self.path, FakeClock())[0]

    def give(self, name, content=b"bytes", uuid=UUID):
        version = self.store.put(NewVersion(Address(returns_of(uuid), name), uuid, None, "fine"), content)
        return append_receipt(self.channel, version, {"kind": "inline_bytes"}, uuid)

    def read(self):
        return read_receipts(self.channel, UUID, self.path)

    def change(self, **fields):
        self.channel.write_text(json.dumps(json.loads(self.channel.read_text()) | fields))


@pytest.fixture
def run(tmp_path):
    made = Run(tmp_path)
    yield made
    made.store.file.close()


def test_receipts_come_in_the_order_of_their_return(run):
    given = (run.give("z é/.md"), run.give("a", b"x" * 100_000), run.give("a", b""))

    assert given == run.read()


def test_what_a_later_version_adds_to_a_receipt_is_left_alone(run):
    given = run.give("a")
    run.change(mood="good")

    assert (given,) == run.read()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"schema_version": 2}, "schema_version is 2"),
        ({"producer_invocation_uuid": OTHER}, "this run is " + UUID),
        ({"version_id": f"store://return/{OTHER}/a/1"}, "do not say what version_id says"),
        ({"version_id": "store://other/x/1"}, "not the address of something returned"),
        ({"version_id": f"store://return/{UUID}/a"}, "not the address of something returned"),
        ({"version_id": f"store://return/{UUID}/a/0"}, "not a version"),
        ({"version_id": "store://return/nope/a/1"}, "not the UUID"),
        ({"name": "b"}, "do not say what version_id says"),
        ({"sha256": "A" * 64}, "not 64 hexadecimal digits"),
        ({"sha256": "a" * 64}, "says sha256"),
        ({"content_len": 6}, "says content_len 6, and the artifact store 5"),
        ({"content_len": "5"}, "content_len"),
        ({"verdict_line": "perfect"}, "says verdict_line 'perfect', and the artifact store 'fine'"),
        ({"format_hint": "text/html"}, "says format_hint"),
        ({"returned_at": "yesterday"}, "yesterday"),
        ({"source": None}, "source"),
        ({"source": {"kind": "elsewhere"}}, "source"),
        ({"source": {"kind": "scratchpad", "name": "a"}}, "source"),
    ],
    ids=str,
)
def test_a_receipt_that_lies_is_refused(run, fields, why):
    run.give("a")
    run.change(**fields)

    with pytest.raises(ArtifactError) as refused:
        run.read()
    assert why in refused.value.message


def drop_content(run):
    run.give("a", b"x" * 100_000)
    next((run.path.parent / "artifacts.db.contents").glob("*/*")).unlink()


def cut_content(run):
    run.give("a", b"x" * 100_000)
    os.truncate(next((run.path.parent / "artifacts.db.contents").glob("*/*")), 99_999)


def remove(run):
    run.store.remove(run.give("a").address, "me", "no more")


def repeat(run):
    run.give("a")
    run.channel.write_bytes(run.channel.read_bytes() * 2)


def cut_line(run):
    run.give("a")
    run.give("b")
    os.truncate(run.channel, run.channel.stat().st_size - 9)


def become_link(run):
    run.give("a")
    run.channel.rename(run.channel.with_name("elsewhere"))
    run.channel.symlink_to("elsewhere")


def become_fifo(run):
    run.channel.unlink()
    os.mkfifo(run.channel)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (drop_content, "is not in the artifact store"),
        (cut_content, "is not in the artifact store"),
        (remove, "was removed by me"),
        (repeat, "line 2 of the return channel returns store://return/" + UUID + "/a/1 a second time"),
        (cut_line, "line 2 of the return channel is not a receipt"),
        (become_link, "it is a link"),
        (become_fifo, "it is a FIFO"),
        (lambda run: run.give("a", uuid=OTHER), "this run is " + UUID),
        (lambda run: run.channel.write_text("nonsense\n"), "line 1 of the return channel is not a receipt"),
        (lambda run: run.channel.write_text("[" * 100_000), "line 1 of the return channel is not a receipt"),
        (lambda run: run.channel.write_bytes(b"\xff\xfe\0"), "line 1 of the return channel is not a receipt"),
        (lambda run: os.truncate(run.channel, 9 << 20), "it has more than 8 MB"),
    ],
)
def test_a_channel_that_cannot_be_believed_is_refused(run, spoil, why):
    spoil(run)

    with pytest.raises(ArtifactError) as refused:
        run.read()
    assert why in refused.value.message


def test_a_receipt_without_a_store_is_refused(run):
    run.give("a")
    run.path.unlink()

    with pytest.raises(ArtifactError):
        run.read()
