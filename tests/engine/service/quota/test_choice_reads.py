"""What a choice of an account reads: it is made before each run, and waited for."""

from datetime import timedelta

from oulipoly_engine.core.accounts.accounts import Model, PoolMember
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.service.quota.choose import candidates
from oulipoly_engine.store.quota import quotas


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
