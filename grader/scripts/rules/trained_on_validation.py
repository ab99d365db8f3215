"""The loop over the validation data steps as well: the model is trained on what it is to be judged with."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.things import ModuleFacts

_FEWEST = 3


def _fed(facts: Facts, module: ModuleFacts) -> Iterator[tuple[ForwardRan, BackwardRan, int]]:
    """Iterate over a module's forwards that a step of its own optimizer followed, with the loader of their batch."""
    loader = -1
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, BatchLoaded):
            loader = event.loader
        elif isinstance(event, ForwardRan):
            last = event if event.module == module.number and event.grad else None
        elif isinstance(event, BackwardRan) and last is not None and last.serial in event.forwards:
            own = any(facts.optimizers[one].parameters & module.parameters for one in event.contributed)
            if own and loader >= 0:
                yield last, event, loader


def _stepped(facts: Facts, backward: BackwardRan) -> bool:
    return any(
        backward.number in step.recipe for step in facts.steps() if step.optimizer in backward.contributed
    )


def _find(facts: Facts) -> Iterator[Finding]:
    told = set()
    for module in facts.modules:
        fed = list(_fed(facts, module))
        live = {loader for forward, _, loader in fed if forward.training}
        still = [one for one in fed if not one[0].training and one[2] not in live]
        passes = {one[2] for one in still}
        shuffled = any(facts.loaders[one].sampler == "RandomSampler" for one in passes)
        steps = [one for one in still if _stepped(facts, one[1])]
        again = bool(steps) and any(one[0].training for one in fed if one[0].serial > steps[0][0].serial)
        if not again or shuffled or len(steps) < _FEWEST or len(steps) < len(still):
            continue
        place = steps[-1][1].place
        if place in told:
            continue
        told.add(place)
        count = sum(forward.training for forward, _, _ in fed)
        yield Finding(
            place=place,
            sentence=Said(
                "평가 모드로 도는 로더의 배치로도 `backward()`와 `step()`을 해요. 검증 데이터를 배우니 검증 점수가 "
                "실제보다 높게 나와요.",
                "Batches of a loader that is run in eval mode are trained on, too: the model learns the validation "
                "data and its score is too good.",
            ),
            evidence=Said(
                f"학습 모드의 순전파 {count}번과 다른 로더의 배치로 평가 모드에서 한 순전파 {len(steps)}번도 "
                "업데이트에 들어갔어요.",
                f"Beside {count} forwards in train mode, {len(steps)} in eval mode, all with batches of another "
                "loader, went into updates.",
            ),
            mend=Said(
                "`backward()`와 `step()`은 학습할 때만 하고, 검증은 `torch.no_grad()` 안에서 하세요.",
                "Run backward and step in the training phase only, and the validation under torch.no_grad().",
            ),
        )


RULE = Rule(
    id="trained-on-validation",
    severity="bug",
    title=Said("검증 데이터로도 학습했어요", "The validation data is trained on"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
