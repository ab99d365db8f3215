"""The attacks in tests/attacks, and what is to become of each."""

import sys
from dataclasses import dataclass

from grader.sandbox.sandbox import Outcome
from tests.places import TESTS
from tests.sandbox.neighbour import RIGHT

ATTACKS = TESTS / "attacks"


@dataclass(frozen=True)
class Expected:
    """What becomes of an attack's exercise, and of the honest one that stands in the same file."""

    status: str = "ran"
    """One or several, joined by `|`, where it depends on how fast the machine is."""
    says: str = ""
    """Pattern of `detail`, or of the failure `Type: message`; empty: it ran to its (wrong) end."""
    other: str = "right"
    """`right`: the exercise after it is untouched; `lost`: it costs the same file's other exercises too."""
    patient: bool = False
    """It has as much time as it wants: what it looks for is not there, however long it looks."""


ATTACKS_EXPECTED = {
    # Looking for answers and secrets.
    "reads_answers": Expected(says=r"LookupError: found: $", patient=True),
    "finds_drivers": Expected(
        says=r"LookupError: held: \['grader.exercises.probe._one_step', 'grader.exercises.probe.first'\] \[\]$",
        patient=True,
    ),
    # Putting its own in the place of what it is observed with.
    "patches_torch": Expected(),
    "freezes_versions": Expected(),
    "replaces_again_when_restored": Expected(),
    "replaces_the_clock": Expected(says=r"RuntimeError: .*`time.perf_counter`"),
    "replaces_without_end": Expected("crashed", says="종료 코드 1", other="lost"),
    "exchanges_classes": Expected(),
    "assigns_later": Expected(says=r"RuntimeError: .*`Linear.forward`"),
    "names_its_thread": Expected(),
    "renames_classes": Expected(says=r"RuntimeError: .*`Tensor`|RuntimeError: .*`float`"),
    "registers_copiers": Expected(says=r"RuntimeError: .*`copy._copy_dispatch`, `copy._deepcopy_dispatch`"),
    "exchanges_names": Expected(says=r"RuntimeError: .*`torch.ones_like`, `torch.zeros_like`"),
    "patches_torch_while_it_runs": Expected(says=r"RuntimeError: .*`Linear.forward`, `SGD.step`"),
    "changes_functions_within": Expected(),
    "changes_functions_while_they_run": Expected(
        says=r"RuntimeError: .*`torch._dynamo.graph_break`, `Linear.forward`, `.*step`, `Optimizer.zero_grad`"
    ),
    "changes_functions_in_wrappers": Expected(),
    "patches_modules_behind": Expected(),
    "hooks_every_module": Expected(says=r"RuntimeError: .*`_global_forward_hooks`, `Everything`"),
    "registers_kernels": Expected(says=r"RuntimeError: .*연산자의 구현은 더하거나 바꿀 수 없어요"),
    "registers_for_the_profiler": Expected(says=r"RuntimeError: .*연산자의 구현은 더하거나 바꿀 수 없어요"),
    "registers_kernels_by_hand": Expected(says=r"LookupError: refused: 8$"),
    "falls_back_to_its_own": Expected(says=r"RuntimeError: .*연산자의 구현은 더하거나 바꿀 수 없어요"),
    "dispatches_in_python": Expected(says=r"RuntimeError: .*`PythonDispatcher`"),
    "leaves_modes": Expected(says=r"RuntimeError: .*`Nothing`"),
    "leaves_modes_for_the_absent_gpu": Expected(says=r"RuntimeError: .*`Nothing`"),
    "changes_the_mode_for_the_absent_gpu": Expected(),
    "leaves_hooks_for_saved_tensors": Expected(says=r"RuntimeError: .*`saved_tensors_hooks`"),
    "imports_a_ready_made_answer": Expected(says=r"LookupError: found: \[\] of \d\d+ packages"),
    "reads_canary": Expected(says=r"FileNotFoundError: .*canary"),
    "reads_environment": Expected(says=r"LookupError: (?!.*token-of-the-instructor)"),
    "reads_memory": Expected(says=r"LookupError: found: 0 in much", patient=True),
    "lists_home": Expected(says=r"LookupError: "),
    # Getting out.
    "connects": Expected(says=r"PermissionError"),
    "connects_by_hand": Expected("ran|crashed", says=r"sockets: \[\]|종료 코드 1"),
    "leaves_namespaces": Expected(says=r"OSError: done: \[\] \[\]"),
    "holds_leases": Expected(says=r"OSError: done: \[\] on linux"),
    "runs_shell": Expected(says=r"PermissionError"),
    "writes_outside": Expected(says=r"OSError: written: \[\]"),
    "deletes_files": Expected("ran|timeout"),
    "kills_parent": Expected(),
    "outlives_server": Expected("timeout"),
    # Taking more than there is.
    "fork_bomb": Expected(says=r"ChildProcessError: made: 0"),
    "thread_bomb": Expected("crashed", says="너무 많은 스레드"),
    "takes_memory_torch": Expected("memory"),
    "takes_memory_numpy": Expected("memory"),
    "takes_memory_bytes": Expected("memory"),
    "takes_memory_shared": Expected("memory"),
    "takes_memory_slowly": Expected("memory|timeout"),
    # EMFILE, the descriptor limit of `Bounds.open_files`, and ENOSPC, when `Bounds.tmp_inodes` are there.
    "opens_many_files": Expected(says=r"OSError: open: 2[0-5]\d 24, made: 40\d\d 28"),
    "fills_disk": Expected(says=r"OSError: \[Errno 28\]"),
    "endless_loop": Expected("timeout"),
    "endless_loop_catching": Expected("timeout"),
    "endless_import": Expected("timeout", other="lost"),
    "endless_output": Expected("output"),
    "endless_raw_output": Expected("output"),
    "deep_recursion": Expected("memory|timeout|crashed"),
    "grows_trace": Expected("crashed|timeout|memory"),
    # Ending early.
    "exits": Expected("crashed", says="종료 코드 0"),
    "exits_at_import": Expected("crashed", says="종료 코드 3", other="lost"),
    "sys_exits": Expected(says="SystemExit"),
    "segfaults": Expected("crashed", says="SIGSEGV"),
    "aborts": Expected("crashed", says="SIG"),
    "closes_files": Expected("crashed"),
    # Lying.
    "patches_comparisons": Expected(other="lost"),
    "patches_recorder": Expected(says=r"RuntimeError: .* 바뀐 것: 채점기의 코드$", other="lost"),
    "patches_serialization": Expected(says=r"RuntimeError: .*`json.dumps`"),
    "hides_gradients": Expected(other="lost"),
    "breaks_off": Expected(says=""),
    "forges_frames": Expected("crashed", other="lost"),
    "forges_trace": Expected(other="lost"),
    "forges_giant_frame": Expected("crashed", says="읽을 수 없는 답"),
    "forges_endless_timeline": Expected("crashed", says="읽을 수 없는 기록", other="lost"),
    "forges_deep_fact": Expected("crashed", says="읽을 수 없는 기록", other="lost"),
    "forges_bad_json": Expected("crashed", says="읽을 수 없는 답"),
    "leaves_lying_gradients": Expected(),
    "leaves_lying_parameters": Expected(),
    "lies_without_the_guard": Expected(),
    "blinds_what_restores": Expected(),
    "blinds_what_notes": Expected(),
    "computes_gradients_of_its_own": Expected(),
    "acts_when_it_is_deleted": Expected(),
    # Before Python 3.12 there is no `sys.monitoring`; from then on the attack spoils what its own author did besides.
    "monitors_execution": Expected(other="lost" if sys.version_info >= (3, 12) else "right"),
    "traces_execution": Expected(says="", other="lost"),
    # Being strange.
    "resizes_layers": Expected("ran|crashed"),
    "leaves_threads": Expected(),
    "huge_message": Expected(says=r"^ValueError: x{100,2000}$"),
    "hostile_exception": Expected(says=""),
    "hostile_base_exception": Expected(says="^Wild: "),
    "hostile_return": Expected(says="KeyboardInterrupt"),
    "hostile_streams": Expected(),
    "replaces_when_flushed": Expected(),
    "interrupts": Expected(says="KeyboardInterrupt"),
    "own_base_exception": Expected(says="Stop: 아무도 잡지 않아요"),
    "ends_the_check": Expected(says="TimeLimit"),
}


def said(outcome: Outcome) -> str:
    """The detail, or what the code raised."""
    failures = [] if outcome.trace is None else [outcome.trace.load_failure]
    failures += [] if outcome.trace is None else [run.failure for run in outcome.trace.runs.values()]
    return outcome.detail or next((f"{f.type}: {f.message}" for f in failures if f is not None), "")


def attack(name: str, **places: str) -> str:
    """The attack's file with an honest `second` behind it."""
    text = (ATTACKS / f"{name}.py").read_text()
    for place, value in places.items():
        text = text.replace(place, value)
    return text + RIGHT.format(name="second")
