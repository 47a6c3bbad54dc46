"""The quick decoder of the process and the script's own give the same turns, byte for byte of every line."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.adapters.scripts.turns import FORMATS, Reading
from oulipoly_engine.adapters.turns.decoder import decoder

REAL = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "transcripts"
each_adapter = pytest.mark.parametrize("name", tuple(FORMATS))


def turns(name, folder, state, **more):
    reading = Reading(name, folder, state, **more)
    return list(reading.turns()), reading.notes, reading.damaged_lines


def both(name, folder, tmp_path):
    """Read a folder both ways."""
    plain = turns(name, folder, tmp_path / "plain")
    quick = turns(name, folder, tmp_path / "quick", decode=decoder(name))
    return plain, quick


@each_adapter
@pytest.mark.skipif(not REAL.is_dir(), reason="no fixtures: ../shared/fixtures/transcripts is missing")
def test_real_transcripts_give_the_same_turns(name, tmp_path):
    plain, quick = both(name, REAL, tmp_path)

    assert plain == quick
    assert plain[0]


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content"]), inner),
    max_leaves=6,
)
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
    },
)
_PAYLOAD = st.fixed_dictionaries(
    {"type": st.sampled_from(["message"]) | _JSON, "role": st.sampled_from(["user", "assistant"]) | _JSON},
    optional={"id": st.just("S") | _JSON, "content": _JSON},
)
_CODEX = st.fixed_dictionaries(
    {"type": st.sampled_from(["response_item", "session_meta"]) | _JSON},
    optional={"timestamp": st.just("2026-11-20T12:00:00Z") | _JSON, "payload": _PAYLOAD | _JSON},
)


class Place:
    """Where the line of a rollout stands."""

    shown, lines, session_id = "f", 1, "S"


def told(name, decode, line):
    record = decode(line)
    return record if record is None else FORMATS[name].turn(record, Place())


@each_adapter
@given(data=st.data())
def test_any_record_gives_the_same_turn(name, data):
    record = data.draw(_CODEX if name == "codex-turns" else _CLAUDE)
    line = json.dumps(record, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")

    plain = Reading(name, Path(), Path()).decode

    assert repr(told(name, plain, line)) == repr(told(name, decoder(name), line))


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
    plain, quick = Reading(name, Path(), Path()).decode, decoder(name)
    for _ in range(50):
        at = dice.randrange(len(whole))
        line = whole[:at] + dice.choice([b"", b"\xff", b'"', b"\\", b"\0", b"{", b"NaN", b"9"]) + whole[at + 1 :]

        assert repr(told(name, plain, line)) == repr(told(name, quick, line))
