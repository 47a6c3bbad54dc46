"""Live sessions: from Enter to the CLI, from the CLI to one and to two clients, a flood, and the cost of doing nothing.

The CLI is a program of a few lines that tells when it got a message and when it says a word, on the machine's one
monotonic clock: what a model or a vendor's CLI takes is not ours.
"""

from __future__ import annotations

import os
import select
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Series, isolated, pairs
from report import Limit, Result
from world import World

from rows.terminals import private_mib, processor_s

_ENTER_P99_MS, _DELTA_P95_MS, _SECOND_P95_MS, _TURN_ADDED_MS = 5.0, 50.0, 100.0, 10.0
_IDLE_MIB, _IDLE_PERCENT, _IDLE_S = 25.0, 0.1, 5.0
FLOOD, FLOOD_S = 50_000, 10.0  # words, and the seconds in which they come
_FLOOD_LAG_S = 1.0
_CLI = """
import sys, time
for line in sys.stdin:
    got, words = time.monotonic_ns(), line.split()
    count, pause = (int(words[1]), float(words[2])) if words[0] == "flood" else (1, 0)
    for number in range(count):
        if pause:
            due = got / 1e9 + number * pause
            time.sleep(max(0, due - time.monotonic()))
        print("at", got if not pause else time.monotonic_ns(), flush=True)
    print("END", flush=True)
"""


def enter(world: World) -> Result:
    """Measure from `send` to the message in the CLI's hands."""

    def work() -> dict[str, float]:
        with _session(world, "live-enter") as (live, session):
            with live.connect(session) as client:
                client.follow(0)
                taken = []
                for _ in range(world.rounds(400)):
                    began = time.monotonic_ns()
                    client.order(_message("hello"))
                    taken.append((_next_stamp(client) - began) / 1e6)
                    _until_end(client)
            return {"p99": quantile(taken, 99), "median": statistics.median(taken)}

    found = isolated(work)
    return Result("Enter to the CLI, 99 %", found["p99"], "ms", Limit(_ENTER_P99_MS), facts={"median": found["median"]})


def delta(world: World) -> Result:
    """Measure from a word of the CLI to a client that has it."""
    found = isolated(lambda: _lags(world, 1))
    return Result("a word to the client, 95 %", found["p95"], "ms", Limit(_DELTA_P95_MS), facts=found)


def second_client(world: World) -> Result:
    """Measure the same for the second of two clients."""
    found = isolated(lambda: _lags(world, 2))
    return Result("a word to a second client, 95 %", found["p95"], "ms", Limit(_SECOND_P95_MS), facts=found)


def flood(world: World) -> Result:
    """Measure how far a client is behind at the end of 50,000 words in 10 s, and what the host takes for them."""

    def work() -> dict[str, float]:
        with _session(world, "live-flood") as (live, session), live.connect(session) as client:
            client.follow(0)
            pid = _host_pid(live, session)
            before = processor_s(pid)
            client.order(_message(f"flood {FLOOD} {FLOOD_S / FLOOD}"))
            lags, count = [], 0
            while True:
                stamps, ended = _stamps(client.wait(5.0))
                now = time.monotonic_ns()
                count += len(stamps)
                lags += [(now - stamp) / 1e9 for stamp in stamps[-1:]]
                if ended:
                    break
            share = 100 * (processor_s(pid) - before) / FLOOD_S
            return {"lag_s": max(lags), "words": float(count), "host_percent": share}

    found = isolated(work)
    return Result("behind in a flood", found["lag_s"], "s", Limit(_FLOOD_LAG_S), facts=found)


def turn_added(world: World) -> Result:
    """Measure a turn of the demo's codex through a session's host, beside the same driver over bare pipes."""

    def work() -> dict[str, list[float]]:
        from oulipoly_demo import world as demo  # noqa: PLC0415 - the harness itself must stay small
        from oulipoly_engine.drivers.base import Opening  # noqa: PLC0415 - the same
        from oulipoly_engine.drivers.codex import CodexDriver  # noqa: PLC0415 - the same
        from oulipoly_engine.process.command import Command  # noqa: PLC0415 - the same
        from oulipoly_engine.process.piped import PipedProcess  # noqa: PLC0415 - the same

        built = demo.build(world.folder / "demo", options=demo.Options(pace_s=0))
        env = demo.environment_for(built)
        opening = Opening(str(built.project), str(uuid.uuid4()))
        words = (str(built.bin / "demo-codex1"), *CodexDriver.words(opening))
        process, driver = PipedProcess(Command(words, env, built.project)), CodexDriver(opening)
        driver.begin()
        _drive(process, driver, "SessionOpened")

        def beside() -> float:
            began = time.monotonic()
            driver.send(str(uuid.uuid4()), "hello")
            _drive(process, driver, "TurnEnded")
            return (time.monotonic() - began) * 1000

        with _opened(env, "demo-codex2", built.project) as (engine, session), engine.live.connect(session) as client:
            client.follow(0)

            def subject() -> float:
                began = time.monotonic()
                client.post(_message("hello"))
                while not _stamps(client.wait(5.0))[1]:
                    pass
                return (time.monotonic() - began) * 1000

            taken = pairs(subject, beside, world.rounds(80))
        process.stop()
        return {"subject": [*taken.subject.values], "beside": [*taken.beside.values]}

    found = isolated(work)
    subject, beside = Series(tuple(found["subject"])), Series(tuple(found["beside"]))
    added = subject.median - beside.median
    return Result("what a host adds to a codex turn", added, "ms", Limit(_TURN_ADDED_MS), subject, beside)


def _drive(process: Any, driver: Any, until: str) -> None:  # noqa: ANN401 - imported late
    """Pass lines between a process and its driver until an event of this kind."""
    pending = b""
    while True:
        driver.tick(time.monotonic())
        output = driver.take()
        data = output.data
        while data:
            data = data[process.write(data) :]
        if any(type(event).__name__ == until for event in output.events):
            return
        select.select([process.stdout], [], [], 1.0)
        pending += process.read(process.stdout) or b""
        *lines, pending = pending.split(b"\n")
        for line in lines:
            driver.receive(line)


def idle_memory(world: World) -> Result:
    """Take what a host holds for itself while nothing happens, and how much of a core it takes."""

    def work() -> dict[str, float]:
        with _session(world, "live-idle") as (live, session):
            with live.connect(session) as client:
                client.follow(0)
                client.order(_message("hello"))
                _until_end(client)
            pid = _host_pid(live, session)
            before = processor_s(pid)
            time.sleep(_IDLE_S)
            share = 100 * (processor_s(pid) - before) / _IDLE_S
            return {"mib": private_mib(pid), "percent": share}

    found = isolated(work)
    facts = {"percent_of_a_core": found["percent"], "limit_percent": _IDLE_PERCENT}
    return Result("an idle host", found["mib"], "MiB", Limit(_IDLE_MIB), facts=facts)


def _lags(world: World, clients: int) -> dict[str, float]:
    with _session(world, f"live-delta-{clients}") as (live, session):
        opened = [live.connect(session) for _ in range(clients)]
        for client in opened:
            client.follow(0)
        lags: list[float] = []

        def listen(client: Any) -> None:  # noqa: ANN401 - imported late
            ended = False
            while not ended:
                stamps, ended = _stamps(client.wait(5.0))
                now = time.monotonic_ns()
                lags.extend((now - stamp) / 1e6 for stamp in stamps)

        others = [threading.Thread(target=lambda one=one: _drain(one)) for one in opened[:-1]]
        for other in others:
            other.start()
        opened[-1].post(_message(f"flood {world.rounds(400)} 0.01"))
        listen(opened[-1])
        for other in others:
            other.join()
        for client in opened:
            client.close()
        return {"p95": quantile(lags, 95), "median": statistics.median(lags)}


def _drain(client: Any) -> None:  # noqa: ANN401 - imported late
    while not _stamps(client.wait(5.0))[1]:
        pass


@contextmanager
def _session(world: World, state: str) -> Iterator[tuple[Any, str]]:
    with opened_session(world, state) as (engine, session):
        yield engine.live, session


@contextmanager
def opened_session(world: World, state: str) -> Iterator[tuple[Any, str]]:
    """Yield an engine and a session of the row's own CLI, which is ended afterwards."""
    program = world.folder / "live_cli.py"
    program.write_text(_CLI, encoding="utf-8")
    world.config.mkdir(parents=True, exist_ok=True)
    settings = world.config / "config.toml"
    if "[runtimes.bench]" not in (settings.read_text(encoding="utf-8") if settings.exists() else ""):
        with settings.open("a", encoding="utf-8") as file:
            file.write(
                f'\n[runtimes.bench]\nkind = "plain"\nprogram = "{sys.executable}"\n'
                f'start_words = ["-u", "{program}"]\nmarker = "END"\n'
            )
    with _opened(world.env(state), "bench", world.folder) as opened:
        yield opened


@contextmanager
def _opened(env: Mapping[str, str], runtime: str, folder: Path) -> Iterator[tuple[Any, str]]:
    from oulipoly_engine.facade.engine import Engine, Surroundings  # noqa: PLC0415 - the harness itself must stay small
    from oulipoly_engine.facade.live.sessions import NewSession  # noqa: PLC0415 - the same
    from oulipoly_engine.paths import from_environment  # noqa: PLC0415 - the same

    os.environ.update(env)  # of this process alone, which is a fork: the host inherits it
    engine = Engine(Surroundings(from_environment(env)))
    session = engine.live.begin(NewSession(folder, runtime=runtime)).session.session_id
    try:
        yield engine, session
    finally:
        engine.live.end_all()
        engine.close()


def _host_pid(live: Any, session: str) -> int:  # noqa: ANN401 - imported late
    return next(int(host.host_pid) for host in live.hosts() if host.session_id == session)


def _stamps(events: Any) -> tuple[list[int], bool]:  # noqa: ANN401 - imported late
    """Return when the words were said that have come, and whether the turn has ended."""
    stamps, ended = [], False
    for numbered in events:
        kind = type(numbered.event).__name__
        if kind == "ItemDelta":
            stamps += [int(line.split()[1]) for line in numbered.event.text.splitlines() if line.startswith("at ")]
        ended = ended or kind == "TurnEnded"
    return stamps, ended


def _next_stamp(client: Any) -> int:  # noqa: ANN401 - imported late
    while True:
        stamps, _ = _stamps(client.wait(5.0))
        if stamps:
            return stamps[0]


def _message(text: str) -> Any:  # noqa: ANN401 - imported late
    from oulipoly_engine.core.live.orders import Send  # noqa: PLC0415 - of the tree that is measured

    return Send(text)


def _until_end(client: Any) -> None:  # noqa: ANN401 - imported late
    from oulipoly_engine.core.live.orders import AskStatus  # noqa: PLC0415 - of the tree that is measured

    client.order(AskStatus())
    deadline = time.monotonic() + 5.0
    while client.order(AskStatus())["busy"] and time.monotonic() < deadline:
        client.wait(0.001)


def quantile(values: list[float], percent: int) -> float:
    """Return the value below which so many percent are."""
    return statistics.quantiles(values, n=100)[percent - 1]
