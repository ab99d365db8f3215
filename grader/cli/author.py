"""Define commands for people who change the course, and `doctor`."""

from typing import Annotated

import typer

from grader.cli.terminal import out, say


def build(
    lesson: Annotated[
        list[str] | None, typer.Argument(help="만들 레슨의 번호 (예: 01 02). 비우면 모두 만들어요")
    ] = None,
    check_only: Annotated[
        bool, typer.Option("--check", help="다시 만들지 않고, 낡은 것이 있는지만 봐요")
    ] = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="노트북은 두고, 어느 실수가 무엇을 바꾸는지만 다시 재요")
    ] = False,
) -> None:
    """solutions/에서 lessons/의 노트북을 만들어요."""
    from grader.authoring.build import build_all, build_behaviours
    from grader.course.reading import load_course

    course = load_course()
    only = [course.lesson(key) for key in lesson or ()]
    if tables and not check_only:
        for lesson_to_measure in only or course.lessons:
            build_behaviours(lesson_to_measure, check=False)
            say(f"{lesson_to_measure.name}: 다시 쟀어요.")
        return
    raise typer.Exit(0 if build_all(course, check=check_only, report=say, only=only) else 1)


def doctor() -> None:
    """이 컴퓨터에서 무엇이 되는지 확인해요."""
    from grader.cli.doctor import diagnose_machine, render

    findings = diagnose_machine()
    out.print(render(findings))
    raise typer.Exit(0 if all(f.ok for f in findings) else 1)
