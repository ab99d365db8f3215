"""Two commands never write into one folder at once; a killed one is in nobody's way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.classroom.folder_lock import NAME, Busy, holder_of, locked_folder
from grader.cli.instructor import read_result
from grader.report.results import ResultsError
from tests.places import ROOT

ADVICE = "끝난 다음 다시 실행해 주세요."
HOLDS = (
    "import sys, time; from pathlib import Path; from grader.classroom.folder_lock import locked_folder\n"
    "with locked_folder(Path(sys.argv[1]), ''): print('has it', flush=True); time.sleep(60)\n"
)


def holder(out: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(out)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


def test_the_second_is_told_who_has_it_and_what_to_do(tmp_path: Path) -> None:
    process = holder(tmp_path / "out")
    try:
        with (
            pytest.raises(Busy, match=rf"프로세스 {process.pid}, .*에 시작\)\. {ADVICE}"),
            locked_folder(tmp_path / "out", ADVICE),
        ):
            pass
    finally:
        process.kill()
        process.wait()


def test_a_killed_one_is_in_nobodys_way(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / NAME).exists()
    with locked_folder(tmp_path, ADVICE):
        pass
    assert os.listdir(tmp_path) == []


def test_a_folder_that_stayed_empty_goes_again(tmp_path: Path) -> None:
    with locked_folder(tmp_path / "new", ADVICE):
        pass
    (tmp_path / "there").mkdir()
    with locked_folder(tmp_path / "there", ADVICE):
        pass
    with locked_folder(tmp_path / "used", ADVICE):
        (tmp_path / "used" / "index.html").touch()
    assert sorted(os.listdir(tmp_path)) == ["there", "used"]


def test_many_at_once_have_it_one_after_another(tmp_path: Path) -> None:
    """The file is removed at the end of each, and none takes a removed one for the lock."""
    code = (
        "import sys, os, time; from pathlib import Path; from grader.classroom.folder_lock import Busy, locked_folder\n"
        "out, done = Path(sys.argv[1]), 0\n"
        "while done < 40:\n"
        "    try:\n"
        "        with locked_folder(out, ''):\n"
        "            os.close(os.open(out / 'inside', os.O_CREAT | os.O_EXCL)); os.unlink(out / 'inside'); done += 1\n"
        "    except Busy:\n"
        "        time.sleep(0.0005)\n"
    )
    (tmp_path / "kept").touch()
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]


@pytest.mark.skipif(os.name != "posix", reason="a class is graded there only")
def test_a_second_run_into_one_folder_ends_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text("")
    process = holder(tmp_path / "report")
    begun = time.monotonic()
    try:
        run = subprocess.run(
            [sys.executable, "-m", "grader", "grade", "class", "--sandbox", "none"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        process.kill()
        process.wait()
    assert run.returncode == 2
    assert f"프로세스 {process.pid}" in run.stderr
    assert "--out" in run.stderr
    assert "Traceback" not in run.stderr
    assert time.monotonic() - begun < 60
    assert not (tmp_path / "report" / "index.html").exists()


def test_others_are_told_how_far_the_holder_is(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "none") == holder_of(tmp_path) == ""
    with locked_folder(tmp_path, ADVICE) as note:
        assert holder_of(tmp_path).endswith("에 시작")
        note("채점 12/600")
        note("채점 9/600")
        assert holder_of(tmp_path).endswith("에 시작, 채점 9/600")
        with pytest.raises(ResultsError, match=r"아직 채점하고 있어서 .*, 채점 9/600\)\."):
            read_result(tmp_path)
    assert holder_of(tmp_path) == ""
    with pytest.raises(ResultsError, match="먼저 채점해 주세요"):
        read_result(tmp_path)
