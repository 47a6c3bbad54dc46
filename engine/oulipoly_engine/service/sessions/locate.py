"""Find a session: its chain and account, its transcript, its workspace. Reads only; runs no quota or turn script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from oulipoly_engine.adapters.bundled import place_call, run_place
from oulipoly_engine.adapters.transcript_file import status_of
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts, StorageSpec, StorageType
from oulipoly_engine.core.accounts.session_ids import describe_bad_id, is_session_id
from oulipoly_engine.core.runs.invocations import Invocation
from oulipoly_engine.core.sessions.resolve import ResolvedSession, resolve, resolve_typed
from oulipoly_engine.errors import SessionIdInvalid, SessionNotFound, StorageUnsupported
from oulipoly_engine.process.script import run_script
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains

_NO_WORKSPACE = "no_workspace_root_for_other_storage"


class Location(Record):
    """Where a session lies."""

    session: ResolvedSession
    storage_type: StorageType
    transcript: Path  # absolute, no symlink in it, a file
    workspace: Path  # absolute, no symlink in it, a folder
    is_mutable: bool  # a hint, no permission


class Answer(Record):
    """What a storage script gave: a path, or why there is none."""

    path: Path | None
    problem: str = ""  # for the cwd script one of the contract's reasons


def find_session(store: Store, session_id: str, now: datetime) -> ResolvedSession:
    """Return what a full id means.

    Raises SessionIdInvalid, SessionNotFound (which says so when the id is an invocation's) and SessionAmbiguous.
    """
    check_id(session_id)
    found = chains.find_owning_chains(store, session_id)
    if not found and (invocation := invocations.find(store, session_id)) is not None:
        raise describe_invocation(invocation, session_id)
    return resolve(session_id, found, now)


def describe_invocation(invocation: Invocation, text: str) -> SessionNotFound:
    """Return the error for an id that is no session's, but an invocation's."""
    meant = f"its session is {invocation.session_id}" if invocation.session_id else "it kept no session"
    return SessionNotFound(f"{text} is the id of an invocation, not of a session; {meant}", input=text)


def find_typed(store: Store, text: str, now: datetime) -> ResolvedSession:
    """Return what a person means by an id of any form, or by the beginning of one.

    Never for the contract's `session` commands, which take full UUIDs only.
    Raises SessionIdInvalid, SessionNotFound and SessionAmbiguous.
    """
    if text:
        check_id(text)
    return resolve_typed(text, chains.find_chains_by_prefix(store, text) if text else (), now)


def check_id(text: str) -> None:
    """Raise SessionIdInvalid for what can be no session's id, nor the beginning of one."""
    if not is_session_id(text):
        raise SessionIdInvalid(describe_bad_id(text), input=text)


class Locator(Record):
    """Runs the storage scripts of the configured accounts; a bundled one that is named bare runs in this process."""

    accounts: Mapping[str, Account]
    scripts: Mapping[str, SessionScripts]
    sessions_root: Path  # where adapters keep their state, a folder an account
    home: Path
    environ: Mapping[str, str]
    timeout_s: float = 30.0  # a script

    def locate(self, session: ResolvedSession) -> Location:
        """Return the whole location.

        Raises StorageUnsupported when any part of it cannot be had.
        """
        storage = self.storage(session)
        transcript = self.transcript(session)
        if transcript.path is None:
            raise describe_unsupported(session, transcript.problem)
        workspace = self.workspace(session)
        if workspace.path is None:
            raise describe_unsupported(session, f"its workspace is not known: {workspace.problem}")
        is_mutable = storage.storage_type is not StorageType.OTHER and self.accounts[session.account].resume is not None
        return Location(session, storage.storage_type, transcript.path, workspace.path, is_mutable)

    def storage(self, session: ResolvedSession) -> StorageSpec:
        """Return the storage block of a session's account.

        Raises StorageUnsupported when the account has none, or is not configured.
        """
        account = self.accounts.get(session.account)
        if account is None or account.storage is None:
            raise describe_unsupported(session, self.explain_no_storage(session.account))
        return account.storage

    def explain_no_storage(self, account: str) -> str:
        """Return why an account has no storage block; empty: it has one."""
        if account not in self.accounts:
            return "providers.toml has no such account"
        return "" if self.accounts[account].storage else "it has no [session_storage] block in providers.toml"

    def transcript(self, session: ResolvedSession) -> Answer:
        """Ask for the transcript: exactly one line with the absolute path of a file.

        Without a `transcript_script` the account's `transcript_locator` of sessions.toml is asked.
        Raises StorageUnsupported when there is no storage at all.
        """
        storage = self.storage(session)
        scripts = self.scripts.get(session.account)
        line = storage.transcript_script or (scripts.transcript_locator if scripts is not None else None)
        if line is None:
            return Answer(None, "its storage has no transcript_script")
        state_dir = scripts.state_dir if scripts is not None else None
        code, out, problem = self._run(line, session, {"STATE_DIR": str(state_dir or self._state_dir(session))})
        if problem is not None or code != 0:
            return Answer(None, f"the transcript locator {line!r} {problem or f'ended with exit code {code}'}")
        lines = _lines(out)
        if lines is None or len(lines) != 1:
            return Answer(None, f"the transcript locator {line!r} did not print exactly one line of UTF-8")
        return _file(Path(lines[0]))

    def workspace(self, session: ResolvedSession) -> Answer:
        """Ask for the workspace: one JSON line, `{"found", "cwd", "error"}`. A problem is one of the contract's words.

        Raises StorageUnsupported when there is no storage at all.
        """
        line = self.storage(session).cwd_script
        if not line.strip():
            return Answer(None, _NO_WORKSPACE)
        code, out, problem = self._run(line, session, {})
        if code is None:
            is_unstarted = problem is not None and problem.startswith("could not be started")
            return Answer(None, "cwd_script_spawn_failed" if is_unstarted else f"cwd_script_{_slug(problem)}")
        # The bundled scripts say why in JSON and end with 1: their reason tells more than the exit code.
        told = _workspace(out)
        if code != 0:
            return Answer(
                None, told.problem if told.problem.startswith("cwd_script_error") else f"cwd_script_exit_{code}"
            )
        return told

    def _state_dir(self, session: ResolvedSession) -> Path:
        return self.sessions_root / session.account

    def _run(
        self, line: str, session: ResolvedSession, more: Mapping[str, str]
    ) -> tuple[int | None, bytes, str | None]:
        if not session.session_id:
            return None, b"", "was not asked: the session failed before its CLI named it, so it has no transcript"
        if not is_session_id(session.session_id):  # of a state file from before ids were checked
            return None, b"", f"was not asked: {describe_bad_id(session.session_id)}"
        call = place_call(line, self.home)
        if call is not None:
            answer = run_place(call, session.session_id)
            said = "; ".join(answer.stderr.splitlines())
            problem = f"ended with exit code {answer.exit_code}: {said}" if answer.exit_code and said else None
            return answer.exit_code, answer.stdout.encode("utf-8", "surrogateescape"), problem
        environ = {**self.environ, "SESSION_ID": session.session_id, **more}
        done = run_script(line, environ, timeout_s=self.timeout_s, arguments=(session.session_id,))
        return (None if done.problem else done.exit_code), done.stdout, done.problem


def describe_unsupported(session: ResolvedSession, problem: str) -> StorageUnsupported:
    """Return the error that names the account and what is wrong with its storage."""
    message = f"session {session.session_id} on account {session.account!r} cannot be located: {problem}"
    return StorageUnsupported(message, provider_name=session.account)


def document(location: Location) -> dict[str, object]:
    """Return the eight keys that `session locate` prints, in their order."""
    session = location.session
    return {
        "session_id": session.session_id,
        "chain_id": session.chain_id,
        "provider_name": session.account,
        "storage_type": location.storage_type.value,
        "jsonl_path": str(location.transcript),
        "workspace_root": str(location.workspace),
        "transcript_state": "available",
        "mutable": location.is_mutable,
    }


def _file(path: Path) -> Answer:
    if not path.is_absolute():
        return Answer(None, f"the transcript locator gave a path that is not absolute: {path}")
    try:
        real = path.parent.resolve(strict=True) / path.name
        status_of(real)
    except (OSError, RuntimeError, ValueError) as error:
        return Answer(None, f"the transcript {path} cannot be reached: {_reason(error)}")
    return Answer(real) if _is_utf8(real) else Answer(None, "the transcript's path is not UTF-8")


def _workspace(out: bytes) -> Answer:
    lines = _lines(out)
    if lines == []:
        return Answer(None, "cwd_script_empty_stdout")
    if lines is not None and len(lines) > 1:
        return Answer(None, "cwd_script_stdout_not_single_line")
    try:
        told = json.loads(lines[0] if lines else "")
    except (ValueError, RecursionError):
        return Answer(None, "cwd_script_malformed_json")
    if not isinstance(told, dict) or not isinstance(told.get("found"), bool):
        return Answer(None, "cwd_script_malformed_json")
    if told.get("error"):
        return Answer(None, f"cwd_script_error: {told['error']}")
    if not told["found"]:
        return Answer(None, "cwd_script_not_found")
    return _folder(told.get("cwd"))


def _folder(cwd: object) -> Answer:
    if not isinstance(cwd, str) or not cwd:
        return Answer(None, "cwd_script_missing_cwd")
    if not cwd.startswith("/"):
        return Answer(None, "cwd_script_cwd_not_absolute")
    try:
        real = Path(cwd).resolve(strict=True)
        is_folder = real.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        return Answer(None, f"the folder {cwd} cannot be reached: {_reason(error)}")
    if not is_folder:
        return Answer(None, f"{cwd} is not a folder")
    return Answer(real) if _is_utf8(real) else Answer(None, "the workspace's path is not UTF-8")


def _lines(out: bytes) -> list[str] | None:
    """Return the lines that are not blank, None when they are no UTF-8."""
    try:
        return [line for line in out.decode("utf-8").split("\n") if line.strip()]
    except UnicodeDecodeError:
        return None


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _slug(problem: str | None) -> str:
    return "timed_out" if problem is not None and problem.startswith("timed out") else "stopped"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
