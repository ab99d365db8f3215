"""A language model learns to say the next token and sees it: nothing in it hides what comes later."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules.lm_shift import aligned
from grader.scripts.things import Mixed

_FEWEST = 3


def _open(forward: ForwardRan) -> list[Mixed]:
    """Return what lets a forward see later positions; empty if something in it does not, as a decoder's attention."""
    return list(forward.mixed) if forward.mixed and all(one.open for one in forward.mixed) else []


def _find(facts: Facts) -> Iterator[Finding]:
    by_module: dict[int, list[tuple[bool, list[Mixed]]]] = {}
    for forward, _, equal in aligned(facts):
        if forward.mixed:
            by_module.setdefault(forward.module, []).append(
                (equal[1] > 0.999 and equal[0] < 0.9, _open(forward))
            )
    for seen in by_module.values():
        wrong = [mixed for shifted, mixed in seen if shifted and mixed]
        if len(wrong) < _FEWEST or len(wrong) < len(seen):
            continue
        first = wrong[-1][0]
        yield Finding(
            place=first.place,
            sentence=Said(
                "다음 토큰을 맞히는 모델인데 자리마다 뒤에 올 토큰까지 봐요. 정답을 베끼기만 하면 되니 손실은 "
                "낮아지지만 글을 이어 쓰지는 못해요.",
                "The model is to predict the next token, and every position sees the later ones: it can copy the "
                "answer, so its loss is low and it cannot continue a text.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(wrong)}번 모두 정답이 입력의 다음 토큰이었고, 순전파마다 자리를 섞는 연산 "
                f"{len(wrong[-1])}개가 모두 뒤쪽을 가리지 않았어요 (길이 {first.length}).",
                f"In all {len(wrong)} losses the targets were the inputs' next tokens, and none of the "
                f"{len(wrong[-1])} operations that mix positions hid the later ones (length {first.length}).",
            ),
            mend=Said(
                "어텐션에 인과 마스크를 주세요: `is_causal=True`, 또는 위 삼각형을 `-inf`로 채운 `attn_mask`. "
                "RNN이라면 한 방향으로만 읽어요.",
                "Give the attention a causal mask: is_causal=True, or an attn_mask with -inf above the diagonal; "
                "let an RNN read in one direction only.",
            ),
        )


RULE = Rule(
    id="no-causal-mask",
    severity="bug",
    title=Said("뒤에 올 토큰을 가리지 않았어요", "Later tokens are visible"),
    lesson="03_bells_and_whistles/1_small_gpt",
    find=_find,
)
