"""Define `grader settings`: show and change what a learner, or an instructor for a folder, chooses."""

from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.progress import DataDir
from grader.cli.terminal import say

_NAMES = ("repair",)
_MEANINGS = {
    "at-once": "카드가 실수의 이름부터 말해요.",
    "after-hint": "카드는 증상만 말하고, 볼 곳과 고칠 것은 힌트가 차례로 말해요.",
}


def settings(
    name: Annotated[str | None, typer.Argument(help="바꿀 설정: repair", show_default=False)] = None,
    value: Annotated[
        str | None, typer.Argument(help="at-once, after-hint, default(기본값으로)", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="이 폴더의 노트북에만. 수업에서 나누어 줄 폴더에 정해 둘 때 써요", show_default=False
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """설정을 보거나 바꿔요. repair는 실수의 이름을 언제 말할지예요."""
    from grader.learner.settings import FILE, REPAIR, choose_repair, repair_setting

    if name is not None and name not in _NAMES:
        raise CommandError(f"'{name}' 설정은 없어요. 있는 설정: {', '.join(_NAMES)}")
    if name is not None and value is None:
        raise CommandError(
            f"값이 빠졌어요: grader settings {name} {REPAIR[-1]} (쓸 수 있는 값: {', '.join(REPAIR)})"
        )
    if value is not None:
        say(f"설정 파일: {choose_repair(value, folder)}")
    chosen, source = repair_setting(folder or Path.cwd())
    by = {"mine": "내 설정", "folder": f"폴더의 {FILE}", "default": "기본값"}[source]
    say(f"repair = {chosen} ({by}). {_MEANINGS[chosen]}")
    if name is None:
        other = next(one for one in REPAIR if one != chosen)
        say(f"바꾸려면: grader settings repair {other}. 그러면 {_MEANINGS[other]}")
