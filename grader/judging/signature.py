"""Compare the parameters of the learner's function with those of the exercise.

The grader calls an exercise's function as the exercise writes it: required parameters by position, the others by name.
So other names in the same places are as right. Another order, a missing parameter or another name of a parameter that
is passed by name is not, and the exception that follows from it says nothing of the cause.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.base.names import LISTED, short
from grader.course.course import Exercise
from grader.judging.edits import exercise_source
from grader.observe.wording import particle
from grader.submission.syntax import Definition, definition_of, methods

_SYNONYMS = (
    ("model", "net", "network"),
    ("opt", "optimizer", "optim"),
    ("loss_fn", "criterion", "loss_func", "loss_function"),
    ("xb", "x", "inputs"),
    ("yb", "y", "targets", "target", "labels"),
    ("loader", "dataloader", "data_loader"),
    ("params", "parameters"),
)
"""Names under which learners know the same argument."""
_LONGEST_DEFAULT = 20
"""Maximum number of characters of a default value that is shown."""
_LONGEST_SIGNATURE = 300
"""Maximum number of characters of a signature that is shown."""
_CALLED_IN_ANOTHER_WAY = {"staticmethod", "classmethod", "property"}
"""Decorators of a method that is not simply called with the object as its first argument."""


@dataclass(frozen=True)
class SignatureDifference:
    """How the first line of the learner's function differs from the exercise's."""

    title: str
    """Korean sentence that says what differs, without a full stop."""
    yours: str
    """The learner's parameters, as in `train_step(model, opt, xb, yb)`."""
    right: str
    """The exercise's parameters, in the same form."""
    line: int
    """Line of the `def`, counted in the text that was read."""


def signature_difference(exercise: Exercise, source: str) -> SignatureDifference | None:
    """Return why the learner's function, or a method of the learner's class, cannot be called as the exercise says.

    None if it can, or if the text does not define it with `def` or `class`.

    Args:
        exercise: the exercise.
        source: the learner's program.
    """
    learner = definition_of(source, exercise.name)
    solution = definition_of(exercise_source(exercise), exercise.name)
    if learner is None or solution is None:
        return None
    for name, yours, right in _pairs(learner, solution):
        bound = isinstance(solution, ast.ClassDef)
        title = _difference(_Parameters(yours.args, bound), _Parameters(right.args, bound))
        if title is not None:
            return SignatureDifference(
                title, _shown(name, yours.args), _shown(name, right.args), yours.lineno
            )
    return None


def _pairs(
    learner: Definition, solution: Definition
) -> Iterator[tuple[str, ast.FunctionDef, ast.FunctionDef]]:
    """Yield the functions that the grader calls: name, the learner's and the solution's.

    Of a class these are the methods that both define as plain ones, without `_CALLED_IN_ANOTHER_WAY`.
    """
    if isinstance(learner, ast.FunctionDef) and isinstance(solution, ast.FunctionDef):
        yield solution.name, learner, solution
    elif isinstance(learner, ast.ClassDef) and isinstance(solution, ast.ClassDef):
        own = methods(learner)
        for name, right in methods(solution).items():
            yours = own.get(name)
            is_called = name == "__init__" or not name.startswith("_")
            if yours is not None and is_called and _is_plain(yours) and _is_plain(right):
                yield name, yours, right


def _is_plain(method: ast.FunctionDef) -> bool:
    """Return True if the method has none of the decorators in `_CALLED_IN_ANOTHER_WAY`."""
    names = {decorator.id for decorator in method.decorator_list if isinstance(decorator, ast.Name)}
    return not names & _CALLED_IN_ANOTHER_WAY


class _Parameters:
    """The parameters of a function: which it takes by position, by name, and which it requires."""

    def __init__(self, arguments: ast.arguments, bound: bool) -> None:
        """Read them.

        Args:
            arguments: the arguments of the definition.
            bound: True for a method, whose first parameter is the object.
        """
        every = [*arguments.posonlyargs, *arguments.args]
        self.positional = [a.arg for a in every]
        self.required = self.positional[: len(every) - len(arguments.defaults)]
        by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        self.by_name = {argument.arg: default is None for argument, default in by_name}
        """Parameters after `*`; True for those that are required."""
        self.takes_more = arguments.vararg is not None
        self.takes_any_name = arguments.kwarg is not None
        self.bound = bound

    @property
    def optional(self) -> list[str]:
        """Parameters with a default, before or after `*`."""
        defaulted = [name for name in self.positional if name not in self.required]
        return defaulted + [name for name, is_required in self.by_name.items() if not is_required]

    def accepts(self, name: str) -> bool:
        """Return True if the parameter can be passed by this name."""
        return name in self.positional or name in self.by_name or self.takes_any_name


def _difference(yours: _Parameters, right: _Parameters) -> str | None:
    """Return a Korean sentence on the first difference that makes a call fail; None if there is none."""
    if right.bound and (not yours.positional or yours.positional[0] in right.positional[1:]):
        return None if yours.takes_more else "메서드의 첫 매개변수 `self`가 없어요"
    return _difference_by_position(yours, right) or _difference_by_name(yours, right)


def _difference_by_position(yours: _Parameters, right: _Parameters) -> str | None:
    """Return what differs in the parameters that the grader passes by position."""
    wanted = right.required
    translated = _translated([*yours.positional, *yours.by_name], right)
    names = translated[: len(yours.positional)]
    common = [name for name in names if name in wanted]
    if common != sorted(common, key=wanted.index):
        return "매개변수의 순서가 문제와 달라요"
    lacking = 0 if yours.takes_more else len(wanted) - len(names)
    by_name = zip(translated[len(names) :], yours.by_name.values(), strict=True)
    behind = [name for name, is_required in by_name if name in wanted and (is_required or lacking > 0)]
    if behind:
        return f"{_listed(behind, '이/가')} 문제와 달리 `*` 뒤에 있어요"
    if lacking > 0:
        missing = [name for name in wanted if name not in names]
        is_known_which = len(missing) == lacking
        return f"{_listed(missing, '이/가')} 없어요" if is_known_which else f"매개변수가 {lacking}개 모자라요"
    if any(names.index(name) != wanted.index(name) for name in common):
        inserted = names[: names.index(common[-1])]
        more = [name for name in inserted if name not in wanted]
        if len(names) == len(wanted) or not more:
            return "매개변수의 순서가 문제와 달라요"
        return f"{_listed(more, '이/가')} 문제와 다른 자리에 있어요"
    return None


def _difference_by_name(yours: _Parameters, right: _Parameters) -> str | None:
    """Return what differs in the parameters passed by name, or what else the learner's function requires."""
    passed = [*right.by_name, *(name for name in right.positional if name not in right.required)]
    missing = [name for name in passed if not yours.accepts(name)]
    known = {*right.positional, *right.by_name}
    still_required = yours.required[len(right.required) :] + [
        name for name, is_required in yours.by_name.items() if is_required
    ]
    unknown = [
        name for name in (*yours.positional[len(right.required) :], *yours.by_name) if name not in known
    ]
    if missing and unknown:
        return f"{_listed(missing, '이/가')} 없고, 대신 {_listed(unknown, '이/가')} 있어요"
    if missing:
        return f"{_listed(missing, '이/가')} 없어요"
    superfluous = [name for name in still_required if name not in known]
    if superfluous:
        return f"문제에 없는 {_listed(superfluous, '이/가')} 더 있어요"
    undefaulted = [name for name in still_required if name in right.optional]
    if undefaulted:
        return f"{_listed(undefaulted, '에는/에는')} 기본값이 없어요"
    return None


def _listed(names: Sequence[str], forms: str) -> str:
    """Return the first parameters, and the number of the others, with the particle that follows the last word."""
    shown = ", ".join(f"`{short(name)}`" for name in names[:LISTED])
    if len(names) > LISTED:
        shown, last = f"{shown} 외 {len(names) - LISTED:,}개", "개"
    else:
        last = names[-1]
    return f"매개변수 {shown}{particle(last, forms)}"


def _translated(names: Sequence[str], right: _Parameters) -> list[str]:
    """Return the names with each synonym of a parameter replaced by the exercise's name for it.

    Names that would become the same one stay as they are: nobody knows which of `y` and `target` is `yb`.
    """
    wanted = {
        synonym: name for name in right.required for group in _SYNONYMS if name in group for synonym in group
    }
    translated = [name if name in right.positional else wanted.get(name, name) for name in names]
    count = Counter(translated)
    return [new if count[new] == 1 else name for name, new in zip(names, translated, strict=True)]


def _shown(name: str, arguments: ast.arguments) -> str:
    """Return a signature without types, cut if it is very long: `fit(model, opt, *, zero_grad=True)`."""
    bare = ast.arguments(
        posonlyargs=[ast.arg(a.arg) for a in arguments.posonlyargs],
        args=[ast.arg(a.arg) for a in arguments.args],
        vararg=None if arguments.vararg is None else ast.arg(arguments.vararg.arg),
        kwonlyargs=[ast.arg(a.arg) for a in arguments.kwonlyargs],
        kw_defaults=[None if default is None else _short(default) for default in arguments.kw_defaults],
        kwarg=None if arguments.kwarg is None else ast.arg(arguments.kwarg.arg),
        defaults=[_short(default) for default in arguments.defaults],
    )
    shown = f"{name}({ast.unparse(bare)})"
    return shown if len(shown) <= _LONGEST_SIGNATURE else f"{shown[:_LONGEST_SIGNATURE]}…"


def _short(default: ast.expr) -> ast.expr:
    """Return a default value, or `...` in the place of a long one."""
    text = ast.unparse(default) if isinstance(default, ast.Constant | ast.Name) else ""
    return default if 0 < len(text) <= _LONGEST_DEFAULT else ast.Constant(...)
