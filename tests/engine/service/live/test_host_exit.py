"""How the end of a CLI is told."""

from oulipoly_engine.service.live.host import describe_exit


def test_last_words_have_no_colours_and_no_controls():
    said = describe_exit(3, ["\x1b[31mno network\x1b[0m", "a\x07b"])

    assert "the CLI ended with exit code 3: no network · a\u2407b" == said
