"""A key that is held down asks more often than threads answer: one answer is under way, the newest wish waits."""

import threading
from functools import partial


async def test_of_many_wishes_one_is_under_way_and_the_newest_comes_last(app_world, running, settled):
    async with running((80, 24), panes=["pools"]) as (app, pilot):
        go_on, begun, came = threading.Event(), [], []

        def begin(number):
            begun.append(number)
            app.work("turn", go_on.wait, lambda _: came.append(number))

        for number in range(200):
            app.work_newest("turn", partial(begin, number))
        before = list(begun)
        go_on.set()
        await settled(pilot, lambda: not app.busy)

        assert [0] == before
        assert [0, 199] == begun == came
