"""Rewriting the real CLIs' transcripts: what is not asked to change keeps its bytes, what is asked comes out."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.claude import active_entries
from oulipoly_engine.core.rewrite.draft_lines import raw_lines
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged, parse
from oulipoly_engine.core.rewrite.rewrite import read, rewrite
from oulipoly_engine.core.transcripts.canonical import Chunk, Origin, render
from oulipoly_engine.errors import ReplacementInvalid
from oulipoly_engine.records import replace

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "transcripts"
FILES = sorted(path for path in FOLDER.rglob("*.jsonl") if path.parts[len(FOLDER.parts)] in ("claude", "codex"))
NAMES = ["-".join([*path.parts[len(FOLDER.parts) :][:2], path.stem[-5:]]) for path in FILES]
EVERY = pytest.mark.parametrize("path", FILES, ids=NAMES)
QUICK = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


class Real:
    """A real transcript and its canonical records."""

    def __init__(self, path):
        is_claude = path.parts[len(FOLDER.parts)] == "claude"
        self.kind = StorageType.CLAUDE_CODE if is_claude else StorageType.CODEX_SESSION
        self.data = path.read_bytes()
        self.origin = Origin(path.stem[-36:], "acc", str(path))
        self.records = read(self.kind, self.data, self.origin).records
        self.wanted = keep_unchanged(self.records)
        self.entries = [one for one in self.wanted if not one.is_unsupported]

    def rewrite(self, wanted):
        return rewrite(self.kind, self.data, wanted, self.origin)

    def exported(self, data):
        return read(self.kind, data, self.origin).entries


def other_text(one, text):
    """Return a wanted entry with another text in its first chunk that has one."""
    place = next(place for place, chunk in enumerate(one.content) if chunk.text is not None)
    chunk = Chunk(one.content[place].type, text)
    return replace(one, content=(*one.content[:place], chunk, *one.content[place + 1 :]))


def has_text(one):
    return any(chunk.text is not None for chunk in one.content)


def objects(data):
    return [json.loads(line) for line in raw_lines(data)]


@EVERY
def test_what_was_exported_and_is_imported_again_is_the_same_bytes(path):
    real = Real(path)
    lines = b"".join(map(render, real.records))

    assert real.data == real.rewrite(parse(lines, real.origin.session_id, "acc")).data
    assert real.data == real.rewrite(real.entries).data


@EVERY
def test_changed_text_touches_lines_that_held_it_and_no_others(path):
    real = Real(path)
    place = max(place for place, one in enumerate(real.entries) if has_text(one))
    old = next(chunk.text for chunk in real.entries[place].content if chunk.text is not None)

    new = real.rewrite(
        [*real.entries[:place], other_text(real.entries[place], "Ω“new”\n"), *real.entries[place + 1 :]]
    ).data

    pairs = list(zip(raw_lines(real.data), raw_lines(new), strict=True))
    changed = [before for before, after in pairs if before != after]
    assert 1 <= len(changed) <= (1 if real.kind is StorageType.CLAUDE_CODE else 4)
    quoted = json.dumps(old, ensure_ascii=False).encode()
    assert all(before.replace(quoted, b"#") == after.replace('"Ω“new”\\n"'.encode(), b"#") for before, after in pairs)


@EVERY
@QUICK
@given(data=st.data())
def test_edits_removals_and_additions_are_exported_as_they_were_wanted(path, data):
    real = Real(path)
    fates = data.draw(st.lists(st.sampled_from("kkkedab"), min_size=len(real.entries), max_size=len(real.entries)))
    texts = st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=20)
    wanted = []
    for number, (one, fate) in enumerate(zip(real.entries, fates, strict=True)):
        if fate == "d":
            continue
        wanted.append(other_text(one, data.draw(texts)) if fate == "e" and has_text(one) else one)
        if fate in "ab":
            role = "user" if fate == "a" else "assistant"
            wanted.append(
                ReplacementRecord(0, f"new-{number}", role, one.timestamp, (Chunk("text", data.draw(texts)),))
            )
    try:
        new = real.rewrite(wanted)
    except ReplacementInvalid as error:
        assume("no turn would be left" not in error.message and "summary of a compaction" not in error.message)
        raise

    found = real.exported(new.data)
    assert [(one.role, one.timestamp, one.content) for one in wanted] == [
        (record.role, record.timestamp, record.content) for record in found
    ]
    if real.kind is StorageType.CLAUDE_CODE:
        followed = active_entries(objects(real.data))
        added = {one.entry_id for one in wanted if one.entry_id.startswith("new-")}
        kept = {one.entry_id for one in wanted if one.entry_id in followed}
        assert kept | added <= active_entries(objects(new.data))
    else:
        ordinals = [record["ordinal"] for record in objects(new.data) if "ordinal" in record]
        assert sorted(set(ordinals)) == ordinals
        assert len(ordinals) in (0, len(raw_lines(new.data)))


LINKS = ("parentUuid", "leafUuid", "logicalParentUuid")


@pytest.mark.parametrize("path", [path for path in FILES if "claude" in path.parts], ids=lambda path: path.stem[-5:])
def test_everything_that_is_no_turn_stays_when_all_turns_but_one_go(path):
    real = Real(path)

    def notes(data):
        """Return what is not an entry, without what links it to others."""
        found = (record for record in objects(data) if record["type"] not in ("user", "assistant"))
        return [{key: value for key, value in record.items() if key not in LINKS} for record in found]

    new = real.rewrite(real.entries[:1]).data

    assert notes(real.data) == notes(new)
    assert [real.entries[0].entry_id] == [record.entry_id for record in real.exported(new)]


def test_copy_for_the_screens_goes_and_comes_with_its_message():
    real = Real(next(path for path in FILES if "0.169.0" in path.parts))
    added = ReplacementRecord(0, "msg_new", "assistant", real.entries[-1].timestamp, (Chunk("text", "brand new"),))

    new = real.rewrite([*real.entries[:-2], added]).data

    assert b"third question" not in new
    assert 2 == new.count(b'"brand new"')


def test_text_that_a_compaction_kept_is_changed_there_too():
    path = next(path for path in FILES if "454e" in path.name)
    real = Real(path)
    place = next(place for place, one in enumerate(real.entries) if one.content == (Chunk("text", "before one"),))

    new = real.rewrite(
        [*real.entries[:place], other_text(real.entries[place], "elsewhere"), *real.entries[place + 1 :]]
    ).data

    assert b'"before one"' in real.data
    assert b'"before one"' not in new
    assert real.data.count(b'"before one"') == new.count(b'"elsewhere"')


def test_removed_message_is_taken_out_of_what_a_compaction_kept():
    real = Real(next(path for path in FILES if "454e" in path.name))
    kept = [one for one in real.entries if one.content != (Chunk("text", "before one"),)]

    new = real.rewrite(kept).data

    before, after = (
        next(record["payload"]["replacement_history"] for record in objects(data) if record["type"] == "compacted")
        for data in (real.data, new)
    )
    assert b'"before one"' not in new
    assert after == before[1:]
