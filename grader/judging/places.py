"""Which of the learner's lines a known mistake is about: the line that most resembles what the mistake changes.

The mistake's edit says which line of the solution becomes which wrong line. The learner wrote that wrong line too, in
other words. Lines are compared by the names they use; a name that stands in few lines says more. For what is missing,
the line is the one before which it should stand.
"""

import ast
import io
import math
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_LIKE_ENOUGH = 0.3  # below it, no line resembles what the mistake changes
_TOP = 2  # lines below `def` among which arguments are checked


@dataclass(frozen=True)
class _Wrong:
    """What a wrong program has in place of the solution's lines."""

    words: Counter[str]
    """Those that are new in a changed line are counted twice."""
    missing: bool
    """Whether the words are those of the line that follows what is missing."""
    returns: bool = False
    """Whether it is a return."""
    checks_arguments: bool = False
    """Whether it is a check at the top that raises."""


@dataclass(frozen=True)
class Place:
    """A line of the learner's program."""

    line: int
    before: bool = False
    """Something is missing, and should stand before this line."""


def place_of(solution: str, wrong: str, learner: str, name: str) -> Place | None:
    """Where the learner's program does what the wrong one does otherwise than the solution.

    Args:
        solution: the exercise's source.
        wrong: the same with one mistake made.
        learner: the learner's whole program.
        name: of the exercise's function or class in it.

    Returns:
        None when no line of the function resembles the mistake.
    """
    lines = _lines_of(learner, name)
    if not lines:
        return None
    written = {
        number: text.strip() for number, text in enumerate(learner.split("\n"), start=1) if number in lines
    }
    rarity = _rarity(lines)
    for target in _targets(solution, wrong):
        if target.checks_arguments:
            return _first_check(written)
        fitting = [n for n in lines if written[n].startswith("return")] if target.returns else list(lines)
        scores = {number: _likeness(target.words, lines[number], rarity) for number in fitting}
        best = max(
            scores, key=lambda number: (scores[number], number if target.returns else -number), default=None
        )
        if best is not None and (target.returns or scores[best] >= _LIKE_ENOUGH):
            return Place(best, target.missing)
    return None


def _first_check(written: dict[int, str]) -> Place:
    """Where arguments are checked; else the first line in the function, before which they should be."""
    for number, text in written.items():
        if text.startswith(("raise", "assert")):
            return Place(number)
    first = next(
        (n for n, text in written.items() if not text.startswith(("def", "@", "class"))), min(written)
    )
    return Place(first, before=True)


def _targets(solution: str, wrong: str) -> list[_Wrong]:
    """What to look for, the most telling first: lines that are there too many, wrong ones, then missing ones."""
    right, bad = _code_lines(solution), _code_lines(wrong)
    inserted, replaced, deleted = [], [], []
    matcher = SequenceMatcher(
        a=[line.strip() for line in right], b=[line.strip() for line in bad], autojunk=False
    )
    for kind, first, last, start, end in matcher.get_opcodes():
        words, old = _words("\n".join(bad[start:end])), _words("\n".join(right[first:last]))
        if kind != "equal" and first <= _TOP and any("raise" in line for line in right[first : last + 1]):
            return [_Wrong(words, missing=False, checks_arguments=True)]
        if kind == "insert":
            inserted.append(_Wrong(words, missing=False))
        elif kind == "replace":
            returns = bad[start].strip().startswith("return")
            replaced.append(_Wrong(words + (words - old), missing=False, returns=returns))
        elif kind == "delete":
            around = (*bad[start : start + 1], bad[start - 1])
            deleted += [_Wrong(_words(line), True, line.strip().startswith("return")) for line in around]
    return [*inserted, *replaced, *deleted]


def _code_lines(text: str) -> list[str]:
    """Lines with code on them: no comments, no docstring, no blank ones."""
    numbers = _lines_of(text, None)
    every = text.split("\n")
    return [every[number - 1] for number in sorted(numbers)]


def _lines_of(text: str, name: str | None) -> dict[int, Counter[str]]:
    """The words of each line of code in the (last) definition of `name`, by line number; of the only one for None."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and name in (None, node.name)
    ]
    if not found:
        return {}
    node = found[-1]
    strings = {
        number
        for inner in ast.walk(node)
        if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant)
        for number in range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)
    }
    every = text.split("\n")
    numbered = (
        (number, _words(every[number - 1])) for number in range(node.lineno, (node.end_lineno or 0) + 1)
    )
    return {number: words for number, words in numbered if words and number not in strings}


def _words(text: str) -> Counter[str]:
    """Names, numbers, operators and short strings; no punctuation that every line has."""
    words: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline):
            operator = token.type == tokenize.OP and token.string not in "()[]{},:.="
            if operator or token.type in (tokenize.NAME, tokenize.NUMBER) or _is_key(token):
                words[token.string] += 1
    except (tokenize.TokenError, SyntaxError):  # half a statement
        pass
    return words


def _is_key(token: tokenize.TokenInfo) -> bool:
    """A string that names something, `"scheduler"`; a message for people is each one's own."""
    return token.type == tokenize.STRING and token.string.isascii() and " " not in token.string


def _rarity(lines: dict[int, Counter[str]]) -> dict[str, float]:
    counts = Counter(word for words in lines.values() for word in words)
    return {word: math.log((1 + len(lines)) / count) for word, count in counts.items()}


def _likeness(one: Counter[str], other: Counter[str], rarity: dict[str, float]) -> float:
    """Share of the words that both have, weighted by how rare they are, from 0 to 1."""
    known = {word: count for word, count in one.items() if word in rarity}

    def weight(words: dict[str, int]) -> float:
        return sum(rarity[word] * count for word, count in words.items())

    common = {word: min(count, other[word]) for word, count in known.items() if word in other}
    total = weight(known) + weight(other)
    return 2 * weight(common) / total if total > 0 else 0.0


__all__: Sequence[str] = ("Place", "place_of")
