"""Define `grader xray`: run a script of one's own and say what is wrong with its training loop."""

from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import CommandError

SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""What the command does not know belongs to the script."""


def xray(
    context: typer.Context,
    script: Annotated[
        Path, typer.Argument(help="학습 스크립트. 그 인자는 -- 뒤에 적어요", show_default=False)
    ],
    updates: Annotated[
        int | None,
        typer.Option(
            help="지켜볼 업데이트의 수. 안 주면 40번 이상, 평가를 두 번 볼 때까지", min=1, show_default=False
        ),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="다 지켜봤으면 스크립트를 끝내요")] = False,
    json: Annotated[
        str | None, typer.Option(help="결과를 JSON으로 쓸 파일 (-는 표준 출력)", show_default=False)
    ] = None,
    html: Annotated[str | None, typer.Option(help="결과를 HTML 한 파일로 써요", show_default=False)] = None,
    lang: Annotated[str, typer.Option(help="말: ko, en")] = "ko",
) -> None:
    """내 학습 스크립트를 그대로 실행해 보고, 무엇이 틀렸는지 그 줄에서 말해요."""
    from grader.scripts.command import watch_script

    if lang not in ("ko", "en"):
        raise CommandError(f"--lang에는 ko나 en을 주세요. 받은 값: '{lang}'")
    raise typer.Exit(watch_script(script, context.args, updates, stop, json, html, lang))
