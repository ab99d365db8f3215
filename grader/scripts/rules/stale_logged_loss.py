"""The log line stands before the loss is computed: it shows the loss of the step before."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading

_LOGGING = (
    *("print", "log", "info", "debug", "write", "add_scalar", "append", "set_postfix", "set_description"),
    *("log_dict", "log_metrics", "update", "set_postfix_str"),
)


def _logged(block: list[ast.stmt], until: int, name: str) -> ast.Call | None:
    """Return a logging call before a statement of a block that reads a name bound only there."""
    for statement in block[:until]:
        for below in ast.walk(statement):
            if isinstance(below, ast.stmt) and name in _reading.bound(below):
                return None
        for call in _reading.calls(statement, *_LOGGING):
            if _reading.reads(call, name):
                return call
    return None


def _find(facts: Facts) -> Iterator[Finding]:
    for file in _reading.files(facts):
        for loop in _reading.nodes(file, *_reading.LOOPS):
            assert isinstance(loop, ast.For | ast.AsyncFor | ast.While)
            count = sum(_reading.runs_in(loop, one, file) for one in facts.of(BackwardRan))
            if not count:
                continue
            for number, statement in enumerate(loop.body):
                names = [
                    (name, one.lineno)
                    for one in ([statement] if not isinstance(statement, ast.With) else statement.body)
                    for name in _reading.bound(one)
                    if "loss" in _reading.words(name)
                ]
                for name, line in names:
                    call = _logged(loop.body, number, name)
                    if call is None:
                        continue
                    yield Finding(
                        place=_reading.at(file, call),
                        sentence=Said(
                            f"이 줄이 `{name}` 값을 계산하기 전에 있어서, 이번 스텝이 아니라 앞 스텝의 손실을 적어요.",
                            f"This line stands before `{name}` is computed, so it logs the loss of the step before.",
                        ),
                        evidence=Said(
                            f"읽어 보니 `{name}` 값은 같은 반복의 {line}번째 줄에서야 새로 정해져요. "
                            f"지켜보는 동안 이 반복문의 `backward()`는 {count}번이었어요.",
                            f"From reading: `{name}` is only computed on line {line} of the same round; the "
                            f"loop ran backward() {count} times while watched.",
                        ),
                        mend=Said(
                            "기록을 손실을 계산한 다음으로 옮기세요.", "Log after the loss is computed."
                        ),
                    )
                    break


RULE = Rule(
    id="stale-logged-loss",
    severity="warning",
    title=Said("앞 스텝의 손실을 기록해요", "The logged loss is that of the step before"),
    lesson="02_loop_anatomy",
    find=_find,
)
