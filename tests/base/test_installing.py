"""Where the course lives is one setting, and no command installs by a name that a stranger could take."""

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

from grader.base import installing
from grader.base.installing import AddressError, install_command, owner_and_name, repository

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    repository.cache_clear()
    yield
    repository.cache_clear()


def set_to(address: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the project's file have this setting."""
    (folder / "pyproject.toml").write_text(f'[project]\n[project.urls]\nRepository = "{address}"\n')
    monkeypatch.setattr(installing, "_PROJECT", folder / "pyproject.toml")


def installed_with(address: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the course be installed, not checked out, from a project with this setting."""
    metadata = Message()
    metadata["Project-URL"] = "Documentation, https://pytorch.org"
    metadata["Project-URL"] = f"Repository, {address}"
    monkeypatch.setattr(installing, "_PROJECT", folder / "pyproject.toml")
    monkeypatch.setattr(importlib.metadata, "metadata", lambda _: metadata)


def test_the_setting_of_this_checkout_is_empty_or_an_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert repository() == project["urls"]["Repository"].rstrip("/")


@pytest.mark.parametrize(
    "address", ["https://github.com/o/n", "https://github.com/o/n/", "https://github.com/o/n.git"]
)
@pytest.mark.parametrize("setting", [set_to, installed_with])
def test_an_address_is_read(
    address: str, setting: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert callable(setting)
    setting(address, monkeypatch, tmp_path)
    assert (repository(), owner_and_name()) == ("https://github.com/o/n", "o/n")


@pytest.mark.parametrize("setting", [set_to, installed_with])
def test_it_may_be_empty(setting: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert callable(setting)
    setting("", monkeypatch, tmp_path)
    assert (repository(), owner_and_name()) == ("", "")


@pytest.mark.parametrize(
    "address", ["o/n", "http://github.com/o/n", "https://github.com/o", "https://github.com/o/n?x=';rm"]
)
def test_anything_else_is_refused(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_to(address, monkeypatch, tmp_path)
    with pytest.raises(AddressError, match=re.escape(repr(address))):
        repository()


def test_a_checkout_installs_itself() -> None:
    assert install_command("ray") == f"pip install -e '{ROOT}[ray]'"
    assert install_command(again="--upgrade") == f"pip install --upgrade -e {ROOT}"


def test_an_installed_course_comes_from_where_it_lives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed_with("https://github.com/o/n", monkeypatch, tmp_path)
    assert (
        install_command("ray")
        == "pip install 'hanstep[ray] @ https://github.com/o/n/archive/refs/heads/main.zip'"
    )
    repository.cache_clear()
    installed_with("", monkeypatch, tmp_path)
    assert install_command("ray") == "pip install '받은-wheel-파일.whl[ray]'"


def test_nothing_committed_installs_by_name_alone() -> None:
    """Files for people and machines: README, messages, lessons, workflows."""
    by_name = re.compile(r"pip install (?:-\S+ )*['\"]?hanstep(?:\[\w+\])?['\"]?(?! ?@)(?![\w.])")
    places = (
        "README.md",
        "CONTRIBUTING.md",
        "grader",
        "lessons",
        "solutions",
        ".github",
        ".ci",
        ".binder",
        ".devcontainer",
    )
    files = [
        file
        for place in places
        for file in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    ]
    texts = {
        file: file.read_text(encoding="utf-8", errors="ignore")
        for file in files
        if file.is_file() and file.suffix != ".pyc"
    }
    assert len(texts) > 300
    assert [str(file.relative_to(ROOT)) for file, text in texts.items() if by_name.search(text)] == []
