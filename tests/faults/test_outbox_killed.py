"""What has happened is told at least once, whichever process is killed between the two."""

import signal

from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.outbox import events

_HEAD = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.outbox import events
store = open_store(Path(sys.argv[1]))
def publish(code):
    with store.write():
        events.publish(store, "error", datetime.now(UTC), "s", {"code": code})
def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
_WRITER = """
publish("written")
with store.write():
    events.publish(store, "error", datetime.now(UTC), "s", {"code": "not written"})
    die()
"""
_READER = """
print([event.body["code"] for event in events.read_after(store, "hooks")], flush=True)
die()
"""


def _run(commands, path, body):
    process = commands.start([path], program=["-c", _HEAD + body])
    output, _ = process.communicate(timeout=30)
    assert -signal.SIGKILL == process.returncode
    return output.decode().strip()


def test_an_event_outlives_its_writer_and_its_reader(tmp_path, commands):
    path = tmp_path / "state.db"
    store = open_store(path)
    events.register(store, "hooks")
    _run(commands, path, _WRITER)

    assert "['written']" == _run(commands, path, _READER)
    assert "['written']" == _run(commands, path, _READER)  # the first one has not advanced
    (event,) = events.read_after(store, "hooks")
    events.advance(store, "hooks", event.id)
    assert () == events.read_after(store, "hooks")
    store.close()
