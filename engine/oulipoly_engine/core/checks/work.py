"""What killed processes have left: runs, terminals, sessions. Pure: it judges what `facade/checks.py` asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.balance.record import DecisionRecord
from oulipoly_engine.core.balance.replay import replay_text
from oulipoly_engine.core.checks.finding import Area, Finding, Severity, cut_line, in_shell, tell_well
from oulipoly_engine.core.runs.recovery import fix_of
from oulipoly_engine.core.sessions.session_table import ID_LENGTH
from oulipoly_engine.records import Record

_SHOWN = 10  # of one kind; the others are counted


class SeenOrphan(Record):
    """A CLI that runs on although its runner was killed."""

    uuid: str
    text: str  # says what has happened


class SeenFailure(Record):
    """The last run of an account, where it failed lately."""

    account: str
    uuid: str
    said: str
    category: str | None
    reason: str | None


class SeenTerminal(Record):
    """A terminal whose host was killed."""

    id: str
    pid: int
    runs_on: bool  # its program lives


def judge_runs(orphans: Sequence[SeenOrphan], failures: Sequence[SeenFailure]) -> Iterator[Finding]:
    """Say which CLIs run on without a runner, and which accounts failed last."""
    for one in orphans:
        short = one.uuid[:ID_LENGTH]
        follows = "it works and spends on, and nobody takes its answer"
        fix = f"end it, or let it finish and take its result: `agents wait {short}`"
        yield Finding(
            Area.RUNS, Severity.ERROR, short, one.text, follows, fix, in_shell("agents", "terminal", "kill", short)
        )
    for failure in failures:
        cause = f"its last run failed: {cut_line(failure.said)}"
        follows = "its next run may fail as well"
        fix = fix_of(failure.category, failure.reason, account=failure.account, run=failure.uuid[:ID_LENGTH])
        command = in_shell("agents", "trace", failure.uuid)
        yield Finding(Area.RUNS, Severity.WARNING, failure.account, cause, follows, fix, command)
    if not orphans and not failures:
        yield tell_well(Area.RUNS, "no CLI runs on without its runner, no account failed in its last run")


def judge_choices(record: DecisionRecord) -> Iterator[Finding]:
    """Say whether accounts are chosen worse than in turn would be; nothing where too little was recorded."""
    replay = record.replay
    if replay is None:
        return
    cause = replay_text(replay, to_text(record.since)[:10])
    if not replay.is_worse:
        yield tell_well(Area.QUOTA, cause)
        return
    follows = "prompts are refused or cut off more often than if the accounts took turns"
    fix = "try another `tie_rule` in config.toml; `agents why --record` shows what the choices rest on"
    command = in_shell("agents", "why", "--record")
    yield Finding(Area.QUOTA, Severity.WARNING, replay.rule, cause, follows, fix, command)


def judge_terminals(living: int, found: Sequence[SeenTerminal]) -> Iterator[Finding]:
    """Say which terminals have lost their host."""
    for one in found:
        if one.runs_on:
            cause = f"its host was killed, but its program runs on as process {one.pid}"
            follows, fix = "nobody can see it or type into it any more", "end it"
            command = in_shell("agents", "terminal", "kill", one.id)
            yield Finding(Area.TERMINALS, Severity.ERROR, one.id, cause, follows, fix, command)
        else:
            cause = "its host was killed, and its program has ended"
            follows, fix = "what was on its screen is lost", "nothing: what it left was tidied up just now"
            yield Finding(Area.TERMINALS, Severity.WARNING, one.id, cause, follows, fix)
    if not found:
        yield tell_well(Area.TERMINALS, f"{living} live, each with its host")


def judge_left_turns(found: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Say which turns of live sessions were left by their process. found: a session's id and a turn's."""
    for session, turn in found:
        cause = "its process ended in the middle of a turn"
        follows, fix = "nobody knows how far the agent has come", "have it look, and go on"
        yield Finding(
            Area.SESSIONS, Severity.WARNING, session, cause, follows, fix, in_shell("agents", "turn", "resume", turn)
        )


def judge_terminal_folder(problem: str) -> Finding:
    """Say that no terminal can be reached. problem: of the folder of their sockets."""
    follows, fix = "no terminal can be started or shown", "mend it, or set XDG_RUNTIME_DIR to a folder of your own"
    return Finding(
        Area.TERMINALS, Severity.ERROR, "", problem, follows, fix, "export XDG_RUNTIME_DIR=/run/user/$(id -u)"
    )


def choose_split(
    chains: Sequence[tuple[str, str]], folders: Mapping[str, Path | None]
) -> tuple[tuple[str, str], ...] | None:
    """Return the chains of a session that lie apart; None where they only look so.

    chains: (account, chain id), the latest used first. folders: of the accounts' transcripts, links resolved. Accounts
    that share a folder both have each of its sessions, and nothing is to be joined.
    """
    seen: dict[object, tuple[str, str]] = {}
    for account, chain in chains:
        seen.setdefault(folders.get(account) or account, (account, chain))
    return tuple(seen.values()) if len(seen) > 1 else None


def judge_sessions(
    split: Sequence[tuple[str, Sequence[str]]],
    pending: Sequence[str],
    set_aside: Sequence[str],
    kept: Sequence[str] = (),
) -> Iterator[Finding]:
    """Say which sessions a killed move or replacement has left in two parts, or half done.

    split: (session, its accounts, the latest used first). pending: sessions with a journal that nobody works on.
    set_aside: files of journals that fit no transcript. kept: transcripts that moves have replaced.
    """
    for session, accounts in split[:_SHOWN]:
        cause = f"its history lies as two sessions, on {' and on '.join(accounts)}"
        follows = "each part lacks what the other has, and commands find two sessions of one id"
        command = in_shell("agents", "session", "move", session, accounts[0])
        yield Finding(Area.SESSIONS, Severity.ERROR, session, cause, follows, "join the two", command)
    if len(split) > _SHOWN:
        yield _warn(
            "", f"{len(split) - _SHOWN} more lie in two parts", "as above", "join those above first", "agents doctor"
        )
    for session in pending:
        follows = "until it is settled, its transcript may be half of what it shall be"
        fix = "any other command finishes or undoes it, and says so"
        yield Finding(
            Area.SESSIONS, Severity.ERROR, session, "a change to it was cut off", follows, fix, "agents session list"
        )
    for path in set_aside[:_SHOWN]:
        follows = "the change that it describes is neither done nor taken back"
        yield _warn(
            path, "this journal fits no transcript", follows, "look at it, then remove it", in_shell("rm", path)
        )
    for path in kept[:_SHOWN]:
        follows = "nothing but the room that it takes: no command lists it, and no CLI reads it"
        fix = "remove it, once the session has all that you expect"
        yield _warn(path, "a move has replaced this transcript and kept it", follows, fix, in_shell("rm", path))
    if len(kept) > _SHOWN:
        more = f"{len(kept) - _SHOWN} more transcripts are kept that moves have replaced"
        yield _warn("", more, "as above", "remove those above first", "agents doctor")
    if not (split or pending or set_aside or kept):
        yield tell_well(Area.SESSIONS, "none lies in two parts, no change was cut off")


def _warn(subject: str, cause: str, consequence: str, fix: str, command: str) -> Finding:
    return Finding(Area.SESSIONS, Severity.WARNING, subject, cause, consequence, fix, command)
