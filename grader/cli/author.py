"""Define commands for people who change or publish the course, and `doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.terminal import out, say


def build(
    lesson: Annotated[
        list[str] | None,
        typer.Argument(
            help="만들 레슨의 번호 (예: 01 02). 비우면 모두 만들어요. --tables에는 연습의 이름도 돼요"
        ),
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
    if tables and not check_only:
        for key in lesson or [each.id for each in course.lessons]:
            exercise = course.exercises.get(key)
            measured = course.lesson(exercise.lesson if exercise else key)
            build_behaviours(measured, check=False, only=(key,) if exercise else ())
            say(f"{key}: 다시 쟀어요.")
        return
    only = [course.lesson(key) for key in lesson or ()]
    raise typer.Exit(0 if build_all(course, check=check_only, report=say, only=only) else 1)


def new(
    kind: Annotated[str, typer.Argument(help="mistake, exercise, lesson")],
    name: Annotated[str, typer.Argument(help="실수의 id, 연습의 이름, 레슨의 이름(05_several_processes)")],
    to: Annotated[
        str, typer.Option(help="실수는 연습의 이름, 연습은 레슨의 번호. 레슨에는 필요 없어요")
    ] = "",
) -> None:
    """실수, 연습, 레슨의 파일을 만들어요. 채울 곳에는 「채워 주세요」라고 적혀 있어요."""
    from grader.authoring import new_files
    from grader.course.reading import load_course

    course = load_course()
    if kind not in ("mistake", "exercise", "lesson"):
        raise CommandError(f"mistake, exercise, lesson 가운데 하나를 주세요. 받은 값: {kind}")
    if not to and kind != "lesson":
        example = "--to train_step" if kind == "mistake" else "--to 01"
        raise CommandError(f"어디에 더할지 알려 주세요. 예: grader new {kind} {name} {example}")
    if kind == "mistake":
        files = new_files.new_mistake(course, to, name)
    elif kind == "exercise":
        files = new_files.new_exercise(course.lesson(to), name)
    else:
        files = new_files.new_lesson(course, name)
    for file in files:
        say(str(file))
    say("「채워 주세요」를 채운 다음 실행해 보세요: grader build, pytest -k 이름 (solutions/README.md)")


def site(
    out: Annotated[Path, typer.Option("--out", help="사이트를 만들 폴더")] = Path("site"),
    repository: Annotated[
        str,
        typer.Option(
            "--repository",
            envvar="GITHUB_REPOSITORY",
            show_envvar=False,
            help="GitHub 저장소 (주인/이름). Colab과 오류 알리기 링크에 써요",
        ),
    ] = "",
    url: Annotated[str, typer.Option("--url", help="사이트가 놓일 주소. 공유할 때 보이는 그림에 써요")] = "",
) -> None:
    """레슨과 용어집과 유명한 실수를 정적인 사이트로 만들어요."""
    from grader.base.installing import owner_and_name
    from grader.course.reading import load_course
    from grader.site.build_site import build_site
    from grader.site.settings import Addresses

    build_site(
        load_course(), out, addresses=Addresses(repository or owner_and_name(), url.rstrip("/")), report=say
    )
    say(f"다 만들었어요: {out / 'index.html'}")


def doctor() -> None:
    """이 컴퓨터에서 무엇이 되는지 확인해요."""
    from grader.cli.doctor import diagnose_machine, render

    findings = diagnose_machine()
    out.print(render(findings))
    raise typer.Exit(0 if all(f.ok for f in findings) else 1)
