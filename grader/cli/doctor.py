"""Check what works on this machine, and name the command that repairs what does not (`grader doctor`).

Grading does not use this module.
"""

import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

OLDEST_PYTHON = (3, 11)
_RARE_SYLLABLE = "똠"  # missing from fonts that contain only the 2,350 syllables of KS X 1001
_DELEGATED_SESSION = "systemd-run --user --scope -p Delegate=yes grader grade …"
_PIP = f"{sys.executable} -m pip"


@dataclass(frozen=True)
class Finding:
    """Result of one examination: a line of the table."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    """A command, or a sentence ending in one; empty if there is nothing to do."""


def diagnose_machine() -> list[Finding]:
    """Run all examinations; one that raises becomes a finding as well."""
    examinations: tuple[tuple[str, Callable[[], Finding], str], ...] = (
        ("Python", _python, "python3.11 -m venv .venv"),
        ("강의 파일", _course_files, f"{_PIP} install --force-reinstall hanstep"),
        ("PyTorch", _torch, f"{_PIP} install --force-reinstall torch"),
        ("장치", _device, f"{_PIP} install --force-reinstall torch"),
        ("격리", _sandbox, "sudo apt-get install -y bubblewrap"),
        ("커널의 한도", _cgroups, _DELEGATED_SESSION),
        ("글꼴", _fonts, f"{_PIP} install --force-reinstall matplotlib hanstep"),
        ("Jupyter", _jupyter, f"{_PIP} install --force-reinstall jupyterlab ipykernel"),
        ("진도 폴더", _progress_folder, "export HANSTEP_HOME=쓸_수_있는_폴더"),
    )
    return [_examined(name, examine, remedy) for name, examine, remedy in examinations]


def render(findings: list[Finding]) -> "Table":
    """Return the findings as a table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="grader doctor", show_lines=False, title_justify="left")
    for column in ("", "항목", "상태"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        state = Text(finding.detail)
        if finding.remedy:
            state.append("\n→ ").append(finding.remedy, style="bold")
        mark = Text("됨", style="green") if finding.ok else Text("안 됨", style="bold red")
        table.add_row(mark, Text(finding.name), state)
    return table


def _examined(name: str, examine: Callable[[], Finding], remedy: str) -> Finding:
    try:
        return examine()
    except Exception as error:
        return Finding(name, False, f"{type(error).__name__}: {str(error)[:300]}", remedy)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return Finding("Python", False, f"{version}: 3.11 이상이 필요해요", "python3.11 -m venv .venv")
    return Finding("Python", True, f"{version} ({sys.executable})")


def _course_files() -> Finding:
    from grader.course.reading import load_course
    from grader.paths import course_root, is_checkout

    course = load_course()
    missing = [part.place for part in course.parts if not part.notebook.is_file()]
    if missing:
        remedy = "grader build" if is_checkout() else f"{_PIP} install --force-reinstall hanstep"
        return Finding("강의 파일", False, f"노트북이 없어요: {', '.join(missing)}", remedy)
    count = sum(len(lesson.counted) for lesson in course.lessons)
    return Finding("강의 파일", True, f"레슨 {len(course.lessons)}개, 연습 문제 {count}개 ({course_root()})")


def _torch() -> Finding:
    import torch

    weight = torch.tensor([2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad((weight * weight).sum(), weight)
    if gradient.item() != 4.0:
        return Finding("PyTorch", False, "역전파 결과가 틀려요", f"{_PIP} install --force-reinstall torch")
    build = f"CUDA {torch.version.cuda} 빌드" if torch.version.cuda else "CPU 빌드"
    return Finding("PyTorch", True, f"{torch.__version__} ({build}, 스레드 {torch.get_num_threads()}개)")


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name(0)
        try:
            torch.ones(8, 8, device="cuda").matmul(torch.ones(8, 8, device="cuda")).sum().item()
        except RuntimeError as error:
            first = str(error).splitlines()[0][:200]
            remedy = f"{_PIP} install --upgrade torch (GPU에 맞는 빌드), 또는 --device cpu"
            return Finding("장치", False, f"{name}: 계산이 안 돼요 ({first})", remedy)
        return Finding("장치", True, f"CUDA: {name}")
    if not Path("/dev/nvidiactl").exists():
        return Finding("장치", True, "CPU (GPU 없이 모든 레슨을 할 수 있어요)")
    if torch.version.cuda is None:
        detail = "CPU (GPU가 있지만 PyTorch가 CPU 빌드라 쓰지 않아요)"
        return Finding(
            "장치", True, detail, f"GPU도 쓰려면: {_PIP} install --upgrade --force-reinstall torch"
        )
    return Finding("장치", False, "GPU가 있지만 CUDA를 쓸 수 없어요", "드라이버를 확인해 주세요: nvidia-smi")


def _sandbox() -> Finding:
    from grader.paths import course_root
    from grader.sandbox.bubblewrap import explain_probe, probe
    from grader.sandbox.packages import knows_dependencies

    found = probe()
    if not found.available:
        lines = [
            line for line in explain_probe(found).splitlines() if not found.remedy or found.remedy not in line
        ]
        remedy = found.remedy or "grader grade … --sandbox none (믿을 수 있는 코드만)"
        return Finding("격리", False, "\n".join(lines), remedy)
    detail = "bubblewrap으로 제출물을 가둬서 실행해요"
    if not knows_dependencies():
        detail += ". 강의가 설치되어 있지 않아서, 강의에 필요하지 않은 패키지도 제출물이 import할 수 있어요"
        return Finding("격리", True, detail, f"{_PIP} install -e {shlex.quote(str(course_root()))}")
    return Finding("격리", True, detail)


def _cgroups() -> Finding:
    from grader.sandbox import cgroups

    # Only trying tells. This moves the process into another cgroup, which is harmless because it ends soon.
    found = cgroups.enter_prepared_parent(cgroups.own_cgroup())
    if found.missing is None:
        return Finding("커널의 한도", True, "cgroup v2로 제출물마다 메모리, 프로세스, 프로세서의 한도를 둬요")
    why = {
        "cgroup": "cgroup v2가 없어요",
        "controllers": f"cgroup v2에서 쓸 수 없는 제어기: {found.detail}",
        "delegation": f"이 세션이 나눠 쓸 수 있는 cgroup이 없어요: {found.detail}",
    }[found.missing]
    detail = f"{why}. 프로세스마다의 한도(rlimit)와 감시로 막아요"
    return Finding("커널의 한도", True, detail, _DELEGATED_SESSION if found.missing == "delegation" else "")


def _fonts() -> Finding:
    from matplotlib import font_manager, ft2font

    from grader.paths import asset_path
    from grader.plots import FONT_FAMILY, FONT_FILES

    for name in FONT_FILES:
        path = asset_path("fonts", name)
        if not path.is_file():
            return Finding("글꼴", False, f"{path}가 없어요", f"{_PIP} install --force-reinstall hanstep")
        if not ft2font.FT2Font(str(path)).get_char_index(ord(_RARE_SYLLABLE)):
            return Finding(
                "글꼴", False, f"{name}에 빠진 글자가 있어요", f"{_PIP} install --force-reinstall hanstep"
            )
        font_manager.fontManager.addfont(str(path))
    found = font_manager.findfont(FONT_FAMILY, fallback_to_default=False)
    return Finding("글꼴", True, f"{FONT_FAMILY} ({Path(found).name}), 그림의 한글이 보여요")


def _jupyter() -> Finding:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    lab, kernel = metadata.version("jupyterlab"), metadata.version("ipykernel")
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        remedy = f"{sys.executable} -m ipykernel install --sys-prefix"
        return Finding("Jupyter", False, "python3 커널이 등록되어 있지 않아요", remedy)
    program = spec.argv[0] if spec.argv else ""
    if os.path.isabs(program) and Path(program).resolve() != Path(sys.executable).resolve():
        remedy = f"{sys.executable} -m ipykernel install --sys-prefix"
        return Finding("Jupyter", False, f"python3 커널이 다른 Python을 가리켜요: {program}", remedy)
    return Finding("Jupyter", True, f"JupyterLab {lab}, ipykernel {kernel}")


def _progress_folder() -> Finding:
    from grader.learner.progress import Progress

    folder = Progress.path().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        detail = f"{folder}에 쓸 수 없어 진도가 남지 않아요 ({error.strerror})"
        return Finding("진도 폴더", False, detail, "export HANSTEP_HOME=쓸_수_있는_폴더")
    return Finding("진도 폴더", True, str(folder))
