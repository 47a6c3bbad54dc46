"""Transcripts as messy as real ones, with the totals that a right reader must come to, and a ledger to read them."""

import json
import random
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.ledger.calls import Tokens, call_id
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.service.ledger.ledger import Ledger
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.ledger import calls as rows
from oulipoly_engine.testing import FakeClock

DAY = datetime(2026, 11, 10, tzinfo=UTC).timestamp()


def instant(seconds):
    """Return an instant as both CLIs write it."""
    return datetime.fromtimestamp(DAY + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dump(record):
    """Return a record's line without its end."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


class Claude:
    """Writes one account's Claude Code transcripts and knows what they cost."""

    def __init__(self, folder, dice):
        self.folder = folder
        self.dice = dice
        self.calls = {}  # message id -> tokens
        self.lines = {}  # message id -> its lines
        self.at = 0

    def call(self, session, *, side=False, request=True):
        """Return the lines of one API call, the last with the final count."""
        dice, name = self.dice, f"msg_{self.dice.getrandbits(64):016x}"
        counts = [dice.randint(1, 12), dice.randint(9, 900), dice.randint(0, 90_000), dice.randint(0, 900)]
        hour = counts[3] // 2
        self.calls[name] = Tokens(*counts, hour, 0)
        found = []
        blocks = dice.randint(1, 3)
        for block in range(blocks):
            self.at += dice.randint(1, 90)
            usage = {
                "input_tokens": counts[0],
                "cache_creation_input_tokens": counts[3],
                "cache_read_input_tokens": counts[2],
                "cache_creation": {"ephemeral_5m_input_tokens": counts[3] - hour, "ephemeral_1h_input_tokens": hour},
                "output_tokens": counts[1] if block == blocks - 1 else dice.randint(1, 8),
            }
            trap = {"type": "assistant", "usage": {"input_tokens": 10**8}, "message": {"id": "msg_trap"}}
            content = [{"type": "tool_use", "input": trap}, {"type": "text", "text": 'a "usage":{"input_tokens":9} ü'}]
            message = {"model": "claude-opus-4-5", "id": name, "role": "assistant", "content": content, "usage": usage}
            line = {"isSidechain": side, "cwd": "/work/ü", "sessionId": session, "message": message}
            line |= {"requestId": f"req_{name}"} if request else {}
            line |= {"type": "assistant", "uuid": f"{name}-{block}", "timestamp": instant(self.at)}
            found.append(dump(line))
        self.lines[name] = found
        return found

    def noise(self, session):
        """Return lines that are no calls, though some look like one."""
        usage = {"input_tokens": 5, "output_tokens": 4321}
        inner = {"type": "assistant", "usage": usage, "message": {"id": "msg_inner", "usage": usage}}
        synthetic = {"id": "x", "model": "<synthetic>", "usage": usage}
        return [
            dump({"type": "user", "sessionId": session, "toolUseResult": inner, "message": {"role": "user"}}),
            dump({"type": "assistant", "sessionId": session, "message": synthetic, "timestamp": instant(self.at)}),
            dump({"type": "user", "message": {"content": 'he said "type":"assistant","usage":{}'}}),
            dump({"type": "summary", "summary": "ü" * 400}),
        ]

    def mirror(self, session, lines):
        """Return a progress record that repeats a sub-agent's line."""
        told = json.loads(lines[0])
        message = {"type": "assistant", "timestamp": instant(self.at), "message": told["message"], "uuid": "m"}
        data = {"type": "agent_progress", "message": message}
        return dump({"type": "progress", "sessionId": session, "data": data, "timestamp": instant(self.at)})

    def write(self, files=4, calls=6):
        """Write sessions, sub-agents and a resumed copy."""
        for number in range(files):
            session = f"session-{number}"
            lines = self.noise(session)
            for _ in range(calls):
                lines += self.call(session, request=self.dice.random() < 0.8) + self.noise(session)[:1]
            agent = self.call(session, side=True)
            replay = self.dice.choice([*self.lines.values()])[-1].replace(b'"isSidechain":false', b'"isSidechain":true')
            lines.append(self.mirror(session, agent))
            folder = self.folder / f"-work-{number % 2}"
            self.put(folder / f"{session}.jsonl", lines)
            self.put(
                folder / session / "subagents" / "agent-1.jsonl", [*agent, replay.replace(b'"req_', b'"req_other')]
            )
        copied = [line for lines in list(self.lines.values())[:3] for line in lines]
        resumed = [line.replace(b'"session-0"', b'"session-again"') for line in copied]
        self.put(self.folder / "-work-0" / "session-again.jsonl", [*resumed, *self.call("session-again")])

    def put(self, path, lines):
        """Write a file with its share of bytes that are no good JSON and no call."""
        bad = [b"", b"undefined", b"\0" * 40, b'{"type":"user","message":{"x":', b"\xff\xfe"]
        lines = [
            part for line in lines for part in ((line, self.dice.choice(bad)) if self.dice.random() < 0.1 else (line,))
        ]
        end = b"\r\n" if self.dice.random() < 0.2 else b"\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((b"\xef\xbb\xbf" if self.dice.random() < 0.2 else b"") + end.join(lines) + end)


class Codex:
    """Writes one account's rollouts, old ones and new ones, with repeats and forks."""

    def __init__(self, folder, dice):
        self.folder = folder
        self.dice = dice
        self.calls = []
        self.at = 0

    def name(self, number):
        """Return a session's id."""
        return f"01a1fc50-ee73-7561-bc1d-{number:012x}"

    def write(self, files=5, calls=6):
        """Write rollouts; every second one has the new form, and from the third on they fork from the one before."""
        history = []
        for number in range(files):
            history = self.rollout(number, calls, history if number >= 2 else [], is_new=number % 2 == 1)

    def rollout(self, number, calls, parent, *, is_new):
        """Write one and return its running totals with their last counts."""
        session = self.name(number)
        payload = {"id": session, "cwd": "/work/c", "base_instructions": {"text": "x" * 500}}
        payload |= {"forked_from_id": self.name(number - 1)} if parent else {}
        lines = [self.line("session_meta", payload)]
        history = list(parent)
        if parent and not is_new:
            lines += [self.count(*one) for one in parent]
        total = list(parent[-1][0]) if parent else [0, 0, 0, 0]
        lines.append(self.line("turn_context", {"model": "gpt-5.2-codex", "cwd": "/work/c", "turn_id": "t"}))
        for call in range(calls):
            dice = self.dice
            fresh, cached, out = dice.randint(1, 999), dice.randint(0, 50_000), dice.randint(5, 400)
            last = [fresh + cached, cached, out, out // 2]
            total = [one + other for one, other in zip(total, last, strict=True)]
            self.calls.append(Tokens(fresh, out, cached, 0, 0, out // 2))
            history.append((total, last))
            if is_new:
                record = {"response_id": f"resp_{number}_{call}", "usage": self.usage(last)}
                record |= {"turn_token_usage": self.usage(last), "thread_token_usage": self.usage(total)}
                lines.append(self.line("token_usage_record", record))
            lines += [self.count(total, last)] * dice.randint(1, 3)
            lines.append(self.line("event_msg", {"type": "token_count", "info": None, "rate_limits": {}}))
            lines.append(
                self.line("response_item", {"type": "message", "content": [{"text": '"type":"token_count" ü'}]})
            )
        path = self.folder / "2026" / "11" / "10" / f"rollout-2026-11-10T00-00-00-{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return history

    def usage(self, counts):
        """Return counts as the CLI writes them."""
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
        return dict(zip(names, counts, strict=True)) | {"total_tokens": counts[0] + counts[2]}

    def count(self, total, last):
        """Return a token_count."""
        info = {"total_token_usage": self.usage(total), "last_token_usage": self.usage(last)}
        return self.line("event_msg", {"type": "token_count", "info": info, "rate_limits": {}})

    def line(self, kind, payload):
        """Return a record's line."""
        self.at += 1
        return dump({"timestamp": instant(self.at), "type": kind, "payload": payload})


class Bench:
    """Two accounts' folders, a state file, and what the ledger says."""

    def __init__(self, folder, seed=1):
        self.folder = folder
        dice = random.Random(seed)
        self.claude = Claude(folder / "claude" / "projects", dice)
        self.codex = Codex(folder / "codex" / "sessions", dice)
        self.sources = (
            Source("claude", "claude", self.claude.folder),
            Source("codex", "codex", self.codex.folder),
        )
        self.clock = FakeClock()
        self.store = open_store(folder / "state.db")
        self.ledger = self.new_ledger()

    def new_ledger(self, store=None, **more):
        """Return a ledger that has seen nothing in this process."""
        return Ledger(store or self.store, self.sources, self.clock, **more)

    def write(self, **more):
        """Write both accounts' transcripts."""
        self.claude.write(**more)
        self.codex.write(**more)
        return self

    def files(self):
        """Return every transcript."""
        return sorted(self.folder.rglob("*.jsonl"))

    def truth(self):
        """Return what a right reader finds: calls and tokens an account."""
        return {"claude": _sum(self.claude.calls.values()), "codex": _sum(self.codex.calls)}

    def found(self):
        """Return what the ledger says."""
        return {name: rows.sums(self.store, name, 0) for name in ("claude", "codex")}

    def place_of(self, message_id):
        """Return where a call of Claude Code is booked: session, and whether a sub-agent's."""
        sql = "SELECT session, is_sidechain FROM ledger_calls c JOIN ledger_places p ON p.id = c.place WHERE c.id = ?"
        return tuple(self.store.rows(sql, (call_id(message_id),))[0])


def _sum(tokens):
    tokens = list(tokens)
    return len(tokens), Tokens(*(sum(column) for column in zip(*tokens, strict=True)))


@pytest.fixture
def make_bench(tmp_path):
    """Make benches in folders of their own."""

    def make(seed=1, name="bench"):
        (tmp_path / name).mkdir()
        return Bench(tmp_path / name, seed)

    return make


@pytest.fixture
def bench(make_bench):
    """A bench with transcripts in it."""
    return make_bench().write()
