"""What this program can know of a CLI: one bundle of optional capabilities (contract, section 15). Pure.

A capability that is None is one that the CLI does not have: whoever needs it says so and goes on without it. Facts
about the programs were seen with Claude Code 2.1.197, Codex 0.169, opencode 1.18 and Gemini CLI 0.61 (2026-11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from oulipoly_engine.core.accounts.clis.adapters import QuotaSource, Transcripts
from oulipoly_engine.core.accounts.clis.extensions import Location, McpServers
from oulipoly_engine.core.accounts.clis.handover import HandOver
from oulipoly_engine.core.accounts.clis.host_login import HostLogin
from oulipoly_engine.records import Record, field


class Place(Record):
    """Where a CLI keeps what belongs to one login."""

    default: str  # its folder below the user's home, where nobody says otherwise
    variables: Mapping[str, str]  # that lead it to another home: the folder below that home each is set to; "" itself
    below: str = ""  # where in such a home its folder lies; "": the home is the folder
    marks: tuple[str, ...] = ()  # files and folders of its folder; one of them tells that the CLI was used there

    @property
    def own_variables(self) -> tuple[str, ...]:
        """Return those variables that no other program looks at: set in a shell, they lead every account elsewhere."""
        return tuple(name for name in self.variables if not name.startswith("XDG_"))

    def folder(self, home: str) -> str:
        """Return the CLI's folder in a home of its own."""
        return str(PurePosixPath(home) / self.below)

    def home(self, folder: str) -> str:
        """Return the home in which the CLI has that folder."""
        place = PurePosixPath(folder)
        for _ in PurePosixPath(self.below).parts:
            place = place.parent
        return str(place)

    def find_folder(self, variables: Mapping[str, str]) -> str | None:
        """Return the CLI's folder where variables lead it to one; None where it looks by itself."""
        for name, below in self.variables.items():
            leads_there = not below or self.below == below or self.below.startswith(f"{below}/")
            if leads_there and variables.get(name, "").startswith("/"):
                return str(PurePosixPath(variables[name]) / PurePosixPath(self.below).relative_to(below or "."))
        return None

    def environment(self, home: str) -> dict[str, str]:
        """Return the variables with which the CLI works in a home of its own."""
        return {name: str(PurePosixPath(home) / below) for name, below in self.variables.items()}


class Launch(Record):
    """How it is started and goes on with a session."""

    words: tuple[str, ...]  # arguments of every one-shot
    prompt_mode: str = "stdin"
    resume_flag: str = ""  # before a session's id; empty: `resume_words` stand there
    resume_words: tuple[str, ...] = ()
    fork_args: tuple[str, ...] = ()
    capture: Mapping[str, str] = field(default_factory=dict)  # the account's [session_capture]
    unset: tuple[str, ...] = ()  # variables that would win over the login
    answer_words: tuple[str, ...] = ()  # further arguments of a one-shot that only answers: no tools, no session kept
    can_forbid_tools: bool = False  # with `answer_words` it has none that reads, runs or changes anything
    test_words: tuple[str, ...] = ()  # further arguments of a test prompt, which is asked in any folder


class LoginCommand(Record):
    """How somebody logs in."""

    words: tuple[str, ...]  # arguments; empty: the CLI asks when it is started
    hint: str = ""  # what to do there, where that is not plain


class Observed(Record):
    """What was seen of a login."""

    exit_code: int | None = None  # of the status command; None: there is none, or it did not end
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # the texts of those that are there, by their names


NAMELESS = "logged in"  # stands for a name that nobody knows


class Profile(Record):
    """Who is logged in; never a token."""

    id: str  # mail, name, or what kind of login it is
    method: str  # claude.ai, chatgpt, api_key, …
    plan: str | None = None  # max, pro, …
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_named(self) -> bool:
        """Tell whether it is known who, and not only that somebody is."""
        return self.id != NAMELESS

    @property
    def text(self) -> str:
        """Return it for people: `ann@example.com (max)`; `logged in (max)` where nobody knows who."""
        return f"{self.id} ({self.plan})" if self.plan else self.id

    @property
    def sentence(self) -> str:
        """Return that somebody is logged in, and who, as far as that is known."""
        return f"{NAMELESS}: {self.text}" if self.is_named else self.text


class Status(Record):
    """How it is told who is logged in."""

    read: Callable[[Observed], tuple[Profile, ...]]  # the one in use first; none: nobody is
    words: tuple[str, ...] = ()  # arguments of the status command; empty: the files tell
    files: tuple[str, ...] = ()  # that are read, in the CLI's folder


class PrivateFile(Record):
    """A file to be written for the owner's eyes alone."""

    name: str  # below the account's home
    text: str


class Key(Record):
    """An API key on its way to where its CLI finds it."""

    text: str
    provider: str = ""  # whose it is, where a CLI has several
    kept: str = ""  # what is there now, with the keys of other providers


def _key_alone(key: Key) -> str:
    return key.text


class InKeyring(Record):
    """How a CLI takes a key that is in the keyring."""

    variable: str  # that it gets when it is started
    value: Callable[[Key], str] = _key_alone  # what is kept, and what the variable is then
    files: tuple[PrivateFile, ...] = ()  # that make it look into the variable
    stands_for: str = ""  # the file of its folder that has the same; empty: the value is the key alone


class ApiKey(Record):
    """How a key takes the place of a login; it stands in the account's home or in the keyring."""

    files: Callable[[str, Key], tuple[PrivateFile, ...]] | None = None  # of (home, key): what is written
    words: tuple[str, ...] = ()  # or: arguments of a command that takes the key on stdin and keeps it
    keyring: InKeyring | None = None
    merged: str = ""  # the file, below the home, that keeps the keys of several providers
    providers: tuple[str, ...] = ()  # that are known best; none: every key is of the same one


class ModelList(Record):
    """How it tells which models it offers."""

    words: tuple[str, ...]  # arguments; no model is asked anything
    read: Callable[[str], tuple[str, ...]] | None = None  # names in what it prints; None: each begins a line


class LiveProtocol(Record):
    """How it is driven by a protocol of its own in place of a screen."""

    driver: str  # codex, claude or acp
    start_words: tuple[str, ...] = ()  # ACP: the arguments that make it speak so
    reserved: tuple[str, ...] = ()  # further options that are not the user's to give in such a session
    options: tuple[str, ...] | None = None  # those of a one-shot that it takes in such a session too; None: all
    tested: tuple[str, ...] = ()  # versions that the driver was seen to work with, the newest last
    loses_sessions: bool = False  # a new process of it does not always find what an earlier one has kept
    thinking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # its arguments for a level of thinking
    system_prompt: Callable[[str], tuple[str, ...]] | None = None  # that add a text to its system prompt
    tools: Callable[[Sequence[str]], tuple[str, ...]] | None = None  # that leave it these tools alone
    unkept: tuple[str, ...] = ()  # with which it writes nothing of a session down
    answer_tokens: str = ""  # the variable that says how many tokens an answer may have
    temperature: Callable[[float], Mapping[str, str]] | None = None  # variables that say how freely its model answers
    command_ms: str = ""  # the variable that says how long a command of its tools may run


class Cli(Record):
    """One CLI."""

    name: str  # its program, and what people call it here: claude
    title: str
    package: str  # as npm knows it
    place: Place
    launch: Launch
    credentials: tuple[str, ...] = ()  # in its folder; one of them is there where somebody is logged in
    stand_ins: tuple[str, ...] = ()  # variables that stand in for a login
    needs_login: bool = True  # False: it has models for which nobody has to be logged in
    vendors: tuple[str, ...] = ()  # that people may name in its place
    elsewhere: tuple[str, bytes] = ("", b"")  # (file in its folder, what it then says) where the login lies elsewhere
    oldest: tuple[int, ...] = ()  # version that was seen to work
    version_words: tuple[str, ...] = ("--version",)
    login: LoginCommand | None = None
    logout: LoginCommand | None = None  # with a hint: it asks something, so that it needs a terminal
    status: Status | None = None
    api_key: ApiKey | None = None
    transcripts: Transcripts | None = None
    models: ModelList | None = None
    live: LiveProtocol | None = None
    skills: Location | None = None  # the folder whose folders are its skills
    mcp: tuple[McpServers, ...] = ()  # the first is what it reads and what is written; others are of the past
    hand_over: HandOver | None = None  # of MCP servers, for one start
    host_login: HostLogin | None = None  # how its login is kept out of a box

    @property
    def quota(self) -> QuotaSource | None:
        """Return which usage adapter reads its quota; None: no endpoint tells it."""
        return None if self.transcripts is None else self.transcripts.quota

    @property
    def install(self) -> str:
        """Return the command that installs it."""
        return f"npm install -g {self.package}"
