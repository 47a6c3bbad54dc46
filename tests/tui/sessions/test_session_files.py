"""The names of the files that several exports write at once."""

import pytest

from oulipoly_engine.core.sessions.sessions import Part
from oulipoly_engine.facade.sessions.values import file_names

AT = "2026-11-20T12:00:00Z"


def parts(*sessions):
    return [Part(account, session, AT, None) for account, session in sessions]


@pytest.mark.parametrize(
    ("sessions", "names"),
    [
        ([("a", "11111111-2222")], ("11111111.md",)),
        ([("a", "11111111-2222"), ("a", "33333333-2222")], ("11111111.md", "33333333.md")),
        (
            [("a", "019a0000-1"), ("a", "019a0000-2"), ("a", "3333")],
            ("019a0000-1.md", "019a0000-2.md", "3333.md"),
        ),
        ([("a", "11111111-2222"), ("b", "11111111-2222")], ("11111111-2222-a.md", "11111111-2222-b.md")),
        ([("a", "ses_AbC"), ("b", "ses_abc")], ("ses_AbC-a.md", "ses_abc-b.md")),
        ([("a", "../../etc"), ("a", "x/y")], ("etc.md", "x-y.md")),
    ],
    ids=["one", "two", "one-beginning", "moved-copies", "case", "hostile"],
)
def test_no_two_files_have_one_name(sessions, names):
    found = file_names(parts(*sessions), "md")

    assert len({name.casefold() for name in found}) == len(sessions)
    assert names == found


def test_a_name_never_leads_out_of_the_folder():
    found = file_names(parts(("../b", "../../etc/passwd"), ("../b", "/..")), "md")

    assert not [name for name in found if "/" in name or name.startswith(".")]
