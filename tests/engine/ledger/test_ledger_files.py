"""Whatever happens to a transcript, a call counts once, and only what is new is read."""

import os
import random
import shutil

import pytest

from oulipoly_engine.store.ledger import calls as rows


def test_a_second_pass_opens_nothing(bench):
    bench.ledger.update()

    again = bench.new_ledger().update()

    assert (0, 0, len(bench.files())) == (again.changed, again.bytes_read, again.files)


def test_a_file_cut_at_any_byte_counts_exactly_once_the_rest_has_come(make_bench):
    bench = make_bench(5)
    bench.claude.write(files=1, calls=1)
    bench.codex.write(files=1, calls=2)
    for file in bench.files():
        whole = file.read_bytes()
        file.write_bytes(b"")
        for size in range(1, len(whole) + 1):
            with file.open("ab") as end:
                end.write(whole[size - 1 : size])
            if size % 23 == 0 or size == len(whole):
                bench.ledger.update()

    assert bench.truth() == bench.found()


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_every_cut_position_is_read_without_harm(make_bench, cli):
    bench = make_bench(6)
    getattr(bench, cli).write(files=1, calls=1)
    file = bench.files()[0]
    whole = file.read_bytes()
    for size in range(0, len(whole), 7):
        file.write_bytes(whole[:size])
        bench.ledger.update()
    file.write_bytes(whole)

    bench.ledger.update()

    assert bench.truth() == bench.found()


@pytest.mark.parametrize("seed", range(3))
def test_files_that_grow_by_random_pieces_across_restarts_are_exact(make_bench, seed):
    bench, dice = make_bench(seed).write(), random.Random(seed)
    contents = {file: file.read_bytes() for file in bench.files()}
    grown = dict.fromkeys(contents, 0)
    for file in contents:
        file.write_bytes(b"")
    while any(grown[file] < len(content) for file, content in contents.items()):
        for file, content in contents.items():
            step = dice.choice([0, 1, 90, 900, 5_000])
            with file.open("ab") as end:
                end.write(content[grown[file] : grown[file] + step])
            grown[file] += step
        dice.choice([bench.ledger, bench.new_ledger()]).update()

    bench.ledger.update()

    assert bench.truth() == bench.found()


def test_an_append_costs_its_own_bytes_and_a_kilobyte(bench):
    bench.ledger.update()
    file = max(bench.files(), key=lambda path: path.stat().st_size)
    with file.open("ab") as end:
        end.write(b'{"type":"user"}\n' * 10)

    updated = bench.ledger.update()

    assert updated.bytes_read <= 160 + 1024


def test_a_touch_costs_a_kilobyte(bench):
    bench.ledger.update()
    for file in bench.files():
        os.utime(file, ns=(1, 1))

    updated = bench.ledger.update()

    assert updated.changed == len(bench.files())
    assert updated.bytes_read <= 1024 * updated.changed


def _truncate(file):
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 3])


def _rename_over(file):
    copy = file.with_suffix(".tmp")
    shutil.copy(file, copy)
    copy.rename(file)


def _rewrite(file):
    file.write_bytes(b'{"type":"summary","summary":"new"}\n' + file.read_bytes())


@pytest.mark.parametrize("deed", [_truncate, _rename_over, _rewrite, os.remove, lambda file: file.write_bytes(b"")])
def test_what_was_counted_stays_counted(bench, deed):
    bench.ledger.update()
    for file in bench.files():
        deed(file)

    bench.ledger.update()
    bench.new_ledger().update()

    assert bench.truth() == bench.found()


def test_a_truncated_file_that_grows_anew_is_read_anew(bench):
    bench.ledger.update()
    file = bench.files()[0]
    whole = file.read_bytes()
    file.write_bytes(b"")
    bench.ledger.update()
    file.write_bytes(whole)

    again = bench.ledger.update()

    assert again.bytes_read >= len(whole)
    assert bench.truth() == bench.found()


def test_a_vanished_file_loses_its_cursor_and_a_vanished_root_does_not(bench):
    bench.ledger.update()
    bench.files()[0].unlink()
    shutil.move(bench.codex.folder, bench.folder / "elsewhere")

    bench.ledger.update()

    paths = set(rows.cursors(bench.store))
    assert 1 == sum(1 for path in paths if "codex" not in path) - len([*bench.claude.folder.rglob("*.jsonl")]) + 1
    assert any("codex" in path for path in paths)


def test_a_line_that_is_too_long_is_passed_over_and_told(make_bench):
    bench = make_bench(2)
    bench.claude.write(files=1, calls=2)
    file = bench.files()[0]
    file.write_bytes(b'{"type":"assistant","x":"' + b"y" * (3 << 20) + b'"}\n' + file.read_bytes())

    updated = bench.new_ledger(longest_line=2 << 20).update()

    assert 1 == updated.damaged
    assert bench.truth()["claude"] == bench.found()["claude"]


def test_a_long_line_is_read_whole(make_bench):
    bench = make_bench(2)
    bench.claude.write(files=1, calls=2)
    file = bench.files()[0]
    content = file.read_bytes()
    spoiled = content.replace(b'"type":"text","text":"', b'"type":"text","text":"' + b"y" * (3 << 20), 1)
    file.write_bytes(spoiled)

    bench.ledger.update()

    assert spoiled != content
    assert bench.truth()["claude"] == bench.found()["claude"]


def test_a_pipe_and_a_link_in_a_circle_are_left_alone(bench):
    os.mkfifo(bench.claude.folder / "pipe.jsonl")
    (bench.claude.folder / "circle").symlink_to(bench.claude.folder, target_is_directory=True)
    (bench.claude.folder / "nowhere.jsonl").symlink_to("/nowhere/at/all")

    bench.ledger.update()

    assert bench.truth() == bench.found()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_told_and_read_later(bench):
    file = bench.files()[0]
    file.chmod(0)

    notes = bench.ledger.update().notes
    file.chmod(0o600)
    bench.ledger.update()

    assert [str(file)] == [note.partition(":")[0] for note in notes]
    assert bench.truth() == bench.found()


def test_a_path_that_is_no_text_is_read(bench):
    file = bench.files()[0]
    file.rename(os.fsdecode(os.fsencode(file.parent) + b"/\xff\xfe.jsonl"))

    bench.ledger.update()

    assert 0 == bench.new_ledger().update().bytes_read
    assert bench.truth() == bench.found()


def test_recent_files_come_first(bench):
    old = bench.clock.now().timestamp() - 30 * 86_400
    recent = bench.files()[0]
    for file in bench.files():
        os.utime(file, (old, old))
    os.utime(recent, (old + 29 * 86_400,) * 2)
    seen = []

    bench.ledger.update(recent=lambda: seen.extend(rows.cursors(bench.store)))

    assert [str(recent)] == seen
    assert bench.truth() == bench.found()
