"""The results of grading as data classes: what was judged, what was diagnosed, and what a learner or a class is told.

`judging` and `classroom` fill them and `report` draws them; apart from sums of points, nothing here computes. A card
tells a `Feedback`, whose `Diagnosis` names the mistakes; a class is a `ClassResult` of `SubmissionResult`s.

A new field needs a default, because `report/results.py` writes these classes into `results.json` and reads older files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from grader.course.conditions import unconditional_text
from grader.course.course import Kind, Mistake
from grader.course.marks import Comment, Mark, Regrade
from grader.observe.printed import Printed

Status = Literal[
    "passed", "failed", "error", "timeout", "memory", "crashed", "output", "missing", "unreadable"
]
"""Outcome of one exercise. `failed`: behaves wrongly; `error`: the student's code raised; `missing`: not in the
submission; `unreadable`: so is the file; `timeout`, `memory`, `crashed`, `output`: stopped before the end."""

Repair = Literal["at-once", "after-hint"]
"""When a learner reads a mistake's name: on the card, or when hints come to it; until then, the symptom."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one line of the marking scheme."""

    title: str
    points: float
    passed: bool
    look: str = ""
    """For a failed check: what a failure means and where to look first."""


NO_EXCEPTION = "예외 없이 끝남"
"""Value of a run that did not raise: Korean for "ended without an exception"."""
UPDATE_COUNT = "매개변수가 바뀐 횟수"
"""`FirstDifference.what` if one run has more updates than the other: Korean for "number of updates"."""


@dataclass(frozen=True)
class FirstDifference:
    """The first place where a submission behaves differently from the solution."""

    scenario: str
    """Korean title of the scenario: `SGD`, `AdamW`."""
    what: str
    """What differs, in Korean: `두 번째 업데이트부터 매개변수가 달라요`, `반환값`, `모드`."""
    expected: str
    got: str
    update: int | None = None
    """Number of the first wrong update, from 1; 0 if parameters differ before any update; None if none differ."""
    tensor: str | None = None
    """The parameter element that differs most at that update, as `0.weight[3]`; None if no parameters differ."""

    @property
    def says_scenario(self) -> bool:
        """True if `what` begins with the scenario's title, or ends with a title of several words.

        A single word at its end, such as `반환값`, may mean something else there.
        """
        ends_with_it = self.what.partition(" (")[0].endswith(self.scenario)  # without the position in a list
        return self.what.startswith(self.scenario) or (" " in self.scenario and ends_with_it)


@dataclass(frozen=True)
class Moment:
    """One event on a timeline."""

    kind: str
    """`zero_grad`, `forward`, `backward`, `clip`, `first_step` and `second_step` (SAM's), `step` or `scheduler`."""
    line: int | None
    """The learner's line; None on the solution's timeline."""
    batch: int | None = None
    """Number of the batch (from 1) that a forward pass saw; None for other events."""
    differs: bool = False
    """True if the event has no counterpart on the other timeline."""
    goes_before: bool = False
    """True if this is the first event that is drawn and the call has earlier ones."""
    goes_on: bool = False
    """True if this is the last event that is drawn and the call has later ones."""


@dataclass(frozen=True)
class Recipe:
    """The mix of batch gradients in one update, found by least squares: coefficients of gradients, and a residual."""

    update: int
    """Number of the update, from 1."""
    batches: tuple[int, ...]
    """Numbers of the batches, from 1; `got` and `expected` hold one coefficient for each."""
    got: tuple[float, ...]
    expected: tuple[float, ...]
    residual: float
    """Share of the update (0 to 1) that no combination of these gradients explains."""
    moved: tuple[bool, ...] = ()
    """For each gradient, True if it was taken at perturbed parameters (SAM's w + e); empty if all were taken at w."""
    scenario: str = ""
    """Title of the scenario in which it was measured; empty if that is the scenario of the first difference."""
    has_unscaled_part: bool = False
    """True if a part of the update is gradients not multiplied by the learning rate, such as a climb by e that is never
    taken back; it is in no coefficient then. Only parameters with different learning rates show it."""

    def __post_init__(self) -> None:
        if not len(self.batches) == len(self.got) == len(self.expected):
            raise ValueError(
                f"{len(self.batches)} batches, {len(self.got)} and {len(self.expected)} coefficients"
            )
        if self.moved and len(self.moved) != len(self.batches):
            raise ValueError(f"{len(self.batches)} batches, {len(self.moved)} places")


MOST_MISTAKES = 6
"""Maximum number of mistakes of one check that there are hints about."""
Effect = Literal["inserts", "deletes", "moves", "guards", "unwraps", "rewrites"]
"""What an edit does with lines. `guards`: indents them under a new line such as `if …:`; `unwraps`: the reverse."""


@dataclass(frozen=True)
class OwnEdit:
    """One edit of the learner's own code that mends a named mistake. Lines are numbered as in `Feedback.line`."""

    effect: Effect
    first: int
    """First line that is deleted, moved, guarded or rewritten; something inserted comes to stand there."""
    last: int
    """Last such line."""
    behind: int
    """Line behind which something inserted or moved belongs."""
    old: tuple[str, ...]
    """The learner's lines that are deleted, moved, guarded or rewritten; of `unwraps` only the line that goes."""
    new: tuple[str, ...]
    """Lines after the edit, or only those that it adds; empty if it deletes them."""
    line_behind: str
    """Text of the line `behind`."""
    line_below: str = ""
    """Text of the line above which something is inserted or moved, if that is in the same block; otherwise empty."""
    below: int | None = None
    """Number of that line; None if it is not in the learner's file."""
    cell: int | None = None
    """Number of the code cell with the line `first`; None for a .py file."""


@dataclass(frozen=True)
class NamedMistake:
    """One mistake that a diagnosis names."""

    ids: tuple[str, ...]
    """Ids of all known mistakes with this behaviour; results.json joins several with `|`."""
    titles: tuple[str, ...]
    """Titles of those that are told: of all these mistakes, or of one that is true whichever of them was made."""
    explain: str
    hint: str
    scenarios: tuple[str, ...] = ()
    """Titles of the scenarios in which the mistake shows."""
    line: int | None = None
    """The learner's line to point at, numbered as in `Feedback.line`; None if the mistake concerns no single line."""
    cell: int | None = None
    before: bool = False
    """True if something is missing that belongs before that line."""
    after: bool = False
    """True if something is missing that belongs after that line."""
    source_line: str | None = None
    """Text of that line as written; only the beginning if it is very long."""
    symptom: str = ""
    """What happened in this run because of it, in Korean sentences that are part of `explain` too; empty: not known."""
    difference: FirstDifference | None = None
    """Where this run first differs in the scenario that shows the mistake most clearly; None if it was not run."""
    right_lines: tuple[str, ...] = ()
    """The solution's lines in place of those that make the mistake; empty: none or too many (`right_lines.py`)."""
    own_edit: OwnEdit | None = None
    """Edit of the learner's code that mends it; only where hints can be asked for, and None if none was found."""
    mend: str = ""
    """What to write instead, in words; the last hint where no own edit was found."""

    @classmethod
    def of(
        cls, mistakes: Sequence[Mistake], scenarios: tuple[str, ...] = (), explain: str | None = None
    ) -> "NamedMistake":
        """Name mistakes that behave alike, without a line; the first one's hint stands for all.

        Args:
            mistakes: the mistakes.
            scenarios: titles of the scenarios in which they show.
            explain: what is true of them in this run; None: what is true of the first one in every run.
        """
        return cls(
            ids=tuple(m.id for m in mistakes),
            titles=tuple(m.title for m in mistakes),
            explain=unconditional_text(mistakes[0].explain) if explain is None else explain,
            hint=mistakes[0].hint,
            scenarios=scenarios,
        )

    @property
    def id(self) -> str:
        """The ids as results.json writes them, joined by `|`."""
        return "|".join(self.ids)


@dataclass(frozen=True)
class Pasted:
    """A well-known wrong program from the web that behaves exactly as the learner's does."""

    id: str
    title: str
    explain: str
    hint: str


@dataclass(frozen=True)
class RepairStep:
    """One small edit on the way from the learner's own program to a right one; shown step by step as hints."""

    kind: str
    """Korean sentence that says what kind of edit it is."""
    where: str
    """Korean place for a line that is inserted or moved (`이 줄보다 앞에`); else empty."""
    line: int | None
    """The learner's line, numbered as in `Feedback.line`."""
    cell: int | None
    old: tuple[str, ...]
    """The learner's lines that the edit replaces."""
    new: tuple[str, ...]
    """The lines that replace them."""


@dataclass(frozen=True)
class Remembered:
    """State that outlives a call of the learner's function and spoils the next call."""

    scenarios: tuple[str, ...]
    """Titles of the scenarios whose result changes when the program is loaded anew."""
    line: int | None
    """Line of the likely holder of that state, numbered as in `Feedback.line`."""
    cell: int | None


@dataclass(frozen=True)
class Diagnosis:
    """Why a submission is wrong, as far as its behaviour tells."""

    mistakes: tuple[NamedMistake, ...] = ()
    """The named mistakes; empty if no known mistake behaves like this."""
    first_difference: FirstDifference | None = None
    yours: tuple[Moment, ...] = ()
    """The learner's timeline of events."""
    right: tuple[Moment, ...] = ()
    """The solution's timeline beside it."""
    recipe: Recipe | None = None
    unexplained: tuple[str, ...] = ()
    """Titles of the failing scenarios that the named mistakes do not explain."""
    unexplained_checks: tuple[str, ...] = ()
    """Titles of the failed checks that the named mistakes do not explain wholly; empty if no mistake is named."""
    near: NamedMistake | None = None
    """The nearest known mistake, if none is named. Its behaviour is similar, not the same."""
    repair: tuple[RepairStep, ...] = ()
    """Small edits that make the learner's own program pass; given where known mistakes do not explain everything."""
    pasted: Pasted | None = None
    """The well-known program that behaves the same in every scenario, if there is one."""
    repair_leaves: tuple[str, ...] = ()
    """Titles of the scenarios that still fail with the edits of `repair`; never more scenarios than the edits mend."""
    remembered: Remembered | None = None
    """State that the program keeps from earlier calls. If set, nothing else is named."""
    order_scenario: str = ""
    """Title of the scenario of the timelines `yours` and `right`; empty if it is that of the first difference."""
    signature: str = ""
    """Korean sentence, without a full stop, on how the learner's function takes other arguments than the exercise's.
    If set, the first difference shows both signatures."""
    exception_apart: bool = False
    """True if mistakes are named and do not explain the exception that is shown."""

    @property
    def mistakes_explain_all(self) -> bool:
        """True if mistakes are named and leave no failing scenario unexplained."""
        return bool(self.mistakes) and not self.unexplained

    @property
    def explains_all(self) -> bool:
        """True if nothing is left to explain: by the mistakes, as a program from the web, or by another signature."""
        return self.mistakes_explain_all or self.pasted is not None or bool(self.signature)


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
    """One Korean line that sums up the result, as in results.json."""
    begun: bool = True
    """False if the function is still as it was handed out, or empty."""
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    line: int | None = None
    """Line in the cell (or in the .py file) that the feedback points at."""
    cell: int | None = None
    """Number of the code cell; None for a .py file."""
    source_line: str | None = None
    """Text of the learner's line, as written; several lines if the fault is visible only in comparison."""
    lines_above: int = 0
    """Number of lines of `source_line` above `line`."""
    file: str | None = None
    error: str | None = None
    """`TypeError: …` if the code raised."""
    raised: bool = False
    """True if the exception came from a `raise` statement of the learner's own."""
    kind: Kind = "exercise"
    because: str = ""
    """If it passed: what this program does that wrong ones do not."""
    notes: tuple[str, ...] = ()
    """Further Korean lines that change no points: another definition was overridden, a notebook variable is used, …"""
    seconds: float = 0.0
    """Wall-clock time that running the exercise took."""
    other_name: str = ""
    """For a missing exercise: the name of a function that is probably meant as it; empty if there is none."""
    printed: Printed | None = None
    """What the function printed in one scenario; None if nothing."""
    printed_in: str = ""
    """Korean title of that scenario; empty if nothing was printed."""
    code: str = ""
    """The learner's whole answer, as graded or as it does not parse; only in reports of a class (`kept_answers`)."""
    code_line: int | None = None
    """Line of its first line, in the cell (or in the .py file); None without code."""
    code_cell: int | None = None
    """Number of the code cell it stands in; None for a .py file."""

    @property
    def score(self) -> float:
        """Points of the checks passed."""
        return sum(check.points for check in self.checks if check.passed)

    @property
    def max_score(self) -> float:
        """Points of all checks."""
        return sum(check.points for check in self.checks)

    @property
    def mistake_ids(self) -> list[str]:
        """Ids of the named mistakes, as in results.json."""
        return [named.id for named in self.diagnosis.mistakes]


@dataclass(frozen=True)
class Person:
    """A student's identity outside this course: in the roster, and in the learning system that the files came from."""

    id: str = ""
    """Student number (학번) from the roster; empty for somebody who is not in it."""
    name: str = ""
    section: str = ""
    login: str = ""
    email: str = ""
    github: str = ""
    canvas_id: str = ""
    """Canvas's number for the student."""
    moodle_id: str = ""
    """The number after `Participant` in Moodle's worksheet."""
    group: str = ""
    """Group (조) that the roster puts the student in; empty if it tells none."""


@dataclass(frozen=True)
class Absent:
    """A person in the roster who handed in nothing."""

    person: Person
    mark: Mark | None = None
    """Set only if a mark was given by hand, or if the policy gives zero for a missing submission."""
    in_doubt: bool = False
    """True if work that is not graded, or that is missing, may be this person's; the policy then gives no zero."""
    doubt: str = ""
    """Why, in Korean; empty if not `in_doubt`."""
    open_until: str = ""
    """Deadline that has not passed yet (`2026-03-25 23:59`), for which the policy gives no zero; empty if none."""
    comments: tuple[Comment, ...] = ()
    """What the instructor says to this person."""

    @property
    def why_blank(self) -> str:
        """Why there is no zero yet, in Korean; empty if there is nothing to say."""
        if self.doubt:
            return f"0점을 주지 않고 비워 두었어요: {self.doubt}."
        return f"마감이 아직 지나지 않았어요: {self.open_until}" if self.open_until else ""


@dataclass(frozen=True)
class Unread:
    """A file of a submission that could not be read."""

    file: str
    reason: str
    """Reason and remedy, in Korean."""


@dataclass(frozen=True)
class SubmissionResult:
    """Everything there is to say about one student."""

    student: str
    feedbacks: tuple[Feedback, ...]
    """Feedback on the exercises that count, missing ones included."""
    notes: tuple[str, ...] = ()
    """Korean lines about the files as a whole."""
    scrutiny: tuple[str, ...] = ()
    """Korean lines for the instructor alone: places where the code reaches for the grader."""
    digest: str = ""
    """Fingerprint of the files. A resumed run grades a submission anew if it has changed."""
    extras: tuple[Feedback, ...] = ()
    """Feedback on the warm-ups and bonus tasks that the student has begun; they do not count for the score."""
    person: Person | None = None
    """None if nothing is known but the folder's name."""
    late: bool = False
    """True if the system that the files came from calls them late."""
    handed_in: str = ""
    """Time of submission in ISO 8601; empty if unknown."""
    mark: Mark | None = None
    """None if there is neither a policy nor a mark by hand, so that the score is the mark; and if `awaits_mark`."""
    unread: tuple[Unread, ...] = ()
    """Files that could not be read."""
    comments: tuple[Comment, ...] = ()
    """What the instructor says to the student, apart from points."""
    regraded: Regrade | None = None
    """Set once a later grading has graded the student anew."""
    unmatched: str = ""
    """Why nobody in the roster is known to have handed it in, in Korean: it does not count in the class's statistics.
    Empty if somebody is, and without a roster."""

    @property
    def is_ungraded(self) -> bool:
        """True if an exercise may stand in a file that could not be read: its 0 points say nothing of the student."""
        return any(feedback.status == "unreadable" for feedback in self.feedbacks)

    @property
    def awaits_mark(self) -> bool:
        """True if there is no final mark yet: what could not be read is neither zero nor marked by hand."""
        return self.mark is None and self.is_ungraded

    @property
    def all_feedback(self) -> tuple[Feedback, ...]:
        """All feedback, lesson by lesson; within a lesson the exercises come before the extras."""
        return tuple(sorted((*self.feedbacks, *self.extras), key=lambda feedback: feedback.lesson))

    @property
    def score(self) -> float:
        """Points reached in the exercises that count."""
        return sum(feedback.score for feedback in self.feedbacks)

    @property
    def max_score(self) -> float:
        """Points of all exercises that count."""
        return sum(feedback.max_score for feedback in self.feedbacks)

    @property
    def passed(self) -> bool:
        """True if every exercise that counts has passed."""
        return all(feedback.status == "passed" for feedback in self.feedbacks)


@dataclass(frozen=True)
class ClassResult:
    """The results of one grading run."""

    seed: int
    device: str
    sandbox: str
    """`bwrap` or `none`."""
    submissions: tuple[SubmissionResult, ...]
    absent: tuple[Absent, ...] = ()
    """In the roster's order; empty without a roster."""
    skipped: tuple[str, ...] = ()
    """Names of files and folders that were not graded, since nobody is known to have handed them in."""
    repair: Repair = "at-once"
    """When students read the names of their mistakes, by the policy."""
    regrade: str = ""
    """Command that grades what could not be read, once its files are mended; empty if all was read."""

    @property
    def counted(self) -> tuple[SubmissionResult, ...]:
        """Submissions of the class's own students, of whom statistics are made."""
        return tuple(submission for submission in self.submissions if not submission.unmatched)

    @property
    def ungraded(self) -> tuple[SubmissionResult, ...]:
        """Submissions that could not be read in full."""
        return tuple(submission for submission in self.submissions if submission.is_ungraded)

    @property
    def without_mark(self) -> tuple[SubmissionResult, ...]:
        """Submissions that could not be read in full and have no mark by hand either."""
        return tuple(submission for submission in self.submissions if submission.awaits_mark)
