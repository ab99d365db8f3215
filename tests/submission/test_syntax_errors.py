"""A syntax error says in Korean what kind it is and what to do, and shows its line."""

import pytest

from grader.submission.syntax import ParseError, parse


@pytest.mark.parametrize(
    ("text", "line", "beside", "told"),
    [
        ("x = 1\ny = f(g(1)\nz = 2\n", 2, (0, 0), "괄호 `(`를 열고 닫지 않았어요"),
        ("x = 1)\n", 1, (0, 0), "닫는 괄호 `)`의 짝이 없어요"),
        ("x = (1]\n", 1, (0, 0), "`(`로 연 괄호를 `]`로 닫았어요"),
        ("x = 'abc\n", 1, (0, 0), "따옴표를 열고 닫지 않았어요"),
        ("def f():\n    '''doc\n    return 1\n", 2, (0, 0), "따옴표 세 개로 연 문자열을 닫지 않았어요"),
        ("def f()\n    pass\n", 1, (0, 0), "`def`로 시작하는 줄은 `:`으로 끝나야"),
        ("x = 1\nfor i in x:\nprint(i)\n", 2, (0, 1), "`for i in x:` 아래에 들여 쓴 줄이 없어요"),
        ("if x:\n    y\n      z\n", 3, (1, 0), "들여쓰기가 앞줄보다 깊어요"),
        ("if x:\n    y\n  z\n", 3, (1, 0), "들여쓰기가 위의 어느 줄과도 맞지 않아요"),
        ("if x:\n    y\n\n  z\n", 4, (2, 0), "들여쓰기가 위의 어느 줄과도 맞지 않아요"),
        ("if x:\n    y\n" + "\n" * 4 + "      z\n", 7, (0, 0), "들여쓰기가 앞줄보다 깊어요"),
        ("if x:\n    y\n# why\n      z\n", 4, (2, 0), "들여쓰기가 앞줄보다 깊어요"),
        ("if x:\n" + "\n" * 4 + "y\n", 1, (0, 0), "`if x:` 아래에 들여 쓴 줄이 없어요"),
        ("if x:\n\ty\n        z\n", 3, (1, 0), "탭과 빈칸이 섞여"),
        ("if x = 1:\n    pass\n", 1, (0, 0), "`==`로 써 주세요"),
        ("f(a.b=1)\n", 1, (0, 0), "`=`의 왼쪽에는 매개변수의 이름만"),
        ("dict(a[0]=1)\n", 1, (0, 0), "`=`의 왼쪽에는 매개변수의 이름만"),
        ("f(a + 1 = 2)\n", 1, (0, 0), "`=`의 왼쪽에는 매개변수의 이름만"),
        ("print 'x'\n", 1, (0, 0), "Python 2의 `print`"),
        ("x = “a”\n", 1, (0, 0), '`"`로 다시 쳐 주세요'),
        ("f(a，b)\n", 1, (0, 0), "`,`로 다시 쳐 주세요"),
        ("def f(a）:\n    pass\n", 1, (0, 0), "`)`로 다시 쳐 주세요"),
        ("x\u00a0= 1\n", 1, (0, 0), "눈에 보이지 않는 글자(U+00A0)"),
        (">>> x = 1\n", 1, (0, 0), "프롬프트"),
        ("x = 1\n... y = 1\n", 2, (0, 0), "프롬프트"),
        ("In [3]: import os\n", 1, (0, 0), "프롬프트"),
        ("x = [1 2]\n", 1, (0, 0), "쉼표"),
        ("if x:\n    y\nelse if z:\n    y\n", 3, (0, 0), "`elif`"),
        ("i++\n", 1, (0, 0), "`i += 1`"),
        ("x = a && b\n", 1, (0, 0), "`and`"),
        ("x = f'{a'\n", 1, (0, 0), "중괄호"),
        ("def train step(x):\n    pass\n", 1, (0, 0), "이름에는 빈칸을 쓸 수 없어요"),
        ("<<<<<<< HEAD\n", 1, (0, 0), "Git 병합 충돌"),
        ("```python\n", 1, (0, 0), "Markdown"),
        ("물론입니다! PyTorch로 학습하는 (함수)는:\n", 1, (0, 0), "코드가 아니라 글이에요"),
        ("손실 = f(x\n", 1, (0, 0), "괄호 `(`를 열고 닫지 않았어요"),
        ("x = for\n", 1, (0, 0), "`for` 앞뒤에서"),
    ],
)  # fmt: skip
def test_each_kind_is_told(text, line, beside, told):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert told in str(caught.value)
    assert (caught.value.line, (caught.value.above, caught.value.below)) == (line, beside)


def test_pythons_words_stand_in_parentheses_without_their_line():
    """They count lines in the part that was parsed, not in the learner's file."""
    with pytest.raises(ParseError, match=r"after 'for' statement\)$"):
        parse("for i in x:\nprint(i)\n")


@pytest.mark.parametrize(
    "line", ["가" * 100_000, "a " * 50_000, "가 " * 50_000 + "=", "+" * 100_000, "가.,!?" * 20_000]
)
@pytest.mark.timeout(5)
def test_a_long_line_is_told_at_once(line):
    with pytest.raises(ParseError):
        parse(line + "\n)")
