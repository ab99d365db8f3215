"""What a learner reads for each known mistake: made from the course, and kept in a file an exercise beside this one.

    python -m tests.golden [EXERCISE …]

makes the files anew; `git diff` then shows what a change of course, grader or wording does to feedback.
"""

import re
from collections.abc import Iterable, Iterator

from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.trace import Trace
from grader.report.text import feedback_text
from tests.places import TESTS


def transcript(exercise: Exercise) -> str:
    """The feedback on the first program of each mistake, in the course's order, as text."""
    return as_text(feedbacks(exercise))


def as_text(told: Iterable[tuple[str, Feedback]]) -> str:
    """These pairs of a mistake's id and a feedback as one text."""
    return "\n".join(f"#### {mistake}\n\n{feedback_text(feedback).rstrip()}\n" for mistake, feedback in told)


def kept(exercise: str) -> str:
    """The transcript as it was last made; empty where it never was."""
    path = TESTS / "golden" / f"{exercise}.txt"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def write(exercise: Exercise) -> None:
    """Keep the transcript of now."""
    (TESTS / "golden" / f"{exercise.name}.txt").write_text(transcript(exercise), encoding="utf-8")


def wording(text: str) -> str:
    """The transcript without what may differ between two processors.

    That is the digits of measured numbers, the length of bars drawn from them, and which element of a tensor is
    farthest off. Words, whole numbers and the order of events may not differ.
    """
    text = re.sub(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]\d+|\d+%", "#", text)
    text = re.sub(r"[█░]+", "█", re.sub(r"\[\d+\]", "[#]", text))
    return re.sub(r"[ \t]+", " ", text)


def feedbacks(exercise: Exercise) -> Iterator[tuple[str, Feedback]]:
    """The id of each mistake with the feedback on its first program, in the course's order."""
    its = cached_reference(exercise.name, SEED)
    seen: set[str] = set()
    for variant in its.variants:
        mistake, program = variant.mistake.id, its.sources[variant.name]
        if mistake in seen:
            continue
        seen.add(mistake)
        runs = {s.name: its.complete_run(program, s.name) for s in exercise.driver.scenarios}
        yield mistake, assess(exercise, Trace(runs=runs), its, LearnerCode(program))
