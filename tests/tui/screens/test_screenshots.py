"""The pictures' script: a drift is said; that two drawings are the same, its own check in CI says."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "screenshots.py"


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("screenshots_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec.loader.exec_module(module)
    return module


def test_drift_is_said_and_fails(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    (tmp_path / "pools.svg").write_text("<svg>as it was</svg>")

    assert 0 == script.check({"pools": "<svg>as it was</svg>"})
    assert 1 == script.check({"pools": "<svg>as it is</svg>", "quota": "<svg/>"})
    assert ["pools.svg", "quota.svg"] == [
        line.split()[0].removeprefix("screenshots/") for line in capsys.readouterr().err.splitlines()
    ]


def test_what_is_random_in_an_svg_does_not_count(script):
    assert script.normal('<g id="terminal-123">') == script.normal('<g id="terminal-9">')


def test_unknown_scene_is_refused(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["pols"])

    assert "there is no scene pols" in capsys.readouterr().err
