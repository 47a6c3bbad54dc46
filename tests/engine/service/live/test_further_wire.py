"""A further wire is a driver, a bundle and a line in the table: everybody else learns of it from there."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis import table as clis
from oulipoly_engine.core.accounts.clis.cli import Cli, Launch, LiveProtocol, Place
from oulipoly_engine.core.live.events import SessionOpened
from oulipoly_engine.core.live.launch.arguments import list_reserved
from oulipoly_engine.core.live.launch.catalogue import derive_runtimes
from oulipoly_engine.core.live.permissions import acts_unasked, choose_policy
from oulipoly_engine.core.live.runtimes import RuntimeEntry
from oulipoly_engine.core.live.wires import table
from oulipoly_engine.core.live.wires.wire import OwnLog, Policies, Syntax, Wire, option_set
from oulipoly_engine.core.worktrees.work import allowed_parameters, log_hint
from oulipoly_engine.drivers.base import Driver
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.service.live.runtimes.refresh import probe_runtime


class TelexDriver(Driver):
    """Asks who is there, and takes the answer for the session's opening."""

    kind = "telex"

    @classmethod
    def words(cls, opening):
        return (*opening.start_words, *opening.args)

    def begin(self):
        self._write(b"WHO ARE YOU\n")

    def receive(self, line):
        self._say(SessionOpened(line.decode(), version="5"))

    def send(self, turn_id, text):
        raise AssertionError

    def interrupt(self):
        raise AssertionError

    def closing(self):
        pass

    def closed(self):
        pass


TELEX = Wire(
    kind="telex",
    note="A made-up one.",
    driver="telex:TelexDriver",
    syntax=Syntax(option_set("--loud")),
    policies=Policies(
        {
            "full_access": ("all", "exact"),
            "auto_accept_edits": ("some", "exact"),
            "supervised": ("none", "exact"),
        },
        {"all": 0, "some": 1, "none": 2},
    ),
    own_log=OwnLog("~/.telex", "{id}.txt"),
)


@pytest.fixture
def wire(monkeypatch):
    monkeypatch.setitem(table.WIRES, TELEX.kind, TELEX)
    monkeypatch.setitem(sys.modules, "oulipoly_engine.drivers.telex", SimpleNamespace(TelexDriver=TelexDriver))
    return TELEX


def test_a_session_is_opened_by_a_further_wire(wire, tmp_path):
    program = tmp_path / "telex"
    program.write_text('#!/bin/sh\nread line; test "$line" = "WHO ARE YOU" && echo 4711; cat >/dev/null\n')
    program.chmod(0o755)
    entry = RuntimeEntry("far", "far", kind=wire.kind, program=str(program), startup_s=60.0)

    catalogue = derive_runtimes({}, (entry,), tmp_path)
    path, probe = probe_runtime(catalogue.runtimes[0], None, None, dict(os.environ), Path(tmp_path))

    assert () == catalogue.problems
    assert (str(program), "", "5") == (path, probe.reason, probe.version)


def test_an_account_of_a_further_cli_is_driven_by_its_wire(wire, monkeypatch, tmp_path):
    place = Place(".telex", {"TELEX_HOME": ""})
    cli = Cli("telex", "Telex", "telex", place, Launch(("once",)), live=LiveProtocol(wire.kind))
    monkeypatch.setitem(clis.CLIS, cli.name, cli)
    account = Account("ann", "telex", args=("once", "--loud", "--quiet"))

    (runtime,) = derive_runtimes({account.name: account}, (), tmp_path).runtimes

    assert ("telex", ("--quiet",), str(tmp_path / ".telex")) == (runtime.kind, runtime.args, runtime.home)


def test_everybody_asks_the_bundle(wire):
    assert TelexDriver is driver_of("telex")
    assert "none" == choose_policy("telex", "supervised").policy
    assert not acts_unasked(("telex",), "supervised")
    assert [0] == [one.index for one in list_reserved("telex", ("--loud", "--quiet"))]
    assert ("model", "effort", "profile") == allowed_parameters("telex")
    assert "~/.telex/7.txt" == log_hint("telex", "", "7")
