"""Clients that only read: they see everything and touch nothing."""

import pytest

from oulipoly_engine.terminal.client.client import Client
from oulipoly_engine.terminal.host.size_policy import Decided, Window, decide
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.remote_screen import View


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
            if isinstance(message, messages.Picture):
                client.send(messages.Seen(message.number))
            if isinstance(message, kind) and fits(message):
                return message


@pytest.mark.parametrize("rule", ["smallest", "last"])
def test_reader_has_no_say_in_the_size_beside_another(rule):
    wide, narrow = Window("wide", 100, 30, 1.0), Window("narrow", 40, 10, 2.0, only_reads=True)

    assert Decided(100, 30, "wide") == decide([wide, narrow], rule)
    assert Decided(40, 10, "narrow") == decide([narrow], rule)
    assert decide([], rule) is None


def test_reader_alone_has_the_size_and_loses_it_to_one_who_types(hosts, read):
    terminal = hosts.shell()
    reader = read(terminal, 40, 10)
    heard(reader, messages.SizeSet, lambda told: (40, 10) == (told.columns, told.rows))

    watcher = hosts.watch(terminal, columns=90, rows=20)
    told = heard(reader, messages.SizeSet, lambda told: told.clients == 2)
    assert (90, 20, "watcher") == (told.columns, told.rows, told.decided_by)
    reader.send(messages.Resized(30, 5))
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
    sent = (
        messages.Typed(b"typed\n"),
        messages.Pressed("x"),
        messages.Pasted("pasted\n"),
        messages.Pointed("press", 1, 2, 2),
    )
    for message in (*sent, messages.Focused("unfocused"), messages.Focused("focused"), messages.Kill(9)):
        reader.send(message)
    reader.send(messages.SearchWanted(1, "ready"))
    heard(reader, messages.SearchFound)  # so all that came before it was looked at
    watcher.types("mine\n")

    watcher.shows("mine")
    assert f"{before}\nmine" == watcher.text.rstrip()
    assert alive(terminal.pid)


def test_reader_scrolls_its_own_view_and_nobody_elses(hosts, read):
    terminal = hosts.start("sh", "-c", "stty -echo; seq 1 200; read x; echo one more; exec cat")
    watcher = hosts.watch(terminal)
    watcher.shows("200")
    reader, view = read(terminal, 80, 24), View()
    view.take(heard(reader, messages.Picture))
    reader.send(messages.Scrolled(-100))
    back = heard(reader, messages.Picture, lambda picture: picture.offset)
    view.take(back)

    assert (100, "78", "101") == (back.offset, view.text()[0], view.text()[-1])
    watcher.types("\n")
    watcher.shows("one more")
    assert {0} == {picture.offset for picture in watcher.pictures}
    reader.send(messages.Scrolled(0))
    view.take(heard(reader, messages.Picture))
    assert "one more" in view.text()


def test_reader_that_looks_back_goes_on_from_there_while_more_is_printed(hosts, read):
    terminal = hosts.start("sh", "-c", "stty -echo; seq 1 200; read x; seq 201 300; exec cat")
    watcher = hosts.watch(terminal)
    watcher.shows("200")
    reader, view = read(terminal, 80, 24), View()
    reader.send(messages.Scrolled(-100))
    heard(reader, messages.Picture, lambda picture: picture.offset)
    watcher.types("\n")
    watcher.shows("300")
    reader.send(messages.Scrolled(-8))
    view.take(heard(reader, messages.Picture))

    assert ("70", "93") == (view.text()[0], view.text()[-1])
    assert watcher.text.endswith("300\n")


def test_reader_that_looks_back_hears_of_the_end_and_of_a_new_size(hosts, read):
    terminal = hosts.start("sh", "-c", "stty -echo; seq 1 200; read x; exit 3")
    watcher = hosts.watch(terminal)
    watcher.shows("200")
    reader = read(terminal, 80, 24)
    reader.send(messages.Scrolled(-100))
    heard(reader, messages.Picture, lambda picture: picture.offset)
    watcher.client.send(messages.Resized(70, 20))
    heard(reader, messages.Picture, lambda picture: (70, 0) == (picture.columns, picture.offset))
    reader.send(messages.Scrolled(-100))
    watcher.types("\n")

    assert 3 == heard(reader, messages.Exited).code
