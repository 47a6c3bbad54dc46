"""Which commands of the table a slash runs in a live session: one line each. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

from oulipoly_engine.core.commands.command import SESSION, Argument, Command
from oulipoly_engine.core.commands.table import find

_OPEN = (SESSION, Argument("turn"))  # what is open: nobody names it


class Slash(NamedTuple):
    """One name behind the slash."""

    name: str
    command: str  # its name in the table of commands
    aliases: tuple[str, ...] = ()
    takes: tuple[Argument, ...] = ()  # in the place of the command's own arguments; none: those
    yields: Literal["never", "with words", "always"] = "never"  # when the CLI's own command of that name goes before
    instead: str = ""  # where a face cannot do it: who can

    @property
    def does(self) -> Command:
        """Return the command."""
        return find(self.command)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Return what may stand behind it; where something is missing, the face asks or tells what is set now."""
        return self.takes or tuple(argument for argument in self.does.arguments if argument not in _OPEN)

    @property
    def usage(self) -> str:
        """Return how it is written."""
        return " ".join((f"/{self.name}", *(argument.name.upper() for argument in self.arguments)))


SLASHES = (
    Slash("help", "help", ("commands",)),
    Slash("model", "session model", takes=(Argument("name", "session models"),)),
    Slash("provider", "session provider", ("account", "runtime")),
    Slash("session", "session status", ("status",)),
    Slash("tools", "session tools"),
    Slash("extensions", "ext list"),
    Slash("new", "session new"),
    Slash("resume", "turn resume"),
    Slash("fork", "session fork"),
    Slash("save", "session fork", takes=(Argument("name", is_rest=True),)),
    Slash("load", "session follow", takes=(Argument("name", is_rest=True),)),
    Slash("import", "session import", takes=(Argument("file", is_rest=True),)),
    Slash("tree", "session tree"),
    Slash("branch", "session branch", ("rewind",), takes=(Argument("message"), Argument("summary", is_rest=True))),
    Slash("label", "session label"),
    Slash("compare", "session compare"),
    Slash("clear", "session clear"),  # claude's own begins a session of its own: `//clear` sends that
    Slash("compact", "session compact", yields="with words"),
    Slash("review", "session review", takes=(Argument("branch", is_rest=True),), yields="always"),
    Slash("name", "session name", ("rename",)),
    Slash("copy", "session copy"),
    Slash("export", "session export"),
    Slash("steer", "session steer"),
    Slash("queue", "session queue"),
    Slash("interrupt", "session interrupt", ("stop",)),
    Slash("close", "session close"),
    Slash("settings", "settings", instead="the app has them, and `agents config set` changes them"),
    Slash("quit", "quit", ("exit",), instead="it leaves the app, and the session goes on"),
)
