"""Give an exercise's next hint, led by the mistake that the last check named."""

from dataclasses import dataclass

from grader.course.course import Exercise
from grader.learner.progress import Progress
from grader.observe.wording import one_of
from grader.report.html import hint_html
from grader.report.text import hint_text


@dataclass(frozen=True)
class Hints:
    """The hints of an exercise as shown now."""

    title: str
    """Title of the exercise."""
    seen: tuple[str, ...]
    """Hints shown so far, the newest last."""
    total: int
    lead: str = ""
    """Where to look for the mistake that the last check named; empty if it named none."""

    @property
    def html(self) -> str:
        """The hints as an HTML card."""
        return hint_html(self.title, self.seen, self.total, lead=self.lead)

    @property
    def text(self) -> str:
        """The hints as plain text."""
        return hint_text(self.title, self.seen, self.total, lead=self.lead)


def next_hints(exercise: Exercise) -> Hints:
    """Take the exercise's next hint and record that it was shown. The exercise must have hints."""
    learner, total = Progress.load(), len(exercise.hints)
    lead = _lead(exercise, learner)
    seen = exercise.hints[: learner.next_hint(exercise.name, total)]
    return Hints(exercise.title, seen, total, lead)


def _lead(exercise: Exercise, learner: Progress) -> str:
    """Return the title and hint of the first mistake that the last check named. No mistake's hint tells the answer."""
    for joined in learner.history.exercise(exercise.name).last_mistakes[:1]:
        ids = joined.split("|")
        named = [mistake for mistake in exercise.mistakes if mistake.id in ids]
        if named and named[0].hint:
            return f"지난 확인: {one_of([m.title for m in named])}. {named[0].hint}"
    return ""
