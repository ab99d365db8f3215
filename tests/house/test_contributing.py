"""What CONTRIBUTING.md and solutions/README.md say, as a stranger follows it: their examples are added to a copy and go
through the suite's own gates; the files and functions that the guides name are there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course.reading import load_course
from tests.places import ROOT

EXERCISE = "scale_learning_rate"
LESSON_FILES = {
    "lessons/course.toml",
    "solutions/90_learning_rate/1_learning_rate.py",
    "solutions/90_learning_rate/predictions.toml",
    f"solutions/90_learning_rate/{EXERCISE}.toml",
    "grader/exercises/learning_rate/__init__.py",
    f"grader/exercises/learning_rate/{EXERCISE}.py",
    f"tests/accepted/{EXERCISE}/by_number.py",
    f"tests/accepted/{EXERCISE}/with_update.py",
    f"tests/accepted/{EXERCISE}/through_state_dict.py",
}
RIGHT = "def scale_learning_rate(opt, factor):\n    for g in opt.param_groups:\n        g['lr'] = g['lr'] * factor\n"
CLASS = {
    "starter": None,
    "right": RIGHT,
    "adds": RIGHT.replace("g['lr'] * factor", "g['lr'] + factor"),
    "first": RIGHT.replace("opt.param_groups", "opt.param_groups[:1]"),
    "both": RIGHT.replace("opt.param_groups", "opt.param_groups[:1]").replace("* factor", "+ factor"),
    "once": RIGHT.replace("* factor", "* 0.5"),
    "replaces": RIGHT.replace("g['lr'] * factor", "factor"),
}


def described_files() -> dict[str, str]:
    """The files that solutions/README.md gives as its example of a lesson."""
    text = (ROOT / "solutions" / "README.md").read_text(encoding="utf-8")
    block = re.compile(
        r"^\*\*`(?P<path>[^`]+)`\*\*.*?\n\n(?P<fence>`{3,})\w+\n(?P<code>.*?)\n(?P=fence)$", re.M | re.S
    )
    return {found["path"]: found["code"] + "\n" for found in block.finditer(text)}


def described_mistake() -> str:
    """The entry that CONTRIBUTING.md gives as its example of a mistake."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    entry = re.search(r"```toml\n(\[\[mistakes\]\]\nid = \"replaces-rate\".*?)```", text, re.S)
    assert entry is not None
    return entry[1]


def copy_of_the_repository(folder: Path) -> Path:
    """Without what git ignores, and without submissions, which no example touches."""
    leave = shutil.ignore_patterns("__pycache__", ".hypothesis", "sample_class")
    for room in ("grader", "lessons", "solutions", "assets", "tests"):
        shutil.copytree(ROOT / room, folder / room, ignore=leave)
    for file in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / file, folder)
    return folder


def ran(folder: Path, *arguments: str, fails: bool = False) -> str:
    """Output of Python with the copy's own `grader` and tests."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def gates(folder: Path, *names: str) -> str:
    """The copy's own tests of these exercises and lessons, quick ones, and those that look at everything at once."""
    whole = (
        "every_transcript",
        "every_style_belongs",
        "every_built_notebook",
        "no_fixed_id",
        "one_way",
        "small_and_say",
    )
    rooms = [
        f"tests/{room}"
        for room in ("exercises", "judging", "lessons", "course", "house/test_architecture.py")
    ]
    keyword = " or ".join((*names, *whole))
    return ran(folder, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", keyword, *rooms)


@pytest.fixture(scope="module")
def with_lesson(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the example lesson and, in it, the example mistake."""
    copy = copy_of_the_repository(tmp_path_factory.mktemp("contributed") / "copy")
    files = described_files()
    assert set(files) == LESSON_FILES
    for name, text in files.items():
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + "\n" * bool(before) + text, encoding="utf-8")
    table = copy / "solutions" / "90_learning_rate" / f"{EXERCISE}.toml"
    table.write_text(table.read_text(encoding="utf-8") + "\n" + described_mistake(), encoding="utf-8")
    ran(copy, "-m", "grader", "build", "90")
    ran(copy, "-m", "tests.golden", EXERCISE)
    return copy


@pytest.mark.full
@pytest.mark.notebook
def test_the_example_lesson_passes_the_gates_of_every_lesson(with_lesson: Path) -> None:
    said = gates(with_lesson, EXERCISE, "90_learning_rate")
    assert "passed" in said
    assert "skipped" not in said.replace("1 skipped", "")  # on a machine without a GPU
    ran(with_lesson, "-m", "grader", "build", "--check", "90")


@pytest.mark.notebook
def test_the_example_lesson_is_graded(with_lesson: Path, tmp_path: Path) -> None:
    notebook = with_lesson / "lessons" / "90_learning_rate" / "1_learning_rate.ipynb"
    for student, code in CLASS.items():
        if code is None:
            shutil.copy(notebook, tmp_path / f"{student}.ipynb")
        else:
            (tmp_path / f"{student}.py").write_text(code, encoding="utf-8")
    out = with_lesson / "report"
    chosen = ["--lesson", "90", "--sandbox", "none", "--seed", "3", "--jobs", "1"]
    ran(with_lesson, "-m", "grader", "grade", str(tmp_path), "--out", str(out), *chosen)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    got = {s["student"]: (s["score"], s["exercises"][0]["mistakes"]) for s in results["submissions"]}
    assert got == {
        "starter": (0, []),
        "right": (3, []),
        "adds": (0, ["adds-factor"]),
        "first": (0, ["first-group-only"]),
        "both": (0, ["first-group-only", "adds-factor"]),
        "once": (2, []),
        "replaces": (0, ["replaces-rate"]),
    }
    assert f"90_{EXERCISE}" in (out / "gradebook.csv").read_text(encoding="utf-8-sig")


@pytest.mark.full
@pytest.mark.by_command
def test_an_exercise_joins_an_existing_lesson(tmp_path: Path) -> None:
    """Only the files that the page lists are touched; all other gates stay green, the sample class's among them."""
    copy = copy_of_the_repository(tmp_path / "copy")
    shutil.copytree(ROOT / "assets" / "sample_class", copy / "assets" / "sample_class", symlinks=True)
    files = described_files()
    lesson = copy / "solutions" / "01_five_line_step"
    source = files["solutions/90_learning_rate/1_learning_rate.py"]
    cells = source[source.index('# %% tags=["exercise:') :]
    notebook = lesson / load_course().lesson("01").parts[-1].source.name
    notebook.write_text(f"{notebook.read_text(encoding='utf-8')}\n\n{cells}", encoding="utf-8")
    (lesson / f"{EXERCISE}.toml").write_text(
        files[f"solutions/90_learning_rate/{EXERCISE}.toml"], encoding="utf-8"
    )
    driver = copy / "grader" / "exercises" / "five_line_step" / f"{EXERCISE}.py"
    driver.write_text(files[f"grader/exercises/learning_rate/{EXERCISE}.py"], encoding="utf-8")
    for name, text in files.items():
        if name.startswith("tests/accepted/"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(text, encoding="utf-8")
    ran(copy, "-m", "tests.golden", EXERCISE)
    # Of the notebooks the learner's alone: to run all of lesson 01 would show what its own tests show.
    build = "from grader.authoring import build as b; from grader.course.reading import load_course; "
    build += (
        "l = load_course().lesson('01'); p = l.parts[-1]; "
        "p.notebook.write_text(b.to_json(b.learner_notebook(l, p)), 'utf-8')"
    )
    ran(copy, "-c", build)
    gates(
        copy, f"{EXERCISE} and not ipynb and not table_that_guides"
    )  # nor are all of its mistakes measured anew
    ran(
        copy,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-m",
        "",
        "-k",
        "manifest",
        "tests/classroom/test_sample_class.py",
    )


MAPS = ("grader/README.md", "grader/ADDING.md", "grader/LIMITS.md", "grader/WORDS.md")
GUIDES = ("CONTRIBUTING.md", *MAPS, "solutions/README.md", "tests/README.md")
_OF_EXAMPLES = re.compile(r"scale_learning_rate|learning_rate|레슨|연습|TrainConfig|train_config|train_step")
_WRITTEN = {"results.json"}
"""By a command, not in the repository."""


@pytest.mark.parametrize("guide", GUIDES)
def test_the_paths_that_a_guide_names_are_there(guide: str) -> None:
    """From the repository's root, from the guide's own folder, or anywhere below `grader/`."""
    text = re.sub(r"```.*?```", "", (ROOT / guide).read_text(encoding="utf-8"), flags=re.S)
    named = set(re.findall(r"`([\w.]+(?:/[\w.]*)+|\w+\.(?:py|toml|json))`", text))
    wanted = {path for path in named if not _OF_EXAMPLES.search(path)} - _WRITTEN
    assert wanted
    bases = (ROOT, (ROOT / guide).parent, ROOT / "lessons", ROOT / "grader", *(ROOT / "grader").iterdir())
    assert not [path for path in wanted if not any((base / path).exists() for base in bases)]


def test_the_map_stays_one_page() -> None:
    """What grows belongs in the pages that it links: whoever comes new reads this one to its end."""
    assert len((ROOT / "grader" / "README.md").read_text(encoding="utf-8")) < 11_000


@pytest.mark.parametrize("page", MAPS)
def test_the_functions_on_the_map_are_where_it_says(page: str) -> None:
    """`judging/assess.py assess`: the file, and what it defines."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`(\w+(?:/\w+)*\.py) ([A-Za-z_]\w*)", text)
    assert len(named) > 5
    for path, name in named:
        files = [ROOT / "grader" / path, *(ROOT / "grader").glob(f"*/{path}")]
        (file, *_) = [file for file in files if file.is_file()]
        assert re.search(rf"^(?:def|class) {name}\b|^{name}\b", file.read_text(encoding="utf-8"), re.M), (
            path,
            name,
        )
