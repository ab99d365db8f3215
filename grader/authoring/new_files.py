"""`grader new`: write the files of a new mistake, exercise or lesson, for an author to fill in.

What is written is a course that loads: the new exercise asks for one training step, its driver has a scenario of its
own and the usual ones, and three accepted programs pass. An author replaces one piece after the other and always has
something that runs.
"""

import keyword
import re
from collections.abc import Iterator
from pathlib import Path

from grader import paths
from grader.base.errors import CommandError
from grader.base.files import write_whole
from grader.base.package import FOLDER
from grader.course.course import Course, Lesson

_FILL = "채워 주세요"
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LESSON = re.compile(r"(?P<id>\d{2})_(?P<module>[a-z][a-z0-9_]*)")


def new_mistake(course: Course, exercise: str, mistake: str) -> list[Path]:
    """Append an entry for a mistake to the exercise's file, and return the file.

    Args:
        course: the course that has the exercise.
        exercise: the exercise's name.
        mistake: id of the new mistake, lower-case words joined by hyphens.

    Raises:
        CommandError: the id is malformed, or is taken.
        CourseError: there is no such exercise.
    """
    found = course.exercise(exercise)
    if not _ID.fullmatch(mistake):
        raise CommandError(
            f"실수의 id는 소문자와 숫자를 붙임표로 이어 적어 주세요. 예: missing-zero-grad. 받은 값: {mistake}"
        )
    if mistake in {one.id for one in found.mistakes} | {one.id for one in found.copies}:
        raise CommandError(f"{exercise}에 실수 '{mistake}'가 이미 있어요. 다른 id를 주세요.")
    path = course.lesson(found.lesson).folder / f"{exercise}.toml"
    _append(path, _mistake(mistake, "return value", "return 0 * value"))
    return [path]


def new_exercise(lesson: Lesson, name: str) -> list[Path]:
    """Write the files of a new exercise at the end of the lesson, and return them.

    Raises:
        CommandError: the name is no Python identifier, or a file of it is there already.
    """
    _require_identifier(name)
    source = lesson.parts[-1].source
    files = dict(_exercise_files(lesson.name, lesson.module, name))
    _require_new(files)
    _append(source, _CELLS.format(name=name))
    return [source, *_written(files)]


def new_lesson(course: Course, name: str) -> list[Path]:
    """Write a lesson with one exercise, enter it in `course.toml`, and return the files.

    Args:
        course: the course that the lesson is added to.
        name: `05_several_processes`: two digits, then the name of its drivers' package.

    Raises:
        CommandError: the name is malformed, or the lesson is there already.
    """
    found = _LESSON.fullmatch(name)
    if found is None:
        raise CommandError(f"레슨의 이름은 번호와 영어 이름이에요. 예: 05_several_processes. 받은 값: {name}")
    taken = [
        lesson.name
        for lesson in course.lessons
        if found["id"] == lesson.id or found["module"] == lesson.module
    ]
    if taken:
        raise CommandError(f"번호나 이름이 같은 레슨이 있어요: {taken[0]}. 다른 이름을 주세요.")
    exercise = f"first_of_{found['module']}"
    _require_identifier(exercise)
    folder = paths.solutions_path(name)
    files = {
        folder / f"1_{found['module']}.py": _LESSON_SOURCE.format(id=found["id"], fill=_FILL)
        + _CELLS.format(name=exercise),
        FOLDER / "exercises" / found["module"] / "__init__.py": f'"""Drivers of lesson {found["id"]}."""\n',
        folder / "predictions.toml": _PREDICTIONS.format(id=found["id"], fill=_FILL),
        **dict(_exercise_files(name, found["module"], exercise)),
    }
    _require_new(files)
    entry = paths.lessons_path("course.toml")
    _append(entry, _ENTRY.format(id=found["id"], name=name, module=found["module"], fill=_FILL))
    return [entry, *_written(files)]


def _require_identifier(name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CommandError(f"연습의 이름은 Python 함수나 클래스의 이름이에요. 받은 값: {name}")


def _require_new(files: dict[Path, str]) -> None:
    there = [path for path in files if path.exists()]
    if there:
        raise CommandError(f"이미 있는 파일이에요: {there[0]}. 다른 이름을 주세요.")


def _written(files: dict[Path, str]) -> Iterator[Path]:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
        yield path


def _append(path: Path, text: str) -> None:
    write_whole(path, path.read_text(encoding="utf-8").rstrip("\n") + "\n" + text)


def _exercise_files(lesson: str, module: str, name: str) -> Iterator[tuple[Path, str]]:
    yield (
        paths.solutions_path(lesson, f"{name}.toml"),
        _EXERCISE.format(fill=_FILL) + _mistake("never-clears", "    opt.zero_grad()\\n", "") + _PROMISE,
    )
    driver = FOLDER / "exercises" / module / f"{_module_name(name)}.py"
    yield driver, _DRIVER.format(name=name)
    for style, body in _STYLES.items():
        path = FOLDER.parent / "tests" / "accepted" / name / f"{style}.py"
        yield path, f"def {name}(model, opt, loss_fn, xb, yb):\n{body}"


def _module_name(name: str) -> str:
    """Return the name of an exercise's module: `train_config` for `TrainConfig`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _mistake(mistake: str, right: str, wrong: str) -> str:
    """Return the entry of a mistake that replaces `right` in the solution by `wrong`."""
    return _MISTAKE.format(id=mistake, fill=_FILL, right=right, wrong=wrong)


_MISTAKE = """
[[mistakes]]
id = "{id}"
title = "{fill}: 한 줄로 말하는 이름이에요"
explain = "{{unmixed: {fill}: 무슨 일이 있었는지 말해 주세요.}} {fill}: 코드가 무엇을 하는지 말해 주세요."
hint = "{fill}: 답을 말하지 않고 어디를 볼지 알려 주세요."
mend = "{fill}: 무엇을 어떻게 고칠지 말해 주세요."
edits = [["{right}", "{wrong}"]]
"""

_PROMISE = """
[[promises]]
says = "미니 배치 하나로 모델을 한 번 업데이트합니다."
broken_by = ["never-clears"]
"""

_EXERCISE = """title = "{fill}: 무엇을 하는 연습인지"
because = "{fill}: 바른 코드가 한 일을 말해 주세요."
hints = [
    "{fill}: 부드러운 힌트예요.",
    "{fill}: 더 또렷한 힌트예요. 정답은 연습 셀에서 가져오니 적지 않아요.",
]

[[checks]]
id = "updates"
title = "{fill}: 채점 항목의 이름"
points = 2

[[checks]]
id = "leaves"
title = "{fill}: 둘째 채점 항목의 이름"
points = 1
"""

_CELLS = '''
# %% [markdown]
r"""
### 연습. `{name}`

약 10분 · ★☆☆
"""


# %% tags=["exercise:{name}"]
def {name}(model, opt, loss_fn, xb, yb) -> None:
    """미니 배치 하나로 모델을 한 번 업데이트합니다."""
    # BEGIN SOLUTION
    opt.zero_grad()
    loss_fn(model(xb), yb).backward()
    opt.step()
    # END SOLUTION


# %% tags=["check"]
check({name})
'''

_DRIVER = '''"""Driver of `{name}`, which makes one update on a mini-batch.

Promises of the exercise, and the scenarios that check them:
    one update on the mini-batch: `updates`, `float32`
    modes and output as in any exercise: `modes`, `quiet`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/README.md.
"""

from collections.abc import Sequence
from typing import Any

from grader.exercises.fixtures.classifiers import Batch, scale_rates
from grader.exercises.fixtures.usual import Case, add_usual, classifier_case
from grader.observe.play import Driver, Stage

driver = Driver("{name}")


def _case(stage: Stage) -> Case:
    return classifier_case(stage, "{name}", (4, 3, 5, 2))


def _step(case: Case, data: Sequence[Batch]) -> Any:
    """Make one call, with the first batch."""
    return case.call(*data[0])


@driver.scenario("updates", "배치마다 한 번씩")
def _updates(stage: Stage) -> None:
    """Make one call for each batch, with falling learning rates.

    A program that does not clear makes other updates; falling rates show an update that comes a call late.
    """
    case = _case(stage).watch()
    for batch in case.data:
        case.call(*batch)
        scale_rates(case.opt, 0.8)


add_usual(driver, _case, _step, checks={{"float32": "updates", "modes": "leaves", "quiet": "leaves"}})
'''

_STYLES = {
    "plainly": "    opt.zero_grad()\n    loss = loss_fn(model(xb), yb)\n    loss.backward()\n    opt.step()\n",
    "through_model": "    model.zero_grad()\n    loss_fn(model(xb), yb).backward()\n    opt.step()\n",
    "with_closure": """
    def closure():
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss

    opt.step(closure)
""",
}

_LESSON_SOURCE = '''# %% tags=["folded"]
# 준비: 라이브러리
from grader import check, clinic, drill, hint, microscope, predict, progress, reveal

# %% [markdown]
r"""
# {fill}: 레슨의 제목

## 1. {fill}: 절의 제목

약 5분 · ★☆☆

**예측 1.** {fill}: 실험하기 전에 무엇을 물을까요?

- a: {fill}
- b: {fill} 둘
- c: {fill} 셋
"""

# %% tags=["predict"]
predict("{id}-1")

# %%
reveal("{id}-1")
'''

_PREDICTIONS = """[[predictions]]
id = "{id}-1"
answer = "a"
because = "{fill}: 실험이 무엇을 보였나요."

[predictions.wrong]
b = "{fill}: 그럴듯한 점과 틀린 점."
c = "{fill}: 그럴듯한 점과 틀린 점."
"""

_ENTRY = """
[[lessons]]
id = "{id}"
name = "{name}"
module = "{module}"
title = "{fill}: 레슨의 제목"
"""
