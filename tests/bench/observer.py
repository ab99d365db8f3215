"""What an observer in a process of its own would cost: the optimizer steps there, gradients go over a socket.

Run by hand; pytest does not collect it: `python tests/bench/observer.py`. The student's process has a model to compute
with and a stand-in for the optimizer. Its `step` sends gradients and buffers, and gets the new parameters back; so do
SAM's two steps. What is compared never lies in the student's process. Three exercises as solved in the course, each as
often as its scenarios call it; processor time of both processes, against the same calls in one process.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn import functional as F

from grader.course.reading import load_course
from grader.judging.solution import solution_with_needed_imports
from grader.observe.program import load_program

ROUNDS, CALLS = 7, 30
Sam = dict[str, torch.Tensor]


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()


class Here:
    """The optimizer, or SAM over it, where it is stepped."""

    def __init__(self, net: nn.Module) -> None:
        self.net, self.opt = net, torch.optim.SGD(net.parameters(), lr=0.1)
        self.before: list[torch.Tensor] = []

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.opt.zero_grad(set_to_none)

    def step(self) -> None:
        self.opt.step()

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        scale = 0.05 / float(torch.cat([g.ravel() for g in gradients]).norm())
        self.before = [p.clone() for p in self.net.parameters()]
        for parameter, gradient in zip(self.net.parameters(), gradients, strict=True):
            parameter.add_(gradient, alpha=scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        for parameter, value in zip(self.net.parameters(), self.before, strict=True):
            parameter.copy_(value)
        self.step()
        if zero_grad:
            self.zero_grad()


class There:
    """Its stand-in in the student's process."""

    def __init__(self, net: nn.Module, channel: Connection) -> None:
        self.net, self.channel = net, channel
        self.param_groups = [{"params": list(net.parameters()), "lr": 0.1}]

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.net.zero_grad(set_to_none)

    def step(self) -> None:
        self._ask(b"step")

    def first_step(self, zero_grad: bool = False) -> None:
        self._ask(b"first_step")
        if zero_grad:
            self.zero_grad()

    def second_step(self, zero_grad: bool = False) -> None:
        self._ask(b"second_step")
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def _ask(self, what: bytes) -> None:
        self.channel.send_bytes(what)
        sent = {n: p.grad for n, p in self.net.named_parameters() if p.grad is not None}
        self.channel.send_bytes(save({**sent, **{f"buffer/{n}": b for n, b in self.net.named_buffers()}}))
        for name, value in load(self.channel.recv_bytes()).items():
            self.net.get_parameter(name).copy_(value)


def observe(channel: Connection) -> None:
    """The observer: applies what it is asked for, and keeps every state, as a recorder would."""
    torch.set_num_threads(1)
    net = model()
    here, states = Here(net), []
    while what := channel.recv_bytes():
        gradients = load(channel.recv_bytes())
        for name, parameter in net.named_parameters():
            parameter.grad = gradients.get(name)
        getattr(here, what.decode())()
        states.append(torch.cat([p.detach().ravel() for p in net.parameters()]))
        channel.send_bytes(save({n: p.detach() for n, p in net.named_parameters()}))
    channel.send(time.process_time())


def uses() -> dict[str, Callable[[Any, nn.Module, Any], None]]:
    """One call of each exercise's function."""
    xb, yb = torch.randn(12, 5, dtype=torch.float64), torch.randint(3, (12,))
    window = [(xb[i : i + 3], yb[i : i + 3]) for i in range(0, 12, 3)]
    loss = F.cross_entropy
    return {
        "train_step": lambda f, net, opt: f(net, opt, loss, xb, yb),
        "accumulate": lambda f, net, opt: f(net, opt, loss, window, 4),
        "sam_step": lambda f, net, opt: f(net, opt, loss, xb, yb),
    }


def cost(use: Callable[[Any, nn.Module, Any], None], function: Any, *, apart: bool) -> float:
    """Processor milliseconds of one call."""
    net = model()
    if not apart:
        here = Here(net)
        use(function, net, here)
        started = time.process_time()
        for _ in range(CALLS):
            use(function, net, here)
            torch.cat([p.detach().ravel() for p in net.parameters()])
        return (time.process_time() - started) * 1000 / CALLS
    channel, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("fork").Process(target=observe, args=(theirs,))
    other.start()
    there = There(net, channel)
    use(function, net, there)
    started = time.process_time()
    before = _processor_seconds(other.pid)
    for _ in range(CALLS * 10):
        use(function, net, there)
    spent = time.process_time() - started + _processor_seconds(other.pid) - before
    channel.send_bytes(b"")
    channel.recv()
    other.join()
    return spent * 1000 / (CALLS * 10)


def _processor_seconds(pid: int | None) -> float:
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()  # noqa: SIM115
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    course = load_course()
    for name, use in uses().items():
        function = load_program(
            solution_with_needed_imports(course.exercise(name).lesson), name=f"bench_{name}"
        ).names[name]
        pairs = [(cost(use, function, apart=False), cost(use, function, apart=True)) for _ in range(ROUNDS)]
        one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"{name:12} in one process {one:.2f} ms, apart {two:.2f} ms a call: {ratio:.2f} times")


if __name__ == "__main__":
    main()
