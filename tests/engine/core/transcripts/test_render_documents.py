"""Documents for people, to the character, and what hostile text cannot do to them."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from oulipoly_engine.core.transcripts import render_html, render_markdown
from oulipoly_engine.core.transcripts.dialogue import EVERYTHING, TALK, Entry, Findings, Kind, Part
from oulipoly_engine.core.transcripts.document_head import Head, Origin, split_fences

AT = "2026-11-21T04:19:00.126Z"
FOUND = Findings(models=["opus"], workspaces=["/srv/app"], first_at=AT, last_at=AT, entries=2)
HEAD = Head("5169694d-de0f-40d1-890c-6e28e55bab27", "claude1", Origin.TRANSCRIPT, FOUND, EVERYTHING, 3, "claude-opus")
TALKED = (
    Entry(
        "user",
        AT,
        (
            Part(Kind.TEXT, "Please:\n```python\nprint('<b>')\n```\nand `x<y>`"),
            Part(Kind.IMAGE, "9 bytes", "image/png"),
        ),
    ),
    Entry("assistant", AT, (Part(Kind.THINKING, "hmm"), Part(Kind.CALL, "command: ls", "Bash")), model="opus"),
    Entry("assistant", AT, (Part(Kind.RESULT, "a ``` b", is_error=True),), continues=True),
)
HOSTILE = (
    "<script>alert(1)</script>",
    "</details></section></main><img src=x onerror=alert(1)>",
    "<!-- swallow",
    '"><svg/onload=alert(1)>',
    "&lt;script&gt; & &amp;",
    "```\n</pre></code><script>alert(1)</script>",
    "`</code><script>x</script>`",
    "````html\n```\n<b>\n````",
    "<style>body{display:none}</style>",
    "```<script>\nx\n```",
)


def document(renderer, entries=TALKED, head=HEAD):
    number, text = 0, renderer.head(head)
    for entry in entries:
        number += not entry.continues
        text += "".join(renderer.entry(entry, number))
    return text + renderer.foot()


def test_markdown_to_the_character():
    assert """# Conversation 5169694d

- **Session:** `5169694d-de0f-40d1-890c-6e28e55bab27`
- **Account:** claude1
- **Model:** claude-opus (opus)
- **Workspace:** `/srv/app`
- **From:** 2026-11-21 04:19:00 UTC
- **To:** 2026-11-21 04:19:00 UTC
- **Messages:** 2
- **Read from:** the CLI's transcript
- **Secrets:** 3 redacted

---

## 1. User · 2026-11-21 04:19:00 UTC

Please:
```python
print('<b>')
```
and `x<y>`

*Image: image/png, 9 bytes*

---

## 2. Assistant · 2026-11-21 04:19:00 UTC · opus

<details><summary>Thinking</summary>

```
hmm
```

</details>

<details><summary>Bash</summary>

```
command: ls
```

</details>

<details><summary>Result (failed)</summary>

````
a ``` b
````

</details>
""" == document(render_markdown)


def test_html_body_to_the_character():
    body = document(render_html).partition("<main>\n")[2]

    assert (
        """<section class="user" id="turn-1">
<h2>1. User <small>2026-11-21 04:19:00 UTC</small></h2>
<div class="said">Please:</div>
<pre><code class="language-python">print('&lt;b&gt;')</code></pre>
<div class="said">and <code>x&lt;y&gt;</code></div>
<p class="note">Image: image/png, 9 bytes</p>
</section>
<section class="assistant" id="turn-2">
<h2>2. Assistant <small>2026-11-21 04:19:00 UTC · opus</small></h2>
<details><summary>Thinking</summary>
<pre>hmm</pre>
</details>
<details><summary>Bash</summary>
<pre>command: ls</pre>
</details>
</section>
<section class="assistant more">
<details class=failed><summary>Result (failed)</summary>
<pre>a ``` b</pre>
</details>
</section>
</main>
</body>
</html>
"""
        == body
    )


class Tags(HTMLParser):
    """Collects what a browser would see as tags, and complains about those that do not fit."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_comment(self, data):
        raise AssertionError(data)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", list(Kind))
def test_hostile_text_stays_text_in_html(text, kind):
    entry = Entry("user", text, (Part(kind, text, text, is_error=True),), model=text, is_sidechain=True)
    tags = Tags()

    tags.feed(document(render_html, (entry,)))
    tags.close()

    ours = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "small", "dl", "dt", "dd", "main", "section"}
    assert tags.seen <= ours | {"div", "pre", "code", "details", "summary", "p"}
    assert [] == tags.open


def test_html_names_nothing_outside_itself():
    text = document(render_html)

    assert not re.search(r"https?:|src=|href=|<script|@import|url\(", text)
    assert "default-src 'none'" in text
    assert "color-scheme: light dark" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_swallows_nothing_of_a_markdown_document(text):
    after = Entry("assistant", AT, (Part(Kind.TEXT, "the end"),))

    shown = document(render_markdown, (Entry("user", AT, (Part(Kind.TEXT, text), Part(Kind.RESULT, text))), after))

    outside = "".join(piece for language, piece in split_fences(shown) if language is None)
    bare = re.sub(r"`[^`\n]*`", "", outside)
    assert {"<details>", "<summary>", "</summary>", "</details>"} >= set(re.findall(r"<[^\s>]*>?", bare))
    assert "## 2. Assistant" in outside
    assert outside.endswith("the end\n")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a\n```\nb\n```\nc", [(None, "a\n"), ("", "b"), (None, "c")]),
        ("~~~py x\nb\n```\n~~~", [("py", "b\n```")]),
        ("```\nnever closed", [("", "never closed")]),
        ("no fence", [(None, "no fence")]),
        ("````\n```\n````", [("", "```")]),
        ("", []),
    ],
)
def test_fences_are_found(text, pieces):
    assert pieces == list(split_fences(text))


def test_long_line_of_backticks_takes_no_long_time():
    text = "`````````x" * 20_000 + "``x```y````z" * 5_000

    assert document(render_html, (Entry("user", AT, (Part(Kind.TEXT, text),)),))


@pytest.mark.parametrize(
    "head", [HEAD, Head("id", "a", Origin.STATE, Findings(damaged=9, damaged_lines=[1, 2]), TALK, None)]
)
def test_head_says_how_many_secrets_are_out_and_what_else_is_missing(head):
    rows = dict(head.rows())

    assert rows["Secrets"].startswith("3 redacted" if head.secrets else "not redacted")
    assert ("Unreadable" in rows) == bool(head.findings.damaged)
    assert ("Left out" in rows) == (head.wanted is TALK)


LIVE = "<img src=y onerror=alert(8)>"


def rendered(text):
    """Return what CommonMark with HTML makes of an exported answer."""
    shown = "".join(render_markdown.entry(Entry("assistant", AT, (Part(Kind.TEXT, text),)), 1))
    return MarkdownIt("commonmark", {"html": True}).render(shown)


@pytest.mark.parametrize(
    "text",
    [
        rf"\`{LIVE}\`",
        rf"\\\`{LIVE}`",
        rf"\``a` {LIVE} `",
        f"a ` b\nc ` {LIVE} ` d",
        f"<https://a`> {LIVE} `",
        f"{'`' * 9} ` {'`' * 9} {LIVE} `",
    ],
    ids=["escaped", "escaped after a backslash", "escaped run", "two lines", "link", "long run"],
)
def test_tag_behind_backticks_that_begin_no_code_is_not_obeyed(text):
    assert "<img" not in rendered(text)


def test_tag_in_code_is_shown_as_it_is():
    assert "&lt;img" in rendered(rf"\\`{LIVE}` and ``{LIVE}\``")
    assert "&amp;lt;" not in rendered(rf"\\`{LIVE}` and ``{LIVE}\``")


@given(st.lists(st.sampled_from(["`", "``", "\\", "a", " ", "\n", "\n\n", LIVE, "<https://a", ">"]), max_size=14))
def test_no_mixture_of_backticks_lets_a_tag_through(pieces):
    assert "<img" not in rendered("".join(pieces))
