"""`predict` and `reveal`, as cells of a notebook and in a terminal."""

from typing import Any

import pytest

from grader import predict, reveal
from grader.course.course import Course, Lesson, Prediction
from grader.learner.progress import Progress
from grader.notebook import predictions

ASKED = Prediction("01-3", "b", "더하기 때문입니다.", {"a": "덮어쓰지 않습니다.", "c": "오류는 없습니다."})


@pytest.fixture(autouse=True)
def _one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = Lesson("01", "01_made", "made", "만든 레슨", 1, (), (ASKED,))
    monkeypatch.setattr(predictions, "load_course", lambda: Course("한 스텝", "", (lesson,)))
    monkeypatch.setattr(predictions, "_REVEALED", {})
    monkeypatch.setattr(predictions, "_questions", lambda: predictions._Questions({}, {}))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What a notebook is given to show."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    monkeypatch.setattr(
        predictions, "publish", lambda bundle, _meta, **how: found.append((bundle, how)) or True
    )
    return found


def test_nothing_is_told_before_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    """A run of the whole notebook goes through, and says how to choose."""
    predict("01-3")
    reveal("01-3")
    out = capsys.readouterr().out
    assert "a, b, c 가운데" in out
    assert 'predict("01-3", "a")' in out
    assert "아직 예측을 고르지 않아" in out
    assert ASKED.because not in out
    assert not any(reason in out for reason in ASKED.wrong.values())


def test_a_wrong_choice_is_told_its_own_reason(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01-3", " 'A' ")
    reveal("01-3")
    out = capsys.readouterr().out
    assert "내 예측 a → 결과 b" in out
    assert ASKED.wrong["a"] in out
    assert ASKED.because in out
    assert ASKED.wrong["c"] not in out


def test_a_right_choice_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01-3", "b")
    reveal("01-3")
    out = capsys.readouterr().out
    assert "맞았습니다" in out
    assert ASKED.because in out


def test_the_first_answer_is_an_achievement_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01-3", "a")
    reveal("01-3")
    assert (
        "+7 XP (예측 2, 업적 5) · 새 업적 「첫 예측」: 답을 보기 전에 예측 하나를 고르기"
        in capsys.readouterr().out
    )
    predict("01-3", "b")
    reveal("01-3")
    out = capsys.readouterr().out
    assert "맞았습니다" in out
    assert "XP" not in out


def test_what_this_machine_measured_counts(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01-3", "c")
    reveal("01-3", measured="c")
    out = capsys.readouterr().out
    assert "내 예측 c → 결과 c. 맞았습니다." in out
    assert "강의를 만든 컴퓨터에서는 b" in out


@pytest.mark.parametrize("choice", ["d", "", 2, None.__class__, "a" * 10_000])
def test_any_other_choice_is_refused_and_not_kept(choice: Any, capsys: pytest.CaptureFixture[str]) -> None:
    predict("01-3", choice)
    assert "고를 수 있는 것은 a, b, c" in capsys.readouterr().out
    assert Progress.load().predictions == {}


@pytest.mark.parametrize("call", [predict, reveal])
def test_an_unknown_prediction_is_told_of(call: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call("01-33")
    assert "'01-33' 예측은 없어요. 혹시 '01-3'인가요?" in capsys.readouterr().out


def test_the_choice_is_kept_with_the_progress() -> None:
    """Beside what else is kept, and read again by the next kernel."""
    learner = Progress.load()
    learner.record_check("train_step", passed=True)
    predict("01-3", "c")
    assert Progress.load().predictions == {"01-3": "c"}
    assert Progress.load().exercises["train_step"].passed


def test_a_kept_letter_that_is_no_choice_counts_as_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Another edition had other choices, or somebody wrote into the file."""
    Progress.load().record_prediction("01-3", "z")
    predict("01-3")
    reveal("01-3")
    out = capsys.readouterr().out
    assert "지난번에" not in out
    assert "아직 예측을 고르지 않아" in out


def test_buttons_choose_and_the_reason_appears_where_it_was_missing(
    published: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    """The experiment was run without a choice; a click then replaces what stands below it."""
    widgets = pytest.importorskip("ipywidgets")
    Progress.load().record_prediction("01-3", "z")  # no choice any more
    predict("01-3")
    reveal("01-3")
    shown = published[0][0]["application/vnd.jupyter.widget-view+json"]["model_id"]
    box = widgets.widgets.widget._instances[shown]
    buttons, said = box.children
    assert buttons.value is None
    buttons.value = "a"
    assert "<b>a</b>를 골랐습니다" in said.value
    bundle, how = published[-1]
    assert how == {"name": published[1][1]["name"], "update": True}
    assert ASKED.wrong["a"] in bundle["text/markdown"]
    assert f'data-prediction="{ASKED.id}"' in bundle["text/html"], "predictions.js looks for it"
    assert Progress.load().predictions == {"01-3": "a"}


def test_a_question_is_called_as_the_notebook_calls_it(
    published: list[tuple[dict[str, Any], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`01-9` is the third of its notebook: ids are counted through the lesson."""
    monkeypatch.setattr(predictions, "_questions", lambda: predictions._Questions({}, {"01-3": "예측 2"}))
    predictions.reveal("01-3")
    predictions.predict("01-3", "b")
    told = [bundle["text/plain"] for bundle, _ in published]
    assert "위의 예측 2에서 고르거나" in told[0]
    assert any(text.startswith("예측 2에서 b를 골랐습니다.") for text in told)
