"""A live session, held through our own commands as a user's script would hold it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from loopback.world import Ran, World

T = TypeVar("T")
PATIENCE_S = 60.0  # opencode takes up to 13 s to start on a loaded machine


class Talk:
    """One session with a CLI."""

    def __init__(self, world: World, cli: str) -> None:
        self.world = world
        self.cli = cli
        self.session_id = ""
        self.begun: dict[str, Any] = {}

    def begin(self, prompt: str | None = None, *options: str, waits: bool = True) -> dict[str, Any]:
        """Begin the session; with a prompt return how its turn has ended, unless `waits` is false."""
        words = [] if prompt is None else ["--prompt", prompt, *(["--wait"] if waits else [])]
        ran = self.world.run("session", "new", f"{self.cli}-one", *words, *options, "--json")
        self.begun = told_of(ran)
        self.session_id = self.begun["session_id"]
        return self.begun

    def order(self, verb: str, *words: str) -> Ran:
        """Have a command about this session done."""
        return self.world.run("session", verb, self.session_id, *words, "--json")

    def tell(self, verb: str, *words: str) -> dict[str, Any]:
        """Return what a command prints that must succeed."""
        ran = self.order(verb, *words)
        assert 0 == ran.exit_code, ran.stderr
        return told_of(ran)

    def send(self, text: str) -> dict[str, Any]:
        """Send a message and return how its turn has ended."""
        return told_of(self.order("send", text, "--wait"))

    def status(self) -> dict[str, Any]:
        return self.tell("status")

    def can(self, capability: str) -> bool:
        """Tell whether the session says that it can do something."""
        return bool(self.wait_open()["capabilities"].get(capability))

    def wait_open(self) -> dict[str, Any]:
        """Return the status of the session once it has begun."""
        return self.wait_status(lambda told: told["status"] not in ("starting", "closed"))

    def wait_idle(self) -> dict[str, Any]:
        """Return the status of the session once no turn runs."""
        return self.wait_status(lambda told: told["status"] != "starting" and not told["busy"])

    def wait_status(self, is_right: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return wait_for(self.status, is_right)

    def wait_request(self) -> dict[str, Any]:
        """Return the first request that waits for an answer."""
        return wait_for(self.requests, bool)[0]

    def requests(self) -> list[dict[str, Any]]:
        return list(told_of(self.world.run("requests", "list", "--json"))["requests"])

    def reply_to(self, request: dict[str, Any], verb: str, *words: str) -> Ran:
        return self.world.run("requests", verb, request["id"], *words)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Close the session and return what has happened in it: all, or what is of these kinds."""
        self.close()
        lines = self.world.run("session", "follow", self.session_id, "--json").stdout.splitlines()
        found = [json.loads(line) for line in lines]
        return [one for one in found if not kinds or one["type"] in kinds]

    def close(self) -> None:
        """End the session's process, and return when nothing of it lives."""
        self.order("close")
        wait_for(lambda: alive(self.world), lambda living: not living)

    def end(self) -> None:
        """Kill what still lives, so that no test disturbs another."""
        for process in alive(self.world):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


def told_of(ran: Ran) -> dict[str, Any]:
    """Return the JSON object that a command has printed."""
    assert ran.stdout.startswith("{"), f"no JSON: {ran.stdout}\n{ran.stderr}"
    return json.loads(ran.stdout)


def wait_for(look: Callable[[], T], is_right: Callable[[T], bool]) -> T:
    """Look until what is seen is right, and return it."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_right(seen := look()):
        assert time.monotonic() < deadline, f"it never came so far: {seen}"
        time.sleep(0.1)
    return seen


def alive(world: World) -> dict[int, str]:
    """Return the processes that live in the world's home, with their commands, without those of this test."""
    mark = f"HOME={world.home}".encode()
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is not ours
            is_zombie = (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not is_zombie and mark in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    found.pop(os.getpid(), None)
    return found
