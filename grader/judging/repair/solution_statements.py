"""Translate the solution's statements into the learner's names, and pair each with the learner's own.

These translated statements, called donors, are the material of edits: `line_edits` inserts a donor that has no
partner, and `expression_edits` replaces in a learner's statement what its donor has differently. Names are translated
by `variable_roles`; where a name has two candidates, a donor has several versions. A name that the learner lacks is
replaced by its value if the solution assigns it only once; a statement that needs more is no donor. Donors and
statements are paired by the words on their first lines, the most alike first, with a small bonus for the same depth
of loops and a similar position.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()` in a loop over `a, b`. The
donor's first version is `s += value.item() * len(a)`, and the learner's statement is its partner with likeness 0.67.
"""

import ast
import copy
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from grader.judging.repair.definition import DefinitionText, Statement
from grader.judging.variable_roles import VariableMatches, bound_names, match_variables, rename_variables
from grader.submission.syntax import is_compound

_MIN_LIKENESS = 0.5
"""Minimum likeness of two statements that are taken for the same step."""
_WORD = re.compile(r"\w+|[^\w\s]")
"""Words of a statement: names, numbers and single other signs."""
_MAX_LINES = 6
"""Number of lines from which on a statement is too large a piece of the solution to be inserted."""
_MAX_SECOND_CHOICES = 3
"""Maximum number of names for which to try the second-best match."""
_MIN_EXPRESSION_NODES = 6
"""Minimum number of AST nodes of an expression that does not occur in two programs by chance."""


@dataclass(eq=False)
class Donor:
    """One statement of the solution, from which edits may borrow."""

    original: Statement
    """The statement as it stands in the solution."""
    versions: Sequence[ast.stmt]
    """The statement in the learner's names, the likeliest version first; never empty."""
    partner: Statement | None = None
    """The learner's statement that does the same step; None if there is none."""
    likeness: float = 0.0
    """Likeness of the first lines of donor and partner, from 0 to 1 (the same words); 0 without a partner."""

    @property
    def short(self) -> bool:
        """True if the statement is a small enough piece of the solution to be inserted."""
        return self.original.last_line - self.original.first_line < _MAX_LINES


@dataclass
class Donors:
    """All statements of the solution that can be translated, paired with the learner's."""

    solution: DefinitionText
    donors: list[Donor]
    roles: VariableMatches
    """Matches of the solution's names with the learner's."""
    partners: dict[Statement, Donor] = field(default_factory=dict)
    """The donor of each of the learner's statements that has one."""

    @classmethod
    def of(cls, definition: DefinitionText, solution: DefinitionText) -> "Donors":
        """Translate the solution's statements and pair them with the learner's."""
        names = match_variables(definition.node, solution.node)
        values = _values(solution)
        donors = [Donor(s, _versions(s.node, names, values)) for s in solution.statements]
        donors = [d for d in donors if d.versions]
        matched = cls(solution, donors, names)
        matched._pair(definition)
        return matched

    def around(self, donor: Donor) -> tuple[Statement | None, Statement | None]:
        """Return the nearest statements of the learner's that do steps before and after the donor's.

        These are the partners of the donor's neighbours in the donor's block; None where no neighbour has a partner.
        """
        block = donor.original.block.statements
        by_statement = {d.original: d.partner for d in self.donors}
        before = (by_statement.get(s) for s in reversed(block[: donor.original.position]))
        after = (by_statement.get(s) for s in block[donor.original.position + 1 :])
        return next(filter(None, before), None), next(filter(None, after), None)

    def home(self, donor: Donor) -> Statement | None:
        """Return the partner of the compound statement that the donor stands in; None if there is none."""
        return next((d.partner for d in self.donors if d.original.node is donor.original.block.owner), None)

    @cached_property
    def around_expressions(self) -> dict[str, list[tuple[int, ast.expr]]]:
        """Larger expressions of the solution around each expression, by `ast.dump` of the inner one.

        Each is a pair: the number of expressions in the larger one, and the larger one in the learner's names.
        """
        found: dict[str, list[tuple[int, ast.expr]]] = {}
        for donor in self.donors:
            for outer in ast.walk(donor.versions[0]):
                if not isinstance(outer, ast.BinOp | ast.Call):
                    continue
                parts = [n for n in ast.walk(outer) if isinstance(n, ast.expr)]
                for inner in parts[1:]:
                    if (
                        isinstance(inner, ast.BinOp | ast.Call)
                        and sum(1 for _ in ast.walk(inner)) >= _MIN_EXPRESSION_NODES
                    ):
                        found.setdefault(ast.dump(inner), []).append((len(parts), outer))
        return found

    def _pair(self, definition: DefinitionText) -> None:
        """Pair donors with the learner's statements, the most alike first."""
        scores = []
        words = {s: _words(s.node) for s in definition.statements}
        for index, donor in enumerate(self.donors):
            said = _words(donor.versions[0])
            for number, statement in enumerate(definition.statements):
                if is_compound(statement.node) == is_compound(donor.original.node):
                    place = 0.1 * (statement.block.loop_depth == donor.original.block.loop_depth)
                    order = 0.05 * (abs(number - index) < 3)
                    likeness = _likeness(said, words[statement])
                    scores.append((-(likeness + place + order), index, number, likeness))
        for _, index, number, likeness in sorted(scores):
            donor, statement = self.donors[index], definition.statements[number]
            if likeness >= _MIN_LIKENESS and donor.partner is None and statement not in self.partners:
                donor.partner, donor.likeness = statement, likeness
                self.partners[statement] = donor


def header_text(node: ast.stmt) -> str:
    """Return the statement's first line as `ast.unparse` writes it.

    For a compound statement this is the part before its body.
    """
    if not is_compound(node):
        return ast.unparse(node).split("\n")[0]
    bodies = {"body": [ast.Pass()], "orelse": [], "finalbody": [], "handlers": []}
    fields = {name: bodies.get(name, value) for name, value in ast.iter_fields(node)}
    lines = ast.unparse(ast.copy_location(type(node)(**fields), node)).split("\n")
    return next((line for line in lines if not line.startswith("@")), "")


def _values(solution: DefinitionText) -> dict[str, ast.expr]:
    """Return the value of each variable that the solution assigns exactly once; the learner may have no name for it."""
    return {name: statement.value for name, statement in solution.sole_assignments.items()}


class _Inliner(ast.NodeTransformer):
    """Replace names that the learner lacks by their values."""

    def __init__(self, values: dict[str, ast.expr], nameless: set[str]) -> None:
        self._values, self._nameless = values, nameless

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._nameless and node.id in self._values:
            values = {k: v for k, v in self._values.items() if k != node.id}
            found: ast.AST = _Inliner(values, self._nameless).visit(copy.deepcopy(self._values[node.id]))
            return found
        return node


def _versions(node: ast.stmt, names: VariableMatches, values: dict[str, ast.expr]) -> Sequence[ast.stmt]:
    """Return the statement in the learner's names: the likeliest, then with the second choice for one name at a time.

    Empty if the statement needs a name that the learner lacks.
    """
    own, variables, attributes = _names_in(node)
    nameless = {name for name, others in names.items() if not others} - own
    if nameless & variables:
        node = _Inliner(values, nameless).visit(copy.deepcopy(node))
        own, variables, attributes = _names_in.__wrapped__(node)
        if nameless & variables:
            return ()  # it needs a variable that the learner does not have
    choices = tuple((n, *names[n]) for n in sorted(own | variables | attributes) if names.get(n))
    return _in_their_names(node, choices)


@lru_cache(maxsize=4096)
def _names_in(node: ast.stmt) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return what a statement binds, its variables, and its attributes. Cached for the solution's nodes."""
    nodes = list(ast.walk(node))
    variables = frozenset(n.id for n in nodes if isinstance(n, ast.Name))
    attributes = frozenset(f"self.{n.attr}" for n in nodes if isinstance(n, ast.Attribute))
    return frozenset(bound_names(node)), variables, attributes


@lru_cache(maxsize=4096)
def _in_their_names(node: ast.stmt, choices: tuple[tuple[str, ...], ...]) -> tuple[ast.stmt, ...]:
    """Return the statement in the learner's names, once for each renaming. Cached: the next edit needs the same ones.

    Args:
        node: the statement; it is not modified.
        choices: for each name of the solution, the name and those of the learner's that may replace it.
    """
    first = {name: others[0] for name, *others in choices}
    seconds = [(name, others[1]) for name, *others in choices if len(others) > 1]
    renamings = [first, *(first | {name: other} for name, other in seconds[:_MAX_SECOND_CHOICES])]
    return tuple(_renamed(node, renaming) for renaming in renamings)


def _renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    """Return a renamed copy of the statement, without `strict=` arguments."""
    found = ast.fix_missing_locations(rename_variables(node, names))
    assert isinstance(found, ast.stmt)
    # `zip(…, strict=True)` checks lengths and is no step of the exercise.
    for call in (n for n in ast.walk(found) if isinstance(n, ast.Call)):
        call.keywords = [k for k in call.keywords if k.arg != "strict"]
    return found


@lru_cache(maxsize=4096)
def _words(node: ast.stmt) -> Counter[str]:
    """Return the words of a statement's first line, and its kind twice. Cached; do not mutate."""
    text = header_text(node)
    return Counter(_WORD.findall(text)) + Counter([type(node).__name__] * 2)


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the number of words in common as a share of all words, from 0 to 1."""
    shared = sum(min(count, other[word]) for word, count in one.items() if word in other)
    return shared / max(1, one.total() + other.total() - shared)
