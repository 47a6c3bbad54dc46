"""Sessions carried to another machine: whole, checked before anything is written, and never over another file."""

import gzip
import io
import json
import os
import shlex
import shutil
import tarfile
import tracemalloc
import zlib
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.core.archive.bundle import read_manifest, write_manifest
from oulipoly_engine.errors import AccountUnusable, RunnerError, StorageUnsupported, UsageInvalid
from oulipoly_engine.records import replace
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.archive.keeper import ArchiveKeeper
from oulipoly_engine.service.bundles.bundle import Bundler
from oulipoly_engine.service.bundles.bundle_file import BundleChanged, BundleInvalid, BundleReader
from oulipoly_engine.service.bundles.placement import PlaceTaken
from oulipoly_engine.service.bundles.unbundle import Unbundler
from oulipoly_engine.service.sessions.locate import Locator, find_typed
from oulipoly_engine.service.transcripts.files import homes
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
PARENT = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
AT = "2026-11-20T11:00:00.000000Z"
KINDS = {"claude": ("claude-code", "projects", "claude_code"), "codex": ("codex", "sessions", "codex_session")}


class Machine:
    """A machine with accounts of both CLIs."""

    def __init__(self, folder, *accounts):
        self.folder = folder
        self.work = folder / "my work.d"
        self.work.mkdir(parents=True)
        self.clock = FakeClock()
        self.store = open_store(folder / "data" / "state.db")
        made = {name: self.account(name) for name in accounts or ("claude1", "codex1")}
        self.locator = Locator(made, {}, folder / "sessions", folder, dict(os.environ))
        self.homes = {home.account: home for home in homes(made, {}, folder)}
        self.archive = Archive(self.store, folder / "archive", self.homes, self.clock)

    def account(self, name):
        family, below, kind = KINDS[name[:-1]]
        root = shlex.quote(str(self.folder / name / below))
        return Account(
            name, storage=StorageSpec(f"{family}-cwd {root}", f"{family}-locate-transcript {root}", StorageType(kind))
        )

    def chain(self, account, session=SESSION, **more):
        values = {"started_at": AT, "last_used_at": AT, "reason": "initial"} | more
        with self.store.write():
            return chains.insert(self.store, account, session, "opus", **values)

    def claude(self, account="claude1", text="hello"):
        folder = self.folder / account / "projects" / "-anywhere"
        folder.mkdir(parents=True)
        path = folder / f"{SESSION}.jsonl"
        record = {"sessionId": SESSION, "type": "user", "uuid": "u", "timestamp": AT, "cwd": str(self.work)}
        path.write_text(json.dumps(record | {"message": {"content": text}}) + "\n")
        return path

    def codex(self, session=SESSION, account="codex1", provider="openai", **meta):
        folder = self.folder / account / "sessions" / "2026" / "11" / "20"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-2026-11-20T11-00-00-{session}.jsonl"
        payload = {"id": session, "cwd": str(self.work), "model_provider": provider} | meta
        path.write_text(json.dumps({"type": "session_meta", "timestamp": AT, "payload": payload}) + "\n")
        return path

    def pack(self, text=SESSION):
        session = find_typed(self.store, text, self.clock.now())
        out = io.BytesIO()
        packing = Bundler(self.store, self.locator, self.archive, self.clock).pack(session)
        packing.write(out.write)
        return out.getvalue()

    def unpack(self, data, cwd=None, **more):
        return self.unpack_from(io.BytesIO(data), cwd, **more)

    def unpack_from(self, raw, cwd=None, **more):
        unbundler = Unbundler(self.store, self.homes, ("opus",), self.folder / "unbundling", self.clock)
        return unbundler.unpack(raw, cwd=cwd or self.work, **more)

    def locate(self, text=SESSION):
        return self.locator.locate(find_typed(self.store, text, self.clock.now()))

    def files(self):
        """Return every file in the accounts' homes, and the rows."""
        found = {path: path.read_bytes() for path in self.folder.glob("*[12]/**/*") if path.is_file()}
        return (
            found,
            self.store.rows("SELECT * FROM session_chains"),
            self.store.rows("SELECT * FROM session_chain_segments"),
        )


@pytest.fixture
def here(tmp_path):
    made = Machine(tmp_path / "here")
    yield made
    made.store.close()


@pytest.fixture
def there(tmp_path):
    made = Machine(tmp_path / "there")
    yield made
    made.store.close()


def repacked(data, change, blob=None):
    """Return a bundle with a changed manifest, its files as they were."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        members = [(member.name, tar.extractfile(member).read()) for member in tar]
    manifest = json.loads(members[0][1])
    change(manifest)
    members[0] = ("manifest.json", json.dumps(manifest).encode())
    return tarred(members if blob is None else [members[0], *((name, blob) for name, _ in members[1:])])


def tarred(members, **header):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in header.items() if name != "manifest.json" else ():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def test_claude_session_with_its_folder_arrives_at_the_workspace_s_project(here, there):
    path = here.claude()
    part = path.with_suffix("") / "tool-results" / "é 1.txt"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"\x00big")
    chain = here.chain("claude1")

    receipt = there.unpack(here.pack())

    project = there.folder / "claude1" / "projects" / "".join(c if c.isalnum() else "-" for c in str(there.work))
    assert path.read_bytes() == (project / path.name).read_bytes()
    assert b"\x00big" == (project / SESSION / "tool-results" / "é 1.txt").read_bytes()
    assert {0o600} == {one.path.stat().st_mode & 0o777 for one in receipt.placements[0].files}
    assert chain == receipt.chain_id == there.locate().session.chain_id
    assert project / path.name == there.locate().transcript


def test_codex_session_arrives_with_the_parents_that_it_goes_on_from(here, there):
    parent = here.codex(PARENT)
    here.codex(history_base={"thread_id": PARENT, "end_byte_offset": 10})
    here.chain("codex1")

    receipt = there.unpack(here.pack())

    day = there.folder / "codex1" / "sessions" / "2026" / "11" / "20"
    assert ["parent", "transcript"] == [one.file.role.value for one in receipt.placements[0].files]
    assert parent.read_bytes() == (day / parent.name).read_bytes()
    assert day / f"rollout-2026-11-20T11-00-00-{SESSION}.jsonl" == there.locate().transcript


def test_parent_that_has_grown_there_is_left_as_it_is(here, there):
    parent = here.codex(PARENT)
    here.codex(history_base={"thread_id": PARENT})
    here.chain("codex1")
    longer = there.codex(PARENT)
    longer.write_bytes(parent.read_bytes() + b"{}\n")

    receipt = there.unpack(here.pack())

    assert [True, False] == [one.is_there for one in receipt.placements[0].files]
    assert longer.read_bytes().endswith(b"{}\n")


def test_doing_it_again_changes_nothing(here, there):
    here.claude()
    here.chain("claude1")
    data = here.pack()
    first = there.unpack(data)
    before = there.files()

    again = there.unpack(data)

    assert (True, first.chain_id) == (again.was_known, again.chain_id)
    assert before == there.files()


def test_different_file_in_the_place_refuses_everything(here, there):
    here.claude()
    here.chain("claude1")
    data = here.pack()
    there.unpack(data)
    there.locate().transcript.write_text("mine")
    before = there.files()

    with pytest.raises(PlaceTaken):
        there.unpack(data)
    assert before == there.files()


def test_dry_run_checks_all_and_writes_nothing(here, there):
    here.claude()
    here.chain("claude1")
    before = there.files()

    receipt = there.unpack(here.pack(), dry_run=True)

    assert (None, [False]) == (receipt.chain_id, [one.is_there for one in receipt.placements[0].files])
    assert before == there.files()
    assert not (there.folder / "unbundling").exists()


def test_name_and_note_and_closed_segments_come_along(here, tmp_path):
    here = Machine(tmp_path / "a", "claude1", "claude2")
    there = Machine(tmp_path / "b", "claude1", "claude2")
    here.claude("claude1", "early")
    here.claude("claude2", "late")
    chain = here.chain("claude1")
    with here.store.write():
        here.store.execute("UPDATE session_chain_segments SET ended_at = ?, last_turn_id = 'u'", (AT,))
        here.store.insert(
            "session_chain_segments",
            chain_id=chain,
            provider_name="claude2",
            session_id=SESSION,
            started_at=AT,
            transition_reason="manual",
        )
        here.store.insert("conversation_notes", chain_id=chain, name="turnip", note="é", changed_at=AT)

    there.unpack(here.pack(chain))

    found = there.store.rows("SELECT provider_name, ended_at, last_turn_id FROM session_chain_segments ORDER BY id")
    assert [("claude1", AT, "u"), ("claude2", None, None)] == [tuple(row) for row in found]
    assert [("turnip", "é")] == [tuple(row) for row in there.store.rows("SELECT name, note FROM conversation_notes")]
    assert "late" in there.locate().transcript.read_text()


def test_one_account_for_all_keeps_the_latest_of_two_parts_with_one_id(tmp_path):
    here, there = Machine(tmp_path / "a", "claude1", "claude2"), Machine(tmp_path / "b", "claude1")
    here.claude("claude1", "early")
    here.claude("claude2", "late")
    chain = here.chain("claude1")
    with here.store.write():
        here.store.insert(
            "session_chain_segments",
            chain_id=chain,
            provider_name="claude2",
            session_id=SESSION,
            started_at="2026-11-20T12:00:00.000000Z",
            transition_reason="manual",
        )

    receipt = there.unpack(here.pack(chain), account="claude1")

    assert [True, False] == [one.left_out is not None for one in receipt.placements]
    assert "late" in there.locate().transcript.read_text()


def test_transcript_that_is_gone_is_taken_from_the_archive(here, there):
    path = here.claude()
    here.chain("claude1")
    ArchiveKeeper(here.archive, 0).keep()
    content = path.read_bytes()
    path.unlink()

    there.unpack(here.pack())

    assert content == there.locate().transcript.read_bytes()


def test_session_without_transcript_and_copy_cannot_be_bundled(here):
    here.chain("claude1")

    with pytest.raises(StorageUnsupported):
        here.pack()


def test_what_no_machine_would_take_is_not_bundled(here):
    here.claude()
    here.chain("claude1")
    here.store.execute("UPDATE session_chain_segments SET last_turn_id = ?", ("x" * 6000,))

    with pytest.raises(StorageUnsupported, match=r"no machine would take it: .*last_turn_id"):
        here.pack()


def test_appended_bytes_stay_out_and_a_rewrite_is_told(here):
    path = here.claude()
    here.chain("claude1")
    session = find_typed(here.store, SESSION, here.clock.now())
    packing = Bundler(here.store, here.locator, here.archive, here.clock).pack(session)
    with path.open("ab") as file:
        file.write(b"more\n")
    out = io.BytesIO()
    packing.write(out.write)

    assert packing.manifest.files[0].size_bytes == path.stat().st_size - 5
    path.write_text("x")
    with pytest.raises(BundleChanged):
        packing.write(io.BytesIO().write)


@pytest.mark.parametrize(
    "choice", [{}, {"account": "codex1"}, {"account": "nobody"}], ids=["none", "other-cli", "unknown"]
)
def test_account_that_cannot_take_it_is_refused(here, tmp_path, choice):
    here.claude()
    here.chain("claude1")
    there = Machine(tmp_path / "x", "codex1", "claude2", "claude3") if not choice else Machine(tmp_path / "x")

    with pytest.raises(AccountUnusable):
        there.unpack(here.pack(), **choice)


def test_only_account_of_the_cli_takes_it(here, tmp_path):
    here.claude()
    here.chain("claude1")
    there = Machine(tmp_path / "x", "claude2")

    assert "claude2" == there.unpack(here.pack()).placements[0].account


def test_folder_that_is_not_there_must_be_named(here, there):
    here.claude()
    here.chain("claude1")
    data = here.pack()
    here.work.rmdir()
    unbundler = Unbundler(there.store, there.homes, (), there.folder / "unbundling", there.clock)

    with pytest.raises(UsageInvalid, match="--project"):
        unbundler.unpack(io.BytesIO(data))


def test_unknown_model_provider_is_a_warning(here, there):
    here.codex(provider="strange")
    here.chain("codex1")
    data = here.pack()

    assert "strange" in there.unpack(data).warnings[0]
    (there.folder / "codex1" / "config.toml").write_text("[model_providers.strange]\n")
    assert () == there.unpack(data).warnings


def test_bundle_cut_anywhere_writes_nothing(here, there):
    path = here.claude(text="x")
    path.write_bytes(path.read_bytes() + os.urandom(40_000).hex().encode())
    here.chain("claude1")
    data = here.pack()
    before = there.files()
    for end in [*range(0, len(data), 1024), len(data) - 1]:
        with pytest.raises(BundleInvalid):
            there.unpack(data[:end])
    assert before == there.files()
    assert not list((there.folder / "unbundling").glob("files/*"))


def inflated(data):
    """Return what a bundle holds once inflated, None where it cannot be."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def test_bundle_with_any_byte_turned_is_refused_or_the_same(here, there):
    """A turned bit may say nothing: those after the last block's end, and a code that no symbol uses."""
    here.claude()
    here.chain("claude1")
    data = here.pack()
    for place in range(10, len(data), 7):
        turned = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]
        if inflated(turned) != inflated(data):
            with pytest.raises(BundleInvalid):
                there.unpack(turned)
    assert {} == there.files()[0]


def test_bundle_whose_turned_bits_say_nothing_is_taken(here, there):
    here.claude()
    here.chain("claude1")
    data = here.pack()
    behind = len(data) - 9
    same = [
        turned
        for bit in range(8)
        if inflated(turned := data[:behind] + bytes([data[behind] ^ 1 << bit]) + data[behind + 1 :]) == inflated(data)
    ]
    assert "claude1" == there.unpack((same or [data])[-1]).placements[0].account


def set_file(**values):
    return lambda manifest: manifest["segments"][0]["files"][-1].update(values)


def set_top(**values):
    return lambda manifest: manifest.update(values)


def set_segment(**values):
    return lambda manifest: manifest["segments"][0].update(values)


@pytest.mark.parametrize(
    "change",
    [
        set_file(name="../../evil.jsonl"),
        set_file(role="part", name="../../evil"),
        set_file(role="part", name="/etc/evil"),
        set_file(role="part", name="a/../../b"),
        set_file(role="part", name="a\0b"),
        set_file(role="part", name="a//b"),
        set_file(role="part", name="ü" * 200),
        set_file(role="parent"),
        set_file(role="device"),
        set_file(member="../../evil"),
        set_file(size_bytes=10**15),
        set_file(size_bytes=-1),
        set_file(size_bytes=True),
        set_file(sha256="0" * 64),
        set_file(sha256="x"),
        set_file(session_id="../../../evil"),
        set_segment(storage_type="other"),
        set_segment(storage_type="codex_session"),
        set_segment(session_id="x"),
        set_segment(workspace="relative"),
        set_segment(files=[]),
        set_segment(files=None),
        set_segment(started_at="yesterday"),
        set_segment(started_at="2026-99-99T99:99:99.999999Z"),
        set_segment(ended_at="2026-02-30T00:00:00.000000Z"),
        set_top(last_used_at="2026-99-99T99:99:99.999999Z"),
        set_top(created_at="0001-01-01T00:00:00.000000Z"),
        set_top(segments=[]),
        set_top(segments=[5]),
        set_top(version=2),
        set_top(kind="zip"),
        set_top(chain_id="1; DROP TABLE"),
        set_top(model="\ud800"),
        set_top(name=5),
        set_top(note="x" * 200_000),
    ],
)
def test_manifest_that_lies_is_refused_and_nothing_is_written(here, there, change):
    here.claude()
    here.chain("claude1")
    before = there.files()

    with pytest.raises(BundleInvalid):
        there.unpack(repacked(here.pack(), change))
    assert before == there.files()


def test_a_member_of_negative_length_is_refused_before_it_is_read(there):
    head = bytearray(tarfile.TarInfo("manifest.json").tobuf(tarfile.USTAR_FORMAT))
    head[124:136], head[148:156] = b"-1".ljust(12, b"\0"), b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)

    with pytest.raises(BundleInvalid, match="a header is damaged"):
        there.unpack(gzip.compress(bytes(head) + bytes(4096)))


@pytest.mark.parametrize(
    "header",
    [
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd", "size": 0},
        {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd", "size": 0},
        {"type": tarfile.CHRTYPE, "size": 0},
        {"type": tarfile.FIFOTYPE, "size": 0},
        {"type": tarfile.DIRTYPE, "size": 0},
        {"name": "../../../tmp/evil"},
        {"name": "/tmp/evil"},
    ],
    ids=["symlink", "hardlink", "device", "pipe", "folder", "dots", "absolute"],
)
def test_member_that_is_no_plain_file_of_ours_is_refused(here, there, header):
    here.claude()
    here.chain("claude1")
    with tarfile.open(fileobj=io.BytesIO(here.pack()), mode="r:gz") as tar:
        members = [(member.name, tar.extractfile(member).read()) for member in tar]

    with pytest.raises(BundleInvalid):
        there.unpack(tarred(members, **header))
    assert {} == there.files()[0]


def test_another_session_s_rollout_under_this_name_is_refused(here, there):
    here.codex().write_text(json.dumps({"type": "session_meta", "payload": {"id": PARENT}}) + "\n")
    here.chain("codex1")

    with pytest.raises(BundleInvalid, match="another session"):
        there.unpack(here.pack())


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"rubbish",
        gzip.compress(b""),
        gzip.compress(b"\0" * 10240),
        gzip.compress(b"x" * 5000),
        gzip.compress(b"\0" * (8 << 20)),
    ],
    ids=["empty", "rubbish", "empty-gzip", "empty-tar", "no-tar", "bomb"],
)
def test_what_is_no_bundle_is_refused(there, data):
    with pytest.raises(BundleInvalid):
        there.unpack(data)


@pytest.mark.parametrize("tail", [b"x", b"\0" * (3 << 20), b"x" * 5000])
def test_anything_behind_the_end_is_refused(here, there, tail):
    here.claude()
    here.chain("claude1")

    with pytest.raises(BundleInvalid):
        there.unpack(gzip.compress(gzip.decompress(here.pack()) + tail))
    assert {} == there.files()[0]


def test_a_link_in_the_place_of_the_session_s_folder_is_not_packed(here, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.txt").write_text("private")
    here.claude().with_suffix("").symlink_to(tmp_path / "private")
    here.chain("claude1")

    manifest = BundleReader(io.BytesIO(here.pack())).manifest()

    assert [f"{SESSION}.jsonl"] == [file.name for file in manifest.files]


class Pipe(io.BytesIO):
    """Bytes that come one after the other."""

    def seekable(self):
        return False


def test_bundle_that_says_it_unpacks_to_far_more_than_itself_is_refused_unread(here, there):
    here.claude()
    here.chain("claude1")
    before = there.files()

    with pytest.raises(BundleInvalid, match=r"it unpacks to more than 100 times its size .* to 2048 MB"):
        there.unpack(repacked(here.pack(), set_file(size_bytes=2 << 30)))
    assert (before, False) == (there.files(), (there.folder / "unbundling").exists())


def test_bundle_in_a_pipe_is_refused_once_it_has_unpacked_to_far_more_than_itself(here, there):
    here.claude()
    here.chain("claude1")
    data, before = here.pack(), there.files()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        manifest = json.loads(tar.extractfile("manifest.json").read())
    size = 80 << 20
    set_file(size_bytes=size)(manifest)
    text = json.dumps(manifest).encode()
    heads = [tarfile.TarInfo("manifest.json"), tarfile.TarInfo("files/00001-transcript")]
    heads[0].size, heads[1].size = len(text), size
    parts = [heads[0].tobuf(), text, bytes(-len(text) % 512), heads[1].tobuf(), bytes(size)]

    with pytest.raises(BundleInvalid, match="it unpacks to more than 100 times its size"):
        there.unpack_from(Pipe(gzip.compress(b"".join(parts), 6)))
    assert (before, []) == (there.files(), list((there.folder / "unbundling").glob("files")))


def test_what_would_unpack_to_far_more_than_itself_is_not_bundled(here):
    here.claude(text="x" * (75 << 20))
    here.chain("claude1")

    with pytest.raises(RunnerError, match=r"no machine would take it: .* more than 100 times its size"):
        here.pack()


@pytest.mark.parametrize("text", ["[" + "[]," * (2 << 20) + "[]]", " " * (9 << 20)], ids=["many values", "long"])
def test_manifest_beyond_all_measure_is_refused_before_it_is_decoded(there, text):
    head = tarfile.TarInfo("manifest.json")
    head.size = len(text)
    data = gzip.compress(head.tobuf() + text.encode() + bytes(-len(text) % 512), 1)
    tracemalloc.start()
    with pytest.raises(BundleInvalid, match="its manifest h"):
        there.unpack(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 40 << 20


def test_bundle_for_which_there_is_no_room_is_refused_before_it_is_unpacked(here, there, monkeypatch):
    here.claude(text="x" * 3000)
    here.chain("claude1")
    data, before = here.pack(), there.files()
    size = json.loads(gzip.decompress(data)[512:].partition(b"\0")[0])["segments"][0]["files"][0]["size_bytes"]
    usage = shutil.disk_usage(there.folder)._replace(free=2 * size - 1)  # it lies there twice for a moment
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    with pytest.raises(RunnerError, match="has room for 0 MB"):
        there.unpack(data)
    assert (before, False) == (there.files(), (there.folder / "unbundling").exists())
    usage = usage._replace(free=2 * size)
    assert there.unpack(data).chain_id is not None


def test_link_in_the_place_is_never_followed(here, there, tmp_path):
    here.claude()
    here.chain("claude1")
    data = here.pack()
    target = there.unpack(data, dry_run=True).placements[0].files[0].path
    target.parent.mkdir(parents=True)
    target.symlink_to(tmp_path / "outside")

    with pytest.raises(PlaceTaken):
        there.unpack(data)
    assert not (tmp_path / "outside").exists()


def test_folder_that_cannot_be_written_is_told(here, there):
    here.claude()
    here.chain("claude1")
    (there.folder / "claude1").write_text("in the way")

    with pytest.raises(RunnerError, match="cannot be written"):
        there.unpack(here.pack())
    assert [] == there.store.rows("SELECT * FROM session_chains")


def test_chain_id_that_is_in_use_gives_way(here, there):
    here.claude()
    chain = here.chain("claude1")
    with there.store.write():
        there.store.insert("session_chains", chain_id=chain, created_at=AT, last_used_at=AT, model_name="m")

    receipt = there.unpack(here.pack())

    assert chain != receipt.chain_id
    assert "claude1" == there.locate(receipt.chain_id).session.account


def test_manifest_is_read_back_as_it_was_written(here):
    here.claude()
    here.chain("claude1")

    manifest = BundleReader(io.BytesIO(here.pack())).manifest()

    assert manifest == read_manifest(write_manifest(manifest))
    with suppress(ValueError):
        read_manifest(write_manifest(replace(manifest, chain_id="")))
        pytest.fail("an empty id was taken")
    assert datetime(2026, 11, 20, 12, tzinfo=UTC) == datetime.fromisoformat(manifest.created_at)


def test_bundle_is_a_tar_that_other_programs_read(here):
    here.claude()
    here.chain("claude1")

    with tarfile.open(fileobj=io.BytesIO(here.pack()), mode="r:gz") as tar:
        assert ["manifest.json", "files/00001-transcript"] == tar.getnames()


def test_session_that_went_on_here_in_another_folder_is_not_laid_beside_it(tmp_path):
    there, here = Machine(tmp_path / "there"), Machine(tmp_path / "here")
    there.claude()
    there.chain("claude1")
    here.claude(text="and it went on")

    with pytest.raises(PlaceTaken, match="in another state already"):
        here.unpack(there.pack())
    assert 1 == len(list((here.folder / "claude1").rglob("*.jsonl")))


def test_same_state_in_another_folder_is_no_hindrance(tmp_path):
    there, here = Machine(tmp_path / "there"), Machine(tmp_path / "here")
    written = there.claude()
    there.chain("claude1")
    here.claude().write_bytes(written.read_bytes())

    assert here.unpack(there.pack()).chain_id is not None
