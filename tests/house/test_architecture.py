"""The shape of the code: folders import one way, what enters the sandbox knows no answers, modules stay small."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import grader
from grader.base.package import NOTEBOOK_FUNCTIONS
from tests.places import ROOT

# A folder (or a module that stands outside the folders) imports only what stands before it here.
ROOMS = (
    *("base", "paths", "plots"),
    *("observe", "exercises", "experiments", "course"),
    *("submission", "sandbox", "judging", "report", "scripts"),
    *("intake", "gradebook"),
    *("grading", "classroom"),
    *("learner", "workspace", "notebook", "practice"),
    *("authoring", "site", "learning", "cli", "__main__"),
)
"""In the order in which they may be imported: each only from those before it."""
MOST_ROOMS = 25

INSIDE = ("observe", "exercises", "sandbox.inside", "base.package")
"""What goes into the sandbox."""

MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 60
COMMANDS = ("cli.grade",)
"""Half of `grade` is its options, a line each and their help."""


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
            if one.startswith("grader."):
                yield one.removeprefix("grader.")


def room(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def is_inside(name: str) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in INSIDE)


def test_every_room_has_its_place() -> None:
    assert {room(name) for name in modules() if name} == set(ROOMS)
    assert len(ROOMS) <= MOST_ROOMS


def test_no_room_hides_a_function_of_notebooks() -> None:
    """A module that is imported becomes an attribute of its package: `from grader import drill` would be that."""
    assert not {room(name) for name in modules()} & set(NOTEBOOK_FUNCTIONS)
    assert set(grader.__all__) == set(NOTEBOOK_FUNCTIONS)


def test_nobody_inside_imports_from_the_package_itself() -> None:
    """Its functions are for notebooks. (In the sandbox stand-ins are put in their place.)"""
    wrong = []
    for name, tree in modules().items():
        if not name or name.startswith("sandbox.inside"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                wrong += [name for alias in node.names if alias.name == "grader"]
            elif isinstance(node, ast.ImportFrom) and node.module == "grader":
                wrong += [name for alias in node.names if alias.name not in ROOMS]
    assert not wrong


def test_imports_go_one_way() -> None:
    wrong = [
        f"grader.{name} imports {one}, which stands after it"
        for name in filter(None, modules())
        for one in imported(name)
        if ROOMS.index(room(one)) > ROOMS.index(room(name))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other() -> None:
    """Nor in a circle, within a room either."""
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, f"a circle: {' -> '.join((*way, name))}"
        if name not in done:
            for one in imported(name):
                visit(one, (*way, name))
            done.add(name)

    for name in filter(None, modules()):
        visit(name, ())


def test_the_package_itself_imports_nothing() -> None:
    """It stands inside the sandbox too: `check` and `hint` are fetched only when asked for."""
    code = "import sys, grader; print([m for m in sys.modules if m.startswith('grader.') or m == 'torch'])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['grader.base', 'grader.base.package']"


def test_what_enters_the_sandbox_knows_no_answers() -> None:
    """Neither by its own imports nor by anything these load."""
    inside = [name for name in modules() if is_inside(name)]
    for name in inside:
        for one in imported(name):
            assert is_inside(one), f"grader.{name} imports grader.{one}"
    imports = "; ".join(f"import grader.{name}" for name in inside)
    code = f"import sys; {imports}; print(*[m for m in sys.modules if m.startswith('grader.')])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = [name.removeprefix("grader.") for name in said.stdout.split()]
    assert loaded
    assert all(is_inside(name) or name in ("base", "sandbox") for name in loaded), loaded
    for package in ("base", "sandbox"):
        assert not modules()[package].body[1:], "the package's own file is bound too, and holds nothing"


def lines(name: str) -> int:
    path = ROOT.joinpath("grader", *name.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return len(path.read_text(encoding="utf-8").splitlines())


def test_modules_are_small_and_say_what_they_are_for() -> None:
    long = {name: lines(name) for name in modules() if lines(name) > MOST_LINES}
    assert not long
    assert not [name for name, tree in modules().items() if not ast.get_docstring(tree)]


def test_functions_are_read_in_one_go() -> None:
    """From `def` to the last line, docstring not counted: what it does fits on a screen."""
    long = {}
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and name not in COMMANDS:
                told = ast.get_docstring(node, clean=False)
                length = (
                    (node.end_lineno or 0) - node.lineno + 1 - (told or "").count("\n") - (told is not None)
                )
                if length > MOST_LINES_OF_A_FUNCTION:
                    long[f"{name}.{node.name}"] = length
    assert not long
