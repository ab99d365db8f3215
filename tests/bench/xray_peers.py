"""Compare xray with published tools on all scripts: `python -m tests.bench.xray_peers [--only PEER]`.

The tools are not dependencies: install them first beside the course,
`pip install mldoct==1.0.0 torch-audit==0.3.0 torchtest2==0.1.0`. Those that read no script but want a model, an
optimizer and a batch are given what the script itself uses at its first update, as their own guides show it. A bug
counts as found when a finding of the tool speaks of this kind of bug anywhere (`KINDS`, read generously), and as found
at its line within two lines; a right script counts as flagged when anything is said but what is style or speed.
Prints the rows of the table in README; what xray found is read from `tests/xray/measured.json`.
"""

import argparse
import functools
import json
import os
import runpy
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.optim.optimizer import register_optimizer_step_pre_hook

XRAY = Path(__file__).parents[1] / "xray"
SCRIPTS = XRAY / "scripts"
NEAR = 2
SECONDS = 120
LOSSES = (
    "cross_entropy",
    "mse_loss",
    "nll_loss",
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy",
    "l1_loss",
    "smooth_l1_loss",
    "kl_div",
)

# The kind of a tool's finding -> the bugs of the index that it speaks of.
_OUTSIDE_OPTIMIZER = {
    "optimizer-before-head",
    "optimizer-before-new-layer",
    "optimizer-consumed-generator",
    "head-replaced-after-optimizer",
    "stale-optimizer-head",
    "parameters-in-no-optimizer",
    "unfrozen-in-no-optimizer",
}
_NO_GRADIENT = {
    "no-grad-forward",
    "detached-forward",
    "loss-rewrapped",
    "dice-thresholded",
    "accidental-freeze",
    "require-grad-typo",
}
_PROBABILITIES_FOR_LOGITS = {
    "softmax-before-ce",
    "softmax-twice",
    "sigmoid-before-bcewithlogits",
    "sigmoid-before-bce-with-logits",
    "nll-on-logits",
    "kl-on-probabilities",
    "kl-div-without-log",
}
_BROADCAST = {"mse-broadcast", "advantage-broadcast", "broadcast"}
KINDS = {
    "missing_zero_grad": {"missing-zero-grad", "zero-grad-per-epoch"},
    "double_softmax": {"softmax-before-ce", "softmax-twice"},
    "oom_leak": {"loss-graph-kept", "ema-keeps-graph", "graph-over-updates"},
    "missing_eval": {"eval-in-train-mode", "teacher-in-train-mode"},
    "TA100": {"fp16-no-scaler"},
    "TA102": {"sum-loss-lr"},
    "TA103": {"accidental-freeze", "require-grad-typo", "layers-in-python-list"},
    "TA104": {"zero-grad-after-backward", "step-before-backward", *_NO_GRADIENT, *_OUTSIDE_OPTIMIZER},
    "TA203": {"fp16-no-scaler"},
    "TA301": {"inplace-input"},
    "TA304": {"bn-batch-of-one"},
    "TA402": {"weight-decay-on-norm"},
    "TA500": {"layers-in-python-list", "detached-forward"},
    "forward": {"bn-batch-of-one"},
    "loss": {"loss-rewrapped", "no-grad-forward", *_BROADCAST},
    "initial_loss": _PROBABILITIES_FOR_LOGITS,
    "output_range": _PROBABILITIES_FOR_LOGITS,
    "optimizer_coverage": {"layers-in-python-list", *_OUTSIDE_OPTIMIZER},
    "gradient_flow": _NO_GRADIENT,
    "params_change": {"lr-zero", *_OUTSIDE_OPTIMIZER},
    "frozen_params": {"accidental-freeze", "require-grad-typo"},
    "batch_independence": {"bn-batch-of-one"},
}
# Advice on style or speed: counted apart, as the tools' own severities do.
ADVICE = {"cpu_bottleneck", "missing_clip", "TA200", "TA201", "TA202", "TA203", "TA401", "TA400", "TA404"}


class Said(NamedTuple):
    """A finding of a tool: its kind, and its line where the tool tells one."""

    kind: str
    line: int | None


def mldoct(script: Path) -> list[Said]:
    """Read the script's text with `mldoctor check`'s rules."""
    from mldoctor.linter import lint_script  # type: ignore[import-not-found]

    return [Said(one["type"], one["line"]) for one in lint_script(str(script))[0]]


def torch_audit(script: Path) -> list[Said]:
    """Run the script with `autopatch` on each model at its optimizer's first step, every step audited."""
    from torch_audit import autopatch  # type: ignore[import-not-found]

    auditors: list[Any] = []

    def audit(model: nn.Module, optimizer: torch.optim.Optimizer, batch: "Batch") -> None:
        auditors.append(
            autopatch(model, optimizer=optimizer, every_n_steps=1, reporters=[], fail_level="FATAL")
        )

    _run(script, audit)
    found = {Said(one.rule_id, None) for auditor in auditors for one in auditor.finish(report=False).findings}
    return sorted(found)


def torchtest2(script: Path) -> list[Said]:
    """Call `check_model` with the batch and the loss of each optimizer's first step."""
    from torchtest2 import check_model  # type: ignore[import-not-found]

    found: set[Said] = set()

    def check(model: nn.Module, optimizer: torch.optim.Optimizer, batch: "Batch") -> None:
        inputs = batch.inputs[0] if len(batch.inputs) == 1 else batch.inputs
        report = check_model(model, inputs, batch.targets, loss_fn=batch.loss, optimizer=optimizer)
        found.update(Said(one.name, None) for one in (*report.failures, *report.warnings))

    _run(script, check)
    return sorted(found)


PEERS: dict[str, Callable[[Path], list[Said]]] = {
    "mldoct": mldoct,
    "torch-audit": torch_audit,
    "torchtest2": torchtest2,
}


class Batch(NamedTuple):
    """What a model was called with last, and the loss function with the targets that followed."""

    inputs: tuple[Any, ...]
    targets: Any
    loss: Callable[..., Any] | None


def _run(script: Path, first_step: Callable[[nn.Module, torch.optim.Optimizer, Batch], None]) -> None:
    """Run a script; at each optimizer's first step call `first_step` with the model that holds its parameters."""
    called: dict[int, tuple[nn.Module, tuple[Any, ...]]] = {}
    last_loss: list[Any] = [None, None]
    seen: set[int] = set()
    is_ours = False

    def remember(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if not is_ours:
            called[id(module)] = (module, inputs)

    def recording(loss: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(loss)
        def call(*arguments: Any, **options: Any) -> Any:
            if not is_ours and len(arguments) >= 2:
                last_loss[:] = arguments[1], functools.partial(loss, **options)
            return loss(*arguments, **options)

        return call

    def before_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        nonlocal is_ours
        if is_ours or id(optimizer) in seen:
            return
        seen.add(id(optimizer))
        held = {id(one) for group in optimizer.param_groups for one in group["params"]}
        fitting = [
            (module, inputs)
            for module, inputs in called.values()
            if held & {id(one) for one in module.parameters()}
        ]
        if not fitting:
            return
        # The outermost model is the one with the most parameters.
        model, inputs = max(fitting, key=lambda one: sum(p.numel() for p in one[0].parameters()))
        is_ours = True
        try:
            first_step(model, optimizer, Batch(inputs, *last_loss))
        finally:
            is_ours = False

    for name in LOSSES:
        setattr(functional, name, recording(getattr(functional, name)))
    nn.modules.module.register_module_forward_pre_hook(remember)
    register_optimizer_step_pre_hook(before_step)
    sys.argv = [str(script)]
    sys.path[0] = str(script.parent)
    with suppress(Exception, SystemExit):  # a wrong script may crash: what was said before counts
        runpy.run_path(str(script), run_name="__main__")


def forked(tool: Callable[[Path], list[Said]], script: Path) -> list[Said]:
    """Apply a tool in a child of this process, in an empty folder; a crash or a time-out is an empty list."""
    with tempfile.TemporaryDirectory() as folder:
        answer, errors = Path(folder) / "answer.json", Path(folder) / "errors.txt"
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            torch.set_num_threads(1)
            try:
                answer.write_text(json.dumps(tool(script.resolve())), encoding="utf-8")
            except BaseException:  # whatever a tool does not stand is told and counts as silence
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        if not answer.exists():
            print("no answer:", errors.read_text(encoding="utf-8")[-300:], file=sys.stderr)
            return []
        return [Said(*one) for one in json.loads(answer.read_text(encoding="utf-8") or "[]")]


def row(peer: str) -> dict[str, int]:
    """Count what a tool finds in all scripts of the index and in their mended twins."""
    index = json.loads((SCRIPTS / "index.json").read_text(encoding="utf-8"))
    work = [(SCRIPTS / entry["file"], entry["bugs"]) for entry in index]
    work += [(twin, []) for twin in sorted((SCRIPTS / "fixed").glob("*.py"))]
    counts = dict.fromkeys(("bugs", "found", "at_line", "right", "flagged", "flagged_with_advice"), 0)
    for script, bugs in work:
        said = forked(PEERS[peer], script)
        for bug in bugs:
            speaking = [one for one in said if bug["id"] in KINDS.get(one.kind, ())]
            counts["bugs"] += 1
            counts["found"] += bool(speaking)
            counts["at_line"] += any(one.line and abs(one.line - bug["line"]) <= NEAR for one in speaking)
        if not bugs:
            counts["right"] += 1
            counts["flagged"] += any(one.kind not in ADVICE for one in said)
            counts["flagged_with_advice"] += bool(said)
        print(peer, script.name, said, file=sys.stderr, flush=True)
    return counts


def main() -> None:
    """Print the table's rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PEERS, help="measure this tool only")
    only = parser.parse_args().only
    print("| | bugs found | at the right line | right scripts flagged (with advice on style or speed) |")
    print("|---|---|---|---|")
    for peer in [only] if only else PEERS:
        try:
            name = f"{peer} {version(peer)}"
        except PackageNotFoundError:
            print(f"| {peer} | not installed | | |")
            continue
        found = row(peer)
        print(
            f"| {name} | {found['found']} of {found['bugs']} | {found['at_line']} | "
            f"{found['flagged']} of {found['right']} ({found['flagged_with_advice']}) |",
            flush=True,
        )
    total = json.loads((XRAY / "measured.json").read_text(encoding="utf-8"))["total"]
    print(
        f"| grader xray | {total['found']} of {total['bugs']} | {total['found']} | "
        f"{total['called_wrong']} of {total['right_scripts']} |"
    )


if __name__ == "__main__":
    main()
