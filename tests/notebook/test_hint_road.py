"""After a check that names a mistake, hints go from the idea to the learner's line to the answer."""

import re
from pathlib import Path

import pytest

from grader import hint
from grader.cli.main import run
from grader.course.course import Mistake
from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.notebook.watch import Watch
from tests.notebook.test_notebook import RIGHT, checked

TRAIN_STEP = load_course().exercise("train_step")
NO_ZERO_GRAD = RIGHT["train_step"].replace("    opt.zero_grad()\n", "")
NO_STEP = RIGHT["train_step"].replace("    opt.step()\n", "")
SYMPTOM = "업데이트에 이번 배치뿐 아니라 지난 배치들의 그레이디언트까지 들어갔어요"


def mistake(id_: str, exercise: str = "train_step") -> Mistake:
    return next(m for m in load_course().exercise(exercise).mistakes if m.id == id_)


def newest(exercise: str = "train_step") -> str:
    """The newest hint alone, its backticks left out."""
    text = hint(exercise).text
    return re.split(r"^.* · 힌트 \d+/\d+.*$", text, flags=re.M)[-1].replace("`", "")


def plain(text: str) -> str:
    return text.replace("`", "")


def held_back() -> None:
    """Let cards hold the repair back, so that there is more to hint at."""
    assert run(["settings", "repair", "after-hint"]) == 0


def test_hints_go_from_the_idea_to_the_line_to_the_answer() -> None:
    """The card has told symptom, name, cause, place and the missing call: no hint says it again."""
    shown = checked(NO_ZERO_GRAD)
    named = mistake("missing-zero-grad")
    card = plain(re.sub("<[^>]+>|\u2060", "", shown.html))
    idea, asked = newest(), newest()
    assert plain(named.hint) in idea
    assert "찍은 것은 확인한 결과 아래에 나와요" in idea, "only the check calls the function"
    assert ".grad.norm()만 찍어도 돼요" in idea, (
        "a layer's gradient takes thirty lines, of which a card shows three"
    )
    assert plain(named.hint) not in card
    assert re.findall(r"(\d+번째 줄)보다 앞", card)
    assert "번째 줄" not in idea
    assert "zero_grad" not in idea
    for said in (named.title, SYMPTOM):
        assert plain(said) in card, said
        assert plain(said) not in idea
    assert "정답을 볼까요?" in asked
    assert "def train_step" not in asked
    assert "def train_step" in hint("train_step", answer=True).text
    assert not any(plain(clue) in plain(hint("train_step").text) for clue in TRAIN_STEP.clues), (
        "the general ones"
    )


def test_a_line_that_must_move_is_moved() -> None:
    """Nothing is missing behind it."""
    late_clip = """def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scheduler is not None:
        scheduler.step()
    return loss.item()
"""
    checked(late_clip, "train_step_extras")
    idea, line = (newest("train_step_extras") for _ in range(2))
    assert plain(mistake("clip-after-step", "train_step_extras").hint) in idea
    assert "5번째 줄의 자리를 보세요" in idea
    assert "5번째 줄을 8번째 줄 앞으로 옮겨요" in line
    assert "빠진 것" not in idea + line


def test_a_loop_of_another_shape_gets_its_own_line() -> None:
    """The solution's loop takes slices; nothing of it may stand in a hint for a loop that counts."""
    counting = """def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    micro_batches = list(micro_batches)
    steps = 1
    opt.zero_grad()
    for start in range(0, len(micro_batches), accum_steps):
        window = micro_batches[start : start + accum_steps]
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        steps += 1
    return steps
"""
    checked(counting, "accumulate")
    idea, line = (newest("accumulate") for _ in range(2))  # the card shows the place
    assert "5번째 줄을 이렇게 바꿔요" in line
    assert "steps = 0" in line
    assert "islice" not in idea + line


def test_held_back_the_name_comes_with_the_line() -> None:
    """The card tells the symptom; then the answer, and it stays."""
    held_back()
    shown = checked(NO_ZERO_GRAD)
    idea, place, line, _ = (newest() for _ in range(4))
    named = mistake("missing-zero-grad")
    assert SYMPTOM in shown.text
    assert plain(named.hint) in idea
    assert SYMPTOM not in idea + place
    assert "zero_grad" not in idea + place
    assert plain(named.title) in line
    assert "opt.zero_grad()" in line
    answer = hint("train_step", answer=True).text
    assert "def train_step" in answer
    assert answer == hint("train_step").text


def test_hints_seen_stay_above_and_say_what_they_are() -> None:
    held_back()
    checked(NO_ZERO_GRAD)
    hint("train_step")
    second = hint("train_step")
    assert re.findall(r"힌트 \d/\d ·.*", second.text) == ["힌트 1/4 · 생각할 것", "힌트 2/4 · 볼 곳"]
    assert "다음 힌트 (3/4)" in second.text
    assert "힌트 2/4 · 볼 곳" in second.html.split("<details")[0]
    assert "힌트 1/4 · 생각할 것" in second.html.split("<details")[1]


def test_another_mistake_begins_anew_and_the_same_goes_on() -> None:
    """The general hints come where nothing is named."""
    checked(NO_ZERO_GRAD)
    newest()
    checked(NO_ZERO_GRAD + "\n# still the same\n")
    assert "정답을 볼까요?" in newest(), "the idea of the same mistake was told again"
    checked(NO_STEP)
    assert plain(mistake("missing-step").hint) in newest()
    checked(NO_ZERO_GRAD)
    assert plain(mistake("missing-zero-grad").hint) in newest(), "it was mended in between"
    checked(
        RIGHT["train_step"].replace(
            "loss.backward()", "(0.3 * loss + 0.25 * loss_fn(model(xb), yb)).backward()"
        )
    )
    assert plain(TRAIN_STEP.clues[0]) in newest()
    checked(RIGHT["train_step"])
    assert plain(TRAIN_STEP.clues[1]) in newest()


def test_two_mistakes_have_their_hints_one_after_the_other() -> None:
    """Each edit mends one mistake and leaves the other; the answer comes after the hints about both."""
    source = NO_ZERO_GRAD.replace("return loss.item()", "return loss")
    shown = checked(source)
    first, second = (mistake(id_) for id_ in shown.feedback.mistake_ids)
    texts = [newest() for _ in range(4)]
    assert plain(first.hint) in texts[0]
    assert plain(second.hint) in texts[1]
    assert "return loss.item()" in texts[2]
    assert "정답을 볼까요?" in texts[3]
    told = hint("train_step").text
    assert "힌트 1/4 · 생각할 것 (1번 실수)" in told
    assert "힌트 3/4 · 고칠 줄 (2번 실수)" in told


def test_a_bonus_task_has_hints_for_a_named_mistake_and_no_answer() -> None:
    held_back()
    name = "overfit_one_batch"
    shown = checked(RIGHT[name].replace("model.train()", "pass", 1), name)
    assert shown.feedback.mistake_ids, "the sample names no mistake"
    texts = [newest(name) for _ in range(4)]
    assert plain(shown.feedback.diagnosis.mistakes[0].titles[0]) in texts[2]
    assert texts[3] == texts[2]
    assert "def overfit_one_batch" not in "".join(texts)


def test_each_hint_counts_as_one_for_rewards_and_asking_for_the_answer_as_none() -> None:
    checked(NO_ZERO_GRAD)
    for _ in range(6):
        newest()
    assert Progress.load().history.exercise("train_step").hints_used == 1
    assert "남은 힌트는 1개" in checked(NO_ZERO_GRAD).html


def test_what_comes_after_a_pass_is_not_counted() -> None:
    """Nobody needs a hint, or a check, of what is right: reading on is no cost."""
    checked(NO_ZERO_GRAD)
    newest()
    checked(RIGHT["train_step"])
    newest()
    checked(RIGHT["train_step"])
    done = Progress.load().history.exercise("train_step")
    assert (done.checks, done.hints_taken) == (2, 1)


def test_the_command_asks_before_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked(NO_ZERO_GRAD)
    told = []
    for more in ((), (), ("--answer",)):
        assert run(["hint", "train_step", *more]) == 0
        told.append(capsys.readouterr().out)
    assert "다음 힌트 (2/2): grader hint train_step" in told[0]
    assert "grader hint train_step --answer" in " ".join(told[1].split())
    assert "def train_step" not in told[1]
    assert "def train_step" in told[2]


def test_a_forged_progress_file_shows_no_forged_hints() -> None:
    """What is not a road of texts is left out, and the general hints come."""
    from grader.learner.event import happened

    for road in ("<b>", [["x"]], [["x", "y"]], [["x", ["a" * 10_000]]], {"x": 1}, [[3, ["a"]]]):
        Progress.load().record([happened("check", "train_step", passed=False, mistakes=[], road=road)])
        assert Progress.load().history.exercise("train_step").road == ()
    assert plain(TRAIN_STEP.clues[0]) in newest()


# ---- the setting -----------------------------------------------------------------------------------------


def test_held_back_the_card_tells_the_symptom() -> None:
    """Neither the name nor the place nor the order of the right events stands on it; what was measured does."""
    named = mistake("missing-zero-grad")
    assert plain(named.title) in plain(checked(NO_ZERO_GRAD).text), "by default the card names it"
    assert run(["settings", "repair", "after-hint"]) == 0
    shown = checked(NO_ZERO_GRAD)
    lines = [line.strip() for line in shown.text.splitlines()]
    assert lines[1] == SYMPTOM
    assert shown.feedback.mistake_ids == ["missing-zero-grad"], "what is recorded stays"
    for text in (shown.text, re.sub(r"<[^>]+>", "", shown.html)):
        assert SYMPTOM in text
        assert "zero_grad" not in text
        assert "지우지 않으면" not in text
        assert "loss.backward()" not in text
        assert "번째 줄" not in text
    assert "번째 줄" in [newest(), newest()][1]
    assert "1.0·g₁ + 1.0·g₂" in shown.text


def test_held_back_each_of_two_mistakes_has_its_symptom() -> None:
    run(["settings", "repair", "after-hint"])
    shown = checked(NO_ZERO_GRAD.replace("return loss.item()", "return loss"))
    assert len(shown.feedback.mistake_ids) == 2
    for id_ in shown.feedback.mistake_ids:
        assert mistake(id_).title not in shown.text
    assert "실수를 두 가지 찾았어요" in shown.text


def test_the_terminal_and_watch_keep_to_the_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They say how to get the name: by a command, or by a key."""
    file = tmp_path / "mine.py"
    file.write_text("import torch\n" + NO_ZERO_GRAD, encoding="utf-8")
    run(["settings", "repair", "after-hint"])
    capsys.readouterr()
    assert run(["check", str(file)]) == 1
    told = capsys.readouterr().out
    assert SYMPTOM.split(maxsplit=1)[0] in told
    assert "zero_grad" not in told
    assert "grader hint train_step" in told
    assert run(["hint", "train_step"]) == 0
    assert "힌트 1/4 · 생각할 것" in capsys.readouterr().out

    from rich.console import Console

    console = Console(record=True, width=100, force_terminal=False)
    Watch(file, load_course(), console).look()
    assert "zero_grad" not in console.export_text()


def test_the_learners_choice_comes_before_the_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An instructor's folder sets it for all who work in it; the learner's own choice is kept before it."""
    folder = tmp_path / "hanstep" / "01_five_line_step"
    folder.mkdir(parents=True)
    file = folder / "mine.py"
    file.write_text("import torch\n" + NO_ZERO_GRAD, encoding="utf-8")
    assert run(["settings", "repair", "after-hint", "--folder", str(folder.parent)]) == 0
    capsys.readouterr()
    run(["check", str(file)])
    assert "zero_grad" not in capsys.readouterr().out
    run(["settings", "repair", "at-once"])
    capsys.readouterr()
    run(["check", str(file)])
    assert "zero_grad" in capsys.readouterr().out


def test_the_command_shows_sets_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["settings"]) == 0
    assert "repair = at-once" in capsys.readouterr().out
    run(["settings", "repair", "after-hint"])
    capsys.readouterr()
    assert run(["settings"]) == 0
    assert "repair = after-hint" in capsys.readouterr().out
    assert run(["settings", "repair", "later"]) != 0
    assert run(["settings", "repiar", "at-once"]) != 0
    told = capsys.readouterr().err
    assert "at-once, after-hint" in told
    assert "repair" in told
    run(["settings", "repair", "default"])
    assert "repair = at-once" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["repair = 3", "repair = 'soon'", "[", "\x00", "x = 1"])
def test_a_broken_settings_file_stops_no_check(text: str) -> None:
    from grader.paths import user_folder

    user_folder().mkdir(parents=True, exist_ok=True)
    (user_folder() / "hanstep.toml").write_text(text, encoding="utf-8")
    assert "zero_grad" in checked(NO_ZERO_GRAD).text
