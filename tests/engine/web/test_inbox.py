"""The one inbox: a set-up's question is answered once, in any face, and the set-up goes on with the answer."""

import json
import re
import subprocess
import sys
import threading

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.setup.dialogs import Confirmation, Confirmed, Form, FormAnswer, FormField
from oulipoly_engine.core.setup.events import Agreement, Failure
from oulipoly_engine.errors import Declined, RequestRefused
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.service.setup.face import NobodyAnswers
from oulipoly_engine.service.setup.inbox import Inbox
from oulipoly_engine.store.live import live_requests

RUN = Agreement("command", "Run this command?", "npm ls", "to see")
SIZE = Form("A pool", (FormField("size", "Size", "number", required=True),))


class Waiting:
    """A face where nobody answers before somebody else has; `opened` is set once a question stands in the inbox."""

    def __init__(self):
        self.opened, self.ended, self.told = threading.Event(), threading.Event(), []

    def ask(self, _asked, look):
        while not self.ended.wait(0.02):
            look()
            self.opened.set()
        raise NobodyAnswers("the test is over")

    agree = ask

    def show(self, shown):
        self.told.append(shown)

    tell = show


class Set:
    """A set-up that asks one thing in a thread of its own."""

    def __init__(self, engine, asked):
        self.engine, self.face, self.asked, self.answer = engine, Waiting(), asked, None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        home = self.engine.web._home
        inbox = Inbox(self.face, home.lend_store, home.clock, "ann@desk")
        self.answer = (inbox.agree if isinstance(self.asked, Agreement) else inbox.ask)(self.asked)

    def __enter__(self):
        self.thread.start()
        assert self.face.opened.wait(60)
        return self

    def __exit__(self, error, *_more):
        if error is not None:
            self.face.ended.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

    @property
    def request(self):
        (request,) = self.engine.live.requests()
        return request


def by_command(_browse, request, decision, **answers):
    words = [f"{name}={text}" for name, text in answers.items()]
    assert 0 == main(["requests", decision, request.request_id[:14], *words, "--json"])


def by_rest(browse, request, decision, **answers):
    body = {"decision": decision, "answers": {name: [text] for name, text in answers.items()}}
    assert 200 == browse("view", "answer").post(f"/requests/{request.request_id}", json=body).status_code


def by_page(browse, request, decision, **answers):
    client, place = browse("view", "answer", accept="text/html", origin="http://localhost:8787"), "/requests"
    (seen,) = re.findall(r'name="seen" value="(\w+)"', client.get(place).text)
    fields = {"decision": decision, "seen": seen} | {f"other-{name}": text for name, text in answers.items()}
    assert 303 == client.post(f"{place}/{request.request_id}", data=fields).status_code


def by_app(_browse, request, decision, **answers):
    app = Engine(Surroundings(is_app=True))
    app.live.answer(request.request_id, decision, answers={name: (text,) for name, text in answers.items()})
    app.close()


FACES = pytest.mark.parametrize("answer_by", [by_command, by_rest, by_page, by_app])


@FACES
@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_set_up_goes_on_with_what_was_said_elsewhere(engine, browse, capfd, answer_by, decision):
    with Set(engine, RUN) as setup:
        answer_by(browse, setup.request, decision)

    assert (decision == "approve") is setup.answer
    assert () == engine.live.requests()


@FACES
def test_a_form_is_filled_in_elsewhere(engine, browse, capfd, answer_by):
    with Set(engine, SIZE) as setup:
        answer_by(browse, setup.request, "answer", size="3")

    assert FormAnswer("form", {"size": 3.0}) == setup.answer


def test_the_list_tells_who_asks(engine, capfd, browse):
    with Set(engine, RUN):
        assert 0 == main(["requests", "list", "--json"])
        (shown,) = json.loads(capfd.readouterr().out)["requests"]
        (served,) = browse("view").get("/requests").json()
        assert 0 == main(["requests", "list"])
        table = capfd.readouterr().out
        engine.live.answer(shown["id"], "approve", digest=shown["digest"])

    assert shown == served
    assert ("setup", None, "command_approval", "npm ls") == (
        *(shown[key] for key in ("origin", "session_id", "kind")),
        shown["prompt"]["command"],
    )
    assert "the set-up" in table


def test_whoever_is_second_learns_who_was_first(engine, browse):
    with Set(engine, RUN) as setup:
        request = setup.request
        engine.live.acting_as("ann's phone", is_person=True).answer(request.request_id, "approve")
        refused = browse("view", "answer").post(f"/requests/{request.request_id}", json={"decision": "deny"})

    assert True is setup.answer
    assert (409, "request-stale") == (refused.status_code, refused.json()["error"]["code"])
    assert "by ann's phone" in refused.json()["error"]["message"]


def test_an_answer_to_something_else_is_refused(engine):
    with Set(engine, RUN) as setup:
        with pytest.raises(RequestRefused, match="changed"):
            engine.live.answer(setup.request.request_id, "approve", digest="0" * 16)
        engine.live.answer(setup.request.request_id, "deny")

    assert False is setup.answer


def test_an_answer_that_does_not_fit_is_asked_for_again(engine):
    with Set(engine, SIZE) as setup:
        first = setup.request
        engine.live.answer(first.request_id, "answer", answers={"size": ("many",)})
        setup.face.opened.clear()
        assert setup.face.opened.wait(60)
        engine.live.answer(setup.request.request_id, "answer", answers={"size": ("3",)})

    assert FormAnswer("form", {"size": 3.0}) == setup.answer
    assert ["Size: 'many' is not a number"] == [
        told.message.partition(": ")[2] for told in setup.face.told if isinstance(told, Failure)
    ]


def test_the_state_file_keeps_no_secret_of_a_question_nor_what_was_answered(engine):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with Set(engine, Agreement("command", "Run it?", f"curl -H 'Authorization: Bearer {secret}'", "to see")) as setup:
        assert secret not in str(setup.request.prompt)
        engine.live.answer(setup.request.request_id, "approve")
    with Set(engine, SIZE) as setup:
        engine.live.answer(setup.request.request_id, "answer", answers={"size": ("3",)})

    assert FormAnswer("form", {"size": 3.0}) == setup.answer
    assert {} == last(engine).answers


class Here:
    """A face at which a person answers after one look, when somebody else may have answered."""

    def __init__(self, answer, meanwhile=lambda: None):
        self.answer, self.meanwhile = answer, meanwhile

    def ask(self, _asked, look):
        look()
        self.meanwhile()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    agree = ask

    def tell(self, _event):
        """Say nothing."""


def inbox_of(engine, face):
    return Inbox(face, engine.web._home.lend_store, engine.web._home.clock, "ann@desk")


def last(engine):
    return engine.live.requests(all_states=True)[0]


def test_what_is_said_at_the_set_up_is_told_in_the_inbox(engine):
    assert inbox_of(engine, Here(True)).agree(RUN)
    request = last(engine)

    assert ("answered", "approve", "ann@desk") == (request.status, request.decision, request.answered_by)


def test_the_first_answer_holds_where_both_come_at_once(engine):
    def meanwhile():
        engine.live.acting_as("ann's phone", is_person=True).answer(last(engine).request_id, "deny")

    assert not inbox_of(engine, Here(True, meanwhile)).agree(RUN)
    assert "ann's phone" == last(engine).answered_by


def test_why_it_was_denied_on_the_phone_is_told_to_the_set_up_s_agent(engine, browse):
    phone = browse("view", "answer")

    def meanwhile():
        assert 'name="reason"' in phone.get("/requests", headers={"accept": "text/html"}).text
        phone.post(f"/requests/{last(engine).request_id}", json={"decision": "deny", "reason": "use pnpm"})

    with pytest.raises(Declined, match="the user said no, and why: use pnpm"):
        inbox_of(engine, Here(True, meanwhile)).agree(RUN)
    assert {} == last(engine).answers


def test_a_question_that_is_not_waited_for_stands_in_no_inbox(engine):
    class AtOnce(Here):
        def ask(self, _asked, _look):
            return self.answer

    assert Confirmed("c", True) == inbox_of(engine, AtOnce(Confirmed("c", True))).ask(Confirmation("t", "m", "c"))
    assert () == engine.live.requests(all_states=True)


def test_a_set_up_that_ends_takes_its_question_back(engine):
    with pytest.raises(NobodyAnswers):
        inbox_of(engine, Here(NobodyAnswers("gone"))).agree(RUN)

    assert "cancelled" == last(engine).status


KILLED = """
import os, signal
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.setup.inbox import Inbox

class Face:
    def agree(self, asked, look):
        look()
        os.kill(os.getpid(), signal.SIGKILL)

home = Engine().web._home
Inbox(Face(), home.lend_store, home.clock, "ann").agree(Agreement("command", "Run it?", "ls"))
"""


def test_a_killed_set_up_asks_no_more(engine):
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert () == engine.live.requests()
    request = last(engine)

    assert ("expired", "the set-up has ended") == (request.status, request.answered_by)
    with pytest.raises(RequestRefused, match="expired already: the set-up has ended"):
        engine.live.answer(request.request_id, "approve")


def test_a_set_up_that_was_killed_before_it_read_the_answer_is_not_asked_again(engine):
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    with engine.web._home.lend_store() as store:
        (request,) = live_requests.pending(store)
        live_requests.settle(store, request.request_id, "answered", request.created_at, decision="approve")

    assert () == engine.live.requests()
    assert "approve" == last(engine).decision
