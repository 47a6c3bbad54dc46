"""Session files of versions 0 to 3: real ones of pi and damaged ones, against what an own reader says of each.

Conversation tree, vectors 26 to 28. The files lie beside this repository, in ../shared, or in $SHARED_DIR.
"""

import hashlib
import io
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.sessions.tree import build
from oulipoly_engine.core.transcripts.canonical import LongLine
from oulipoly_engine.core.transcripts.session_file.decode import decode
from oulipoly_engine.core.transcripts.session_file.encode import LEAF_MARK, encode, encode_for_pi
from oulipoly_engine.core.transcripts.session_file.entry import Header, SessionEntry
from oulipoly_engine.core.transcripts.session_file.words import PIS
from oulipoly_engine.errors import StorageUnsupported
from oulipoly_engine.records import replace

SHARED = Path(os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[5] / "shared")
FIXTURES = SHARED / "fixtures" / "sessions"
REAL = sorted(path for path in FIXTURES.glob("pi-*/*.jsonl"))
DAMAGED = sorted(FIXTURES.glob("damaged/*.jsonl"))
needs_fixtures = pytest.mark.skipif(not REAL, reason="no real session files: neither ../shared nor $SHARED_DIR has any")


def at(second):
    return f"2026-11-20T12:00:{second:02}.000000Z"


def read(path):
    with path.open("rb") as file:
        return decode(file, "stem", at(0))


def of_text(text, **arguments):
    return decode(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **arguments)


def known(entries):
    """Return entries without what tells of the line that they came from."""
    return [replace(entry, line=0, record=None) for entry in entries]


def objects(lines):
    return [json.loads(line) for line in lines]


def is_plain(entry):
    """Tell whether the own reader takes the same for its text: it names blocks of other types, and no commands."""
    content = entry.record.get("message", entry.record).get("content")
    return isinstance(content, str) or {"text"} == {block["type"] for block in content or []}


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@pytest.mark.parametrize("path", REAL)
def test_real_files_hold_what_the_own_reader_says(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    file = read(path)
    tree = build(file.entries)
    is_old = expected["version"] == 1
    names = {entry.id: f"line{entry.line}" if is_old else entry.id for entry in file.entries}
    context = [names[entry.id] for entry in tree.context()]

    def ids(places):
        return [names[tree.entries[place].id] for place in places]

    assert (expected["version"], expected["entries"]) == (file.header.version, len(file.entries))
    assert expected["by_type"] == Counter(entry.kind for entry in file.entries)
    roles = Counter(PIS.roles.get(entry.role, entry.role) for entry in file.entries if entry.kind == "message")
    assert expected["messages_by_role"] == roles
    assert expected["leaf"] == names[tree.entries[tree.leaf].id]
    assert expected["path_of_leaf"] == [names[step.id] for step in tree.path_to(tree.leaf)]
    assert expected["depth_of_leaf"] == tree.depths[tree.leaf]
    assert (expected["roots"], expected["orphans"]) == (ids(tree.roots), ids(tree.orphans))
    points = {names[tree.entries[place].id]: ids(tree.children[place]) for place in tree.branch_points()}
    assert expected["branch_points"] == points
    assert sorted(expected["tips"]) == sorted(ids(tree.tips()))
    assert (expected["labels"], expected["name"]) == (tree.labels(), tree.name())
    assert expected["tool_calls"] == sum(entry.tool_calls for entry in file.entries)
    assert expected["bad_lines"] == [problem.line for problem in file.problems if "header" not in problem.text]
    on_path = {entry.id for entry in tree.path_to(tree.leaf)}
    compactions = [entry for entry in file.entries if entry.kind == "compaction"]
    assert [(row["id"], row["firstKept"], row["on_leaf_path"]) for row in expected["compactions"]] == [
        (names[entry.id], entry.refers_to, entry.id in on_path) for entry in compactions
    ]
    assert list(dict.fromkeys(row["id"] for row in expected["context"])) == context
    texts = {names[entry.id]: entry.text for entry in tree.context() if is_plain(entry)}
    assert {row["id"]: row["sha256_12"] for row in expected["context"] if row["id"] in texts} == {
        entry_id: digest(text) for entry_id, text in texts.items()
    }


@pytest.mark.parametrize("path", [path for path in REAL if path.stem != "long"])
def test_files_go_out_as_they_came_even_through_version_2(path):
    file = read(path)
    leaf = file.entries[-1].id
    again = decode(encode(file.header, file.entries))
    for_pi = objects(encode_for_pi(file.header, file.entries, leaf))

    assert for_pi == objects(encode_for_pi(again.header, again.entries, leaf))
    if file.header.version == 3:
        assert objects(line for line in path.read_bytes().split(b"\n") if line[-1:] == b"}") == for_pi


# Of the file that was damaged there are 16 entries, one root, and ten entries on the path of the leaf.
@pytest.mark.parametrize(
    ("name", "counts", "problems", "is_usable"),
    [
        ("bad_line_is_entry", (15, 2, 10), ["line 7: it is not JSON"], True),
        ("bad_line_mid", (16, 1, 10), ["line 6: it is not JSON"], True),
        ("bom", (16, 1, 10), [], True),
        ("child_before_parent", (16, 1, 10), [], True),
        ("crlf", (16, 1, 10), [], True),
        ("cycle", (16, 1, 10), [], True),
        ("empty", (0, 0, 0), [], False),
        (
            "header_second_line",
            (16, 1, 10),
            ["line 1: it is not the header", "line 2: the header is not the first line"],
            False,
        ),
        ("header_without_id", (16, 1, 10), ["line 1: the header has no id"], False),
        ("idless_v1", (15, 1, 15), ["line 1: the header has no id"], False),
        ("json_not_object", (16, 1, 10), [f"line {number}: it is not a JSON object" for number in (6, 7, 8)], True),
        ("kept_id_not_on_path", (17, 1, 11), [], True),
        ("missing_id", (17, 1, 11), ["line 18: it has no id"], True),
        ("no_final_newline", (16, 1, 10), [], True),
        ("null_line_last", (16, 1, 10), ["line 18: it is not a JSON object"], True),
        ("orphan_parent_line_missing", (15, 2, 10), [], True),
        ("self_parent", (17, 2, 1), [], True),
        ("torn_tail", (15, 1, 9), ["line 17: it is cut off"], True),
        ("unknown_block", (16, 1, 10), [], True),
        ("unknown_role", (17, 1, 11), [], True),
        ("unknown_type_mid", (17, 1, 10), [], True),
        ("version_string", (16, 1, 10), ["line 1: the header's version is a text"], True),
    ],
)
def test_damaged_files_lose_no_entry_and_say_what_is_wrong(name, counts, problems, is_usable):
    if not DAMAGED:
        pytest.skip("no damaged session files")
    file = read(FIXTURES / "damaged" / f"{name}.jsonl")
    tree = build(file.entries)

    assert counts == (len(file.entries), len(tree.roots), len(tree.path_to(tree.leaf)))
    assert (problems, is_usable) == ([problem.sentence for problem in file.problems], file.is_usable)
    assert known(file.entries) == known(decode(encode(file.header, file.entries)).entries)


@needs_fixtures
def test_there_is_a_row_for_each_damaged_file():
    rows = test_damaged_files_lose_no_entry_and_say_what_is_wrong.pytestmark[0].args[1]

    assert {path.stem for path in DAMAGED} == {row[0] for row in rows} | {"version_4"}


HEADER = '{"type":"session","version":2,"id":"s","created_at":1795471807453,"cwd":"/w"}\n'


@pytest.mark.parametrize(
    ("header", "version"),
    [('"version":99', "99"), ('"version":4', "4"), ('"version":"7"', "7"), (f'"version":{10**30}', str(10**30))],
)
def test_a_newer_version_is_refused_and_both_are_named(header, version):
    with pytest.raises(StorageUnsupported, match=rf"version {version}, .* writes version 2"):
        of_text(f'{{"type":"session","id":"s",{header}}}\n')


@pytest.mark.parametrize("version", ["-1", "null", "true", "2.5", "[]", '"two"'])
def test_a_version_that_is_none_makes_the_header_unusable(version):
    file = of_text(f'{{"type":"session","id":"s","version":{version}}}\n{{"id":"a","parentId":null}}\n')

    assert (False, ["a"], 1) == (file.is_usable, [entry.id for entry in file.entries], file.problem_count)


def test_bare_messages_become_a_line_of_entries_with_ids_that_stay():
    text = "".join(f'{{"role":"{role}","content":"{role} says"}}\n' for role in ("user", "assistant", "user"))
    file = of_text(text, session_id="s0", modified_at=at(7))
    first, second, third = file.entries
    again = decode(encode(file.header, file.entries))

    assert (0, "s0", True) == (file.header.version, file.header.id, file.is_usable)
    assert [None, first.id, second.id] == [entry.parent_id for entry in file.entries]
    assert 3 == len({first.id, second.id, third.id})
    assert ("assistant", "assistant says", at(7)) == (second.role, second.text, second.at)
    assert (2, "s0", True) == (again.header.version, again.header.id, again.is_usable)
    assert known(file.entries) == known(again.entries)
    assert of_text(text, session_id="s0", modified_at=at(7)) == file


def test_version_1_gets_parents_new_names_of_roles_and_what_a_compaction_keeps_by_its_id():
    rows = [
        {"type": "session", "id": "s"},
        *({"type": "message", "id": name, "message": {"role": "hookMessage", "content": name}} for name in "abc"),
        {"type": "compaction", "id": "d", "summary": "sum", "firstKeptEntryIndex": 3},
        {"type": "compaction", "id": "e", "summary": "sum", "firstKeptEntryIndex": 0},
    ]
    file = of_text("".join(f"{json.dumps(row)}\n" for row in rows))
    line = json.loads([*encode(file.header, file.entries)][1])

    assert (1, [None, "a", "b", "c", "d"]) == (file.header.version, [entry.parent_id for entry in file.entries])
    assert ["custom", "c", None] == [file.entries[0].role, file.entries[3].refers_to, file.entries[4].refers_to]
    assert {"id": "a", "parent_id": None, "message": {"role": "custom", "content": "a"}, "metadata": {}} == line


def test_version_2_is_written_in_its_own_words():
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10}
    call = {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}
    message = {"role": "assistant", "model": "m", "stopReason": "stop", "usage": usage, "content": [call]}
    image = {"type": "image", "mimeType": "image/png", "data": ""}
    result = {"role": "toolResult", "toolName": "ls", "toolCallId": "c", "isError": False, "content": [image]}
    rows = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-20T12:00:01.000Z", "parentSession": "p"},
        {"type": "message", "id": "a", "parentId": None, "timestamp": "2026-11-20T12:00:02.500Z", "message": message},
        {"type": "message", "id": "b", "parentId": "a", "timestamp": "yesterday", "message": result},
        {"type": "label", "id": "l", "parentId": "b", "targetId": "a", "label": "x"},
    ]
    file = of_text("".join(f"{json.dumps(row)}\n" for row in rows))
    header, first, second, label = objects(encode(file.header, file.entries))

    assert ("p", 1, 10) == (file.header.parent_session, file.entries[0].tool_calls, file.entries[0].tokens)
    assert (
        {"type": "session", "version": 2, "id": "s", "created_at": 1795176001000, "cwd": "", "parent_session": "p"}
    ) == header
    assert {"id", "parent_id", "timestamp", "message", "metadata"} == first.keys()
    assert (1795176002500, "m", "stop", 3, 10) == (
        first["timestamp"],
        first["message"]["model_id"],
        first["message"]["stop_reason"],
        first["message"]["usage"]["cache_read"],
        first["message"]["usage"]["total"],
    )
    assert {**call, "type": "tool_call"} == first["message"]["content"][0]
    assert ("tool_result", "ls", "image/png", "yesterday") == (
        second["message"]["role"],
        second["message"]["tool_name"],
        second["message"]["content"][0]["media_type"],
        second["timestamp"],
    )
    assert ("label", "a", "x") == (label["kind"], label["target_id"], label["label"])


def test_lines_end_at_lf_alone_and_half_characters_come_back_as_escapes():
    said = "a\u2028b\x85c\u2029d"
    row = '{"id":"1","parent_id":null,"message":{"role":"user","content":"%s \\ud83d\\u0000"},"timestamp":1}\n'
    (entry,) = of_text(HEADER + row % said).entries
    lines = b"".join(encode(Header("s", 2), [entry]))

    assert f"{said} \ud83d\0" == entry.text
    assert (2, True) == (lines.count(b"\n"), rb"\ud83d\u0000" in lines)
    assert entry.text == of_text(lines).entries[0].text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id":"2","parent_id":"1","x":NaN}\n', "it is not JSON"),
        (b"[" * 100_000 + b"\n", "it is not JSON"),
        (b'{"id":"2","n":' + b"1" * 5000 + b"}\n", "it is not JSON"),
        (b'{"id":"2","pa', "it is cut off"),
        (b'"text"\n', "it is not a JSON object"),
        (b'{"type":"session","id":"x"}\n', "it is a second header"),
        (LongLine(5000), "it is longer than transcript_line_limit_mb of config.toml allows"),
    ],
)
def test_a_bad_line_is_told_and_the_others_are_read(line, problem):
    first = b'{"id":"1","parent_id":null,"message":{"role":"user","content":"hi"}}\n'
    file = decode([HEADER.encode(), first, line])

    assert ([f"line 3: {problem}"], ["1"]) == (
        [problem.sentence for problem in file.problems],
        [entry.id for entry in file.entries],
    )


def test_bytes_that_are_no_text_are_told_and_the_rest_of_their_line_is_kept():
    file = of_text(HEADER.encode() + b'{"id":"1","message":{"role":"user","content":"a\xffb \xef\xbf\xbd"}}\n')

    assert (["line 2: it holds bytes that are not UTF-8"], "a\ufffdb \ufffd") == (
        [problem.sentence for problem in file.problems],
        file.entries[0].text,
    )


def test_only_the_first_thousand_problems_are_kept_and_all_are_counted():
    file = decode([HEADER.encode(), *[b"bad\n"] * 1500])

    assert (1000, 1500) == (len(file.problems), file.problem_count)


STORED = [
    SessionEntry("live/s/1", None, role="user", text="one", at=at(1)),
    SessionEntry("live/s/2", "live/s/1", role="assistant", text="two", at=at(2)),
    SessionEntry("live/s/3", "live/s/2", role="tool_result", text="three", at=at(3)),
    SessionEntry("00000004", "live/s/2", "compaction", at=at(4), text="sum", refers_to="live/s/1"),
    SessionEntry("5", "live/s/3", "label", at=at(5), text="here", refers_to="live/s/2"),
    SessionEntry("6", "5", "model_change", at=at(6), text="provider/model"),
    SessionEntry("7", "6", "future", at=at(7), text="what"),
    SessionEntry("8", "7", "session_info", at=at(8), text="name"),
]


def test_entries_from_elsewhere_are_written_with_all_that_is_known_of_them():
    again = decode(encode(Header("s", 2, at(0), "/w", "p"), STORED))

    assert Header("s", 2, at(0), "/w", "p") == again.header
    assert STORED == known(again.entries)


@pytest.mark.parametrize("leaf", ["live/s/2", "5", "8", "00000004", None])
def test_pi_goes_on_at_the_leaf_with_ids_of_its_own_form(leaf):
    file = decode(encode_for_pi(Header("s", 2, at(0), "/w"), STORED, leaf))
    tree = build(file.entries)
    path = build(STORED).move_leaf(leaf)
    said = [entry.text for entry in path.context()]
    message = file.entries[1].record["message"]

    assert (3, True) == (file.header.version, all(re.fullmatch("[0-9a-f]{8}", entry.id) for entry in file.entries))
    assert said == [entry.text for entry in tree.context()]
    assert ({"here"}, "name") == ({*tree.labels().values()}, tree.name())
    assert (0, "stop", 0) == (message["usage"]["cost"]["total"], message["stop_reason"], message["usage"]["total"])
    assert "custom" == tree.entries[2].role  # a result whose call pi does not know would be refused by its provider
    assert len(STORED) == sum(entry.text != LEAF_MARK for entry in file.entries)
    assert [] == [tree.entries[place].text for place in tree.orphans]


NAMES = """type kind id parentId parent_id timestamp message role content text usage total input targetId label summary
firstKeptEntryId firstKeptEntryIndex command output provider modelId metadata user assistant toolCall compaction session
model_change custom_message version 2026-11-20T12:00:00Z \ud83d"""
WORDS = st.sampled_from(NAMES.split())
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-1, 5), st.floats(allow_nan=False, allow_infinity=False), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=6)),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=5))
def test_any_json_lines_are_read_and_go_out_in_both_versions_without_loss(values):
    lines = [json.dumps(value).encode() + b"\n" for value in values]
    try:
        file = decode(lines, "s", at(0))
    except StorageUnsupported:
        return
    expected = [value for value in values if isinstance(value, dict) and value.get("type") != "session"]
    tree = build(file.entries)

    assert len(expected) == len(file.entries)
    assert known(file.entries) == known(decode(encode(replace(file.header, id="s"), file.entries)).entries)
    again = decode(encode_for_pi(file.header, tree.without_rings(), file.entries[-1].id if expected else None))
    assert [entry.text for entry in file.entries] == [entry.text for entry in again.entries if entry.text != LEAF_MARK]
