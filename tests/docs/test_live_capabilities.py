"""The table of what live sessions can do is made of what the suite of the real CLIs has seen."""

import importlib.util
from pathlib import Path


def test_table_is_what_was_seen():
    path = Path(__file__).resolve().parents[2] / "scripts" / "live_capabilities.py"
    spec = importlib.util.spec_from_file_location("live_capabilities", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    assert 0 == script.main(["--check"]), "run scripts/live_capabilities.py"
