"""The shape of the code: imports go one way, what enters the sandbox knows no answers, a lesson is four places."""

import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A module may import only what stands above it. `exercises` stands for every module in that folder and
# `runtime.*_fixtures` for what lessons share when they build models and data.
LAYERS = """
    runtime runtime.trace runtime.frames runtime.seccomp runtime.program runtime.handed runtime.recorder runtime.play
    runtime.construction runtime.fixtures runtime.*_fixtures
    exercises
    runtime.isolation runtime.server
    paths feedback course
    source_text cells statements source_file submission scrutiny
    bubblewrap forks sandbox
    judge mistakes
    departure recipe diagnose assess
    report report.words report.names report.results report.class_table report.text report.html report.gradebook
    workers cluster grading journal
    progress timelimit notebook plots
    starter execute build start doctor
    cli __main__
"""
ORDER = LAYERS.split()

MOST_LINES = 430
LONGER = {"exercises.five_line_step": 540}  # five exercises, read one at a time; split it when it grows


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax tree of each module, by its name inside `grader`."""
    found = {}
    for path in sorted((ROOT / "grader").rglob("*.py")):
        parts = path.relative_to(ROOT / "grader").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(name: str) -> Iterator[str]:
    """Modules of `grader` that a module imports, at its top or inside a function."""
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: a relative import"
            base = node.module or ""
            names = [f"{base}.{alias.name}" for alias in node.names]
            names = [one if one.removeprefix("grader.") in modules() else base for one in names]
        else:
            continue
        for one in names:
            if one == "grader" or one.startswith("grader."):
                yield one.removeprefix("grader").removeprefix(".")


def entry(name: str) -> str:
    """How a module is called in the order."""
    if name.startswith("exercises"):
        return "exercises"
    return "runtime.*_fixtures" if re.fullmatch(r"runtime\.\w+_fixtures", name) else name


def place(name: str) -> int:
    """Position in the order."""
    return ORDER.index(entry(name))


def test_every_module_has_its_place() -> None:
    assert {entry(name) for name in modules() if name} == set(ORDER)


def is_part_of(one: str, name: str) -> bool:
    """Whether `one` is a private part (`exercises._clip_schedules`) of a lesson's module (`exercises.clip`)."""
    lesson = name.removeprefix("exercises.").lstrip("_")
    return one.startswith("exercises._") and one.removeprefix("exercises._").startswith(lesson)


@pytest.mark.parametrize("name", [n for n in modules() if n])
def test_imports_go_one_way(name: str) -> None:
    others = {one for one in imported(name) if one and one != name and not is_part_of(one, name)}
    wrong = [one for one in others if place(one) >= place(name)]
    assert not wrong, f"grader.{name} imports {wrong}, which does not stand above it"


def test_the_package_itself_imports_nothing() -> None:
    """It stands inside the sandbox too: `check` and `hint` are fetched only when asked for."""
    code = "import sys, grader; print([m for m in sys.modules if m.startswith('grader.') or m == 'torch'])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_what_enters_the_sandbox_knows_no_answers() -> None:
    """Neither by its own imports nor by anything these load."""
    inside = [n for n in modules() if n.startswith(("runtime", "exercises"))]
    for name in inside:
        for one in filter(None, imported(name)):
            assert one.startswith(("runtime", "exercises")), f"grader.{name} imports grader.{one}"
    imports = "; ".join(f"import grader.{name}" for name in inside)
    code = f"import sys; {imports}; print(*[m for m in sys.modules if m.startswith('grader.')])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = said.stdout.split()
    assert loaded
    assert all(m.startswith(("grader.runtime", "grader.exercises")) for m in loaded), loaded


@pytest.mark.parametrize("name", list(modules()))
def test_modules_are_small_and_say_what_they_are_for(name: str) -> None:
    path = ROOT.joinpath("grader", *name.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGER.get(name, MOST_LINES), f"{path.name} has {lines} lines"
    assert ast.get_docstring(modules()[name]), f"{path.name} does not open with what it is for"


def repository_files() -> list[Path]:
    """Everything that is or would be committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_tells_where_it_was_made() -> None:
    """Paths of an author's machine mean nothing elsewhere; generated notebooks are where they slip in."""
    machine = re.compile(
        r"(?<![\w.$}~-])/(?:home|Users|root|work|opt)/[\w.-]+|ipykernel_\d+|[A-Z]:\\\\?Users"
    )
    hostile = ("tests/attacks/", "assets/sample_class/", "tests/test_")  # paths are what these are about
    told = []
    for path in repository_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(hostile) or path.suffix in (".ttf", ".png", ".woff2"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        told += [f"{name}: {found}" for found in machine.findall(text)]
    assert not told


def test_the_top_level_holds_what_the_readme_says() -> None:
    visible = {path.relative_to(ROOT).parts[0] for path in repository_files()}
    fixed = {"pyproject.toml", "README.md", "lessons", "solutions", "grader", "tests", "assets"}
    allowed = fixed | {"LICENSE", "LICENSE-texts", "CHANGELOG.md", "CONTRIBUTING.md", "constraints.txt"}
    assert fixed <= visible
    assert {name for name in visible if not name.startswith(".")} <= allowed


# ---- CONTRIBUTING.md: a lesson is four places ------------------------------------------------------


def described_files() -> dict[str, str]:
    """The files that CONTRIBUTING.md gives as its example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.compile(
        r"^\*\*`(?P<path>[^`]+)`\*\*.*?\n\n(?P<fence>`{3,})\w+\n(?P<code>.*?)\n(?P=fence)$", re.M | re.S
    )
    return {found["path"]: found["code"] + "\n" for found in block.finditer(text)}


@pytest.fixture(scope="module")
def course_with_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course with the example lesson added, built."""
    copy = tmp_path_factory.mktemp("course")
    for folder in ("grader", "lessons", "solutions", "assets"):
        leave = shutil.ignore_patterns("__pycache__", "sample_class", "*.ipynb")
        shutil.copytree(ROOT / folder, copy / folder, ignore=leave)
    files = described_files()
    assert set(files) == {
        "lessons/course.toml",
        "solutions/90_learning_rate.py",
        "solutions/90_learning_rate.toml",
        "grader/exercises/learning_rate.py",
    }
    for name, text in files.items():
        path = copy / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + "\n" * bool(before) + text, encoding="utf-8")
    code = "from grader.authoring.build import build; from grader.course import load_course as c; "
    ran(
        copy,
        "-c",
        code + "build(c().lesson('90'), check=False); assert not build(c().lesson('90'), check=True)",
    )
    return copy


def ran(folder: Path, *arguments: str) -> str:
    """Output of Python with the copy's own `grader`."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


RIGHT = "def scale_learning_rate(opt, factor):\n    for g in opt.param_groups:\n        g['lr'] = g['lr'] * factor\n"
CLASS = {
    "starter": None,
    "right": RIGHT,
    "adds": RIGHT.replace("g['lr'] * factor", "g['lr'] + factor"),
    "first": RIGHT.replace("opt.param_groups", "opt.param_groups[:1]"),
    "both": RIGHT.replace("opt.param_groups", "opt.param_groups[:1]").replace("* factor", "+ factor"),
    "once": RIGHT.replace("* factor", "* 0.5"),
}


@pytest.mark.notebook
def test_a_lesson_is_added_in_four_places_and_is_graded(course_with_example: Path, tmp_path: Path) -> None:
    notebook = course_with_example / "lessons" / "90_learning_rate.ipynb"
    for student, code in CLASS.items():
        if code is None:
            shutil.copy(notebook, tmp_path / f"{student}.ipynb")
        else:
            (tmp_path / f"{student}.py").write_text(code, encoding="utf-8")
    out = course_with_example / "report"
    arguments = (
        "grade",
        str(tmp_path),
        "--out",
        str(out),
        "--lesson",
        "90",
        "--sandbox",
        "none",
        "--seed",
        "3",
    )
    ran(course_with_example, "-m", "grader", *arguments, "--jobs", "1")
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    got = {s["student"]: (s["score"], s["exercises"][0]["mistakes"]) for s in results["submissions"]}
    assert got == {
        "starter": (0, []),
        "right": (3, []),
        "adds": (0, ["adds-factor"]),
        "first": (0, ["first-group-only"]),
        "both": (0, ["first-group-only", "adds-factor"]),
        "once": (2, []),
    }
    with (out / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.reader(file))) > len(CLASS)


@pytest.mark.notebook
def test_the_example_mistake_is_added_in_one_place(course_with_example: Path, tmp_path: Path) -> None:
    """The second example of CONTRIBUTING.md: a mistake is nothing but an entry in the course file."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    entry = re.search(
        r"```toml\n(\[\[exercises\.\w+\.mistakes\]\]\nid = \"replaces-rate\".*?)```", text, re.S
    )
    assert entry is not None
    file = course_with_example / "solutions" / "90_learning_rate.toml"
    if "replaces-rate" not in file.read_text(encoding="utf-8"):
        file.write_text(file.read_text(encoding="utf-8") + "\n" + entry[1], encoding="utf-8")
    tomllib.loads(file.read_text(encoding="utf-8"))
    (tmp_path / "s.py").write_text(RIGHT.replace("g['lr'] * factor", "factor"), encoding="utf-8")
    out = course_with_example / "report_one"
    arguments = (
        "grade",
        str(tmp_path),
        "--out",
        str(out),
        "--lesson",
        "90",
        "--sandbox",
        "none",
        "--jobs",
        "1",
    )
    ran(course_with_example, "-m", "grader", *arguments)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert results["submissions"][0]["exercises"][0]["mistakes"] == ["replaces-rate"]
