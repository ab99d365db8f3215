"""Compare the parameters of the learner's function with those of the exercise.

The grader calls an exercise's function as the exercise defines it: positional parameters without a default by position,
all others by name. So a parameter that is passed by position may have another name. But the call fails if parameters
are in another order, if one is missing, or if one that is passed by name has another name, and the exception then says
little of the cause.

Example: for `train_step(model, opt, loss_fn, xb, yb)`, a learner's `train_step(net, optim, criterion, x, y)` is right.
Of `train_step(opt, model, loss_fn, xb, yb)`, the learner reads 「매개변수의 순서가 문제와 달라요」.

Only the texts are compared: `assess.py` calls `signature_difference` for a program that failed and that known mistakes
do not wholly explain. Another name for the same argument goes into `_SYNONYMS`, another difference into
`_difference_by_position` or `_difference_by_keyword`.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grader.base.names import LISTED, short
from grader.course.course import Exercise
from grader.judging.solution import exercise_source
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
"""Groups of names that learners use for the same argument; a name of the exercise is in at most one of them."""
_MAX_DEFAULT_CHARACTERS = 20
"""Maximum length of a default value that is shown; a longer one is shown as `...`."""
_MAX_SIGNATURE_CHARACTERS = 300
"""A signature is cut after this many characters: a learner's may be of any length."""
_OTHER_ORDER = "매개변수의 순서가 문제와 달라요"
"""Korean for "the parameters are in another order than the exercise's"."""
_NON_PLAIN_DECORATORS = {"staticmethod", "classmethod", "property"}
"""Decorators of methods that are not called with the object as first argument; such methods are not compared."""


@dataclass(frozen=True)
class SignatureDifference:
    """How the first line of the learner's function differs from the exercise's."""

    sentence: str
    """Korean sentence that says what differs, without a full stop."""
    yours: str
    """The learner's name and parameters, as in `train_step(net, optim, criterion, x, y)`."""
    right: str
    """Those of the exercise, in the same form."""
    line: int
    """Line of the `def`, counted from 1 in the `source` given to `signature_difference`."""


def signature_difference(exercise: Exercise, source: str) -> SignatureDifference | None:
    """Return the first difference that makes a call of the learner's function, or of a method of the class, fail.

    None if there is none, or if the text does not define the exercise with `def` or `class`.

    Args:
        exercise: the exercise that says how the function is called.
        source: the learner's program.
    """
    learner = definition_of(source, exercise.name)
    solution = definition_of(exercise_source(exercise), exercise.name)
    if learner is None or solution is None:
        return None
    is_method = isinstance(solution, ast.ClassDef)
    for called in _called_functions(learner, solution):
        yours, right = called.yours.args, called.right.args
        sentence = _first_difference(_Parameters(yours), _Parameters(right), is_method=is_method)
        if sentence is not None:
            texts = _signature_text(called.name, yours), _signature_text(called.name, right)
            return SignatureDifference(sentence, *texts, called.yours.lineno)
    return None


class _CalledFunction(NamedTuple):
    """A function or method that the grader calls."""

    name: str
    yours: ast.FunctionDef
    """The learner's."""
    right: ast.FunctionDef
    """The solution's."""


def _called_functions(learner: Definition, solution: Definition) -> Iterator[_CalledFunction]:
    """Yield each function that the grader calls and whose parameters can be compared.

    For a class, these are `__init__` and the public methods that both programs define as plain methods. Nothing is
    yielded if one of the two is a function and the other a class.
    """
    if isinstance(learner, ast.FunctionDef) and isinstance(solution, ast.FunctionDef):
        yield _CalledFunction(solution.name, learner, solution)
    elif isinstance(learner, ast.ClassDef) and isinstance(solution, ast.ClassDef):
        learner_methods = methods(learner)
        for name, right in methods(solution).items():
            yours = learner_methods.get(name)
            is_called = name == "__init__" or not name.startswith("_")
            if yours is not None and is_called and _is_plain_method(yours) and _is_plain_method(right):
                yield _CalledFunction(name, yours, right)


def _is_plain_method(method: ast.FunctionDef) -> bool:
    """Return True if the grader calls the method as a plain method, with `self` as its first parameter."""
    names = {decorator.id for decorator in method.decorator_list if isinstance(decorator, ast.Name)}
    return not names & _NON_PLAIN_DECORATORS


class _Parameters:
    """The parameters of one function, by how they can be passed."""

    def __init__(self, arguments: ast.arguments) -> None:
        """Read the parameters from a definition's `ast.arguments`."""
        positional = [*arguments.posonlyargs, *arguments.args]
        self.positional = [argument.arg for argument in positional]
        """Parameters that can be passed by position."""
        self.required = self.positional[: len(positional) - len(arguments.defaults)]
        """Those of `positional` that have no default."""
        keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        self.keyword_only = {argument.arg: default is None for argument, default in keyword_only}
        """Parameters after `*`; True for those that are required."""
        self.has_varargs = arguments.vararg is not None
        self.has_kwargs = arguments.kwarg is not None

    @property
    def optional(self) -> list[str]:
        """Parameters with a default, before or after `*`."""
        defaulted = [name for name in self.positional if name not in self.required]
        return defaulted + [name for name, is_required in self.keyword_only.items() if not is_required]

    def accepts_keyword(self, name: str) -> bool:
        """Return True if a call may pass an argument by this name."""
        return name in self.positional or name in self.keyword_only or self.has_kwargs


def _first_difference(yours: _Parameters, right: _Parameters, *, is_method: bool) -> str | None:
    """Return a Korean sentence on the first difference that makes a call fail; None if none is found.

    Args:
        yours: the learner's parameters.
        right: the exercise's parameters.
        is_method: True if both are methods, whose first parameter is the object.
    """
    if is_method:
        if not yours.positional and yours.has_varargs:
            return None  # `*args` takes the object and every argument by position: assume that the rest fits
        # Without `self`, the object is passed as the learner's first parameter, and every other one is shifted.
        if not yours.positional or yours.positional[0] in right.positional[1:]:
            return "메서드의 첫 매개변수 `self`가 없어요"
    return _difference_by_position(yours, right) or _difference_by_keyword(yours, right)


def _difference_by_position(yours: _Parameters, right: _Parameters) -> str | None:
    """Return a Korean sentence on what differs in the parameters that the grader passes by position; None if nothing.

    Examples, where the exercise has `(model, opt, xb)`:

        (opt, model, xb)        another order
        (model, *, opt, xb)     `opt` and `xb` stand after `*`
        (model, opt)            `xb` is missing
        (model, n, opt, xb)     `n` stands in another's place
    """
    right_required = right.required
    translated = _with_exercise_names([*yours.positional, *yours.keyword_only], right)
    yours_renamed = translated[: len(yours.positional)]
    common = [name for name in yours_renamed if name in right_required]
    if common != sorted(common, key=right_required.index):
        return _OTHER_ORDER
    # A negative `missing_count` means that the learner has extra positional parameters.
    missing_count = 0 if yours.has_varargs else len(right_required) - len(yours_renamed)
    # A parameter after `*` cannot be passed by position. With a default it does no harm, unless positional parameters
    # are missing.
    keyword_only = zip(translated[len(yours_renamed) :], yours.keyword_only.values(), strict=True)
    after_star = [
        name
        for name, is_required in keyword_only
        if name in right_required and (is_required or missing_count > 0)
    ]
    if after_star:
        return f"{_list_of_parameters(after_star, '이/가')} 문제와 달리 `*` 뒤에 있어요"
    if missing_count > 0:
        return _sentence_on_missing(right_required, yours_renamed, missing_count)
    # Enough parameters, known ones in order, but some shifted.
    if any(yours_renamed.index(name) != right_required.index(name) for name in common):
        inserted = [
            name for name in yours_renamed[: yours_renamed.index(common[-1])] if name not in right_required
        ]
        if len(yours_renamed) == len(right_required) or not inserted:
            # With as many parameters as are required, an unknown name is no extra one, but a required one, renamed and
            # in another place: `(model, z, opt)` for `(model, opt, xb)`. Or no unknown name stands before the shifted
            # ones.
            return _OTHER_ORDER
        return f"{_list_of_parameters(inserted, '이/가')} 문제와 다른 자리에 있어요"
    return None


def _sentence_on_missing(
    right_required: Sequence[str], yours_renamed: Sequence[str], missing_count: int
) -> str:
    """Return a Korean sentence that names the missing parameters, or only counts them if the names are not certain.

    Example: where `model, opt, xb` are required, `(model, opt)` lacks `xb`, but `(model, z)` lacks `opt` or `xb`.
    """
    missing = [name for name in right_required if name not in yours_renamed]
    if len(missing) == missing_count:
        return f"{_list_of_parameters(missing, '이/가')} 없어요"
    return f"매개변수가 {missing_count}개 모자라요"


def _difference_by_keyword(yours: _Parameters, right: _Parameters) -> str | None:
    """Return a Korean sentence on what differs in the parameters that the grader passes by name; None if nothing.

    Parameters that the grader does not pass at all, although the learner's function requires them, differ, too.
    """
    passed = [*right.keyword_only, *(name for name in right.positional if name not in right.required)]
    missing = [name for name in passed if not yours.accepts_keyword(name)]
    known = {*right.positional, *right.keyword_only}
    # Positional parameters beyond those that the grader passes by position, and those after `*`.
    beyond_required = [*yours.positional[len(right.required) :], *yours.keyword_only]
    unknown = [name for name in beyond_required if name not in known]
    if missing and unknown:
        return f"{_list_of_parameters(missing, '이/가')} 없고, 대신 {_list_of_parameters(unknown, '이/가')} 있어요"
    if missing:
        return f"{_list_of_parameters(missing, '이/가')} 없어요"
    still_required = yours.required[len(right.required) :] + [
        name for name, is_required in yours.keyword_only.items() if is_required
    ]
    superfluous = [name for name in still_required if name not in known]
    if superfluous:
        return f"문제에 없는 {_list_of_parameters(superfluous, '이/가')} 더 있어요"
    without_default = [name for name in still_required if name in right.optional]
    if without_default:
        # `에는` is the same after a consonant and after a vowel.
        return f"{_list_of_parameters(without_default, '에는/에는')} 기본값이 없어요"
    return None


def _list_of_parameters(names: Sequence[str], forms: str) -> str:
    """Return `매개변수`, the first names, the number of the others if there are any, and a particle.

    Args:
        names: the names, at least one.
        forms: the particle after a consonant and after a vowel, as `이/가`.
    """
    shown = ", ".join(f"`{short(name)}`" for name in names[:LISTED])
    if len(names) > LISTED:
        shown, last = f"{shown} 외 {len(names) - LISTED:,}개", "개"
    else:
        last = names[-1]
    return f"매개변수 {shown}{particle(last, forms)}"


def _with_exercise_names(names: Sequence[str], right: _Parameters) -> list[str]:
    """Return the names with each synonym of a required parameter replaced by the exercise's name for it.

    Names stay as they are if two would become the same: nobody knows which of `y` and `target` is `yb`.
    """
    exercise_names: dict[str, str] = {}
    for name in right.required:
        for group in _SYNONYMS:
            if name in group:
                exercise_names.update(dict.fromkeys(group, name))
    translated = [name if name in right.positional else exercise_names.get(name, name) for name in names]
    count = Counter(translated)
    return [new if count[new] == 1 else name for name, new in zip(names, translated, strict=True)]


def _signature_text(name: str, arguments: ast.arguments) -> str:
    """Return the signature without types, cut if it is very long: `fit(model, opt, *, zero_grad=True)`."""
    bare = ast.arguments(
        posonlyargs=[ast.arg(a.arg) for a in arguments.posonlyargs],
        args=[ast.arg(a.arg) for a in arguments.args],
        vararg=None if arguments.vararg is None else ast.arg(arguments.vararg.arg),
        kwonlyargs=[ast.arg(a.arg) for a in arguments.kwonlyargs],
        kw_defaults=[
            None if default is None else _shortened_default(default) for default in arguments.kw_defaults
        ],
        kwarg=None if arguments.kwarg is None else ast.arg(arguments.kwarg.arg),
        defaults=[_shortened_default(default) for default in arguments.defaults],
    )
    shown = f"{name}({ast.unparse(bare)})"
    return shown if len(shown) <= _MAX_SIGNATURE_CHARACTERS else f"{shown[:_MAX_SIGNATURE_CHARACTERS]}…"


def _shortened_default(default: ast.expr) -> ast.expr:
    """Return a default value to show: itself if it is a short constant or a short name, else `...`."""
    text = ast.unparse(default) if isinstance(default, ast.Constant | ast.Name) else ""
    return default if 0 < len(text) <= _MAX_DEFAULT_CHARACTERS else ast.Constant(...)
