"""Define `grader desk`: judge answers by hand, in the browser."""

import webbrowser
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
    account,
    given_or_kept,
    read_rules,
)
from grader.cli.instructor import mark_again, read_result
from grader.cli.terminal import complain, say

if TYPE_CHECKING:
    from grader.gradebook.marking import Rules


def desk(
    report: Annotated[Path, typer.Argument(help="grader grade가 결과를 쓴 폴더")] = Path("report"),
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="이름을 가리고, 페이지에서 풀 때까지 보여 주지 않아요")
    ] = False,
    who: Annotated[str, typer.Option(help="기록에 남길 내 이름. 주지 않으면 이 컴퓨터의 계정")] = "",
    port: Annotated[int, typer.Option(help="포트. 주지 않으면 비어 있는 것", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="브라우저를 열어요")] = True,
    forget: Annotated[
        str,
        typer.Option(
            help="이 학번이나 이름의 학생을 결과 폴더에서 지워요. 되돌릴 수 없고, 페이지는 열지 않아요"
        ),
    ] = "",
) -> None:
    """브라우저에서 답을 나란히 보며 점수와 코멘트를 직접 적어요."""
    read_result(report)
    if forget.strip():
        _forget(report, forget)
        return
    try:
        import tornado.httpserver  # noqa: F401
    except ImportError as error:
        raise CommandError(
            "grader desk에 필요한 패키지가 없어요. 설치해 주세요: .venv/bin/pip install -e '.[desk]'"
        ) from error
    import asyncio

    from grader.classroom.desk.desk import Desk
    from grader.classroom.desk.server import serve
    from grader.course.reading import load_course

    opened_desk = Desk(
        report,
        who.strip() or account(),
        tuple(load_course().exercises),
        lambda: rules_in(report),
        anonymous=anonymous,
    )

    def publish() -> str:
        mark_again(report, {})
        return f"모든 결과에 반영했어요: {report / 'index.html'}"

    def tell(address: str) -> None:
        say(f"주소: {address}")
        say("이 주소는 이 컴퓨터에서, 처음 연 브라우저에서만 열려요. 끝내려면 Ctrl-C를 누르세요.")
        if browser:
            webbrowser.open(address)

    try:
        asyncio.run(serve(opened_desk, port, publish, tell))
    except KeyboardInterrupt:
        say(f"\n적은 것은 {report}에 남아 있어요. 모든 결과에 반영하려면: grader mark {report}")


def _forget(report: Path, wanted: str) -> None:
    """Remove one student's personal data from the report's folder."""
    from grader.classroom.desk.forget import (
        files_that_still_name,
        find_student,
        remove_files_of,
        without_student,
    )
    from grader.classroom.folder_lock import locked_folder
    from grader.course.reading import load_course
    from grader.report.write_report import write_report

    with locked_folder(report, "끝난 다음 다시 실행해 주세요."):
        result = read_result(report)
        student = find_student(result, wanted)
        remove_files_of(report, result, student)
        write_report(report, without_student(result, student), load_course())
        left = files_that_still_name(report, student)
    say(f"{wanted.strip()}의 것을 {report}에서 지웠어요. 제출물 폴더와 LMS에 있는 것은 그대로예요.")
    if left:
        complain(f"아직 이름이나 학번이 남은 파일이 있어요. 열어 보고 지워 주세요: {listed(left)}")


def rules_in(report: Path) -> "Rules":
    """Read the rules that are kept in the report's folder."""
    used = given_or_kept(report, dict.fromkeys((POLICY, OVERRIDES, EXTENSIONS, COMMENTS)))
    return read_rules(used[POLICY], used[OVERRIDES], used[EXTENSIONS], used[COMMENTS])
