"""The loss is put into a new tensor: it asks for gradients, but no graph leads from it to the model."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 3


def without_gradients(facts: Facts, backward: BackwardRan) -> bool:
    """Return True if forwards came before a backward since the one before, all of them without gradients."""
    ran = []
    for event in reversed(facts.events[: backward.serial]):
        if isinstance(event, BackwardRan):
            break
        if isinstance(event, ForwardRan):
            ran.append(event)
    return bool(ran) and not any(one.grad for one in ran)


def _asking(facts: Facts) -> Place | None:
    """Return the only line that makes a tensor with `requires_grad=True`, such as `Variable(…)`; else None."""
    found = [
        _reading.at(file, call)
        for file in _reading.files(facts)
        for call in _reading.nodes(file, ast.Call)
        if isinstance(call, ast.Call) and _reading.called(call) != "Parameter"
        for word in call.keywords
        if word.arg == "requires_grad" and isinstance(word.value, ast.Constant) and word.value.value is True
    ]
    return found[0] if len(found) == 1 else None


def _in_part(facts: Facts) -> Iterator[Finding]:
    """Find losses one part of which is a new tensor, made of the values of tensors with graphs."""
    backwards = list(facts.of(BackwardRan))
    for place in dict.fromkeys(one.wrapped for one in backwards if one.cut):
        these = [one for one in backwards if one.cut and one.wrapped == place]
        if len(these) < _FEWEST:
            continue
        yield Finding(
            place=place,
            sentence=Said(
                "`torch.tensor(...)`는 값만 복사해서, 손실의 이 부분이 모델과 이어진 그래프를 끊어요. 이 부분은 "
                "아무것도 가르치지 못해요.",
                "torch.tensor(...) copies values only, which cuts this part of the loss from the model: it teaches "
                "nothing.",
            ),
            evidence=Said(
                f"`backward()` {len(these)}번의 손실에, 그래프가 있던 텐서 {these[-1].cut}개의 값을 복사한 새 텐서가 "
                "들어 있었어요.",
                f"{len(these)} backward passes began at a loss with a new tensor, into which the values of "
                f"{these[-1].cut} tensors with graphs were copied.",
            ),
            mend=Said(
                "`torch.tensor(...)` 대신 `torch.stack(...)`을 쓰세요.", "Use torch.stack(...) instead."
            ),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    whole = list(_whole(facts))
    yield from whole or _in_part(facts)


def _whole(facts: Facts) -> Iterator[Finding]:
    held = facts.held()
    backwards = list(facts.of(BackwardRan))
    for place in dict.fromkeys(one.place for one in backwards):
        these = [one for one in backwards if one.place == place]
        cut = [one for one in these if one.value is not None and not one.reached & held]
        if len(cut) < _FEWEST or len(cut) < len(these):
            continue
        steps = facts.steps()
        empty = sum(step.read_norm == 0 for step in steps)
        if any(one.root for one in cut) and (empty < max(_FEWEST, len(steps)) or cut[-1].wrapped is None):
            continue
        if all(without_gradients(facts, one) for one in cut):
            continue  # that is what cuts the loss from the model
        yield Finding(
            place=cut[-1].wrapped or _asking(facts) or place,
            sentence=Said(
                "손실을 새 텐서로 감싸서 모델과 이어진 그래프가 끊겨요. `backward()`는 조용히 끝나지만 "
                "어느 매개변수도 그레이디언트를 받지 못해요.",
                "The loss is wrapped into a new tensor, which cuts it from the model: backward() runs, and no "
                "parameter gets a gradient.",
            ),
            evidence=Said(
                f"`backward()` {len(these)}번이 모두 모델까지 이어지지 않는 텐서에서 시작했고, `step()` {empty}번이 "
                "읽을 그레이디언트를 찾지 못했어요.",
                f"All {len(these)} backward passes began at a tensor without a way to the model; {empty} "
                "steps found no gradient.",
            ),
            mend=Said(
                "`torch.tensor(...)`로 감싸지 말고 계산한 손실을 그대로 돌려주세요.",
                "Return the computed loss itself, without torch.tensor(...).",
            ),
        )


RULE = Rule(
    id="loss-rewrapped",
    severity="bug",
    title=Said("손실이 그래프에서 끊겨 있어요", "The loss is cut from its graph"),
    lesson="01_five_line_step/8_backward_graph",
    find=_find,
)
