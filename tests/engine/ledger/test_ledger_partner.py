"""A second process reads a share of what is much: the totals are those of one, whatever becomes of it."""

import os
import signal
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import LONGEST_LINE
from oulipoly_engine.process.worker_process import WorkerProcess
from oulipoly_engine.service.ledger.files import walk
from oulipoly_engine.service.ledger.worker import Frame, share_work
from oulipoly_engine.store.ledger import calls as rows

ALL = 0  # new bytes from which on a second process is asked


def children():
    """Return the numbers of our own children."""
    return [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def frames(bench, known=None, batch_bytes=1):
    """Let a partner read all of a bench's transcripts alone."""
    files = walk(bench.sources, known or {}).changed
    sizes = {seen.path: seen.size for seen in files}
    settings = (bench.clock.now().timestamp(), batch_bytes, LONGEST_LINE)
    with share_work((files, []), sizes, known or {}, bench.sources, {}, settings) as (_, partner):
        return [Frame(raw) for raw in iter(partner.next, None)]


@pytest.mark.parametrize("batch_bytes", [1, 1 << 30], ids=["a batch a file", "one batch"])
def test_what_a_partner_sends_is_all_that_was_there_to_read(bench, batch_bytes):
    sent = frames(bench, batch_bytes=batch_bytes)
    batches = [batch for batch in (frame.batch() for frame in sent) if batch is not None]
    for batch in batches:
        rows.write(bench.store, batch)

    assert bench.truth() == bench.found()
    assert 2 == sum(frame.is_end for frame in sent)
    assert sum(path.stat().st_size for path in bench.files()) <= sum(frame.read_bytes for frame in sent)
    assert {} == {path: one for path, one in rows.cursors(bench.store).items() if one.size != Path(path).stat().st_size}


def test_two_processes_find_the_truth_and_leave_nothing_to_read(bench):
    bench.new_ledger(shared_bytes=ALL).update()

    assert bench.truth() == bench.found()
    assert 0 == bench.new_ledger().update().changed


def test_a_partner_goes_on_where_the_last_pass_stopped(bench):
    contents = {path: path.read_bytes() for path in bench.files()}
    for path, content in contents.items():
        path.write_bytes(content[: len(content) // 2])
    bench.ledger.update()
    for path, content in contents.items():
        path.write_bytes(content)
    known = rows.cursors(bench.store)
    for frame in frames(bench, known):
        if (batch := frame.batch()) is not None:
            rows.write(bench.store, batch)

    assert bench.truth() == bench.found()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds its child in /proc")
def test_a_partner_that_is_killed_costs_nothing_but_time(bench):
    killed = []

    def kill(_done, _total):
        if not killed:
            killed.extend(children())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    bench.new_ledger(shared_bytes=ALL).update(kill)

    assert 1 == len(killed)
    assert bench.truth() == bench.found()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds its child in /proc")
def test_no_partner_stays_behind_when_reading_is_given_up(bench):
    def give_up(_done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.new_ledger(shared_bytes=ALL).update(give_up)

    assert [] == children()
    bench.new_ledger().update()
    assert bench.truth() == bench.found()


def test_unreadable_files_are_noted_by_a_partner(bench):
    gone = bench.files()[0]
    files = walk(bench.sources, {}).changed
    gone.unlink()
    sizes = {seen.path: seen.size for seen in files}
    settings = (0.0, 1, LONGEST_LINE)
    with share_work((files,), sizes, {}, bench.sources, {}, settings) as (_, partner):
        notes = [note for raw in iter(partner.next, None) for note in Frame(raw).notes]

    assert [f"{gone}: No such file or directory"] == notes


@pytest.mark.parametrize("module", ["this", "no_such_module_anywhere"], ids=["rubbish", "nothing"])
def test_a_partner_that_does_not_answer_in_frames_has_ended(module):
    with Path(os.devnull).open() as file, WorkerProcess(module, b"", file.fileno()) as partner:
        assert partner.next() is None
        assert [] == list(partner.take_ready())
