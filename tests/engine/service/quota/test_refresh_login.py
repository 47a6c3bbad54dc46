"""The login refresh between a script's failure and its second try."""

from oulipoly_engine.service.quota.refresh import Kind

EMPTY = "echo '{\"windows\": []}'"
LIMITED = "echo 'my-usage: HTTP 429 from x; retry-after 600' >&2; exit 4"


def login(quota, body="exit 0"):
    return f"echo >> {quota.folder}/logins; {body}"


def logins(quota):
    counter = quota.folder / "logins"
    return len(counter.read_text()) if counter.exists() else 0


def test_a_failing_script_is_asked_again_after_one_login_refresh(quota):
    quota.answers("a", "exit 1", quota.windows(3), auth_refresh_command=login(quota))
    result = quota.refresh("a")

    assert (Kind.UPDATED, [0.03], 1, 2) == (
        result.kind,
        [window.used for window in result.windows],
        logins(quota),
        quota.calls("a"),
    )
    assert (None, 0) == (quota.attempts("a").last_failure, quota.attempts("a").failures_in_a_row)


def test_rubbish_is_a_failure_that_a_login_may_mend(quota):
    quota.answers("a", "echo '<html>login</html>'", quota.windows(3), auth_refresh_command=login(quota))

    assert (Kind.UPDATED, 1) == (quota.refresh("a").kind, logins(quota))


def test_an_empty_answer_where_windows_are_known_refreshes_the_login(quota):
    quota.answers("a", quota.windows(5), EMPTY, quota.windows(7), auth_refresh_command=login(quota))
    quota.refresh("a")

    assert [0.07] == [window.used for window in quota.refresh("a").windows]
    assert 1 == logins(quota)


def test_a_first_contact_that_is_empty_does_not(quota):
    quota.answers("a", EMPTY, auth_refresh_command=login(quota))

    assert (Kind.UPDATED, 0, 1) == (quota.refresh("a").kind, logins(quota), quota.calls("a"))


def test_a_failed_login_refresh_still_lets_the_script_try_again(quota):
    quota.answers("a", "exit 1", quota.windows(3), auth_refresh_command=login(quota, "exit 9"))

    assert (Kind.UPDATED, None) == (quota.refresh("a").kind, quota.refresh("a").text)


def test_when_both_fail_the_message_tells_of_both(quota):
    refused = login(quota, "echo 'grant has ended' >&2; exit 17")
    quota.answers("a", "echo expired >&2; exit 4", auth_refresh_command=refused)
    text = quota.refresh("a").text

    assert [] == [part for part in ("exit 4", "expired", "exit 17", "grant has ended") if part not in text]
    assert (1, 2) == (logins(quota), quota.calls("a"))


def test_a_login_refresh_that_worked_is_not_blamed(quota):
    quota.answers("a", "exit 1", "exit 5", auth_refresh_command=login(quota))
    text = quota.refresh("a").text

    assert "exit 5" in text
    assert "login refresh" not in text


def test_too_many_requests_is_no_matter_of_the_login(quota):
    quota.answers("a", LIMITED, auth_refresh_command=login(quota))
    quota.refresh("a")

    assert (0, 1) == (logins(quota), quota.calls("a"))
