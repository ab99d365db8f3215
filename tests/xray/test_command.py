"""The command line of xray, and what of it may not depend on the script: files, streams, compiled models, warnings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader import xray
from grader.scripts.command import Misuse, read
from grader.scripts.particles import with_particles
from grader.scripts.places import Place
from grader.scripts.report import where
from tests.places import ROOT
from tests.xray.running import plain, watched
from tests.xray.test_watch import HEAD, LOOP

COMPILED = {
    "module": "model = torch.compile(model, backend='eager')\n",
    "method": "model.compile(backend='eager')\n",
    "function": "model = torch.compile(model.forward, backend='eager')\n",
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(HEAD + LOOP, encoding="utf-8")
    return path


def run(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "grader.scripts", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("way", COMPILED)
def test_compiled_models_run_eagerly_and_lose_the_same(tmp_path: Path, way: str) -> None:
    eager, compiled = tmp_path / "eager.py", tmp_path / "compiled.py"
    head = HEAD.replace("import torch\n", "import torch\nrandom.seed(1)\nnp.random.seed(2)\n", 1)
    eager.write_text(head + LOOP, encoding="utf-8")
    compiled.write_text(head + COMPILED[way] + LOOP, encoding="utf-8")
    ran = watched(compiled)
    assert ran.ids == []
    assert ran.output.split() == plain(eager).output.split()
    assert "`torch.compile` was off" in ran.error
    assert "global hooks" not in ran.error


def test_what_follows_the_script_goes_to_it() -> None:
    asked = read(["--updates", "5", "--stop", "train.py", "--lr", "0.1", "-m", "x"])
    assert (asked.script, asked.updates, asked.stop) == ("train.py", 5, True)
    assert asked.arguments == ("--lr", "0.1", "-m", "x")
    assert read(["train.py", "--", "--updates", "7"]).arguments == ("--updates", "7")
    asked = read(["--html=report.html", "-m", "pkg.main", "--updates", "7"])
    assert (asked.script, asked.is_module, asked.html) == ("pkg.main", True, "report.html")
    assert asked.arguments == ("--updates", "7")


def test_an_option_of_the_scripts_own_is_its_own(tmp_path: Path) -> None:
    own = tmp_path / "train.py"
    own.write_text("parser.add_argument('--updates')\n", encoding="utf-8")
    asked = read([str(own), "--updates", "7"])
    assert asked.arguments == ("--updates", "7")
    assert asked.updates is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--foo train.py", "--foo"),
        ("--htm x train.py", "--html"),
        ("--updates x train.py", "1 이상의 정수"),
        ("--updates 0 train.py", "1 이상의 정수"),
        ("--lang fr train.py", "ko나 en"),
        ("--json", "--json"),
        ("", "train.py"),
        ("train.py --html report.html", "앞에"),
    ],
)
def test_a_wrong_line_says_why(line: str, said: str) -> None:
    with pytest.raises(Misuse) as error:
        read(line.split())
    assert said in error.value.said.ko


def test_a_report_that_cannot_be_written_is_told_before_the_run(script: Path) -> None:
    (script.parent / "file").write_text("", encoding="utf-8")
    ran = watched(script, "--html", str(script.parent / "file" / "report.html"))
    assert ran.status == 2
    assert "--html: cannot write" in ran.error
    assert ran.output == ""
    made = script.parent / "new" / "folder" / "report.html"
    assert watched(script, "--html", str(made)).status == 0
    assert "<span>1</span><span>3</span></div>" in made.read_text(
        encoding="utf-8"
    )  # the first update and the last


def test_json_on_standard_output_is_alone_there(script: Path) -> None:
    script.write_text(
        HEAD + "import subprocess\nsubprocess.run(['echo', 'child'])\n" + LOOP + "print('end')\n",
        encoding="utf-8",
    )
    ran = run("--json", "-", "--updates", "4", str(script), folder=script.parent)
    found = json.loads(ran.stdout)
    assert found["updates"] == 4
    assert found["watch_ended_early"] is True
    assert any("--updates 40" in note for note in found["notes"])
    assert "child" in ran.stderr
    assert "end" in ran.stderr.split()


def test_modules_are_run_by_their_names(script: Path) -> None:
    package = script.parent / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "parts.py").write_text("name = 'parts'\n", encoding="utf-8")
    head = "from . import parts\nimport sys\nprint(parts.name, __name__, sys.argv[1:])\n"
    (package / "main.py").write_text(head + HEAD + LOOP, encoding="utf-8")
    ran = run("--stop", "-m", "pkg.main", "--stop", folder=script.parent)
    assert ran.returncode == 0, ran.stderr
    assert "parts __main__ ['--stop']" in ran.stdout
    missing = run("-m", "pkg.none", folder=script.parent)
    assert missing.returncode == 2
    assert "pkg.none" in missing.stderr


def test_notebooks_are_sent_to_the_block(script: Path) -> None:
    ran = run("train.ipynb", folder=script.parent)
    assert ran.returncode == 2
    assert "with xray():" in ran.stderr


def test_a_second_interrupt_leaves_the_card(script: Path) -> None:
    handled = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    loop = LOOP.replace("range(3)", "range(10**6)")
    script.write_text(HEAD + handled + loop, encoding="utf-8")
    command = [sys.executable, "-u", "-m", "grader.scripts", "--updates", "100000", str(script)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=120)
    assert "한 스텝 xray" in error.decode()
    assert running.returncode == 0


def test_warnings_of_torch_stand_at_the_scripts_line(script: Path) -> None:
    script.write_text(HEAD + "F.mse_loss(model(x)[:, :1], y.float())\n", encoding="utf-8")
    ran = run(str(script), folder=script.parent)
    assert "train.py:13: UserWarning: Using a target size" in ran.stderr
    assert "patches.py" not in ran.stderr


def test_a_slow_script_without_evaluation_is_not_watched_for_long(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.xray.running.LONGEST_WAIT", 0.0)
    script.write_text(HEAD + LOOP.replace("range(3)", "range(30)"), encoding="utf-8")
    assert watched(script).found["updates"] in (40, 41)
    monkeypatch.undo()
    assert watched(script).found["updates"] == 120


def test_cells_of_notebooks_are_called_by_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"/tmp/ipykernel_7/1311014045.py": ("Cell", "In[2]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert where(Place("/tmp/ipykernel_7/1311014045.py", 4), "/tmp/ipykernel_7", "ko") == "셀 [2]의 4번째 줄"
    assert where(Place("/tmp/ipykernel_7/train.py", 4), "/tmp/ipykernel_7", "ko") == "train.py:4"


def test_a_block_without_an_update_is_called_a_block() -> None:
    with xray() as look:
        pass
    assert look.report is not None
    (told,) = look.report.told
    assert told.finding.sentence.ko.startswith("이 블록이 끝날 때까지")


def test_an_optimizer_that_never_steps_is_called_by_its_name(script: Path) -> None:
    loop = (
        LOOP.replace("optimizer", "opt").replace("        opt.step()\n", "").replace("range(3)", "range(26)")
    )
    script.write_text(HEAD.replace("optimizer", "opt") + loop, encoding="utf-8")
    ran = watched(script)
    assert [one["id"] for one in ran.found["findings"]] == ["no-step"]
    assert "(`opt`)" in ran.found["findings"][0]["sentence"]
    assert ran.status == 1


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("0.0889이었고 0였어요", "0.0889였고 0이었어요"),
        ("0.2에서 0로 내려갔어요. 1이 아니라 2이에요.", "0.2에서 0으로 내려갔어요. 1이 아니라 2예요."),
        ("`ignore_index=0`를 주세요. `mode='min'`를", "`ignore_index=0`을 주세요. `mode='min'`을"),
        ("말할 것이 2가지 있어요. `nn.Dropout`을", "말할 것이 2가지 있어요. `nn.Dropout`을"),
    ],
)
def test_particles_follow_values(text: str, right: str) -> None:
    assert with_particles(text) == right
