"""The catalogue of runtimes: one for each account whose CLI can be driven, and those of config.toml. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS, read_env, recognise_cli
from oulipoly_engine.core.live.launch import arguments as launch_arguments
from oulipoly_engine.core.live.launch.words import read_words
from oulipoly_engine.core.live.runtimes import DEFAULT_IDLE_S, Runtime, RuntimeEntry, normalise_id
from oulipoly_engine.core.live.wires.table import USUAL, WIRES
from oulipoly_engine.records import Record, replace

SESSIONS_LOST_CODE = "cli_runtime.sessions_lost"  # of a diagnostic
SESSIONS_LOST = "it does not always find a session again once its process has ended, so live sessions keep theirs open"


class EntryProblem(Record):
    """Why an entry of config.toml makes no runtime."""

    key: str  # of the entry, as it is written
    path: tuple[str | int, ...]  # within it
    message: str
    fix: str


class Catalogue(Record):
    """All runtimes, in their order."""

    runtimes: tuple[Runtime, ...]
    clis: Mapping[str, Cli]  # of those whose CLI is known, by their ids
    left_out: Mapping[str, tuple[str, ...]]  # options of an account that its live sessions cannot use, by runtime
    problems: tuple[EntryProblem, ...] = ()

    def find(self, name: str) -> Runtime | None:
        """Return the runtime of an id; None: there is none."""
        wanted = normalise_id(name)
        exact = (one for one in self.runtimes if one.id == name)
        return next(exact, next((one for one in self.runtimes if normalise_id(one.id) == wanted), None))

    def find_for_account(self, account: str) -> Runtime | None:
        """Return the runtime that an account's sessions are opened on; None: its CLI cannot be driven."""
        own = [one for one in self.runtimes if one.account == account]
        return next((one for one in own if one.id == account), next(iter(own), None))

    def find_all(self, name: str) -> tuple[Runtime, ...]:
        """Return the runtimes that a name means: its own one, its account's, or all of a CLI or of a CLI's vendor."""
        own = self.find(name) or self.find_for_account(name)
        if own is not None:
            return (own,)
        word = name.strip().casefold()
        return tuple(runtime for runtime in self.runtimes if word in _names_of(self.clis.get(runtime.id)))


def _names_of(cli: Cli | None) -> tuple[str, ...]:
    return () if cli is None else (cli.name, cli.title.casefold(), *cli.vendors)


class _Base(Record):
    """What an account says of its runtime."""

    runtime: Runtime
    cli: Cli
    left_out: tuple[str, ...] = ()


def derive_runtimes(accounts: Mapping[str, Account], configured: Sequence[RuntimeEntry], home: Path) -> Catalogue:
    """Return the catalogue. home: what `~` stands for."""
    known = {name: base for name, account in accounts.items() if (base := _of_account(account, home)) is not None}
    ids = {normalise_id(name): name for name in accounts}
    found: dict[str, tuple[Runtime, Cli | None]] = {name: (base.runtime, base.cli) for name, base in known.items()}
    problems: list[EntryProblem] = []
    for entry in configured:
        account = entry.account or ids.get(entry.id, "")
        name = account if account and normalise_id(account) == entry.id else entry.id
        wrong = () if entry.is_broken else tuple(_find_problems(entry, accounts, known.get(account)))
        if wrong or entry.is_broken:  # what was to be forbidden must not be allowed by a slip
            problems += wrong
            found.pop(name, None)
            continue
        found[name] = _merge(entry, name, account, known.get(account), home)
    runtimes = sorted((one for one, _ in found.values()), key=lambda one: WIRES[one.kind].stands)
    return Catalogue(
        tuple(runtimes),
        {name: cli for name, (_, cli) in found.items() if cli is not None},
        {name: base.left_out for name, base in known.items() if base.left_out and name in found},
        tuple(problems),
    )


def _of_account(account: Account, home: Path) -> _Base | None:
    """Return an account's runtime; None where its CLI is none that can be driven."""
    if not account.command:
        return None
    program, words, given, unset = _unwrap(account)
    recognised = recognise_cli(account, home)
    cli = recognised.cli if recognised is not None else _guess_cli(account)
    if cli is None or cli.live is None:
        return None
    kind = cli.live.driver
    told = read_words(kind, _without_start(words, cli), cli.live)
    runtime = Runtime(
        id=account.name,
        kind=kind,
        name=f"{cli.title} · {account.name}",
        program=program,
        named_in=f"`command` of [{account.name}] in providers.toml",
        account=account.name,
        start_words=cli.live.start_words,
        args=told.args,
        model=told.model,
        effort=told.effort,
        environment={**account.environment, **given},
        unset_environment=(*account.unset_environment, *unset),
        home="" if recognised is None else str(recognised.folder),
        idle_s=_usual_idle_s(cli),
    )
    return _Base(runtime, cli, told.left_out)


def _usual_idle_s(cli: Cli | None) -> float:
    """Return after how many seconds without work a process is ended: never where its session might go with it."""
    loses_sessions = cli is not None and cli.live is not None and cli.live.loses_sessions
    return 0.0 if loses_sessions else DEFAULT_IDLE_S


def _guess_cli(account: Account) -> Cli | None:
    """Return the CLI that a wrapper starts: its transcripts have that CLI's form, and it takes that CLI's words.

    By the form alone a shell would be one, whose arguments are a script.
    """
    if account.storage is None:
        return None
    kept = account.storage.storage_type
    for cli in CLIS.values():
        if cli.transcripts is not None and cli.transcripts.storage_type == kept:
            return cli if account.args[: len(cli.launch.words)] == cli.launch.words else None
    return None


def _unwrap(account: Account) -> tuple[str, tuple[str, ...], Mapping[str, str], tuple[str, ...]]:
    """Return an account's program, its arguments, and the variables that `env` before it sets and takes away."""
    words = account.args if account.interactive_args is None else account.interactive_args
    if PurePosixPath(account.command or "").name != "env":
        return account.command or "", words, {}, ()
    at, given = read_env(words)
    if at == len(words):  # a one-shot's words name the program, an interactive start's do not
        words = account.args
        at, given = read_env(words)
    unset = tuple(words[place + 1] for place in range(at - 1) if words[place] in ("-u", "--unset"))
    return (words[at] if at < len(words) else ""), words[at + 1 :], given, unset


def _without_start(words: Sequence[str], cli: Cli) -> tuple[str, ...]:
    """Return arguments without those that make a one-shot of the CLI: that is no loss."""
    start = [word for word in cli.launch.words if not word.startswith("--")]
    return tuple(words[len(start) :]) if start and [*words[: len(start)]] == start else tuple(words)


def _find_problems(entry: RuntimeEntry, accounts: Mapping[str, Account], base: _Base | None) -> Iterator[EntryProblem]:
    if entry.account and entry.account not in accounts:
        message = f"the account {entry.account!r} is not in providers.toml"
        yield EntryProblem(entry.key, ("account",), message, "correct the name, or add the account")
        return
    kind = _kind(entry, base)
    if kind is None:
        message = "nothing tells how its program is driven"
        known = ", ".join(f'"{known}"' for known in WIRES)
        fix = f"add `kind`, which is one of {known}"
        yield EntryProblem(entry.key, ("kind",), message, fix)
        return
    if not entry.program and not _is_own(kind, base) and not WIRES[kind].cli:
        message = f'kind = "{kind}" needs a `program`'
        yield EntryProblem(entry.key, ("program",), message, 'add `program = "…"`')
    cli = _cli(entry, kind, base)
    if (entry.home or entry.shadow_home) and cli is None:
        key = "home" if entry.home else "shadow_home"
        message = "nobody knows how this program is led to another home"
        yield EntryProblem(entry.key, (key,), message, "set its variable in `env`")
    if entry.shadow_home and WIRES[kind].shadow is None:
        message = f'kind = "{kind}" has no shadow home'
        yield EntryProblem(entry.key, ("shadow_home",), message, "remove `shadow_home`")
    more = () if cli is None or cli.live is None else cli.live.reserved
    for wrong in launch_arguments.list_reserved(kind, entry.args or (), more):
        yield EntryProblem(entry.key, ("args", wrong.index), wrong.text, "remove it")


def _is_own(kind: str, base: _Base | None) -> bool:
    """Tell whether an entry only changes what is usual with its account."""
    return base is not None and base.runtime.kind == kind


def _kind(entry: RuntimeEntry, base: _Base | None) -> str | None:
    """Return how a runtime is driven: as is written, as its account, as its program tells, else as codex."""
    if entry.kind is not None:
        return entry.kind
    if entry.program:
        cli = CLIS.get(PurePosixPath(entry.program).name)
        if cli is not None and cli.live is not None:
            return cli.live.driver
        return None if base is None else base.runtime.kind
    return USUAL if base is None else base.runtime.kind


def _cli(entry: RuntimeEntry, kind: str, base: _Base | None) -> Cli | None:
    """Return the CLI of an entry; None: a program that is not known."""
    if entry.program:
        cli = CLIS.get(PurePosixPath(entry.program).name)
        if cli is not None:
            return cli if cli.live is not None and cli.live.driver == kind else None
    if base is not None and base.runtime.kind == kind:
        return base.cli
    return CLIS.get(WIRES[kind].cli)


def _merge(entry: RuntimeEntry, name: str, account: str, base: _Base | None, home: Path) -> tuple[Runtime, Cli | None]:
    kind = _kind(entry, base)
    assert kind is not None  # noqa: S101 - `_find_problems` has looked
    cli = _cli(entry, kind, base)
    live = None if cli is None else cli.live
    usual = base.runtime if base is not None and base.runtime.kind == kind else Runtime(name, kind, "", "")
    if base is not None and usual is not base.runtime:  # another program with the same login
        usual = replace(
            usual,
            environment=base.runtime.environment,
            unset_environment=base.runtime.unset_environment,
            model=base.runtime.model,
            effort=base.runtime.effort,
        )
    start = (
        entry.start_words if entry.start_words is not None else usual.start_words or (live.start_words if live else ())
    )
    runtime = replace(
        usual,
        id=name,
        name=entry.name or usual.name or name,
        program=entry.program or usual.program or WIRES[kind].cli,
        named_in=_program_place(entry, usual),
        account=account,
        is_enabled=entry.is_enabled,
        start_words=start,
        args=usual.args if entry.args is None else entry.args,
        environment={**usual.environment, **entry.environment},
        custom_models=entry.custom_models,
        startup_s=entry.startup_s or usual.startup_s,
        request_s=entry.request_s or usual.request_s,
        idle_s=entry.idle_s or _usual_idle_s(cli),
        answer_s=entry.answer_s or usual.answer_s,
        marker=entry.marker,
        proxy=entry.proxy,
        debug_native_events=entry.debug_native_events,
        stderr_lines=entry.stderr_lines or usual.stderr_lines,
    )
    return _lead_home(runtime, entry, cli, home), cli


def _program_place(entry: RuntimeEntry, usual: Runtime) -> str:
    """Return where a user corrects the program of an entry."""
    if usual.named_in and not entry.program:
        return usual.named_in
    return f"`program` of [runtimes.{entry.key or entry.id}] in config.toml"


def _lead_home(runtime: Runtime, entry: RuntimeEntry, cli: Cli | None, home: Path) -> Runtime:
    """Return a runtime that works in the homes of its entry."""
    if cli is None:
        return runtime
    folder = entry.home or runtime.home
    shared = cli.place.folder(entry.home) if entry.home else folder or str(home / cli.place.default)
    if not entry.home and not entry.shadow_home:
        return replace(runtime, home=shared)
    leads = cli.place.environment(entry.shadow_home or entry.home)
    return replace(
        runtime,
        home=shared,
        shadow_home=entry.shadow_home,
        environment={**runtime.environment, **leads},
        unset_environment=tuple(name for name in runtime.unset_environment if name not in leads),
    )


def describe_left_out(names: Iterable[str]) -> str:
    """Say which options of an account its live sessions do without."""
    return f"live sessions do without {', '.join(names)} of its account: the permissions and the protocol are set here"
