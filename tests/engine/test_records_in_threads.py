"""Types that several threads decode first: msgspec alone ends the process by a segmentation fault."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import oulipoly_engine

# A type whose annotations take Python code to read, so that another thread comes meanwhile.
_THREADS_AT_ONCE = """
import sys
import threading
from typing import Generic, TypeVar

import msgspec

from oulipoly_engine.records import Record, prepare

T = TypeVar("T")
sys.setswitchinterval(1e-6)
FIELDS = "; ".join(f"field_{place}: 'tuple[str, ...] | None' = None" for place in range(20))
VALUE = {f"field_{place}": ["a"] for place in range(20)}
for number in range(40):
    exec(f"class Inner{number}(Record): {FIELDS}")
    exec(f"class Outer{number}(Record, Generic[T]): inner: 'Inner{number}'; value: 'T'")
    kind = globals()[f"Outer{number}"][int]
    start = threading.Barrier(4)

    def decode(kind=kind, start=start):
        start.wait()
        msgspec.convert({"inner": VALUE, "value": 1}, prepare(kind))

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("decoded")
"""


def test_a_type_is_decoded_by_many_threads_at_once():
    done = subprocess.run([sys.executable, "-c", _THREADS_AT_ONCE], capture_output=True, check=False)

    assert (0, b"decoded\n") == (done.returncode, done.stdout), done.stderr[-2000:]


def _unprepared(tree):
    """Yield the lines in which msgspec is given a type that is not asked of `prepare`."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            kinds = [keyword.value for keyword in call.keywords if keyword.arg == "type"]
            of_msgspec = ast.unparse(call.func).startswith("msgspec.")
            if of_msgspec and call.func.attr == "convert":
                kinds += call.args[1:2]
            if of_msgspec and call.func.attr == "Decoder":
                kinds += call.args[:1]
            for kind in kinds if of_msgspec else ():
                if not (isinstance(kind, ast.Call) and ast.unparse(kind.func) == "prepare"):
                    yield call.lineno


def test_no_module_has_msgspec_make_values_of_a_type_that_is_not_prepared(engine_modules):
    found = [f"{path}:{line}" for path, tree in engine_modules for line in _unprepared(tree)]

    assert [] == found


@pytest.fixture
def engine_modules():
    """Return the modules that name msgspec, parsed: to parse all of them takes two seconds."""
    root = Path(oulipoly_engine.__file__).parent
    texts = {path: path.read_text("utf-8") for path in root.rglob("*.py") if path.name != "records.py"}
    return [(path.relative_to(root), ast.parse(text)) for path, text in texts.items() if "msgspec." in text]
