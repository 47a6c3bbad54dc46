"""`report`: sums by day, session, model, account, project and window, with their value at the vendors' prices."""

import csv
import io
import json
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price

from oulipoly_engine.adapters import price_list
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.ledger.calls import Place, Tokens
from oulipoly_engine.core.ledger.prices import Rate, rate_at
from oulipoly_engine.core.ledger.report import Share, value_of


@pytest.fixture
def configured(bench, home):
    """A configuration whose accounts own the bench's transcripts, and one with a script of its own."""
    folder = home / ".config" / "oulipoly-agent-runner"
    folder.mkdir(parents=True)
    (folder / "providers.toml").write_text('[claude]\n[codex]\n[twin]\n[own]\ncommand = "x"\n')
    (folder / "sessions.toml").write_text(
        f'[claude]\nturn_script = "claude-code-turns {bench.claude.folder}"\n'
        f'[codex]\nturn_script = "codex-turns {bench.codex.folder}"\n'
        f'[twin]\nturn_script = "codex-turns {bench.codex.folder}"\n'
        '[own]\nturn_script = "my-turns ~/x"\n'
    )
    return folder


def document(agents, *arguments):
    done = agents("report", "--json", *arguments)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def test_sums_by_account_are_the_truth(agents, bench, configured):
    told = document(agents, "--by", "account")

    found = {row["account"]: (row["calls"], row["input"], row["output"], row["cache_read"]) for row in told["rows"]}
    truth = {
        name: (calls, tokens.input, tokens.output, tokens.cache_read) for name, (calls, tokens) in bench.truth().items()
    }
    assert truth == found


def test_accounts_without_a_ledger_say_why(agents, configured):
    reasons = document(agents)["without_ledger"]

    assert ["own", "twin"] == sorted(reasons)
    assert "codex" in reasons["twin"]


@pytest.mark.parametrize("by", ["day", "session", "model", "account", "project"])
def test_rows_of_every_kind_add_up_to_the_total(agents, configured, by):
    told = document(agents, "--by", by)

    for name in ("calls", "input", "output", "cache_read", "cache_write", "total"):
        assert told["total"][name] == sum(row[name] for row in told["rows"])


def test_a_second_report_reads_nothing_and_says_the_same(agents, configured):
    first, second = agents("report"), agents("report")

    assert (0, first.stdout) == (second.returncode, second.stdout)


def test_csv_holds_the_same_rows(agents, configured):
    told = document(agents, "--by", "project")

    rows = list(csv.DictReader(io.StringIO(agents("report", "--csv", "--by", "project").stdout.decode())))

    assert [(row["project"], str(row["total"])) for row in told["rows"]] == [
        (row["project"], row["total"]) for row in rows
    ]


def test_filters_and_dates_narrow(agents, configured):
    everything = document(agents, "--by", "account")["total"]["calls"]

    parts = [document(agents, "--cli", cli)["total"]["calls"] for cli in CLIS]

    assert everything == sum(parts)
    assert 0 == document(agents, "--until", "2026-11-01")["total"]["calls"]
    assert 0 == document(agents, "--since", "2026-12-01T00:00:00Z")["total"]["calls"]
    assert everything == document(agents, "--since", "2026-11-09", "--until", "2026-11-11")["total"]["calls"]


def test_a_wrong_date_is_refused_with_an_example(agents, configured):
    done = agents("report", "--since", "yesterday")

    assert 2 == done.returncode
    assert b"`2026-11-20T08:00:00Z`" in done.stderr
    assert 0 == agents("report", "--since", "Fri 08:00").returncode


def test_own_prices_come_first_and_an_unknown_model_is_unknown(agents, bench, configured):
    file = next(path for path in bench.files() if "session-1" in path.name)
    file.write_bytes(file.read_bytes().replace(b"claude-opus-4-5", b"home-made").replace(b'"id":"msg_', b'"id":"msg_x'))
    before = {row["model"]: row["api_value_usd"] for row in document(agents, "--by", "model")["rows"]}
    (configured / "prices.toml").write_text("[home-made]\ninput = 1.0\noutput = 2.0\n")

    after = {row["model"]: row["api_value_usd"] for row in document(agents, "--by", "model")["rows"]}

    assert before["home-made"] is None
    assert after["home-made"] > 0
    assert before["claude-opus-4-5"] == after["claude-opus-4-5"] > 0


def test_nobodys_price_shows_as_unknown_and_never_as_nothing(agents, bench, configured):
    for file in bench.files():
        file.write_bytes(file.read_bytes().replace(b"gpt-5.2-codex", b"nobody-knows"))

    shown = agents("report", "--by", "model", "--cli", "codex").stdout.decode()

    assert shown.splitlines()[1].endswith("unknown")


@pytest.mark.parametrize("model", ["claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "gpt-5.2-codex"])
@pytest.mark.parametrize("tokens", [Tokens(900, 80, 70_000, 4_000, 1_500), Tokens(1_000, 9, 250_000, 30_000, 0)])
def test_values_are_those_of_the_list_itself(model, tokens):
    rates = price_list.rates([model])[model]
    thresholds = (0, *sorted({rate.above_input for rate in rates if rate.above_input}))
    size = tokens.input + tokens.cache_read + tokens.cache_write
    share = Share(
        Place("a", "c", "s", "p", model, False), 1_795_000_000_000, max(t for t in thresholds if t < size), 1, tokens
    )
    usage = Usage(
        input_tokens=size,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        cache_write_1h_tokens=tokens.cache_write_1h,
    )

    try:
        expected = calc_price(usage, model_ref=model).total_price
    except (ValueError, AttributeError, TypeError):  # a list without a price for hours prices all writes alike
        pytest.skip("the list has no such price")

    assert round(expected, 9) == round(Decimal(value_of(share, {model: rates})), 9)


def test_a_rate_holds_from_its_day_on():
    rates = [Rate(1, 1), Rate(2, 2, from_ms=100), Rate(3, 3, from_ms=100, above_input=10)]

    assert [1, 2, 3, 2] == [rate_at(rates, at, above).input for at, above in [(99, 50), (100, 0), (100, 10), (200, 9)]]


def test_windows_that_were_never_read_are_the_last_hours(agents, bench, configured):
    told = document(agents, "--by", "window", "--account", "codex")

    assert [("5h-burst", "rolling"), ("weekly", "rolling")] == [(row["window"], row["source"]) for row in told["rows"]]
