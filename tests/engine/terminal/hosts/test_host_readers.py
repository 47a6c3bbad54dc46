"""Clients that only read: they see everything and touch nothing."""

import pytest

from oulipoly_engine.terminal import wire
from oulipoly_engine.terminal.client import Client
from oulipoly_engine.terminal.sizing import Window, decide


@pytest.fixture
def read(hosts):
    """Attach a client that only reads."""
    opened = []

    def attach(terminal, columns, rows):
        client = Client(hosts.place(terminal).socket, "reader")
        opened.append(client)
        client.attach(columns, rows, only_reads=True)
        return client

    yield attach
    for client in opened:
        client.close()


def heard(client, kind, fits=lambda _: True):
    """Return the first message of a kind that fits."""
    while True:
        for message in client.receive(20):
            if isinstance(message, kind) and fits(message):
                return message
            if isinstance(message, wire.Picture):
                client.send(wire.Seen(message.number))


@pytest.mark.parametrize("rule", ["smallest", "last"])
def test_reader_has_no_say_in_the_size_beside_another(rule):
    wide, narrow = Window("wide", 100, 30, 1.0), Window("narrow", 40, 10, 2.0, only_reads=True)

    assert (100, 30, "wide") == decide([wide, narrow], rule)
    assert (40, 10, "narrow") == decide([narrow], rule)
    assert decide([], rule) is None


def test_reader_alone_has_the_size_and_loses_it_to_one_who_types(hosts, read):
    terminal = hosts.shell()
    reader = read(terminal, 40, 10)
    heard(reader, wire.SizeSet, lambda told: (40, 10) == (told.columns, told.rows))

    watcher = hosts.watch(terminal, columns=90, rows=20)
    told = heard(reader, wire.SizeSet, lambda told: told.clients == 2)
    assert (90, 20, "watcher") == (told.columns, told.rows, told.decided_by)
    reader.send(wire.Resized(30, 5))
    watcher.types("stty size\n")

    watcher.shows("20 90")
    assert (90, 20) == (watcher.pictures[-1].columns, watcher.pictures[-1].rows)


def test_nothing_that_a_reader_sends_gets_to_the_program(hosts, read, alive):
    terminal = hosts.start("sh", "-c", "stty -echo; printf '\\033[?1004h\\033[?1000hready'; exec cat -v")
    watcher = hosts.watch(terminal, focus="unfocused")
    watcher.shows("ready")
    watcher.types("first\n")
    watcher.shows("first")
    before = watcher.text.rstrip()
    reader = read(terminal, 80, 24)
    sent = (wire.Typed(b"typed\n"), wire.Pressed("x"), wire.Pasted("pasted\n"), wire.Pointed("press", 1, 2, 2))
    for message in (*sent, wire.Focused("unfocused"), wire.Focused("focused"), wire.Kill(9)):
        reader.send(message)
    reader.send(wire.SearchWanted(1, "ready"))
    heard(reader, wire.SearchFound)  # so all that came before it was looked at
    watcher.types("mine\n")

    watcher.shows("mine")
    assert f"{before}\nmine" == watcher.text.rstrip()
    assert alive(terminal.pid)
