"""The page switches notifications on, and the real service worker shows, answers and takes back what it is told.

No push service is asked: `PushManager.subscribe` is a stand-in, and the debugger brings the messages. The small
Chromium of this suite shows no notifications, so the worker's two functions for them are stand-ins, too.
"""

import pytest

from oulipoly_engine.core.checks.alerts import of_request
from oulipoly_engine.core.web import push

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

# The point that P-256 begins at: nobody reads what is encrypted for it.
POINT = "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"
KEYS = {"p256dh": POINT, "auth": "A" * 22}
SUBSCRIBE = """
PushManager.prototype.subscribe = async (asked) => {
  window.asked = asked.applicationServerKey;
  const made = { toJSON: () => ({ endpoint: "https://push.example.invalid/x", expirationTime: null, keys: KEYS }) };
  made.unsubscribe = async () => { PushManager.prototype.getSubscription = async () => null; return true; };
  PushManager.prototype.getSubscription = async () => made;
  return made;
};
"""
WORKER = """() => {
  self.shown = []; self.opened = [];
  registration.showNotification = async (title, more) => {
    self.shown = self.shown.filter((one) => one.tag !== more.tag).concat({ ...more, close() {
      self.shown = self.shown.filter((one) => one !== this);
    } });
  };
  registration.getNotifications = async ({ tag }) => self.shown.filter((one) => one.tag === tag);
  clients.openWindow = async (place) => { self.opened.push(place); };
}"""
TAP = """async (action) => {
  let done;
  const told = { notification: self.shown[0], action, waitUntil: (promise) => { done = promise; } };
  dispatchEvent(Object.assign(new Event("notificationclick"), told));
  await done;
}"""


@pytest.fixture
def worker(phone, server):
    """Switch notifications on as a person does; returns the worker, and what brings it a message."""
    phone.context.grant_permissions(["notifications"])
    phone.add_init_script(SUBSCRIBE.replace("KEYS", str(KEYS)))
    phone.reload()
    phone.get_by_role("button", name="Notify me on this device").tap()
    phone.get_by_role("button", name="Stop notifying this device").wait_for()
    debugger, known = phone.context.new_cdp_session(phone), []
    debugger.on("ServiceWorker.workerRegistrationUpdated", lambda told: known.extend(told["registrations"]))
    debugger.send("ServiceWorker.enable")
    server.until(lambda: phone.wait_for_timeout(20) or known)
    (real,) = phone.context.service_workers
    real.evaluate(WORKER)

    def deliver(message):
        target = {"origin": server.url, "registrationId": known[-1]["registrationId"]}
        debugger.send("ServiceWorker.deliverPushMessage", target | {"data": message.decode()})

    return real, deliver


def shown(worker):
    """Return what the worker shows: text, tag and buttons."""
    return worker.evaluate("shown.map((one) => [one.body, one.tag, one.actions.map((each) => each.title)])")


def test_a_notice_is_shown_answered_and_taken_back(phone, server, worker):
    real, deliver = worker
    engine = server.live.engine
    (one,) = engine.web.push.subscriptions()
    assert phone.evaluate("asked") == phone.evaluate("fetch('/me/push').then((answer) => answer.json())")["public_key"]
    request = server.live.request(server.live.begin("hello [[approve:rm -r build]]", runtime="demo-codex1"))
    line = of_request(request, "Tidy up").text

    def tell():
        deliver(
            push.tell_request(request, line, engine.web.make_request_token(request.request_id, one), may_approve=True)
        )
        server.until(lambda: shown(real))

    tell()
    assert [["Tidy up wants to run: rm -r build", request.request_id, ["Deny", "Allow"]]] == shown(real)
    real.evaluate(TAP, "")
    assert [f"/requests/{request.request_id}"] == real.evaluate("opened")
    assert [] == shown(real)
    tell()
    deliver(push.withdraw(request.request_id))
    server.until(lambda: not shown(real))
    tell()
    real.evaluate(TAP, "approve")
    answered = engine.live.find_request(request.request_id)
    assert (one.name, "approve") == (answered.answered_by, answered.decision)
    tell()
    real.evaluate(TAP, "deny")
    assert "Not answered: " in real.evaluate("shown[0].body")
    assert 0 == phone.evaluate("caches.keys().then((all) => all.length)")

    phone.get_by_role("button", name="Stop notifying this device").tap()
    phone.get_by_role("button", name="Notify me on this device").wait_for()
    assert () == engine.web.push.subscriptions()
    assert [] == phone.said


def test_a_browser_that_cannot_says_what_is_needed(phone):
    phone.add_init_script("delete window.PushManager")
    phone.reload()

    phone.get_by_text("This browser cannot notify you here.").wait_for()
    assert not phone.get_by_role("button", name="Notify me on this device").is_visible()
