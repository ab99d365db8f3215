"""README's commands download no CUDA where no GPU could use it: `.ci/cpu-torch` with a pip that only notes."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

PIP = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
[ -z "$UNREACHABLE" ]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A virtual environment whose pip notes what it is asked for, and a folder of programs without `nvidia-smi`."""
    for program in ("bash", "dirname", "sed", "grep", "sh"):
        (tmp_path / "programs").mkdir(exist_ok=True)
        found = next(Path(d, program) for d in ("/bin", "/usr/bin") if Path(d, program).exists())
        (tmp_path / "programs" / program).symlink_to(found)
    runs(tmp_path / "programs" / "uname", "#!/bin/sh\necho ${SYSTEM:-Linux}\n")
    runs(tmp_path / "venv" / "bin" / "pip", PIP)
    return tmp_path


def runs(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def chosen(machine: Path, **environment: str) -> tuple[str, str]:
    """What pip was asked for, and what was said."""
    done = subprocess.run(
        ["bash", str(ROOT / ".ci" / "cpu-torch"), "venv"],
        cwd=machine, env={"PATH": str(machine / "programs"), "LC_ALL": "C.UTF-8", **environment},
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    asked = machine / "venv" / "bin" / "asked"
    return asked.read_text(encoding="utf-8") if asked.exists() else "", done.stderr


def test_without_a_gpu_the_pinned_torch_comes_without_cuda(machine: Path) -> None:
    asked, said = chosen(machine)
    (pin,) = re.findall(r"^torch==.+$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert asked.endswith(f"--index-url https://download.pytorch.org/whl/cpu {pin}\n")
    assert said == ""


def test_with_a_gpu_nothing_is_chosen(machine: Path) -> None:
    runs(machine / "programs" / "nvidia-smi", "#!/bin/sh\necho 'GPU 0: a GPU (UUID: …)'\n")
    assert chosen(machine) == ("", "")


def test_a_driver_without_a_gpu_is_none(machine: Path) -> None:
    runs(machine / "programs" / "nvidia-smi", "#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    assert "whl/cpu" in chosen(machine)[0]


def test_on_other_systems_the_default_index_has_what_fits(machine: Path) -> None:
    assert chosen(machine, SYSTEM="Darwin") == ("", "")


def test_where_the_index_cannot_be_reached_the_default_one_follows(machine: Path) -> None:
    """The command goes on (it is checked that it exits with 0), and says why more is downloaded."""
    _, said = chosen(machine, UNREACHABLE="yes")
    assert "기본 주소" in said


def test_every_first_command_runs_it_before_pip() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        commands = re.findall(r"^bash \.ci/system-packages.*$", text, re.MULTILINE)
        assert commands, name
        for command in commands:
            venv, torch, pip, *_ = command.split(" && ")[1:]
            assert (venv, torch) == ("python3 -m venv .venv", "bash .ci/cpu-torch .venv")
            assert pip.startswith(".venv/bin/pip install -c constraints.txt -e ")
