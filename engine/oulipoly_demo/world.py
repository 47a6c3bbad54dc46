"""The demo world: a throw-away home with two vendors, five accounts and their pools, built whole or not at all.

`default_root` names the folder, `ensure` builds it where it is missing or outdated, `environment_for` is what any of
our commands needs to run inside. `reset` and `remove` touch nothing that does not carry our marker file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import site
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from oulipoly_demo import world_files
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tier
from oulipoly_demo.quota.meter import Meter, Reading
from oulipoly_demo.world_files import ACCOUNTS, Setting
from oulipoly_engine import __version__, variables
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.records import Record

MARKER = ".oulipoly-demo.json"
_FORMAT = 3  # raised when a world of an older shape must be rebuilt
_LIBRARY = Path(__file__).resolve().parents[1]
# (share of the short tier, how much of it has passed, the same of the long tier), 0..1; None: not begun.
_SEEDS: dict[str, tuple[tuple[float, float] | None, tuple[float, float] | None]] = {
    "demo-claude1": ((0.94, 0.85), (0.61, 0.55)),  # almost exhausted
    "demo-claude2": ((0.35, 0.40), (0.48, 0.70)),
    "demo-claude3": (None, None),  # fresh
    "demo-codex1": ((0.76, 0.25), (0.90, 0.40)),  # burns too fast
    "demo-codex2": ((0.12, 0.60), (0.30, 0.50)),
}
# Whatever would lead a command inside the demo to the real accounts, or tie its invocations to a real one.
_LEAKS = ("OULIPOLY_", "DEMO_", "CLAUDE", "CODEX_", "OPENCODE", "GEMINI_", "ANTHROPIC_", "OPENAI_", "Z_AI_")


class DemoRefused(RequestRefused):
    """The demo's folder is not ours to use."""


class Options(Record):
    """How a world is built; the defaults are the demo's."""

    short_windows: bool = False  # 5 minutes and 1 hour instead of 5 hours and 7 days
    pace_s: float = 0.02  # between two pieces of an answer; 0 for tests
    cost_percent: int = 100  # of the usual cost of a prompt; 0: quota never falls
    capture_claude: bool = False  # session_capture for the Claude accounts, which makes them print JSON lines
    seeded: bool = True  # begin with some quota spent; otherwise every account is fresh


DEFAULTS = Options()


class World(Record):
    """A built demo world."""

    root: Path
    python: str  # the interpreter that its wrappers run

    @property
    def home(self) -> Path:
        """Return what `~` stands for inside."""
        return self.root / "home"

    @property
    def bin(self) -> Path:
        """Return the folder of the demo CLIs."""
        return self.root / "bin"

    @property
    def config(self) -> Path:
        """Return our configuration folder inside."""
        return self.root / world_files.CONFIG

    @property
    def project(self) -> Path:
        """Return the folder to work in."""
        return self.root / "project"

    @property
    def accounts(self) -> Mapping[str, str]:
        """Return the accounts: name -> vendor, "claude" or "codex"."""
        return ACCOUNTS

    def account_home(self, account: str) -> Path:
        """Return an account's own folder: transcripts and quota."""
        return world_files.account_home(self.root, account)

    def meter(self, account: str) -> Meter:
        """Return an account's quota."""
        return Meter(self.account_home(account), ACCOUNTS[account])


def default_root(environ: Mapping[str, str] | None = None) -> Path:
    """Name the user's demo folder, `oulipoly-demo-UID` under TMPDIR or /tmp; raises DemoRefused if another owns it.

    Where another installation has that one, a name with a number of this one behind it.
    """
    root = _usual_root(os.environ if environ is None else environ)
    _check_owner(root)
    return root


def way_in(environ: Mapping[str, str] | None = None) -> str:
    """Return the words between our name and a command that lead from outside to the world that we are in.

    With a blank after them: `demo -- `, or `demo --root DIR -- `; empty outside of any world.
    """
    env = os.environ if environ is None else environ
    root = Path(env.get("HOME", "")).parent
    if env.get(variables.DEMO) != "1" or not (root / MARKER).is_file():
        return ""
    return f"demo {_where(root, env)}-- "


def ensure(root: Path, *, python: str = sys.executable, options: Options = DEFAULTS) -> World:
    """Return the world at `root`, built anew where it is missing or outdated.

    Raises DemoRefused where it belongs to another installation, which would lose what was done in it.
    """
    root = root.absolute()
    with locked(root):
        found = _marker(root)
        if found != _stamp(python):
            _refuse_if_in_use(root, found, python)
            _replace(root, python, options)
    return World(root, python)


def build(root: Path, *, python: str = sys.executable, options: Options = DEFAULTS) -> World:
    """Build the world at `root` from nothing; a demo world that stands there is replaced."""
    root = root.absolute()
    with locked(root):
        _replace(root, python, options)
    return World(root, python)


reset = build


def find(root: Path) -> World | None:
    """Return the demo world at `root`, of whatever installation; None: there is none. Raises DemoRefused."""
    root = root.absolute()
    return World(root, sys.executable) if _exists(root) and _marker(root) else None


def remove(root: Path) -> bool:
    """Delete the world at `root`; returns whether there was one. Raises DemoRefused where it is not ours."""
    root = root.absolute()
    if not _exists(root):
        return False
    with locked(root):
        _put_away(root)
    return True


def environment_for(world: World, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment in which our commands see the demo world alone.

    environ: what it is made from, by default this process's own; variables of real accounts are left out.
    """
    before = os.environ if environ is None else environ
    env = {name: value for name, value in before.items() if not name.startswith(_LEAKS)}
    # A command of ours that was installed for one user is found through the real home, which changes below.
    env.setdefault("PYTHONUSERBASE", site.getuserbase())
    env |= {
        "HOME": str(world.home),
        "XDG_CONFIG_HOME": str(world.home / ".config"),
        "XDG_DATA_HOME": str(world.home / ".local" / "share"),
        "XDG_STATE_HOME": str(world.home / ".local" / "state"),
        "XDG_CACHE_HOME": str(world.home / ".cache"),
        "XDG_RUNTIME_DIR": str(world.root / "run"),
        "PATH": os.pathsep.join((str(world.bin), before.get("PATH") or os.defpath)),
        variables.DEMO: "1",
    }
    return env


def instructions(world: World, command_name: str, environ: Mapping[str, str] | None = None) -> str:
    """Return what to try, for the terminal; says plainly that everything is made up.

    command_name: what a user types to start us. Each line can be pasted; the last one is the first to try.
    """
    demo = f"{command_name} demo {_where(world.root, os.environ if environ is None else environ)}"
    inside = f"{demo}--"
    return f"""This is a DEMO. Its accounts and answers are made up: no model is asked, nothing leaves this machine, and
your own configuration and sessions stay untouched. Its world: {world.root}

Two vendors, five accounts: demo-claude1 (almost exhausted), -claude2, -claude3 (fresh); demo-codex1, demo-codex2.
Pools: demo-opus and demo-haiku (the three Claude accounts), demo-codex (both Codex accounts), demo-mix (some of each),
demo-live (one account for each protocol of live sessions).

A prompt through the pool, the other vendor, typed inputs, an agent, and a prompt that two accounts refuse:
  {inside} -m demo-opus "hello"
  {inside} -m demo-codex "list 4 ideas for a turtle"
  {inside} -m demo-haiku -i tone=pirate -i lines=2 "a haiku"
  {inside} demo-reviewer "def f(x): return x"
  {inside} -m demo-opus "hi [[quota@demo-claude1]] [[quota@demo-claude2]]"

An agent that asks another one for a file, and returns one of its own; `trace ID` and the app show both:
  {inside} demo-reviewer "def f(x): return x [[delegate:demo-counter]] [[return:review.md]]"

A live session, what it asks, and a yes; `session follow ID` shows it, and so does the app:
  {inside} session new demo-live --prompt "tidy up [[approve:rm -r build]]"
  {inside} requests list
  {inside} requests approve cli_req

Two agents that were run, one of which has failed and says why; a tool of the other:
  {inside} agent ps
  {inside} agent exec turtle-guide files

Who would be chosen now, and why:
  {inside} why demo-opus

Further directives in a prompt: [[sleep:2]] [[exit:3]] [[429]] [[401]] [[stderr:text]] [[big:1000000]] [[bytes]], each
also for one account only, as in [[429@demo-claude2]].

The accounts' CLIs are programs of their own: {world.bin}/demo-claude1 opens one; /help tells what can be typed.
Quota falls with every answer. `{world.bin}/demo-quota {world.account_home("demo-claude2")}` shows it, with
`--set 100` it is exhausted, with `--windows short` it resets within minutes.

A shell in this world, start over, delete it:
  {demo}--shell
  {demo}--reset
  {demo}--remove

The full-screen app in this world:
  {inside}
"""


def _where(root: Path, env: Mapping[str, str]) -> str:
    """Return the option that names a world's folder, with a blank after it; empty for the usual one."""
    return "" if root == _usual_root(env) else f"--root {shlex.quote(str(root))} "


def _usual_root(env: Mapping[str, str]) -> Path:
    named = env.get("TMPDIR", "")
    base = Path(named) if named.startswith("/") else Path("/tmp")  # noqa: S108 - private, and checked by its users
    root = base / f"oulipoly-demo-{os.getuid()}"
    try:
        is_of_another = _find_other_installation(_marker(root), sys.executable) is not None
    except DemoRefused:  # another user's: who wants to use it says so
        return root
    if not is_of_another:
        return root
    own = zlib.crc32(f"{_LIBRARY}\0{sys.executable}".encode())
    return root.with_name(f"{root.name}-{own:08x}")


def _replace(root: Path, python: str, options: Options) -> None:
    """Build beside `root` and move it into place, so that nobody ever sees half a world."""
    draft = Path(tempfile.mkdtemp(prefix=f".{root.name}-new-", dir=root.parent))
    try:
        _fill(draft, Setting(root, python, _LIBRARY, options.pace_s, options.capture_claude), options)
        (draft / MARKER).write_text(json.dumps(_stamp(python), indent=1) + "\n")
        if _exists(root):
            _put_away(root)
        draft.rename(root)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _fill(draft: Path, setting: Setting, options: Options) -> None:
    for path, text in world_files.texts(setting):
        _write(draft / path, text)
    for path, text in world_files.wrappers(setting):
        _write(draft / path, text)
        (draft / path).chmod(0o700)
    for folder in ("home/.local/share", "home/.local/state", "home/.cache"):
        (draft / folder).mkdir(parents=True, exist_ok=True)
    (draft / "run").mkdir(mode=0o700)
    now = time.time()
    for account, vendor in ACCOUNTS.items():
        tiers = levels.fresh(vendor, short=options.short_windows)
        if options.seeded:
            tiers = tuple(_seeded(tier, account, now) for tier in tiers)
        meter = Meter(world_files.account_home(draft, account), vendor)
        meter.save(Reading(tiers, options.cost_percent))


def _seeded(tier: Tier, account: str, now: float) -> Tier:
    short, long = _SEEDS[account]
    seed = short if tier.kind == "short" else long
    if seed is None:
        return tier
    spent, passed = seed
    return tier._replace(spent=round(tier.capacity * spent), resets_at=now + tier.length_s * (1 - passed))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _put_away(root: Path) -> None:
    _check_owner(root)
    if any(root.iterdir()):
        if not _marker(root):
            message = f"{root} is not a demo world ({MARKER} is missing): move it away yourself, or name another folder"
            raise DemoRefused(message)
        # Renamed first: a deletion that is interrupted must not leave a half world under the name.
        grave = Path(tempfile.mkdtemp(prefix=f".{root.name}-old-", dir=root.parent))
        root.rename(grave / root.name)
        shutil.rmtree(grave, ignore_errors=True)  # a command still at work inside may write while we delete
    else:
        root.rmdir()


def _stamp(python: str) -> dict[str, object]:
    return {
        "oulipoly_demo": True,
        "format": _FORMAT,
        "version": __version__,
        "python": python,
        "library": str(_LIBRARY),
    }


def _marker(root: Path) -> dict[str, object]:
    """Read a world's marker; empty where there is none to be read. Raises DemoRefused where another owns the folder."""
    _check_owner(root)
    try:
        marker = json.loads((root / MARKER).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(marker, dict) or marker.get("oulipoly_demo") is not True:
        return {}
    root.chmod(0o700)
    return marker


def _refuse_if_in_use(root: Path, marker: Mapping[str, object], python: str) -> None:
    """Refuse a world whose program or interpreter is another one than ours, and still there."""
    if (theirs := _find_other_installation(marker, python)) is not None:
        raise DemoRefused(
            f"the demo world {root} belongs to another installation ({theirs}): `demo --root DIR` makes one of "
            "your own, `demo --reset` takes this one over and deletes what was done in it"
        )


def _find_other_installation(marker: Mapping[str, object], python: str) -> str | None:
    """Return the program or interpreter of a world's installation; None: it is ours, or is not there any more."""
    for mine, theirs in ((str(_LIBRARY), marker.get("library")), (python, marker.get("python"))):
        if isinstance(theirs, str) and theirs != mine and _exists(Path(theirs)):
            return theirs
    return None


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _check_owner(root: Path) -> None:
    """Refuse what another user may have put there, a link above all; a missing folder is fine."""
    try:
        status = root.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise DemoRefused(f"{root} is not a folder: remove it, or name another folder for the demo")
    if status.st_uid != os.getuid():
        raise DemoRefused(f"{root} belongs to user {status.st_uid}: set TMPDIR to a folder of yours for the demo")


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Let one process at a time build or delete the world; the lock file stays, so that all lock the same one.

    What is made meanwhile is the user's alone: the process's umask is 077 for the block.
    """
    _check_owner(root)  # first, so that no lock is left beside what is not ours
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        message = f"the demo's folder {str(root)!r} is not UTF-8 text, as its configuration must be: name another"
        raise DemoRefused(message) from error
    make_folder(root.parent)
    path = root.parent / f".{root.name}.lock"
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError as error:
        message = f"the demo's lock {path} cannot be used ({error.strerror}): set TMPDIR to a folder of yours"
        raise DemoRefused(message) from error
    umask = os.umask(0o077)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.umask(umask)
        os.close(descriptor)
