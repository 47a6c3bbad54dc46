"""What is asked of the doctor: everything that a run needs, looked at once, and what is wrong with it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from oulipoly_engine import __version__
from oulipoly_engine.config.base.problem import Level, Problem
from oulipoly_engine.config.edit import undo
from oulipoly_engine.core.accounts.clis.adapters import transcripts_folder
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.accounts.storage_root import storage_root
from oulipoly_engine.core.checks import accounts as account_checks
from oulipoly_engine.core.checks import places as place_checks
from oulipoly_engine.core.checks import surroundings, work
from oulipoly_engine.core.checks.finding import Finding, Severity, count, sort_findings, to_document, to_lines
from oulipoly_engine.errors import ConfigInvalid, RunnerError
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.facade.live.catalogue import read_catalogue
from oulipoly_engine.facade.live.sessions import LiveSessions
from oulipoly_engine.facade.runs.orphans import Orphans
from oulipoly_engine.facade.terminals.terminals import Terminals
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.thread_pool import do_side_by_side
from oulipoly_engine.records import replace
from oulipoly_engine.service.accounts.api_keys import uses_api_key
from oulipoly_engine.service.accounts.configuration import Configured
from oulipoly_engine.service.checks import logins, programs
from oulipoly_engine.service.checks import places as places_seen
from oulipoly_engine.service.checks.disks import look_at_disks
from oulipoly_engine.service.checks.programs import PATIENCE_S
from oulipoly_engine.service.quota.decision_record import read_record
from oulipoly_engine.service.quota.source import has_source
from oulipoly_engine.service.sessions.journal import JournalFolder
from oulipoly_engine.stopping import check
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import controls, quotas
from oulipoly_engine.store.runs import activity
from oulipoly_engine.store.sessions.split import find_split
from oulipoly_engine.store.worktrees import worktrees

__all__ = ["PATIENCE_S", "Severity", "count", "to_document", "to_lines"]

_FAILURE_AGE = timedelta(hours=6)  # of a run: after that nobody waits for its fix


class Checks(Part):
    """The doctor of one user's home. It changes nothing; what any command tidies up is tidied up on the way."""

    def run(self, patience_s: float = PATIENCE_S) -> tuple[Finding, ...]:
        """Look at everything and return what was found, by area, the errors of each first. Blocks for seconds.

        patience_s: for one answer of a CLI, its version for example.
        """
        configured = self._home.places.read()
        environ = inherited_environment()
        found = [
            *self._check_configuration(configured, environ),
            *self._check_clis(configured, environ, patience_s),
            *self._check_state_file(configured, environ),
            *place_checks.judge_places(tuple(places_seen.look_at_places(self._home.paths))),
            *self._check_disks(configured, environ),
            *self._check_terminals(),
            *self._check_live_sessions(),
            *_check_surroundings(environ),
        ]
        return sort_findings(found)

    def _check_configuration(self, configured: Configured, environ: dict[str, str]) -> Iterator[Finding]:
        # Programs are looked at by themselves, with what follows from that.
        seen = tuple(map(_to_seen, self._home.check_configuration(finds_programs=False)))
        editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
        sizes = (len(configured.accounts), len(configured.models))
        yield from surroundings.judge_configuration(str(self._home.paths.config), seen, sizes, editor)
        yield from self._check_cut_change()

    def _check_cut_change(self) -> Iterator[Finding]:
        """Tell a change of the accounts whose journal has outlived the start of this process, and why."""
        journal = str(self._home.paths.configuration_journal)
        try:
            step = undo.pending_step(self._home.paths.data)
            if step is not None:
                edited = tuple(map(str, undo.find_edited(step)))
                yield surroundings.judge_cut_change(step.what, journal, edited)
        except ConfigInvalid as error:
            yield surroundings.judge_cut_change(error.message, journal, ())

    def _check_clis(self, configured: Configured, environ: dict[str, str], patience_s: float) -> Iterator[Finding]:
        """Ask the CLIs for their versions and their logins side by side: what hangs costs its patience once."""
        accounts, home, now = configured.accounts, self._home.paths.home, self._home.now()
        places = logins.find_places(accounts, configured.scripts, environ, home)
        seen_programs: list[account_checks.SeenProgram] = []
        seen_logins: list[account_checks.SeenLogin] = []
        do_side_by_side(
            (
                lambda: seen_programs.extend(programs.look(accounts, environ, patience_s)),
                lambda: seen_logins.extend(logins.look_at_logins(places, accounts, home, now, patience_s)),
            )
        )
        check()
        catalogue, _problems = read_catalogue(self._home.paths, accounts)  # which are told with the configuration
        missing = programs.look_at_runtimes(catalogue.runtimes, seen_programs, environ)
        yield from account_checks.judge_programs((*seen_programs, *missing))
        scripts = programs.look_at_scripts(accounts, configured.scripts, environ, home)
        yield from account_checks.judge_scripts(tuple(scripts))
        yield from account_checks.judge_homes(logins.look_at_homes(places))
        broken = {one.account for one in seen_programs if one.state != "found" or one.problem}
        yield from account_checks.judge_logins(seen_logins, broken)

    def _check_disks(self, configured: Configured, environ: dict[str, str]) -> Iterator[Finding]:
        places = logins.find_places(configured.accounts, configured.scripts, environ, self._home.paths.home)
        folders = [self._home.paths.data, *(place.folder for place in places)]
        if self._home.paths.state_db.exists():
            with suppress(RunnerError), self._home.lend_store_to_read() as store:  # told with the state file
                folders += map(Path, worktrees.list_repositories(store))
        return place_checks.judge_disks(tuple(look_at_disks(folders)))

    def _check_state_file(self, configured: Configured, environ: dict[str, str]) -> Iterator[Finding]:
        """Check the state file, and by what is in it quota, runs and sessions; without it only what lies beside it."""
        path = self._home.paths.state_db
        found: list[Finding] = []
        split: list[tuple[str, tuple[str, ...]]] = []
        try:
            if not path.exists() and not path.is_symlink():
                found += [place_checks.judge_state_file(places_seen.look_at_state_file(path))]
                found += account_checks.judge_quota(_guess_quota(configured, self._home.paths.home), self._home.now())
                found += work.judge_runs((), ())
            else:
                with self._home.lend_store_to_read() as store:
                    found += [place_checks.judge_state_file(places_seen.look_at_state_file(path))]
                    if store.refusal is not None:
                        found[:] = [place_checks.judge_state_error(str(path), store.refusal)]
                    found += account_checks.judge_quota(tuple(self._see_quota(store, configured)), self._home.now())
                    found += work.judge_choices(read_record(store, self._home.now()))
                    split += self._see_split(store, configured)
                    failures = tuple(self._see_failures(store, configured))
                orphans = [work.SeenOrphan(one.uuid, one.text) for one in Orphans(self._home).list()]
                found += work.judge_runs(orphans, failures)
        except RunnerError as error:
            found = [place_checks.judge_state_error(str(path), error)]
            split.clear()
        yield from found
        places = logins.find_places(configured.accounts, configured.scripts, environ, self._home.paths.home)
        yield from work.judge_sessions(split, *self._see_journals(), tuple(logins.find_kept_transcripts(places)))

    def _see_quota(self, store: Store, configured: Configured) -> Iterator[account_checks.SeenQuota]:
        names = tuple(configured.accounts)
        states, wishes = quotas.states(store, names), controls.of(store, names)
        attempts = quotas.attempts(store, names)
        for guess in _guess_quota(configured, self._home.paths.home):
            name = guess.account
            yield replace(
                guess,
                is_disabled=wishes[name].disabled,
                refreshed_at=states[name].refreshed_at,
                last_failure=attempts[name].last_failure,
            )

    def _see_failures(self, store: Store, configured: Configured) -> Iterator[work.SeenFailure]:
        for one in activity.failures(store):
            is_new = self._home.now() - one.finished_at < _FAILURE_AGE
            is_wish = (one.reason or "").startswith("interrupted")
            if one.account in configured.accounts and is_new and not is_wish:
                said = one.text or one.reason or "without a word"
                yield work.SeenFailure(one.account, one.uuid, said, one.category, one.reason)

    def _see_split(self, store: Store, configured: Configured) -> Iterator[tuple[str, tuple[str, ...]]]:
        home = self._home.paths.home
        folders = {name: storage_root(account, home) for name, account in configured.accounts.items()}
        real = {name: None if folder is None else _resolve(folder) for name, folder in folders.items()}
        for one in find_split(store):
            apart = work.choose_split(one.chains, real)
            if apart is not None:
                yield one.session_id, tuple(account for account, _chain in apart)

    def _see_journals(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the sessions with a journal that nobody works on, and the journals that were set aside."""
        folder = JournalFolder(self._home.paths.data / "replace_journal")
        pending: tuple[str, ...] = ()
        aside: tuple[str, ...] = ()
        with suppress(OSError):
            with folder.exclusive() as is_ours:
                pending = tuple(folder.pending_sessions()) if is_ours else ()
            aside = tuple(sorted(str(path) for path in folder.quarantine.glob("*.pending")))
        return pending, aside

    def _check_live_sessions(self) -> Iterator[Finding]:
        with suppress(RunnerError):  # of the state file or the runtime folder, which are told by others
            if self._home.paths.state_db.exists():
                left = LiveSessions(self._home).left_turns()
                yield from work.judge_left_turns([(turn.session_id, turn.turn_id) for turn in left])

    def _check_terminals(self) -> Iterator[Finding]:
        try:
            survey = Terminals(self._home).survey()
        except RunnerError as error:
            yield work.judge_terminal_folder(error.message)
            return
        terminals = [work.SeenTerminal(each.id, each.pid, runs_on=True) for each in survey.orphaned]
        terminals += [work.SeenTerminal(each.id, each.pid, runs_on=False) for each in survey.lost]
        yield from work.judge_terminals(len(survey.living), terminals)


def _to_seen(problem: Problem) -> surroundings.SeenProblem:
    text = f"{problem.key}: {problem.message}" if problem.key else problem.message
    return surroundings.SeenProblem(str(problem.file), problem.line, text, problem.fix, problem.level is Level.ERROR)


def _guess_quota(configured: Configured, home: Path) -> tuple[account_checks.SeenQuota, ...]:
    """Return what is known of the accounts' quota without the state file."""
    found = []
    for name, account in configured.accounts.items():
        scripts = configured.scripts.get(name)
        told = transcripts_folder(account, scripts)
        can_read = has_source(account, scripts, home)
        cli = programs.find_start(account, {}).cli or (None if told is None else CLIS.get(told[0]))
        # For some there is no endpoint that tells it, and for keys there is none.
        can = (cli is None or cli.quota is not None) and not uses_api_key(account, home)
        found.append(account_checks.SeenQuota(name, can_read, False, None, None, can_have_source=can))
    return tuple(found)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def _check_surroundings(environ: dict[str, str]) -> Iterable[Finding]:
    from sqlite3 import sqlite_version  # noqa: PLC0415 - a version, and no database

    versions = (
        f"agent-runner {__version__}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite_version}",
        f"{platform.system()} {platform.release()}",
    )
    return surroundings.judge_surroundings(environ, versions)
