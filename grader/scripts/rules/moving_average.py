"""A copy that follows its source as a moving average: it takes nearly all of the source, or it is trained, too."""

import ast
from collections.abc import Iterator

from grader.scripts.copy_events import CopyUpdated
from grader.scripts.facts import Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.things import ModuleFacts

_FEWEST, _KEEPS_LITTLE = 4, 0.1


def averages(facts: Facts, module: ModuleFacts) -> list[CopyUpdated]:
    """Return how a copy was mixed after the steps: shares of both that add up to one."""
    return [
        one
        for one in facts.of(CopyUpdated)
        if one.module == module.number and abs(one.kept + one.taken - 1) < 0.02 and 0.0005 < one.kept < 0.9995
    ]


def mixing_line(facts: Facts) -> Place | None:
    """Return the line that mixes the two: the first statement of a loop over two models' parameters."""
    for file in _reading.files(facts):
        for loop in _reading.nodes(file, ast.For):
            assert isinstance(loop, ast.For)
            if _reading.called(loop.iter) == "zip" and len(_reading.calls(loop.iter, "parameters")) == 2:
                return _reading.at(file, loop.body[0])
    return None


def _swapped(facts: Facts) -> Iterator[Finding]:
    for module in facts.modules:
        found = averages(facts, module)
        if len(found) < _FEWEST or any(one.kept > _KEEPS_LITTLE for one in found):
            continue
        last = found[-1]
        yield Finding(
            place=mixing_line(facts) or module.built,
            sentence=Said(
                f"이동 평균의 두 무게가 뒤바뀌었어요. 업데이트마다 복사본이 자기 값은 {last.kept:.2g}만 "
                "남기고 원래 모델의 "
                "값으로 거의 바뀌어서, 평균이 아니라 한 스텝 늦은 복사예요.",
                "The weights of the moving average are swapped: after each update the copy keeps "
                f"{last.kept:.2g} of itself "
                "and takes nearly all from the trained model, so it averages nothing.",
            ),
            evidence=Said(
                f"업데이트 뒤에 잰 {len(found)}번 모두 자기 값 {last.kept:.3f}, 원래 모델의 값 {last.taken:.3f}로 "
                "섞였어요.",
                f"Measured {len(found)} times: {last.kept:.3f} of itself, {last.taken:.3f} of the trained model.",
            ),
            mend=Said("두 무게를 바꾸세요.", "Swap the two weights."),
        )


def _trained(facts: Facts) -> Iterator[Finding]:
    stepped = {one.optimizer for one in facts.of(Stepped)}
    for module in facts.modules:
        found = averages(facts, module)
        holds = [
            one for one in facts.optimizers if one.number in stepped and one.parameters & module.parameters
        ]
        reached = max((facts.parameters[one].reached for one in module.parameters), default=0)
        if len(found) < _FEWEST or not holds or reached < _FEWEST:
            continue
        yield Finding(
            place=module.copy_ran or holds[0].built,
            sentence=Said(
                "이동 평균으로만 움직여야 할 복사본이 그레이디언트로도 학습해요. 두 모델이 서로에게 맞추느라 표현이 "
                "무너질 수 있어요.",
                "A copy that follows its source as a moving average is trained by gradient, too, so the "
                "two can agree by "
                "collapsing.",
            ),
            evidence=Said(
                f"이 복사본의 매개변수는 그레이디언트를 {reached}번 받았고 {holds[0].kind} 옵티마이저에 "
                "들어 있어요. 업데이트 "
                f"뒤에는 {len(found)}번 원래 모델과 섞였어요.",
                f"Its parameters got {reached} gradients and are in {holds[0].kind}; after updates it was "
                "mixed with its "
                f"source {len(found)} times.",
            ),
            mend=Said(
                "복사본은 `requires_grad_(False)`로 얼리고 `torch.no_grad()` 안에서 부르세요.",
                "Freeze the copy with requires_grad_(False) and run it under torch.no_grad().",
            ),
        )


RULES = [
    Rule(
        id="ema-weights-swapped",
        severity="bug",
        title=Said("이동 평균의 무게가 뒤바뀌었어요", "The weights of the moving average are swapped"),
        lesson=None,
        find=_swapped,
    ),
    Rule(
        id="ema-copy-trained",
        severity="bug",
        title=Said("이동 평균 모델도 학습했어요", "The averaged copy is trained, too"),
        lesson=None,
        find=_trained,
    ),
]
