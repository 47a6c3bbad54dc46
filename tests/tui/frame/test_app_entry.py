"""The way into the app: what it needs of the place where it is started."""

import os
import subprocess
import sys

from oulipoly_tui import entry


def test_closed_standard_stream_is_no_place_for_the_next_file():
    program = (
        "import os, sys\n"
        "os.close(2)\n"
        "sys.argv[1:] = ['--version']\n"
        "from oulipoly_tui.__main__ import main\n"
        "main()\n"
        "os.write(1, os.fsencode(os.readlink('/dev/fd/2')))\n"
    )

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert told.stdout.endswith(os.devnull)


def test_terminal_that_cannot_be_drawn_on_is_refused(monkeypatch, capfd):
    with monkeypatch.context() as patch:
        patch.setattr(os, "isatty", lambda _: True)
        patch.setenv("TERM", "dumb")

        assert entry.run([]) == 2
    assert "TERM is dumb" in capfd.readouterr().err
