"""What an installation holds: the course travels in the wheel, outside site-packages, and works from there."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from grader.course.reading import load_course
from tests.places import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip would build it, in a build environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--quiet",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("the build backend cannot be fetched: offline")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it; torch and the rest are borrowed from the running one."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(home),
        "install",
        "--no-deps",
        "--quiet",
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True)
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home


def ran(home: Path, folder: Path, *arguments: str) -> str:
    """Output of the installed `grader`."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [str(home / "bin" / "grader"), *arguments],
        cwd=folder, env={**environment, "COLUMNS": "200"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.full
def test_the_wheel_holds_the_course_and_keeps_answers_out_of_site_packages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    shared = [n.split(".data/data/share/hanstep/", 1)[1] for n in names if ".data/data/share/hanstep/" in n]
    for lesson in load_course().lessons:
        assert {f"lessons/{part.place}" for part in lesson.parts} <= set(shared)
        described = {f"{exercise.name}.toml" for exercise in lesson.exercises}
        files = {f"{part.name}{kind}" for part in lesson.parts for kind in (".py", ".ipynb")} | described
        assert {f"solutions/{lesson.name}/{file}" for file in files} <= set(shared)
    assert "solutions/shared_mistakes.toml" in shared
    assert "lessons/course.toml" in shared
    assert "assets/fonts/NotoSansKR-Regular.ttf" in shared
    assert "assets/fonts/OFL.txt" in shared
    inside = [n for n in names if ".data/" not in n and ".dist-info/" not in n]
    assert all(n.startswith("grader/") for n in inside), "only the package lies in site-packages"
    assert not any(n.startswith("grader/solutions") for n in inside)


@pytest.mark.full
def test_the_wheel_carries_its_licences_and_says_what_it_needs(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    licences = {Path(n).name for n in archive.namelist() if "/licenses/" in n}
    assert {"LICENSE", "LICENSE-texts", "OFL.txt"} <= licences
    metadata = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    text = archive.read(metadata).decode()
    assert "Requires-Python: >=3.11" in text
    assert "한 스텝" in text


@pytest.mark.full
def test_every_template_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    data = [p for p in (ROOT / "grader").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    missing = [p.relative_to(ROOT).as_posix() for p in data if p.relative_to(ROOT).as_posix() not in names]
    assert not missing


@pytest.mark.full
def test_an_installed_course_starts_checks_and_grades(installed: Path, tmp_path: Path) -> None:
    """From a folder that is no checkout: lessons out of the package, an untouched exercise fails, a class is graded."""
    code = (
        "from pathlib import Path; from grader import paths; from grader.workspace import start; "
        "print(paths.course_root()); start.prepare(Path('mine'))"
    )
    said = subprocess.run(
        [str(installed / "bin" / "python"), "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(installed / "share" / "hanstep") in said
    lessons = {p.relative_to(tmp_path / "mine").as_posix() for p in (tmp_path / "mine").rglob("*.ipynb")}
    assert lessons == {part.place for part in load_course().parts}
    ran(installed, tmp_path, "grade", "mine", "--out", "report", "--sandbox", "none", "--jobs", "1")
    assert (tmp_path / "report" / "results.json").is_file()
    assert (tmp_path / "report" / "index.html").is_file()


def test_constraints_pin_what_the_project_asks_for() -> None:
    """Each direct dependency is pinned, at or above its lower bound, and nothing names a place to download from."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    for requirement in map(Requirement, wanted):
        pinned = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pinned), requirement
    assert pins["torch"] == "2.13.0"
    assert not any("/" in line or "@" in line for line in lines)
