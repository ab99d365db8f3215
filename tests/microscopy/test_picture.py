"""What a cell shows: one piece of HTML that asks nobody for anything, and the same in words."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from grader import microscope
from tests.microscopy.programs import FORGETS, HEAD, RIGHT, loaded
from tests.report.parsed import Parsed
from tests.report.test_html import KEPT_PROPERTIES


class _Read(HTMLParser):
    """Tags with their attributes, and the text in scripts of data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == ("script", {"type": "application/json"}):
            self.data.append(data)


def read(source: str) -> tuple[_Read, Any, str]:
    shown = microscope(loaded(source)[0])
    reader = _Read()
    reader.feed(shown.html)
    assert "<script" not in "".join(reader.data)
    return reader, json.loads(reader.data[0]), shown.html


def test_nothing_comes_from_outside() -> None:
    reader, _, html = read(FORGETS)
    assert not re.search(
        r"https?:|//[a-z]|url\(|@import|\bimport\(|fetch\(|XMLHttp|WebSocket|localStorage", html
    )
    for tag, attributes in reader.tags:
        assert tag not in ("link", "iframe", "img", "object", "embed", "form", "base", "meta")
        assert not {"src", "href", "srcset", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]


def test_a_learners_text_stays_text() -> None:
    evil = RIGHT.replace(
        "    opt.zero_grad()\n", "    # </script><script>alert(1)</script> <!-- \u2028 {{ 7*7 }} \x1b\n"
    )
    _, data, html = read(HEAD + evil)
    assert "alert(1)</script>" not in html
    assert "</script><script>alert(" not in html  # a line comes in pieces
    assert any("</script><script>alert(1)" in "".join(pieces) for _, pieces in data["code"])


def test_numbers_that_are_none_are_told() -> None:
    """JSON knows no NaN: a browser would show nothing at all."""
    diverges = RIGHT.replace("    return", "    model.linear.weight.data.fill_(float('inf'))\n    return")
    _, data, _ = read(HEAD + diverges)
    assert "inf" in data["views"][0]["yours"][-1]["values"]


def test_it_opens_where_the_programs_part() -> None:
    """Plain SGD says nothing of a clip that is not there."""
    head = HEAD.replace("train_step(", "train_step_extras(").replace(
        "yb)", "yb, *, max_norm=None, scheduler=None)"
    )
    stepped = RIGHT.replace(
        "    return", "    if scheduler is not None:\n        scheduler.step()\n    return"
    )
    shown = microscope(loaded(head + stepped, "train_step_extras")[0])
    assert shown.text.startswith(
        "현미경: train_step_extras (클리핑)\n첫 번째 업데이트에 들어간 그레이디언트가 달라요"
    )
    assert '"first":1' in shown.html


def test_what_a_sanitizer_leaves_can_be_read() -> None:
    """An untrusted notebook keeps neither scripts nor styles of their own: the tables need none."""
    static = microscope(loaded(FORGETS)[0]).html.split('<script type="application/json">')[0]
    card = Parsed(static)
    assert set(card.tags) <= {"div", "table", "tbody", "tr", "th", "td"}
    assert {name for name, _ in card.declarations} <= KEPT_PROPERTIES | {"border-bottom", "border-collapse"}
    assert not [
        d
        for d in card.declarations
        if re.search(r"var\(|inherit|currentcolor", d[1], re.I) or d[0] == "color"
    ]
    assert "내 코드: g₁ + g₂ · 정답: g₂" in card.text


def test_the_words_say_the_same() -> None:
    text = microscope(loaded(FORGETS)[0]).text
    assert "두 번째 업데이트: 새 그레이디언트가 지우지 않은 g₁에 더해졌어요" in text
    assert "내 코드: 줄 4. 이미 있던 .grad에 새 그레이디언트를 더했어요: g₁ + g₂" in text
    right = microscope(loaded(HEAD + RIGHT)[0])
    assert "정답과 똑같이 움직였어요" in right.text
    for told in (right.text, right.html.split('<script type="application/json">')[0]):
        assert "내 코드와 정답" in told, "equal sides are told once"
        assert not re.search(r"(?<!와) 정답:|\(정답\)", told)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "NoneType"),
        ("train_step", "함수를 그대로"),
        (print, "'print'라는 연습 문제는 없어요"),
    ],
)
def test_what_is_no_exercise(given: Any, told: str) -> None:
    assert told in microscope(given).text


def test_an_exercise_without_an_update() -> None:
    def lr_at(step: int) -> float:
        return 0.0

    assert "볼 업데이트가 없어요" in microscope(lr_at).text


def test_a_program_that_sleeps_is_stopped() -> None:
    sleeps = RIGHT.replace("    opt.step()\n", "    import time\n    time.sleep(60)\n")
    shown = microscope(loaded(HEAD + sleeps)[0], seconds=0.5)
    assert "제한 시간 안에 끝나지 않아" in shown.text
    assert "비어 있던 .grad에 넣었어요: g₁" in shown.text, "what was seen until then"


def test_a_program_nobody_knows_the_text_of() -> None:
    names: dict[str, Any] = {}
    exec(HEAD + RIGHT, names)
    assert "똑같이 움직였어요" in microscope(names["train_step"]).text
