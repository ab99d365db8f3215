"""Define `grader desk`: judge answers by hand, in the browser."""

import getpass
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.class_inputs import COMMENTS, EXTENSIONS, OVERRIDES, POLICY, given_or_kept, read_rules
from grader.cli.instructor import mark_again, read_result
from grader.cli.terminal import say

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
) -> None:
    """브라우저에서 답을 나란히 보며 점수와 코멘트를 직접 적어요."""
    read_result(report)
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
        who.strip() or getpass.getuser(),
        tuple(load_course().exercises),
        lambda: rules_in(report),
        anonymous=anonymous,
    )

    def publish() -> str:
        mark_again(report, {})
        return f"모든 결과에 반영했어요: {report / 'index.html'}"

    def tell(address: str) -> None:
        say(f"주소: {address}")
        say("이 주소는 한 번만, 이 컴퓨터에서만 열려요. 끝내려면 Ctrl-C를 누르세요.")
        if browser:
            webbrowser.open(address)

    try:
        asyncio.run(serve(opened_desk, port, publish, tell))
    except KeyboardInterrupt:
        say(f"\n적은 것은 {report}에 남아 있어요. 모든 결과에 반영하려면: grader mark {report}")


def rules_in(report: Path) -> "Rules":
    """Read the rules that are kept in the report's folder."""
    used = given_or_kept(report, dict.fromkeys((POLICY, OVERRIDES, EXTENSIONS, COMMENTS)))
    return read_rules(used[POLICY], used[OVERRIDES], used[EXTENSIONS], used[COMMENTS])
