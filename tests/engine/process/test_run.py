import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from oulipoly_engine.errors import Interrupted, SpawnFailed
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.process.run import Discard, StdoutClosed, run


class Recorder(Discard):
    def __init__(self):
        self.out = bytearray()
        self.err = bytearray()
        self.idle = []

    def stdout(self, data):
        self.out += data

    def stderr(self, data):
        self.err += data

    def tick(self, idle_s):
        self.idle.append(idle_s)


def shell(script, **options):
    return Command(argv=("sh", "-c", script), env=inherited_environment(), **options)


def gone(pid, within_s=60.0):
    deadline = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


def test_bytes_pass_unchanged_on_both_streams():
    sink = Recorder()

    finished = run(shell(r"printf '\000\377\r\nx'; printf 'E\376' >&2"), sink)

    assert (b"\x00\xff\r\nx", b"E\xfe", 0) == (bytes(sink.out), bytes(sink.err), finished.exit_code)


def test_exit_code_is_the_childs():
    assert 7 == run(shell("exit 7"), Recorder()).exit_code


def test_a_killed_child_ends_with_128_plus_the_signal():
    finished = run(shell("kill -KILL $$"), Recorder())

    assert (137, 9) == (finished.exit_code, finished.killed_by)


def test_a_prompt_larger_than_any_pipe_arrives_whole():
    prompt = os.urandom(3 << 20)
    sink = Recorder()

    run(Command(argv=("cat",), env=inherited_environment(), stdin=prompt), sink)

    assert prompt == bytes(sink.out)


def test_a_child_that_reads_no_input_is_no_error():
    finished = run(shell("exit 0", stdin=b"x" * (3 << 20)), Recorder())

    assert 0 == finished.exit_code


def test_without_input_stdin_is_empty():
    sink = Recorder()

    run(shell("wc -c"), sink)

    assert b"0" == bytes(sink.out).strip()


def test_tails_keep_the_end_of_a_long_output():
    finished = run(shell("head -c 5000000 /dev/zero; printf END"), Recorder())

    assert finished.stdout_tail.endswith(b"END")
    assert len(finished.stdout_tail) <= 128 << 10
    assert 5_000_003 == finished.stdout_bytes


def test_the_first_bytes_come_before_the_child_ends(tmp_path):
    gate = tmp_path / "gate"

    class Opens(Recorder):
        def stdout(self, data):
            super().stdout(data)
            gate.touch()

    sink = Opens()

    run(shell(f"echo first; while [ ! -e {gate} ]; do sleep 0.01; done; echo second"), sink)

    assert b"first\nsecond\n" == bytes(sink.out)


def test_a_timeout_stops_the_whole_group(tmp_path):
    pids = tmp_path / "pids"
    deaf = "trap '' INT TERM; "
    script = f"{deaf} ({deaf} exec sleep 60) & echo $! >> {pids}; echo $$ >> {pids}; wait; sleep 60"

    finished = run(shell(script, timeout_s=1.5), Recorder())  # long enough to start its child on a busy machine

    assert "timeout" == finished.stopped_for
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_a_grandchild_that_keeps_the_pipes_does_not_hang_us(tmp_path):
    pids = tmp_path / "pids"

    finished = run(shell(f"sleep 60 & echo $! > {pids}; echo done"), Recorder())

    assert 0 == finished.exit_code
    assert gone(int(pids.read_text()))


def test_a_silent_child_is_reported_as_idle():
    sink = Recorder()

    run(shell("sleep 0.7"), sink)

    assert sink.idle
    assert sink.idle == sorted(sink.idle)


def test_a_closed_stdout_stops_the_child():
    class Closed(Recorder):
        def stdout(self, data):
            raise StdoutClosed

    finished = run(shell("while :; do echo x; done"), Closed())

    assert "stdout_closed" == finished.stopped_for


def test_a_failing_sink_leaves_no_child(tmp_path):
    pids = tmp_path / "pids"

    class Broken(Recorder):
        def stdout(self, data):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        run(shell(f"echo $$ > {pids}; echo x; sleep 60"), Broken())

    assert gone(int(pids.read_text()))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: Command(("no-such-cli-anywhere",), inherited_environment()), "not found"),
        (lambda folder: Command((str(folder / "plain"),), inherited_environment()), "may not be executed"),
        (lambda folder: Command((str(folder / "garbage"),), inherited_environment()), "not a program"),
        (lambda folder: Command(("true",), inherited_environment(), cwd=folder / "nowhere"), "does not exist"),
        (lambda folder: Command(("true",), inherited_environment(), cwd=folder / "plain"), "not a directory"),
        (lambda folder: Command(("true", "x" * 300_000), inherited_environment()), "too long"),
        (lambda folder: Command(("true", "nul\0byte"), inherited_environment()), "null byte"),
    ],
    ids=["missing", "not-executable", "no-format", "cwd-missing", "cwd-file", "argument-too-long", "nul"],
)
def test_what_cannot_be_started_says_why(tmp_path, make, words):
    (tmp_path / "plain").write_text("echo hi\n")
    (tmp_path / "garbage").write_bytes(b"\x00\x01garbage")
    (tmp_path / "garbage").chmod(0o755)

    with pytest.raises(SpawnFailed, match=words):
        run(make(tmp_path), Recorder())


def test_what_cannot_be_started_is_named_without_the_secret_in_it():
    secret = "sk-proj-" + "Q7x2m9ZkT4vB8nL1" + "cR5wY3dH6jF0pS"  # in parts: scanners take such a thing for a leaked key

    with pytest.raises(SpawnFailed, match=r"^the command '/nowhere/\[redacted\]' was not found"):
        run(Command((f"/nowhere/{secret}",), inherited_environment()), Recorder())


PROGRAM = textwrap.dedent(
    """
    import sys
    from oulipoly_engine.errors import Interrupted
    from oulipoly_engine.process.command import Command, inherited_environment
    from oulipoly_engine.process.run import Discard, run

    class Sink(Discard):
        def stdout(self, data): sys.stdout.buffer.write(data); sys.stdout.buffer.flush()

    try:
        run(Command(("sh", "-c", sys.argv[1]), inherited_environment()), Sink())
    except Interrupted as error:
        sys.exit(error.exit_code)
    """
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
@pytest.mark.parametrize("stubborn", ["", "trap '' INT; ", "trap '' INT TERM; "], ids=["polite", "no-int", "no-term"])
def test_a_signal_leaves_no_child(number, stubborn):
    script = f"{stubborn}echo $$; sleep 60 & wait; sleep 60"
    ours = subprocess.Popen([sys.executable, "-c", PROGRAM, script], stdout=subprocess.PIPE)
    child = int(ours.stdout.readline())

    ours.send_signal(number)

    assert 128 + number == ours.wait(timeout=60)
    assert gone(child)
    ours.stdout.close()


def test_a_signal_gets_through_to_us_while_nobody_reads_our_output():
    ours = subprocess.Popen([sys.executable, "-c", PROGRAM, "echo $$; cat /dev/zero"], stdout=subprocess.PIPE)
    child = int(ours.stdout.readline())

    ours.send_signal(signal.SIGTERM)

    assert 143 == ours.wait(timeout=60)
    assert gone(child)
    ours.stdout.close()


def test_a_signal_does_not_come_between_what_a_child_said_and_our_look_at_it():
    seen = bytearray()

    class Reader(Discard):
        def read(self, data):
            if not seen:
                os.kill(os.getpid(), signal.SIGTERM)
            seen.extend(data)

    with pytest.raises(Interrupted) as interruption:
        run(shell("echo my-id; sleep 60"), Reader())

    assert (signal.SIGTERM, b"my-id\n") == (interruption.value.signal_number, bytes(seen))
