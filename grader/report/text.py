"""Render a feedback as plain text and on the terminal.

`class_table`, the table that ends `grader grade`, is exported from here as well.
"""

import io
import math
from collections.abc import Iterable, Sequence
from textwrap import dedent

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from grader.course.feedback import Feedback, NamedMistake, Recipe
from grader.report import formulas, plain_text, timeline, words
from grader.report.class_table import class_table
from grader.report.printed import printed
from grader.report.terminal_text import Prose, prose

__all__ = [
    "class_table",
    "feedback_text",
    "has_figures",
    "hint_text",
    "print_checks",
    "print_feedback",
    "print_figures",
    "print_indented",
    "print_standing",
    "print_summary",
]

_STYLES = {"passed": "bold green", "failed": "bold red", "error": "bold red", "missing": "bold"}
_LABEL = "dim"
# In terminal cells: one level of indentation, the longest bar of a recipe, and what stands beside a bar.
_INDENT = 2
_BAR_CELLS = 30
_BESIDE_BARS = 34


def feedback_text(feedback: Feedback, width: int = 80, *, standing: Sequence[str] = ()) -> str:
    """Return the feedback as plain text at most `width` columns wide (Hangul takes two).

    `standing` holds Korean lines about the learner's progress, printed below it.
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        print_feedback(console, feedback)
        print_standing(console, standing)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def print_feedback(console: Console, feedback: Feedback) -> None:
    """Print the feedback on a terminal, in colour if it has colours."""
    console.print(Group(*_blocks(feedback, console.width)), highlight=False)


def print_summary(console: Console, feedback: Feedback, *, first_only: bool = True) -> None:
    """Print what a learner needs first: the mistake, its line and how to go on.

    Of several mistakes, with `first_only`, only the first one.
    """
    blocks = (*_head(feedback), *_told(feedback, first_only=first_only), *_notes(feedback), Text())
    console.print(Group(*blocks), highlight=False)


def print_checks(console: Console, feedback: Feedback) -> None:
    """Print the checks, and the mistakes after the first one."""
    others = list(enumerate(feedback.diagnosis.mistakes, start=1))[1:]
    blocks = [*_checks(feedback, console.width)]
    blocks += [block for number, named in others for block in _mistake(named, number, "")]
    console.print(Group(*blocks, Text()), highlight=False)


def print_figures(console: Console, feedback: Feedback) -> None:
    """Print what was measured, and what the function printed; see `has_figures`."""
    blocks = [*_evidence(feedback, console.width), *_output(feedback)]
    console.print(Group(*blocks, Text()), highlight=False)


def has_figures(feedback: Feedback) -> bool:
    """Return True if `print_figures` has anything to print."""
    return any(True for blocks in (_evidence(feedback, 80), _output(feedback)) for _ in blocks)


def print_standing(console: Console, lines: Iterable[str]) -> None:
    """Print lines about the learner's progress below a feedback."""
    for line in lines:
        console.print(_indented(prose(line)), highlight=False)


def hint_text(title: str, seen: Sequence[tuple[str, str]], total: int) -> str:
    """Return the hints shown so far as text, the newest last.

    Args:
        title: the exercise's title.
        seen: the hints shown so far: (name, text); most have no name.
        total: number of hints that there are.
    """
    lines = []
    for number, (name, text) in enumerate(seen, start=1):
        named = f" · {name}" if name else ""
        lines.append(f"{plain_text.without_code_marks(title)} · 힌트 {number}/{total}{named}")
        body = [line for line in dedent(text).strip().splitlines() if not line.startswith("```")]
        lines += [f"  {line}".rstrip() for line in body]
    return "\n".join(lines)


def print_indented(console: Console, text: str, *, by: int = 0) -> None:
    """Print lines unchanged, indented by `by` more cells; the wrapped part of a long line keeps that line's indent."""
    for line in text.splitlines():
        own = len(line) - len(line.lstrip(" "))
        console.print(Padding(Prose(line.strip()), (0, 0, 0, by + own), expand=False), highlight=False)


def _blocks(feedback: Feedback, width: int) -> Iterable[RenderableType]:
    """Yield the parts of a feedback from top to bottom."""
    yield from _head(feedback)
    if feedback.status in ("failed", "error"):
        yield from _checks(feedback, width)
    yield from _told(feedback)
    yield from _evidence(feedback, width)
    yield from _notes(feedback)
    yield from _output(feedback)
    yield Text()


def _head(feedback: Feedback) -> Iterable[RenderableType]:
    """Yield the exercise, its points and the headline."""
    head = words.headline(feedback)
    style = _STYLES.get(feedback.status, "bold yellow")
    first = Text.assemble(
        (f"{head.mark} ", style),
        (plain_text.without_code_marks(feedback.title), "bold"),
        f" ({feedback.exercise})  ",
        (words.mark_in_points(feedback, unit="점"), "bold"),
    )
    yield first
    yield _indented(prose(head.text, style))
    for choice in head.choices:
        yield _indented(prose(f"- {choice}"))
    if head.body:
        yield _indented(prose(head.body))
    if feedback.because:
        yield _indented(prose(feedback.because))


def _told(feedback: Feedback, *, first_only: bool = False) -> Iterable[RenderableType]:
    """Yield the place, the mistakes and what to do, with `first_only` of several mistakes the first one."""
    yield from _place(feedback)
    pasted = feedback.diagnosis.pasted
    if pasted is not None:
        yield Text()
        # The known program is explained here only if the mistakes below do not explain everything.
        untold = not feedback.diagnosis.mistakes or feedback.diagnosis.unexplained
        yield _indented(prose(f"{pasted.title}. {pasted.explain}" if untold else f"{pasted.title}."))
        if untold:
            yield _indented(prose(f"→ {pasted.hint}"))
    mistakes = feedback.diagnosis.mistakes
    for number, named in enumerate(mistakes[:1] if first_only else mistakes, start=1):
        yield from _mistake(
            named, number if len(mistakes) > 1 else None, words.place_beside_exception(feedback)
        )
    # Beside named mistakes, these lines are about what the mistakes leave open (`words.rest`), not about the last one.
    looks = [_indented(prose(f"→ {line}")) for line in words.looks(feedback)]
    if not mistakes:
        yield from looks
    for more in (
        words.remembered(feedback),
        *words.repair(feedback),
        words.repair_leaves(feedback),
        words.rest(feedback),
        words.near(feedback),
    ):
        if more:
            yield Text()
            yield _indented(prose(more))
    if mistakes:
        yield from looks
    step = words.next_step(feedback)
    if step:
        yield _indented(prose(step))


def _notes(feedback: Feedback) -> Iterable[RenderableType]:
    for note in feedback.notes:
        yield _indented(prose(f"* {plain_text.one_line(note, 600)}"))


def _checks(feedback: Feedback, width: int) -> Iterable[RenderableType]:
    """Yield the checks: all on one line if they fit in `width`, else one per line."""
    marked = [f"{words.check_mark(c, feedback)} {c.title}" for c in feedback.checks]
    joined = "  ".join(marked)
    for line in [joined] if cell_len(joined) <= width - _INDENT else marked:
        yield _indented(prose(line))
    cause = words.common_cause(feedback)
    if cause:
        yield _indented(Text(cause, _LABEL))


def _place(feedback: Feedback) -> Iterable[RenderableType]:
    framed = words.framed(feedback)
    where, line = words.location(framed), framed.source_line
    if where and feedback.begun:
        yield _label("내 코드")
        yield _indented(Text(where, _LABEL), 2)
        if line:
            for number, one in enumerate(
                (line if "\n" in line else line.strip()).split("\n"),
                start=(framed.line or 0) - framed.lines_above,
            ):
                before = "" if framed.line is None else f"{number} | "
                yield _indented(Text(f"{before}{plain_text.clean(one.rstrip(), 400)}", "bold"), 2)
    error = words.error_text(feedback)
    if error:
        yield _label("예외" if framed is feedback else f"예외 · {words.place(feedback)}")
        yield _indented(Text(error), 2)


def _mistake(named: NamedMistake, number: int | None, own_place: str) -> Iterable[RenderableType]:
    if number is None and not (named.explain or named.hint or own_place):
        return
    yield Text()
    if own_place:
        yield _indented(prose(own_place, _LABEL))
    if number is not None:
        place = words.mistake_place(named)
        yield _indented(prose(f"{number}. {words.either(named)}{f' ({place})' if place else ''}", "bold"))
    if named.explain:
        yield _indented(prose(named.explain))
    if named.hint:
        yield _indented(prose(f"→ {named.hint}"))


def _evidence(feedback: Feedback, width: int) -> Iterable[RenderableType]:
    """Yield the observations behind the diagnosis: first difference, order of events, recipe."""
    diagnosis = feedback.diagnosis
    first = words.first_difference_to_show(feedback)
    if first is not None:
        yield _label("처음 갈라지는 곳")
        yield _indented(prose(plain_text.one_line(words.first_place(first)), label="어디    "), 2)
        # Plain `Text` for the learner's values, so that their backticks are not taken for ours.
        for name, value in (("내 코드 ", first.got), ("정답    ", first.expected)):
            yield _indented(Text.assemble((name, _LABEL), plain_text.one_line(value)), 2)
        if first.tensor is not None:
            what = plain_text.one_line(f"{formulas.element_name(first.tensor)}의 값")
            yield _indented(prose(what, label="무엇이  "), 2)
    pairs = timeline.to_show(diagnosis)
    if pairs:
        compared = diagnosis.yours and timeline.is_readable(pairs) and any(pair.differs for pair in pairs)
        title = words.order_title(feedback)
        yield _label(f"{title} (≠ 한쪽에만 있는 것)" if compared else title)
        if not diagnosis.yours:
            yield _indented(prose(timeline.nothing_happened(diagnosis.right)), 2)
            yield _indented(Text(f"정답    {timeline.order_in_words(diagnosis.right)}"), 2)
        elif not diagnosis.right:
            yield _indented(prose(words.NOTHING_EXPECTED), 2)
            yield _indented(Text(f"내 코드 {timeline.order_in_words(diagnosis.yours)}"), 2)
        elif not timeline.is_readable(pairs):
            yield _indented(Text(f"내 코드 {timeline.order_in_words(diagnosis.yours)}"), 2)
            yield _indented(Text(f"정답    {timeline.order_in_words(diagnosis.right)}"), 2)
        elif any(pair.differs for pair in pairs):
            for band in _timeline(pairs, width - 2 * _INDENT):
                yield _indented(Text(band, no_wrap=True), 2)
        else:
            yield _indented(prose(timeline.same_order(pairs)), 2)
    if diagnosis.recipe is not None:
        yield from _recipe(diagnosis.recipe, width, is_explained=diagnosis.mistakes_explain_all)


def _output(feedback: Feedback) -> Iterable[RenderableType]:
    """Yield the beginning of what the function printed, and how many lines are left out."""
    output = printed(feedback)
    if output is None:
        return
    yield _label(output.title)
    for line in output.first:
        yield _indented(Text(line), 2)
    if output.more:
        yield _indented(Text(output.more, _LABEL), 2)


def _timeline(pairs: Sequence[timeline.Pair], width: int) -> Iterable[str]:
    """Yield bands of three text lines that fit in `width`: batch and line, the learner's events, the right events."""
    columns = []
    for pair in pairs:
        mark = "≠" if pair.differs else ""
        mine = "-" if pair.yours is None else mark + timeline.moment_name(pair.yours)
        theirs = "-" if pair.right is None else mark + timeline.moment_name(pair.right)
        batch = next((m.batch for m in (pair.yours, pair.right) if m and m.batch is not None), None)
        line = "" if pair.yours is None or pair.yours.line is None else f"줄 {pair.yours.line}"
        head = " ".join(part for part in ("" if batch is None else f"배치{batch}", line) if part)
        columns.append((head, mine, theirs))
    names = ("", "내 코드", "정답")
    start = max(cell_len(name) for name in names)
    while columns:
        used, count = start, 0
        for column in columns:
            used += 2 + max(map(cell_len, column))
            if used > width and count:
                break
            count += 1
        band, columns = columns[:count], columns[count:]
        sizes = [max(map(cell_len, column)) for column in band]
        for row, name in enumerate(names):
            cells = (_padded(column[row], size) for column, size in zip(band, sizes, strict=True))
            line = "  ".join([_padded(name, start), *cells])
            if line.strip():
                yield line


def _recipe(recipe: Recipe, width: int, *, is_explained: bool) -> Iterable[RenderableType]:
    residual = formulas.residual_line(recipe, is_explained=is_explained)
    if formulas.explains_mistake(recipe) or residual:
        yield _label(plain_text.without_code_marks(formulas.recipe_title(recipe)))
    if formulas.explains_mistake(recipe):
        yield from _bars(recipe, width)
    if residual:
        yield _indented(prose(residual), 2)


def _bars(recipe: Recipe, width: int) -> Iterable[RenderableType]:
    yield _indented(Text(formulas.recipe_line(recipe), "bold"), 2)
    size = formulas.largest_coefficient(recipe) or 1.0
    room = max(4, min(_BAR_CELLS, width - _BESIDE_BARS))
    names = formulas.gradient_names(recipe)
    start = max(4, *(cell_len(name) + 1 for name in names))
    for name, got, expected in zip(names, recipe.got, recipe.expected, strict=True):
        for side, value, block in (("내 코드", got, "█"), ("정답   ", expected, "░")):
            # Round a little more than half up: 0.25 must get a bar as long as 0.24999999.
            bar = block * int(abs(value) / size * room + 0.501) if math.isfinite(value) else ""
            text = Text.assemble(
                f"{_padded(name, start)}{side} {formulas.coefficient(value, size):>6} ", (bar, "blue")
            )
            text.no_wrap = True
            yield _indented(text, 2)
            name = ""  # noqa: PLW2901 - the name stands beside the first of its two bars only
    sentence = formulas.recipe_sentence(recipe)
    if sentence:
        yield _indented(prose(sentence), 2)


def _label(text: str) -> RenderableType:
    return Group(Text(), _indented(Text(text, _LABEL)))


def _indented(body: RenderableType, level: int = 1) -> RenderableType:
    return Padding(body, (0, 0, 0, level * _INDENT))


def _padded(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text))
