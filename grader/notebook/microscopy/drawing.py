"""Draw what the microscope saw, as one self-contained piece of HTML or as plain text.

The HTML starts as tables with inline styles only. They remain where scripts do not run, or where a notebook's sanitizer
takes scripts and styles away; elsewhere the script replaces them with the interactive picture.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from grader.notebook.microscopy.compare import Column, Side, mixture, numbers, term
from grader.notebook.microscopy.gradient_shares import Amounts
from grader.notebook.microscopy.look import View
from grader.notebook.microscopy.situations import NAMES
from grader.observe.wording import ordinal
from grader.report.plain_text import clean, code_pieces

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_CODE_LINES, _LONGEST_LINE = 80, 160
Code = Sequence[tuple[int, str]]
"""The learner's lines: (line number, text)."""


def telling(views: Sequence[View]) -> View:
    """Return the first situation in which the programs part, or the plainest one if they never do."""
    return next((view for view in views if view.comparison.wrong), views[0])


def html_picture(name: str, views: list[View], code: Code) -> str:
    """Return the interactive picture of an exercise's function, with the static tables behind it."""
    view = telling(views)
    shown = [(number, clean(text, _LONGEST_LINE)) for number, text in code[:_MOST_CODE_LINES]]
    payload = {
        "name": name,
        "names": NAMES,
        "code": [(number, code_pieces(line)) for number, line in shown],
        "first": views.index(view),
        "views": [_view(view) for view in views],
    }
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    identity = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    values = {
        "name": name,
        "identity": identity,
        "view": view,
        "rows": _static_rows(view),
        "moments": [_static_moment(view, column) for column in view.columns],
        "focus": view.columns[view.comparison.focus] if view.columns else None,
        "holds": _holds_of_both,
        "payload": text,
        "css": _read("microscope.css"),
        "js": _read("microscope.js"),
    }
    made: str = _environment().get_template("microscope.html.j2").render(**values)
    return made.encode("utf-8", "replace").decode("utf-8")


def text_picture(name: str, views: Sequence[View]) -> str:
    """Return a text that tells, moment by moment, what happened in the situation that `telling` picks."""
    view = telling(views)
    lines = [f"현미경: {name} ({view.name})", view.comparison.text.replace("`", ""), ""]
    for number, column in enumerate(view.columns, start=1):
        yours, right = (text.replace("`", "") for text in _static_moment(view, column)[2:])
        lines.append(f"{number}. {ordinal(column.call + 1)} 호출 · {column.name}")
        lines += (
            [f"   내 코드: {yours}", f"   정답:    {right}"] if right else [f"   내 코드와 정답: {yours}"]
        )
    return "\n".join(lines)


# ---- data for the script ---------------------------------------------------------------------------------


def _view(view: View) -> dict[str, Any]:
    """Return one situation as the script needs it."""
    return {
        "name": view.name,
        "text": view.comparison.text,
        "wrong": view.comparison.wrong,
        "focus": view.comparison.focus,
        "columns": [
            {
                "name": c.name,
                "call": c.call,
                "when": f"{ordinal(c.call + 1)} 호출",
                "acts": c.acts,
                "idle": c.idle,
            }
            for c in view.columns
        ],
        "yours": _frames(view.yours, [c.yours for c in view.columns], [c.acts[0] for c in view.columns]),
        "right": _frames(view.right, [c.right for c in view.columns], [c.acts[1] for c in view.columns]),
    }


def _frames(side: Side, indices: Sequence[int], acts: Sequence[bool]) -> list[dict[str, Any]]:
    # For each moment, the number of updates made up to and including it.
    updates = list(accumulate(int(contents.updated) for contents in side.flow.contents))
    return [_frame(side, index, acting, updates) for index, acting in zip(indices, acts, strict=True)]


def _frame(side: Side, index: int, acting: bool, updates: Sequence[int]) -> dict[str, Any]:
    """Return one side's state at a column. Where that side does not act, its last state is shown without a caption."""
    snapshot, contents = side.snapshot(index), side.contents(index)
    moment = side.recording.moments[index] if index >= 0 else None
    last = next((i for i in range(index, -1, -1) if side.contents(i).updated), None)
    return {
        "caption": side.caption(index) if acting else "",
        "line": moment.line if moment is not None and acting else None,
        "batches": [b + 1 for b in moment.batches] if moment is not None and acting else [],
        "values": numbers(snapshot.values),
        "grads": numbers(snapshot.grads),
        "state": {key: numbers(slots) for key, slots in snapshot.state.items()},
        "parts": _parts(side, contents.grad),
        "update": None if last is None else _parts(side, side.contents(last).update),
        "updates": updates[index] if index >= 0 else 0,
        "moved": contents.updated and acting,
        "mode": snapshot.mode,
        "rate": f"{snapshot.rate:.4g}",
        "loss": None if snapshot.loss is None else f"{snapshot.loss:.4g}",
        "scale": None if snapshot.scale is None else f"{snapshot.scale:.4g}",
    }


def _parts(side: Side, amounts: Amounts | None) -> list[dict[str, Any]] | None:
    """Return each batch's share of a mix: number, name with coefficient, and the four numbers. None if it is no mix."""
    if amounts is None:
        return None
    ordered = sorted(amounts.items(), key=lambda one: (one[0].update, one[0]))
    return [
        {
            "batch": key.batch + 1,
            "away": key.away,
            "text": term(key, amount),
            "numbers": numbers(tuple(amount * g for g in side.flow.gradients[key])),
        }
        for key, amount in ordered
    ]


# ---- static tables, for pages without scripts ------------------------------------------------------------


def _static_rows(view: View) -> list[tuple[str, list[str]]]:
    """Return the state at the telling column: for each parameter, the value and gradient of both sides."""
    if not view.columns:
        return []
    column = view.columns[view.comparison.focus]
    mine, theirs = view.yours.snapshot(column.yours), view.right.snapshot(column.right)
    return [
        (name, [_number(row[i]) for row in (mine.values, theirs.values, mine.grads, theirs.grads)])
        for i, name in enumerate(NAMES)
    ]


def _static_moment(view: View, column: Column) -> tuple[int, str, str, str]:
    """Return a row of the static table: call, moment, what my side did, what the right one did (empty: the same)."""
    yours = view.yours.caption(column.yours) if column.acts[0] else "—"
    right = view.right.caption(column.right) if column.acts[1] else "—"
    if yours == right:
        right = ""
    if column.acts[0] and (line := view.yours.recording.moments[column.yours].line) is not None:
        yours = f"줄 {line}. {yours}"
    return column.call + 1, column.name, yours, right


def _holds_of_both(view: View, column: Column) -> str:
    """Return what `.grad` holds on each side, once if that is the same."""
    mine, right = _holds(view.yours, column.yours), _holds(view.right, column.right)
    return f"내 코드와 정답: {mine}" if mine == right else f"내 코드: {mine} · 정답: {right}"


def _holds(side: Side, index: int) -> str:
    """Return the contents of `.grad` as a Korean text: a sum of the batches' gradients."""
    amounts = side.contents(index).grad
    return "섞인 것을 나눌 수 없음" if amounts is None else mixture(amounts) if amounts else "비어 있음"


def _number(value: float | None) -> str:
    return "None" if value is None else f"{value:.4g}".replace("-", "−")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["ordinal"] = ordinal
    return made


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
