"""A gigabyte pushed to our registry, and pulled from there: whole commands, start, hash and disk included."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from measure import Spent, run
from report import Limit, Result
from world import World

_MEGABYTES = 1024
_LEAST_MB_PER_S = 200


def push(world: World) -> Result:
    """Push to an empty registry, each time another one."""
    spent = []
    for number in range(world.rounds(3)):
        with _served(world, f"image-push-{number}") as address:
            spent.append(run(world.agents("image", "push", "large:v1", f"{address}/large:v1", state="image")))
    return _result("pushed", spent)


def pull(world: World) -> Result:
    """Pull into an empty store."""
    spent = []
    with _served(world, "image-pull") as address:
        run(world.agents("image", "push", "large:v1", f"{address}/large:v1", state="image"))
        for _ in range(world.rounds(3)):
            spent.append(run(world.agents("image", "pull", f"{address}/large:v1", state="image-pulled")))
            run(world.agents("image", "rm", f"{address}/large:v1", state="image-pulled"))
    return _result("pulled", spent)


def _result(word: str, spent: list[Spent]) -> Result:
    speed = _MEGABYTES / min(each.seconds for each in spent)
    facts = {"peak_memory_mib": max(each.peak_bytes for each in spent) / 2**20}
    meaning = f"{_MEGABYTES} MB {word}, the fastest"
    return Result(meaning, speed, "MB/s", Limit(_LEAST_MB_PER_S, is_least=True), facts=facts)


@contextmanager
def _served(world: World, state: str) -> Iterator[str]:
    """Build an image of a gigabyte, and give the address of an empty registry."""
    folder = world.folder / "agent-large"
    folder.mkdir(exist_ok=True)
    large = folder / "large"
    large.unlink(missing_ok=True)
    large.hardlink_to(world.file(_MEGABYTES))
    (folder / "Agentfile").write_text("FROM scratch\nNAME large\nADD large\n")
    run(world.agents("image", "build", str(folder), "-t", "large:v1", state="image"))
    command = world.agents("registry", "serve", "--port", "0", "--json", state=state)
    with subprocess.Popen(command.argv, stdout=subprocess.PIPE, env=command.env) as server:
        assert server.stdout is not None  # noqa: S101 - a pipe
        try:
            yield json.loads(server.stdout.readline())["url"].removeprefix("http://")
        finally:
            server.terminate()
