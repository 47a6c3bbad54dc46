"""The content store: each content whole under its hash or not there, in every form; damage named; only rubbish goes."""

import gzip
import os
import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.blobs.blobs import BLOCK, BlobDamaged, Blobs, Form

FORMS = {"plain": Form(), "zlib": Form(".z", 15, 3), "gzip": Form(".gz", 31, 6)}


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def blobs(request, tmp_path):
    return Blobs(tmp_path / "blobs", request.param)


def files_of(blobs):
    return sorted(path for path in blobs.folder.rglob("*") if path.is_file())


@settings(max_examples=20)  # each syncs
@given(contents=st.lists(st.binary(max_size=200), max_size=6))
def test_what_is_added_and_settled_is_read_and_kept_once(contents, tmp_path_factory):
    for form in FORMS.values():
        blobs = Blobs(tmp_path_factory.mktemp("blobs"), form)
        names = [blobs.add(content) for content in contents]
        sizes = blobs.settle()

        assert contents == [blobs.read(name) for name in names]
        assert sizes == {name: path.stat().st_size for name, path in blobs.files()}
        assert {sha256(content).hexdigest() for content in contents} == set(sizes)


def test_stream_is_the_same_content_as_its_bytes(blobs):
    data = os.urandom(BLOCK) + bytes(3 * BLOCK)
    staged = blobs.stage(data[start : start + 700_001] for start in range(0, len(data), 700_001))
    blobs.place(staged)
    blobs.drop(staged)

    assert (sha256(data).hexdigest(), len(data)) == (staged.sha256, staged.size)
    assert data == blobs.read(blobs.add(data))
    assert [blobs.path(staged.sha256)] == files_of(blobs)


@pytest.mark.parametrize(
    ("form", "pack"), [("plain", bytes), ("zlib", zlib.compress), ("gzip", gzip.compress)], ids=FORMS
)
def test_files_of_released_versions_open(form, pack, tmp_path):
    data = b"kept long ago" * 100_000
    name = sha256(data).hexdigest()
    path = tmp_path / name[:2] / f"{name}{FORMS[form].suffix}"
    path.parent.mkdir()
    path.write_bytes(pack(data))

    assert data == Blobs(tmp_path, FORMS[form]).read(name)


def test_what_is_not_settled_is_not_there_and_leaves_nothing(blobs):
    name = blobs.add(b"content")
    with pytest.raises(BlobDamaged, match="No such file"):
        Blobs(blobs.folder, blobs.form).read(name)

    blobs.abandon()

    assert [] == files_of(blobs)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"?" + data[1:], lambda _: b""])
def test_damage_is_named_and_mended_when_the_content_is_added_again(blobs, damage):
    content = os.urandom(3000)
    name = blobs.add(content)
    blobs.settle()
    blobs.path(name).write_bytes(damage(blobs.path(name).read_bytes()))
    with pytest.raises(BlobDamaged):
        blobs.read(name)

    blobs.add(content, checks=True)
    blobs.settle()

    assert content == blobs.read(name)


def test_content_that_grew_under_its_name_fills_no_memory(blobs):
    name = blobs.add(bytes(64 * BLOCK))
    blobs.settle()

    with pytest.raises(BlobDamaged, match="larger"):
        blobs.read(name, 1000)


def test_collection_removes_what_is_not_kept_and_what_a_kill_has_left_but_nothing_of_others(blobs):
    kept, gone = blobs.add(b"kept"), blobs.add(b"gone")
    blobs.settle()
    cut = [blobs.folder / "unfinished-1", blobs.folder / "ab" / f"{'ab' * 32}.z.part"]
    stranger = blobs.folder / "ab" / "notes.txt"
    being_written = blobs.stage([b"written right now"])
    stranger.parent.mkdir(exist_ok=True)
    for path in [*cut, stranger]:
        path.write_bytes(b"half")

    removed, _ = blobs.collect(lambda name: name == kept)

    assert 3 == removed
    assert gone not in dict(blobs.files())
    assert sorted([blobs.path(kept), stranger, being_written.path]) == files_of(blobs)
    blobs.drop(being_written)


def test_link_in_place_of_a_content_is_not_followed(blobs):
    name = sha256(b"secret").hexdigest()
    target = blobs.folder.parent / "secret"
    target.write_bytes(b"secret")
    Path(blobs.path(name)).parent.mkdir(parents=True)
    blobs.path(name).symlink_to(target)

    with pytest.raises(BlobDamaged, match="link"):
        blobs.read(name)
