"""What twenty installed extensions add to a start."""

from __future__ import annotations

from measure import Command, pairs, run
from report import Limit, Result
from world import World

from rows.app import until_drawn

_MANY = 20
_APP_MS = 150  # that they may add to the app
_COMMAND_MS = 5  # and to a command that uses none: what varies between two runs of it
_MANIFEST = """
name = "bench-{number}"
version = "1.0.0"
description = "An extension that observes messages and has a command and a tool."
permissions = ["network"]
hooks = ["message_received"]
[[commands]]
name = "bench-{number}"
summary = "Does nothing."
[[tools]]
name = "nothing"
description = "Does nothing."
[tools.schema]
type = "object"
"""
_CODE = """
class Extension:
    def message_received(self, ctx, event):
        pass

def extension():
    return Extension()
"""


def with_twenty(world: World) -> Result:
    """Measure the app's first frame with them and without, and commands that use none."""
    plain, extended = _world(world, "plain", 0), _world(world, "extended", _MANY)
    rounds = world.rounds(10)
    taken = pairs(lambda: _draw(extended), lambda: _draw(plain), rounds)
    facts = {}
    for name, words in (("--version", ("--version",)), ("--help", ("--help",)), ("one-shot", ("-m", "extended", "hi"))):
        more = _added_ms(extended.agents(*words, state="extended"), plain.agents(*words, state="extended"), rounds)
        facts[name] = f"{more:+.1f} ms (limit {_COMMAND_MS})"
    added = taken.subject.least - taken.beside.least
    meaning = f"what {_MANY} extensions add to the app's first frame, minimum"
    return Result(meaning, added, "ms", Limit(_APP_MS), taken.subject, taken.beside, taken.ratios, facts=facts)


def _world(world: World, name: str, many: int) -> World:
    own = World(world.folder / name, world.quick)
    for number in range(many):
        folder = own.config / "extensions" / f"bench-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "extension.toml").write_text(_MANIFEST.format(number=number), encoding="utf-8")
        (folder / "extension.py").write_text(_CODE, encoding="utf-8")
    if not (own.config / "models" / "extended.toml").exists():
        own.serve("extended", "true")
    run(own.agents("quota-check", "--cached", state="extended"))  # the state file is there
    return own


def _draw(world: World) -> float:
    return until_drawn(world.agents(state="extended"), "1 Pools") * 1000


def _added_ms(extended: Command, plain: Command, rounds: int) -> float:
    taken = pairs(lambda: run(extended).seconds * 1000, lambda: run(plain).seconds * 1000, rounds)
    return taken.subject.least - taken.beside.least
