"""The command `xray`, with its options; needs neither the course nor what the other commands need."""

import difflib
import os
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from grader.scripts.findings import Language, Said

if TYPE_CHECKING:
    from grader.scripts.session import Options

_NO_VERDICT = 2
_OPTIONS = ("--updates", "--json", "--html", "--lang", "--stop")
_WITHOUT_VALUE = ("--stop",)
_NEAR = 0.85
"""`--htm` and `--update` are nearer to an option of the tool; `--steps` and `--language` are not."""
HELP = Said(
    """쓰는 법: {name} [옵션] train.py [스크립트의 인자 …]
         {name} [옵션] -m 패키지.모듈 [스크립트의 인자 …]

학습 스크립트를 그대로 실행하며 업데이트를 지켜보고, 무엇이 틀렸는지 그 줄에서 말해요.
옵션은 스크립트의 이름 앞에 적어요. 이름 뒤에 적은 것은 스크립트가 받아요.

  --updates N     지켜볼 업데이트의 수. 안 주면 40번 이상, 평가를 두 번 볼 때까지
                  (많아도 400번. 평가가 없고 느리면 40번 뒤에 30초까지)
  --stop          다 지켜봤으면 스크립트를 끝내요
  --html FILE     결과를 HTML 한 파일로 써요
  --json FILE     결과를 JSON으로 써요. -이면 표준 출력에 쓰고, 스크립트의 출력은 표준 오류로 가요
  --lang ko|en    말

끝나는 코드: 0 틀린 것을 찾지 못함, 1 틀린 것이 있음, 2 판단하지 못함
""",
    """Usage: {name} [options] train.py [arguments of the script …]
       {name} [options] -m package.module [arguments of the script …]

Run a training script as it is, watch its updates, and say what is wrong, at its line.
Options stand before the script's name; what follows the name goes to the script.

  --updates N     updates to watch; by default at least 40, until two evaluations were seen
                  (400 at most; without an evaluation, up to 30 seconds beyond the 40)
  --stop          end the script when the watch is over
  --html FILE     write the result as one HTML file
  --json FILE     write the result as JSON; - is standard output, and the script's output goes to standard error
  --lang ko|en    language

Exit status: 0 nothing found wrong, 1 something is wrong, 2 no verdict
""",
)


class Misuse(Exception):
    """The command line cannot be followed; `said` tells why."""

    def __init__(self, ko: str, en: str) -> None:
        super().__init__(en)
        self.said = Said(ko, en)


@dataclass(slots=True)
class Asked:
    """What a command line asks for."""

    script: str = ""
    is_module: bool = False
    arguments: tuple[str, ...] = ()
    updates: int | None = None
    stop: bool = False
    json: str | None = None
    html: str | None = None
    language: Language = "ko"
    help: bool = False


def read(arguments: Sequence[str]) -> Asked:
    """Read a command line: options, the script, and what goes to the script.

    Raises:
        Misuse: an option or its value is none, or the script is missing.
    """
    asked, left = Asked(), list(arguments)
    while left and left[0].startswith("-") and left[0] != "-":
        option, equals, value = left.pop(0).partition("=")
        if option in ("-h", "--help"):
            asked.help = True
            return asked
        if option in ("-m", "--"):
            asked.is_module = option == "-m"
            break
        if option not in _OPTIONS:
            near = difflib.get_close_matches(option, _OPTIONS, n=1)
            raise Misuse(
                f"모르는 옵션이에요: {option}." + (f" 혹시 {near[0]}인가요?" if near else ""),
                f"Unknown option: {option}." + (f" Did you mean {near[0]}?" if near else ""),
            )
        if option in _WITHOUT_VALUE:
            asked.stop = True
            continue
        if not equals:
            if not left:
                raise Misuse(f"{option} 뒤에 값이 빠졌어요.", f"{option} needs a value.")
            value = left.pop(0)
        _set(asked, option, value)
    if not left:
        raise Misuse(
            "학습 스크립트를 적어 주세요: train.py (옵션은 --help)",
            "Name a training script: train.py (options: --help)",
        )
    asked.script, rest = left[0], left[1:]
    asked.arguments = tuple(rest[1:] if rest[:1] == ["--"] else rest)
    if rest[:1] != ["--"]:
        _refuse_own_options(asked)
    return asked


def _set(asked: Asked, option: str, value: str) -> None:
    if option == "--updates":
        if not value.isdecimal() or int(value) < 1:
            raise Misuse(
                f"--updates에는 지켜볼 업데이트의 수를 1 이상의 정수로 주세요. 받은 값: '{value}'",
                f"--updates takes a whole number of updates, 1 or more, not '{value}'.",
            )
        asked.updates = int(value)
    elif option == "--lang":
        if value not in ("ko", "en"):
            raise Misuse(
                f"--lang에는 ko나 en을 주세요. 받은 값: '{value}'", f"--lang takes ko or en, not '{value}'."
            )
        asked.language = "en" if value == "en" else "ko"
    elif option == "--json":
        asked.json = value
    else:
        asked.html = value


def _refuse_own_options(asked: Asked) -> None:
    """Refuse options of the tool behind a script that does not speak of them: its report would be lost."""
    text = "" if asked.is_module else _text(asked.script)
    for argument in asked.arguments:
        option = argument.partition("=")[0]
        if option in _OPTIONS and option not in text and not asked.is_module:
            raise Misuse(
                f"{option}: 스크립트의 이름 뒤에 적은 것은 스크립트가 받아요. xray의 옵션이면 {asked.script} 앞에 "
                "적고, 스크립트의 인자이면 앞에 --를 적어 주세요.",
                f"{option}: what follows the script's name goes to the script. If it is meant for xray, write it "
                f"before {asked.script}; if for the script, write -- before it.",
            )


def _text(script: str) -> str:
    try:
        with tokenize.open(script) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


def _say_near_options(asked: Asked) -> None:
    """Say which of the script's arguments look like an option of the tool that was mistyped."""
    text = _text(asked.script)
    for argument in asked.arguments:
        word = argument.partition("=")[0]
        near = difflib.get_close_matches(word, _OPTIONS, n=1, cutoff=_NEAR)
        if near and near[0] != word and word not in text:
            _complain(
                Said(
                    f"{argument}: 스크립트에 넘겼어요. `{near[0]}`를 뜻했으면 스크립트의 이름 앞에 적어 주세요.",
                    f"{argument} went to the script. If you meant `{near[0]}`, write it before the script's name.",
                ),
                asked.language,
            )


def _complain(said: Said, language: Language) -> None:
    sys.stderr.write(said.in_(language) + "\n")


def _language(arguments: Sequence[str]) -> Language:
    """Return the language that a command line asks for, even where it is wrong otherwise."""
    asked = "--lang=en" in arguments or ("--lang", "en") in pairwise(arguments)
    return "en" if asked else "ko"


def main(arguments: Sequence[str], name: str) -> int:
    """Run the command and return the tool's exit status.

    0: nothing of severity bug. 1: a bug, or a crash that is a classic of training loops. 2: the script never came to an
    update for another reason, or cannot be read.
    """
    language = _language(arguments)
    try:
        asked = read(arguments)
        if asked.help:
            sys.stdout.write(HELP.in_(language).format(name=name))
            return 0
        return _watch_script(asked)
    except Misuse as error:
        _complain(error.said, language)
    return _NO_VERDICT


def _watch_script(asked: Asked) -> int:
    """Run a script under observation.

    Raises:
        Misuse: the script cannot be read, or a report cannot be written.
    """
    if asked.script.endswith(".ipynb"):
        raise Misuse(
            f"노트북({asked.script})은 실행하지 않아요. 노트북에서는 학습하는 셀에 `from grader import xray`와 "
            "`with xray():`를 적고, 그 안에 학습 루프를 넣으세요.",
            f"A notebook ({asked.script}) is not run. In its training cell write `from grader import xray` and "
            "put the loop inside `with xray():`.",
        )
    # torch is loaded only now: the checks before it are quick.
    from grader.scripts.run import read_module, read_script, run_program

    options = _options(asked)
    _say_near_options(asked)
    try:
        program = read_module(asked.script) if asked.is_module else read_script(Path(asked.script))
    except (OSError, ImportError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise Misuse(
            f"스크립트를 읽지 못했어요: {asked.script} ({why})", f"Cannot read {asked.script} ({why})"
        ) from None
    except SyntaxError as error:
        at = f"{error.filename}:{error.lineno} {error.msg}"
        raise Misuse(f"문법이 틀려서 실행할 수 없어요: {at}", f"A syntax error: {at}") from None
    return run_program(program, asked.arguments, options).status


def _options(asked: Asked) -> "Options":
    """Return how to watch; reports have whole paths: a script may change its folder.

    Raises:
        Misuse: a report cannot be written.
    """
    from grader.scripts.session import Options

    json = asked.json if asked.json in (None, "-") else _writable("--json", asked.json)
    html = None if asked.html is None else _writable("--html", asked.html)
    return Options(asked.updates, asked.stop, json, html, asked.language)


def _writable(option: str, name: str) -> str:
    """Return the path of a report that can be written; its folder is made."""
    path = os.path.abspath(name)
    existed = os.path.exists(path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab"):
            pass
        if not existed:
            os.remove(path)  # a run that does not end shall leave no empty report
    except OSError as error:
        why = error.strerror or error
        raise Misuse(
            f"{option}에 준 파일을 쓸 수 없어요: {name} ({why})", f"{option}: cannot write {name} ({why})"
        ) from None
    return path
