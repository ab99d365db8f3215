"""Say of a watch itself how much it saw, whether the loss fell, and how to read the timeline."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Language, Said
from grader.scripts.places import Place, cell_of
from grader.scripts.report import Report
from grader.scripts.timeline import SUM, Row

_FEWEST_UPDATES = 12
"""With fewer losses nothing is said of their course: a quarter would be fewer than three."""

_LEGEND = Said(
    "g₇: 7번째 `backward()`가 구한 그레이디언트 · 1·g₇: `step()`이 읽은 `.grad`에 g₇이 1배 들어 있어요",
    "g₇: the gradient of the 7th `backward()` · 1·g₇: the `.grad` that `step()` read holds g₇ once",
)
_LEGEND_OF_SUMS = Said(
    " · Σ₉ 4: 따로 적지 않은 9개의 배수를 더하면 4예요",
    " · Σ₉ 4: the factors of the 9 that are not written out add up to 4",
)


def legend(rows: Sequence[Row], language: Language) -> str:
    """Explain the notes of a timeline."""
    sums = any(row.step is not None and SUM in row.note for row in rows)
    return _LEGEND.in_(language) + (_LEGEND_OF_SUMS.in_(language) if sums else "")


def heading(report: Report, language: Language) -> str:
    """Say how much was watched and how much there is to say."""
    facts = report.facts
    cell = cell_of(facts.script)
    script = (
        facts.script.rpartition("/")[2]
        if cell is None
        else Said("셀 {}", "cell {}").in_(language).format(cell)
    )
    name, count = script, len(report.told)
    seen = Said(
        f"{name}: 업데이트 {facts.updates}번을 지켜봤어요.",
        f"{name}: {facts.updates} update{'s' * (facts.updates != 1)} watched.",
    )
    if facts.updates == 0:
        seen = Said(f"{name}: 업데이트가 한 번도 없었어요.", f"{name}: there was no update.")
    if count:
        found = Said(f"말할 것이 {count}가지 있어요.", f"{count} finding{'s' * (count != 1)}.")
    elif facts.updates == 0:
        found = Said("그래서 판단할 것이 없어요.", "So there is nothing to judge.")
    else:
        found = Said("잘못된 것을 찾지 못했어요.", "Nothing wrong was found.")
    return f"{seen.in_(language)} {found.in_(language)}"


def remarks(report: Report, language: Language) -> list[str]:
    """Say what the findings leave open: what came after the watch, and a loss that did not fall without a bug found."""
    facts = report.facts
    said: list[Said] = []
    if facts.updates and not facts.ended and report.crash is None:
        more = 10 * facts.updates
        said.append(
            Said(
                f"그 뒤의 업데이트는 보지 않았어요. 더 지켜보려면 `--updates {more}`",
                f"Later updates were not watched; to watch more: `--updates {more}`",
            )
        )
    if facts.compiled:
        said.append(
            Said(
                "`torch.compile`은 지켜보는 동안 끄고, 컴파일하지 않은 코드로 실행했어요.",
                "`torch.compile` was off: the script ran uncompiled while it was watched.",
            )
        )
    losses = losses_of_updates(report)
    course = course_of(losses)
    if course is not None and not course.fell and not any(told.severity == "bug" for told in report.told):
        numbers = f"{course.first:.4g} → {course.last:.4g}"
        said.append(
            Said(
                f"손실이 줄지 않았어요 (처음과 마지막 {course.count}번의 평균: {numbers}). xray는 업데이트의 순서와 "
                "재료를 봐요. 정답이 맞는지, 모델과 손실의 식이 뜻한 대로인지, 학습률이 알맞은지는 알 수 없어요. "
                "계기로 찾는 법: 06_why_it_does_not_learn/1_instruments",
                f"The loss did not fall (means of the first and last {course.count}: {numbers}). xray looks at the "
                "order and the ingredients of updates; it cannot know whether labels are right, whether model and loss "
                "compute what you mean, or whether the learning rate fits. "
                "Instruments for that: 06_why_it_does_not_learn/1_instruments",
            )
        )
    return [one.in_(language) for one in said]


def losses_of_updates(report: Report) -> list[float]:
    """Return the training loss (with a graph) of each update that has any, in order.

    Losses of one line, as of the micro-batches of an update, are averaged, and lines are added up. Only updates of the
    parameters that are updated most often count: a probe or a discriminator has losses of its own.
    """
    counted = _main_updates(report.facts)
    lines: dict[int, dict[Place | None, list[float]]] = {}
    for event in report.facts.of(LossComputed):
        if not event.grad or event.value is None or event.value.numel() != 1:
            continue
        if counted is None or event.update in counted:
            lines.setdefault(event.update, {}).setdefault(event.place, []).append(event.value.item())
    return [sum(map(fmean, of_update.values())) for of_update in lines.values()]


def _main_updates(facts: Facts) -> set[int] | None:
    """Return the updates of the parameters that optimizers update most often; None if no optimizer steps."""
    updates: dict[frozenset[int], set[int]] = {}
    for step in facts.steps():
        updates.setdefault(facts.optimizers[step.optimizer].parameters, set()).add(step.update)
    return max(updates.values(), key=len, default=None)


@dataclass(frozen=True, slots=True)
class Course:
    """Means of the first and of the last quarter of the losses."""

    first: float
    last: float
    count: int
    """Number of losses in each quarter."""
    fell: bool
    """The last mean is lower by more than two standard errors of the difference."""


def course_of(losses: list[float]) -> Course | None:
    """Compare the first quarter of the losses with the last; None: there are too few, or they are not finite."""
    count = len(losses) // 4
    if len(losses) < _FEWEST_UPDATES or not all(abs(loss) < float("inf") for loss in losses):
        return None
    begin, end = losses[:count], losses[-count:]
    error = ((stdev(begin) ** 2 + stdev(end) ** 2) / count) ** 0.5
    return Course(fmean(begin), fmean(end), count, fmean(end) < fmean(begin) - 2 * error)
