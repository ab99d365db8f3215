"""The policy's loss also trains the critic: the advantage that it is multiplied with was not detached."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 2
_LOGS = {"log", "logp", "logprob", "logprobs", "logps", "logits", "lp", "ratio"}
_ADVANTAGES = {"adv", "advs", "advantage", "advantages", "delta", "td"}


def _product(place: Place) -> Place | None:
    """Return the line that multiplies log-probabilities, or anything, with an advantage that is not detached."""
    products = [
        node
        for node in _reading.nodes(place.file, ast.BinOp)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and not isinstance(node.left, ast.Constant)
        and not isinstance(node.right, ast.Constant)
        and not _reading.calls(node, "detach", "item")
    ]
    for fits in (_is_of_logarithms, _is_of_advantage):
        for node in products:
            if fits(node):
                return _reading.at(place.file, node)
    return None


def _is_of_logarithms(node: ast.BinOp) -> bool:
    return any(_LOGS & _reading.words(one) for one in (node.left, node.right))


def _is_of_advantage(node: ast.BinOp) -> bool:
    for one in (node.left, node.right):
        difference = isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub)
        if isinstance(one, ast.Name) and _ADVANTAGES & _reading.words(one):
            return True
        if difference and not any(isinstance(part, ast.Constant) for part in ast.walk(one)):
            return True
    return False


def _find(facts: Facts) -> Iterator[Finding]:
    backwards = [one for one in facts.of(BackwardRan) if one.pulls_baseline]
    for place in dict.fromkeys(one.place for one in backwards):
        these = [one for one in backwards if one.place == place]
        if len(these) < _FEWEST or place is None:
            continue
        yield Finding(
            place=_product(place) or place,
            sentence=Said(
                "정책 손실에 곱한 어드밴티지가 그래프를 지니고 있어요. 그래서 정책 손실이 크리틱의 값까지 밀어서, "
                "크리틱이 보상을 맞히지 못해요.",
                "The advantage in the policy's loss still has its graph, so that loss also pushes the critic's values "
                "away from the returns.",
            ),
            evidence=Said(
                f"살펴본 `backward()` {len(these)}번 모두 로그 확률과 「보상 - 값」의 곱이 값을 내는 층까지 "
                "이어져 있었고, 그 값은 같은 손실에서 제곱 오차로도 배워요.",
                f"In all {len(these)} backward passes that were looked at the product of log-probabilities and "
                '"return - value" reached the layers that give the value, which a squared error trains as well.',
            ),
            mend=Said(
                "어드밴티지를 끊어서 곱하세요: `log_prob * advantage.detach()`.",
                "Cut it off there: log_prob * advantage.detach().",
            ),
        )


RULE = Rule(
    id="advantage-with-graph",
    severity="bug",
    title=Said("어드밴티지를 끊지 않았어요", "The advantage is not detached"),
    lesson=None,
    find=_find,
)
