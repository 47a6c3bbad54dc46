"""Which session a one-shot has made that told no session id (contract, 5.5). Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from oulipoly_engine.records import Record

_UNRELATED, _HOLDS_PROMPT, _SAYS_PROMPT, _WAS_OPEN = range(4)


class SessionActivity(Record):
    """What came into one session while a one-shot ran."""

    session_id: str
    new_turns: int  # with instants inside (started, finished]
    first_entry_at: str  # of these; RFC 3339 in the one fixed form, so that texts compare as instants
    said: tuple[str, ...] = ()  # the user's texts among these
    files: frozenset[str] = frozenset()  # the transcripts that they stand in


class Evidence(Record):
    """What is known of a run besides when it ran."""

    prompt: str = ""  # as the CLI got it; empty: not known
    files: frozenset[str] = frozenset()  # regular files that its processes had open
    prompt_hash: str = ""  # of the prompt, where nothing else of it is left; empty: not known


NO_EVIDENCE = Evidence()


def choose_session(
    active: Iterable[SessionActivity], evidence: Evidence = NO_EVIDENCE, *, has_rivals: bool = False
) -> str | None:
    """Return the session that a run has made; None when nothing came in, or when it cannot be told.

    The one whose transcript the run had open, then one in which the user says what the run was given, then any; of
    several the one with the most new entries, then the one that began earlier, then the lesser id.

    has_rivals: other runs of the account at the same time look for theirs too, so that a session without any such sign
    may well be another's, and so may each of several in which the user says the same. A wrong one is worse than none.
    """
    ranked = [(_rank(session, evidence), session) for session in active if session.new_turns > 0]
    if has_rivals and (evidence.prompt or evidence.files or evidence.prompt_hash):
        ranked = [(rank, session) for rank, session in ranked if rank is not _UNRELATED]
        best_rank = max((rank for rank, _ in ranked), default=_UNRELATED)
        if best_rank is not _WAS_OPEN and sum(rank is best_rank for rank, _ in ranked) > 1:
            return None
    best = min(ranked, key=lambda one: _order(*one), default=None)
    return None if best is None else best[1].session_id


def _order(rank: int, session: SessionActivity) -> tuple[int, int, str, str]:
    return -rank, -session.new_turns, session.first_entry_at, session.session_id


def hash_prompt(prompt: str) -> str:
    """Return what tells a prompt from others, whatever a CLI does to its white space."""
    text = _normalize(prompt).encode("utf-8", "surrogatepass")
    return f"{zlib.crc32(text):08x}-{len(text)}"  # with folder and time enough; hashlib would cost each run 3 ms


def _rank(session: SessionActivity, evidence: Evidence) -> int:
    if evidence.files & session.files:
        return _WAS_OPEN
    if evidence.prompt_hash and evidence.prompt_hash in map(hash_prompt, session.said):
        return _SAYS_PROMPT
    wanted = _normalize(evidence.prompt)
    said = [_normalize(text) for text in session.said] if wanted else []
    if wanted in said:
        return _SAYS_PROMPT
    return _HOLDS_PROMPT if any(_holds(text, wanted) for text in said) else _UNRELATED


def _holds(text: str, words: str) -> bool:
    """Tell whether a text holds another one in whole words: "do part 1" is not what "do part 12" says."""
    end = 0
    while words and (start := text.find(words, end)) >= 0:
        end = start + len(words)
        edges = ((text[max(0, start - 1) : start], words[0]), (words[-1], text[end : end + 1]))
        if not any(before.isalnum() and after.isalnum() for before, after in edges):
            return True
    return False


def _normalize(text: str) -> str:
    return " ".join(text.split())
