"""The results of grading as dataclasses: what was judged, what was diagnosed, what a learner or a class is told.

`judging` and `classroom` fill them and `report` draws them; nothing here computes.
"""

from dataclasses import dataclass, field
from typing import Literal

from grader.course.course import Kind

Status = Literal[
    "passed", "failed", "error", "timeout", "memory", "crashed", "output", "missing", "unreadable"
]
"""`failed` ran and behaves wrongly; `error`: the student's code raised; the rest could not run to the end."""


@dataclass(frozen=True)
class CheckResult:
    """One line of the marking scheme."""

    title: str
    points: float
    passed: bool
    look: str = ""
    """For a failed one: what that means, and where to look first."""


@dataclass(frozen=True)
class FirstDifference:
    """The first place where a submission behaves differently from the solution."""

    scenario: str
    """Korean title of the scenario: `SGD`, `AdamW`."""
    what: str
    """Korean: `두 번째 업데이트부터 매개변수가 달라요`, `반환값`, `모드`."""
    expected: str
    got: str
    update: int | None = None
    """Which update (from 1), when it is parameters that differ."""
    tensor: str | None = None
    """The parameter's element that differs most there, `0.weight[3]`."""


@dataclass(frozen=True)
class Moment:
    """One event on a timeline."""

    kind: str
    """zero_grad, forward, backward, clip, step, scheduler."""
    line: int | None
    """The learner's line (None on the solution's timeline)."""
    batch: int | None = None
    """Number of the batch (from 1) that a forward saw."""
    differs: bool = False
    """Whether it has no partner on the other timeline."""


@dataclass(frozen=True)
class Recipe:
    """What one update was made of: least squares onto the batches' own gradients.

    update = sum of coefficient * gradient of that batch, up to the residual.
    """

    update: int
    """Which update (from 1)."""
    batches: tuple[int, ...]
    """Numbers of the batches (from 1)."""
    got: tuple[float, ...]
    expected: tuple[float, ...]
    residual: float
    """Share of the update (0 to 1) that no combination of these gradients explains."""
    moved: tuple[bool, ...] = ()
    """For each gradient of an update at two points: whether it was taken at w + e. Empty when all were taken at w."""
    scenario: str = ""
    """Title of the scenario it was measured in, where that is not the first difference's."""

    def __post_init__(self) -> None:
        if not len(self.batches) == len(self.got) == len(self.expected):
            raise ValueError(
                f"{len(self.batches)} batches, {len(self.got)} and {len(self.expected)} coefficients"
            )
        if self.moved and len(self.moved) != len(self.batches):
            raise ValueError(f"{len(self.batches)} batches, {len(self.moved)} places")


@dataclass(frozen=True)
class Named:
    """One mistake a diagnosis names."""

    ids: tuple[str, ...]
    """Several ids when mistakes behave the same: the result says them joined by `|`."""
    titles: tuple[str, ...]
    explain: str
    hint: str
    scenarios: tuple[str, ...] = ()
    """Titles of the scenarios in which it shows."""
    line: int | None = None
    """The learner's line that it is about, counted as in `Feedback.line`; None where it is about no single line."""
    cell: int | None = None
    before: bool = False
    """Something is missing: it should stand before that line."""
    source_line: str | None = None
    """That line as written; of a very long one the beginning."""

    @property
    def id(self) -> str:
        """As in results.json."""
        return "|".join(self.ids)


@dataclass(frozen=True)
class Pasted:
    """A program from the web that behaves as the learner's does."""

    id: str
    title: str
    explain: str
    hint: str


@dataclass(frozen=True)
class RepairStep:
    """One small edit on the way from the learner's own program to a right one, as hints in steps."""

    kind: str
    """Korean sentence: what kind of edit it is."""
    where: str
    """For what is inserted or moved: `이 줄보다 앞에`; else empty."""
    line: int | None
    """The learner's line, counted as in `Feedback.line`."""
    cell: int | None
    old: tuple[str, ...]
    """The learner's lines that change."""
    new: tuple[str, ...]
    """What would stand there instead."""


@dataclass(frozen=True)
class Remembered:
    """Something that outlives a call of the learner's function, and spoils the next."""

    scenarios: tuple[str, ...]
    """Titles of those that come out otherwise in a program loaded anew."""
    line: int | None
    """Of what could outlive a call, counted as in `Feedback.line`."""
    cell: int | None


@dataclass(frozen=True)
class Diagnosis:
    """Why it is wrong, as far as behaviour tells."""

    mistakes: tuple[Named, ...] = ()
    """Empty: no known mistake behaves like this."""
    first_difference: FirstDifference | None = None
    yours: tuple[Moment, ...] = ()
    right: tuple[Moment, ...] = ()
    recipe: Recipe | None = None
    unexplained: tuple[str, ...] = ()
    """Titles of the scenarios that go wrong in a way that the named mistakes do not explain."""
    near: Named | None = None
    """Where no mistake is named: the known one that is nearest. It is not the same."""
    repair: tuple[RepairStep, ...] = ()
    """Small edits that make the learner's own program pass, where known mistakes do not explain everything."""
    pasted: Pasted | None = None
    """The well-known program that does the same in every scenario, if one does."""
    repair_leaves: tuple[str, ...] = ()
    """Titles of the scenarios that go wrong even with the edits of `repair`; not more than those that they mend."""
    remembered: Remembered | None = None
    """What the program remembers from earlier calls; then nothing else is named."""


@dataclass(frozen=True)
class Feedback:
    """Everything there is to say about one exercise of one submission."""

    lesson: str
    exercise: str
    title: str
    """The exercise's Korean title."""
    status: Status
    checks: tuple[CheckResult, ...]
    message: str
    """One Korean line: what is the matter. As in results.json."""
    begun: bool = True
    """False when the function is as it was handed out, or empty."""
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    line: int | None = None
    """Line in the cell (or in the .py file) the feedback points at."""
    cell: int | None = None
    """Number of the code cell, for a notebook."""
    source_line: str | None = None
    """The learner's own line, as written."""
    file: str | None = None
    error: str | None = None
    """`TypeError: …` when the code raised."""
    raised: bool = False
    """Whether a `raise` of the learner's own raised it."""
    kind: Kind = "exercise"
    because: str = ""
    """Where it passed: what it does that the wrong ones do not."""
    notes: tuple[str, ...] = ()
    """Further Korean lines, which change no mark: another definition was overridden, a notebook variable is used, …"""
    seconds: float = 0.0
    """Wall time that running the exercise took."""

    @property
    def score(self) -> float:
        """Points of the checks passed."""
        return sum(check.points for check in self.checks if check.passed)

    @property
    def max_score(self) -> float:
        """Points there are."""
        return sum(check.points for check in self.checks)

    @property
    def mistake_ids(self) -> list[str]:
        """As in results.json."""
        return [named.id for named in self.diagnosis.mistakes]


@dataclass(frozen=True)
class Person:
    """Who a student is outside of this course: in the roster, and in the system that the files came from."""

    id: str = ""
    """As the roster has it (학번); empty for somebody who is not in it."""
    name: str = ""
    section: str = ""
    login: str = ""
    email: str = ""
    github: str = ""
    canvas_id: str = ""
    """The number that Canvas knows the student by."""
    moodle_id: str = ""
    """The number after `Participant` in Moodle's worksheet."""


@dataclass(frozen=True)
class ExerciseMark:
    """One exercise's part of a mark."""

    exercise: str
    score: float
    max_score: float
    dropped: bool = False
    """Counts for nothing, by the policy."""
    reason: str = ""
    """Why this mark was given by hand; empty where it was computed."""


@dataclass(frozen=True)
class Mark:
    """What goes to the LMS: the score after the policy and the marks given by hand."""

    score: float
    max_score: float
    exercises: tuple[ExerciseMark, ...] = ()
    reasons: tuple[str, ...] = ()
    """Korean lines, in order: what makes it differ from the score that was measured."""


@dataclass(frozen=True)
class Absent:
    """Somebody in the roster who handed in nothing."""

    person: Person
    mark: Mark | None = None
    """Only where one was given by hand, or where the policy says that nothing handed in is a zero."""


@dataclass(frozen=True)
class SubmissionResult:
    """Everything there is to say about one student."""

    student: str
    feedbacks: tuple[Feedback, ...]
    """The exercises, those that are missing too: what counts."""
    notes: tuple[str, ...] = ()
    """Korean lines about the files as a whole."""
    scrutiny: tuple[str, ...] = ()
    """Korean lines for the instructor alone: code that reaches for the grader."""
    digest: str = ""
    """Fingerprint of the files: a resumed run grades anew what has changed."""
    extras: tuple[Feedback, ...] = ()
    """Warm-ups and bonus tasks that the student has begun; they count for no score."""
    person: Person | None = None
    """None where nothing but the folder's name is known."""
    late: bool = False
    """Whether the system that the files came from calls them late."""
    handed_in: str = ""
    """When, in ISO 8601, where that is known."""
    mark: Mark | None = None
    """None where there is neither a policy nor a mark by hand: then the score is the mark."""

    @property
    def told(self) -> tuple[Feedback, ...]:
        """Everything that is judged, lesson by lesson: the exercises first, then the extras."""
        return tuple(sorted((*self.feedbacks, *self.extras), key=lambda feedback: feedback.lesson))

    @property
    def score(self) -> float:
        """Points reached."""
        return sum(feedback.score for feedback in self.feedbacks)

    @property
    def max_score(self) -> float:
        """Points there are."""
        return sum(feedback.max_score for feedback in self.feedbacks)

    @property
    def passed(self) -> bool:
        """Whether every exercise passed."""
        return all(feedback.status == "passed" for feedback in self.feedbacks)


@dataclass(frozen=True)
class ClassResult:
    """One grading run."""

    seed: int
    device: str
    sandbox: str
    """`bwrap` or `none`."""
    submissions: tuple[SubmissionResult, ...]
    absent: tuple[Absent, ...] = ()
    """In the roster's order; empty without a roster."""
