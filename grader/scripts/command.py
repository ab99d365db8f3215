"""The command `xray`, with its options; needs neither the course nor what the other commands need."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

_UNREADABLE = 2
_OPTIONS = ("--updates", "--stop", "--json", "--html", "--lang")
_NEAR = 0.85
"""`--htm` and `--update` are nearer to an option of the tool; `--steps` and `--language` are not."""


def parser(name: str) -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    made = argparse.ArgumentParser(
        prog=name,
        usage=f"{name} train.py [--updates N] [--stop] [--json FILE] [--html FILE] [--lang ko|en] [-- 인자…]",
        description="학습 스크립트를 그대로 실행하며 업데이트를 지켜보고, 무엇이 틀렸는지 그 줄에서 말해요.",
        allow_abbrev=False,
    )
    made.add_argument("script", help="학습 스크립트. 그 인자는 -- 뒤에 적어요")
    made.add_argument(
        "--updates", type=int, help="지켜볼 업데이트의 수. 안 주면 40번 이상, 평가를 두 번 볼 때까지"
    )
    made.add_argument("--stop", action="store_true", help="다 지켜봤으면 스크립트를 끝내요")
    made.add_argument("--json", metavar="FILE", help="결과를 JSON으로 쓸 파일 (-는 표준 출력)")
    made.add_argument("--html", metavar="FILE", help="결과를 HTML 한 파일로 써요")
    made.add_argument("--lang", choices=("ko", "en"), default="ko", help="말: ko, en")
    return made


def _say_near_options(arguments: Sequence[str]) -> None:
    """Say which of the script's arguments look like an option of the tool that was mistyped."""
    for argument in arguments:
        near = difflib.get_close_matches(argument.partition("=")[0], _OPTIONS, n=1, cutoff=_NEAR)
        if near and near[0] != argument:
            sys.stderr.write(f"{argument}: 스크립트에 넘겼어요. `{near[0]}`를 뜻했으면 다시 적어 주세요.\n")


def main(arguments: Sequence[str], name: str) -> int:
    """Run the command and return its exit status."""
    cut = list(arguments).index("--") if "--" in arguments else len(arguments)
    given, unknown = parser(name).parse_known_args(list(arguments[:cut]))
    if given.updates is not None and given.updates < 1:
        sys.stderr.write("--updates에는 1 이상의 수를 주세요.\n")
        return _UNREADABLE
    rest = [*unknown, *arguments[cut + 1 :]]
    return watch_script(
        Path(given.script), rest, given.updates, given.stop, given.json, given.html, given.lang
    )


def watch_script(
    script: Path,
    arguments: Sequence[str],
    updates: int | None,
    stop: bool,
    json: str | None,
    html: str | None,
    language: str,
) -> int:
    """Run a script under observation and return the tool's exit status.

    0: nothing of severity bug. 1: a bug, or a crash that is a classic of training loops. 2: the script never came to an
    update for another reason, or cannot be read.
    """
    from grader.scripts.findings import Language
    from grader.scripts.run import run_script

    _say_near_options(arguments)
    from grader.scripts.session import Options

    try:
        options = Options(updates, stop, json, html, cast(Language, language))
        return run_script(script, arguments, options).status
    except OSError as error:
        sys.stderr.write(f"스크립트를 읽지 못했어요: {script} ({error.strerror or error})\n")
    except SyntaxError as error:
        sys.stderr.write(f"문법이 틀려서 실행할 수 없어요: {error.filename}:{error.lineno} {error.msg}\n")
    return _UNREADABLE
