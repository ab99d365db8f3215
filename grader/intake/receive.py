"""Turn a download or a plain class folder, with a roster, into the students' submissions and who handed them in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.base.file_names import safe_filename
from grader.base.names import shown_name
from grader.base.removal import temporary_folder
from grader.course.feedback import Absent, ClassResult, Person
from grader.intake.beside import doubt_notes, doubts, download_notes, read_downloads, with_added
from grader.intake.handover import Handover, entries
from grader.intake.match import match_labels
from grader.intake.roster import Roster
from grader.intake.upload_receiver import PLACING, READING, Progress, UploadReceiver, silent
from grader.submission.class_folder import read_class
from grader.submission.find_files import MAX_DEPTH, Unreadable, is_skipped
from grader.submission.submission import Submission


@dataclass(frozen=True)
class Received:
    """A class, ready to be graded."""

    submissions: tuple[Submission, ...]
    people: Mapping[str, Person]
    """Person by the student's name in `submissions`; contains only students known to the roster or the system."""
    late: frozenset[str]
    """Names of students whom the system calls late."""
    handed_in: Mapping[str, str]
    """Time of handing in by student, for those whose time is known."""
    absent: tuple[Person, ...]
    """People in the roster who handed in nothing."""
    notes: tuple[str, ...]
    """Korean lines for the instructor: recognised system, students not in the roster, files that belong to nobody."""
    copies: tuple[str, ...] = ()
    """Names of students whose files are those of another one in their group, who is not among them."""
    absent_in_doubt: Mapping[str, str] = field(default_factory=dict)
    """Why somebody in `absent` may have handed in all the same, in Korean, by id."""
    unmatched: Mapping[str, str] = field(default_factory=dict)
    """Why a submission belongs to nobody in the roster, in Korean, by the student's name in `submissions`."""
    skipped: tuple[str, ...] = ()
    """Names of files and folders that are not graded, since nobody is known to have handed them in."""


def receive(
    source: Path, roster: Roster | None, exercise_names: Collection[str], progress: Progress = silent
) -> Received:
    """Read what a class handed in.

    Args:
        source: a learning system's download, packed or not, or a folder with one entry per student.
        roster: the class's roster; None if there is none.
        exercise_names: exercises of the course.
        progress: told how far reading is.

    Raises:
        IntakeError: the archive or the download is broken.
        CommandError: the folder is missing.
        ClassFolderError: it contains no student.
        OSError: the temporary folder cannot be written.
    """
    with temporary_folder() as workplace, UploadReceiver(workplace / "unpacked", progress) as uploads:
        packed = source.suffix.lower() == ".zip" and source.is_file()
        folder = workplace / "download" if packed else source
        refused = uploads.unpack(source, folder) if packed else ()
        download, more = read_downloads(folder, uploads, workplace) if folder.is_dir() else (None, ())
        refused = (*refused, *more)
        if download is None:
            plain = _receive_plain_folder(
                _only_folder(folder) if packed else folder, roster, exercise_names, uploads
            )
            return replace(plain, notes=(*refused, *plain.notes))
        handovers, left, matched = with_added(download, roster)
        found = [*refused, *download_notes(download, handovers, left)]
        why = doubts(matched, roster, left)
        by_label: dict[str, tuple[Handover, Person]] = {}
        notes: dict[str, tuple[str, ...]] = {}
        copies: list[str] = []
        taken: set[str] = set()
        for handover in handovers:
            team = matched.teams.get(handover.key, ())
            for number, person in enumerate(team or (matched.people[handover.key],)):
                label = _free_label(person, taken)
                by_label[label] = handover, person
                notes[label] = (*_team_note(handover.name, team), *handover.notes)
                copies += [label] if number else []

        def place(label: str) -> tuple[Unreadable, ...]:
            return uploads.place(by_label[label][0].parts, workplace / "class" / label)

        placed = uploads.each(PLACING, place, list(by_label))
        problems = dict(zip(by_label, placed, strict=True))
        read = read_class(workplace / "class", exercise_names, uploads.read, partial(uploads.each, READING))
        return Received(
            tuple(
                replace(
                    submission,
                    notes=(*notes[submission.student], *submission.notes),
                    unreadable=(*submission.unreadable, *problems[submission.student]),
                )
                for submission in read
            ),
            {label: person for label, (_, person) in by_label.items()},
            frozenset(label for label, (handover, _) in by_label.items() if handover.late),
            _times(
                roster,
                {label: (person, h.handed_in) for label, (h, person) in by_label.items()},
                {label: h.key for label, (h, _) in by_label.items() if h.key in matched.teams},
            ),
            matched.absent,
            (*found, *matched.notes, *doubt_notes(matched.absent, why, matched.absent_in_doubt)),
            tuple(copies),
            why,
            {label: w for label, (h, _) in by_label.items() if (w := matched.unmatched.get(h.key))},
            tuple(entry.name for entry in left),
        )


def _free_label(person: Person, taken: set[str]) -> str:
    """Return a student's name in the results that nobody has yet, and note that it is taken."""
    label = _label(person)
    if label.casefold() in taken:
        label = safe_filename(label, taken)
    taken.add(label.casefold())
    return label


def _team_note(name: str, team: Sequence[Person]) -> tuple[str, ...]:
    """Return a line for the students who handed in together; empty for a single one's work."""
    if not team:
        return ()
    groups = {person.group for person in team}
    if len(groups) == 1 and (group := next(iter(groups))):
        name = f"{group}조" if group.isdigit() else group
    return (f"모둠 '{name}'의 제출물이에요. 함께 낸 사람: {', '.join(person.name for person in team)}.",)


def enrolled(result: ClassResult, received: Received) -> ClassResult:
    """Return the results with each student's person, lateness and time, and with those who handed in nothing."""
    submissions = tuple(
        replace(
            submission,
            person=received.people.get(submission.student),
            late=submission.student in received.late,
            handed_in=received.handed_in.get(submission.student, ""),
            unmatched=received.unmatched.get(submission.student, ""),
        )
        for submission in result.submissions
    )
    doubtful = received.absent_in_doubt
    absent = tuple(
        Absent(person, in_doubt=person.id in doubtful, doubt=doubtful.get(person.id, ""))
        for person in received.absent
    )
    return replace(result, submissions=submissions, absent=absent, skipped=received.skipped)


def _label(person: Person) -> str:
    """Return a student's name in the results: number and name, safe as a file name.

    It is unique among the people of a roster.
    """
    parts = (person.id or person.canvas_id or person.moodle_id, person.name)
    label = safe_filename(shown_name("_".join(part for part in parts if part)))
    return f"_{label}" if is_skipped(label) else label


def _receive_plain_folder(
    folder: Path, roster: Roster | None, exercise_names: Collection[str], uploads: UploadReceiver
) -> Received:
    """Read a plain class folder, in which each entry is named after its student."""
    each = partial(uploads.each, READING)
    submissions = tuple(read_class(folder, exercise_names, uploads.read_unplaced, each))
    matched = match_labels([submission.student for submission in submissions], roster)
    taken = {submission.student.casefold() for submission in submissions}
    shared: list[Submission] = []
    people = {label: person for label, person in matched.people.items() if label not in matched.teams}
    copies: list[str] = []
    team_of: dict[str, str] = {}
    for submission in submissions:
        team = matched.teams.get(submission.student, ())
        for number, person in enumerate(team):
            label = _free_label(person, taken)
            note = _team_note(submission.student, team)
            shared.append(replace(submission, student=label, notes=(*note, *submission.notes)))
            people[label] = person
            team_of[label] = submission.student
            copies += [label] if number else []
        if not team:
            shared.append(submission)
    times = _times(roster, {label: (person, "") for label, person in people.items()}, team_of)
    why = doubts(matched, roster)
    return Received(
        tuple(shared),
        people,
        frozenset(),
        times,
        matched.absent,
        (*matched.notes, *doubt_notes(matched.absent, why, matched.absent_in_doubt)),
        tuple(copies),
        why,
        matched.unmatched,
    )


def _times(
    roster: Roster | None, of: Mapping[str, tuple[Person, str]], team_of: Mapping[str, str]
) -> dict[str, str]:
    """Return when each student handed in; the roster's time wins over the system's.

    Members without a time have that of the one who handed in for all of them: the only time that their group has.

    Args:
        roster: may tell times.
        of: person and the system's time, by the student's name in the results.
        team_of: what the student's group handed in, by the student's name in the results.
    """
    known = {} if roster is None else roster.handed_in
    times = {label: known.get(person.id, "") or time for label, (person, time) in of.items()}
    shared: dict[str, set[str]] = {}
    for label, team in team_of.items():
        shared.setdefault(team, set()).update({times[label]} - {""})
    for label, team in team_of.items():
        if not times[label] and len(shared[team]) == 1:
            times[label] = next(iter(shared[team]))
    return {label: time for label, time in times.items() if time}


def _only_folder(folder: Path) -> Path:
    """Return the folder that holds the class; archives often wrap it in a single outer folder."""
    for _ in range(MAX_DEPTH):
        seen = [entry for entry in entries(folder) if not is_skipped(entry.name)]
        if len(seen) != 1 or not seen[0].is_folder:
            return folder
        inside = [entry for entry in entries(seen[0].path) if not is_skipped(entry.name)]
        if not any(entry.is_folder for entry in inside):
            return folder
        folder = seen[0].path
    return folder
