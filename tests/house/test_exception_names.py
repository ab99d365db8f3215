"""What a program says to a learner is Korean: the English name of an exception stands in brackets or after a colon.

Texts of the course may name what a function must raise (`ValueError를 냅니다`); they are not read here.
"""

import ast
import re
from collections.abc import Iterator

from tests.places import ROOT

_ATTACHED = re.compile(r"\w(?:Error|Exception|Warning|Interrupt)`?[가-힣]")
"""A name with a Korean particle: it stands in the sentence like a word of it."""
_NAME = re.compile(r"(?:failure|error|exception)\.type$|\.__name__$")


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of a module but its docstrings; in f-strings, names of exceptions are put in for what gives them."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call)
    }
    errors = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(piece(part, errors) for part in node.values)


def piece(part: ast.expr, errors: set[str | None]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    value = ast.unparse(part.value)
    is_error = any(f"({name})." in value or value.startswith(f"{name}.") for name in errors)
    return "SomeError" if _NAME.search(value) and (is_error or value.endswith(".type")) else "…"


def test_no_sentence_of_the_program_has_one_as_a_word() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / "grader").rglob("*.py"))
        for line, text in strings(ast.parse(path.read_text(encoding="utf-8")))
        if _ATTACHED.search(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_test_sees_them() -> None:
    found = [
        text
        for text in (
            'say("KeyError 때문에", "AttributeError가 나요")',
            'say(f"{failure.type}가 났어요")',
            "try: f()\nexcept E as error: say(f'{type(error).__name__}를 냈어요')",
        )
        if any(_ATTACHED.search(string) for _, string in strings(ast.parse(text)))
    ]
    assert len(found) == 3
    assert not any(
        _ATTACHED.search(t) for _, t in strings(ast.parse('say("오류(KeyError)가 나요: KeyError: k")'))
    )
