"""The OpenAPI document is true: schemathesis asks whatever it allows, and reads every answer against it."""

import os

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.app import make_app

EXAMPLES = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 1  # of each operation; there are 50
ENDLESS = ("/events", "/sessions/{session_id}/events")


@pytest.fixture
def schema(home):
    """The document of an app, and a device's header."""
    engine = Engine()
    app = make_app(engine)
    made = engine.web.make_code("a judge", ("view", "answer", "operate")).code
    token = engine.web.redeem(made, "", "here").token
    headers = {"host": "localhost", "authorization": f"Bearer {token}"}
    yield schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers), headers
    engine.close()


def test_every_answer_is_as_the_document_says(schema):
    document, headers = schema
    asked = set()
    for result in document.get_all_operations():
        operation = result.ok()
        if operation.path in ENDLESS:
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(case=operation.as_strategy())
        def judge(case):
            case.headers = {**(case.headers or {}), **headers}
            response = case.call()
            checks = [not_a_server_error, status_code_conformance, content_type_conformance]
            case.validate_response(response, checks=[*checks, response_schema_conformance])

        judge()
        asked.add((operation.method, operation.path))

    assert len(asked) > 30
