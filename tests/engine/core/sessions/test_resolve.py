from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.accounts.accounts import Model, PoolMember
from oulipoly_engine.core.sessions.resolve import (
    Chain,
    ModelChoice,
    Segment,
    choose_model,
    pool_refusal,
    resolve,
    resolve_typed,
    session_uuid,
)
from oulipoly_engine.errors import SessionAmbiguous, SessionIdInvalid, SessionNotFound

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"


def ago(hours):
    return NOW - timedelta(hours=hours)


def segment(account="a", session_id=SESSION, started=10, ended=None):
    return Segment(account, session_id, ago(started), None if ended is None else ago(ended))


def chain(chain_id="c1", used=1.0, segments=None, entries=0):
    return Chain(chain_id, "m", ago(used), (segment(),) if segments is None else tuple(segments), entries)


def test_id_is_taken_in_either_case():
    assert SESSION == session_uuid(SESSION.upper())


def test_an_id_of_opencode_is_taken_as_it_is():
    assert "ses_5f2cAbCd01" == session_uuid("ses_5f2cAbCd01")


@pytest.mark.parametrize(
    "text", ["", "x", SESSION[:-1], SESSION.replace("-", ""), f"{{{SESSION}}}", f"{SESSION}\n", "ses_abc", "٣" * 36]
)
def test_what_is_no_full_uuid_is_refused(text):
    with pytest.raises(SessionIdInvalid) as caught:
        session_uuid(text)

    assert {"input": text} == caught.value.extra


def test_nothing_that_owns_it_is_not_found():
    with pytest.raises(SessionNotFound) as caught:
        resolve(SESSION, [], NOW)

    assert {"input": SESSION} == caught.value.extra


def test_chain_without_segments_is_not_found():
    with pytest.raises(SessionNotFound):
        resolve("c1", [chain(segments=[])], NOW)


def test_one_owner_is_taken_however_old():
    assert "c1" == resolve(SESSION, [chain(used=10_000)], NOW).chain_id


def test_session_of_an_ended_segment_leads_to_the_active_one():
    moved = chain(segments=[segment("a", started=9, ended=5), segment("b", started=5), segment("c", started=7)])

    assert "b" == resolve(SESSION, [moved], NOW).account


def test_chain_with_nothing_active_leads_to_its_last_segment():
    closed = chain(segments=[segment("a", started=9, ended=8), segment("b", started=5, ended=1)])

    assert "b" == resolve(SESSION, [closed], NOW).account


def test_two_chains_in_use_are_ambiguous():
    with pytest.raises(SessionAmbiguous) as caught:
        resolve(SESSION, [chain("c1", 2, entries=7), chain("c2", 24)], NOW)

    header, newest, _oldest, hint = caught.value.message.splitlines()
    assert header.startswith("2 sessions have the id")
    assert newest.split() == ["c1", "last", "used", "2026-11-20T10:00:00.000000Z", "a", "7", "turns"]
    assert "one of these ids" in hint
    assert {"input": SESSION} == caught.value.extra


def test_clock_that_was_set_back_leaves_two_chains_in_use():
    with pytest.raises(SessionAmbiguous):
        resolve(SESSION, [chain("c1", -50), chain("c2", -60)], NOW)


@pytest.mark.parametrize(
    ("chains", "expected"),
    [
        pytest.param([chain("c1", 25), chain("c2", 2)], "c2", id="one in use"),
        pytest.param([chain("c1", 90), chain("c2", 80)], "c2", id="latest used"),
        pytest.param(
            [chain("c1", 90, [segment(started=3)]), chain("c2", 90, [segment(started=4)])], "c1", id="latest started"
        ),
        pytest.param([chain("c1", 90), chain("c2", 90)], "c2", id="chain id"),
    ],
)
def test_of_several_at_most_one_in_use_the_freshest_is_taken(chains, expected):
    assert expected == resolve(SESSION, chains, NOW).chain_id
    assert expected == resolve(SESSION, chains[::-1], NOW).chain_id


def test_beginning_of_an_id_is_enough_for_a_person():
    assert "c1" == resolve_typed(SESSION[:6].upper(), [chain()], NOW).chain_id


def test_beginning_of_two_ids_is_ambiguous_however_old():
    other = chain("c2", 900, [segment(session_id="5169ffff-de0f-40d1-890c-6e28e55bab27")])

    with pytest.raises(SessionAmbiguous):
        resolve_typed("5169", [chain(used=800), other], NOW)


def test_whole_id_goes_before_a_longer_one_that_begins_alike():
    short, long = chain("c1", 2, [segment(session_id="ses_1")]), chain("c2", 1, [segment(session_id="ses_12")])

    assert "c1" == resolve_typed("ses_1", [short, long], NOW).chain_id


def test_prefix_of_a_session_in_several_chains_follows_the_rule_for_whole_ids():
    assert "c2" == resolve_typed(SESSION[:8], [chain("c1", 90), chain("c2", 80)], NOW).chain_id


def test_a_session_of_ours_goes_before_a_file_of_its_name():
    assert SESSION == resolve_typed(SESSION, [chain("c1"), chain(SESSION)], NOW).chain_id


def test_too_short_a_beginning_finds_nothing():
    with pytest.raises(SessionNotFound, match="too short"):
        resolve_typed("516", [chain()], NOW)


@pytest.mark.parametrize(
    ("explicit", "invoked", "of_chain", "expected"),
    [
        pytest.param("x", "m", "m", ModelChoice("x"), id="asked for"),
        pytest.param(None, "m", "n", ModelChoice("m"), id="last run"),
        pytest.param(None, "<unknown>", "n", ModelChoice("n"), id="chain"),
        pytest.param(None, "<unknown>~process", "<unknown>", ModelChoice(None), id="a live session's of no pool"),
        pytest.param(None, "gone", "n", ModelChoice("n"), id="last run's is gone"),
        pytest.param(None, None, "<unknown>", ModelChoice(None), id="imported"),
        pytest.param(None, "gone", "gone too", ModelChoice(None, "gone"), id="both gone"),
        pytest.param(None, None, "gone", ModelChoice(None, "gone"), id="chain's is gone"),
    ],
)
def test_model_is_chosen_in_order(explicit, invoked, of_chain, expected):
    assert expected == choose_model(explicit, invoked, of_chain, {"m", "n"})


def test_account_outside_the_pool_is_refused_with_the_models_that_have_it():
    models = {name: Model(name, (PoolMember(0, account),)) for name, account in (("m", "a"), ("n", "b"))}

    assert pool_refusal(SESSION, "a", "m", models) is None
    text = pool_refusal(SESSION, "b", "m", models)
    assert {SESSION, "'b'", "'m'", "n"} <= set(text.replace(",", " ").replace(";", " ").split())
    assert "no model" in pool_refusal(SESSION, "c", "m", models)
