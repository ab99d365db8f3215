"""Course files: what is wrong in one is said in Korean, with the file, the exercise and the entry at fault."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader import exercises, paths
from grader.course import reading
from grader.course.course import CourseError
from grader.course.reading import load_course
from grader.observe.play import Driver

COURSE, SHARED = "lessons/course.toml", "solutions/shared_mistakes.toml"
SOURCE, ADD, SUB = (f"solutions/77_sums/{name}" for name in ("1_sums.py", "add.toml", "sub.toml"))
DRIVER = "exercises/sums/add.py"
FILES = {
    COURSE: """
title = "시험"
tagline = "시험 삼아 만든 강의"

[[lessons]]
id = "77"
name = "77_sums"
module = "sums"
title = "더하기와 빼기"
""",
    SHARED: """
[first-only]
title = "첫 수만 돌려줬어요"
explain = "둘째 수를 쓰지 않았어요."
hint = "인자가 몇 개인지 세어 보세요."
""",
    SOURCE: """
# %% tags=["exercise:sub"]
def sub(a, b):
    return a - b

# %% tags=["exercise:add"]
def add(a, b):
    return a + b
""",
    ADD: """
title = "더하기"
because = "작은 수도 큰 수도 맞았어요."
hints = ["`+`를 써 보세요."]

[[checks]]
id = "small"
title = "작은 수"
points = 1

[[checks]]
id = "large"
title = "큰 수"
points = 2.5

[[mistakes]]
id = "subtracts"
title = "더하지 않고 빼요"
explain = "b만큼 작아졌어요."
hint = "부호를 보세요."
at = "return"
edits = [["a + b", "a - b"]]
variants = [[["a + b", "b - a"]]]

[[mistakes]]
id = "first-only"
hint = "`b`가 어디에 쓰이는지 보세요."
edits = [["a + b", "a"]]
""",
    SUB: """
title = "빼기"
because = "차례가 바뀌지 않았어요."
hints = ["`-`를 써 보세요."]

[[checks]]
id = "all"
title = "모든 수"
points = 1
""",
    "exercises/sums/__init__.py": "",
    DRIVER: """
from grader.observe.play import Driver

driver = Driver("add")
driver.scenario("ones", "한 자리 수", check="small")(print)
driver.scenario("tens", "두 자리 수", check="small")(print)
driver.scenario("large", "큰 수")(print)
""",
    "exercises/sums/sub.py": """
from grader.observe.play import Driver

driver = Driver("sub")
driver.scenario("all", "모든 수")(print)
""",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A course of one lesson with two exercises, whose files a test may spoil before they are read."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(paths, "course_root", lambda: tmp_path)
    monkeypatch.setattr(exercises, "__path__", [*exercises.__path__, str(tmp_path / "exercises")])
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """Whatever has been read of this or another course is read again."""
    importlib.invalidate_caches()
    load_course.cache_clear()
    reading._shared_texts.cache_clear()
    for name in [name for name in sys.modules if name.startswith("grader.exercises.sums")]:
        del sys.modules[name]


Told = Callable[..., str]


def _read_all() -> list[Driver]:
    """The course with its drivers, which nobody reads before they are needed."""
    return [exercise.driver for exercise in load_course().exercises.values()]


@pytest.fixture
def told(root: Path) -> Told:
    """What is said of the course, of whose file `name` the text `old` has become `new`."""

    def told(name: str = "", old: str = "", new: str = "") -> str:
        if name:
            text = (root / name).read_text(encoding="utf-8")
            assert text.count(old) == 1, "spoils one place"
            (root / name).write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(CourseError) as caught:
            _read_all()
        message = str(caught.value)
        assert re.search("[가-힣]", message)
        return message

    return told


def test_parts_come_in_the_order_of_their_numbers(root: Path) -> None:
    """Not of their names: the tenth part comes after the second. Each counts its own minutes, exercises aside."""
    folder = (root / SOURCE).parent
    cells = (root / SOURCE).read_text(encoding="utf-8").split("# %%")
    (root / SOURCE).unlink()
    text = '# %% [markdown]\nr"""\n# 쉬기\n\n## 1. 하나\n\n약 20분 · ★☆☆\n\n### 연습 1. 둘\n\n약 15분 · ★☆☆\n"""\n'
    exercises = {name: next(c for c in cells if f"exercise:{name}" in c) for name in ("add", "sub")}
    (folder / "2_first.py").write_text(f"{text}# %%{exercises['add']}", encoding="utf-8")
    (folder / "10_last.py").write_text(f"{text}# %%{exercises['sub']}", encoding="utf-8")
    lesson = load_course().lesson("77")
    assert [(part.name, part.title, part.minutes) for part in lesson.parts] == [
        ("2_first", "쉬기", 20),
        ("10_last", "쉬기", 20),
    ]
    assert [exercise.name for exercise in lesson.exercises] == ["add", "sub"]
    assert lesson.minutes == 40
    assert [exercise.minutes for exercise in lesson.exercises] == [15, 15]


def test_the_wordings_of_an_exercise_come_before_the_shared_ones(root: Path) -> None:
    """They replaced them, so that an exercise with one of its own had to copy the others."""

    def wording(title: str) -> str:
        return f"wordings = [{{ code = 'a', title = '{title}', explain = '없어요.', hint = '보세요.' }}]\n"

    def titles() -> list[str]:
        forget()
        (mistake,) = (m for m in load_course().exercise("add").mistakes if m.id == "first-only")
        return [found.title for found in mistake.wordings]

    (root / SHARED).write_text(FILES[SHARED] + wording("함께"), encoding="utf-8")
    assert titles() == ["함께"]
    (root / ADD).write_text(FILES[ADD] + wording("혼자"), encoding="utf-8")
    assert titles() == ["혼자", "함께"]


def test_a_course_is_what_its_files_say(root: Path) -> None:
    """The notebook decides the order; texts that several exercises share count where an exercise is silent."""
    course = load_course()
    assert [exercise.name for exercise in course.lesson("77").exercises] == ["sub", "add"]
    (part,) = course.parts
    assert (part.place, part.exercises) == ("77_sums/1_sums.ipynb", ("sub", "add"))
    assert course.lesson("77").part_of("add") is part
    add = course.exercise("add")
    assert add.max_score == 3.5
    assert [add.deciding(check) for check in add.checks] == [("ones", "tens"), ("large",)]
    subtracts, first_only = add.mistakes
    assert subtracts.programs == ((("a + b", "a - b"),), (("a + b", "b - a"),))
    assert (subtracts.at, first_only.at) == ("return", "def")
    assert first_only.title == "첫 수만 돌려줬어요"
    assert first_only.hint == "`b`가 어디에 쓰이는지 보세요."


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("variants =", "variant =", ["'subtracts'", "키예요: variant.", "variants"]),
        ("at =", "att =", ["'subtracts'", "키예요: att.", "at,"]),
        ('hint = "부호를 보세요."\n', "", ["'subtracts'", "빠진", "hint"]),
        ('hint = "부호를 보세요."', 'hint = ""', ["'subtracts'", "hint"]),
        ('at = "return"', 'at = "nowhere"', ["'subtracts'", "at의 값", "'nowhere'", "zero_grad"]),
        ('[["a + b", "a - b"]]', '["a + b", "a - b"]', ["'subtracts'", "edits"]),
        ('id = "subtracts"', 'id = "Sub tracts"', ["'Sub tracts'", "id의 값"]),
        ('id = "subtracts"\n', "", ["첫 번째", "빠진", "id"]),
        ('id = "subtracts"', 'id = "first-only"', ["실수나 퍼진 코드의 id가 겹쳐요", "first-only"]),
        ('id = "subtracts"', 'id = "subtracts"\nexcludes = ["adds"]', ["'subtracts'의 excludes", "adds"]),
        ("points = 1", 'points = "one"', ["'small'", "points의 값", "'one'", "0보다 큰 수"]),
        ("points = 1", "points = 0", ["'small'", "points의 값"]),
        ("points = 1", 'points = 1\nscenarios = ["ones"]', ["'small'", "키예요: scenarios.", "points"]),
        ('id = "small"', 'id = "tiny"', ["tiny", "small", "드라이버"]),
        ('id = "small"', 'id = "large"', ["채점 항목의 id가 겹쳐요", "large"]),
        ('hints = ["`+`를 써 보세요."]\n', "", ["힌트가 하나도 없어요", "kind는 exercise"]),
        ('hints = ["`+`를 써 보세요."]', "hints = []", ["힌트가 하나도 없어요"]),
        ('hints = ["`+`를', 'kind = "bonus"\nhints = ["`+`를', ["보너스 문제에는 힌트가 없어야"]),
        ('because = "작은 수도 큰 수도 맞았어요."\n', "", ["빠진", "because"]),
        ('hints = ["`+`를', 'kind = "extra"\nhints = ["`+`를', ["kind의 값", "warmup"]),
        ('hints = ["`+`를 써 보세요."]', 'hints = "+"', ["hints의 값", "목록"]),
        ('title = "더하기"', 'titel = "더하기"', ["키예요: titel.", "title"]),
        ('title = "더하기"', 'title = "더하기', ["TOML", "line 2"]),
    ],
    ids=lambda value: value.strip() if isinstance(value, str) else "",
)
def test_a_slip_in_an_exercises_file_is_named(
    root: Path, told: Told, old: str, new: str, named: list[str]
) -> None:
    """The file tells lesson and exercise; then come the check or mistake by its id, and the key."""
    message = told(ADD, old, new)
    assert message.startswith(f"{root / ADD}: ")
    assert [word for word in named if word not in message] == [], message


@pytest.mark.parametrize(
    ("name", "old", "new", "named"),
    [
        (SHARED, 'hint = "인자가 몇 개인지 세어 보세요."\n', "", ["'first-only'", "빠진", "hint"]),
        (SHARED, "explain =", "explains =", ["'first-only'", "키예요: explains."]),
        (COURSE, 'module = "sums"\n', "", ["빠진", "module"]),
        (COURSE, 'module = "sums"', 'module = "sums"\nneeds = ["98"]', ["needs", "'98'", "앞의 레슨"]),
        (COURSE, "module =", "modul =", ["'77'", "키예요: modul.", "module"]),
    ],
)
def test_a_slip_in_a_file_of_the_whole_course_is_named(
    root: Path, told: Told, name: str, old: str, new: str, named: list[str]
) -> None:
    message = told(name, old, new)
    assert message.startswith(f"{root / name}: ")
    assert [word for word in named if word not in message] == [], message


@pytest.mark.parametrize("name", [COURSE, SHARED, SOURCE])
def test_a_file_that_is_missing_is_named(root: Path, told: Told, name: str) -> None:
    (root / name).unlink()
    named = (
        (root / name).parent if name == SOURCE else root / name
    )  # a source may have any name in its folder
    assert told().startswith(f"{named}: ")


@pytest.mark.parametrize("name", [COURSE, SHARED, SOURCE, ADD])
def test_a_file_in_another_encoding_is_named(root: Path, told: Told, name: str) -> None:
    (root / name).write_bytes("한글".encode("cp949"))
    message = told()
    assert message.startswith(f"{root / name}: ")
    assert "UTF-8" in message


def test_an_exercise_without_a_file_is_named(root: Path, told: Told) -> None:
    (root / ADD).unlink()
    message = told()
    assert f"add: {root / 'solutions' / '77_sums'}의 TOML 파일에 없어요" in message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("solutions/77_sums/mul.toml", FILES[SUB]),
        (DRIVER.replace("add", "mul"), FILES[DRIVER].replace('"add"', '"mul"')),
        (SOURCE, f'{FILES[SOURCE]}\n# %% tags=["exercise:mul"]\ndef mul(a, b):\n    return a * b\n'),
    ],
    ids=["file", "driver", "cell"],
)
def test_an_exercise_that_is_not_everywhere_is_named(root: Path, told: Told, name: str, text: str) -> None:
    """An exercise is a tagged cell, a file of that name and a driver; with one of them it is none."""
    (root / name).write_text(text, encoding="utf-8")
    message = told()
    missing = {"77_sums/*.py의 exercise 셀", "77_sums의 TOML 파일", "grader/exercises/sums의 드라이버"}
    missing -= {"77_sums의 TOML 파일"} if name.endswith(".toml") else set()
    missing -= {"grader/exercises/sums의 드라이버"} if name == DRIVER.replace("add", "mul") else set()
    missing -= {"77_sums/*.py의 exercise 셀"} if name == SOURCE else set()
    assert "mul" in message
    assert {place for place in missing if f"{place}에 없어요" in message} == missing
    assert message.count("에 없어요") == len(missing)


def test_an_exercise_that_is_there_twice_is_named(root: Path, told: Told) -> None:
    with (root / SOURCE).open("a", encoding="utf-8") as source:
        source.write('\n# %% tags=["exercise:add"]\nadd = sum\n')
    assert "이름이 겹쳐요: add" in told()


def test_a_lesson_without_drivers_is_told_which_folder_to_make(told: Told) -> None:
    message = told(COURSE, 'module = "sums"', 'module = "products"')
    assert "77_sums" in message
    assert "grader/exercises/products/" in message


def test_a_module_without_a_driver_is_told_what_to_call_it(root: Path, told: Told) -> None:
    (root / DRIVER).write_text(FILES[DRIVER].replace("driver", "runner"), encoding="utf-8")
    message = told()
    assert "grader/exercises/sums/add.py" in message
    assert "driver = Driver" in message
