"""Twenty extensions that are installed load nothing where none is used: nothing of them, nor what calls them."""

import json
import os
import subprocess
import sys

import pytest

_WRAPPER = """
import json, sys
target, sys.argv = sys.argv[1], ["agents", *sys.argv[2:]]
from oulipoly_tui.__main__ import main
code = main()
with open(target, "w") as file:
    json.dump(sorted(sys.modules), file)
sys.exit(code)
"""
_OURS = ("pluggy", "agent_runner_extension_")


@pytest.fixture
def twenty(world):
    """Twenty extensions that say on stdout when they are imported, and a model that answers."""
    for number in range(20):
        place = world.config / "extensions" / f"e{number}"
        place.mkdir(parents=True)
        hooks = '["input", "before_fork", "before_tool", "message_sent"]'
        (place / "extension.toml").write_text(f'name = "e{number}"\nhooks = {hooks}\n')
        (place / "extension.py").write_text("import os\nos.write(1, b'imported')\n")
    world.account("quiet", "true")
    world.model("still", "quiet")
    return world


@pytest.mark.parametrize(
    ("arguments", "loads_manifests"),
    [
        pytest.param(["--version"], False, id="version"),
        pytest.param(["--help"], False, id="help"),
        pytest.param(["-m", "still", "hello"], False, id="one-shot"),
        pytest.param(["account", "list"], False, id="accounts"),
        pytest.param(["ext", "list"], True, id="ext list"),
        pytest.param(["--no-extensions", "ext", "list"], True, id="none"),
    ],
)
def test_what_uses_no_extension_loads_none(twenty, tmp_path, arguments, loads_manifests):
    target = tmp_path / "loaded.json"
    words = [sys.executable, "-c", _WRAPPER, str(target), *arguments]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=dict(os.environ), check=False)
    loaded = json.loads(target.read_text())

    assert (0, False) == (done.returncode, b"imported" in done.stdout + done.stderr), done.stderr
    assert [] == [name for name in loaded if name.startswith(_OURS)]
    assert loads_manifests is any(name.startswith("oulipoly_engine.service.extensions") for name in loaded)
