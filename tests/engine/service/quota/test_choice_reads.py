"""What a choice of an account reads: it is made before each run, and waited for."""

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Model, PoolMember
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.service.quota.choose import candidates
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.sessions import copied_history
from oulipoly_engine.store.transcripts import entries

ACCOUNTS, ROLES = ("a", "b", "c"), st.sampled_from(("user", "assistant"))
AT, MINUTE = datetime(2026, 11, 22, 12, tzinfo=UTC), timedelta(minutes=1)


def test_no_history_is_read_where_use_alone_tells_of_an_alert(quota):
    now = quota.clock.now()
    with quota.store.write():
        for name, used in {"plenty": 0.7, "spent": 0.95}.items():
            windows = Window(0, used, now + timedelta(hours=3)), Window(1, 0.1, now + timedelta(hours=9))
            quotas.save(quota.store, QuotaState(name, windows, now))
        windows = (Window(0, 0.95, now - timedelta(hours=1)),)
        quotas.save(quota.store, QuotaState("reset", windows, now - timedelta(hours=2)))
        quota.store.execute("DROP TABLE readings")
    names = ("plenty", "spent", "reset")

    pool = candidates(quota.store, Model("m", tuple(map(PoolMember, range(3), names))), now)

    assert {"plenty": False, "spent": True, "reset": False} == {each.account: each.has_alert for each in pool}


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_turns_of_a_pool_are_counted_as_those_of_each_account(quota, data):
    minutes, store = st.integers(0, 6), quota.store
    with store.write():
        for table in ("account_quotas", "session_turns", "copied_history"):
            store.execute(f"DELETE FROM {table}")
        for name in ACCOUNTS:
            if (read := data.draw(st.none() | minutes)) is not None:
                quotas.save(store, QuotaState(name, (), AT + read * MINUTE))
            for number, (minute, role) in enumerate(data.draw(st.lists(st.tuples(minutes, ROLES), max_size=5))):
                line = EntryLine("s1", f"{name}{number}", to_text(AT + minute * MINUTE), role)
                entries.insert_new(store, name, [line], AT)
            for copied in data.draw(st.lists(minutes, max_size=2)):
                copied_history.mark(store, name, "s1", "other", to_text(AT + copied * MINUTE))
    read_at = {name: state.refreshed_at for name, state in quotas.states(store, ACCOUNTS).items()}

    counted = entries.assistant_turns_since_reading(store, ACCOUNTS)

    expected = {name: entries.assistant_turns_since(store, name, at) for name, at in read_at.items() if at}
    assert expected == {name: counted.get(name, 0) for name in expected}
    assert counted.keys() <= expected.keys()
