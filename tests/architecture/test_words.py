"""What users read has the product's words: one word for one thing, and the one that the field uses.

Held are the app's actions, every sentence of the engine, which help and manual are made of, the few words that stand
alone, and the forms of errors, of what was done and of the keys under a box. Keys of JSON, slugs, columns and options
are contracts and have no blank, which is how they are told apart.
"""

import ast
import re
from pathlib import Path

import pytest
from textual.fuzzy import Matcher

from oulipoly_engine.core.balance.decision import Method, describe_method
from oulipoly_engine.core.quota.forecast import Forecast, State, forecast_text
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.commands.palette import weigh

# Not: what we call it instead.
WRONG = {
    r"conversations?": "session",
    r"side ?chains?": "sub-agent session",
    r"bindings?": "limiting window, key",
    r"(in|below) band": "eligible, lower headroom",
    r"by (density|count)": "ranked by headroom, round robin",
    r"spent|unspent": "used, unused, exhausted",
    r"dry": "runs out",
    r"burned": "used",
    r"one-shots?": "run, prompt",
    r"elsewhere": "on another account",
    r"wants? you": "alert",
    r"deeds?": "action",
    r"REPL": "interactive session",
}

# Of sentences alone: the app's actions are found by such words as well.
WRONG_IN_SENTENCES = {word: way for word, way in WRONG.items() if word not in ("elsewhere", r"one-shots?")} | {
    r"chains?": "session",
    r"scores?|scored": "headroom",
    r"runs? dry|running dry": "runs out",
    r"seats?": "account",
}
# Contracts, each with what it says there.
EXCEPTIONS = {
    "cli/sessions/list.py": ("is:sidechain",),  # the query language, in saved views and scripts
    "cli/sessions/search.py": ("is:sidechain",),
    "core/commands/quota.py": ("who burned", "dry run"),  # what others call it: searches find it by them
    "core/commands/changes.py": ("dry run",),  # as above
    "core/runs/vendor_text.py": ("no conversation found",),  # Claude Code's own words
    "drivers/claude/results.py": ("No conversation found",),  # as above
    "store/transcripts/entries.py": ("from a previous conversation",),  # as above
}
ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "engine" / "oulipoly_engine"
APP = ROOT / "tui" / "oulipoly_tui"
OWN_DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
IS_NO = re.compile(
    r"(?<!here )\b(?:is|are) no (?!longer\b|unless\b)(?:[A-Za-z]|$)"
    r"|\b(?:takes?|puts?) (?:it|them|this) back\b"
)


OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ANY_WRONG = re.compile(rf"(?<![-_\w])({'|'.join(WRONG_IN_SENTENCES)})(?![-_\w])")


# What joins two parts of a text in a source, and a letter that stands for a blank: see `may_be_wrong`.
SEAM = re.compile(r"""["']\s*(?:#[^\n]*\n\s*)*[rf]*["']|\\\n""")
BLANK = re.compile(r"\\[a-z]")
MAY_BE_NO = re.compile(r"\b(?:is|are) no |\b(?:takes?|puts?) (?:it|them|this) back\b")


def may_be_wrong(source):
    """Tell whether a sentence of a source may be wrong, by its mere text: to parse all modules takes seconds."""
    text = BLANK.sub(" ", SEAM.sub("", source))
    return bool(ANY_WRONG.search(text) or MAY_BE_NO.search(text))


def sentences(file):
    """Every text of a module that has a blank in it; docstrings count where they are printed."""
    docstrings, is_printed = set(), file.name == "errors.py"
    for node in ast.walk(ast.parse(file.read_text())):
        kind = type(node)
        if kind in OWNERS:  # comes before what is in it
            first = node.body[0] if node.body else None
            docstrings.add(id(first.value) if isinstance(first, ast.Expr) else 0)
        is_text = kind is ast.Constant and isinstance(node.value, str) and " " in node.value
        if is_text and (is_printed or id(node) not in docstrings):
            yield node.value


def find_wrong(text):
    return ANY_WRONG.findall(text)


def test_no_sentence_has_a_home_made_word_and_an_error_says_is_not_a_and_undo_is_the_one_word():
    files = [file for folder in (ENGINE, APP) for file in folder.rglob("*.py") if may_be_wrong(file.read_text())]
    told = [(file, text) for file in files for text in sentences(file)]
    wrong = {
        (file.relative_to(ENGINE).as_posix(), text)
        for file, text in told
        if file.is_relative_to(ENGINE)  # the app's own are its actions, below
        and find_wrong(text)
        and not re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|FROM|JOIN)\b", text)
    }
    told += [(page, line) for page in OWN_DOCS for line in page.read_text().splitlines()]

    unexpected = {(file, text) for file, text in wrong if not any(part in text for part in EXCEPTIONS.get(file, ()))}
    assert set() == unexpected, "see WRONG_IN_SENTENCES for the word to say"
    assert [] == [(file.name, text) for file, text in told if IS_NO.search(text)]


WRONG_SOURCES = ['"a deed"', '"a de" "ed"', '"a\\ndeed"', 'f"that is no {a}"', '("it is "  # why\n  f"no b")']


@pytest.mark.parametrize("source", WRONG_SOURCES)
def test_no_wrong_sentence_is_left_out(source):
    assert may_be_wrong(f"text = {source}")


@pytest.mark.parametrize("page", ["man/agents.1", "docs/commands.md"])
def test_neither_the_manual_nor_the_list_of_commands_has_one(page):
    lines = (ROOT / page).read_text().replace("\\-", "-").splitlines()

    assert [] == [line for line in lines if find_wrong(line)]


def test_states_and_ways_of_choosing_are_told_in_the_product_s_words():
    words = [*(forecast_text(Forecast(state)) for state in State), *(describe_method(method, "") for method in Method)]

    assert [] == [word for word in words if find_wrong(word)]


@pytest.mark.parametrize("wrong", WRONG)
def test_no_action_is_told_in_a_home_made_word(wrong):
    told = [
        (action.id, text)
        for action in ACTIONS
        for text in (action.label, action.description, action.does.summary)
        if re.search(rf"\b({wrong})\b", text)
    ]

    assert [] == told, f"say {WRONG[wrong]!r}"


def names(*, destroying):
    return [
        name for one in ACTIONS if one.destroys is destroying for name in (one.label, *one.synonyms, *one.label.split())
    ]


def find_greatest_weight(matcher, *, destroying):
    """The weight of what the palette lists first of those actions, 0 where none of them fits."""
    return max(
        weigh(matcher, action.description if action.keys else action.usage, action)[0]
        for action in ACTIONS
        if action.destroys is destroying
    )


def destroys_first(word):
    """Tell whether the palette lists an action that destroys first: the others are asked of where such one fits."""
    matcher = Matcher(word)
    weight = find_greatest_weight(matcher, destroying=True)
    return weight > 0 and weight >= find_greatest_weight(matcher, destroying=False)


def test_no_action_that_destroys_is_first_for_an_innocent_word():
    words = {*names(destroying=False)} - {*names(destroying=True)}

    assert len(words) > 100
    assert [] == sorted(filter(destroys_first, words))


def first_texts(*, of, under=APP, besides=()):
    """The first argument of each call of a name, as written; what is put in at run time is {}."""
    for file in under.rglob("*.py"):
        source = file.read_text()
        if of not in source or any(part in file.parts for part in besides):
            continue
        for node in ast.walk(ast.parse(source)):
            name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", None))
            if isinstance(node, ast.Call) and name == of and node.args:
                for one in (node.args[0].body, node.args[0].orelse) if is_choice(node.args[0]) else node.args[:1]:
                    parts = one.values if isinstance(one, ast.JoinedStr) else [one]
                    text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
                    yield f"{file.name}:{node.lineno}", text


def is_choice(node):
    return isinstance(node, ast.IfExp)


def test_the_keys_under_a_box_are_told_as_key_and_verb():
    told = [(place, text) for place, text in first_texts(of="link") if not text.startswith("{}")]

    assert len(told) > 20
    assert [] == [(place, text) for place, text in told if not re.fullmatch(r"\S[^:]*: \S.*", text)]


def test_what_a_toast_says_is_a_sentence():
    told = list(first_texts(of="say", besides=["linear"]))

    assert len(told) > 30
    assert [] == [(place, text) for place, text in told if text[:1].islower()]
