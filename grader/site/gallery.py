"""Make the gallery: famous mistakes, each run in every build, with the card that a learner who makes it would see."""

from msgspec import Struct

from grader.course.course import Course, CourseError, Exercise, Mistake
from grader.course.reading import read_typed
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.trace import Trace
from grader.paths import asset_path
from grader.report.html import feedback_html
from grader.site.part_page import raw_block

PAGE = "gallery"


class GalleryEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `assets/site/gallery.toml`, which describes each field."""

    exercise: str
    mistake: str
    famous: str


class _Gallery(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `gallery.toml`."""

    shown: tuple[GalleryEntry, ...]


def gallery_entries() -> tuple[GalleryEntry, ...]:
    """Return the gallery's gallery_entries in order.

    Raises:
        CourseError: the file has invalid content.
    """
    return read_typed(asset_path("site", "gallery.toml"), _Gallery).shown


def gallery_page(course: Course, shown: tuple[GalleryEntry, ...]) -> str:
    """Return the page as Markdown. Every mistake is run, so the cards are exactly what the grader says.

    Raises:
        CourseError: an entry names an exercise or a mistake that the course does not have.
    """
    parts = [
        f"# 유명한 실수 {len(shown)}가지\n\n"
        "아래의 실수는 대부분 오류 한 줄 없이 지나갑니다. 코드는 끝까지 돌고 손실도 내려가는데, 학습만 잘못됩니다. "
        "이 강의의 채점기가 그런 코드에 무엇을 말하는지 그대로 옮겼습니다. 카드에는 실수의 이름과 그 줄, 정답과 나란히 "
        "놓은 실행 순서, 업데이트에 섞인 그레이디언트의 비율이 나옵니다. 카드는 모두 이 페이지를 만들 때 코드를 "
        "실제로 실행해 얻은 것입니다.\n"
    ]
    for entry in shown:
        exercise = course.exercise(entry.exercise)
        mistake = _mistake(exercise, entry.mistake)
        card = card_of(exercise, mistake.id)
        parts.append(
            f"({exercise.name}-{mistake.id})=\n## {mistake.title}\n\n{entry.famous}\n\n{raw_block(card)}\n"
        )
    return "\n".join(parts)


def card_of(exercise: Exercise, mistake: str) -> str:
    """Return the card for the usual program with this mistake.

    The program itself is not shown: it is one line away from the answer.
    """
    its, program = cached_reference(exercise.name, SEED), program_with(exercise, mistake)
    runs = {scenario.name: its.complete_run(program, scenario.name) for scenario in exercise.driver.scenarios}
    return feedback_html(assess(exercise, Trace(runs=runs), its, LearnerCode(program)))


def program_with(exercise: Exercise, mistake: str) -> str:
    """Return the usual program with this mistake.

    Raises:
        CourseError: the exercise has no such mistake.
    """
    known = _mistake(exercise, mistake)
    its = cached_reference(exercise.name, SEED)
    return its.sources[next(variant.name for variant in its.variants if variant.mistake.id == known.id)]


def _mistake(exercise: Exercise, wanted: str) -> Mistake:
    for mistake in exercise.mistakes:
        if mistake.id == wanted:
            return mistake
    raise CourseError(
        f"{exercise.name}에 '{wanted}' 실수는 없어요. "
        f"있는 실수 가운데 하나로 고쳐 주세요: {', '.join(one.id for one in exercise.mistakes)}"
    )
