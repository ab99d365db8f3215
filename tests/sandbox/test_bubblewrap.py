"""What is bound holds no answers, wherever the grader, its environment and its course are installed."""

import re
import subprocess
from pathlib import Path

import pytest

from grader.sandbox import bubblewrap
from grader.sandbox.bubblewrap import Probe, explain_probe
from grader.sandbox.sandbox import Sandbox
from grader.sandbox.server_command import python_command, server_environment
from grader.sandbox.server_process import SandboxUnavailable


@pytest.mark.parametrize("kind", ["bwarp", ""])
def test_unknown_kind(kind: str) -> None:
    with pytest.raises(ValueError, match="isolation must be"):
        Sandbox(kind, lessons=[])


def test_an_environment_inside_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout beneath a bound folder is masked, and its environment bound again on top."""
    site = tmp_path / "lib" / "hanstep" / ".venv" / "site-packages"
    site.mkdir(parents=True)
    monkeypatch.setattr(bubblewrap, "_folders_with_answers", lambda: {tmp_path / "lib" / "hanstep"})
    arguments = bubblewrap._binds_and_masks([site, tmp_path / "lib"])
    order = [arguments[i + 1] for i, word in enumerate(arguments) if word in ("--ro-bind", "--tmpfs")]
    assert order == [str(tmp_path / "lib"), str(tmp_path / "lib" / "hanstep"), str(site)]
    assert arguments[arguments.index(str(tmp_path / "lib" / "hanstep")) - 1] == "--tmpfs"


@pytest.mark.sandbox
def test_an_installed_grader_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a grader in site-packages only what enters the sandbox is visible inside."""
    site = tmp_path / "site-packages"
    for name in ("grader/judging/judge.py", "torch_like/file.py", "share/hanstep/solutions/01/fit.toml"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("")
    monkeypatch.setattr(bubblewrap, "package_folders", lambda: (site,))
    monkeypatch.setattr(bubblewrap, "undeclared_entries", lambda folder, added: [])
    monkeypatch.setattr(bubblewrap, "course_root", lambda: site / "share" / "hanstep")
    walk = f"sorted(name for *_, names in os.walk({str(site)!r}) for name in names)"
    code = f"import os; print({walk}, os.listdir('/hanstep/grader'))"
    shown = subprocess.run(
        [*bubblewrap.bwrap_command(), *python_command([], code)],
        env=server_environment("cpu"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.startswith("['file.py'] ")
    assert "judge" not in shown
    assert "judging" not in shown


def test_no_bubblewrap_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap.sys, "platform", "linux")
    monkeypatch.setattr(
        bubblewrap.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None
    )
    bubblewrap.probe.cache_clear()
    try:
        with pytest.raises(SandboxUnavailable, match="apt-get install -y bubblewrap"):
            Sandbox("auto", lessons=[])
    finally:
        bubblewrap.probe.cache_clear()


@pytest.mark.parametrize(
    "reason", ["not-linux", "no-bwrap", "apparmor", "userns-off", "container", "refused"]
)
def test_every_reason_is_explained_in_korean(reason: str) -> None:
    text = explain_probe(Probe(False, reason, "sudo mend-it", "bwrap: no"))  # type: ignore[arg-type]
    assert re.search("[가-힣]", text)
    assert "sudo mend-it" in text
