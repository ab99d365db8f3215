"""Translate the solution's statements into the learner's names, and find the learner's statement for the same step.

Edits take their material from here: `line_insertions` inserts a translated statement that the learner lacks, and
`expression_edits` compares a translated statement with its counterpart, the learner's statement for the same step.
`small_edits` makes one `TranslatedSolution` for the learner's definition, and one for each helper.

`variable_roles` says which of the learner's names stands for which of the solution's. Each name with a second candidate
gives one more version of a statement, up to `_MAX_SECOND_CHOICES`. If the learner has no name for a variable that the
solution assigns only once, the value takes its place. A statement that reads any other variable that the learner lacks
is left out; an attribute that the learner lacks keeps its name.

Counterparts are found by the words on the statements' first lines, the most alike first, with small bonuses for the
same number of loops around them and for similar positions. Another sign that two statements are counterparts is another
bonus in `_find_counterparts`.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()` in a loop over `a, b`. The
translated statement is `s += value.item() * len(a)`, and the learner's statement is its counterpart with likeness 0.67.
"""

import ast
import copy
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from grader.judging.repair.definition_text import DefinitionText, Statement
from grader.judging.repair.differing_pairs import is_respelling
from grader.judging.variable_roles import Candidates, candidates_by_variable, word_likeness
from grader.judging.variables import rename_variables, variables_in
from grader.submission.syntax import is_compound

_MIN_LIKENESS = 0.5
"""Minimum likeness of two statements that are taken for the same step."""
_SAME_LOOP_DEPTH_BONUS = 0.1
"""Bonus for the same number of loops around two statements; it only decides between pairs that are nearly as alike."""
_SIMILAR_POSITION_BONUS = 0.05
"""Bonus for two statements at similar positions in their definitions."""
_MAX_POSITION_DIFFERENCE = 2
"""Maximum difference of two similar positions."""
_WORD = re.compile(r"\w+|[^\w\s]")
"""A word of a statement: a name, a number, or any other single sign such as `(`."""
_MAX_LINES = 6
"""Maximum number of lines of a statement that is inserted; a longer one would give away too much of the solution."""
_MAX_SECOND_CHOICES = 3
"""Maximum number of names in a statement for which to try the second candidate."""
_MIN_EXPRESSION_NODES = 6
"""Minimum number of AST nodes of an expression that does not occur in two programs by chance."""


@dataclass(eq=False)  # compared by identity, as `Statement`
class TranslatedStatement:
    """One statement of the solution in the learner's names."""

    original: Statement
    """The statement as it stands in the solution."""
    versions: Sequence[ast.stmt]
    """The statement in the learner's names, the likeliest version first; never empty."""
    counterpart: Statement | None = None
    """The learner's statement for the same step; None if there is none."""
    likeness: float = 0.0
    """Likeness of the first lines of both, from 0 to 1 (the same words, in any order); 0 without a counterpart."""

    @property
    def is_short(self) -> bool:
        """True if the statement is a small enough piece of the solution to be inserted."""
        return self.original.last_line - self.original.first_line + 1 <= _MAX_LINES

    @cached_property
    def has_same_first_line(self) -> bool:
        """True if the counterpart has the likeliest version's first line, but for spelling."""
        if self.counterpart is None:
            return False
        return is_respelling(_without_body(self.versions[0]), _without_body(self.counterpart.node))


class Neighbours(NamedTuple):
    """The learner's statements for what the solution does before and after one of its statements."""

    before: Statement | None
    after: Statement | None


class EnclosingExpression(NamedTuple):
    """An expression that the solution has around another one, in the learner's names."""

    size: int
    """Number of expressions in it, itself included."""
    expression: ast.expr


@dataclass
class TranslatedSolution:
    """All statements of the solution that can be translated, with their counterparts."""

    original: DefinitionText
    """The solution in its own names."""
    statements: list[TranslatedStatement]
    """In the order of the solution's text."""
    by_counterpart: dict[Statement, TranslatedStatement] = field(default_factory=dict)
    """The translated statement of each of the learner's statements that is a counterpart."""

    @classmethod
    def translate(cls, learner: DefinitionText, solution: DefinitionText) -> "TranslatedSolution":
        """Translate the solution's statements and find their counterparts in the learner's definition."""
        names = candidates_by_variable(learner.node, solution.node)
        values = {name: assignment.value for name, assignment in solution.sole_assignments.items()}
        translated = [
            TranslatedStatement(statement, versions)
            for statement in solution.statements
            if (versions := _versions(statement.node, names, values))
        ]
        translated_solution = cls(solution, translated)
        translated_solution._find_counterparts(learner)
        return translated_solution

    def counterparts_beside(self, translated: TranslatedStatement) -> Neighbours:
        """Return the counterparts nearest before and after this statement in its block of the solution.

        None on a side where no statement of the block has a counterpart.
        """
        block = translated.original.block.statements
        position = translated.original.position
        counterparts = {statement.original: statement.counterpart for statement in self.statements}
        before = (counterparts.get(statement) for statement in reversed(block[:position]))
        after = (counterparts.get(statement) for statement in block[position + 1 :])
        return Neighbours(next(filter(None, before), None), next(filter(None, after), None))

    def counterpart_of_parent(self, translated: TranslatedStatement) -> Statement | None:
        """Return the counterpart of the compound statement directly around this one; None if there is none."""
        parent = translated.original.block.owner
        return next((other.counterpart for other in self.statements if other.original.node is parent), None)

    @cached_property
    def enclosing_expressions(self) -> dict[str, list[EnclosingExpression]]:
        """For each distinctive calculation and call of the solution, the larger ones around it, in the learner's names.

        The key is the `ast.dump` of the inner expression. For `round(total * ratio)` there is one key, that of
        `total * ratio`. Small expressions are not distinctive: see `_is_distinctive`.
        """
        found: dict[str, list[EnclosingExpression]] = {}
        for translated in self.statements:
            for outer in ast.walk(translated.versions[0]):
                if not isinstance(outer, ast.BinOp | ast.Call):
                    continue
                parts = [part for part in ast.walk(outer) if isinstance(part, ast.expr)]
                enclosing = EnclosingExpression(len(parts), outer)
                for inner in parts[1:]:  # the first part is `outer` itself
                    if isinstance(inner, ast.BinOp | ast.Call) and _is_distinctive(inner):
                        found.setdefault(ast.dump(inner), []).append(enclosing)
        return found

    def _find_counterparts(self, learner: DefinitionText) -> None:
        """Pair the translated statements with the learner's, the most alike first."""
        pairs = []
        learner_words = [_words(statement.node) for statement in learner.statements]
        for index, translated in enumerate(self.statements):
            original = translated.original
            words = _words(translated.versions[0])
            for learner_index, statement in enumerate(learner.statements):
                if is_compound(statement.node) == is_compound(original.node):
                    has_same_depth = statement.block.loop_depth == original.block.loop_depth
                    has_similar_position = abs(learner_index - index) <= _MAX_POSITION_DIFFERENCE
                    likeness = word_likeness(words, learner_words[learner_index])
                    score = likeness
                    score += _SAME_LOOP_DEPTH_BONUS * has_same_depth
                    score += _SIMILAR_POSITION_BONUS * has_similar_position
                    pairs.append(_PossiblePair(-score, index, learner_index, likeness))
        for pair in sorted(pairs):
            translated = self.statements[pair.solution_index]
            statement = learner.statements[pair.learner_index]
            is_free = translated.counterpart is None and statement not in self.by_counterpart
            if pair.likeness >= _MIN_LIKENESS and is_free:
                translated.counterpart, translated.likeness = statement, pair.likeness
                self.by_counterpart[statement] = translated


class _PossiblePair(NamedTuple):
    """A translated statement and one of the learner's; the best pairs come first when they are sorted."""

    negative_score: float
    """Minus the sum of likeness and bonuses; pairs of equal score are sorted by the order of the text."""
    solution_index: int
    """Index in `TranslatedSolution.statements`."""
    learner_index: int
    """Index in the statements of the learner's definition."""
    likeness: float


def header_text(node: ast.stmt) -> str:
    """Return the statement's first line as `ast.unparse` writes it.

    For a compound statement this is the part before its body, without decorators.
    """
    lines = ast.unparse(_without_body(node)).split("\n")  # so that a long body need not be unparsed
    return next((line for line in lines if not line.startswith("@")), "")


def _without_body(node: ast.stmt) -> ast.stmt:
    """Return a compound statement with an empty body and no other branches; a simple statement as it is."""
    if not is_compound(node):
        return node
    bodies = {"body": [ast.Pass()], "orelse": [], "finalbody": [], "handlers": []}
    fields = {name: bodies.get(name, value) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)


def _is_distinctive(node: ast.expr) -> bool:
    """Return True if an expression is too large to occur in two programs by chance."""
    return sum(1 for _ in ast.walk(node)) >= _MIN_EXPRESSION_NODES


def _versions(node: ast.stmt, names: Candidates, values: dict[str, ast.expr]) -> Sequence[ast.stmt]:
    """Return the statement in the learner's names: the likeliest, then with the second choice for one name at a time.

    Empty if the statement reads a variable for which the learner has no name and the solution no single value.

    Args:
        node: a statement of the solution.
        names: the learner's names for each of the solution's, the likeliest first.
        values: the value of each variable that the solution assigns exactly once.
    """
    found = _names_in(node)
    missing = {name for name, candidates in names.items() if not candidates} - found.assigned
    if missing & found.variables:
        node = _ValueInliner(values, missing).visit(copy.deepcopy(node))
        found = _names_in(node)
        if missing & found.variables:
            return ()
    all_names = sorted(found.assigned | found.variables | found.attributes)
    choices = tuple((name, *names[name]) for name in all_names if names.get(name))
    return _renamed_versions(node, choices)


class _ValueInliner(ast.NodeTransformer):
    """Replace names that the learner lacks by their values, also within these values."""

    def __init__(self, values: dict[str, ast.expr], missing: set[str]) -> None:
        """`values`: the value of each name that has one; `missing`: the names that the learner lacks."""
        self._values, self._missing = values, missing

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._missing and node.id in self._values:
            # Without the name itself, so that a value which mentions its own name does not recurse for ever.
            other_values = {name: value for name, value in self._values.items() if name != node.id}
            value = copy.deepcopy(self._values[node.id])
            inlined: ast.AST = _ValueInliner(other_values, self._missing).visit(value)
            return inlined
        return node


class _Names(NamedTuple):
    """The names in a statement of the solution."""

    assigned: frozenset[str]
    """Variables that the statement sets, also in its body, named `x` or `self.x` as in `judging/variables.py`."""
    variables: frozenset[str]
    """All plain names in it, read or set."""
    attributes: frozenset[str]
    """The attributes in it, as `self.x`, whatever object they belong to."""


@lru_cache(maxsize=4096)
def _names_in(node: ast.stmt) -> _Names:
    """Return the names in a statement.

    Cached, because every search in an exercise translates the same statements of the solution.
    """
    nodes = list(ast.walk(node))
    variables = frozenset(part.id for part in nodes if isinstance(part, ast.Name))
    attributes = frozenset(f"self.{part.attr}" for part in nodes if isinstance(part, ast.Attribute))
    return _Names(frozenset(variables_in(node)), variables, attributes)


@lru_cache(maxsize=4096)
def _renamed_versions(node: ast.stmt, choices: tuple[tuple[str, ...], ...]) -> tuple[ast.stmt, ...]:
    """Return the statement in the learner's names, once for each renaming.

    Cached, because the search asks again after each edit. Do not modify the statements.

    Args:
        node: the statement; it is not modified.
        choices: for each name of the solution, the name and those of the learner's that may replace it.
    """
    first_choices = {name: candidates[0] for name, *candidates in choices}
    second_choices = [(name, candidates[1]) for name, *candidates in choices if len(candidates) > 1]
    renamings = [first_choices]
    renamings += [first_choices | {name: other} for name, other in second_choices[:_MAX_SECOND_CHOICES]]
    return tuple(_renamed(node, renaming) for renaming in renamings)


def _renamed(node: ast.stmt, new_names: dict[str, str]) -> ast.stmt:
    """Return a renamed copy of the statement, without `strict=` arguments."""
    renamed = ast.fix_missing_locations(rename_variables(node, new_names))
    assert isinstance(renamed, ast.stmt)
    # `zip(…, strict=True)` checks lengths and is no step of the exercise.
    for call in (part for part in ast.walk(renamed) if isinstance(part, ast.Call)):
        call.keywords = [keyword for keyword in call.keywords if keyword.arg != "strict"]
    return renamed


@lru_cache(maxsize=4096)
def _words(node: ast.stmt) -> Counter[str]:
    """Return the words of a statement's first line, and its type twice, to give it weight. Cached; do not mutate."""
    return Counter(_WORD.findall(header_text(node))) + Counter([type(node).__name__] * 2)
