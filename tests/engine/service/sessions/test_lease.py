import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.errors import LeaseGone, LeaseTokenInvalid, RunnerError, SessionBusy, TtlInvalid
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
OTHER = "6169694d-de0f-40d1-890c-6e28e55bab27"
STRANGER = "pause_" + "0" * 32


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def leases(tmp_path, clock):
    return Leases(tmp_path / "data" / "locks", clock)


def names(leases):
    return sorted(path.name for path in leases.folder.iterdir())


def mode(path):
    return path.stat().st_mode & 0o777


def test_lease_file_holds_a_hash_and_belongs_to_its_owner_alone(leases, clock):
    lease = leases.acquire(SESSION, "acc", 2_000)

    document = json.loads(lease.path.read_bytes())
    keys = ["version", "session_id", "provider_name", "token_hash", "created_at", "expires_at", "owner_pid"]
    assert keys == list(document)
    assert re.fullmatch("sha256:[0-9a-f]{64}", document["token_hash"])
    assert lease.token not in lease.path.read_text()
    assert to_text(clock.now() + timedelta(seconds=2)) == document["expires_at"]
    assert (0o700, 0o600, 0o600) == (mode(leases.folder), mode(lease.path), mode(leases.folder / "sentinel.lock"))


def test_tokens_differ_and_have_their_shape(leases):
    tokens = {leases.acquire(session, "acc").token for session in (SESSION, OTHER)}

    assert 2 == len(tokens)
    assert all(re.fullmatch("pause_[0-9a-f]{32}", token) for token in tokens)


def test_live_lease_keeps_others_out_and_tells_until_when(leases):
    lease = leases.acquire(SESSION, "acc")

    with pytest.raises(SessionBusy) as caught:
        leases.acquire(SESSION, "acc")
    held = json.loads(lease.path.read_bytes())
    assert {"token": held["token_hash"][7:], "expires_at": held["expires_at"]} == caught.value.extra
    assert leases.acquire(OTHER, "acc")


def test_lease_ends_at_its_instant_and_goes_to_the_next(leases, clock):
    old = leases.acquire(SESSION, "acc", 1_000)
    clock.advance(0.999)
    with pytest.raises(SessionBusy):
        leases.acquire(SESSION, "acc")
    clock.advance(0.001)

    new = leases.acquire(SESSION, "acc", 1_000)

    with pytest.raises(LeaseTokenInvalid):
        leases.release(SESSION, old.token)
    assert leases.live(SESSION).expires_at == new.expires_at


def test_release_twice_with_one_token_tells_when_it_was(leases, clock):
    token = leases.acquire(SESSION, "acc").token
    first = leases.release(SESSION, token)
    clock.advance(5)

    again = leases.release(SESSION, token)

    assert (False, True) == (first.was_released, again.was_released)
    assert first.released_at == again.released_at
    assert ["sentinel.lock", f"session-{SESSION}.released"] == names(leases)


def test_expired_lease_is_released_as_a_live_one(leases, clock):
    token = leases.acquire(SESSION, "acc", 1).token
    clock.advance(60)

    assert not leases.release(SESSION, token).was_released


def test_new_lease_forgets_the_release_before_it(leases):
    old = leases.acquire(SESSION, "acc")
    leases.release(SESSION, old.token)
    new = leases.acquire(SESSION, "acc")

    assert ["sentinel.lock", f"session-{SESSION}.lock"] == names(leases)
    with pytest.raises(LeaseTokenInvalid):
        leases.release(SESSION, old.token)
    leases.release(SESSION, new.token)
    with pytest.raises(LeaseTokenInvalid):
        leases.release(SESSION, old.token)


def test_stranger_s_token_leaves_the_lease_as_it_is(leases):
    lease = leases.acquire(SESSION, "acc")
    before = lease.path.read_bytes()

    with pytest.raises(LeaseTokenInvalid):
        leases.release(SESSION, STRANGER)
    assert before == lease.path.read_bytes()


@pytest.mark.parametrize(
    "token", ["", "pause_", "pause_" + "0" * 31, "pause_" + "A" * 32, " " + STRANGER, STRANGER + "\n"]
)
def test_token_of_another_shape_is_refused_and_creates_nothing(leases, token):
    with pytest.raises(LeaseTokenInvalid):
        leases.release(SESSION, token)
    assert not leases.folder.exists()


def test_nothing_to_release_creates_nothing(leases):
    with pytest.raises(LeaseGone):
        leases.release(SESSION, STRANGER)
    assert not leases.folder.parent.exists()


def test_other_session_s_lease_is_nothing_to_release(leases):
    lease = leases.acquire(OTHER, "acc")

    with pytest.raises(LeaseGone):
        leases.release(SESSION, lease.token)


@pytest.mark.parametrize("ttl_ms", [0, -1, 600_001])
def test_lifetime_out_of_bounds_is_refused_before_anything(leases, ttl_ms):
    with pytest.raises(TtlInvalid):
        leases.acquire(SESSION, "acc", ttl_ms)
    assert not leases.folder.exists()


def _changed(document, **changes):
    return json.dumps(document | changes).encode()


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"\xff\xfe", id="no text"),
        pytest.param(lambda _: b"[]", id="a list"),
        pytest.param(lambda _: b"[" * 100_000, id="depth"),
        pytest.param(lambda document: _changed(document, version=2), id="version"),
        pytest.param(lambda document: _changed(document, session_id=OTHER), id="another session"),
        pytest.param(lambda document: _changed(document, expires_at="soon"), id="no instant"),
        pytest.param(lambda document: _changed(document, expires_at="2000-01-01T00:00:00"), id="no zone"),
        pytest.param(lambda document: _changed(document, token_hash="sha256:1"), id="no hash"),
        pytest.param(lambda document: _changed(document, owner_pid=None), id="no owner"),
    ],
)
def test_lease_that_cannot_be_understood_is_kept_and_named(leases, spoil):
    lease = leases.acquire(SESSION, "acc", 1)
    content = spoil(json.loads(lease.path.read_bytes()))
    lease.path.write_bytes(content)

    for attempt in (
        lambda: leases.acquire(SESSION, "acc"),
        lambda: leases.release(SESSION, lease.token),
        lambda: leases.live(SESSION),
    ):
        with pytest.raises(RunnerError, match="cannot be understood") as caught:
            attempt()
        assert (1, "operational-error") == (caught.value.exit_code, caught.value.slug)
    assert content == lease.path.read_bytes()


def test_clock_set_back_keeps_the_lease_and_its_token(leases, clock):
    token = leases.acquire(SESSION, "acc", 1_000).token
    clock.jump(-86_400)

    with pytest.raises(SessionBusy):
        leases.acquire(SESSION, "acc")
    assert not leases.release(SESSION, token).was_released


def test_clock_set_forward_ends_the_lease_early(leases, clock):
    leases.acquire(SESSION, "acc", 600_000)
    clock.jump(86_400)

    assert leases.live(SESSION) is None
    assert leases.acquire(SESSION, "acc")


def test_folder_that_was_open_to_others_is_closed(leases):
    leases.folder.mkdir(parents=True, mode=0o755)
    leases.acquire(SESSION, "acc")

    assert 0o700 == mode(leases.folder)


def test_left_over_part_of_a_killed_writer_is_replaced(leases):
    leases.folder.mkdir(parents=True)
    left = leases.folder / f"session-{SESSION}.lock.tmp"
    left.write_bytes(b"half a lea")

    leases.acquire(SESSION, "acc")

    assert not left.exists()


def test_folder_that_cannot_be_made_is_an_operational_error(leases):
    leases.folder.parent.write_text("a file")

    with pytest.raises(RunnerError, match="leases cannot be kept") as caught:
        leases.acquire(SESSION, "acc")
    assert "operational-error" == caught.value.slug


def test_block_gives_its_lease_back_whatever_happens_in_it(leases):
    with suppress(ZeroDivisionError), leases.hold(SESSION, "acc"):
        assert leases.live(SESSION)
        raise ZeroDivisionError

    assert leases.live(SESSION) is None


def test_block_that_outlived_its_lease_leaves_the_next_holder_s_alone(leases, clock):
    with leases.hold(SESSION, "acc", 1):
        clock.advance(1)
        theirs = leases.acquire(SESSION, "acc")

    assert theirs.expires_at == leases.live(SESSION).expires_at


DIES = """
import os, signal, sys
from pathlib import Path
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.testing import FakeClock

leases = Leases(Path(sys.argv[1]), FakeClock())
with leases.hold(sys.argv[2], "acc"):
    os.kill(os.getpid(), getattr(signal, sys.argv[3]))
"""


def die_holding(leases, name="SIGKILL", source=DIES):
    subprocess.run([sys.executable, "-c", source, str(leases.folder), SESSION, name], check=False)
    assert leases.path(SESSION).exists()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_lease_that_was_held_ends_with_a_process_that_dies(leases, name):
    die_holding(leases, name)

    assert leases.live(SESSION) is None
    with leases.hold(SESSION, "acc"):
        assert os.getpid() == leases.live(SESSION).owner_pid


def test_lease_that_was_given_out_outlives_its_process(leases):
    taken = DIES.replace("with leases.hold(", "if leases.acquire(")
    die_holding(leases, source=taken)

    assert leases.live(SESSION) is not None
    with pytest.raises(SessionBusy):
        leases.acquire(SESSION, "acc")


def test_lease_of_a_process_that_cannot_be_looked_at_stays(leases):
    die_holding(leases)
    path = leases.path(SESSION)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"owner_place": "another boot"}))

    assert leases.live(SESSION) is not None


def test_number_that_another_process_has_got_since_holds_nothing(leases):
    die_holding(leases)
    path = leases.path(SESSION)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"owner_pid": os.getpid()}))

    assert leases.live(SESSION) is None


def test_lease_that_is_held_keeps_others_out(leases):
    with leases.hold(SESSION, "acc"), pytest.raises(SessionBusy):
        leases.acquire(SESSION, "acc")
