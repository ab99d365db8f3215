"""`kl_div` is given probabilities where it expects their logarithms."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules.softmax_before_ce import is_probability

_FEWEST = 3


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [one for one in facts.of(LossComputed) if one.name == "kl_div" and one.grad]
    for place in dict.fromkeys(one.place for one in losses):
        looked = [one for one in losses if one.place == place and one.row_sums is not None]
        plain = [one for one in looked if is_probability(one)]
        if len(plain) < _FEWEST or len(plain) < len(looked):
            continue
        values = [float(one.value) for one in plain if one.value is not None]
        negative = sum(value < 0 for value in values)
        yield Finding(
            place=place,
            sentence=Said(
                "`kl_div`의 첫 인자는 로그 확률이어야 하는데 확률이 들어가요. 그러면 이 값은 KL 발산이 아니고, "
                "줄여도 두 분포가 가까워지지 않아요.",
                "kl_div expects log-probabilities as its first argument but is given probabilities: its value is no "
                "KL divergence, and lowering it does not bring the distributions together.",
            ),
            evidence=Said(
                f"살펴본 {len(looked)}번 모두 입력의 행마다 0 이상이고 합이 1이었어요. 손실은 {len(values)}번 가운데 "
                f"{negative}번 음수였는데, KL 발산은 음수가 될 수 없어요.",
                f"{len(plain)} of {len(looked)} inputs were non-negative with rows that sum to one; {negative} of "
                f"{len(values)} losses were negative, which a KL divergence never is.",
            ),
            mend=Said(
                "`softmax`를 `log_softmax`로 바꾸세요.",
                "Use log_softmax instead of softmax for the first argument.",
            ),
        )


RULE = Rule(
    id="kl-on-probabilities",
    severity="bug",
    title=Said("kl_div에 확률을 그대로 넣었어요", "kl_div is given probabilities"),
    lesson=None,
    find=_find,
    late=True,
)
