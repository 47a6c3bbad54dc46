"""Somebody who writes git's own files at the worst moment."""

import os
import shlex
import shutil

import pytest


@pytest.fixture
def swapped(tmp_path):
    """Return a function that has files replaced before each git that works with what was read of a configuration.

    It takes new contents by path. Git itself is as ever; the calls that only read names and settings come before.
    """
    with pytest.MonkeyPatch.context() as patch:

        def swap(contents):
            folder = tmp_path / "swapped"
            folder.mkdir()
            copies = []
            for number, (path, text) in enumerate(contents.items()):
                (folder / str(number)).write_text(text)
                copies.append(f"cp -f {shlex.quote(str(folder / str(number)))} {shlex.quote(str(path))}")
            program = folder / "git"
            git = shlex.quote(shutil.which("git"))
            reading = '*" config "*|*" rev-parse "*'
            steps = f'case " $* " in {reading});; *) {"; ".join(copies)};; esac'
            program.write_text(f'#!/bin/sh\n{steps}\nexec {git} "$@"\n')
            program.chmod(0o755)
            patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

        yield swap
