"""Define `grader xray`: run a script of one's own and say what is wrong with its training loop."""

import typer

SETTINGS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}
"""The command reads its line itself, as `python -m grader.scripts` does."""


def xray(context: typer.Context) -> None:
    """내 학습 스크립트를 그대로 실행해 보고, 무엇이 틀렸는지 그 줄에서 말해요."""
    from grader.scripts.command import main

    raise typer.Exit(main(context.args, "grader xray"))
