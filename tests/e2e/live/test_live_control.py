"""Two who write to one session: nobody is kept from it, and each sees who else is there and who has taken over."""

import json
import time

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ClientsChanged, ControlChanged, TurnEnded, describe_control
from oulipoly_engine.facade.live import standing
from oulipoly_engine.service.live.hosts import OrderRefused

ANN, BEN = "Ann's phone", "ben@box (app on pts/1)"


def person(live, name):
    return live.live.acting_as(name, is_person=True)


class Watched:
    """A connection whose events are all kept."""

    def __init__(self, client):
        self.client, self.seen = client, []

    def until(self, is_it, within_s=60.0):
        """Return the first event that is meant, once it has come."""
        deadline = time.monotonic() + within_s
        while not (found := [one for one in self.seen if is_it(one.event)]):
            assert time.monotonic() < deadline, self.seen
            self.seen += self.client.wait(1.0)
        return found[0]

    def clients(self, is_it):
        """Return the first `ClientsChanged` that is meant."""
        return self.until(lambda event: isinstance(event, ClientsChanged) and is_it(event)).event


def test_control_goes_to_whoever_writes_and_is_told_once(live):
    session = live.begin()
    with person(live, ANN).connect(session) as ann, person(live, BEN).connect(session) as ben:
        watched = Watched(ann)
        ann.follow(0)
        ann.order(orders.AskClients(tell=True))
        ann.order(orders.Send("one"))
        watched.until(lambda event: isinstance(event, TurnEnded))
        ben.follow(0)
        beside = watched.clients(lambda event: BEN in event.attached)
        ben.order(orders.Send("two"))
        told = watched.until(lambda event: isinstance(event, ControlChanged))
        after = watched.clients(lambda event: event.controller == BEN)

    assert (ANN, "", BEN) == (beside.controller, beside.writer_beside(ANN), after.writer_beside(ANN))
    assert (1, ControlChanged(BEN, ANN)) == (beside.count_others(ANN), told.event)
    assert f"{BEN} has taken over from you" == describe_control(told.event, ANN)
    live.until(session, lambda event: isinstance(event, TurnEnded), after=told.seq)
    kept = [one for one in live.live.events(session, limit=500) if type(one.event) in (ControlChanged, ClientsChanged)]
    assert [(told.seq, told.event)] == [(one.seq, one.event) for one in kept]


def test_who_asks_late_is_told_how_it_stands(live):
    session = live.begin()
    with person(live, ANN).connect(session) as ann, person(live, BEN).connect(session) as ben:
        ann.follow(0)
        ann.order(orders.Send("one"))
        ben.follow(0)
        ben.order(orders.AskClients(tell=True))
        told = Watched(ben).clients(lambda _event: True)

    assert (ANN, (ANN, BEN)) == (told.controller, told.attached)


def test_commands_answers_and_looks_take_no_control(live):
    session = live.begin("[[approve:ls]] hello")
    request = live.request(session)
    assert "" == live.live.clients(session).controller
    person(live, ANN).send(session, "then this")
    before = live.live.clients(session)
    person(live, BEN).answer(request.request_id, "approve")
    live.live.send(session, "a script's")
    status = person(live, BEN).status(session)

    assert (ANN, BEN) == (before.controller, live.live.find_request(request.request_id).answered_by)
    assert before == status.clients
    assert () == status.clients.attached  # who only asks does not watch


def test_what_was_refused_takes_no_control(live):
    session = live.begin()
    with person(live, ANN).connect(session) as ann, person(live, BEN).connect(session) as ben:
        ann.order(orders.Rename("a name"))
        with pytest.raises(OrderRefused, match="no turn runs"):
            ben.order(orders.Interrupt())
        held = ANN == live.live.clients(session).controller
        ben.order(orders.Rename("another"))

    assert (True, BEN) == (held, live.live.clients(session).controller)


def test_a_server_s_connection_is_the_devices_that_watch_over_it(live):
    session = live.begin()
    with live.live.connect(session) as server:
        server.post(orders.AskClients((ANN, "a tablet")))
        server.follow(0)
        server.order(orders.AskStatus())
        names = live.live.clients(session).attached

    assert (ANN, "a tablet") == names


def test_commands_tell_it(live, capfd):
    def said(*words):
        assert 0 == main(["session", *words])
        return capfd.readouterr().out

    session = live.begin()
    for name in (ANN, BEN):
        person(live, name).order(session, orders.Rename("a name"), starts=False)
    told, shown = json.loads(said("status", session, "--json")), said("status", session)
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    lines = map(json.loads, said("follow", session, "--json").splitlines())

    assert (BEN, []) == (told["controller"], told["attached"])
    assert f"control:  {BEN} since 20" in shown
    assert [(BEN, ANN)] == [(one["by"], one["before"]) for one in lines if one["type"] == "control_changed"]
    assert f"[{BEN} has taken over from {ANN}]" in said("follow", session)


def test_a_host_of_an_earlier_release_says_nothing_of_it():
    class Old:
        def order(self, verb, **_more):
            raise OrderRefused({"slug": "invalid-argument", "message": f"there is no order {verb!r}"})

    assert ClientsChanged() == standing._ask_clients(Old())
