"""The ledger of API calls over generated transcripts whose true totals are known, beside ccusage over the same files.

The generator is `generate_transcripts.py` beside these rows.
Sets and ccusage are kept in `$AGENT_RUNNER_BENCH_CACHE`, by default below ~/.cache, and made when they are missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from measure import BenchBroken, Series
from report import Limit, Result
from world import World

from oulipoly_engine.records import Record

# The goals, measured on 2 cores: MB/s of one process and of two, MB over the interpreter, seconds a GB, milliseconds.
_COLD_MB_S, _SHARED_MB_S, _MEMORY_MB, _FIRST_S, _WARM_MS = 600.0, 900.0, 60.0, 0.6, 60.0
_SETS: Mapping[str, Sequence[str]] = {
    "1g": ("--size", "1GB", "--seed", "1"),
    "10k": ("--size", "600MB", "--seed", "3", "--files", "9700", "--projects", "190"),
}
_EXACT = [("5MB", seed) for seed in range(1, 9)] + [("60MB", 11), ("100MB", 12)]
_PEER = "ccusage@20.0.24"
_GENERATOR = Path(__file__).resolve().parents[1] / "generate_transcripts.py"
_INSTANT = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)')
_CUTS = 12  # steps in which a set grows

# What is measured, in a process of its own: nothing else may take its memory or its time.
_UPDATE = """
import json, resource, sys, time
from pathlib import Path
def peak(whose=resource.RUSAGE_SELF): return resource.getrusage(whose).ru_maxrss / 1024
def spent():
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
bare = peak()
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.service.ledger.ledger import Ledger, local_burn
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.ledger import calls as rows
from datetime import datetime, timedelta, UTC
root, state, deed = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
class At(SystemClock):
    def now(self): return datetime(2026, 10, 31, tzinfo=UTC)
kinds = (("claude", "projects"), ("codex", "sessions"))
folders = [(cli, folder, below) for cli, below in kinds for folder in sorted(root.glob(cli + "*"))]
sources = tuple(Source(folder.name, cli, folder / below) for cli, folder, below in folders)
told = {"bare": bare}
def recent():
    for source in sources:
        for span in (timedelta(hours=5), timedelta(days=7)):
            local_burn(store, source.account, At().now() - span)
    told["first_s"] = time.perf_counter() - begun
begun, before = time.perf_counter(), spent()
store = open_store(state)
shared_bytes = {"alone": 1 << 60, "shared": 0}.get(deed)
ledger = Ledger(store, sources, At(), shared_bytes=shared_bytes)
done = ledger.update(recent=recent)
told |= {"wall_s": time.perf_counter() - begun, "cpu_s": spent() - before, "peak": peak(), "size": done.size}
told["partners_peak"] = peak(resource.RUSAGE_CHILDREN)
told["sums"] = {source.account: rows.sums(store, source.account, 0) for source in sources}
told["damaged"] = rows.count_damaged_lines(store)
if deed == "warm":
    told["warm"] = []
    for _ in range(int(sys.argv[4])):
        at = time.perf_counter()
        assert ledger.update().bytes_read == 0
        told["warm"].append((time.perf_counter() - at) * 1000)
json.dump(told, sys.stdout)
"""


class _Cost(Record):
    """What a peer's process took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def exact(world: World) -> Result:
    """Compare totals with the truth: cold, shared by two processes, and grown by random cuts, each in a new process."""
    wrong: list[str] = []
    for size, seed in _EXACT[:4] if world.quick else _EXACT:
        root = _made(f"exact-{size}-{seed}", ("--size", size, "--seed", str(seed)))
        for how in ("alone", "shared"):
            wrong += _differences(root, _update(world, root, f"exact-{size}-{seed}-{how}", how), how)
        if size == "5MB":
            wrong += _differences(root, _grown(world, root, seed), "grown")
    if wrong:
        raise BenchBroken("; ".join(wrong[:5]))
    count = 4 if world.quick else len(_EXACT)
    return Result("totals that differ from the truth", 0, "", Limit(0), facts={"sets": count, "steps grown": _CUTS})


def cold(world: World) -> Result:
    """Read 1 GB into an empty state file in one process, taking turns with ccusage."""
    return _cold(world, "alone", "MB/s of one process into SQLite, best; beside ccusage on all cores", _COLD_MB_S)


def shared(world: World) -> Result:
    """Read 1 GB into an empty state file in two processes, taking turns with ccusage."""
    return _cold(world, "shared", "MB/s of two processes into SQLite, best; beside ccusage on all cores", _SHARED_MB_S)


def _cold(world: World, how: str, what: str, least_mb_s: float) -> Result:
    root = _made("1g", _SETS["1g"])
    ours: list[dict[str, Any]] = []
    theirs: list[_Cost] = []
    peer = _peer()
    for entry in range(world.rounds(7)):
        ours.append(_update(world, root, f"cold-{how}-{entry}", how))
        if peer is not None:
            theirs.append(_ccusage(world, peer, root, "daily"))
    wrong = _differences(root, ours[0], how)
    if wrong:
        raise BenchBroken("; ".join(wrong))
    size = ours[0]["size"] / 1e6
    cpu = min(one["cpu_s"] for one in ours)
    facts: dict[str, object] = {
        "MB": round(size),
        "CPU s": cpu,
        "CPU s a GB": cpu / size * 1000,
        "damaged lines": ours[0]["damaged"],
    }
    facts |= _beside(theirs, cpu)
    return Result(
        what,
        size / min(one["wall_s"] for one in ours),
        "MB/s",
        Limit(least_mb_s, is_least=True),
        Series(tuple(one["wall_s"] for one in ours)),
        Series(tuple(one.wall_s for one in theirs)) if theirs else None,
        Series(tuple(one["wall_s"] / other.wall_s for one, other in zip(ours, theirs, strict=True)))
        if theirs
        else None,
        "s",
        facts,
    )


def memory(world: World) -> Result:
    """Measure the peak of reading 1 GB over that of the bare interpreter, of the greater of two processes."""
    root = _made("1g", _SETS["1g"])
    alone, both = _update(world, root, "memory", "alone"), _update(world, root, "memory-shared", "shared")
    found = {
        "alone": alone["peak"] - alone["bare"],
        "with a partner": both["peak"] - both["bare"],
        "the partner": both["partners_peak"] - both["bare"],
    }
    return Result("peak over the bare interpreter", max(found.values()), "MB", Limit(_MEMORY_MB), facts=dict(found))


def first(world: World) -> Result:
    """Measure until the 5-hour and 7-day sums are right in an empty state file."""
    root = _made("1g", _SETS["1g"], dated=True)
    told = [_update(world, root, f"first-{entry}") for entry in range(world.rounds(7))]
    gigabytes = told[0]["size"] / 1e9
    series = Series(tuple(one["first_s"] / gigabytes for one in told))
    peer = _peer()
    theirs = [] if peer is None else [_ccusage(world, peer, root, "daily") for _ in told]
    beside = Series(tuple(one.wall_s / gigabytes for one in theirs)) if theirs else None
    facts = {} if theirs else {"ccusage": "not measured: npm could not install it"}
    return Result(
        "the first right 5 h and 7 d sums, seconds a GB, best; beside ccusage daily",
        series.least,
        "s",
        Limit(_FIRST_S),
        series,
        beside,
        None if beside is None else Series(tuple(a / b for a, b in zip(series.values, beside.values, strict=True))),
        "s",
        facts,
    )


def warm(world: World) -> Result:
    """Measure a refresh of ten thousand transcripts of which none has changed."""
    root = _made("10k", _SETS["10k"])
    told = _update(world, root, "warm", "warm", str(world.rounds(20)))
    wrong = _differences(root, told, "10k")
    if wrong:
        raise BenchBroken("; ".join(wrong))
    series = Series(tuple(told["warm"]))
    peer = _peer()
    facts: dict[str, object] = {"ccusage": "not measured: npm could not install it"}
    if peer is not None:
        # The Claude part alone: over all of this set, 20.0.24 aborts on a rollout that was cut in mid-line.
        theirs = min(_ccusage(world, peer, root, "claude", "daily").wall_s for _ in range(3))
        facts = {"ccusage claude daily ms": theirs * 1000, "times as fast": theirs * 1000 / series.least}
    return Result("a refresh in process, nothing new", series.least, "ms", Limit(_WARM_MS), series, facts=facts)


def _update(world: World, root: Path, state: str, *deed: str) -> dict[str, Any]:
    """Run our update in a new process on the state file of that name, empty at its first use."""
    folder = world.folder / "ledger" / state
    folder.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-c", _UPDATE, str(root), str(folder / "state.db"), *(deed or ("cold",))]
    done = subprocess.run(argv, capture_output=True, check=False, env=world.env(state))
    if done.returncode != 0:
        raise BenchBroken(f"the update of {root.name} failed: {done.stderr.decode(errors='replace')[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _differences(root: Path, told: Mapping[str, Any], how: str) -> list[str]:
    truth = json.loads((root / "truth.json").read_text(encoding="utf-8"))
    wrong = []
    for cli in ("claude", "codex"):
        for account, right in truth[cli].items():
            calls, (fresh, output, read, written, _, reasoning) = told["sums"][account]
            found = {"calls": calls, "output": output, "input": fresh, "cache_read": read, "cache_creation": written}
            if cli == "codex":
                found = {"calls": calls, "output": output, "input": fresh + read + written, "cached": read}
                found["reasoning"] = reasoning
            wrong += [
                f"{root.name} {how}: {account} {key} {value} instead of {right[key]}"
                for key, value in found.items()
                if value != right[key]
            ]
    return wrong


def _grown(world: World, root: Path, seed: int) -> dict[str, Any]:
    """Let a copy of a set grow by cuts anywhere, and return what the last of several processes finds."""
    import random  # noqa: PLC0415 - 5 ms, only here

    dice = random.Random(seed)  # noqa: S311 - the same cuts in every run
    copy = world.folder / "grown" / root.name
    contents = {path: path.read_bytes() for path in root.rglob("*.jsonl")}
    told: dict[str, Any] = {}
    for step in range(1, _CUTS + 1):
        for path, content in contents.items():
            target = copy / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            size = (
                len(content) if step == _CUTS else min(len(content), dice.randrange(len(content) * step // _CUTS + 1))
            )
            if not target.exists() or target.stat().st_size < size:
                with target.open("ab") as file:
                    file.write(content[target.stat().st_size : size])
        told = _update(world, copy, f"grown-{root.name}")
    shutil.rmtree(copy)
    return told


def _made(name: str, arguments: Sequence[str], *, dated: bool = False) -> Path:
    """Return a set, generated unless it is there. dated: files were last changed when their last line says."""
    folder = _cache() / (f"{name}-dated" if dated else name)
    if not (folder / "truth.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            [sys.executable, str(_GENERATOR), "--out", str(folder), *arguments], check=True, capture_output=True
        )
        if dated:
            _date(folder)
    return folder


def _date(folder: Path) -> None:
    for path in folder.rglob("*.jsonl"):
        told = _INSTANT.findall(path.read_bytes()[-2_000_000:])
        seconds = datetime.fromisoformat(told[-1].decode() + "+00:00").timestamp()
        os.utime(path, (seconds, seconds))


def _cache() -> Path:
    named = os.environ.get("AGENT_RUNNER_BENCH_CACHE")
    folder = Path(named) if named else Path.home() / ".cache" / "agent-runner-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _peer() -> Path | None:
    """Return ccusage's native program, installed unless it is there; None where npm or the registry is not."""
    folder = _cache() / "ccusage"
    for attempt in range(2):
        found = [path for path in folder.glob("node_modules/@ccusage/*/bin/ccusage") if path.is_file()]
        if found:
            found[0].chmod(0o755)
            return found[0]
        npm = shutil.which("npm")
        if npm is None or attempt:
            return None
        subprocess.run([npm, "i", "--prefix", str(folder), _PEER], check=False, capture_output=True)
    return None


def _ccusage(world: World, program: Path, root: Path, *report: str) -> _Cost:
    env = world.env("ccusage")
    env |= {"CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex"), "HOME": str(world.folder)}
    with (world.folder / "ccusage.json").open("wb") as target:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [str(program), *report, "--offline", "--json"], env=env, stdout=target, stderr=target
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchBroken(f"ccusage {' '.join(report)} ended with {process.returncode}")
    return _Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _beside(theirs: Sequence[_Cost], cpu: float) -> dict[str, object]:
    if not theirs:
        return {"ccusage": "not measured: npm could not install it"}
    least = min(one.cpu_s for one in theirs)
    return {
        "ccusage CPU s": least,
        "our CPU by theirs": cpu / least,
        "ccusage wall s": min(one.wall_s for one in theirs),
        "ccusage peak MB": max(one.peak_mb for one in theirs),
    }
