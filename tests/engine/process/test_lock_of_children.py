"""A lock outlives its killed holder for as long as a child of his works with its descriptor."""

import os
import signal
import subprocess
import sys

from oulipoly_engine.process.lock import hold_lock, hold_lock_with_children

HOLDER = """
import os, sys
from pathlib import Path
from oulipoly_engine.process.lock import hold_lock_with_children
from oulipoly_engine.process.script import EXEC, run_script
with hold_lock_with_children(Path(sys.argv[1]), 1.0) as lock:
    line = "trap '' TERM; echo $$ > " + sys.argv[2] + "; read -r _ < " + sys.argv[3]
    run_script(line, dict(os.environ), timeout_s=20.0, keeps=(lock,))
"""


def test_nobody_gets_a_lock_before_the_killed_holder_s_child_has_ended(tmp_path):
    lock, began, end = tmp_path / "lock", tmp_path / "began", tmp_path / "end"
    os.mkfifo(began)
    os.mkfifo(end)
    words = [sys.executable, "-c", HOLDER, str(lock), str(began), str(end)]
    with subprocess.Popen(words) as holder:
        began.read_text()
        holder.send_signal(signal.SIGKILL)
    with hold_lock(lock, 0.05) as is_ours:
        assert not is_ours
    with hold_lock_with_children(lock, 0.05) as descriptor:
        assert descriptor is None
    writing = os.open(end, os.O_RDWR)  # does not wait for a reader, as O_WRONLY would
    os.write(writing, b"\n")

    with hold_lock_with_children(lock, 10.0) as descriptor:
        assert descriptor is not None
    os.close(writing)


def test_a_lock_that_is_given_back_is_free(tmp_path):
    for _ in range(2):
        with hold_lock_with_children(tmp_path / "lock", 0.0) as descriptor:
            assert descriptor is not None
            with hold_lock(tmp_path / "lock", 0.0) as is_ours:
                assert not is_ours
