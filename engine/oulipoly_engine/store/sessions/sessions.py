"""Sessions with everything that lists and trees show of them, in one pass over chains, facts and notes."""

from __future__ import annotations

from collections.abc import Collection

from oulipoly_engine.core.sessions.sessions import Part, Session
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.compiled import Compiled, Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of, greatest, has_type
from oulipoly_engine.store.base.orm import JOIN, SQL, Case, ModelSelect, Query, fn
from oulipoly_engine.store.models.archive import CopyRow
from oulipoly_engine.store.models.sessions import ChainRow, FactsRow, NoteRow, SegmentRow

_SAME = (FactsRow.account == SegmentRow.provider_name) & (FactsRow.session_id == SegmentRow.session_id)
_OWN_NOTES = NoteRow.chain_id == ChainRow.chain_id

# A value that cannot be costs its session what is known of it, or its line, never the list: what is sorted, compared
# and drawn is asked for its type. Text columns can have nothing but text and blobs.
_SOUND_FACTS = (
    has_type(FactsRow.entries, "integer")
    & has_type(FactsRow.first_entry_at, "text")
    & has_type(FactsRow.last_entry_at, "text")
    & has_type(FactsRow.title, "text", "null")
)
_SOUND_NOTES = has_type(NoteRow.name, "text", "null") & has_type(NoteRow.note, "text", "null")
_SOUND_SEGMENTS = has_type(SegmentRow.started_at, "text") & has_type(SegmentRow.ended_at, "text", "null")
_SOUND_CHAINS = has_type(ChainRow.created_at, "text") & has_type(ChainRow.last_used_at, "text")


def _parts() -> ModelSelect[SegmentRow]:
    row, facts = SegmentRow, FactsRow
    return (
        row.select(
            row.provider_name,
            row.session_id,
            row.started_at,
            row.ended_at,
            fn.COALESCE(facts.entries, 0),
            fn.COALESCE(facts.assistant_entries, 0),
            fn.COALESCE(facts.sidechain_entries, 0),
            fn.COALESCE(facts.side_chains, 0),
            facts.first_entry_at,
            facts.last_entry_at,
            facts.title,
            facts.cwd,
            facts.cli_model,
            facts.transcript,
            facts.size_bytes,
            facts.mtime_ms,
            facts.forked_from,
            row.chain_id,
        )
        .join(facts, JOIN.LEFT_OUTER, on=_SAME & _SOUND_FACTS)
        .where(_SOUND_SEGMENTS)
    )


def _chains() -> ModelSelect[ChainRow]:
    row, note = ChainRow, NoteRow
    of_note = note.name, note.note, note.pinned_at
    columns = row.chain_id, row.model_name, row.created_at, row.last_used_at, *of_note, row.deleted_at
    return row.select(*columns).join(note, JOIN.LEFT_OUTER, on=_OWN_NOTES & _SOUND_NOTES).where(_SOUND_CHAINS)


def _select_kept() -> ModelSelect[CopyRow]:
    row = CopyRow
    return row.select(row.account, row.session_id).where(row.part == "", row.is_latest == 1, row.is_pruned == 0)


def _listed_chains() -> Query:
    return _chains().where(ChainRow.deleted_at.is_null())


_all_parts, _all_chains, _all_kept = compile_query(_parts), compile_query(_listed_chains), compile_query(_select_kept)


@compile_query
def _parts_of(chain_ids: Parameter) -> Query:
    return _parts().where(SegmentRow.chain_id.in_(each_of(chain_ids)))


@compile_query
def _chains_of(chain_ids: Parameter) -> Query:
    return _chains().where(ChainRow.chain_id.in_(each_of(chain_ids)))


@compile_query
def _select_kept_of(chain_ids: Parameter) -> Query:
    sessions = SegmentRow.select(SegmentRow.session_id).where(SegmentRow.chain_id.in_(each_of(chain_ids)))
    return _select_kept().where(CopyRow.session_id.in_(sessions))


def list_sessions(store: Store, chain_ids: Collection[str] | None = None) -> tuple[Session, ...]:
    """Return sessions that have a segment, in no order: all that were not deleted, or those of some chains."""
    if chain_ids is None:
        segments, chains, copies = _all_parts(), _all_chains(), _all_kept()
    else:
        wanted = sorted(chain_ids)
        segments, chains, copies = _parts_of(wanted), _chains_of(wanted), _select_kept_of(wanted)
    with store.read():
        parts: dict[str, list[Part]] = {}
        for row in store.rows(segments):
            parts.setdefault(row[-1], []).append(Part(*row[:-1]))
        rows = store.rows(chains)
        kept = set(store.rows(copies))
    found = []
    for chain_id, model, created_at, used_at, name, note, pinned_at, deleted_at in rows:
        own = parts.get(chain_id)
        if own:
            if len(own) > 1:
                own.sort(key=lambda part: part.started_at)
            is_kept = (own[0].account, own[0].session_id) in kept
            one = Session(
                chain_id,
                model,
                created_at,
                used_at,
                tuple(own),
                name and _redact(name),
                note and _redact(note),
                pinned_at,
                deleted_at,
                is_kept,
            )
            if len(own) > 1:
                one = replace(one, has_kept_copy=(one.active.account, one.active.session_id) in kept)
            found.append(one)
    return tuple(found)


def _redact(words: str) -> str:
    """Return what a person said of a session as it may be shown: everything that shows sessions reads them here."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, and few sessions have such words

    return redact(words)


def titles(store: Store, account: str, session_ids: Collection[str]) -> dict[str, str]:
    """Return what sessions of an account are called: the user's own name, else the title; nothing for the others."""
    rows = store.rows(
        FactsRow.select(FactsRow.session_id, fn.COALESCE(fn.NULLIF(NoteRow.name, ""), FactsRow.title))
        .join(SegmentRow, JOIN.LEFT_OUTER, on=_SAME)
        .join(NoteRow, JOIN.LEFT_OUTER, on=NoteRow.chain_id == SegmentRow.chain_id)
        .where(FactsRow.account == account, FactsRow.session_id.in_(each_of(sorted(session_ids))))
    )
    return {str(session): _redact(str(title)) for session, title in rows if title}


def latest(store: Store, limit: int) -> tuple[frozenset[str], int]:
    """Return the chains that lead a list by last use, pinned ones before all, and how many chains there are.

    A chain among the first `limit` is among as many by its own last use, or by its sessions' last entries: only those
    are joined. A fifth of the time that reading all of them would take.
    """
    with store.read():
        deleted = int(store.rows(_count_deleted())[0][0])
        total = int(store.rows(_count_with_segment())[0][0])
        rows = store.rows(_select_pinned())
        for first, count in ((_latest_chains, _count_chains), (_latest_entries, _count_facts)):
            rows += _first(store, first, count, min(limit + deleted, total))
        leading = store.rows(_latest_among(sorted({str(chain_id) for (chain_id,) in rows}), limit))
    return frozenset(str(chain_id) for chain_id, *_ in leading), total - deleted


def find_latest(store: Store) -> str | None:
    """Return the chain that was used last, pinned or not; None: there is none."""
    leading, _ = latest(store, 1 + len(store.rows(_select_pinned())))
    sessions = list_sessions(store, leading)
    return max(sessions, key=lambda session: session.last_used_at).chain_id if sessions else None


def _first(store: Store, question: Compiled, count: Compiled, chains: int) -> list[tuple[str]]:
    """Return at least so many chains that have a segment, the first ones by a question; or all that there are.

    count: asks how many rows the question could go through.
    """
    asked = chains
    while True:
        rows = store.rows(question(asked))
        if len(rows) >= chains or asked >= int(store.rows(count())[0][0]):
            return rows
        asked *= 4  # several sessions may share a chain, some have none yet, and a chain may have no segment


@compile_query
def _count_with_segment() -> Query:
    return SegmentRow.select(fn.COUNT(SegmentRow.chain_id.distinct()))


@compile_query
def _count_deleted() -> Query:
    return ChainRow.select(fn.COUNT(SQL("*"))).where(ChainRow.deleted_at.is_null(is_null=False))


@compile_query
def _select_pinned() -> Query:
    return NoteRow.select(NoteRow.chain_id).where(NoteRow.pinned_at.is_null(False))


@compile_query
def _count_chains() -> Query:
    return ChainRow.select(fn.COUNT(SQL("*")))


@compile_query
def _count_facts() -> Query:
    return FactsRow.select(fn.COUNT(SQL("*")))


@compile_query
def _latest_chains(most: Parameter) -> Query:
    latest = ChainRow.select(ChainRow.chain_id).order_by(ChainRow.last_used_at.desc()).limit(most).alias("latest")
    has_segment = fn.EXISTS(SegmentRow.select(SegmentRow.id).where(SegmentRow.chain_id == latest.c.chain_id))
    return latest.select_from(latest.c.chain_id).where(has_segment)


@compile_query
def _latest_entries(most: Parameter) -> Query:
    facts = FactsRow.select(FactsRow.account, FactsRow.session_id).order_by(FactsRow.last_entry_at.desc()).limit(most)
    latest = facts.alias("latest")
    same = (SegmentRow.provider_name == latest.c.account) & (SegmentRow.session_id == latest.c.session_id)
    # Crossed: without knowing how many are wanted, SQLite would go through all segments. 6 ms of 10,000 sessions.
    return latest.select_from(SegmentRow.chain_id).join(SegmentRow, JOIN.CROSS).where(same).distinct()


@compile_query
def _latest_among(chain_ids: Parameter, most: Parameter) -> Query:
    segment, chain = SegmentRow, ChainRow
    used = greatest(fn.MAX(chain.last_used_at), fn.COALESCE(fn.MAX(FactsRow.last_entry_at), ""))
    return (
        segment.select(segment.chain_id)
        .join(chain, on=chain.chain_id == segment.chain_id)
        .join(FactsRow, JOIN.LEFT_OUTER, on=_SAME)
        .join(NoteRow, JOIN.LEFT_OUTER, on=_OWN_NOTES)
        .where(segment.chain_id.in_(each_of(chain_ids)), chain.deleted_at.is_null())
        .group_by(segment.chain_id)
        .order_by(Case(None, [(fn.COUNT(NoteRow.pinned_at) > 0, 0)], 1), used.desc())
        .limit(most)
    )
