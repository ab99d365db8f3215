"""Provide `predict` and `reveal`: the learner commits to an answer before an experiment, and reads the reason after it.

Answers and reasons are in the lesson's `predictions.toml`, never in a notebook. They are shown only after a choice, so
a notebook that is run as a whole, by CI or by an impatient learner, keeps its secrets.
"""

import html
import re
from dataclasses import dataclass
from functools import cache

from grader.course.course import CourseError, Prediction
from grader.course.reading import load_course
from grader.learner.earned import gain_since
from grader.learner.progress import Progress
from grader.learner.rewards import standing
from grader.notebook.hidden_results import ASKED, hide_results_until_predicted, lift
from grader.plots import publish

hide_results_until_predicted()  # here because each lesson's first cell imports this module

_REVEALED: dict[str, str | None] = {}
"""Measured letter (None: as in the course) by id of each prediction revealed in this kernel.

A later choice updates the output of that `reveal`.
"""

_TITLE = re.compile(r"^\*\*((?:예측|물음) \d+)\.", re.MULTILINE)
_CHOICE = re.compile(r"^- ([a-d]): (.+)", re.MULTILINE)
_RIGHT, _WRONG = "#2a9d5c", "#c96a1b"
"""Colours of a verdict, for light and dark notebooks."""


@dataclass(frozen=True)
class _Verdict:
    """What is shown below an experiment."""

    text: str
    """Markdown."""
    letters: tuple[str, str] | None
    """The chosen letter and the answer; None: nothing has been chosen yet."""

    @property
    def is_right(self) -> bool | None:
        """True if the choice was the answer; None without a choice."""
        return None if self.letters is None else self.letters[0] == self.letters[1]


def predict(prediction: str, choice: str | None = None) -> None:
    """Let the learner choose: with buttons, or by `predict("01-3", "b")`, which works everywhere.

    Args:
        prediction: the prediction's id.
        choice: the chosen letter; None shows the buttons.
    """
    try:
        asked = load_course().prediction(prediction)
    except CourseError as error:
        _show_text(str(error))
        return
    if choice is not None:
        _show_text(_chosen(asked, choice))
        return
    earlier = _earlier(asked)
    if not _show_buttons(asked, earlier):
        _show_text(_standing(asked, earlier))


def reveal(prediction: str, *, measured: str | None = None) -> None:
    """Show after the experiment if the choice was right, and why; without a choice, show how to make one.

    Args:
        prediction: the prediction's id.
        measured: the letter that this run measured, for results that differ between machines.
    """
    try:
        asked = load_course().prediction(prediction)
    except CourseError as error:
        _show_text(str(error))
        return
    _REVEALED[asked.id] = measured
    _show_verdict(asked, _verdict(asked, measured))


def _chosen(asked: Prediction, choice: object) -> str:
    """Record a choice and return the reply. If the experiment has been revealed already, update its verdict."""
    letter = str(choice).strip().strip("\"'").lower()
    if letter not in asked.choices:
        return f"고를 수 있는 것은 {_letters(asked)}입니다. 받은 값: {choice!r}. 예: {_example(asked)}"
    Progress.load().record_prediction(asked.id, letter)
    lift(asked.id)
    title = _title(asked)
    where = f"{title}에서 " if title else ""
    if asked.id in _REVEALED:
        _show_verdict(asked, _verdict(asked, _REVEALED[asked.id]), again=True)
        return f"{where}**{letter}**를 골랐습니다. 까닭은 실험 결과 아래에 있습니다."
    return f"{where}**{letter}**를 골랐습니다. 이제 아래 셀을 실행해 확인합니다."


def _standing(asked: Prediction, earlier: str | None) -> str:
    how = f"{_example(asked)}처럼 적고 실행하면 고를 수 있습니다."
    if earlier is None:
        return f"{_letters(asked)} 가운데 하나를 고르세요. {how}"
    return f"지난번에 **{earlier}**를 골랐습니다. 다시 고르려면 {how}"


def _verdict(asked: Prediction, measured: str | None) -> _Verdict:
    """Return choice, result and reason, and record the verdict; without a choice, say how to make one."""
    answer = measured or asked.answer
    chosen = _earlier(asked)
    if chosen is None:
        title = _title(asked)
        where = f"위의 {title}" if title else "위"
        text = (
            "아직 예측을 고르지 않아 까닭을 보여 주지 않습니다. "
            f"{where}에서 고르거나 {_example(asked)}처럼 적어 실행하세요."
        )
        return _Verdict(text, None)
    learner = Progress.load()
    before = standing(learner.history)
    learner.record_verdict(asked.id, chosen, answer)
    gain = " · ".join(gain_since(learner, before, first=False).lines)
    other = f" 강의를 만든 컴퓨터에서는 {asked.answer}였습니다." if answer != asked.answer else ""
    if chosen == answer:
        outcome = f"**내 예측 {chosen} → 결과 {answer}. 맞았습니다.**{other}\n\n{asked.because}"
    else:
        reason = asked.wrong.get(chosen, "")
        outcome = (
            f"**내 예측 {chosen} → 결과 {answer}.**{other}\n\n{reason}".rstrip() + f"\n\n{asked.because}"
        )
    return _Verdict(f"{outcome}\n\n{gain}".rstrip(), (chosen, answer))


def _earlier(asked: Prediction) -> str | None:
    """Return the recorded letter; None if there is none, or if it is not among the choices.

    The latter happens if an earlier edition had other choices, or if the file was edited by hand.
    """
    letter = Progress.load().predictions.get(asked.id)
    return letter if letter in asked.choices else None


def _example(asked: Prediction) -> str:
    return f'`predict("{asked.id}", "{asked.choices[0]}")`'


def _letters(asked: Prediction) -> str:
    return ", ".join(asked.choices)


def _show_text(text: str) -> None:
    """Show Markdown, or plain text in a terminal."""
    plain = _plain(text)
    if not publish({"text/markdown": text, "text/plain": plain}, {}):
        print(plain)


def _show_verdict(asked: Prediction, verdict: _Verdict, *, again: bool = False) -> None:
    """Show a verdict below its experiment, in a colour; with `again`, in place of the one that is shown there."""
    plain = _plain(verdict.text)
    bundle = {"text/markdown": verdict.text, "text/plain": plain}
    if verdict.letters is not None:
        chosen, answer = verdict.letters
        color = _RIGHT if verdict.is_right else _WRONG
        paragraphs = "".join(f"<p>{_html(text)}</p>" for text in verdict.text.split("\n\n"))
        bundle["text/html"] = (
            f'<div lang="ko" data-prediction="{asked.id}" data-chosen="{chosen}" data-answer="{answer}" '
            f'style="border-left:5px solid {color};border-radius:8px;background:{color}1f;margin:12px 0 4px;'
            f'padding:2px 14px">{paragraphs}</div>'
        )
    if not publish(bundle, {}, name=f"hanstep-reveal-{asked.id}", update=again) and not again:
        print(plain)


def _show_buttons(asked: Prediction, earlier: str | None) -> bool:
    """Display the letters as buttons; return False if there is no notebook with widgets to show them in."""
    try:
        import ipywidgets
    except ImportError:
        return False
    before = (
        "하나를 고른 다음 아래 셀을 실행합니다."
        if earlier is None
        else f"지난번에 **{earlier}**를 골랐습니다."
    )
    reply = ipywidgets.HTML(_html(before))
    buttons = ipywidgets.ToggleButtons(
        options=[(_label(asked.id, letter), letter) for letter in asked.choices],
        value=earlier,
        tooltips=[f"예측 {letter}" for letter in asked.choices],
        style={"button_width": "auto"},
    )
    buttons.observe(
        lambda change: setattr(reply, "value", _html(_chosen(asked, change["new"]))), names="value"
    )
    # Not the box's own `_repr_mimebundle_`: ipywidgets 7, which Colab has, displays itself and has no such method.
    view = {"version_major": 2, "version_minor": 0, "model_id": ipywidgets.VBox([buttons, reply]).model_id}
    standing = _plain(_standing(asked, earlier))
    return publish({"application/vnd.jupyter.widget-view+json": view, "text/plain": standing}, {})


def _label(prediction: str, letter: str) -> str:
    """Return the text of a choice's button; the letter alone if the course's notebooks do not tell it."""
    text = _questions().choices.get((prediction, letter))
    return f"{letter}: {text}" if text else letter


def _title(asked: Prediction) -> str:
    """Return what the notebook calls the prediction, `예측 3`: ids are counted through the lesson, it counts anew."""
    return _questions().titles.get(asked.id, "")


@dataclass(frozen=True)
class _Questions:
    """What stands above the questions in the course's notebooks."""

    choices: dict[tuple[str, str], str]
    """Text of each choice by prediction and letter."""
    titles: dict[str, str]
    """By prediction: `예측 3`."""


@cache
def _questions() -> _Questions:
    found = _Questions({}, {})
    for part in load_course().parts:
        above = ""
        for cell in part.cells():
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                above = source
            elif asked := ASKED.search(source):
                for letter, text in _CHOICE.findall(above):
                    found.choices[asked[1], letter] = _plain(text)
                for title in _TITLE.findall(above):
                    found.titles[asked[1]] = title
    return found


def _plain(text: str) -> str:
    return text.replace("**", "").replace("`", "")


def _html(text: str) -> str:
    """Convert the Markdown used in these sentences to HTML: bold and code only."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", bold)
