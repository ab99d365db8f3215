"""What one more submission of a class costs, here, with nbgrader, and with Otter: the same ones, in one run.

Run by hand; pytest does not collect it. The others need environments of their own, with torch in them:

    python -m venv /tmp/nbgrader && /tmp/nbgrader/bin/pip install nbgrader==0.9.6 torch==2.13.0 ipykernel
    python -m venv /tmp/otter && /tmp/otter/bin/pip install otter-grader==7.0.0 torch==2.13.0 ipykernel
    python tests/bench/throughput.py --nbgrader /tmp/nbgrader/bin/python --otter /tmp/otter/bin/python

Each submission is one notebook with two exercises. The cost of one more is the slope between a small and a large
class, so that what is paid once (starting Python, torch and a sandbox) is not counted twice. Otter isolates with
Docker; without it, as here, it runs one submission at a time (`otter run`), whose whole time is what one more costs.

No two programs of our class have the same text, so that nothing is saved by parsing a text only once.

`--classes 100 1000 10000` grades larger and larger classes, for how time and memory grow; `--wrong` hands in wrong
programs too, from tests/first_tries.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import nbformat

from grader.course.reading import load_course
from grader.judging.solution import exercise_source
from grader.observe.play import play
from grader.observe.program import load_program
from tests.bench.class_run import Took, run
from tests.sample_programs import samples

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


def notebook(*, with_tests: bool, number: int | None = None) -> nbformat.NotebookNode:
    """What a student hands in, or the source of the assignment; with a `number`, of two programs like no others."""
    course = load_course()
    cells = [nbformat.v4.new_code_cell(IMPORTS)]
    for name in EXERCISES:
        lines = exercise_source(course.exercise(name)).splitlines(keepends=True)
        own = [] if number is None else [f"    number = {number}\n"]
        body = lines.index("    # BEGIN SOLUTION\n")
        lines[body:body] = own
        source = "".join(line for line in lines if "SOLUTION" not in line)  # nbgrader has such marks too
        cells.append(cell(source, name, solution=True))
        if with_tests:
            cells.append(cell(TESTS[name], f"test-{name}", grade=True, locked=True, points=1))
    made = nbformat.v4.new_notebook(cells=cells)
    made["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def ours(folder: Path, count: int, jobs: int, *, wrong: bool = False) -> Took:
    """`grader grade` on so many submissions; `first` is when the first result was there."""
    submissions, out = folder / "ours", folder / "report"
    for place in (submissions, out):
        shutil.rmtree(place, ignore_errors=True)
    submissions.mkdir()
    tries = [sample.text for name in EXERCISES for sample in samples("first_tries", name)]
    for number in range(count):
        if wrong and number % 2:
            wrong_text = tries[number // 2 % len(tries)]
            submissions.joinpath(f"s{number:05}.py").write_text(wrong_text, encoding="utf-8")
        else:
            right = notebook(with_tests=False, number=number)
            submissions.joinpath(f"s{number:05}.ipynb").write_text(nbformat.writes(right), encoding="utf-8")
    journal = out / "unfinished.jsonl"

    def has_a_result() -> bool:
        return (
            journal.exists() and journal.read_bytes().count(b"\n") > 1
        )  # the first line says how the run is set up

    command = [sys.executable, "-m", "grader", "grade", str(submissions), "--lesson", "01", "--out", str(out)]
    return run([*command, "--seed", "1", "--jobs", str(jobs)], has_a_result)


def bare() -> float:
    """Processor seconds of the two functions in a warm process: what any grader of the same scenarios must spend."""
    course = load_course()
    pairs = [
        (course.exercise(name), load_program(exercise_source(course.exercise(name)))) for name in EXERCISES
    ]
    for round_ in range(6):
        if round_ == 1:
            started = time.process_time()
        for exercise, program in pairs:
            assert play(exercise.driver, program, seed=1).runs
    return (time.process_time() - started) / 5


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


def otters(folder: Path, count: int, python: str) -> float:
    """Seconds that `otter run` takes for so many submissions, one after another."""
    home = folder / "otter"
    (home / "tests").mkdir(parents=True)
    for name in EXERCISES:
        body = textwrap.indent(TESTS[name].replace(f"{name}(model", f"env[{name!r}](model").strip(), "    ")
        home.joinpath("tests", f"{name}.py").write_text(
            "from otter.test_files import test_case\n\n"
            f"OK_FORMAT = False\nname = {name!r}\npoints = 1\n\n\n@test_case(points=1)\ndef test(env):\n{body}\n",
            encoding="utf-8",
        )
    own = {**os.environ, "PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])}
    otter = [str(Path(python).with_name("otter"))]

    def call(*arguments: str) -> None:
        subprocess.run([*otter, *arguments], cwd=home, env=own, check=True, capture_output=True)

    call("generate", "-t", "tests", "--no-environment")
    nbformat.write(notebook(with_tests=False), home / "two.ipynb")
    (home / "out").mkdir()
    started = time.perf_counter()
    for _ in range(count):
        call("run", "-a", "autograder.zip", "-o", "out", "two.ipynb")
    took = time.perf_counter() - started
    assert home.joinpath("out", "results.json").read_text(encoding="utf-8").count('"score": 1') == len(
        EXERCISES
    )
    return took


def main() -> None:
    """Print the tables."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--submissions", type=int, default=200)
    asked.add_argument("--jobs", type=int, default=os.cpu_count())
    asked.add_argument("--nbgrader", help="Python of an environment with nbgrader and torch")
    asked.add_argument("--otter", help="Python of an environment with otter-grader and torch")
    asked.add_argument(
        "--classes", type=int, nargs="*", default=(), help="how time and memory grow: 100 1000 10000"
    )
    asked.add_argument("--wrong", action="store_true", help="every second submission of these is a wrong one")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="hanstep-bench-") as name:
        folder = Path(name)
        few = max(2, options.submissions // 10)
        more = options.submissions - few
        short, long = (ours(folder, count, options.jobs) for count in (few, options.submissions))
        one, cpu = (long.seconds - short.seconds) / more, (long.cpu - short.cpu) / more
        print(f"{options.submissions} submissions, {options.jobs} workers, {os.cpu_count()} processors\n")
        print("| grader | one more (s) | times hanstep |")
        print("|---|---|---|")
        print(f"| hanstep | {one:.3f} | 1 |", flush=True)
        if options.nbgrader:
            theirs = (nbgraders(folder, 10, options.nbgrader) - nbgraders(folder, 2, options.nbgrader)) / 8
            print(f"| nbgrader | {theirs:.2f} | {theirs / one:.0f} |", flush=True)
        if options.otter:
            theirs = otters(folder, 3, options.otter) / 3
            print(f"| Otter (`otter run`) | {theirs:.2f} | {theirs / one:.0f} |", flush=True)
        print(
            f"\nfirst result after {long.first:.1f} s; processor time of one more: {1000 * cpu:.0f} ms,",
            end=" ",
        )
        print(f"bare functions {1000 * (alone := bare()):.0f} ms, ratio {cpu / alone:.1f}", flush=True)
        if options.classes:
            print("\n| class | s | s each | processor s each | peak GiB |\n|---|---|---|---|---|")
        for count in options.classes:
            took = ours(folder, count, options.jobs, wrong=options.wrong)
            each = (took.seconds / count, took.cpu / count)
            print(
                f"| {count} | {took.seconds:.0f} | {each[0]:.3f} | {each[1]:.3f} | {took.peak:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
