"""Where our files lie. With `process`, the only reader of the environment."""

from __future__ import annotations

import os
import pwd
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import overload

from oulipoly_engine import variables
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record, replace

APP = "oulipoly-agent-runner"
PROJECT_FOLDER = ".agent-runner"
_EMPTY_IS_NO = "_TELEMETRY"  # ends the names of variables that say no when they are empty; others say nothing then
CONFIGURATION_JOURNAL = "configuration-change.json"
_SOCKET_PATH_LIMIT = 103  # bytes: macOS gives a Unix socket's path 104 with the final NUL, Linux 108
_LONGEST_SOCKET_NAME = len("/123456789012.sock.new")  # a live session's; terminals have shorter ones


class Above(Record):
    """What stands above the settings of the user's own files, for one process."""

    project: Path | None = None  # the folder of a project's settings
    environment: Mapping[str, str] = {}  # variables that may be settings, by their names
    options: Mapping[str, str] = {}  # what `--set` gives, by key
    extensions: tuple[Path, ...] = ()  # what `--extension` names
    is_trusted: Callable[[Path, str], bool] = lambda _folder, _digest: False  # by its settings' SHA-256

    @property
    def says_anything(self) -> bool:
        """Return whether there is anything to read."""
        return bool(self.project or self.environment or self.options)


class Paths(Record):
    """The folders of one user, and what stands above the settings in them."""

    config: Path  # providers.toml, config.toml, sessions.toml, models/, agents/
    data: Path  # state.db, locks/, invocations/, ...
    home: Path  # what `~` stands for
    runtime_root: Path | None = None  # XDG_RUNTIME_DIR, where the data folder is the usual one
    cache: Path | None = None  # what can be made again; None: nothing is kept
    above: Above = Above()

    @property
    def providers(self) -> Path:
        """Return the accounts' file."""
        return self.config / "providers.toml"

    @property
    def settings(self) -> Path:
        """Return the global settings' file."""
        return self.config / "config.toml"

    @property
    def sessions(self) -> Path:
        """Return the file of entry and locator scripts."""
        return self.config / "sessions.toml"

    @property
    def models(self) -> Path:
        """Return the folder of pools."""
        return self.config / "models"

    @property
    def agents(self) -> Path:
        """Return the folder of agent files."""
        return self.config / "agents"

    @property
    def prompts(self) -> Path:
        """Return the folder of prompt files."""
        return self.config / "prompts"

    @property
    def extensions(self) -> Path:
        """Return the folder of extensions."""
        return self.config / "extensions"

    @property
    def extension_settings(self) -> Path:
        """Return the folder of the settings of extensions, `NAME.toml` each."""
        return self.config / "extension-settings"

    @property
    def extension_logs(self) -> Path:
        """Return the folder of the logs of extensions, `NAME.log` each."""
        return self.data / "logs" / "extensions"

    @property
    def state_db(self) -> Path:
        """Return the state file."""
        return self.data / "state.db"

    @property
    def configuration_journal(self) -> Path:
        """Return the journal of a change of the configuration that is under way, or was cut off."""
        return self.data / CONFIGURATION_JOURNAL

    @property
    def removed_homes(self) -> Path:
        """Return the folder that is there while homes of removed accounts are to be deleted."""
        return self.data / "removed-homes"

    @property
    def unkept_sessions(self) -> Path:
        """Return the folder of notes on sessions that a chat forgets when it ends; each has the chat's mark."""
        return self.data / "unkept-sessions"

    @property
    def linked_homes(self) -> Path:
        """Return the folder of homes that are links to those of accounts, with a file of ours in each."""
        return self.data / "linked-homes"

    @property
    def artifacts(self) -> Path:
        """Return the artifact store of runs, as far as they are told of no other one."""
        return self.data / "artifacts.db"

    @property
    def results(self) -> Path:
        """Return the folder of `<uuid>.result` files."""
        return self.data / "invocations"

    @property
    def packages(self) -> Path:
        """Return the folder of installed packages."""
        return self.data / "packages"

    @property
    def images(self) -> Path:
        """Return the folder of the images of agents, an OCI image layout."""
        return self.data / "images"

    @property
    def registry(self) -> Path:
        """Return the folder of the registry that `registry serve` serves, another one."""
        return self.data / "registry"

    @property
    def token_secret(self) -> Path:
        """Return the file of the secret that signs the tokens of agents; the user alone reads it."""
        return self.data / "agent-tokens.key"

    @property
    def signing_key(self) -> Path:
        """Return the file of the key that images are signed with."""
        return self.data / "signing-key.pem"

    @property
    def running_agents(self) -> Path:
        """Return the folder of the trees of agents that were run, one each."""
        return self.data / "agents"

    @property
    def worktree_files(self) -> Path:
        """Return the folder of what belongs to worktrees and lies outside: logs of set-ups, homes of their boxes."""
        return self.data / "worktrees"

    @property
    def locks(self) -> Path:
        """Return the folder of leases."""
        return self.data / "locks"

    @property
    def runtime(self) -> Path:
        """Return the folder of sockets, short enough for a socket's path; whoever uses it makes it and checks it."""
        return _shorten(self.data / "run" if self.runtime_root is None else self.runtime_root / APP)

    @property
    def live_runtime(self) -> Path:
        """Return the folder of live sessions' sockets, as `runtime`; it depends on where the state file lies alone.

        Two hosts of one session would end each other's turns: cron and ssh, which set no XDG_RUNTIME_DIR, must find
        the one that the desktop has started.
        """
        return _shorten(self.data.resolve() / "run" / "live")

    @property
    def server_runtime(self) -> Path:
        """Return the folder of servers' sockets for the user's own programs, as `live_runtime`."""
        return _shorten(self.data.resolve() / "run" / "serve")

    @property
    def agent_sockets(self) -> Path:
        """Return the folder of the sockets of sealed agents' own runtimes, as `live_runtime`."""
        return _shorten(self.data.resolve() / "run" / "agents")

    @property
    def session_logs(self) -> Path:
        """Return the folder of the logs of sessions that work by themselves."""
        return self.data / "logs"

    @property
    def session_artifacts(self) -> Path:
        """Return the folder in which each session has one for the files that it makes for people."""
        return self.data / "artifacts"

    @property
    def terminal_logs(self) -> Path:
        """Return the folder of the terminal hosts' logs."""
        return self.data / "terminals"


def _shorten(folder: Path) -> Path:
    """Return a folder, or one in /tmp for it where its sockets' paths would be too long."""
    if len(os.fsencode(folder)) + _LONGEST_SOCKET_NAME <= _SOCKET_PATH_LIMIT:
        return folder
    return Path(f"{_stand_in()}{zlib.crc32(os.fsencode(folder)):08x}")


def is_stand_in(runtime: Path) -> bool:
    """Tell whether a runtime folder is there only because another one's path is too long: no one else needs it."""
    return str(runtime).startswith(_stand_in())


def _stand_in() -> str:
    return f"/tmp/{APP}-{os.getuid()}-"  # noqa: S108 - its owner and mode are checked before use


def expand_user(text: str) -> Path:
    """Return what a user has typed as a path, `~` replaced; the `~name` of nobody stays, where pathlib's raises."""
    return Path(os.path.expanduser(text))  # noqa: PTH111


def from_environment(environ: Mapping[str, str] | None = None) -> Paths:
    """Find the user's folders by the XDG rules; `OULIPOLY_DATA_DIR` overrides the data folder.

    A relative XDG path is ignored, as the XDG specification demands. Raises UsageInvalid where HOME is relative: what
    is kept would lie in another place for every folder that somebody works in.
    """
    env = os.environ if environ is None else environ
    home = _home(env)
    data = env.get(variables.DATA_DIR)
    return Paths(
        config=_xdg(env, "XDG_CONFIG_HOME", home / ".config") / APP,
        data=Path(data).absolute() if data else _xdg(env, "XDG_DATA_HOME", home / ".local" / "share") / APP,
        home=home,
        # Another data folder is another world: its terminals are not among those of the user's own.
        runtime_root=None if data else _xdg(env, "XDG_RUNTIME_DIR", None),
        cache=_xdg(env, "XDG_CACHE_HOME", home / ".cache") / APP,
        above=Above(_find_own_project() if environ is None else None, above_of(env)),
    )


def with_options(
    paths: Paths, given: Sequence[str], extensions: Sequence[Path] = (), *, has_none: bool = False
) -> Paths:
    """Return paths with the settings that `--set` gives, each KEY=VALUE. Raises UsageInvalid.

    extensions: that `--extension` names. has_none: there are no extensions, as `--no-extensions` says.
    """
    if extensions:
        named = (*paths.above.extensions, *(path.absolute() for path in extensions))
        paths = replace(paths, above=replace(paths.above, extensions=named))
    if has_none:
        given = (*given, "extensions_enabled=false")
    if not given:
        return paths
    settings: dict[str, str] = {}
    for text in given:
        key, is_pair, value = text.partition("=")
        if not (key and is_pair):
            raise UsageInvalid(f"--set takes KEY=VALUE, not {text[:60]!r}")
        settings[key.strip()] = value
    return replace(paths, above=replace(paths.above, options=settings))


def above_of(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that may be settings."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(variables.SETTINGS) and (value or name.endswith(_EMPTY_IS_NO))
    }


def _find_own_project() -> Path | None:
    try:
        return find_project(Path.cwd())
    except OSError:  # the folder is gone
        return None


def find_project(folder: Path) -> Path | None:
    """Return the folder of settings that a project has: the nearest one from a folder upwards."""
    places = (each / PROJECT_FOLDER for each in (folder, *folder.parents))
    return next((place for place in places if os.path.isdir(place)), None)  # noqa: PTH112 - raises nothing


def _home(env: Mapping[str, str]) -> Path:
    named = env.get("HOME")
    if not named:
        try:
            named = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError as error:
            raise UsageInvalid("HOME is not set, and the system knows no home folder of yours: set HOME") from error
    if not named.startswith("/"):
        raise UsageInvalid(f"HOME is {named!r}, which is not an absolute path: set it to your home folder, from `/` on")
    return Path(named)


@overload
def _xdg(env: Mapping[str, str], name: str, default: Path) -> Path: ...
@overload
def _xdg(env: Mapping[str, str], name: str, default: None) -> Path | None: ...
def _xdg(env: Mapping[str, str], name: str, default: Path | None) -> Path | None:
    value = env.get(name, "")
    return Path(value) if value.startswith("/") else default
