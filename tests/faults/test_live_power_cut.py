"""What a live session has taken is on the disk before anybody is told: a power cut takes it back no more."""

import json
import re
import shutil
import subprocess
import time

import pytest

from oulipoly_engine.core.live.events import TurnStarted

pytestmark = [
    pytest.mark.kills,
    pytest.mark.skipif(
        shutil.which("strace") is None, reason="strace, which tells when the disk was asked, is missing"
    ),
]


class Trace:
    """What a process writes and where to, as the kernel sees it."""

    def __init__(self, pid, path):
        self._path = path
        calls = "trace=pwrite64,fdatasync,sendto,write"
        command = ["strace", "-f", "-y", "-s", "4096", "-e", calls, "-o", path, "-p", str(pid)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        if b"attached" not in self._process.stderr.readline():
            self.end()
            pytest.skip("this machine lets nobody trace a process")

    def end(self):
        self._process.terminate()
        self._process.communicate()

    def until_synced(self):
        deadline = time.monotonic() + 20
        while ["synced"] != [step for step in self.steps() if step in ("written", "synced")][-1:]:
            assert time.monotonic() < deadline, [*self.steps()]
            time.sleep(0.02)

    def steps(self):
        """Return what was done to the log of the state file, to the CLI and to the clients, in order."""
        for line in self._path.read_text().splitlines():
            if "state.db-wal>" in line:
                yield "written" if "pwrite64(" in line else "synced"
            elif re.search(r"(write|sendto)\(\d+<(UNIX|socket)", line) and "answer" in line:
                yield "answered"
            elif "write(" in line and "<pipe" in line and "turn/start" in line:
                yield "sent"


def test_a_message_is_on_the_disk_before_it_is_said_to_be_taken(live, tmp_path):
    session = live.begin(runtime=live.scripted())
    host = live.host_of(session)
    trace = Trace(host.host_pid, tmp_path / "trace")
    try:
        for number in range(4):
            live.live.send(session, f"message {number}", waits=True)
        trace.until_synced()  # the end of a turn is, though nobody sends anything
        live.live.send(session, json.dumps([["listen"]]), waits=False)
        live.until(session, lambda event: isinstance(event, TurnStarted))
    finally:
        trace.end()
    steps = list(trace.steps())

    assert 5 == steps.count("sent")
    for place, step in enumerate(steps):
        if step == "answered":
            before = [one for one in steps[:place] if one in ("written", "synced")]
            assert not before or "synced" == before[-1], steps
        if step == "sent":
            later = steps[place:]
            assert later.index("synced") < later.index("answered"), steps
