"""What the extensions of this program give to every CLI that is started: MCP servers, ours among them.

The user's own files stay as they are. A CLI that is not known, or that is told which servers it has, gets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.config.edit import mcp_files
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.handover import NOTHING, Handed
from oulipoly_engine.core.accounts.clis.table import AccountCli, recognise_cli
from oulipoly_engine.core.setup import mcp
from oulipoly_engine.core.setup.mcp import Server
from oulipoly_engine.drivers import base as drivers
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record, replace

OURS = "agents"  # the server that offers the tools and skills of extensions


class HandOver(Record):
    """What is handed over."""

    servers: Mapping[str, Server]  # local ones, by the names that they have where nothing of the user's is called so
    home: Path  # what `~` stands for
    linked_homes: Path  # the folder of homes of links

    def give(
        self, account: Account, words: Sequence[str], environment: Mapping[str, str], *, asks_nobody: bool
    ) -> Handed:
        """Return what a start of an account's CLI gets. words: all others that it is started with.

        environment: whole, as it is started with. asks_nobody: no person sits before it, so that it would refuse tools
        that need an approval; those of our own server are approved then, as their extensions were when they got
        their permissions.
        """
        account_cli = recognise_cli(account, self.home, environment)
        if account_cli is None:
            return NOTHING
        cli = account_cli.cli
        handed = self.give_cli(cli, words, environment)
        if asks_nobody:
            handed = self._allow(cli, handed, environment)
        return self._link(account_cli, handed, environment) if handed.files else handed

    def give_cli(self, cli: Cli, words: Sequence[str], environment: Mapping[str, str]) -> Handed:
        """Return what a start of a CLI gets before which a person sits."""
        if cli.hand_over is None or cli.hand_over.leaves_alone(words):
            return NOTHING
        own = _list_own(cli, self.home, environment)
        servers = self.servers
        if not cli.hand_over.is_seen:  # opencode puts values in place of references before it reads the JSON
            servers = {name: _expand(server, environment) for name, server in servers.items()}
        form = cli.mcp[0].form
        entries = {
            self._name(name, own): mcp.write_server(server, form, cli.title).entry for name, server in servers.items()
        }
        return cli.hand_over.give(entries, environment)

    def give_session(
        self, opening: Opening, cli: Cli | None, kind: str, environment: Mapping[str, str], *, allows: bool = False
    ) -> tuple[Opening, dict[str, str]]:
        """Return a live session's opening and environment with what its CLI gets. kind: of its wire.

        allows: the tools of our own server need no approval, where the CLI can be told so.
        """
        if driver_of(kind).takes_servers:
            return replace(opening, servers=self._list_servers(environment)), dict(environment)
        handed = NOTHING if cli is None else self.give_cli(cli, opening.args, environment)
        if allows and cli is not None:
            handed = self._allow(cli, handed, environment)
        return replace(opening, args=(*opening.args, *handed.words)), {**environment, **handed.environment}

    def _allow(self, cli: Cli, handed: Handed, environment: Mapping[str, str]) -> Handed:
        """Return what is handed over with what approves the tools of our own server."""
        if cli.hand_over is None or handed is NOTHING:
            return handed
        ours = self._name(OURS, _list_own(cli, self.home, environment))
        words = (*handed.words, *cli.hand_over.allow(ours))
        return replace(handed, words=words, files=(*handed.files, *cli.hand_over.allow_in(ours)))

    def _link(self, account_cli: AccountCli, handed: Handed, environment: Mapping[str, str]) -> Handed:
        """Return what leads a CLI to a home of links that has files of ours; a home that cannot be made is none."""
        from oulipoly_engine.service.extensions import linked_home  # noqa: PLC0415 - of one CLI

        return linked_home.hand_over(self.linked_homes, account_cli, handed, environment)

    def _list_servers(self, env: Mapping[str, str]) -> tuple[drivers.Server, ...]:
        return tuple(
            drivers.Server(name, server.command, _expand(server, env).env) for name, server in self.servers.items()
        )

    def _name(self, name: str, own: frozenset[str]) -> str:
        return f"{OURS}-{name}" if name in own else name


def _expand(server: Server, environment: Mapping[str, str]) -> Server:
    return replace(server, env={name: mcp.expand(text, environment) for name, text in server.env.items()})


def _list_own(cli: Cli, home: Path, environment: Mapping[str, str]) -> frozenset[str]:
    """Return the names of a CLI's own servers; a file that cannot be read has none: its CLI says what is wrong."""
    names: set[str] = set()
    for form in cli.mcp[:1]:
        for location in form.files:
            with suppress(RunnerError, OSError):
                path = Path(location.find(str(home), environment))
                document = mcp_files.read(path).document
                names |= mcp.find_servers(document, form, str(path))[1].keys()
                names |= mcp.find_project_servers(document, form).keys()
    return frozenset(names)
