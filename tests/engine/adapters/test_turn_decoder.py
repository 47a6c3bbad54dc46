"""The decoder of the process and the script give the same entries, checked, byte for byte of every line."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.adapters.entry_decoder import form
from oulipoly_engine.adapters.scripts.turns import FORMATS, Place, Reading
from oulipoly_engine.core.transcripts.turn_script import parse_line
from oulipoly_engine.records import replace

AT = "2026-11-20T12:00:00Z"
REAL = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "transcripts"
each_adapter = pytest.mark.parametrize("name", tuple(FORMATS))


def turns(form, folder, state):
    reading = Reading(form, folder, state)
    return list(reading.turns()), reading.notes, reading.damaged_lines


def checked(turn, number):
    """Return what becomes of a turn that a script has printed."""
    told, error = parse_line(json.dumps(turn).encode(), number)
    return told, None if error is None else replace(error, file=turn["source_file"])


@each_adapter
@pytest.mark.skipif(not REAL.is_dir(), reason="no fixtures: ../shared/fixtures/transcripts is missing")
def test_real_transcripts_give_the_same_turns(name, tmp_path):
    printed, *plain = turns(FORMATS[name], REAL, tmp_path / "plain")
    quick, *others = turns(form(name), REAL, tmp_path / "quick")

    assert [checked(turn, 0) for turn in printed] == quick
    assert plain == others
    assert quick


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content"]), inner),
    max_leaves=6,
)
_PRESERVED = st.fixed_dictionaries({"uuids": st.lists(st.text(max_size=3) | _JSON, max_size=3)})
_CLAUDE = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system"]) | _JSON, "uuid": st.just("u") | _JSON},
    optional={
        "timestamp": st.just("2026-11-20T12:00:00Z") | _JSON,
        "sessionId": st.just("S") | _JSON,
        "parentUuid": _JSON,
        "isSidechain": _JSON,
        "isCompactSummary": _JSON,
        "message": _JSON | st.fixed_dictionaries({"content": _JSON}),
        "content": _JSON,
        "toolUseResult": _JSON,
        "compactMetadata": _JSON | st.fixed_dictionaries({"preservedMessages": _JSON | _PRESERVED}),
    },
)
_PAYLOAD = st.fixed_dictionaries(
    {"type": st.sampled_from(["message"]) | _JSON, "role": st.sampled_from(["user", "assistant"]) | _JSON},
    optional={"id": st.just("S") | _JSON, "content": _JSON, "message": _JSON},
)
_CODEX = st.fixed_dictionaries(
    {"type": st.sampled_from(["response_item", "session_meta", "compacted"]) | _JSON},
    optional={"timestamp": st.just("2026-11-20T12:00:00Z") | _JSON, "payload": _PAYLOAD | _JSON},
)


def plainly(name, line):
    place = Place("f", "f", lines=1, session_id="S", kept=["k"])
    return [checked(turn, 1) for turn in FORMATS[name].read(line, place)], place


def quickly(name, line):
    place = Place("f", "f", lines=1, session_id="S", kept=["k"])
    return list(form(name).read(line, place)), place


@each_adapter
@given(data=st.data())
def test_any_record_gives_the_same_turn(name, data):
    record = data.draw(_CODEX if name == "codex-turns" else _CLAUDE)
    line = json.dumps(record, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")

    assert repr(plainly(name, line)) == repr(quickly(name, line))


@pytest.mark.rows_share_fixtures
@each_adapter
@pytest.mark.parametrize("seed", range(20))
def test_a_line_spoiled_anywhere_gives_the_same_turn(name, seed):
    dice = random.Random(seed)
    content = [{"type": "text", "text": "hü ☃\t"}, {"type": "tool_result", "content": [{"type": "image"}]}, "plain"]
    record = {
        "uuid": "u",
        "type": "user",
        "timestamp": "T",
        "sessionId": "S",
        "message": {"content": content},
        "n": [1.5],
    }
    if name == "codex-turns":
        payload = {"type": "message", "role": "user", "content": content}
        record = {"type": "response_item", "timestamp": "T", "payload": payload}
    whole = json.dumps(record, ensure_ascii=False).encode()
    for _ in range(50):
        at = dice.randrange(len(whole))
        line = whole[:at] + dice.choice([b"", b"\xff", b'"', b"\\", b"\0", b"{", b"NaN", b"9"]) + whole[at + 1 :]

        assert repr(plainly(name, line)) == repr(quickly(name, line))


@pytest.mark.parametrize("name", ["claude-code-turns", "codex-turns"])
def test_an_endless_number_for_a_content_gives_the_same_problem(name):
    record = {"uuid": "u", "type": "user", "timestamp": AT, "sessionId": "S", "message": {"content": 9}}
    if name == "codex-turns":
        record = {
            "type": "response_item",
            "timestamp": AT,
            "payload": {"type": "message", "role": "user", "content": 9},
        }
    line = json.dumps(record).replace("9", "9" * 5000).encode()

    assert repr(plainly(name, line)) == repr(quickly(name, line))
    assert plainly(name, line)[1].problem
