"""Read and check what `grade` and `mark` both need: policy, marks by hand, extensions, roster, submissions.

Rules are tried before anything is run. Roster, groups and rules are kept beside the results, so that the next
run finds them there.
"""

import getpass
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from grader.base.errors import CommandError
from grader.base.files import require_class, require_file, write_whole
from grader.base.names import listed
from grader.cli.terminal import say
from grader.observe.wording import with_particle

if TYPE_CHECKING:
    from grader.course.course import Course, Exercise
    from grader.course.feedback import ClassResult
    from grader.gradebook.marking import Rules
    from grader.grading.grading_run import GradingRun
    from grader.intake.receive import Received


ROSTER, GROUPS, POLICY, OVERRIDES = "roster.csv", "groups.csv", "policy.toml", "overrides.csv"
EXTENSIONS, COMMENTS = "extensions.csv", "comments.csv"
"""Names under which the instructor's files are kept in the report's folder; an Excel workbook ends in `.xlsx` there."""
ROSTERS = (ROSTER, "roster-2.csv", "roster-3.csv")
"""Names of the rosters, of which there may be several: a portal's and a learning system's."""
DESK_LOG = "desk.jsonl"
"""Name of the log of what was done at the desk, in the report's folder."""
DESK_FILES = {OVERRIDES: "--override", COMMENTS: "--comments"}
"""Files that the desk writes to, with the options that give others."""
_WORKBOOK = ".xlsx"


def require_inputs(submissions: Path, files: "Iterable[Path | None]") -> None:
    """Refuse missing inputs before anything slow is imported.

    Args:
        submissions: folder or archive of a class.
        files: the instructor's own files; None where none is given.

    Raises:
        CommandError: one of them does not exist.
    """
    if not (submissions.suffix.lower() == ".zip" and submissions.is_file()):
        require_class(submissions)
    for file in files:
        if file is not None:
            require_file(file)


def read_rules(
    policy: Path | None,
    overrides: Path | None,
    extensions: Path | None = None,
    comments: Path | None = None,
) -> "Rules":
    """Read policy, marks by hand, extensions and comments; None stands for a missing file.

    Raises:
        HanstepError: a file cannot be read, or has invalid content.
    """
    from grader.gradebook.comments import read_comments
    from grader.gradebook.extensions import extensions_of_policy, read_extensions
    from grader.gradebook.marking import Rules
    from grader.gradebook.overrides import read_overrides
    from grader.gradebook.policy import Policy, read_policy

    read = None if policy is None else read_policy(policy)
    order = (read or Policy()).order
    return Rules(
        read,
        () if overrides is None else read_overrides(overrides),
        str(policy),
        str(overrides),
        (
            *(() if read is None else extensions_of_policy(read, str(policy))),
            *(() if extensions is None else read_extensions(extensions, order)),
        ),
        () if comments is None else read_comments(comments),
        str(comments),
    )


def with_answers(rules: "Rules", out: Path) -> "Rules":
    """Return the rules with the code kept in `out`, if a judgement belongs to an answer; a class's code is megabytes.

    Raises:
        OSError: the code cannot be read.
    """
    from grader.report.kept_answers import Answers

    judged = [one.answer for one in rules.overrides] + [one.answer for one in rules.comments]
    return replace(rules, answers=Answers(out)) if any(judged) else rules


def receive_class(
    submissions: Path,
    out: Path,
    given: "dict[str, Path | None]",
    run: "GradingRun",
) -> "tuple[Received, Rules]":
    """Read the submissions and the rules, and keep roster and rules, and the code for the desk, in `out`.

    Args:
        submissions: folder or archive to grade.
        out: the report's folder.
        given: paths of roster, groups and rules as given on the command line, by kept name.
        run: the exercises to grade, the course whose names the rules refer to, and the names that students gave.

    Raises:
        HanstepError: a file cannot be read, or the rules do not fit the class.
    """
    from grader.classroom.desk.lost_signs import refuse_lost_signs
    from grader.cli.progress_shown import reading_shown
    from grader.intake.groups import read_class_list
    from grader.intake.other_names import under_course_names
    from grader.intake.receive import receive
    from grader.report.kept_answers import keep_answers

    require_desk_kept(out, given)
    used = given_or_kept(out, given)
    tell_kept(given, used)
    rules = read_rules(used[POLICY], used[OVERRIDES], used[EXTENSIONS], used[COMMENTS])
    refuse_lost_signs(out, rules.overrides, rules.overrides_path)
    rosters = [path for name in ROSTERS if (path := used[name]) is not None]
    roster = read_class_list(rosters, used[GROUPS])
    names = dict(run.own_names)
    known = tuple(run.course.exercises)
    with reading_shown(submissions) as progress:
        received = receive(submissions, roster, (*known, *names), progress)
    for line in received.notes:
        say(line)
    renamed, unused = under_course_names(received.submissions, names)
    if unused:
        say(f"--as에 적었지만 아무도 내지 않은 이름: {listed(unused)}. 철자를 확인해 주세요.")
    received = replace(received, submissions=renamed)
    _try_rules(rules, received, run.exercises, run.course)
    keep_files(out, used)
    keep_answers(out, received.submissions, known)
    return received, with_answers(rules, out)


def named_rosters(paths: Sequence[Path]) -> dict[str, Path | None]:
    """Return the given rosters by kept name; None for those that are not given.

    Raises:
        CommandError: there are too many.
    """
    if len(paths) > len(ROSTERS):
        raise CommandError(
            f"--roster는 {len(ROSTERS)}개까지 줄 수 있어요. 받은 것: {listed([str(path) for path in paths])}"
        )
    return dict(zip_longest(ROSTERS, paths))


def given_or_kept(out: Path, given: Mapping[str, Path | None]) -> dict[str, Path | None]:
    """Return for each file name the given path, else the copy kept by an earlier run, else None.

    Rosters belong together: if one is given, those of an earlier run are not used.
    """
    found: dict[str, Path | None] = {}
    for name, path in given.items():
        if name in ROSTERS and given[ROSTER] is not None:
            found[name] = path
            continue
        kept = (out / name, (out / name).with_suffix(_WORKBOOK))
        found[name] = path if path is not None else next((one for one in kept if one.is_file()), None)
    return found


def require_desk_kept(out: Path, given: Mapping[str, Path | None]) -> None:
    """Refuse to replace marks and comments that were given at the desk (`grader desk`).

    Args:
        out: the report's folder.
        given: paths as given on the command line, by kept name; None where none is given.

    Raises:
        CommandError: a given file is another one than the file in `out` that the desk writes to.
    """
    if not (out / DESK_LOG).exists():
        return
    for name, path in given.items():
        kept = out / name
        if name in DESK_FILES and path is not None and kept.exists() and not kept.samefile(path):
            raise CommandError(
                f"grader desk로 적은 것이 {kept}에 있어서 {with_particle(str(path), '으로/로')} 바꾸지 않았어요. "
                f"{_how_to_join(name, kept, path)}"
                f"{path}만 쓰려면 먼저 옮겨 주세요: mv {shlex.quote(str(kept))} {shlex.quote(str(kept) + '.old')}"
            )


def _how_to_join(name: str, kept: Path, path: Path) -> str:
    """Return how to have both: the command that adds the lines which the desk's file lacks."""
    from grader.classroom.desk.joining import clashes, lines_to_add
    from grader.gradebook.hand_files import HAND_FILES

    new = lines_to_add(kept.parent, HAND_FILES[name], path)
    if not new:
        return f"{path}의 줄은 거기에 모두 있으니 {DESK_FILES[name]}를 빼고 실행해 주세요. "
    if clashing := clashes(kept.parent, HAND_FILES[name], path):
        return (
            f"두 파일이 같은 학생의 같은 연습에 점수를 따로 정했어요: {listed(clashing)}. "
            f"한쪽에서 그 줄을 지운 다음 다시 실행해 주세요. "
        )
    command = shlex.join(["grader", "mark", str(kept.parent), DESK_FILES[name], str(path), "--join"])
    return f"{path}에만 있는 {len(new)}줄을 더해 둘 다 쓰려면: {command}\n"


def join_with_desk(out: Path, given: Mapping[str, Path | None]) -> dict[str, Path | None]:
    """Add the lines of the given files to those that the desk writes to; return the files still to be used as given.

    Args:
        out: the report's folder.
        given: paths as given on the command line, by kept name; None where none is given.

    Raises:
        HanstepError: a file cannot be read, or both decide the same score.
        OSError: a file cannot be written.
    """
    from grader.classroom.desk.joining import join
    from grader.gradebook.hand_files import HAND_FILES

    left = dict(given)
    for name in DESK_FILES:
        path, kept = given.get(name), out / name
        if path is not None and kept.exists() and not kept.samefile(path):
            added = join(out, account(), HAND_FILES[name], path)
            desk = f"grader desk {shlex.quote(str(out))}"
            say(
                f"{path}에만 있는 {added:,}줄을 {kept}에 더했어요. 되돌리려면 이 명령을 실행하고 u를 누르세요: {desk}"
            )
            left[name] = None
    return left


def account() -> str:
    """Return the name of this user's account; some containers have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "조교"


def keep_files(out: Path, files: Mapping[str, Path | None]) -> None:
    """Copy these files into `out`, with their times. Call it after they have been read without an error.

    A roster of an earlier run that is not used any more is removed.

    Raises:
        OSError: a file cannot be written.
    """
    for name, path in files.items():
        if path is None:
            if name in ROSTERS:
                (out / name).unlink(missing_ok=True)
                (out / name).with_suffix(_WORKBOOK).unlink(missing_ok=True)
            continue
        data = path.read_bytes()
        kept, other = out / name, (out / name).with_suffix(_WORKBOOK)
        if data.startswith(b"PK"):
            kept, other = other, kept
        if not (kept.exists() and kept.samefile(path)):
            write_whole(kept, data)
            os.utime(kept, (path.stat().st_atime, path.stat().st_mtime))
            other.unlink(missing_ok=True)


def tell_kept(given: "dict[str, Path | None]", used: "dict[str, Path | None]") -> None:
    """Say which files of an earlier run are used again, and how old they are; an instructor may have forgotten them."""
    again = [used[name] for name in given if given[name] is None]
    shown = [f"{path} ({_age(path)})" for path in again if path is not None]
    if shown:
        say(f"전에 쓴 파일을 다시 써요: {', '.join(shown)}. 쓰지 않으려면 지우고 다시 실행해 주세요.")


def _age(path: Path) -> str:
    """Return when a file was last changed, in Korean: `2026-03-20에 저장, 12일 전`."""
    changed = datetime.fromtimestamp(path.stat().st_mtime)
    seconds = max(0.0, (datetime.now() - changed).total_seconds())
    ago = "방금"
    for size, unit in ((86_400, "일"), (3_600, "시간"), (60, "분")):
        if seconds >= size:
            ago = f"{int(seconds // size)}{unit} 전"
            break
    return f"{changed:%Y-%m-%d}에 저장, {ago}"


def tell_marks(
    report: Path, result: "ClassResult", rules: "Rules", *, has_told_command: bool = False
) -> None:
    """Say how many students have a final mark and a reason beside it, and who has none or a doubtful one.

    Args:
        report: the report's folder, with the files given by hand.
        result: the results as they are now.
        rules: what the marks were computed by.
        has_told_command: True if the command that grades unread files stands just above.
    """
    from grader.gradebook.marking import taken_as_in_time

    marks = [s.mark for s in result.counted if s.mark is not None]
    if marks:
        changed = sum(bool(mark.reasons) for mark in marks)
        excused = sum(mark.score is None for mark in marks)
        excused += sum(a.mark is not None and a.mark.score is None for a in result.absent)
        more = f" 면제는 {excused:,}명이에요." if excused else ""
        say(
            f"최종 점수: {len(marks):,}명 (만점 {marks[0].max_score:g}). "
            f"까닭이 적힌 학생은 {changed:,}명이에요.{more}"
        )
    timeless = [submission.student for submission in taken_as_in_time(result, rules.policy)]
    if timeless:
        say(
            f"언제 냈는지 몰라서 제때 낸 것으로 센 학생 {len(timeless):,}명: {listed(timeless, '명')}. 지각을 매기려면 "
            "'제출 시각' 열이 있는 명단이나 Moodle의 채점표를 --roster로 주고 다시 채점해 주세요."
        )
    doubtful = [
        f"{a.person.id} {a.person.name}" + (f" ({a.doubt})" if a.doubt else "")
        for a in result.absent
        if a.in_doubt and a.mark is None
    ]
    if marks and doubtful:
        say(
            f"냈을 수 있어서 0점을 주지 않고 비워 둔 학생: {listed(doubtful, '명')}. "
            "파일의 이름에 학번을 적거나 명단에 '조' 열을 더해 다시 채점하거나, --override로 점수를 적어 주세요."
        )
    early = [f"{a.person.id} {a.person.name} ({a.open_until})" for a in result.absent if a.open_until]
    if early:
        say(f"마감이 아직 지나지 않아서 0점을 주지 않은 학생 {len(early):,}명: {listed(early, '명')}")
    _tell_fallen(result)
    _tell_misfits(report, result)
    tell_without_mark(result, has_told_command=has_told_command)


def _tell_fallen(result: "ClassResult") -> None:
    """Say whose points are lower than at the last grading, which nobody expects of handing in again."""
    from grader.report.regraded import fallen

    lower = [(s, changes) for s in result.counted if (changes := fallen(s))]
    if not lower:
        return
    shown = listed([f"{s.student} ({', '.join(changes)})" for s, changes in lower], "명")
    say(f"앞의 채점보다 점수가 내려간 학생 {len(lower):,}명: {shown}.")
    if any(s.regraded is not None and s.regraded.handed_in_again for s, _ in lower):
        say(
            '다시 낸 답이 전보다 못해도 앞의 점수를 지켜 주려면 policy.toml의 맨 위에: handed_in_again = "best"'
        )


def _tell_misfits(report: Path, result: "ClassResult") -> None:
    """Say which lines of the files given by hand judged an earlier answer, and how many fit their rule no more."""
    from grader.classroom.desk.people import People
    from grader.classroom.desk.rubric import misfits
    from grader.gradebook.hand_files import HAND_FILES
    from grader.report.kept_answers import Answers

    lines = [line for file in HAND_FILES.values() for line in file.read(report).lines]
    if not lines:
        return
    people = People(result, Answers(report))
    stale = [line for line in lines if people.is_stale(line)]
    if stale:
        told = dict.fromkeys(" ".join(filter(None, (s.id, s.name, s.exercise or "전체"))) for s in stale)
        say(
            f"직접 채점한 뒤에 다시 낸 답이 있어요. 지난 답에 적은 {len(stale):,}줄은 점수와 학생의 페이지에서 "
            f"빼 두었어요: {listed([*told])}. 새 답을 보고 남기거나 지우려면: grader desk {shlex.quote(str(report))}"
        )
    found = Counter(line.exercise for line in misfits((one for one in lines if one.rule), result, people))
    if found:
        where = listed([f"{exercise} {number}줄" for exercise, number in found.items()])
        say(
            f"다시 채점한 뒤로 적은 까닭과 더는 맞지 않는 줄 {found.total():,}개: {where}. "
            f"점수에는 그대로 들어 있어요. 보고 지우려면: grader desk {shlex.quote(str(report))}"
        )


def tell_without_mark(result: "ClassResult", *, has_told_command: bool = False) -> None:
    """Say who has no mark because files could not be read, and by which command they are graded."""
    from grader.report.plain_text import one_line

    waiting = [one_line(submission.student, 80) for submission in result.without_mark]
    if not waiting:
        return
    again = result.regrade or "grader grade 제출물폴더 --out 결과폴더 --changed-only"
    command = "" if has_told_command and result.regrade else f": {again}"
    say(
        f"읽지 못한 파일이 있어서 점수를 비워 둔 학생 {len(waiting):,}명: {listed(waiting, '명')}. 파일을 고친 다음 "
        f"{'다시 채점하거나' if command else '위의 명령으로 다시 채점하거나'} --override로 점수를 적어 주세요"
        f"{command or '.'}"
    )


def _try_rules(
    rules: "Rules", received: "Received", exercises: "Iterable[Exercise]", course: "Course"
) -> None:
    """Apply the rules to a class without points, so that a misspelt name is reported before an hour of grading.

    Raises:
        HanstepError: the rules cannot be applied.
    """
    from grader.course.feedback import CheckResult, ClassResult, Feedback, SubmissionResult
    from grader.gradebook.marking import marked
    from grader.intake.receive import enrolled

    nothing = tuple(
        Feedback(
            exercise.lesson,
            exercise.name,
            exercise.title,
            "missing",
            tuple(CheckResult(check.title, check.points, False) for check in exercise.checks),
            "",
        )
        for exercise in exercises
        if exercise.kind == "exercise"
    )
    class_ = ClassResult(0, "", "", tuple(SubmissionResult(s.student, nothing) for s in received.submissions))
    marked(enrolled(class_, received), rules, tuple(course.exercises))
