"""The live follower beside ten thousand transcripts: from an append to what is stored, and what waiting costs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from measure import BenchBroken, Series
from report import Limit, Result
from world import World

# The goals: milliseconds from an event to what is stored, and the share of a core of a follower that waits.
_STORED_MS, _IDLE_PERCENT = 15.0, 1.0

# In a process of its own: nothing else may take its processor time. The event is taken where the watch tells of it.
_FOLLOW = """
import json, sys, threading, time
from pathlib import Path
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.events import Listeners
from oulipoly_engine.service.following.folder_watch import FolderWatch
from oulipoly_engine.service.following.follow import Follower, Following
from oulipoly_engine.service.following.plan import plan
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import open_store
folder, files, appends, idle_s = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
base = folder / "projects"
def line(name):
    message = {"id": "msg_" + name, "model": "m", "content": [{"type": "text", "text": "x" * 600}],
               "usage": {"input_tokens": 1, "output_tokens": 1}}
    value = {"type": "assistant", "uuid": name, "timestamp": "2026-04-17T08:00:00.000Z", "sessionId": "S" + name[:5],
             "message": message}
    return json.dumps(value, separators=(",", ":")) + "\\n"
for number in range(files):
    path = base / f"p{number % 500}" / f"{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line(f"old{number}"))
scripts = {"a": SessionScripts(f"claude-code-turns '{base}'")}
told_at, arrived = [], threading.Condition()
def note(event):
    with arrived:
        told_at.append((time.perf_counter(), event.new_turns))
        arrived.notify_all()
listeners = Listeners()
listeners.subscribe(note)
noticed = []
real = FolderWatch._look_at_path
def told(self, path):
    noticed.append(time.perf_counter())
    return real(self, path)
FolderWatch._look_at_path = told
store = open_store(folder / "state.db")
def begin():
    ingester = Ingester(store, scripts, SystemClock(), folder, {}, folder / "sessions", folder / "locks",
                        listeners=listeners)
    return Following(store, ingester, plan({}, scripts, folder, {}))
begun = time.perf_counter()
follower = Follower(begin, SystemClock())
assert follower.ready.wait(600)
up = time.perf_counter() - begun
def stored_of(count):
    deadline = time.monotonic() + 30
    with arrived:
        while sum(new for _, new in told_at) < count:
            assert arrived.wait(deadline - time.monotonic()), "an append was never stored"
    return told_at[-1][0]
whole, stored = [], []
for number in range(appends):
    with arrived:
        told_at.clear()
    noticed.clear()
    path = base / f"p{number * 7 % 500}" / f"{number * 7 % files // 500 * 500 + number * 7 % 500}.jsonl"
    at = time.perf_counter()
    with path.open("a") as file:
        file.write(line(f"new{number}"))
    done = stored_of(1)
    whole.append((done - at) * 1000)
    stored.append((done - noticed[0]) * 1000)
    time.sleep(0.03)
time.sleep(1)
with arrived:
    told_at.clear()
at, spent = time.perf_counter(), time.process_time()
for number in range(2000):
    with (base / f"p{number % 10}" / f"{number % 10}.jsonl").open("a") as file:
        file.write(line(f"burst{number}"))
burst = stored_of(2000) - at
time.sleep(1)
spent, at = time.process_time(), time.perf_counter()
time.sleep(idle_s)
idle = 100 * (time.process_time() - spent) / (time.perf_counter() - at)
begun = time.perf_counter()
follower.close()
json.dump({"up_s": up, "whole": whole, "stored": stored, "burst_s": burst, "idle": idle,
           "close_s": time.perf_counter() - begun}, sys.stdout)
"""


def stored(world: World) -> Result:
    """Measure from the kernel's event to the stored entry, one append at a time."""
    told = _followed(world, "follow-stored", appends=world.rounds(200), idle_s=0)
    series, whole = Series(tuple(told["stored"])), sorted(told["whole"])
    facts = {
        "p95 ms": sorted(series.values)[len(series.values) * 95 // 100],
        "append to stored p50 ms": whole[len(whole) // 2],
        "append to stored p95 ms": whole[len(whole) * 95 // 100],
        "burst of 2000 s": told["burst_s"],
        "up with 10,000 files s": told["up_s"],
        "close s": told["close_s"],
    }
    limit = Limit(_STORED_MS)
    return Result("from the event to the stored turn, median", series.median, "ms", limit, series, facts=facts)


def idle(world: World) -> Result:
    """Measure the processor time of a follower to which nothing happens, its regular walks included."""
    told = _followed(world, "follow-idle", appends=3, idle_s=float(world.rounds(60)))
    return Result("a core's share while nothing happens", told["idle"], "%", Limit(_IDLE_PERCENT))


def _followed(world: World, state: str, *, appends: int, idle_s: float) -> dict[str, Any]:
    folder = world.folder / state
    folder.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-c", _FOLLOW, str(folder), "10000", str(appends), str(idle_s)]
    done = subprocess.run(argv, capture_output=True, check=False, env=world.env(state))
    if done.returncode != 0:
        raise BenchBroken(f"the follower failed: {done.stderr.decode(errors='replace')[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
