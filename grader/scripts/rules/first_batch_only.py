"""`next(iter(loader))` in a loop begins an unshuffled loader anew for every update: only its first batch comes."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, LoaderBegan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import batches
from grader.scripts.source import in_loop, line_of

_FEWEST = 5


def _find(facts: Facts) -> Iterator[Finding]:
    trained = batches(facts).trained
    for loader in facts.loaders:
        given = [one for one in trained if one.loader == loader.number and one.rows is not None]
        begun = [one for one in facts.of(LoaderBegan) if one.loader == loader.number]
        place = begun[-1].place if begun else None
        seen = {tuple(one.rows.tolist()) for one in given if one.rows is not None}
        several = loader.batches is not None and loader.batches > 1
        if not several or len(given) < _FEWEST or len(seen) != 1 or any(one.index for one in given):
            continue
        if place is None or len(begun) < len(given) or not in_loop(place) or "iter(" not in line_of(place):
            continue
        name = _reading.name_at(loader.built, "loader")
        yield Finding(
            place=place,
            sentence=Said(
                "반복할 때마다 로더를 처음부터 다시 시작하는데 로더가 섞지 않아서, 언제나 첫 배치로만 학습해요.",
                "The loader is begun anew in every round and does not shuffle, so only its first batch is ever used.",
            ),
            evidence=Said(
                f"로더를 {len(begun)}번 시작해서 {len(given)}번 학습했는데 모두 똑같은 배치였어요. 로더에는 배치가 "
                f"{loader.batches}개 있어요.",
                f"Begun {len(begun)} times; all {len(given)} training batches were the same one, of the loader's "
                f"{loader.batches}.",
            ),
            mend=Said(
                f"`for batch in {name}:`로 돌거나 이터레이터를 반복문 앞에서 한 번만 만들고, 로더에 "
                "`shuffle=True`를 주세요.",
                f"Loop with `for batch in {name}:` or make the iterator once before the loop, and shuffle.",
            ),
        )


RULE = Rule(
    id="first-batch-only",
    severity="bug",
    title=Said("첫 배치로만 학습했어요", "Only the first batch is ever used"),
    lesson="01_five_line_step/5_one_epoch",
    find=_find,
)
