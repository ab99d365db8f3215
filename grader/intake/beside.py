"""Decide about what lies in a class's folder beside what a learning system put there.

That is the download of another system, packed or not, and files that an instructor added. Nothing is given to anybody
by a guess: only a student number in the name, which no other name contradicts, makes an added file somebody's. Whoever
may have handed in what is not graded is not taken for somebody who handed in nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from grader.base.names import display_name, listed
from grader.course.feedback import Person
from grader.intake.handover import Entry, Handover, entries
from grader.intake.match import Matched, match, perhaps_in, person_in
from grader.intake.roster import Roster
from grader.intake.systems import Download, joined, looks_packed, recognise
from grader.intake.upload_receiver import UploadReceiver
from grader.submission.class_folder import student_of_file

_OF_A_GROUP = "짝짓지 못한 모둠의 제출물이 이 학생의 것일 수 있어요"


def read_downloads(
    folder: Path, uploads: UploadReceiver, workplace: Path
) -> tuple[Download | None, tuple[str, ...]]:
    """Read the download in a folder, with those of other systems that lie in it, packed or not.

    Args:
        folder: the class's folder.
        uploads: opens archives.
        workplace: below it, archives of a whole class are unpacked.

    Returns:
        All downloads as one, or None if there is none; and Korean lines on what could not be unpacked.

    Raises:
        IntakeError: a download is broken.
        OSError: the folder cannot be listed.
    """
    found = entries(folder)
    if len(found) == 1 and found[0].is_folder:
        return recognise(folder), ()
    within = [entry for entry in found if looks_packed(_names_in(entry, uploads))]
    own = recognise(folder, {entry.path for entry in within})
    notes: list[str] = []
    downloads = [] if own is None else [own]
    for number, entry in enumerate(within):
        place = entry.path
        if not entry.is_folder:
            place = workplace / f"download {number}"
            notes += uploads.unpack(entry.path, place)
        if (one := recognise(place)) is not None:
            downloads.append(one)
    if not downloads or not within:
        return own, ()
    rest = [] if own is not None else [entry for entry in found if entry not in within]
    return joined(downloads, rest), tuple(notes)


def _names_in(entry: Entry, uploads: UploadReceiver) -> Sequence[str]:
    """Return the names directly in a folder or in a zip file; none for other files and for what cannot be read."""
    if entry.path.is_symlink():
        return ()
    if entry.is_folder:
        try:
            return [inner.name for inner in entries(entry.path)]
        except OSError:  # told by whoever reads it
            return ()
    return uploads.names_in(entry.path) if entry.name.lower().endswith(".zip") else ()


def with_added(
    download: Download, roster: Roster | None
) -> tuple[tuple[Handover, ...], tuple[Entry, ...], Matched]:
    """Give those who handed in nothing by the system what an instructor added for them under their number.

    Returns:
        The handovers with those that were added, the entries that stay nobody's, and who handed in what.
    """
    matched = match(download.handovers, roster)
    if roster is None:
        return download.handovers, download.others, matched
    absent = {person.id for person in matched.absent}
    added: list[Handover] = []
    left: list[Entry] = []
    for entry in download.others:
        person = person_in(_label(entry), roster)
        if person is None or person.id not in absent:
            left.append(entry)
            continue
        name = "" if entry.is_folder else entry.name
        added.append(Handover(f"added {entry.path}", person.name, ((name, entry.path),), ids=(person.id,)))
    handovers = (*download.handovers, *added)
    return handovers, tuple(left), match(handovers, roster) if added else matched


def download_notes(download: Download, handovers: Sequence[Handover], left: Sequence[Entry]) -> Iterator[str]:
    """Yield Korean lines on what was recognised, what was added to it (`with_added`), and what is nobody's."""
    yield f"{download.system}에서 내려받은 폴더로 알아보았어요: {len(download.handovers):,}명"
    if added := [display_name(h.parts[0][1].name) for h in handovers[len(download.handovers) :]]:
        yield f"이름에 적힌 학번으로 짝지은 것: {listed(added)}"
    if left:
        yield f"누가 냈는지 이름으로 알 수 없어서 채점하지 않은 것: {listed([entry.name for entry in left])}"


def _label(entry: Entry) -> str:
    return entry.name if entry.is_folder else student_of_file(entry.name)


def doubts(matched: Matched, roster: Roster | None, left: Iterable[Entry] = ()) -> Mapping[str, str]:
    """Return why somebody absent may have handed in all the same, in Korean, by the person's id.

    Args:
        matched: who handed in what.
        roster: may tell when somebody handed in.
        left: what is not graded, since it is unknown whose it is.
    """
    found: dict[str, list[str]] = {person.id: [] for person in matched.absent}
    if roster is not None:
        for entry in left:
            for person in perhaps_in(_label(entry), roster):
                if person.id in found:
                    found[person.id].append(f"채점하지 않은 것이 이 학생의 것일 수 있어요: {entry.name}")
        for one, why in found.items():
            if time := roster.handed_in.get(one, ""):
                why.append(f"명단에는 {time}에 낸 것으로 나오는데 받은 파일이 없어요")
    for one in matched.absent_in_doubt:
        found[one].append(_OF_A_GROUP)
    return {one: ". ".join(why) for one, why in found.items() if why}


def doubt_notes(absent: Sequence[Person], why: Mapping[str, str], grouped: Iterable[str]) -> tuple[str, ...]:
    """Return a Korean line on those absent whose work may be there or missing; groups are told with the groups."""
    told = [f"{p.id} {p.name} ({why[p.id]})" for p in absent if p.id in why and p.id not in set(grouped)]
    if not told:
        return ()
    return (
        '냈을 수 있어서, 정책에 missing = "zero"가 있어도 0점을 주지 않고 비워 두는 학생: '
        f"{listed(told, '명')}. 파일의 이름에 학번을 적거나 다시 내려받아 채점해 주세요.",
    )
