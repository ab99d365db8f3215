"""What one more submission of a class costs, here and with nbgrader: the same right submissions, in one run.

Run by hand; pytest does not collect it. nbgrader needs an environment of its own, with torch in it:

    python -m venv /tmp/nbgrader && /tmp/nbgrader/bin/pip install nbgrader==0.9.6 torch==2.13.0 ipykernel
    python tests/bench/throughput.py --submissions 200 --nbgrader /tmp/nbgrader/bin/python

Each submission is one notebook with two exercises. The cost of one more is the slope between a small and a large
class, so that what is paid once (starting Python, torch and a sandbox) is not counted twice.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import nbformat

from grader.course_files import load_course
from grader.judging.edits import exercise_source

EXERCISES = ("train_step", "accumulate")
IMPORTS = "import torch\nfrom torch import nn"
TESTS = {
    "train_step": """
import torch
from torch import nn
torch.manual_seed(0)
model, loss_fn = nn.Linear(3, 2), nn.MSELoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    xb, yb = torch.randn(4, 3), torch.randn(4, 2)
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, list(model.parameters()))
    wanted = [p.detach() - 0.1 * g for p, g in zip(model.parameters(), grads)]
    assert abs(train_step(model, opt, loss_fn, xb, yb) - loss.item()) < 1e-6
    assert all(torch.allclose(p, w) for p, w in zip(model.parameters(), wanted))
""",
    "accumulate": """
import torch
from torch import nn
torch.manual_seed(1)
model, loss_fn = nn.Linear(3, 2), nn.MSELoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
data = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(8)]
for window in (data[:4], data[4:]):
    xb, yb = (torch.cat(part) for part in zip(*window))
    grads = torch.autograd.grad(loss_fn(model(xb), yb), list(model.parameters()))
    wanted = [p.detach() - 0.1 * g for p, g in zip(model.parameters(), grads)]
    accumulate(model, opt, loss_fn, window, 4)
    assert all(torch.allclose(p, w, atol=1e-6) for p, w in zip(model.parameters(), wanted))
""",
}


def cell(source: str, name: str, **marks: bool | int) -> nbformat.NotebookNode:
    """A code cell as nbgrader knows it."""
    graded = {"schema_version": 3, "grade_id": name, "grade": False, "solution": False, "locked": False}
    made = nbformat.v4.new_code_cell(source)
    made["metadata"]["nbgrader"] = {**graded, "task": False, **marks}
    return made


def notebook(*, with_tests: bool) -> nbformat.NotebookNode:
    """What a student hands in, or the source of the assignment."""
    course = load_course()
    cells = [nbformat.v4.new_code_cell(IMPORTS)]
    for name in EXERCISES:
        lines = exercise_source(course.exercise(name)).splitlines(keepends=True)
        source = "".join(line for line in lines if "SOLUTION" not in line)  # nbgrader has such marks too
        cells.append(cell(source, name, solution=True))
        if with_tests:
            cells.append(cell(TESTS[name], f"test-{name}", grade=True, locked=True, points=1))
    made = nbformat.v4.new_notebook(cells=cells)
    made["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def ours(folder: Path, count: int) -> tuple[float, float]:
    """Seconds that `grader grade` takes for so many submissions, and until the first result."""
    submissions, out = folder / f"ours-{count}", folder / f"report-{count}"
    submissions.mkdir()
    for number in range(count):
        nbformat.write(notebook(with_tests=False), submissions / f"s{number:04}.ipynb")
    first: list[float] = []
    done = threading.Event()

    def watch() -> None:
        journal = out / "unfinished.jsonl"
        while not first and not done.is_set():
            if (
                journal.exists() and journal.read_bytes().count(b"\n") > 1
            ):  # the first line says how the run is set up
                first.append(time.perf_counter() - started)
            time.sleep(0.02)

    started = time.perf_counter()
    watcher = threading.Thread(target=watch)
    watcher.start()
    command = [sys.executable, "-m", "grader", "grade", str(submissions), "--lesson", "01", "--out", str(out)]
    subprocess.run([*command, "--seed", "1"], check=True, capture_output=True)
    took = time.perf_counter() - started
    done.set()
    watcher.join()
    return took, first[0] if first else took


def nbgraders(folder: Path, count: int, python: str) -> float:
    """Seconds that `nbgrader autograde` takes for so many submissions."""
    home = folder / f"nbgrader-{count}"
    source = home / "source" / "ps1"
    source.mkdir(parents=True)
    nbformat.write(notebook(with_tests=True), source / "two.ipynb")
    nbgrader = [python, "-m", "nbgrader"]
    # It calls `alembic` by its name.
    own = {**os.environ, "PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])}
    subprocess.run(
        [*nbgrader, "generate_assignment", "ps1", "--force"],
        cwd=home,
        env=own,
        check=True,
        capture_output=True,
    )
    for number in range(count):
        submitted = home / "submitted" / f"s{number:04}" / "ps1"
        submitted.mkdir(parents=True)
        nbformat.write(notebook(with_tests=True), submitted / "two.ipynb")
    started = time.perf_counter()
    subprocess.run([*nbgrader, "autograde", "ps1"], cwd=home, env=own, check=True, capture_output=True)
    took = time.perf_counter() - started
    graded = list((home / "autograded").rglob("two.ipynb"))
    assert len(graded) == count, f"{len(graded)} of {count} were graded"
    return took


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--submissions", type=int, default=200)
    asked.add_argument("--nbgrader", help="Python of an environment with nbgrader and torch")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="hanstep-bench-") as name:
        folder = Path(name)
        few = max(2, options.submissions // 10)
        (short, first), (long, _) = ours(folder, few), ours(folder, options.submissions)
        one = (long - short) / (options.submissions - few)
        print(
            f"hanstep: {few} in {short:.1f} s, {options.submissions} in {long:.1f} s; first result after {first:.1f} s"
        )
        print(f"hanstep: {1000 * one:.0f} ms for one more, {os.cpu_count()} processors")
        if options.nbgrader:
            short, long = (nbgraders(folder, count, options.nbgrader) for count in (2, 10))
            theirs = (long - short) / 8
            print(f"nbgrader: 2 in {short:.1f} s, 10 in {long:.1f} s; {theirs:.2f} s for one more")
            print(f"ratio: {theirs / one:.0f}")


if __name__ == "__main__":
    main()
