"""Define the commands that follow `grade`: `mark`, `export`, `autograder` and `similar`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.base.errors import CommandError
from grader.base.names import listed
from grader.cli.class_inputs import (
    COMMENTS,
    EXTENSIONS,
    OVERRIDES,
    POLICY,
    given_or_kept,
    join_with_desk,
    keep_files,
    read_rules,
    require_desk_kept,
    require_inputs,
    tell_kept,
    tell_marks,
    tell_without_mark,
    with_answers,
)
from grader.cli.progress_shown import announced
from grader.cli.terminal import complain, say

if TYPE_CHECKING:
    from grader.course.course import Course
    from grader.course.feedback import ClassResult
    from grader.gradebook.export.filling import Filled
    from grader.gradebook.marking import Rules

_REPORT = typer.Argument(help="grader grade가 결과를 쓴 폴더")
_LESSON = typer.Option(help="이 레슨만 (여러 번 쓸 수 있어요)")
_MOST_CHANGES = 40
"""Maximum number of changed or kept marks that are listed."""
_DEFAULT_FILES = {
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "junit": "junit.xml",
    "github": "summary.md",
    "canvas-feedback": "canvas-feedback.zip",
    "moodle-feedback": "moodle-feedback.zip",
}
_WITH_TEMPLATE = ("canvas", "moodle", "canvas-feedback")


def mark(
    report: Annotated[Path, _REPORT] = Path("report"),
    policy: Annotated[Path | None, typer.Option(help="점수 정책(policy.toml)")] = None,
    override: Annotated[Path | None, typer.Option(help="직접 준 점수(overrides.csv)")] = None,
    extensions: Annotated[
        Path | None, typer.Option(help="마감을 늘려 주었거나 면제한 학생(CSV): 학번, 마감, 면제, 까닭")
    ] = None,
    comments: Annotated[
        Path | None, typer.Option(help="학생에게 하는 말(comments.csv): 학번, 연습, 코멘트")
    ] = None,
    join: Annotated[
        bool,
        typer.Option("--join", help="grader desk로 적은 것을 이 표로 덮어쓰지 않고, 거기에 없는 줄만 더해요"),
    ] = False,
) -> None:
    """다시 채점하지 않고, 정책과 직접 준 점수로 최종 점수를 다시 계산해요."""
    read_result(report)  # first without the lock: refuse a folder without results before locking it
    given = {POLICY: policy, OVERRIDES: override, EXTENSIONS: extensions, COMMENTS: comments}
    result, rules = mark_again(report, given, join=join)
    tell_marks(report, result, rules)
    say(f"결과: {report / 'index.html'}")


def mark_again(
    report: Path, given: dict[str, Path | None], *, join: bool = False
) -> "tuple[ClassResult, Rules]":
    """Compute the final marks, write the whole report again, and return it with the rules that were used.

    Args:
        report: the report's folder.
        given: paths of the instructor's files by kept name; for those that are not given, the kept ones are used.
        join: True to add the lines of the given files to what was written at the desk, not to replace that.

    Raises:
        HanstepError: a file cannot be read, or does not fit the class.
    """
    from grader.classroom.desk.lost_signs import refuse_lost_signs
    from grader.classroom.folder_lock import locked_folder
    from grader.course.reading import load_course
    from grader.gradebook.marking import marked
    from grader.report.write_report import write_report

    course = load_course()
    with locked_folder(report, "끝난 다음 다시 실행해 주세요."):
        result = read_result(report)
        if join:
            given = join_with_desk(report, given)
        require_desk_kept(report, given)
        wanted = {**dict.fromkeys((POLICY, OVERRIDES, EXTENSIONS, COMMENTS)), **given}
        used = given_or_kept(report, wanted)
        tell_kept(given, used)
        rules = read_rules(used[POLICY], used[OVERRIDES], used[EXTENSIONS], used[COMMENTS])
        refuse_lost_signs(report, rules.overrides, rules.overrides_path)
        rules = with_answers(rules, report)
        result = marked(result, rules, tuple(course.exercises))
        write_report(report, announced(result), course)
        keep_files(report, used)
    return result, rules


def export(
    report: Annotated[Path, _REPORT] = Path("report"),
    to: Annotated[
        str, typer.Option(help="canvas, moodle, junit, github, canvas-feedback, moodle-feedback")
    ] = "canvas",
    template: Annotated[
        Path | None,
        typer.Option(
            help="Canvas에서 내보낸 성적표나 Moodle의 채점표. 여기에 점수만 채워요. canvas-feedback이면 받은 제출물"
        ),
    ] = None,
    column: Annotated[str | None, typer.Option(help="점수를 채울 열의 이름 (--template과 함께)")] = None,
    assignment: Annotated[str | None, typer.Option(help="Canvas 과제의 이름. 예: '과제 1 (12345)'")] = None,
    file: Annotated[Path | None, typer.Option(help="쓸 파일. 주지 않으면 결과 폴더 안")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="이미 있는 점수와 면제(EX)도 바꿔요 (--template과 함께)")
    ] = False,
) -> None:
    """결과를 Canvas, Moodle, JUnit, GitHub가 읽는 파일로 바꾸고, 학생의 페이지를 LMS에 올릴 zip으로 묶어요."""
    from grader.base.files import write_whole
    from grader.course.reading import load_course
    from grader.gradebook.export.github import classroom_notices, step_summary
    from grader.gradebook.export.junit import junit_xml

    _check_export(to, template, column, overwrite=overwrite)
    result = read_result(report)
    target = file or report / _DEFAULT_FILES[to]
    if to.endswith("-feedback"):
        _export_pages(report, result, to, template, target)
        return
    if to == "github":
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8", errors="replace") as summary:
            summary.write(step_summary(result))
        typer.echo(classroom_notices(result), nl=False)
        tell_without_mark(result)
        return
    if to == "junit":
        write_whole(target, junit_xml(result).encode("utf-8", "replace"))
    else:
        title = assignment or _title(load_course(), result)
        table = _table(report, result, to, template, column, title, overwrite=overwrite)
        write_whole(target, table.data)
        if template is not None:
            _tell_changes(table)
        _tell_lateness(result, "Canvas" if to == "canvas" else "Moodle")
        if table.left_out:
            where = "Canvas" if to == "canvas" else "Moodle"
            why = f"{where}의 번호를 몰라서" if template is None else f"{template.name}의 누구인지 몰라서"
            complain(
                f"{why} 파일에 넣지 못한 학생: {listed(table.left_out, '명')}. "
                f"{where}의 번호가 있는 명단을 --roster로 더 주고 다시 채점하거나, 직접 적어 주세요."
            )
    tell_without_mark(result)
    say(f"파일: {target}")


def _check_export(to: str, template: Path | None, column: str | None, *, overwrite: bool) -> None:
    """Refuse options of `export` that do not fit together.

    Raises:
        CommandError: names the option and what to do.
    """
    if to not in _DEFAULT_FILES:
        raise CommandError(f"--to에는 {', '.join(_DEFAULT_FILES)} 가운데 하나를 주세요. 받은 값: '{to}'")
    if template is not None and to not in _WITH_TEMPLATE:
        raise CommandError(f"--template은 --to {', '.join(_WITH_TEMPLATE)}와 함께 써요. 받은 값: --to {to}")
    if column is not None and template is None:
        raise CommandError(
            "--column은 --template과 함께 써요. 점수를 채울 파일을 --template으로 알려 주세요."
        )
    if overwrite and template is None:
        raise CommandError(
            "--overwrite는 --template과 함께 써요. 점수를 바꿀 파일을 --template으로 알려 주세요."
        )


def _export_pages(report: Path, result: "ClassResult", to: str, template: Path | None, target: Path) -> None:
    """Write the zip of the students' pages, and say whom it leaves out."""
    from grader.base.files import write_whole
    from grader.gradebook.export.feedback_zip import canvas_feedback, moodle_feedback

    if to == "canvas-feedback":
        if template is None:
            raise CommandError(
                "Canvas에서 받은 제출물을 함께 주세요: --to canvas-feedback --template submissions.zip"
            )
        made = canvas_feedback(report, result, template)
    else:
        made = moodle_feedback(report, result)
    write_whole(target, made.data)
    if made.left_out:
        complain(
            f"{to.removesuffix('-feedback').capitalize()}의 번호가 없거나 모둠과 번호를 함께 써서 넣지 못한 학생: "
            f"{listed(made.left_out, '명')}. 페이지는 {report / 'feedback'}에 있어요."
        )
    say(f"파일: {target} ({made.pages:,}명의 페이지)")


def _table(
    report: Path,
    result: "ClassResult",
    to: str,
    template: Path | None,
    column: str | None,
    title: str,
    *,
    overwrite: bool,
) -> "Filled":
    from grader.gradebook.export.canvas import canvas_csv, fill_canvas_export
    from grader.gradebook.export.filling import Filled
    from grader.gradebook.export.moodle import fill_moodle_worksheet, moodle_csv
    from grader.gradebook.export.rows import rows

    found = rows(result)
    if template is not None:
        fill = fill_canvas_export if to == "canvas" else fill_moodle_worksheet
        return fill(found, template, column, overwrite=overwrite, report=report)
    return Filled(*(canvas_csv(found, title) if to == "canvas" else moodle_csv(found)))


def _tell_changes(table: "Filled") -> None:
    """Say what becomes of the marks in the system: how many are new, changed or kept, and each that was there."""
    from grader.gradebook.export.filling import OVERWRITABLE, UTF_8, UTF_8_WITH_MARK
    from grader.report.plain_text import one_line

    new = [change for change in table.changes if not change.kept and change.old in ("", "-")]
    there = [change for change in table.changes if change not in new]
    kept = Counter(change.kept for change in there if change.kept)
    why = f" ({', '.join(f'{reason} {count:,}명' for reason, count in kept.items())})" if kept else ""
    say(
        f"빈칸에 적은 점수 {len(new):,}명, 바꾼 점수 {len(there) - kept.total():,}명, "
        f"그대로 둔 점수 {kept.total():,}명{why}"
    )
    for change in there[:_MOST_CHANGES]:
        say(
            f"  {one_line(change.who, 80)}: {change.old} → {change.new}{' (그대로 둠)' if change.kept else ''}"
        )
    if len(there) > _MOST_CHANGES:
        say(f"  … {len(there) - _MOST_CHANGES:,}명 더 있어요.")
    if any(reason in OVERWRITABLE for reason in kept):
        say("이미 있는 것까지 바꾸려면 --overwrite를 더해 다시 내보내 주세요.")
    if table.encoding not in (UTF_8, UTF_8_WITH_MARK):
        say(f"받은 표의 인코딩은 {table.encoding}인데, LMS가 읽는 UTF-8로 저장했어요.")


def _tell_lateness(result: "ClassResult", system: str) -> None:
    """Say how many marks are lower for lateness already: the system may subtract for it once more."""
    late = sum(s.mark is not None and s.mark.late_percent > 0 for s in result.counted)
    if late:
        say(
            f"지각으로 이미 점수를 뺀 학생 {late:,}명이에요. {system}에도 지각 감점을 켜 두었으면 두 번 빠져요. 한쪽만 "
            f"남겨 주세요: {system}에서 끄거나, policy.toml의 [late]에 마감과 by_system = true만 적고 grader mark를 "
            "실행해 주세요."
        )


def _title(course: "Course", result: "ClassResult") -> str:
    lessons = dict.fromkeys(f.lesson for s in result.submissions for f in s.feedbacks)
    return " ".join([course.title, *([] if len(lessons) == len(course.lessons) else lessons)])


def autograder(
    system: Annotated[str, typer.Argument(help="gradescope나 github")],
    file: Annotated[Path | None, typer.Option("--out", help="쓸 파일")] = None,
    lesson: Annotated[list[str] | None, _LESSON] = None,
    sandbox: Annotated[str, typer.Option(help="auto, bwrap, none")] = "auto",
    install: Annotated[str | None, typer.Option(help="github: pip이 설치할 것")] = None,
) -> None:
    """Gradescope에 올릴 autograder.zip이나 GitHub의 워크플로를 만들어요."""
    from grader.base.files import write_whole
    from grader.course.reading import load_course
    from grader.gradebook.export.autograder import classroom_workflow, default_install, gradescope_zip

    if system not in ("gradescope", "github"):
        raise CommandError(f"gradescope나 github를 적어 주세요. 받은 값: '{system}'")
    if sandbox not in ("auto", "bwrap", "none"):
        raise CommandError(f"--sandbox에는 auto, bwrap, none 가운데 하나를 주세요. 받은 값: '{sandbox}'")
    course = load_course()
    options = [word for key in lesson or () for word in ("--lesson", course.lesson(key).id)]
    options += ["--sandbox", sandbox] if sandbox != "auto" else []
    if system == "gradescope":
        file = file or Path("autograder.zip")
        write_whole(file, gradescope_zip(options))
    else:
        file = file or Path(".github/workflows/classroom.yml")
        write_whole(file, classroom_workflow(options, install or default_install()))
    say(f"파일: {file}")


def similar(
    submissions: Annotated[
        Path, typer.Argument(help="학생마다 폴더나 파일 하나씩 있는 폴더, LMS에서 받은 것")
    ],
    roster: Annotated[
        list[Path] | None,
        typer.Option(help="명단(CSV, xlsx): 학번, 이름, 분반, 조. 여러 번 주면 학번·이메일·이름으로 합쳐요"),
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="모둠(CSV, xlsx): 학번, 조. 명단에 조가 없을 때")
    ] = None,
    least: Annotated[int, typer.Option("--least", help="이만큼(%) 닮은 쌍부터", min=1, max=100)] = 50,
    most: Annotated[int, typer.Option("--most", help="많아도 이만큼만", min=1)] = 50,
    file: Annotated[Path, typer.Option("--out", help="쓸 파일")] = Path("similar.html"),
) -> None:
    """이름만 바꾼 것처럼 닮은 제출물을 찾아요. 판정이 아니라 살펴볼 곳이에요."""
    rosters = roster or []
    require_inputs(submissions, (*rosters, groups))
    from grader.base.files import write_whole
    from grader.classroom.similarity.fingerprints import similar_pairs
    from grader.classroom.similarity.page import similar_page, where
    from grader.classroom.similarity.student_code import known_texts, student_code
    from grader.course.reading import load_course
    from grader.intake.groups import read_class_list
    from grader.intake.receive import receive

    course = load_course()
    received = receive(submissions, read_class_list(rosters, groups), tuple(course.exercises))
    copies = set(received.copies)
    programs = {s.student: student_code(s) for s in received.submissions if s.student not in copies}
    pairs = similar_pairs(tuple(programs.values()), known_texts(course), least / 100)
    write_whole(file, similar_page(pairs[:most], programs, len(programs), len(pairs)))
    for pair in pairs[:most]:
        mine, theirs = where(programs[pair.first], pair.lines), where(programs[pair.second], pair.other_lines)
        say(f"{round(100 * pair.share):3d}%  {pair.first} ({mine})  {pair.second} ({theirs})")
    say(f"닮은 쌍 {len(pairs):,}개. 판정이 아니라 살펴볼 곳이에요: {file}")


def read_result(report: Path) -> "ClassResult":
    """Read the results in a report's folder.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    from grader.classroom.folder_lock import holder_of
    from grader.report.results import ResultsError, from_json

    path = report / "results.json"
    try:
        return from_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        if holder := holder_of(report):
            raise ResultsError(
                f"아직 채점하고 있어서 결과가 없어요: {report} ({holder}). 채점이 끝난 다음 다시 실행해 주세요."
            ) from error
        raise ResultsError(
            f"채점 결과가 없어요: {path}. 먼저 채점해 주세요: grader grade 제출물폴더 --out {report}"
        ) from error
