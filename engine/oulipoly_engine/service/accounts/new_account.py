"""An account on its way in: its name, the CLI's program, a home of its own, a key, and who is logged in there.

Until the configuration is written nothing of ours knows it; `discard` takes a home away that was made for it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from oulipoly_engine.config.edit import account_edit
from oulipoly_engine.config.edit.account_edit import Addition
from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.config.edit.write_files import read_text
from oulipoly_engine.core.accounts.accounts import Account, KeyringSpec
from oulipoly_engine.core.accounts.clis.account_files import Login
from oulipoly_engine.core.accounts.clis.cli import Cli, Key, PrivateFile, Profile
from oulipoly_engine.core.accounts.clis.table import CLIS, recognise_cli
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import (
    AccountBusy,
    AccountUnusable,
    HomeUnusable,
    LoginFailed,
    NameTaken,
    ProgramMissing,
    RequestRefused,
    RunnerError,
    UsageInvalid,
)
from oulipoly_engine.paths import Paths
from oulipoly_engine.private_files import FOLDER_MODE, make_new_folder, open_private, write_private
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.thread_pool import do_side_by_side
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts import keyring_entries, logins
from oulipoly_engine.service.accounts.logins import LoginState, Version
from oulipoly_engine.service.accounts.setup import login_in

# In homes that we made, with their place: `remove --delete-home` takes no other away. Empty until there is an account.
_MARKER = ".made-by-agent-runner"
_LONGEST_NAME = 60  # characters
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_LONGEST_KEY = 4096  # characters


class Candidate(Record):
    """An account that may be added."""

    name: str
    cli: Cli
    program: str  # its path
    home: Path | None  # that the CLI is led to; None: the one where it looks by itself
    folder: Path  # where the CLI keeps the login
    environ: Mapping[str, str]  # whole, with the variables that lead it there
    version: Version = Version()
    is_made: bool = False  # the home was made for it
    uses_key: bool = False
    keyring: KeyringSpec | None = None  # where the key is, if not in the home
    notes: tuple[str, ...] = ()  # what to know of it; a sentence each
    reserved: int | None = None  # a lock on the home that was made: a descriptor


def find_cli(name: str) -> Cli:
    """Return a CLI that is known. Raises UsageInvalid with the nearest one."""
    if name not in CLIS:
        near = nearest(name, CLIS)
        way_out = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(CLIS)}"
        raise UsageInvalid(f"{name[:40]!r} is not a CLI that this program knows: {way_out}")
    return CLIS[name]


def check_name(name: str, taken: Mapping[str, object]) -> None:
    """Refuse a name that cannot be an account's. Raises UsageInvalid, and RequestRefused for one that is taken."""
    if not name or len(name) > _LONGEST_NAME or not set(name) <= _SAFE or not name[0].isalnum():
        raise UsageInvalid(
            f"{name[:40]!r} is not a name for an account: use letters, digits, - _ and ., {_LONGEST_NAME} at most, "
            "with a letter or a digit first"
        )
    if name in taken:
        raise NameTaken(
            f"there is an account {name!r} already: choose another name, or `account login {name}` to log in again"
        )


def check_pool(name: str) -> None:
    """Refuse a name that cannot be a pool's, which is also its file's. Raises UsageInvalid."""
    if not name or len(name) > _LONGEST_NAME or not set(name) <= _SAFE | {"~"} or not name[0].isalnum():
        message = f"{name[:40]!r} is not a name for a pool: use letters, digits, - _ . and ~, {_LONGEST_NAME} at most"
        raise UsageInvalid(message)


def prepare(
    name: str, cli: Cli, home: Path | None, paths: Paths, environ: Mapping[str, str], used: Mapping[Path, str]
) -> Candidate:
    """Check what an account needs, and make its home unless one is given. used: whose each folder is.

    Raises RequestRefused for a CLI that is missing or does not answer, and for a home that cannot be used.
    """
    program = logins.find_program(cli.name, environ)
    if program is None:
        raise ProgramMissing(
            f"{cli.title} is not installed: there is no program {cli.name} on the PATH; `{cli.install}` installs it"
        )
    version = logins.read_version(cli, program, environ)
    if version.problem is not None:
        raise RequestRefused(
            f"`{program} {' '.join(cli.version_words)}` {version.problem}: see whether {cli.title} starts in a shell"
        )
    notes = tuple(filter(None, (logins.find_age_problem(cli, version),)))
    place = (paths.home / _home_name(cli, name)) if home is None else _check_home(home)
    is_default = home is not None and place.resolve() == (paths.home / cli.place.default).resolve()
    folder = paths.home / cli.place.default if is_default else Path(cli.place.folder(str(place)))
    owner = used.get(folder.resolve())
    if owner is not None:
        raise HomeUnusable(f"{place} is the home of the account {owner!r} already: name another folder")
    if home is not None and place.is_symlink():
        notes += (f"{place} is a link to {place.resolve()}",)
    reserved = _make_home(place) if home is None else None
    variables = {} if is_default else cli.place.environment(str(place))
    hidden = cli.place.own_variables if is_default else cli.launch.unset
    whole = {key: value for key, value in environ.items() if key not in hidden} | variables
    return Candidate(
        name,
        cli,
        program,
        None if is_default else place,
        folder,
        whole,
        version,
        home is None,
        notes=notes,
        reserved=reserved,
    )


def discard(candidate: Candidate) -> None:
    """Take away the home that was made for an account that is not added after all."""
    if candidate.is_made and candidate.home is not None:
        if candidate.keyring is not None:
            with suppress(RunnerError):
                keyring_entries.delete_key(candidate.keyring.entry)
        with suppress(OSError):
            delete_made_home(candidate.home)
    if candidate.reserved is not None:
        os.close(candidate.reserved)


def finish(candidate: Candidate) -> None:
    """Mark the home that was made for an account as its own, now that the account is written. Raises OSError."""
    if candidate.is_made and candidate.home is not None:
        write_private(candidate.home / _MARKER, os.fsencode(candidate.home.resolve()))


def is_made_home(home: Path) -> bool:
    """Tell whether we have made a home, in this place: a copy of one that we made is its user's."""
    return _is_made(home, home)


def _is_made(folder: Path, home: Path) -> bool:
    """Tell whether a folder is what we have made as a home."""
    try:
        return not folder.is_symlink() and (folder / _MARKER).read_bytes() in (b"", os.fsencode(home.resolve()))
    except OSError:
        return False


def delete_made_home(home: Path) -> bool:
    """Delete a home with all that is in it, if we have made it; return whether it was. Raises OSError.

    It is set aside first: a kill leaves a whole home or none in its place. What marks it as ours goes last, so that
    one that could not be deleted whole can be once more.
    """
    aside = home.with_name(f"{home.name}.removed")
    is_left = _delete_aside(aside, home)
    if is_made_home(home):
        home.rename(aside)
        return _delete_aside(aside, home)
    return is_left


def _delete_aside(aside: Path, home: Path) -> bool:
    if not _is_made(aside, home):
        with suppress(OSError):  # a kill came after its marker had gone
            aside.rmdir()
            return True
        return False
    for entry in aside.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != _MARKER:
            entry.unlink()
    shutil.rmtree(aside)
    return True


def login_command(candidate: Candidate, folder: Path) -> Command:
    """Return what logs somebody in. folder: where it works. Raises RequestRefused where the CLI has no such command."""
    login = candidate.cli.login
    if login is None:
        message = f"this program does not know how to log in to {candidate.cli.title}: log in there, then give --home"
        raise RequestRefused(message)
    return Command((candidate.program, *login.words), candidate.environ, folder, is_configured=False)


def check_provider(cli: Cli, name: str) -> None:
    """Refuse what cannot say whose a key is. Raises UsageInvalid."""
    known = () if cli.api_key is None else cli.api_key.providers
    if not known and name:
        raise UsageInvalid(f"every key of {cli.title} is of the same provider: leave --provider out")
    if known and (not name or len(name) > _LONGEST_NAME or not set(name) <= _SAFE or not name[0].isalnum()):
        raise UsageInvalid(
            f"{name[:40]!r} is not a provider: say whose key it is, with --provider, as {cli.title} calls them: "
            f"{', '.join(known)} or another one"
        )


def store_key(candidate: Candidate, text: str, provider: str = "", *, in_keyring: bool = False) -> Candidate:
    """Put an API key into the account's home, for its owner's eyes alone, or into the keyring.

    Our configuration has at most its place. provider: whose it is, for a CLI that has several; keys of others stay.
    Raises UsageInvalid for what is not a key, RequestRefused for a CLI or a home that takes none.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_KEY or not text.isprintable() or " " in text or not text.isascii():
        raise UsageInvalid("that is not an API key: it must be one word of letters, digits and signs")
    way, home = candidate.cli.api_key, candidate.home
    if way is None:
        message = f"{candidate.cli.title} takes no API key from this program: log in with `{candidate.cli.name}` itself"
        raise RequestRefused(message)
    check_provider(candidate.cli, provider)
    if home is None or not candidate.is_made:
        raise RequestRefused("an API key needs a home of its own, which `account add` makes: leave --home out")
    if in_keyring:
        return _store_in_keyring(candidate, Key(text, provider), home)
    if way.files is not None:
        kept = (read_text(home / way.merged) or "") if way.merged else ""
        _write_files(home, way.files(str(home), Key(text, provider, kept)), text)
    if way.words:
        done = logins.tell((candidate.program, *way.words), candidate.environ, text)
        if done is not None:
            raise LoginFailed(f"{candidate.cli.title} did not take the key: it {done}")
    return replace(candidate, uses_key=True)


def _store_in_keyring(candidate: Candidate, key: Key, home: Path) -> Candidate:
    """Keep a key in the keyring. The entry is called as the home, which no other account has and no rename changes."""
    way = None if candidate.cli.api_key is None else candidate.cli.api_key.keyring
    if way is None:
        raise RequestRefused(f"{candidate.cli.title} takes no API key from the keyring: leave --keyring out")
    place = candidate.keyring or KeyringSpec(str(home), way.variable)
    kept = ""
    if way.stands_for and candidate.keyring is not None:
        with suppress(AccountUnusable):  # it is gone: then the new one is the only one
            kept = keyring_entries.read_key(candidate.name, place)
    keyring_entries.write_key(candidate.name, place.entry, way.value(replace(key, kept=kept)))
    _write_files(home, way.files, key.text)
    return replace(candidate, uses_key=True, keyring=place)


def _write_files(home: Path, files: Iterable[PrivateFile], key: str) -> None:
    """Write what has the key, and settings that are not there yet: somebody may have changed them since."""
    for file in files:
        target = home / file.name
        if key not in file.text and target.exists() and target.stat().st_size:  # an empty one was cut off by a kill
            continue
        if not target.parent.is_dir():
            make_new_folder(target.parent)
        write_private(target, file.text.encode())


def read_login(candidate: Candidate) -> LoginState:
    """Ask who is logged in."""
    if candidate.keyring is not None:
        return logins.read_key_login(candidate.name, candidate.cli, candidate.keyring)
    return logins.read_login(candidate.cli, candidate.program, candidate.folder, candidate.environ)


def find_same_login(
    profile: Profile, cli: Cli, accounts: Mapping[str, Account], home: Path, environ: Mapping[str, str]
) -> str | None:
    """Return the account that somebody is logged in to already; None: there is none, or nobody can tell."""
    if "@" not in profile.id:
        return None
    same = [one for one in accounts.values() if (found := recognise_cli(one, home)) is not None and found.cli is cli]
    states = do_side_by_side([partial(logins.read_account_login, one, home, environ) for one in same])
    for account, state in zip(same, states, strict=True):
        other = None if state is None else state.profile
        if other is not None and (other.id, other.details) == (profile.id, profile.details):
            return account.name
    return None


def plan_addition(candidate: Candidate, pools: tuple[str, ...], paths: Paths, models: Path) -> Step:
    """Return the changes that add an account to the configuration and to pools. Raises ConfigInvalid."""
    for pool in pools:
        check_pool(pool)
    files = account_edit.add(paths, models, [Addition(as_login(candidate, paths), pools)])
    return Step(f"added the account {candidate.name}", files)


def as_login(candidate: Candidate, paths: Paths) -> Login:
    """Return what the configuration says of it."""
    found = login_in(candidate.cli, candidate.folder, paths)
    return replace(found, account=candidate.name, uses_key=candidate.uses_key, keyring=candidate.keyring)


def _home_name(cli: Cli, name: str) -> str:
    own = name if name.startswith(f"{cli.name}-") else f"{cli.name}-{name}"
    return f".{own}"


def _make_home(place: Path) -> int | None:
    """Make a home, or take one that a killed `account add` has left as it is.

    Return a lock on it that holds until it is closed, or this process ends; None: the file system has none.
    """
    try:
        if not _is_left(place):
            make_new_folder(place)
        reserved = _reserve(place)
        write_private(place / _MARKER, b"")
    except FileExistsError as error:
        message = f"{place} is there already: give `--home {place}` if that login is meant, or choose another name"
        raise HomeUnusable(message) from error
    except OSError as error:
        with suppress(OSError):
            place.rmdir()
        message = f"the account's home {place} cannot be made: {error.strerror}"
        raise HomeUnusable(message) from error
    return reserved


def _is_left(place: Path) -> bool:
    """Tell whether a home of ours has no account yet: there is nothing in it, or its marker is empty."""
    try:
        folder = place.lstat()
        if folder.st_uid != os.getuid() or folder.st_mode != stat.S_IFDIR | FOLDER_MODE:
            return False
        names = {entry.name for entry in place.iterdir()}
        return names <= {_MARKER} or (place / _MARKER).lstat().st_size == 0
    except OSError:
        return False


def _reserve(home: Path) -> int | None:
    """Keep others who add an account of the same name away from its home. Raises AccountBusy, and OSError."""
    descriptor = open_private(home / _MARKER, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        message = f"another `account add` is at work with {home}: wait until it has ended, or choose another name"
        raise AccountBusy(message) from error
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _check_home(home: Path) -> Path:
    """Return a home that is given, absolute; a link stays one. Raises RequestRefused."""
    place = home.absolute()
    if not str(place).isprintable():
        raise HomeUnusable("the path of the home has a sign that no configuration can have: rename the folder")
    try:
        found = place.stat()
    except OSError as error:
        raise HomeUnusable(f"the home {place} cannot be used: {error.strerror}") from error
    if not place.is_dir():
        raise HomeUnusable(f"the home {place} is not a folder: name the one that the CLI keeps its login in")
    if found.st_uid != os.getuid():
        message = f"the home {place} belongs to another user: a CLI would keep your login where they can read it"
        raise HomeUnusable(message)
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        message = f"the home {place} cannot be written by you, and a CLI keeps its sessions there: look at its rights"
        raise HomeUnusable(message)
    return place
