#!/usr/bin/env python3
"""Deterministic generator of realistic LLM-CLI session transcripts (stdlib only).

Writes, under --out:

  claude/projects/<escaped-cwd>/<session-uuid>.jsonl             Claude Code sessions
  claude/projects/<escaped-cwd>/<session-uuid>/subagents/agent-<hex>.jsonl
  codex/sessions/YYYY/MM/DD/rollout-<ts>-<uuid>.jsonl            Codex rollouts
  truth.json                                                     ground truth (see below)

(claude2/, codex2/ ... with --claude-accounts / --codex-accounts)

Same arguments + same seed => byte-identical files, on any platform.

The mess that real transcripts contain is generated on purpose, each kind counted in truth.json:
  * one line per content block of an API response, all with the same message.id + requestId, where
    output_tokens is a stale partial number except on the last line        ("stream" duplicates)
  * a share of messages without requestId (API gateways)                   (dedupe by message.id alone)
  * resumed/forked sessions that copy the parent's history into a new file with a new sessionId
  * sidechain (subagent) files; some replay a parent message with another requestId
  * `progress` records that embed a subagent's assistant message           (same ids as the subagent file)
  * traps: `"usage":{...}` as real JSON inside tool_use input and inside a user record's toolUseResult;
    escaped `\\"usage\\":{` inside text; "type":"assistant" inside nested objects
  * synthetic API-error messages (model "<synthetic>", zero usage)
  * very long lines (200 kB - 1 MB), file-history-snapshot records, summaries, system records
  * malformed lines (glued, garbage, NUL run), a truncated last line, CRLF files, a BOM, empty lines,
    invalid UTF-8 bytes, lone surrogate escapes (\\ud83d)
  * two key orders of Claude Code records (common fields before or after the message) and two Codex formats
    (older; 0.16x with ordinals and token_usage_record, whose forks go on from the parent's counter)
  * Codex: token_count re-emitted with an unchanged total, token_count with info=null (rate limits only),
    older forks replaying the parent's counters in one burst, a turn_context of 40 kB,
    compacted records of 300 kB+, rate_limits primary (300 min) and secondary (10080 min)

truth.json holds the totals a correct reader must come to:
  claude: unique API calls and tokens per model/day/session after dedupe: one call per message.id (per
          account); of several lines the one with the largest output_tokens wins; a sidechain replay under
          another requestId counts once, as the parent's.
  codex:  deltas of total_token_usage per session; re-emits and fork replays excluded.
File sizes follow the quantiles published with ccusage's own benchmark (3142 files, 1239 MiB:
p50 105 kB, p75 234 kB, p90 654 kB, p95 1.5 MB, p99 5.4 MB, max 87 MB).
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import sys
import time

QUANTILES = [
    (0.0, 236),
    (0.5, 105267),
    (0.75, 233572),
    (0.9, 653972),
    (0.95, 1504757),
    (0.99, 5383751),
    (1.0, 87033471),
]
PROFILE_MEAN = 413_500  # bytes per file of that profile

CLAUDE_MODELS = [
    ("claude-opus-4-5-20251101", 0.45),
    ("claude-sonnet-4-5-20250929", 0.40),
    ("claude-haiku-4-5-20251001", 0.15),
]
CODEX_MODELS = [("gpt-5.2-codex", 0.6), ("gpt-5.1-codex-max", 0.3), ("gpt-5.1-codex-mini", 0.1)]
TOOLS = ["Bash", "Read", "Edit", "Grep", "Glob", "Write", "TodoWrite", "Task", "WebFetch"]
VERSIONS = ["2.0.14", "2.0.76", "2.1.4", "2.1.63", "2.1.138", "2.1.197"]
NEW_LAYOUT = {"2.1.138", "2.1.197"}  # common fields after the message instead of before it
WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "for",
    "that",
    "with",
    "this",
    "function",
    "returns",
    "value",
    "error",
    "test",
    "module",
    "import",
    "class",
    "file",
    "path",
    "config",
    "session",
    "token",
    "usage",
    "window",
    "quota",
    "provider",
    "account",
    "retry",
    "timeout",
    "async",
    "await",
    "handler",
    "request",
    "response",
    "parse",
    "stream",
    "buffer",
    "cursor",
    "offset",
    "index",
    "schema",
    "migration",
    "commit",
    "branch",
    "merge",
    "review",
    "refactor",
    "cache",
    "queue",
    "worker",
    "thread",
    "lock",
    "signal",
    "process",
    "spawn",
    "exit",
    "code",
    "stdout",
    "stderr",
    "build",
    "lint",
    "format",
    "type",
    "check",
    "coverage",
    "fixture",
    "mock",
    "database",
    "table",
    "column",
    "row",
    "insert",
    "update",
    "select",
    "join",
    "where",
    "order",
    "group",
    "limit",
    "transaction",
    "rollback",
    "checkpoint",
    "render",
    "widget",
    "layout",
    "style",
    "theme",
    "color",
    "border",
    "scroll",
    "focus",
    "event",
    "key",
    "binding",
    "action",
    "dialog",
    "toast",
    "progress",
    "bar",
]


def b62(rng: random.Random, n: int) -> str:
    a = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    v = rng.getrandbits(6 * n)
    out = []
    for _ in range(n):
        out.append(a[(v & 63) % len(a)])
        v >>= 6
    return "".join(out)


def uuid4(rng: random.Random) -> str:
    h = f"{rng.getrandbits(128):032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:]}"


def uuid7(rng: random.Random, ms: int) -> str:
    h = f"{ms:012x}7{rng.getrandbits(76):019x}"
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:32]}"


def iso(ms: int) -> str:
    s, m = divmod(ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(s)) + f".{m:03d}Z"


def pick(rng: random.Random, table):
    r = rng.random()
    for v, p in table:
        r -= p
        if r < 0:
            return v
    return table[-1][0]


class Text:
    """Pool of JSON-escaped text pieces, so that a gigabyte is assembled and not typed."""

    def __init__(self, rng: random.Random):
        self.pieces: list[str] = []
        for i in range(4096):
            k = i % 8
            n = rng.randint(4, 18)
            w = rng.choices(WORDS, k=n)
            if k == 0:
                s = " ".join(w).capitalize() + ". "
            elif k == 1:
                s = f"    {w[0]}_{w[1]} = {w[2]}({', '.join(w[3:6])})\n"
            elif k == 2:
                s = f'{rng.randint(1, 2000):6d}\t    if self.{w[0]} is not None and "{w[1]}" in {w[2]}:\n'
            elif k == 3:
                s = f"src/{w[0]}/{w[1]}.py:{rng.randint(1, 900)}: {' '.join(w[2:])}\n"
            elif k == 4:
                s = f"- **{w[0]}**: {' '.join(w[1:])}\n"
            elif k == 5:
                s = f'+    {{"{w[0]}": "{w[1]}", "{w[2]}": [{rng.randint(0, 99)}, {rng.random():.4f}]}},\n'
            elif k == 6:
                s = f"\x1b[32mPASSED\x1b[0m tests/{w[0]}/test_{w[1]}.py::test_{w[2]} [{rng.randint(1, 100)}%]\n"
            else:
                s = (
                    rng.choice(
                        [
                            "— naïve café, Übergröße; ",
                            "日本語のテキスト処理。",
                            "проверка строки, ",
                            "emoji 🎉✅🚀 and → arrows, ",
                            "C:\\Users\\dev\\proj\\file.txt ",
                        ]
                    )
                    + " ".join(w[:4])
                    + "\n"
                )
            self.pieces.append(json.dumps(s, ensure_ascii=False)[1:-1])
        # an escaped trap: text that talks about usage records
        self.pieces[77] = json.dumps(
            'the line {"type":"assistant","message":{"id":"msg_x","usage":{"input_tokens":1,"output_tokens":2}}} is one record\n'
        )[1:-1]
        self.blobs: list[str] = []
        for _ in range(24):
            self.blobs.append("".join(rng.choices(self.pieces, k=260)))  # ~16 kB each
        self.b64 = "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=262144))

    def make(self, rng: random.Random, n: int) -> str:
        """About n characters, at least one piece"""
        out = []
        while n > 20000:
            b = self.blobs[int(rng.random() * 24)]
            out.append(b)
            n -= len(b)
        while n > 0:
            p = self.pieces[int(rng.random() * 4096)]
            out.append(p)
            n -= len(p)
        return "".join(out) or "ok"

    def base64(self, rng: random.Random, n: int) -> str:
        o = int(rng.random() * 1000)
        s = self.b64[o : o + n]
        while len(s) < n:
            s += self.b64[: n - len(s)]
        return s


def size_tool(rng: random.Random) -> int:
    """Size of one tool output: median ~1 kB, heavy tail"""
    r = rng.random()
    if r < 0.0025:
        return rng.randint(200_000, 1_000_000)
    if r < 0.02:
        return rng.randint(20_000, 80_000)
    return min(20_000, int(rng.lognormvariate(6.7, 1.25)) + 20)


class Account:
    def __init__(self, name):
        self.name = name
        self.calls = {}  # message id -> (model, ms, in, out, cc, cr, session)
        self.n = dict(
            files=0,
            bytes=0,
            lines=0,
            assistant_lines=0,
            stream_dups=0,
            resume_dups=0,
            sidechain_replays=0,
            progress_mirrors=0,
            malformed=0,
            truncated_last=0,
            crlf_files=0,
            bom_files=0,
            invalid_utf8_lines=0,
            lone_surrogate_lines=0,
            no_request_id_calls=0,
            synthetic=0,
            long_lines_200k=0,
            traps=0,
            subagent_files=0,
        )


class ClaudeSession:
    def __init__(self, acct, rng, text, cwd, start_ms, target):
        self.a, self.rng, self.text = acct, rng, text
        self.sid = uuid4(rng)
        self.cwd, self.ms, self.target = cwd, start_ms, target
        self.version = VERSIONS[int(rng.random() * len(VERSIONS))]
        self.model = pick(rng, CLAUDE_MODELS)
        self.parent = None
        self.no_req = rng.random() < 0.02
        self.lines: list[str] = []  # of this file
        self.size = 0
        self.cache = rng.randint(12_000, 20_000)
        self.history: list[tuple] = []  # (kind, data) for resume copies
        self.cwd_j = json.dumps(cwd)
        self.side = False
        self.agent = None
        self.copied: set[str] = set()  # calls that are whole in another file
        self.branch = rng.choice(["main", "main", "feat/quota-window", "fix/ünïcode", "HEAD"])
        self.set_head()

    def set_head(self):
        ag = f'"agentId":"{self.agent}",' if self.agent else ""
        self.new = self.version in NEW_LAYOUT
        side = f'"isSidechain":{"true" if self.side else "false"},'
        if self.new:
            self.head = side + ag
            self.tail = (
                f',"userType":"external","entrypoint":"cli","cwd":{self.cwd_j},"sessionId":"{self.sid}",'
                f'"version":"{self.version}","gitBranch":{json.dumps(self.branch)}'
            )
        else:
            self.head = (
                side + f'"userType":"external","cwd":{self.cwd_j},'
                f'"sessionId":"{self.sid}","version":"{self.version}",{ag}"gitBranch":{json.dumps(self.branch)},'
            )
            self.tail = ""

    def put(self, s: str):
        self.lines.append(s)
        self.size += len(s) + 1
        if len(s) > 200_000:
            self.a.n["long_lines_200k"] += 1

    def tick(self, lo, hi):
        self.ms += self.rng.randint(lo, hi)
        return iso(self.ms)

    def par(self):
        return f'"{self.parent}"' if self.parent else "null"

    def user_prompt(self):
        rng = self.rng
        u = uuid4(rng)
        t = self.tick(8_000, 240_000)
        body = self.text.make(rng, int(rng.lognormvariate(5.2, 1.0)))
        self.put(
            f'{{"parentUuid":{self.par()},{self.head}"type":"user","message":{{"role":"user","content":"{body}"}},"uuid":"{u}","timestamp":"{t}"{self.tail}}}'
        )
        self.parent = u

    def usage(self, inp, cc, cr, out):
        m5 = 0 if cc % 2 else cc
        if self.new:
            return (
                f'{{"input_tokens":{inp},"cache_creation_input_tokens":{cc},"cache_read_input_tokens":{cr},"output_tokens":{out},'
                f'"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard",'
                f'"cache_creation":{{"ephemeral_1h_input_tokens":{cc - m5},"ephemeral_5m_input_tokens":{m5}}},"inference_geo":"","iterations":[],"speed":"standard"}}'
            )
        return (
            f'{{"input_tokens":{inp},"cache_creation_input_tokens":{cc},"cache_read_input_tokens":{cr},'
            f'"cache_creation":{{"ephemeral_5m_input_tokens":{m5},"ephemeral_1h_input_tokens":{cc - m5}}},'
            f'"output_tokens":{out},"service_tier":"standard"}}'
        )

    def assistant(self):
        """One API call: 1-4 lines; returns the tool calls [(id, name)]"""
        rng, text, n = self.rng, self.text, self.a.n
        mid = "msg_01" + b62(rng, 22)
        req = None if self.no_req else "req_011C" + b62(rng, 20)
        r = rng.random()
        blocks = []
        tools = []
        if r < 0.33:
            th = text.make(rng, int(rng.lognormvariate(5.6, 0.8)))
            blocks.append(
                f'{{"type":"thinking","thinking":"{th}","signature":"{text.base64(rng, 4 * rng.randint(60, 400))}"}}'
            )
        if r < 0.22 or r > 0.68:
            blocks.append(f'{{"type":"text","text":"{text.make(rng, int(rng.lognormvariate(5.6, 1.1)))}"}}')
        if r < 0.82:
            for _ in range(1 if rng.random() < 0.85 else rng.randint(2, 4)):
                tid = "toolu_01" + b62(rng, 22)
                name = TOOLS[min(int(rng.expovariate(0.55)), len(TOOLS) - 1)]
                if name in ("Write", "Edit"):
                    x = text.make(rng, int(rng.lognormvariate(6.4, 1.2)))
                    inp = f'{{"file_path":"{self.cwd}/src/{rng.choice(WORDS)}.py","old_string":"{text.make(rng, 120)}","new_string":"{x}"}}'
                elif rng.random() < 0.004:
                    inp = '{"schema":{"type":"assistant","usage":{"input_tokens":99999999,"output_tokens":99999999},"id":"msg_trap"}}'
                    n["traps"] += 1
                else:
                    inp = (
                        f'{{"command":"{text.make(rng, 60)}","description":"{rng.choice(WORDS)} {rng.choice(WORDS)}"}}'
                    )
                blocks.append(f'{{"type":"tool_use","id":"{tid}","name":"{name}","input":{inp}}}')
                tools.append((tid, name))
        if not blocks:
            blocks.append(f'{{"type":"text","text":"{text.make(rng, 80)}"}}')
        inp_t = rng.randint(1, 12)
        cc = int(rng.lognormvariate(6.8, 1.0))
        cr = self.cache
        self.cache = min(self.cache + cc, 190_000)
        if self.cache >= 190_000:
            self.cache = rng.randint(20_000, 40_000)
        out = max(8, int(rng.lognormvariate(5.3, 1.1)))
        final = '"tool_use"' if tools else '"end_turn"'
        last = len(blocks) - 1
        # some CLIs write the same block twice with a growing count
        emitted = []
        for i, b in enumerate(blocks):
            emitted.append((b, i == last))
            if i < last and rng.random() < 0.10:
                emitted.append((b, False))
        first_ms = None
        best = None
        lines = []
        for b, fin in emitted:
            u = uuid4(rng)
            t = self.tick(300, 6_000)
            if first_ms is None:
                first_ms = self.ms
            o = out if fin else rng.randint(1, min(9, out))
            stop = final if fin else "null"
            us = self.usage(inp_t, cc, cr, o)
            rq = f'"requestId":"{req}",' if req else ""
            ids = (
                f'"id":"{mid}","type":"message","role":"assistant","model":"{self.model}"'
                if self.new
                else f'"model":"{self.model}","id":"{mid}","type":"message","role":"assistant"'
            )
            sd = ',"stop_details":null' if self.new else ""
            s = (
                f'{{"parentUuid":{self.par()},{self.head}"message":{{{ids},'
                f'"content":[{b}],"stop_reason":{stop},"stop_sequence":null,"usage":{us}{sd}}},{rq}"type":"assistant","uuid":"{u}","timestamp":"{t}"{self.tail}}}'
            )
            lines.append(s)
            self.put(s)
            self.parent = u
            best = o if best is None else max(best, o)
        n["assistant_lines"] += len(emitted)
        n["stream_dups"] += len(emitted) - 1
        if req is None:
            n["no_request_id_calls"] += 1
        self.a.calls[mid] = [self.model, first_ms, inp_t, best, cc, cr, self.sid]
        self.history.append((mid, lines))
        return tools, mid, lines

    def tool_results(self, tools):
        rng, text, n = self.rng, self.text, self.a.n
        for tid, name in tools:
            u = uuid4(rng)
            t = self.tick(50, 20_000)
            size = size_tool(rng)
            if name == "Read":
                if rng.random() < 0.02:
                    b = text.base64(rng, min(1_200_000, size * 8 + 30_000))
                    body = f'[{{"type":"image","source":{{"type":"base64","data":"{b}","media_type":"image/png"}}}}]'
                    tur = f'{{"type":"image","file":{{"base64":"{b[:2000]}","type":"image/png","originalSize":{len(b)}}}}}'
                else:
                    x = text.make(rng, size)
                    body = f'"{x}"'
                    tur = f'{{"type":"text","file":{{"filePath":"{self.cwd}/src/a.py","content":"{x}","numLines":120,"startLine":1,"totalLines":120}}}}'
            elif name in ("Edit", "Write"):
                orig = text.make(rng, min(60_000, size * 4))
                body = f'"The file {self.cwd}/src/a.py has been updated."'
                tur = (
                    f'{{"filePath":"{self.cwd}/src/a.py","oldString":"{text.make(rng, 120)}","newString":"{text.make(rng, 200)}",'
                    f'"originalFile":"{orig}","structuredPatch":[{{"oldStart":1,"oldLines":7,"newStart":1,"newLines":8,"lines":["{text.make(rng, 60)}"]}}],"userModified":false,"replaceAll":false}}'
                )
            elif name == "Task":
                x = text.make(rng, min(size, 8000))
                body = f'[{{"type":"text","text":"{x}"}}]'
                # a structural usage object in a USER record: not an API call
                tur = (
                    f'{{"status":"completed","prompt":"{text.make(rng, 200)}","content":[{{"type":"text","text":"{x}"}}],"totalDurationMs":81234,'
                    f'"totalTokens":60000,"totalToolUseCount":12,"usage":{{"input_tokens":5,"cache_creation_input_tokens":777,"cache_read_input_tokens":55555,"output_tokens":4321,"service_tier":"standard"}}}}'
                )
                n["traps"] += 1
            else:
                x = text.make(rng, size)
                body = f'"{x}"'
                tur = f'{{"stdout":"{x}","stderr":"","interrupted":false,"isImage":false}}'
            self.put(
                f'{{"parentUuid":{self.par()},{self.head}"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{tid}","type":"tool_result","content":{body},"is_error":false}}]}},'
                f'"uuid":"{u}","timestamp":"{t}","toolUseResult":{tur}{self.tail}}}'
            )
            self.parent = u

    def misc(self):
        rng, text, n = self.rng, self.text, self.a.n
        r = rng.random()
        t = iso(self.ms)
        u = uuid4(rng)
        if self.new and rng.random() < 0.35:
            self.put(
                f'{{"parentUuid":{self.par()},{self.head}"attachment":{{"type":"file","filename":"{self.cwd}/a.py","content":{{"type":"text","file":{{"filePath":"a.py","content":"{text.make(rng, 1500)}","numLines":9,"startLine":1,"totalLines":9}}}},"displayPath":"a.py"}},"type":"attachment","uuid":"{u}","timestamp":"{t}"{self.tail}}}'
            )
            self.parent = u
        elif r < 0.30:
            files = ",".join(
                f'"src/{rng.choice(WORDS)}{i}.py":{{"backupFileName":"{rng.getrandbits(64):016x}@v{i}","version":{i},"backupTime":"{t}"}}'
                for i in range(rng.randint(1, 40))
            )
            self.put(
                f'{{"type":"file-history-snapshot","messageId":"{u}","snapshot":{{"messageId":"{u}","trackedFileBackups":{{{files}}},"timestamp":"{t}"}},"isSnapshotUpdate":false}}'
            )
        elif r < 0.50:
            self.put(
                f'{{"parentUuid":{self.par()},{self.head}"type":"system","subtype":"turn_duration","durationMs":{rng.randint(1000, 900000)},"timestamp":"{t}","uuid":"{u}","isMeta":false{self.tail}}}'
            )
            self.parent = u
        elif r < 0.60:
            self.put(
                f'{{"parentUuid":null,"logicalParentUuid":{self.par()},{self.head}"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"{t}","uuid":"{u}","level":"info","compactMetadata":{{"trigger":"auto","preTokens":{rng.randint(100000, 180000)}}}{self.tail}}}'
            )
            self.parent = u
        elif r < 0.75:
            self.put(
                f'{{"type":"queue-operation","operation":"enqueue","timestamp":"{t}","sessionId":"{self.sid}","content":"{text.make(rng, 80)}"}}'
            )
        elif r < 0.85:
            self.put(f'{{"type":"summary","summary":"{text.make(rng, 40)}","leafUuid":"{u}"}}')
        elif r < 0.97:
            self.put(
                f'{{"parentUuid":{self.par()},{self.head}"type":"progress","data":{{"type":"hook_progress","hookEvent":"PostToolUse","hookName":"PostToolUse:Bash","command":"fmt"}},"toolUseID":"toolu_01{b62(rng, 22)}","timestamp":"{t}","uuid":"{u}"{self.tail}}}'
            )
        else:
            self.put(
                f'{{"parentUuid":{self.par()},{self.head}"type":"assistant","uuid":"{u}","timestamp":"{t}","message":{{"id":"{uuid4(rng)}","model":"<synthetic>","role":"assistant","stop_reason":"stop_sequence","stop_sequence":"","type":"message","usage":{{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":null}},"content":[{{"type":"text","text":"Claude AI usage limit reached|{self.ms // 1000 + 7200}"}}]}},"isApiErrorMessage":true{self.tail}}}'
            )
            n["synthetic"] += 1
            self.parent = u

    def exchange(self):
        rng = self.rng
        self.user_prompt()
        for _ in range(1 + int(rng.expovariate(0.18))):
            tools, mid, lines = self.assistant()
            self.tool_results(tools)
            if rng.random() < 0.10:
                self.misc()
            if self.size >= self.target:
                return

    def resume_copy_from(self, other, k):
        """A resumed session: the last k calls of another session again, with this sessionId"""
        n = self.a.n
        for mid, lines in other.history[-k:]:
            self.copied.add(mid)
            for s in lines:
                s = s.replace(f'"sessionId":"{other.sid}"', f'"sessionId":"{self.sid}"', 1)
                self.put(s)
                n["assistant_lines"] += 1
                n["resume_dups"] += 1

    def run(self):
        if self.rng.random() < 0.1:
            self.put(f'{{"type":"summary","summary":"{self.text.make(self.rng, 40)}","leafUuid":"{uuid4(self.rng)}"}}')
        while self.size < self.target:
            self.exchange()


def write_file(path, lines, acct, rng, mess=True):
    """Joins the lines, adds the byte-level mess, writes; returns size"""
    n = acct.n
    lines = list(lines)
    crlf = mess and rng.random() < 0.015
    bom = mess and rng.random() < 0.004
    trunc = mess and rng.random() < 0.03
    dirty = mess and rng.random() < 0.02
    sep = b"\r\n" if crlf else b"\n"
    dropped = None
    bl = [s.encode("utf-8", "surrogatepass") for s in lines]
    if dirty and len(bl) > 4:
        k = rng.randrange(1, len(bl) - 1)
        what = rng.randrange(5)
        if what == 0:  # invalid UTF-8 inside a string of that record (the record still counts)
            i = bl[k].rfind(b'"timestamp"')
            if i > 0:
                bl[k] = bl[k][:i] + b'"x":"\xff\xfe\xc3(",' + bl[k][i:]
                n["invalid_utf8_lines"] += 1
        elif what == 1:  # lone surrogate escape, as JSON.stringify writes half an emoji
            i = bl[k].rfind(b'"timestamp"')
            if i > 0:
                bl[k] = bl[k][:i] + b'"y":"cut emoji \\ud83d",' + bl[k][i:]
                n["lone_surrogate_lines"] += 1
        elif what == 2:
            bl.insert(k, b'{"type":"assistant","message":{"id":"msg_broken","usage":{"input_tokens":1,')
            n["malformed"] += 1
        elif what == 3:
            bl.insert(k, b"\x00" * rng.randint(16, 4096))
            n["malformed"] += 1
        else:
            bl.insert(k, b"")
            bl.insert(k, b"undefined")
            n["malformed"] += 1
    data = sep.join(bl) + sep
    if trunc and len(bl) > 2 and len(bl[-1]) > 60:
        cut = rng.randint(20, len(bl[-1]) - 20)
        data = data[: len(data) - len(sep) - cut]
        dropped = lines[-1]
        n["truncated_last"] += 1
    if bom:
        data = b"\xef\xbb\xbf" + data
        n["bom_files"] += 1
    if crlf:
        n["crlf_files"] += 1
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    n["files"] += 1
    n["bytes"] += len(data)
    n["lines"] += len(bl)
    return len(data), dropped


def between(s, a, b):
    i = s.find(a)
    if i < 0:
        return None
    i += len(a)
    return s[i : s.find(b, i)]


def fix_dropped(acct, dropped, lines, kept_elsewhere):
    """The last line was cut: if it carried a call's final count, the truth is what is still readable"""
    if not dropped or '"type":"assistant","uuid"' not in dropped:
        return
    mid = between(dropped, '"id":"msg_', '"')
    if not mid:
        return
    mid = "msg_" + mid
    if mid not in acct.calls or mid in kept_elsewhere:
        return
    best = None
    for s in lines[:-1][-12:]:
        if f'"id":"{mid}"' in s and '"type":"assistant","uuid"' in s:
            o = int(s.rsplit('"output_tokens":', 1)[1].split(",", 1)[0].rstrip("}"))
            best = o if best is None else max(best, o)
    if best is None:
        del acct.calls[mid]
    else:
        acct.calls[mid][3] = best


def esc_cwd(cwd):
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in cwd)


def target_sizes(total, rng, mean=None, nfiles=None):
    n = nfiles or max(1, round(total / PROFILE_MEAN))
    raw = []
    for i in range(n):
        p = (i + 0.5) / n
        for (p0, s0), (p1, s1) in zip(QUANTILES, QUANTILES[1:]):
            if p <= p1:
                raw.append(s0 + (s1 - s0) * (p - p0) / (p1 - p0))
                break
    k = total / sum(raw)
    out = [max(600, int(x * k)) for x in raw]
    rng.shuffle(out)
    return out


def gen_claude(root, acct, rng, text, total, start_ms, days, nproj, nfiles=None):
    cwds = []
    for i in range(nproj):
        base = rng.choice(["/home/dev/work", "/home/dev/src", "/Users/dev/Code", "/home/dev/work/my_app.v2"])
        cwds.append(f"{base}/{rng.choice(WORDS)}-{rng.choice(WORDS)}{i}")
    sizes = target_sizes(total, rng, nfiles=nfiles)
    written = 0
    prev = None
    for size in sizes:
        if written >= total and not nfiles:
            break
        cwd = cwds[min(int(rng.expovariate(3.0 / nproj)), nproj - 1)]
        day = int(rng.random() * days)
        start = start_ms + day * 86_400_000 + int(rng.gauss(14, 4) % 24 * 3_600_000)
        s = ClaudeSession(acct, rng, text, cwd, start, size)
        resumed = None
        if prev is not None and prev.history and rng.random() < 0.06:
            s.cwd, s.cwd_j = prev.cwd, prev.cwd_j
            s.set_head()
            s.resume_copy_from(prev, rng.randint(1, 20))
            resumed = prev
        s.run()
        pdir = os.path.join(root, "projects", esc_cwd(s.cwd))
        # subagents
        sub_written = 0
        replayed = set()
        if size > 60_000 and rng.random() < 0.25:
            for _ in range(rng.randint(1, 3)):
                a = ClaudeSession(acct, rng, text, s.cwd, s.ms - 60_000, min(size // 6, 400_000))
                a.sid, a.side, a.agent, a.model = s.sid, True, f"{rng.getrandbits(32):08x}", "claude-haiku-4-5-20251001"
                a.no_req = s.no_req
                a.set_head()
                if s.history and rng.random() < 0.5:  # replay of a parent message under another requestId
                    mid, ls = s.history[int(rng.random() * len(s.history))]
                    x = ls[-1].replace('"isSidechain":false', '"isSidechain":true', 1)
                    i = x.find('"requestId":"')
                    if i > 0:
                        x = x[:i] + f'"requestId":"req_011C{b62(rng, 20)}"' + x[x.find('",', i) + 1 :]
                    a.put(x)
                    replayed.add(mid)
                    acct.n["assistant_lines"] += 1
                    acct.n["sidechain_replays"] += 1
                a.run()
                # the parent file mirrors some of them as progress records
                for mid, ls in a.history[::3]:
                    x = ls[0]
                    i = x.find('"message":{')
                    msg = x[i:]
                    j = msg.rfind(',"type":"assistant","uuid":"')
                    inner = msg[:j]
                    t = iso(a.ms)
                    s.put(
                        f'{{"parentUuid":{s.par()},{s.head}"type":"progress","data":{{"type":"agent_progress","message":{{"type":"assistant","timestamp":"{t}",{inner},"uuid":"{uuid4(rng)}"}},"normalizedMessages":[],"agentId":"{a.agent}"}},"toolUseID":"agent_{mid}","timestamp":"{t}","uuid":"{uuid4(rng)}"{s.tail}}}'
                    )
                    acct.n["progress_mirrors"] += 1
                p = os.path.join(pdir, s.sid, "subagents", f"agent-{a.agent}.jsonl")
                w, _ = write_file(p, a.lines, acct, rng, mess=False)
                acct.n["subagent_files"] += 1
                sub_written += w
        w, dropped = write_file(os.path.join(pdir, s.sid + ".jsonl"), s.lines, acct, rng)
        fix_dropped(acct, dropped, s.lines, replayed | s.copied)
        written += w + sub_written
        if dropped is None:
            prev = s
            if len(prev.history) > 40:
                prev.history = prev.history[-40:]
            prev.lines = []
    return written


class CodexAcct(Account):
    def __init__(self, name):
        super().__init__(name)
        self.sessions = {}  # sid -> dict(model->[in,cached,out,reason,total,n])
        self.n = dict(
            files=0,
            bytes=0,
            lines=0,
            token_counts=0,
            reemits=0,
            null_info=0,
            fork_replays=0,
            fork_by_reference=0,
            token_usage_records=0,
            turns=0,
            malformed=0,
            truncated_last=0,
            crlf_files=0,
            bom_files=0,
            invalid_utf8_lines=0,
            lone_surrogate_lines=0,
            long_lines_200k=0,
        )
        self.p5, self.p5_reset, self.pw, self.pw_reset = 0.0, 0, 0.0, 0
        self.days = {}

    def limits(self, ms, tok):
        s = ms // 1000
        if s >= self.p5_reset or s < self.p5_reset - 18000:
            self.p5, self.p5_reset = 0.0, s + 18000
        if s >= self.pw_reset or s < self.pw_reset - 604800:
            self.pw, self.pw_reset = 0.0, s + 604800
        self.p5 = min(100.0, self.p5 + tok / 4e6)
        self.pw = min(100.0, self.pw + tok / 4e7)
        return (
            f'{{"limit_id":"codex","limit_name":null,"primary":{{"used_percent":{self.p5:.1f},"window_minutes":300,"resets_at":{self.p5_reset}}},'
            f'"secondary":{{"used_percent":{self.pw:.1f},"window_minutes":10080,"resets_at":{self.pw_reset}}},"credits":null,"plan_type":"pro"}}'
        )


def tu(v):
    return f'{{"input_tokens":{v[0]},"cached_input_tokens":{v[1]},"output_tokens":{v[2]},"reasoning_output_tokens":{v[3]},"total_tokens":{v[0] + v[2]}}}'


def gen_codex(root, acct, rng, text, total, start_ms, days, nfiles=None):
    sizes = target_sizes(total, rng, nfiles=nfiles)
    base_instr = text.make(rng, 14_000)
    long_instr = text.make(rng, 40_000)
    n = acct.n
    written = 0
    starts = sorted(
        start_ms
        + int(rng.random() * days) * 86_400_000
        + int(rng.gauss(14, 4) % 24 * 3_600_000)
        + rng.randrange(60_000)
        for _ in sizes
    )
    prev = None
    for size, ms in zip(sizes, starts):
        if written >= total and not nfiles:
            break
        t0 = ms
        sid = uuid7(rng, ms)
        model = pick(rng, CODEX_MODELS)
        cwd = f"/home/dev/work/{rng.choice(WORDS)}-{rng.choice(WORDS)}"
        L = []
        sz = 0
        newfmt = (
            rng.random() < 0.5
        )  # 0.16x: ordinals, token_usage_record, forks refer to the parent instead of replaying it
        ver = "0.169.0" if newfmt else "0.91.0"
        base_ord = 0

        def put(s):
            nonlocal sz
            if newfmt:
                i = s.index(",") + 1
                s = f'{s[:i]}"ordinal":{base_ord + len(L)},{s[i:]}'
            L.append(s)
            sz += len(s) + 1
            if len(s) > 200_000:
                n["long_lines_200k"] += 1

        tot = [0, 0, 0, 0]
        sess = acct.sessions.setdefault(sid, {})
        fork = prev is not None and rng.random() < 0.05 and prev[1]
        if fork and newfmt:
            base_ord = rng.randint(20, 400)
        src = f'{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{prev[0]}","depth":1}}}}}}' if fork else '"cli"'
        fk = f'"forked_from_id":"{prev[0]}",' if fork else ""
        put(
            f'{{"timestamp":"{iso(ms)}","type":"session_meta","payload":{{"id":"{sid}",{fk}"timestamp":"{iso(ms)}","cwd":"{cwd}","originator":"codex_cli_rs","cli_version":"{ver}","source":{src},"model_provider":"openai","base_instructions":{{"text":"{base_instr}"}},"git":{{"commit_hash":"{rng.getrandbits(160):040x}","branch":"main"}}}}}}'
        )
        if fork and newfmt:
            tot = list(prev[1][-1][0])  # the counter goes on from the parent's
            n["fork_by_reference"] += 1
        elif fork:
            for v, last in prev[1][-30:]:
                put(
                    f'{{"timestamp":"{iso(ms + 3)}","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{tu(v)},"last_token_usage":{tu(last)},"model_context_window":258400}},"rate_limits":{acct.limits(ms, 0)}}}}}'
                )
                n["fork_replays"] += 1
                n["token_counts"] += 1
                tot = list(v)
        hist = []
        ctx = rng.randint(9_000, 14_000)
        turn = sid
        while sz < size:
            ms += rng.randint(5_000, 300_000)
            turn = uuid7(rng, ms)
            ins = long_instr if rng.random() < 0.1 else base_instr[:1800].rsplit(" ", 1)[0].rstrip("\\")
            put(
                f'{{"timestamp":"{iso(ms)}","type":"turn_context","payload":{{"turn_id":"{turn}","cwd":"{cwd}","approval_policy":"never","sandbox_policy":{{"type":"danger-full-access"}},"model":"{model}","effort":"high","summary":"auto","user_instructions":"{ins}"}}}}'
            )
            up = text.make(rng, int(rng.lognormvariate(5.2, 1.0)))
            put(
                f'{{"timestamp":"{iso(ms)}","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{up}"}}]}}}}'
            )
            put(
                f'{{"timestamp":"{iso(ms)}","type":"event_msg","payload":{{"type":"user_message","message":"{up}","images":[]}}}}'
            )
            n["turns"] += 1
            for _ in range(1 + int(rng.expovariate(0.12))):
                ms += rng.randint(1_500, 15_000)
                t = iso(ms)
                put(
                    f'{{"timestamp":"{t}","type":"response_item","payload":{{"type":"reasoning","summary":[{{"type":"summary_text","text":"**{rng.choice(WORDS)}**"}}],"content":null,"encrypted_content":"gAAAA{text.base64(rng, 4 * rng.randint(150, 900))}"}}}}'
                )
                if rng.random() < 0.8:
                    cid = "call_" + b62(rng, 22)
                    put(
                        f'{{"timestamp":"{t}","type":"response_item","payload":{{"type":"function_call","name":"shell_command","arguments":"{{\\"command\\":\\"rg -n {rng.choice(WORDS)} src\\",\\"workdir\\":\\"{cwd}\\"}}","call_id":"{cid}"}}}}'
                    )
                    ms += rng.randint(30, 9_000)
                    put(
                        f'{{"timestamp":"{iso(ms)}","type":"response_item","payload":{{"type":"function_call_output","call_id":"{cid}","output":"Exit code: 0\\nWall time: 0.1 seconds\\nOutput:\\n{text.make(rng, size_tool(rng))}"}}}}'
                    )
                else:
                    am = text.make(rng, 300)
                    put(
                        f'{{"timestamp":"{t}","type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{am}"}}]}}}}'
                    )
                    put(
                        f'{{"timestamp":"{t}","type":"event_msg","payload":{{"type":"agent_message","message":"{am}"}}}}'
                    )
                ctx = min(ctx + rng.randint(200, 4_000), 240_000)
                out = max(5, int(rng.lognormvariate(5.2, 1.0)))
                rea = int(out * rng.random() * 0.7)
                cached = int(ctx * rng.uniform(0.7, 0.99))
                last = [ctx, cached, out, rea]
                tot = [x + y for x, y in zip(tot, last)]
                ms += 5
                lim = acct.limits(ms, ctx + out)
                line = f'"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{tu(tot)},"last_token_usage":{tu(last)},"model_context_window":258400}},"rate_limits":{lim}}}}}'
                if newfmt:
                    put(
                        f'{{"timestamp":"{iso(ms - 1)}","type":"token_usage_record","payload":{{"thread_id":"{sid}","turn_id":"{turn}","session_id":"{sid}","root_turn_id":"{turn}","response_id":"resp_{b62(rng, 24)}","usage":{tu(last)},"turn_token_usage":{tu(last)},"thread_token_usage":{tu(tot)}}}}}'
                    )
                    n["token_usage_records"] += 1
                put(f'{{"timestamp":"{iso(ms)}",{line}')
                n["token_counts"] += 1
                m = sess.setdefault(model, [0, 0, 0, 0, 0, 0])
                for i in range(4):
                    m[i] += last[i]
                m[4] += last[0] + last[2]
                m[5] += 1
                hist.append((list(tot), last))
                while rng.random() < 0.30:  # re-emit, same totals, new timestamp
                    ms += rng.randint(200, 3_000)
                    put(f'{{"timestamp":"{iso(ms)}",{line}')
                    n["token_counts"] += 1
                    n["reemits"] += 1
                if rng.random() < 0.03:
                    put(
                        f'{{"timestamp":"{iso(ms)}","type":"event_msg","payload":{{"type":"token_count","info":null,"rate_limits":{acct.limits(ms, 0)}}}}}'
                    )
                    n["token_counts"] += 1
                    n["null_info"] += 1
                if sz >= size:
                    break
            if ctx >= 239_000:
                ctx = rng.randint(15_000, 30_000)
                put(
                    f'{{"timestamp":"{iso(ms)}","type":"compacted","payload":{{"message":"","replacement_history":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text.make(rng, 320_000)}"}}]}}]}}}}'
                )
        # end every file with a non-counting line so that a cut last line never eats a counter
        put(
            f'{{"timestamp":"{iso(ms)}","type":"event_msg","payload":{{"type":"task_complete","turn_id":"{turn}","last_agent_message":"{text.make(rng, 100)}"}}}}'
        )
        d = time.gmtime(t0 // 1000)
        name = time.strftime("rollout-%Y-%m-%dT%H-%M-%S-", d) + sid + ".jsonl"
        p = os.path.join(root, "sessions", time.strftime("%Y", d), time.strftime("%m", d), time.strftime("%d", d), name)
        w, _ = write_file(p, L, acct, rng)
        written += w
        prev = (sid, hist)
    return written


def parse_size(s):
    u = {"k": 1000, "m": 10**6, "g": 10**9, "kb": 1000, "mb": 10**6, "gb": 10**9}
    s = s.lower().strip()
    num = s.rstrip("kmgb")
    return int(float(num) * u.get(s[len(num) :] or "", 1))


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", required=True)
    ap.add_argument("--size", default="100MB", help="total bytes, e.g. 5MB, 100MB, 1GB")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--codex-share", type=float, default=0.35)
    ap.add_argument("--claude-accounts", type=int, default=1)
    ap.add_argument("--codex-accounts", type=int, default=1)
    ap.add_argument("--projects", type=int, default=0, help="Claude projects per account (0: about files/12)")
    ap.add_argument(
        "--files", type=int, default=0, help="force this number of session files in all (0: by the size profile)"
    )
    ap.add_argument("--start", default="2026-10-01")
    ap.add_argument("--days", type=int, default=30)
    ap.add_argument(
        "--mtimes", action="store_true", help="set file mtimes from the last timestamp's day (deterministic)"
    )
    a = ap.parse_args(argv)
    total = parse_size(a.size)
    start_ms = int(dt.datetime.fromisoformat(a.start).replace(tzinfo=dt.UTC).timestamp() * 1000)
    rng = random.Random(a.seed)
    text = Text(rng)
    t0 = time.time()
    truth = {"seed": a.seed, "size": total, "claude": {}, "codex": {}}
    for i in range(a.claude_accounts):
        name = "claude" + (str(i + 1) if i else "")
        acct = Account(name)
        share = total * (1 - a.codex_share) / max(1, a.claude_accounts)
        nf = int(a.files * (1 - a.codex_share) / a.claude_accounts) if a.files else None
        nproj = a.projects or max(3, int((nf or share / PROFILE_MEAN) / 12))
        gen_claude(
            os.path.join(a.out, name), acct, random.Random(a.seed * 1000 + i), text, share, start_ms, a.days, nproj, nf
        )
        days, models, sess = {}, {}, set()
        for mid, (m, ms, inp, out, cc, cr, sid) in acct.calls.items():
            for d, k in ((days, iso(ms)[:10]), (models, m)):
                v = d.setdefault(k, [0, 0, 0, 0, 0])
                v[0] += 1
                v[1] += inp
                v[2] += out
                v[3] += cc
                v[4] += cr
            sess.add(sid)
        truth["claude"][name] = {
            "calls": len(acct.calls),
            "input": sum(c[2] for c in acct.calls.values()),
            "output": sum(c[3] for c in acct.calls.values()),
            "cache_creation": sum(c[4] for c in acct.calls.values()),
            "cache_read": sum(c[5] for c in acct.calls.values()),
            "by_day_utc": dict(sorted(days.items())),
            "by_model": dict(sorted(models.items())),
            "counts": acct.n,
        }
    for i in range(a.codex_accounts if a.codex_share > 0 else 0):
        name = "codex" + (str(i + 1) if i else "")
        acct = CodexAcct(name)
        share = total * a.codex_share / max(1, a.codex_accounts)
        nf = int(a.files * a.codex_share / a.codex_accounts) if a.files else None
        gen_codex(os.path.join(a.out, name), acct, random.Random(a.seed * 2000 + i), text, share, start_ms, a.days, nf)
        models = {}
        for s in acct.sessions.values():
            for m, v in s.items():
                w = models.setdefault(m, [0] * 6)
                for j in range(6):
                    w[j] += v[j]
        truth["codex"][name] = {
            "sessions": len(acct.sessions),
            "calls": sum(v[5] for v in models.values()),
            "input": sum(v[0] for v in models.values()),
            "cached": sum(v[1] for v in models.values()),
            "output": sum(v[2] for v in models.values()),
            "reasoning": sum(v[3] for v in models.values()),
            "by_model": dict(sorted(models.items())),
            "counts": acct.n,
        }
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.out, "truth.json"), "w") as f:
        json.dump(truth, f, indent=1, sort_keys=True)
        f.write("\n")
    if a.mtimes:
        base = start_ms / 1000
        for d, _, fs in sorted(os.walk(a.out)):
            for fn in sorted(fs):
                if fn.endswith(".jsonl"):
                    os.utime(os.path.join(d, fn), (base, base))
    b = sum(x["counts"]["bytes"] for k in ("claude", "codex") for x in truth[k].values())
    nfl = sum(x["counts"]["files"] for k in ("claude", "codex") for x in truth[k].values())
    print(f"{nfl} files, {b / 1e6:.1f} MB in {time.time() - t0:.1f}s -> {a.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
