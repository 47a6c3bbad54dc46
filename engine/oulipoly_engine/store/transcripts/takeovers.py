"""Give the entries of a transcript the turns of what was heard of the same session, which goes then.

Either may come first: a CLI writes its transcript while its host is told the same. Everything runs inside the caller's
write transaction. Events may leave their texts to entries that go here: whoever calls brings what gives them back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from oulipoly_engine.core.sessions.takeover import HeardEntry, ReadEntry, Takeover, plan_takeover, read_words
from oulipoly_engine.core.transcripts.turn_script import COMPACTION
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import JOIN, Case, ColumnBase, Expression, Query, fn
from oulipoly_engine.store.models.live import LiveSessionRow, LiveTurnRow
from oulipoly_engine.store.models.runs import InvocationRow
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import IS_LIVE, IS_OWN, IS_READ, EntryRow
from oulipoly_engine.store.sessions import labels, leaves
from oulipoly_engine.store.transcripts import entries

GiveBack = Callable[[Store, Collection[str]], None]  # takes ids of entries that go


@compile_query
def _select_owners(session_ids: Parameter) -> Query:
    row = LiveSessionRow
    account = fn.COALESCE(row.account, row.runtime_id)
    return row.select(account, row.native_id).where(row.native_id.in_(each_of(session_ids)))


@compile_query
def _select_heard_in_runtimes(session_ids: Parameter) -> Query:
    """Ask for what runtimes without an account have, whichever id their sessions go on under by now."""
    row = EntryRow
    live = LiveSessionRow
    runtimes = live.select(live.runtime_id).where(live.account.is_null())
    mine = row.provider_name.in_(runtimes) & row.session_id.in_(each_of(session_ids)) & IS_LIVE
    return row.select(row.provider_name, row.session_id).distinct().where(mine)


@compile_query
def _select_heard_on_accounts(session_ids: Parameter) -> Query:
    """Ask for what any account has on which such a session lies, or has lain."""
    row = EntryRow
    segment = SegmentRow
    is_of = (row.provider_name == segment.provider_name) & (row.session_id == segment.session_id)
    is_heard = fn.EXISTS(row.select(row.id).where(is_of, IS_LIVE))
    is_asked = segment.session_id.in_(each_of(session_ids))
    return segment.select(segment.provider_name, segment.session_id).where(is_asked, is_heard)


@compile_query
def _select_heard_sessions(account: Parameter, session_ids: Parameter) -> Query:
    row = EntryRow
    mine = (row.provider_name == account) & row.session_id.in_(each_of(session_ids)) & IS_LIVE
    return row.select(row.session_id).distinct().where(mine)


def take_over_all(store: Store, account: str, session_ids: Collection[str], give_back: GiveBack) -> None:
    """Do it for the sessions of an account of which a transcript was read."""
    questions = (_select_owners, _select_heard_in_runtimes, _select_heard_on_accounts)
    owners = [row for question in questions for row in store.rows(question([*session_ids]))]
    heard = {native_id for owner, native_id in owners if entries.has_live(store, owner, native_id)}
    heard.update(session_id for (session_id,) in store.rows(_select_heard_sessions(account, [*session_ids])))
    for session_id in sorted(heard):
        own = (owner for owner, native_id in owners if native_id == session_id)
        take_over(store, {account, *own}, session_id, give_back)


def take_over(store: Store, owners: Collection[str], session_id: str, give_back: GiveBack) -> int:
    """Do it for one session, and return how many entries are given up.

    owners: the account or runtime of what was heard. A transcript may lie on another account: a runtime without an
    account may use the home of one.
    """
    accounts = entries.find_accounts(store, session_id).union(owners)
    if not entries.has_transcript(store, accounts, session_id):
        return 0
    key = [*accounts], session_id
    without_turn = [entry_id for (entry_id,) in store.rows(_select_without_turn(*key))]
    _give_up(store, key, without_turn, give_back)
    ((first_at, begun_at),) = store.rows(_select_begin(*key))
    read = [] if first_at is None else _read_transcript(store, *key, _cut_to_ms(begun_at))
    if not any(line.turn_id is None or line.timestamp >= first_at for line in read if not line.is_sidechain):
        return len(without_turn)  # nearly always: what is heard is not read again with each piece of a turn
    heard = _read_heard(store, *key)
    plan = plan_takeover(heard, read)
    turns = ((*key, each.entry_id, each.turn_id, each.native_id) for each in plan.turns)
    store.execute_many(_give_turn, turns)
    if plan.dropped:
        _give_up(store, key, plan.dropped, give_back)
        _bequeath(store, key, plan.heirs, heard[-1].entry_id)
        _hang_rest(store, key, heard, read, plan)
    return len(without_turn) + len(plan.dropped)


def _of_session(accounts: Parameter, session_id: Parameter) -> Expression:
    return EntryRow.provider_name.in_(each_of(accounts)) & (EntryRow.session_id == session_id)


@compile_query
def _select_without_turn(accounts: Parameter, session_id: Parameter) -> Query:
    mine = _of_session(accounts, session_id) & IS_LIVE & ~IS_OWN
    return EntryRow.select(EntryRow.entry_id).where(mine, EntryRow.turn_id.is_null())


def _give_up(store: Store, key: tuple[list[str], str], entry_ids: Collection[str], give_back: GiveBack) -> None:
    if entry_ids:
        give_back(store, entry_ids)
        store.run(_drop(*key, entry_ids))


# Who has said an entry, as they are compared: a compaction is made, whoever it is laid to.
_SAYER = Case(None, [(EntryRow.is_compaction_boundary == 1, COMPACTION)], EntryRow.role)
_BEGUN = fn.COALESCE(LiveTurnRow.created_at, InvocationRow.created_at, EntryRow.timestamp)
_ENDED = fn.COALESCE(LiveTurnRow.ended_at, InvocationRow.finished_at)


def _select_with_turns(accounts: Parameter, session_id: Parameter, *columns: ColumnBase) -> Query:
    """Return the query of what was heard, each beside its turn or its run."""
    return (
        EntryRow.select(*columns)
        .join(LiveTurnRow, JOIN.LEFT_OUTER, on=LiveTurnRow.turn_id == EntryRow.turn_id)
        .join(InvocationRow, JOIN.LEFT_OUTER, on=InvocationRow.invocation_uuid == EntryRow.turn_id)
        .where(_of_session(accounts, session_id) & IS_LIVE & ~IS_OWN)
    )


@compile_query
def _select_begin(accounts: Parameter, session_id: Parameter) -> Query:
    return _select_with_turns(accounts, session_id, fn.MIN(EntryRow.timestamp), fn.MIN(_BEGUN))


@compile_query
def _select_heard(accounts: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    columns = row.timestamp, row.id, row.entry_id, _SAYER, row.body, row.turn_id, row.native_id
    return _select_with_turns(accounts, session_id, *columns, _BEGUN, _ENDED)


def _read_said(sayer: str, body: str | None) -> str:
    """Return an entry's words; of two compactions the words differ, and nobody else has said them."""
    return COMPACTION if sayer == COMPACTION else read_words(body)


def _cut_to_ms(instant: str) -> str:
    """Return an instant as transcripts have it: what a CLI writes in the same millisecond is not before it."""
    return f"{instant[:-4]}000Z"


def _read_heard(store: Store, accounts: Sequence[str], session_id: str) -> list[HeardEntry]:
    """Read them in order, which SQLite would do by passing over the whole session."""
    rows = sorted(store.rows(_select_heard(accounts, session_id)), key=lambda row: row[:2])
    return [
        HeardEntry(
            entry_id, role, at, _read_said(role, body), turn_id, native_id, _cut_to_ms(begun_at), ended_at is not None
        )
        for at, _, entry_id, role, body, turn_id, native_id, begun_at, ended_at in rows
    ]


@compile_query
def _select_read(accounts: Parameter, session_id: Parameter, since: Parameter) -> Query:
    row = EntryRow
    body = Case(None, [(row.turn_id.is_null(), row.body)], None)
    return (
        row.select(row.entry_id, _SAYER, row.timestamp, body, row.turn_id, row.is_sidechain)
        .where(_of_session(accounts, session_id) & IS_READ, row.timestamp >= since)
        .order_by(row.timestamp, row.id)
    )


def _read_transcript(store: Store, accounts: Sequence[str], session_id: str, since: str) -> list[ReadEntry]:
    rows = store.rows(_select_read(accounts, session_id, since))
    lines = {
        entry_id: ReadEntry(entry_id, role, at, _read_said(role, body), turn_id, bool(is_sidechain))
        for entry_id, role, at, body, turn_id, is_sidechain in rows
    }
    return [*lines.values()]  # each once, also where the session lies on two accounts


@compile_query
def _give_turn(
    accounts: Parameter, session_id: Parameter, entry_id: Parameter, turn_id: Parameter, native_id: Parameter
) -> Query:
    row = EntryRow
    mine = _of_session(accounts, session_id) & (row.entry_id == entry_id)
    return row.update({row.turn_id: turn_id, row.native_id: native_id}).where(mine)


@compile_query
def _drop(accounts: Parameter, session_id: Parameter, entry_ids: Parameter) -> Query:
    return EntryRow.delete().where(_of_session(accounts, session_id), EntryRow.entry_id.in_(each_of(entry_ids)))


@compile_query
def _select_chains(accounts: Parameter, session_id: Parameter) -> Query:
    segment = SegmentRow
    mine = segment.provider_name.in_(each_of(accounts)) & (segment.session_id == session_id)
    chain = ChainRow
    return chain.select(chain.chain_id, chain.leaf).where(
        chain.chain_id.in_(segment.select(segment.chain_id).where(mine))
    )


@compile_query
def _select_own(accounts: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    return row.select(row.entry_id, row.parent_entry_id).where(_of_session(accounts, session_id) & IS_LIVE & IS_OWN)


def _bequeath(store: Store, key: tuple[list[str], str], heirs: Mapping[str, str], end: str) -> None:
    """Have what is there beside entries that are given up hold for those in their place: leaf, labels, our own entries.

    end: the last entry that was heard; a session that goes on there follows its end, wherever that is.
    """
    for chain_id, leaf in store.rows(_select_chains(*key)):
        if leaf in heirs:
            leaves.move_to(store, chain_id, None if leaf == end else heirs[leaf])
        labels.move(store, chain_id, heirs)
    own = store.rows(_select_own(*key))
    store.execute_many(_hang, ((*key, entry_id, heirs[parent]) for entry_id, parent in own if parent in heirs))


@compile_query
def _hang(accounts: Parameter, session_id: Parameter, entry_id: Parameter, parent_id: Parameter) -> Query:
    row = EntryRow
    return row.update({row.parent_entry_id: parent_id}).where(
        _of_session(accounts, session_id), row.entry_id == entry_id
    )


def _hang_rest(
    store: Store, key: tuple[list[str], str], heard: Sequence[HeardEntry], read: Sequence[ReadEntry], plan: Takeover
) -> None:
    """Have what the transcript has not come to follow on what it has."""
    gone = {*plan.dropped}
    first = next((entry for entry in heard if entry.entry_id not in gone), None)
    last = next((line for line in reversed(read) if not line.is_sidechain), None)
    if first is not None and last is not None:
        store.run(_hang(*key, first.entry_id, last.entry_id))
