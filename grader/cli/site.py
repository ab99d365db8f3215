"""Define the command that builds the course's public pages."""

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.terminal import say


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
    from grader.course.reading import load_course
    from grader.site.build import build_site
    from grader.site.settings import Place

    build_site(load_course(), out, place=Place(repository, url.rstrip("/")), report=say)
    say(f"다 만들었어요: {out / 'index.html'}")
