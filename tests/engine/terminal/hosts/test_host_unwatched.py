"""Terminals that nobody looks at: their floods wait, all that they print is kept, and looking makes them fast."""

import textwrap

import pytest

from oulipoly_engine.terminal.host.client_connection import ClientConnection
from oulipoly_engine.terminal.host.clients import Clients

_TIMED = """
begun=$(date +%s%N)
head -c 1000000 /dev/zero | tr '\\0' x
echo; echo took $(( ($(date +%s%N) - begun) / 1000000 )) ms >"$1.new" && mv "$1.new" "$1"
echo the end; exec sleep 600
"""
_LEAST_MS = 200  # of the 15 rests that a million bytes take, were they read as fast as can be


def _took(path):
    return int(path.read_text().split()[1])


def test_flood_that_nobody_watches_waits_and_is_kept_to_its_end(hosts, waited, tmp_path):
    hosts.start("sh", "-c", _TIMED, "sh", str(tmp_path / "took"))

    waited((tmp_path / "took").exists, "the end of the flood")

    assert _took(tmp_path / "took") > _LEAST_MS


def test_one_who_comes_later_sees_what_was_printed_last(hosts, waited, tmp_path):
    terminal = hosts.start("sh", "-c", _TIMED, "sh", str(tmp_path / "took"))
    waited((tmp_path / "took").exists, "the end of the flood")

    hosts.watch(terminal).shows("the end")


def test_few_words_unseen_do_not_wait(hosts, waited, tmp_path):
    script = textwrap.dedent("""
        for round in 1 2 3; do printf '\\033[5n'; head -c 4 >/dev/null; done
        : >"$1"; exec sleep 600
    """)

    hosts.start("sh", "-c", f"stty raw -echo; {script}", "sh", str(tmp_path / "done"))

    waited((tmp_path / "done").exists, "the answers to the questions")


@pytest.fixture
def handles():
    class NoSocket:
        def setblocking(self, _on):
            pass

    one = ClientConnection(NoSocket())
    one.attached, one.focus = True, "unfocused"
    return one


@pytest.mark.parametrize(
    ("focus", "awaiting", "painted_at", "expected"),
    [
        ("focused", None, 0.0, True),
        ("unfocused", None, 0.0, True),
        ("hidden", None, 99.9, False),
        ("focused", 7, 99.5, True),
        ("focused", 7, 98.5, False),  # it was stopped, or its line is dead
    ],
)
def test_watched_is_what_somebody_draws(handles, focus, awaiting, painted_at, expected):
    clients = Clients("smallest")
    clients.connections.append(handles)
    handles.focus, handles.awaiting, handles.painted_at = focus, awaiting, painted_at

    assert clients.is_watched(100.0) is expected
