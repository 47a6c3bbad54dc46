"""What the emulator costs to load, what happens where it cannot be had, and that its declarations fit the library."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oulipoly_engine.terminal.emulators.ghostty import abi, ffi
from oulipoly_engine.terminal.emulators.ghostty.cells import layout
from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
from oulipoly_engine.terminal.protocol.cell_text import clean_cluster, clean_text
from oulipoly_engine.terminal.protocol.screen import ScreenBroken, ScreenLimits, ScreenUnavailable

_ROOT = Path(__file__).resolve().parents[4]
_LOADED = """
import json, sys
from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
GhosttyScreen()
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_loading_it_brings_nothing_that_it_does_not_need():
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, env=dict(os.environ), timeout=60, check=True
    )

    assert set() == set(json.loads(done.stdout)) & {"pyghostty", "cffi", "pycparser", "textual", "rich", "asyncio"}


def test_without_its_package_it_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ffi.load.cache_clear()

    with pytest.raises(ScreenUnavailable, match="pyghostty is not installed"):
        GhosttyScreen()
    ffi.load.cache_clear()


def test_another_version_than_the_declarations_is_not_loaded(monkeypatch):
    monkeypatch.setattr(abi, "VERSION", "9.9.9")
    ffi.load.cache_clear()

    with pytest.raises(ScreenUnavailable, match="not version 9"):
        GhosttyScreen()
    ffi.load.cache_clear()


@pytest.mark.parametrize("dump", [b"", b"rubbish", b"ghostty-vt 0.1.3\n", b"ghostty-vt 0.1.3\n\xff\xfe"], ids=ascii)
def test_what_is_no_dump_is_refused(dump):
    with pytest.raises(ScreenUnavailable):
        GhosttyScreen.restore(dump, ScreenLimits())


def test_the_declarations_are_what_their_script_makes(tmp_path):
    target = tmp_path / "abi.py"
    subprocess.run(
        [sys.executable, str(_ROOT / "scripts" / "make-ghostty-abi"), str(target)],
        check=True,
        capture_output=True,
        timeout=60,
    )

    assert target.read_text() == Path(abi.__file__).read_text()


def test_a_layout_that_the_decoder_cannot_cut_is_refused(monkeypatch):
    library = ffi.load()
    cell = ffi.type_description(library, "GhosttyCell")
    cell["bits"]["style_id"]["lsb"] += 1
    monkeypatch.setattr("oulipoly_engine.terminal.emulators.ghostty.cells.type_description", lambda *_: cell)

    with pytest.raises(ScreenBroken, match="lays out its cells"):
        layout(library)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("plain", "plain"),
        ("a\0b\x7f", "a b "),
        ("\u00adx\u202e", " x "),
        ("\u0301", " "),
        ("日\ue0b0\u00a0", "日\ue0b0\u00a0"),
    ],
    ids=ascii,
)
def test_what_a_cell_of_its_own_may_hold(text, drawn):
    assert drawn == clean_text(text)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("e\u0301", "e\u0301"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("☎\ufe0f", "☎\ufe0f"),
        ("a\u202e\x1b", "a"),
        ("\u0301\u0301", " \u0301"),
    ],
    ids=ascii,
)
def test_what_a_cluster_may_hold(text, drawn):
    assert drawn == clean_cluster(text)
