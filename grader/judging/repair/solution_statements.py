"""The solution's statements in the learner's own names, each beside the statement of theirs that does its work."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from grader.judging.repair.definition import Definition, Statement, is_compound
from grader.judging.variable_roles import Roles, own_names, renamed, roles

_PARTNERS = 0.5
"""Statements less alike than this are not taken for the same step."""
_WORD = re.compile(r"\w+|[^\w\s]")
_MOST_LINES = 6
_MOST_SECONDS = 3
"""Of how many names the second choice is tried."""
_A_THOUGHT = 6
"""Parts of an expression that is not found in two programs by chance."""


@dataclass(eq=False)
class Donor:
    """One statement of the solution."""

    theirs: Statement
    """As it stands in the solution."""
    versions: Sequence[ast.stmt]
    """In the learner's names: the likeliest first."""
    partner: Statement | None = None
    """The learner's statement that does the same step."""
    likeness: float = 0.0
    """Of the two, 1 when they say the same."""

    @property
    def short(self) -> bool:
        """Whether it is a piece and not half of the solution."""
        return self.theirs.last - self.theirs.first < _MOST_LINES


@dataclass
class Donors:
    """All of the solution's statements, matched."""

    donors: list[Donor]
    roles: Roles
    partners: dict[Statement, Donor] = field(default_factory=dict)
    """The learner's statements that have one."""

    @classmethod
    def of(cls, definition: Definition, solution: Definition) -> "Donors":
        """Match the learner's statements with the solution's."""
        names = roles(definition.node, solution.node)
        values = _values(solution)
        donors = [Donor(s, _versions(s.node, names, values)) for s in solution.statements]
        donors = [d for d in donors if d.versions]
        matched = cls(donors, names)
        matched._pair(definition)
        return matched

    def around(self, donor: Donor) -> tuple[Statement | None, Statement | None]:
        """The learner's statements that do the steps before and after the donor's, where they have them."""
        block = donor.theirs.block.statements
        by_statement = {d.theirs: d.partner for d in self.donors}
        before = (by_statement.get(s) for s in reversed(block[: donor.theirs.position]))
        after = (by_statement.get(s) for s in block[donor.theirs.position + 1 :])
        return next(filter(None, before), None), next(filter(None, after), None)

    def home(self, donor: Donor) -> Statement | None:
        """The learner's loop, `with` or `if` that stands for the one the donor stands in."""
        return next((d.partner for d in self.donors if d.theirs.node is donor.theirs.block.owner), None)

    @cached_property
    def around_expressions(self) -> dict[str, list[tuple[int, ast.expr]]]:
        """By an expression (as `ast.dump` writes it) what the solution has around it, with the number of its parts."""
        found: dict[str, list[tuple[int, ast.expr]]] = {}
        for donor in self.donors:
            for outer in ast.walk(donor.versions[0]):
                if not isinstance(outer, ast.BinOp | ast.Call):
                    continue
                parts = [n for n in ast.walk(outer) if isinstance(n, ast.expr)]
                for inner in parts[1:]:
                    if (
                        isinstance(inner, ast.BinOp | ast.Call)
                        and sum(1 for _ in ast.walk(inner)) >= _A_THOUGHT
                    ):
                        found.setdefault(ast.dump(inner), []).append((len(parts), outer))
        return found

    def _pair(self, definition: Definition) -> None:
        scores = []
        words = {s: _words(s.node) for s in definition.statements}
        for index, donor in enumerate(self.donors):
            said = _words(donor.versions[0])
            for number, statement in enumerate(definition.statements):
                if is_compound(statement.node) == is_compound(donor.theirs.node):
                    place = 0.1 * (statement.block.loops == donor.theirs.block.loops)
                    order = 0.05 * (abs(number - index) < 3)
                    likeness = _likeness(said, words[statement])
                    scores.append((-(likeness + place + order), index, number, likeness))
        for _, index, number, likeness in sorted(scores):
            donor, statement = self.donors[index], definition.statements[number]
            if likeness >= _PARTNERS and donor.partner is None and statement not in self.partners:
                donor.partner, donor.likeness = statement, likeness
                self.partners[statement] = donor


def header_text(node: ast.stmt) -> str:
    """The statement's first line, as Python writes it: for a compound statement what stands before its body."""
    if not is_compound(node):
        return ast.unparse(node).split("\n")[0]
    bodies = {"body": [ast.Pass()], "orelse": [], "finalbody": [], "handlers": []}
    fields = {name: bodies.get(name, value) for name, value in ast.iter_fields(node)}
    lines = ast.unparse(ast.copy_location(type(node)(**fields), node)).split("\n")
    return next((line for line in lines if not line.startswith("@")), "")


def _values(solution: Definition) -> dict[str, ast.expr]:
    """What the solution's variables are that it assigns once: theirs may have no name for it."""
    counts = Counter(
        n.id for n in ast.walk(solution.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    nodes = [s.node for s in solution.statements]
    assigned = [(n.targets[0], n.value) for n in nodes if isinstance(n, ast.Assign)]
    return {t.id: value for t, value in assigned if isinstance(t, ast.Name) and counts[t.id] == 1}


class _Inliner(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr], nameless: set[str]) -> None:
        self._values, self._nameless = values, nameless

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._nameless and node.id in self._values:
            values = {k: v for k, v in self._values.items() if k != node.id}
            found: ast.AST = _Inliner(values, self._nameless).visit(copy.deepcopy(self._values[node.id]))
            return found
        return node


def _versions(node: ast.stmt, names: Roles, values: dict[str, ast.expr]) -> Sequence[ast.stmt]:
    """The statement in the learner's names: the likeliest, then with each one name's second choice."""
    own, variables, attributes = _names_in(node)
    nameless = {name for name, others in names.items() if not others} - own
    if nameless & variables:
        node = _Inliner(values, nameless).visit(copy.deepcopy(node))
        own, variables, attributes = _names_in.__wrapped__(node)
        if nameless & variables:
            return ()  # it needs what they do not have
    choices = tuple((n, *names[n]) for n in sorted(own | variables | attributes) if names.get(n))
    return _in_their_names(node, choices)


@lru_cache(maxsize=4096)
def _names_in(node: ast.stmt) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """What a statement binds, its variables and its attributes; of the solution, whose nodes are asked again."""
    nodes = list(ast.walk(node))
    variables = frozenset(n.id for n in nodes if isinstance(n, ast.Name))
    attributes = frozenset(f"self.{n.attr}" for n in nodes if isinstance(n, ast.Attribute))
    return frozenset(own_names(node)), variables, attributes


@lru_cache(maxsize=4096)
def _in_their_names(node: ast.stmt, choices: tuple[tuple[str, ...], ...]) -> tuple[ast.stmt, ...]:
    """For each choice a name of the solution's and those that may stand in its place. The same for the next edit."""
    first = {name: others[0] for name, *others in choices}
    seconds = [(name, others[1]) for name, *others in choices if len(others) > 1]
    renamings = [first, *(first | {name: other} for name, other in seconds[:_MOST_SECONDS])]
    return tuple(_renamed(node, renaming) for renaming in renamings)


def _renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    found = ast.fix_missing_locations(renamed(node, names))
    assert isinstance(found, ast.stmt)
    for call in (n for n in ast.walk(found) if isinstance(n, ast.Call)):
        call.keywords = [k for k in call.keywords if k.arg != "strict"]  # a check of zip's, and no step
    return found


@lru_cache(maxsize=4096)
def _words(node: ast.stmt) -> Counter[str]:
    """Not to be changed: who asks again gets the same."""
    text = header_text(node)
    return Counter(_WORD.findall(text)) + Counter([type(node).__name__] * 2)


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(min(count, other[word]) for word, count in one.items() if word in other)
    return shared / max(1, one.total() + other.total() - shared)
