"""Messages that send a learner to a menu name it in the language that the menu may have."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from grader.base import menus
from grader.grading import in_process
from tests.places import ROOT


@pytest.mark.parametrize("item", menus.JUPYTERLAB_ITEMS)
def test_korean_menu_words_are_those_of_the_language_pack(item: str) -> None:
    found = find_spec("jupyterlab_language_pack_ko_KR")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0])
    pack = json.loads((folder / "locale/ko_KR/LC_MESSAGES/jupyterlab.json").read_text(encoding="utf-8"))
    korean, english = menus.JUPYTERLAB_ITEMS[item]
    assert (pack[f"menu\x04{english[0]}"][0], pack[english[1]][0]) == korean


@pytest.mark.parametrize(
    ("item", "message"),
    [("restart", in_process._BROKEN)],
)
def test_a_menu_is_named_in_both_languages(item: str, message: str) -> None:
    """`grader start` opens JupyterLab in Korean; others open it in English, or use VS Code or Colab."""
    for words in menus.JUPYTERLAB_ITEMS[item]:
        assert " → ".join(words).rstrip("…") in message
    assert "VS Code" in message
    assert "Colab" in message


def test_nothing_else_sends_a_learner_to_a_menu() -> None:
    """A menu item written anywhere else would be in one language only."""
    path_of_menu = re.compile(r"\b(File|Kernel|Run|Edit|Runtime) → |(파일|커널|실행|런타임) → ")
    wrong = [
        f"{path.name}: {line.strip()}"
        for path in (ROOT / "grader").rglob("*.py")
        if path.name != "menus.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if path_of_menu.search(line)
    ]
    assert not wrong


def test_lessons_name_a_menu_in_both_languages() -> None:
    for path in (ROOT / "solutions").glob("*/*_*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "실행 → 위의" in line or "Run All Above" in line:
                assert "실행 → 위의 모든 셀 실행(영어 메뉴에서는 Run → Run All Above Selected Cell)" in line
