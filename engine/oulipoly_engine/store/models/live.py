"""Live sessions: turns, events, requests, queues, how the runtimes stood; the outbox of all sessions; agents."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import SQL, AutoField, Check, CompositeKey, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row, references

_OF_SESSION = references("live_sessions", "session_id")
_OF_AGENT = references("agents", "agent_id")
_EMPTY = Default("''")


class LiveSessionRow(Row, table_name="live_sessions"):
    """One session and the runtime that has it."""

    session_id = TextField(primary_key=True)
    workspace = TextField()
    runtime_id = TextField()
    runtime_kind = TextField()
    account = TextField(null=True)
    model_name = TextField()
    native_id = TextField(null=True)
    opening = TextField()  # JSON: what it is opened with
    title = TextField(constraints=[Default("''")])
    status = TextField(constraints=[Check("status IN ('active', 'fenced', 'closed')")])
    status_reason = TextField(constraints=[Default("''")])
    forked_from = TextField(null=True)
    generation = IntegerField(constraints=[Default(0)])
    created_at = TextField()
    updated_at = TextField()
    lifecycle = TextField(constraints=[Default("'persistent'")])
    ended = TextField(constraints=[Default("''")])
    exit_code = IntegerField(null=True)
    closed_at = TextField(null=True)
    entered = IntegerField(constraints=[Default(0)])  # the number of the last event that entries were made of


LiveSessionRow.add_index(
    LiveSessionRow.native_id, LiveSessionRow.account, LiveSessionRow.session_id, name="idx_live_sessions_native"
)
LiveSessionRow.add_index(LiveSessionRow.updated_at, name="idx_live_sessions_updated")


class LiveTurnRow(Row, table_name="live_turns"):
    """One turn."""

    turn_id = TextField(primary_key=True)
    session_id = TextField(constraints=[_OF_SESSION])
    kind = TextField()
    native_turn_id = TextField(null=True)
    status = TextField(
        constraints=[Check("status IN ('starting', 'running', 'completed', 'failed', 'interrupted', 'blocked')")]
    )
    input = TextField()
    policy = TextField()
    message = TextField(constraints=[Default("''")])
    code = TextField(constraints=[Default("''")])
    reply = TextField(constraints=[Default("''")])
    usage = TextField(null=True)
    invocation_uuid = TextField(null=True)
    created_at = TextField()
    ended_at = TextField(null=True)


LiveTurnRow.add_index(LiveTurnRow.session_id, LiveTurnRow.created_at, name="idx_live_turns_session")
LiveTurnRow.add_index(LiveTurnRow.status, where=SQL("status IN ('starting', 'running')"), name="idx_live_turns_open")


class TurnFilesRow(Row, table_name="turn_files", primary_key=CompositeKey("turn_id", "moment")):
    """The snapshot of the files before or after a turn."""

    turn_id = TextField(constraints=[references("live_turns", "turn_id")])
    moment = TextField(constraints=[Check("moment IN ('before', 'after')")])
    reference = TextField()


class LiveEventRow(Row, table_name="live_events", primary_key=CompositeKey("session_id", "seq")):
    """One event of a session."""

    session_id = TextField(constraints=[_OF_SESSION])
    seq = IntegerField()
    at = TextField()
    type = TextField()
    event = TextField()  # JSON


class LiveRequestRow(Row, table_name="live_requests"):
    """One request to a person."""

    request_id = TextField(primary_key=True)
    session_id = TextField(null=True, constraints=[_OF_SESSION])
    turn_id = TextField()
    native_id = TextField()
    kind = TextField()
    status = TextField(constraints=[Check("status IN ('pending', 'answered', 'resolved', 'cancelled', 'expired')")])
    prompt = TextField()  # JSON
    decision = TextField(constraints=[Default("''")])
    answered_by = TextField(constraints=[Default("''")])
    created_at = TextField()
    resolved_at = TextField(null=True)
    origin = TextField(constraints=[Default("'live'")])
    asker = TextField(constraints=[Default("''")])
    answers = TextField(null=True)  # JSON


LiveRequestRow.add_index(LiveRequestRow.session_id, where=SQL("status = 'pending'"), name="idx_live_requests_open")


class QueuedMessageRow(Row, table_name="live_queue"):
    """One message that waits."""

    message_id = TextField(primary_key=True)
    session_id = TextField(constraints=[_OF_SESSION])
    place = IntegerField()
    text = TextField()
    state = TextField(constraints=[Check("state IN ('queued', 'claimed', 'delivered', 'revoked')")])
    note = TextField(constraints=[Default("''")])
    turn_id = TextField(null=True)
    created_at = TextField()


QueuedMessageRow.add_index(
    QueuedMessageRow.session_id, QueuedMessageRow.place, where=SQL("state = 'queued'"), name="idx_live_queue_waiting"
)


class RuntimeProbeRow(Row, table_name="runtime_probes"):
    """How a runtime stood."""

    runtime_id = TextField(primary_key=True)
    probed_at = TextField()
    summary = TextField()  # JSON


class EventRow(Row, table_name="events"):
    """Something that has happened."""

    id = AutoField()
    topic = TextField()
    at = IntegerField()  # Unix milliseconds
    session_id = TextField()
    body = TextField()  # a JSON object


EventRow.add_index(EventRow.session_id, name="idx_events_session")


class EventReaderRow(Row, table_name="event_readers"):
    """Who reads, and the last event that was read."""

    name = TextField(primary_key=True)
    event_id = IntegerField()


class AgentRow(Row, table_name="agents"):
    """One agent."""

    agent_id = TextField(primary_key=True)
    name = TextField()
    source = TextField()
    digest = TextField(constraints=[_EMPTY])
    isolation = TextField()
    plan = TextField(constraints=[Default("'{}'")])  # JSON
    status = TextField(
        constraints=[
            Check("status IN ('pulling', 'starting', 'ready', 'working', 'stopped', 'failed', 'removing', 'removed')")
        ]
    )
    reason = TextField(constraints=[_EMPTY])
    problem = TextField(constraints=[_EMPTY])
    owner = TextField(constraints=[_EMPTY])  # the mark of the process that brings it up or removes it
    created_at = TextField()
    updated_at = TextField()


AgentRow.add_index(AgentRow.name, unique=True, where=SQL("status != 'removed'"), name="idx_agents_name")


class AgentHistoryRow(Row, table_name="agent_history"):
    """One change of an agent's status."""

    id = AutoField()
    agent_id = TextField(constraints=[_OF_AGENT])
    at = TextField()
    status = TextField()
    reason = TextField(constraints=[_EMPTY])
    detail = TextField(constraints=[_EMPTY])


AgentHistoryRow.add_index(AgentHistoryRow.agent_id, name="idx_agent_history_agent")


class AgentSessionRow(Row, table_name="agent_sessions"):
    """A live session of an agent."""

    session_id = TextField(primary_key=True)
    agent_id = TextField(constraints=[_OF_AGENT])
    created_at = TextField()
    prompted_by = TextField(constraints=[_EMPTY])  # the session of another agent that waits for it


AgentSessionRow.add_index(AgentSessionRow.agent_id, name="idx_agent_sessions_agent")


class AgentJobRow(Row, table_name="agent_jobs"):
    """One tool that was run in an agent."""

    job_id = TextField(primary_key=True)
    agent_id = TextField(constraints=[_OF_AGENT])
    kind = TextField(constraints=[Check("kind IN ('exec', 'job')")])
    tool = TextField()
    arguments = TextField(constraints=[Default("'[]'")])  # JSON
    input = TextField(constraints=[_EMPTY])
    labels = TextField(constraints=[Default("'{}'")])  # JSON
    status = TextField(
        constraints=[Check("status IN ('pending', 'running', 'done', 'error', 'cancelled', 'orphaned')")]
    )
    owner = TextField(constraints=[_EMPTY])  # the mark of the process that runs it
    handle = TextField(constraints=[_EMPTY])  # of its process group
    exit_code = IntegerField(null=True)
    stdout = TextField(constraints=[_EMPTY])
    stderr = TextField(constraints=[_EMPTY])
    stdout_bytes = IntegerField(constraints=[Default(0)])
    stderr_bytes = IntegerField(constraints=[Default(0)])
    problem = TextField(constraints=[_EMPTY])
    created_at = TextField()
    begun_at = TextField(null=True)
    ended_at = TextField(null=True)


AgentJobRow.add_index(AgentJobRow.agent_id, AgentJobRow.created_at, name="idx_agent_jobs_agent")
AgentJobRow.add_index(AgentJobRow.status, where=SQL("status IN ('pending', 'running')"), name="idx_agent_jobs_open")


class AgentNoteRow(Row, table_name="agent_notes", primary_key=CompositeKey("agent_id", "key")):
    """A text that an agent keeps by a key."""

    agent_id = TextField(constraints=[_OF_AGENT])
    key = TextField()
    text = TextField()
    is_pinned = IntegerField(constraints=[Default("0")])
    updated_at = TextField()


class AgentTokenRow(Row, table_name="agent_tokens"):
    """What a token says; its text can be had from this and the secret alone."""

    token_id = TextField(primary_key=True)
    agent_id = TextField(constraints=[_OF_AGENT])
    issuer = TextField(constraints=[Check("issuer IN ('agent', 'operator')")])
    capabilities = TextField(constraints=[Default("'[]'")])  # JSON
    links = TextField(constraints=[Default("'[]'")])  # JSON
    issued_at = TextField()
    expires_at = TextField()
    revoked_at = TextField(null=True)


AgentTokenRow.add_index(AgentTokenRow.agent_id, name="idx_agent_tokens_agent")
