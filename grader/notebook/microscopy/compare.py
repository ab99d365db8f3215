"""Align the learner's recording with the solution's, describe each moment in Korean, and find where they part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.judging.statement_alignment import align
from grader.notebook.microscopy.gradient_shares import Amounts, Contents, Flow, Key
from grader.notebook.microscopy.recording import Numbers, RecordedMoment, Recording, Slots, Snapshot
from grader.observe.wording import ordinal
from grader.report.formulas import coefficient, subscript
from grader.report.plain_text import one_line

_RTOL = 2e-6
"""Relative tolerance (absolute below 1). A hand-written clip without torch's 1e-6 in
the denominator is also right, and differs by less than this.
"""
_ONE = 1e-6
"""Difference below which a coefficient counts as 1, or two coefficients as equal."""
_BY_HAND = "직접 바꿈"
_NAMES = {"": _BY_HAND, "scheduler": "scheduler.step", "unscale": "unscale_", "update": "scaler.update"}


@dataclass(frozen=True)
class Side:
    """One program's recording, and the contents of its gradients."""

    recording: Recording
    flow: Flow

    def snapshot(self, index: int) -> Snapshot:
        """Return the state after a moment; -1 is the state at the start."""
        return self.recording.start if index < 0 else self.recording.moments[index].after

    def contents(self, index: int) -> Contents:
        """Return the mix of batch gradients in `.grad` after a moment; -1 is the start, where it is empty."""
        return Contents({}) if index < 0 else self.flow.contents[index]

    @property
    def steps(self) -> list[int]:
        """Indices of the moments that made, or tried to make, a lasting change to the parameters."""
        moments = self.recording.moments
        return [
            i for i, m in enumerate(moments) if m.kind == "step" or (not m.kind and self.contents(i).updated)
        ]

    def caption(self, index: int) -> str:
        """Return one or two Korean sentences on what happened at a moment."""
        moment = self.recording.moments[index]
        return _caption(moment, self.snapshot(index - 1), self.contents(index - 1).grad, self.contents(index))


@dataclass(frozen=True)
class Column:
    """One position of the scrubber: a moment of the learner's program, of the solution, or of both."""

    name: str
    call: int
    yours: int
    """Index of the learner's latest moment up to here; -1 before the first. `right` is the same for the solution."""
    right: int
    acts: tuple[bool, bool]
    """(True if the learner's program acts at this position, True if the solution does)."""
    idle: bool = False
    """True if what is done here changes nothing, like clearing empty gradients: leaving it out is no mistake."""


@dataclass(frozen=True)
class Comparison:
    """The result of the comparison in one Korean text, and the position that shows it."""

    text: str
    wrong: bool
    focus: int = 0
    """Index of the column that shows it best."""


def columns(yours: Side, right: Side) -> list[Column]:
    """Return the columns for all moments of both programs; matching moments share a column.

    Moments match if they are of the same kind and in the same call; the alignment prefers pairs that saw the same
    batches.
    """
    learner, solution = yours.recording.moments, right.recording.moments
    pairs = align([[_match_score(one, other) for other in solution] for one in learner])
    found: list[Column] = []
    i = j = 0
    while i < len(learner) or j < len(solution):
        # A learner's moment without a partner comes first, then the solution's, until the next pair.
        both = i < len(learner) and pairs.get(i) == j
        own = not both and i < len(learner) and (i not in pairs or j >= len(solution))
        if both or own:
            i += 1
        if both or not own:
            j += 1
        moment = learner[i - 1] if both or own else solution[j - 1]
        name = _NAMES.get(moment.kind, moment.kind)
        acts = (both or own, both or not own)
        sides = ((yours, i - 1), (right, j - 1))
        idle = all(_is_idle(*side) for side, does in zip(sides, acts, strict=True) if does)
        found.append(Column(name, moment.call, i - 1, j - 1, acts, idle))
    return found


def _is_idle(side: Side, index: int) -> bool:
    """Return True if clearing or clipping changed nothing at this moment."""
    kind = side.recording.moments[index].kind
    return kind in ("zero_grad", "clip") and side.snapshot(index) == side.snapshot(index - 1)


def _match_score(one: RecordedMoment, other: RecordedMoment) -> float:
    """Return how well two moments match: 0 for different kinds or calls, 1 for the same batches, else 0.6."""
    if one.kind != other.kind or not one.kind or one.call != other.call:
        return 0.0
    return 1.0 if one.batches == other.batches else 0.6


def compare(yours: Side, right: Side, table: Sequence[Column]) -> Comparison:
    """Return whether the two programs update alike, and if not, where they part first."""
    found = _compared(yours, right, table)
    focus = _first_parted(yours, right, table, found.focus) if found.wrong else _first_shared(table)
    return replace(found, focus=focus)


def _first_shared(table: Sequence[Column]) -> int:
    """Return the first column in which both programs act; 0 if there is none."""
    return next((i for i, column in enumerate(table) if column.acts == (True, True)), 0)


def _first_parted(yours: Side, right: Side, table: Sequence[Column], start: int) -> int:
    """Return the first column from `start` on in which the two sides differ; `start` if there is none."""

    def parted(column: Column) -> bool:
        mine, theirs = yours.snapshot(column.yours), right.snapshot(column.right)
        alike = same(mine.values, theirs.values) and same(mine.grads, theirs.grads)
        return (column.acts != (True, True) and not column.idle) or not alike

    return next((i for i in range(start, len(table)) if parted(table[i])), start)


def _compared(yours: Side, right: Side, table: Sequence[Column]) -> Comparison:
    recording = yours.recording
    stopped = _stopped(recording)
    if stopped:
        return Comparison(stopped, True, max(0, _column_of(table, len(recording.moments) - 1)))
    for number, (mine, theirs) in enumerate(zip(yours.steps, right.steps, strict=False), start=1):
        if not same(yours.snapshot(mine).values, right.snapshot(theirs).values):
            return _differing_update(yours, right, table, number, mine, theirs)
    last = (len(recording.moments) - 1, len(right.recording.moments) - 1)
    ended, expected = yours.snapshot(last[0]), right.snapshot(last[1])
    if not same(ended.values, expected.values):
        return _differing_count(yours, right, table)
    return _parted_besides(yours, right, table, ended, expected) or _alike(right, ended, expected)


def _parted_besides(
    yours: Side, right: Side, table: Sequence[Column], ended: Snapshot, expected: Snapshot
) -> Comparison | None:
    """Return the result for what differs besides the updates, which agree; None if nothing does.

    Args:
        yours: the learner's program.
        right: the solution.
        table: the columns of both.
        ended: the learner's last state.
        expected: the solution's last state.
    """
    if not right.steps and (parted := _differing_gradient(yours, right, table)) is not None:
        return parted
    rest = (
        (
            ended.mode != expected.mode,
            f"끝난 뒤 모델이 {ended.mode} 모드예요. 정답은 {expected.mode} 모드예요.",
        ),
        (
            not same((ended.rate,), (expected.rate,)),
            f"끝난 뒤 학습률이 {ended.rate:.4g}, 정답은 {expected.rate:.4g}예요.",
        ),
        (ended.scale != expected.scale, "끝난 뒤 `GradScaler`의 배율이 정답과 달라요."),
    )
    for differs, text in rest:
        if differs:
            return Comparison(text, True, len(table) - 1)
    return None


def _alike(right: Side, ended: Snapshot, expected: Snapshot) -> Comparison:
    """Return the result for programs that agree; leftover gradients are told, for they may be meant."""
    if not right.steps:
        text = "이 상황에서는 호출마다 `.grad`가 정답과 똑같이 바뀌었어요. 반환값 같은 나머지는 `check`로 확인하세요."
        return Comparison(text, False)
    left = _any_gradient(ended.grads) and not _any_gradient(expected.grads)
    more = "정답과 달리 끝난 뒤에 `.grad`가 남아요." if left else "반환값 같은 나머지는 `check`로 확인하세요."
    return Comparison(f"이 상황에서는 업데이트마다 정답과 똑같이 움직였어요. {more}", False)


def same(one: Slots, other: Slots) -> bool:
    """Return True if two rows of numbers agree up to rounding; None equals only None."""
    for a, b in zip(one, other, strict=True):
        if a is None or b is None:
            if a is not b:
                return False
        elif a != b and not abs(a - b) <= _RTOL * max(1.0, abs(a), abs(b)):
            return False
    return True


def _stopped(recording: Recording) -> str:
    """Return a Korean sentence on why the run was cut short; empty if it was not."""
    failure = recording.failure
    if failure is not None:
        where = "" if failure.line is None else f"{failure.line}번째 줄에서 "
        return (
            f"{where}예외가 났어요. {failure.type}: {one_line(failure.message, 160)} (그때까지 본 것이에요)"
        )
    return {
        "seconds": "제한 시간 안에 끝나지 않아 멈췄어요. 그때까지 본 것이에요.",
        "lines": "같은 곳을 맴돌며 끝나지 않아 멈췄어요. 그때까지 본 것이에요.",
        "moments": "너무 많은 일을 해서 앞부분만 보여 줘요.",
        "crashed": "실행이 비정상으로 끝났어요. 그때까지 본 것이에요.",
    }.get(recording.stopped, "")


def _differing_update(
    yours: Side, right: Side, table: Sequence[Column], number: int, mine: int, theirs: int
) -> Comparison:
    """Return the result for the first update that differs from the solution's update of the same number."""
    got, expected = yours.contents(mine).update, right.contents(theirs).update
    if got is None:  # the update is no mix of batch gradients: what `.grad` held comes nearest to a reason
        got, expected = yours.contents(mine - 1).grad, right.contents(theirs - 1).grad
    filled = [i for i in range(mine) if yours.recording.moments[i].kind == "backward"]
    focus = _column_of(table, filled[-1] if filled else mine)
    if got is None or expected is None or mixture(got) == mixture(expected):
        return Comparison(f"{ordinal(number)} 업데이트가 정답과 달라요.", True, focus)
    compared = f"내 코드: {mixture(got)}, 정답: {mixture(expected)}"
    text = f"{ordinal(number)} 업데이트에 들어간 그레이디언트가 달라요. {compared}"
    before = yours.contents(filled[-1] - 1).grad if filled else {}
    wanted = {key_name(key) for key in right.contents(theirs).grad or expected}
    stale = sorted({key_name(key) for key in before or {}} - wanted)
    if stale:
        old = " + ".join(stale)
        text = f"{ordinal(number)} 업데이트: 새 그레이디언트가 지우지 않은 {old}에 더해졌어요. {compared}"
    return Comparison(text, True, focus)


def _differing_gradient(yours: Side, right: Side, table: Sequence[Column]) -> Comparison | None:
    """Return the result for the first call that leaves another `.grad` than the solution's; None if none does."""
    for call in range(1 + max((moment.call for moment in right.recording.moments), default=-1)):
        ends = [
            max((i for i, moment in enumerate(side.recording.moments) if moment.call <= call), default=-1)
            for side in (yours, right)
        ]
        if same(yours.snapshot(ends[0]).grads, right.snapshot(ends[1]).grads):
            continue
        got, expected = yours.contents(ends[0]).grad, right.contents(ends[1]).grad
        text = f"{ordinal(call + 1)} 호출이 끝난 뒤의 `.grad`가 달라요."
        if got is not None and expected is not None and mixture(got) != mixture(expected):
            text += f" 내 코드: {mixture(got)}, 정답: {mixture(expected)}"
        focus = next((i for i, column in enumerate(table) if column.call == call), 0)
        return Comparison(text, True, focus)
    return None


def _differing_count(yours: Side, right: Side, table: Sequence[Column]) -> Comparison:
    """Return the result for a different number of updates; all common updates agree."""
    made, needed = len(yours.steps), len(right.steps)
    focus = next(
        (i for i, c in enumerate(table) if c.name == "step" and c.acts[0] != c.acts[1]), len(table) - 1
    )
    if needed == 0:
        text = "내 코드는 매개변수까지 옮겼어요. 정답은 `.grad`만 바꿔요."
        return Comparison(text, True, _column_of(table, yours.steps[0]) if yours.steps else focus)
    if made == 0:
        return Comparison(
            "내 코드는 매개변수를 한 번도 옮기지 않았어요. 정답은 `step`에서 옮겨요.", True, focus
        )
    return Comparison(f"업데이트를 {made}번 했어요. 정답은 {needed}번이에요.", True, focus)


def _column_of(table: Sequence[Column], mine: int) -> int:
    """Return the column in which the learner's moment of this index acts; 0 if there is none."""
    return next((i for i, column in enumerate(table) if column.yours == mine and column.acts[0]), 0)


def _any_gradient(grads: Slots) -> bool:
    """Return True if any gradient is there and not zero."""
    return any(grads)


# ---- Korean texts -------------------------------------------------------------------------------------------


def key_name(key: Key) -> str:
    """Return `g₁` for the first batch's gradient, or `g₁(w+e)` if it was taken at SAM's w + e."""
    return f"g{subscript(key.batch + 1)}{'(w+e)' if key.away else ''}"


def term(key: Key, amount: float) -> str:
    """Return a coefficient and its gradient as text: `g₁`, `0.5·g₁`, `−g₁`."""
    sign = "−" if amount < 0 else ""
    size = "" if abs(abs(amount) - 1) < _ONE else f"{coefficient(abs(amount))}·"
    return f"{sign}{size}{key_name(key)}"


def mixture(amounts: Amounts) -> str:
    """Return a mix of gradients as text: `g₁ + g₂`, `0.5·g₁ + 0.5·g₂`; `0` for an empty one."""
    text = ""
    for key, amount in sorted(amounts.items(), key=lambda one: (one[0].update, one[0])):
        next_term = term(key, abs(amount))
        text += (" − " if amount < 0 else " + ") + next_term if text else term(key, amount)
    return text or "0"


def _caption(moment: RecordedMoment, before: Snapshot, held: Amounts | None, now: Contents) -> str:
    """Return Korean sentences on a moment: its kind, then what it changed."""
    after = moment.after
    sentences = [_about_the_kind(moment)]
    if after.grads != before.grads:
        sentences.append(_about_gradients(before.grads, after.grads, held, now.grad))
    elif moment.kind in _NOTHING_CHANGED:
        empty = not _any_gradient(before.grads) and moment.kind == "zero_grad"
        sentences.append("`.grad`는 이미 비어 있었어요." if empty else _NOTHING_CHANGED[moment.kind])
    if after.values != before.values:
        sentences.append(_about_values(moment.kind, before.rate, now))
    elif moment.kind == "step":
        sentences.append("매개변수가 움직이지 않았어요.")
    for what, was, is_now in (
        ("학습률", f"{before.rate:.4g}", f"{after.rate:.4g}"),
        ("모드", before.mode, after.mode),
        ("배율", before.scale, after.scale),
    ):
        if was != is_now:
            sentences.append(f"{what}: {was} → {is_now}")
    return " ".join(filter(None, sentences)) or "바뀐 것이 없어요."


_NOTHING_CHANGED: Mapping[str, str] = {
    "zero_grad": "`.grad`가 그대로예요.",
    "backward": "`.grad`가 바뀌지 않았어요.",
    "clip": "이미 작아서 `.grad`를 그대로 뒀어요.",
}


def _about_the_kind(moment: RecordedMoment) -> str:
    """Tell in Korean what a forward pass read or which loss was computed; empty for other kinds."""
    if moment.kind == "forward":
        listed = ", ".join(str(batch + 1) for batch in moment.batches)
        return f"배치 {listed}의 입력으로 예측했어요." if listed else "예측했어요."
    if moment.kind == "loss" and moment.after.loss is not None:
        return f"손실: {moment.after.loss:.4g}"
    return ""


def _about_gradients(before: Slots, after: Slots, held: Amounts | None, now: Amounts | None) -> str:
    """Tell in Korean how `.grad` changed: cleared, scaled, added to or filled."""
    if not _any_gradient(after):
        kind = "None" if all(g is None for g in after) else "0"
        return f"`.grad`를 지웠어요: {kind}"
    if now is None:
        return "`.grad`가 바뀌었어요."
    if held and set(held) == set(now):
        times = next(now[key] / held[key] for key in now)
        scaled = {key: times * amount for key, amount in held.items()}
        if all(abs(scaled[key] - now[key]) < _ONE for key in now):
            return f"`.grad`를 {coefficient(times)}배로 바꿨어요: {mixture(now)}"
    if _any_gradient(before):
        return f"이미 있던 `.grad`에 새 그레이디언트를 더했어요: {mixture(now)}"
    return f"비어 있던 `.grad`에 넣었어요: {mixture(now)}"


def _about_values(kind: str, rate: float, now: Contents) -> str:
    """Tell in Korean how the parameters moved, with the mix of the update if it is known."""
    if kind == "first_step":
        return "매개변수를 w에서 w+e로 옮겼어요."
    if kind == "second_step":
        return "매개변수를 w로 되돌렸어요."
    if now.update is None:
        return "매개변수를 옮겼어요."
    mixed = mixture(now.update)
    return f"매개변수를 옮겼어요: −{rate:.4g} × {f'({mixed})' if len(now.update) > 1 else mixed}"


def numbers(values: Numbers | Slots) -> list[float | str | None]:
    """Return the numbers in a form that JSON can hold: infinities and NaN become words."""
    return [v if v is None or v - v == 0 else str(v) for v in values]
