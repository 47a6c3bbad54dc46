"""Schemas and answers, read by a process of its own whose time and memory are limited.

A short schema can take for ever: thirty `$ref` that each lead twice to the next are 10^9 steps. Run as a module.
"""

from __future__ import annotations

import resource
from typing import Any

from oulipoly_engine.core.agents.schema import AnswerInvalid, parse_answer, parse_schema, read_answer, read_schema
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.process import worker_process
from oulipoly_engine.process.worker_process import WorkerProcess
from oulipoly_engine.records import Record, msgspec, prepare

_MODULE = "oulipoly_engine.facade.agents.answer_schema"
_PROCESSOR_S = 5
_MEMORY_BYTES = 2 << 30
_TOO_MUCH = "to check it takes too long, or too much memory: say it with fewer `$ref`"


class _Question(Record):
    schema: str
    answer: str | None = None  # None: only the schema is in question
    processor_s: int = _PROCESSOR_S


class _Verdict(Record):
    problem: str = ""


def check_schema(data: bytes, processor_s: int = _PROCESSOR_S) -> dict[str, Any]:
    """Return a schema that answers can be checked against. Raises UsageInvalid, which says what is wrong."""
    schema = parse_schema(data)
    question = _Question(data.decode("utf-8", "replace"), processor_s=processor_s)
    problem = _ask(question, f"the schema cannot be used: {_TOO_MUCH}")
    if problem:
        raise UsageInvalid(problem)
    return schema


def check_answer(text: str, schema: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the schema says
    """Return the value of an answer, as `read_answer`. Raises AnswerInvalid."""
    question = _Question(msgspec.json.encode(schema).decode(), text)
    problem = _ask(question, f"the answer was not checked against the schema: {_TOO_MUCH}")
    if problem:
        raise AnswerInvalid(problem)
    return parse_answer(text)


def _ask(question: _Question, otherwise: str) -> str:
    """Return what is wrong; empty: nothing. otherwise: what is said where nothing comes back. Raises SpawnFailed."""
    with WorkerProcess(_MODULE, msgspec.json.encode(question)) as worker:
        frame = worker.next()
    return otherwise if frame is None else msgspec.json.decode(frame, type=prepare(_Verdict)).problem


def _judge(question: _Question) -> _Verdict:
    try:
        schema = read_schema(question.schema.encode())
        if question.answer is not None:
            read_answer(question.answer, schema)
    except RunnerError as error:
        return _Verdict(error.message)
    return _Verdict()


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    question = msgspec.json.decode(worker_process.read_order(), type=prepare(_Question))
    resource.setrlimit(resource.RLIMIT_CPU, (question.processor_s, question.processor_s))
    worker_process.answer(msgspec.json.encode(_judge(question)))


if __name__ == "__main__":
    _main()
