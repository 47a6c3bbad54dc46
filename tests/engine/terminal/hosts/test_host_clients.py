"""Several clients at one terminal, clients that are slow, rude or killed, and the sizes of their windows."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.host.frames import SMALLEST, Budget
from oulipoly_engine.records import replace
from oulipoly_engine.terminal.client import client
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.testing import FakeClock

_FLOOD = "yes 'the flood goes on and on and on and on and on'"


def _size(watcher):
    return watcher.view.columns, watcher.view.height


def test_two_clients_see_the_same_and_both_may_type(hosts):
    terminal = hosts.shell()
    first, second = hosts.watch(terminal, name="one"), hosts.watch(terminal, name="two")

    first.types("echo a$((1+1))b\n")
    second.shows("a2b")
    second.types("echo c$((1+2))d\n")

    first.shows("c3d")


def test_smallest_window_wins_and_everybody_is_told_whose_it_is(hosts):
    terminal = hosts.shell()
    big = hosts.watch(terminal, name="big", columns=120, rows=50)
    big.until(lambda: _size(big) == (120, 50))

    small = hosts.watch(terminal, name="small", columns=60, rows=20)

    big.until(lambda: _size(big) == (60, 20))
    assert ("small", "smallest", 2) == _decided(big)[-1]
    small.close()
    big.until(lambda: _size(big) == (120, 50))
    assert ("big", "smallest", 1) == _decided(big)[-1]


def _decided(watcher):
    return [(one.decided_by, one.rule, one.clients) for one in watcher.told if isinstance(one, messages.SizeReport)]


def test_last_to_type_wins_where_the_rule_says_so(hosts):
    terminal = hosts.shell(size_rule="last")
    first = hosts.watch(terminal, name="first", columns=100, rows=40)
    second = hosts.watch(terminal, name="second", columns=60, rows=20)
    second.until(lambda: _decided(second)[-1:] == [("second", "last", 2)])
    second.until(lambda: _size(second) == (60, 20))

    first.types("stty size\n")

    second.until(lambda: _size(second) == (100, 40))
    assert ("first", "last", 2) == _decided(second)[-1]


def test_program_learns_the_new_size(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.02; done"))
    watcher.shows("ready")

    watcher.client.send(messages.WindowSize(101, 33))

    watcher.shows("33 101")


def test_hidden_client_has_no_say_in_the_size_and_gets_no_pictures_but_hears_of_activity(hosts):
    terminal = hosts.shell()
    hidden = hosts.watch(terminal, name="hidden", columns=40, rows=10, focus="hidden")
    shown = hosts.watch(terminal, name="shown", columns=90, rows=30)

    shown.types("echo x$((4+4))\n")
    shown.shows("x8")
    hidden.until(lambda: any(isinstance(one, messages.SideEffectReport) and one.active for one in hidden.told))

    assert (90, 30) == _size(shown)
    assert [] == hidden.pictures
    hidden.client.send(messages.FocusChange("focused"))
    hidden.shows("x8")


def test_client_that_never_reads_holds_up_neither_the_program_nor_others(hosts):
    terminal = hosts.start("sh", "-c", _FLOOD)
    sleeper = hosts.watch(terminal, name="sleeper")
    reader = hosts.watch(terminal, name="reader")

    reader.until(lambda: len(reader.pictures) > 40)

    assert [] == sleeper.pictures  # it has not even looked; what waits for it is one picture
    sleeper.pump()
    sleeper.pump()
    assert len(sleeper.pictures) <= 2


def test_client_without_acknowledgements_is_owed_one_picture_only(hosts):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    watcher.shows("$")
    watcher.client.send = lambda message: None  # from here on it acknowledges nothing
    other = hosts.watch(terminal, name="other")
    for number in range(5):
        other.until(lambda: other.text.rstrip().endswith("$"), "a prompt")
        other.types(f"echo n{number}m\n")
        other.shows(f"\nn{number}m")

    before = len(watcher.pictures)
    for _ in range(10):
        watcher.pump(0.01)

    assert len(watcher.pictures) - before <= 1


def test_input_that_the_program_does_not_read_is_bounded_and_the_loss_is_said(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "stty raw -echo; echo ready; sleep 1000"))
    watcher.shows("ready")

    for _ in range(20):
        watcher.client.send(messages.PasteInput("x" * (1 << 20)))

    assert "does not read" in watcher.hears(messages.HostNotice).text


def test_large_paste_arrives_whole_while_pictures_go_on(hosts, waited):
    script = "stty raw -echo; echo ready; head -c 3000000 >got; echo all of it; cat"
    watcher = hosts.watch(hosts.start("sh", "-c", script))
    watcher.shows("ready")

    watcher.client.send(messages.PasteInput("0123456789" * 300_000))

    watcher.shows("all of it")
    assert b"0123456789" * 300_000 == (hosts.home / "got").read_bytes()


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\0\0\0\5hello",
        b"\xff" * 64,
        b"GET / HTTP/1.1\r\n\r\n",
        messages.encode(messages.Attach(80, 24)),
        b"\0\0\0\1\xc0",
    ],
    ids=["no-msgpack", "huge-length", "http", "no-hello", "nil"],
)
def test_rubbish_costs_a_client_its_connection_and_nobody_else_theirs(hosts, rubbish):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    with socket.socket(socket.AF_UNIX) as rude:
        rude.settimeout(60)
        rude.connect(str(hosts.place(terminal).socket))
        rude.sendall(rubbish)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while data := rude.recv(4096):
                answer += data

    assert b"bye" in answer or answer == b""
    watcher.types("echo still $((1+1))\n")
    watcher.shows("still 2")


def test_other_version_is_refused_with_a_sentence(hosts):
    terminal = hosts.shell()
    with socket.socket(socket.AF_UNIX) as old:
        old.settimeout(60)
        old.connect(str(hosts.place(terminal).socket))
        old.sendall(messages.encode(messages.Hello(version=99)))
        (bye,) = messages.Decoder(messages.FromHost).feed(old.recv(4096))

    assert "speaks version 1 of the protocol, not 99" in bye.text


def test_a_client_that_takes_no_message_so_large_is_let_go_and_nobody_else(hosts, gone, monkeypatch):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    with monkeypatch.context() as patch:
        patch.setattr(client, "TERMINAL", replace(client.TERMINAL, budget=Budget(largest=SMALLEST)))
        smaller = hosts.watch(terminal, name="smaller", columns=500, rows=200)
    watcher.client.attach(500, 200)
    watcher.types("seq -s ' ' 30000; echo done\n")

    assert "larger than the limit of 65,536" in gone(smaller)
    watcher.types("echo still $((1+1))\n")
    watcher.shows("still 2")


def test_client_killed_while_output_flows_and_input_is_half_sent_leaves_the_program_intact(hosts):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    watcher.types("greeting=intact; echo ready\n")
    watcher.shows("\nready")
    script = f"""
        import os, socket, sys
        from oulipoly_engine.terminal.protocol import messages as wire
        connection = socket.socket(socket.AF_UNIX)
        connection.connect({str(hosts.place(terminal).socket)!r})
        half = wire.encode(wire.TextInput(b"echo lost words"))[:-5]
        flood = wire.TextInput(b"for i in 1 2 3 4 5 6 7 8 9; do seq 2000; done; echo done\\n")
        connection.sendall(b"".join(map(wire.encode, (wire.Hello(), wire.Attach(80, 24), flood))) + half)
        print("sent", flush=True)
        sys.stdin.read()
    """
    victim = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with victim:
        victim.stdout.readline()
        os.kill(victim.pid, signal.SIGKILL)

    watcher.shows("\ndone")
    watcher.types("echo $greeting\n")

    watcher.shows("\nintact")
    assert "lost words" not in watcher.text


def test_terminal_is_found_as_it_was_left(hosts):
    terminal = hosts.start("sh", "-c", r"printf '\033[?1049h\033[5;10Hin the middle'; cat")
    hosts.watch(terminal).shows("in the middle")
    hosts.watch(terminal).close()

    again = hosts.watch(terminal)

    again.shows("in the middle")
    assert "         in the middle" == again.view.text()[4]
    assert again.view.alternate


def test_pictures_come_at_most_sixty_times_a_second(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", _FLOOD))
    watcher.until(lambda: len(watcher.pictures) > 5)
    begun, before = time.monotonic(), len(watcher.pictures)

    watcher.until(lambda: time.monotonic() - begun > 0.5)

    assert len(watcher.pictures) - before <= 60 * (time.monotonic() - begun) + 2


def test_flooding_program_that_changes_its_own_size_stays_usable(hosts):
    watcher = hosts.watch(hosts.shell())
    watcher.types("stty rows 500 cols 3; echo a long line that goes on; stty rows 1 cols 9999; echo a''nd back\n")
    watcher.shows("and back")

    watcher.client.send(messages.WindowSize(70, 20))
    watcher.until(lambda: _size(watcher) == (70, 20))
    watcher.types("stty size\n")

    watcher.shows("20 70")


def test_too_many_clients_are_turned_away_and_the_rest_served(hosts):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    with contextlib.ExitStack() as stack:
        for _ in range(80):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(str(hosts.place(terminal).socket))
        one.settimeout(60)
        assert b"" == one.recv(1)

        watcher.types("echo ser''ved\n")
        watcher.shows("served")


def test_a_terminal_begins_by_the_clock_of_who_starts_it(hosts):
    clock = FakeClock()

    assert to_text(clock.now()) == hosts.start("cat", clock=clock).started_at
