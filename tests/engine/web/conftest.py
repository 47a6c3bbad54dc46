"""The server's app over an engine of a home without anything, and a server over a demo world."""

import threading

import pytest

from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.serve import start

OWNER = ("view", "answer", "operate")


def pair(engine, *scopes, name="a test"):
    """Return the token of a new device."""
    return engine.web.redeem(engine.web.make_code(name, scopes).code, name, "here").token


def bearer(token):
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def engine(home):
    """An engine of a home without anything."""
    made = Engine()
    yield made
    made.close()


@pytest.fixture
def app(engine):
    """The app, as it is served at port 8787 of this computer."""
    return make_app(engine, Serving(port=8787))


@pytest.fixture(scope="session")
def openapi():
    """The OpenAPI document, which is the same for every engine: half a second to make. Nobody changes it."""
    return make_app(None).openapi()


@pytest.fixture
def client_of(app, client_for):
    """Return a client of the app that sends headers."""

    def make(headers):
        return client_for(app, "http://localhost:8787", headers=headers, follow_redirects=False)

    return make


@pytest.fixture
def browse(app, client_of):
    """Return a client: without a device, or with one of the scopes given."""

    def make(*scopes, **headers):
        return client_of((bearer(pair(app.state.engine, *scopes)) if scopes else {}) | headers)

    return make


@pytest.fixture
def served(live):
    """A server over a demo world, in this process; its address."""
    server = start(live.engine, address="127.0.0.1", port=0)
    with server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join(60)
            assert not thread.is_alive()
