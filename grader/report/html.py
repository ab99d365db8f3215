"""Draw feedback, hints and notes as HTML cards for notebooks and report pages.

A card uses only what JupyterLab's sanitizer leaves in an untrusted output: inline styles whose values are plain numbers
and colours, `<div>`, `<code>`, `<pre>`, `<details>`. The sanitizer drops `<svg>`, `<style>`, `aria-*`, and the values
`inherit`, `currentColor`, `var()`, `light-dark()`. So bars are divs, text keeps the colour of the page it stands on,
and every fill is translucent: the same card reads well on light and on dark pages.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grader.course.feedback import Feedback, Recipe, RepairStep
from grader.observe.wording import ordinal
from grader.report import formulas, plain_text, timeline, words
from grader.report.hold_back import HINT_NAMES
from grader.report.printed import printed

TEMPLATES = Path(__file__).parent / "templates"

# Mid-tones: as graphics, contrast of at least 3:1 on white and on #111 alike. Text never takes these colours.
GREEN, RED, AMBER, BLUE, GREY = "#2b9a5a", "#e05252", "#c07c10", "#3d85f0", "#808080"

_ACCENTS = {"passed": GREEN, "failed": RED, "error": RED, "missing": GREY}


@cache
def template_environment() -> Any:
    """Return the jinja2 template_environment of all report templates; cached. It escapes everything by default."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        prose=prose,
        points=plain_text.points,
        clean=plain_text.clean,
        code_line=code_line,
        arrows=arrows,
        repair_lines=repair_lines,
        one_line=plain_text.one_line,
        coefficient=formulas.coefficient,
    )
    made.globals.update(
        words=words, timeline=timeline, formulas=formulas, plain_text=plain_text, ordinal=ordinal
    )
    made.globals.update(colors={"green": GREEN, "red": RED, "amber": AMBER, "blue": BLUE, "grey": GREY})
    return made


def page(template: str, **values: Any) -> str:
    """Render the named template as a whole page."""
    made: str = template_environment().get_template(template).render(**values)
    # A lone surrogate in a student's text cannot be encoded as UTF-8; "replace" turns it into `?`.
    return made.encode("utf-8", "replace").decode("utf-8")


def feedback_html(
    feedback: Feedback,
    *,
    hints: Sequence[str] = (),
    total_hints: int = 0,
    standing: Sequence[str] = (),
    onward: tuple[str, str] | None = None,
    folded: bool = False,
    steps: Sequence[Sequence[str]] = (),
) -> str:
    """Return the card of one feedback.

    Args:
        feedback: the feedback; everything in it is escaped.
        hints: the course's hints shown so far, repeated at the end of the card.
        total_hints: number of hints the exercise has; above `len(hints)` the card says how to get the next one.
        standing: Korean lines about the learner's progress.
        onward: text and link to what comes next; None for nothing.
        folded: show one mistake, and fold the others and what was measured, so that a notebook has the headline in
            view. On a page everything is open: it may be printed.
        steps: for each named mistake the hints about it (`mistake_hints`), each folded; for a page, where nobody can
            ask for them.
    """
    diagnosis = feedback.diagnosis
    pairs = timeline.to_show(diagnosis)
    framed = words.framed(feedback)
    card: str = (
        template_environment()
        .get_template("card.html.j2")
        .render(
            f=framed,
            head=words.headline(feedback),
            accent=GREY if not feedback.begun else _ACCENTS.get(feedback.status, AMBER),
            where=words.location(framed),
            error=words.error_text(feedback),
            error_place="" if framed is feedback else words.place(feedback),
            next_step=words.next_step(feedback),
            pairs=pairs,
            order_title=words.order_title(feedback),
            same_order=bool(pairs) and not any(pair.differs for pair in pairs),
            recipe=_bars(diagnosis.recipe, is_explained=diagnosis.mistakes_explain_all),
            hints=tuple(hints),
            total_hints=total_hints,
            standing=tuple(standing),
            onward=onward,
            output=printed(feedback),
            folded=folded,
            steps=[[hint_blocks(text) for text in hints_of_one] for hints_of_one in steps],
            step_names=HINT_NAMES,
        )
    )
    return card


def hint_html(
    title: str,
    seen: Sequence[tuple[str, str]],
    total: int,
    *,
    exercise: str,
    confirm: str = "",
    ask: str = "",
    again: str = "",
) -> str:
    """Return the card of the newest hint, with the earlier ones folded below it.

    Args:
        title: the exercise's title.
        seen: the hints shown so far, the newest last: (name, text); most have no name.
        total: number of hints that there are.
        exercise: its name; JupyterLab keeps the number of hints left up to date on the card of a check (`cards.js`).
        confirm: sentences in place of a new hint, that ask if the answer is wanted; all of `seen` was seen before.
        ask: end of the last of them, how the answer is asked for; in JupyterLab it tells of a button instead.
        again: line on how to get the next hint; in JupyterLab a button takes its place.
    """
    template = template_environment().get_template("hint.html.j2")
    card: str = template.render(
        title=title,
        hints=[(name, hint_blocks(text)) for name, text in seen],
        total=total,
        exercise=exercise,
        confirm=confirm,
        ask=ask,
        again=again,
    )
    return card


def note_html(
    lines: Sequence[str],
    *,
    title: str = "",
    code: str = "",
    numbered: bool = False,
    folded: str = "",
    below: Sequence[str] = (),
    choices: Sequence[str] = (),
    pick: bool = False,
    otherwise: Sequence[str] = (),
) -> str:
    """Return a card of Korean sentences.

    Args:
        lines: the sentences; `code` in backticks is set as code, and a line that is an address becomes a link.
        title: bold heading above them.
        code: code block below them.
        numbered: number the lines.
        folded: heading under which the code is folded; empty to show it.
        below: sentences below the code.
        choices: what can be chosen, each beginning with its letter.
        pick: mark the choices and the lines of the code, which JupyterLab then makes clickable (`practice.js`).
        otherwise: sentences, folded, on what to do where nothing can be clicked and no cell has appeared.
    """
    card: str = (
        template_environment()
        .get_template("note.html.j2")
        .render(
            lines=lines,
            title=title,
            code=code.rstrip(),
            numbered=numbered,
            folded=folded,
            below=below,
            choices=choices,
            pick=pick,
            otherwise=otherwise,
        )
    )
    return card


def hint_blocks(text: str) -> list[tuple[str, bool]]:
    """Split a hint at its code fences: [(text, is code), …]."""
    blocks: list[tuple[str, bool]] = []
    for index, part in enumerate(text.split("```")):
        code = index % 2 == 1
        lines = part.strip("\n").split("\n")
        if code and lines and lines[0].strip() in ("python", "diff", "py", "text"):
            lines = lines[1:]
        body = "\n".join(lines)
        if body.strip():
            blocks.append((body, code))
    return blocks


_CODE_STYLE = (
    "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:0.92em;padding:1px 4px;border-radius:4px;"
    "background-color:rgba(128,128,128,0.16)"
)


def prose(text: str) -> Markup:
    """Return escaped text with `code` in backticks set as code; line breaks are kept, and words are not broken."""
    out = Markup()
    after_code = False
    for piece, is_code in plain_text.split_code(plain_text.clean(text)):
        if is_code:
            style = _CODE_STYLE + (";white-space:nowrap" if len(piece) <= plain_text.SHORT_CODE else "")
            out += Markup('<code style="{}">{}</code>').format(style, piece)
        else:
            out += Markup("<br>").join(plain_text.whole_words(piece, after_code).split("\n"))
        after_code = is_code
    return out


def code_line(line: str) -> Markup:
    """Return a line of code that may also wrap where it has no space."""
    return Markup("<wbr>").join(plain_text.code_pieces(line))


def repair_lines(step: RepairStep) -> list[str]:
    """Return the lines that an edit removes (`- `) and adds (`+ `), as in a diff; of a move, the lines alone."""
    changed = [f"- {text}" for text in step.old] + [f"+ {text}" for text in step.new]
    if [text.strip() for text in step.old] == [text.strip() for text in step.new]:
        changed = [f"  {text}" for text in step.old]  # the step's `where` tells where they go
    return [line for text in changed for line in plain_text.clean(text, 400).splitlines()]


def arrows(order: str) -> str:
    """Glue the arrows of `a → b → …` to the text before them, so that no line ends with an arrow or begins with `…`."""
    return order.replace("→ ", "→\u00a0").replace(" →\u00a0…", "\u00a0→\u00a0…")


@dataclass(frozen=True)
class _Bar:
    """One coefficient; `fill` is the percentage of its side of the zero that its bar fills."""

    text: str
    fill: float
    negative: bool


@dataclass(frozen=True)
class _Row:
    """One batch's gradient: its coefficient in the learner's update, and in the right one."""

    name: str
    got: _Bar
    expected: _Bar

    @property
    def same(self) -> bool:
        """True if both read the same."""
        return self.got.text == self.expected.text


@dataclass(frozen=True)
class _Bars:
    """A recipe as drawn; `zero` is the position of the axis's zero, in percent of the width."""

    title: str
    update: int
    got: str
    expected: str
    sentence: str
    residual: str
    explains_mistake: bool
    zero: float
    rows: tuple[_Row, ...]


def _bars(recipe: Recipe | None, *, is_explained: bool) -> _Bars | None:
    """Prepare a recipe for the card; None stays None."""
    if recipe is None:
        return None
    finite = [c for c in (*recipe.got, *recipe.expected) if math.isfinite(c)]
    low, high = min(0.0, *finite, 0.0), max(0.0, *finite, 0.0)
    span, largest = (high - low) or 1.0, formulas.largest_coefficient(recipe)

    def bar(value: float) -> _Bar:
        side = -low if value < 0 else high
        fill = min(100.0, abs(value) / side * 100) if math.isfinite(value) and side > 0 else 0.0
        return _Bar(formulas.coefficient(value, largest), round(fill, 1), value < 0)

    got, expected = formulas.formulas(recipe)
    rows = zip(formulas.gradient_names(recipe), recipe.got, recipe.expected, strict=True)
    return _Bars(
        title=formulas.recipe_title(recipe),
        update=recipe.update,
        got=got,
        expected=expected,
        sentence=formulas.recipe_sentence(recipe),
        residual=formulas.residual_line(recipe, is_explained=is_explained),
        explains_mistake=formulas.explains_mistake(recipe),
        zero=round(-low / span * 100, 1),
        rows=tuple(_Row(name, bar(mine), bar(right)) for name, mine, right in rows),
    )
