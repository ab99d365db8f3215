"""Grade submissions on the machines of a Ray cluster; `workers` does the same on this machine.

Every machine needs bubblewrap, and this package in the same version. A submission is sent to a machine and its result
comes back. Each machine judges what it ran against the solution played on the same machine, because processors and GPUs
of different makers draw different dropout masks from one seed.
"""

import logging
import os
import socket
from collections import deque
from collections.abc import Generator
from typing import Any

from grader.base.errors import HanstepError
from grader.base.installing import install_command
from grader.classroom.workers import Work
from grader.course.feedback import SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import start_sandbox
from grader.grading.warm import warm_up
from grader.sandbox.server_process import SandboxUnavailable
from grader.submission.submission import Submission

_TRIES = 3
"""Maximum number of times a submission is run. If a machine dies, its submission is run again on another machine.

Ray's own retries and restarts are not enough: it uses up retries while a call only waits for its actor, and it restarts
an actor only where a processor is free.
"""
_NONE_LEFT = "클러스터의 컴퓨터가 멈췄어요. `ray status`로 확인한 다음 --resume으로 이어서 채점해 주세요."


class ClusterError(HanstepError):
    """Ray is missing, cannot be reached, or lost too many machines."""


class _ClusterWorker:
    """Ray actor that owns one sandbox on a machine of the cluster."""

    def __init__(self, run: GradingRun, work: Work) -> None:
        self._grading, self._work = run, work
        self._sandbox = start_sandbox(run)
        warm_up()  # while the sandbox does too

    def run(self, submission: Submission) -> SubmissionResult:
        """Grade one submission."""
        return self._work(self._grading, submission, self._sandbox)


def results_from_cluster(
    run: GradingRun, submissions: deque[Submission], work: Work
) -> Generator[tuple[Submission, SubmissionResult]]:
    """Yield every submission with its result, in the order in which they end.

    As many sandboxes run at once as the cluster has processors, but at most `run.jobs`.

    Args:
        run: settings of the grading. `run.ray` is an address for `ray.init` (`auto`, `10.0.0.5:6379`, `ray://…`), or
            `local` for a cluster of this machine alone.
        submissions: the submissions; emptied on the way, so that their texts need not be held until the end.
        work: function that grades one submission, called on the machines of the cluster.

    Raises:
        ClusterError: Ray is missing, cannot be reached, or lost too many machines.
        SandboxUnavailable: a machine of the cluster has no isolation.
    """
    ray = _connected(run)
    try:
        actor = ray.remote(num_cpus=1, num_gpus=_gpu_share(ray, run))(_ClusterWorker)
        count = max(1, min(run.jobs, len(submissions), int(ray.cluster_resources().get("CPU", 1))))
        idle = deque(actor.remote(run, work) for _ in range(count))
        again: deque[tuple[Submission, int]] = deque()
        running: dict[Any, tuple[Submission, int, Any]] = {}
        while submissions or again or running:
            while (again or submissions) and idle:
                worker = idle.popleft()
                submission, tries = again.popleft() if again else (submissions.popleft(), _TRIES)
                running[worker.run.remote(submission)] = submission, tries - 1, worker
            if not running:
                raise ClusterError(_NONE_LEFT)
            (done,), _ = ray.wait(list(running), num_returns=1)
            submission, tries, worker = running.pop(done)
            result = _result(ray, done)
            if result is not None:
                idle.append(worker)
                yield submission, result
            elif tries:  # its machine is gone: run it on another one
                again.append((submission, tries))
            else:
                raise ClusterError(_NONE_LEFT)
    finally:
        ray.shutdown()  # its actors, and the sandboxes in them, end with the connection


def _connected(run: GradingRun) -> Any:
    """Connect to the cluster and return the module `ray`.

    Raises:
        ClusterError: Ray is missing, or the cluster cannot be reached.
    """
    # Ray must not send usage statistics: nothing about a class may leave for third parties.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ClusterError(f"Ray가 없어요. 설치해 주세요: {install_command('ray')}") from None
    settings: dict[str, Any] = {"address": run.ray, "log_to_driver": False, "logging_level": logging.ERROR}
    settings["runtime_env"] = {"env_vars": {"OMP_NUM_THREADS": "1"}}
    if run.ray == "local":
        settings |= {"num_cpus": run.jobs, "include_dashboard": False}
    try:
        _require_listener(run.ray or "")
        ray.init(**settings)
    except (OSError, ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ClusterError(
            f"Ray 클러스터에 연결하지 못했어요: {run.ray} ({reason[0][:200]})."
            " 주소를 확인하거나, 클러스터를 이끌 컴퓨터에서 `ray start --head`를 실행해 주세요."
        ) from error
    return ray


def _require_listener(address: str) -> None:
    """Raise OSError if nobody listens at the address. Ray itself would try for minutes, and then end the process."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


def _gpu_share(ray: Any, run: GradingRun) -> float:
    """Return the share of a GPU that one sandbox gets: an eighth, because the exercises are small; 0.0 without GPUs."""
    return 0.125 if run.device == "cuda" and ray.cluster_resources().get("GPU") else 0.0


def _result(ray: Any, done: Any) -> SubmissionResult | None:
    """Return the result of a call; None if the worker's machine is gone.

    Raises:
        SandboxUnavailable: the machine cannot isolate submissions.
        ClusterError: the call failed for another reason.
        HanstepError: raised by our own code on that machine.
    """
    try:
        result: SubmissionResult = ray.get(done)
    except ray.exceptions.RayActorError as error:
        if "SandboxUnavailable" in str(error):
            raise SandboxUnavailable(
                "클러스터에 격리를 쓸 수 없는 컴퓨터가 있어요. 컴퓨터마다 `grader doctor`를 실행해 보세요."
            ) from error
        return None
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, HanstepError):  # raised by our own code there
            raise cause from error
        raise ClusterError(
            f"클러스터에서 채점하지 못했어요 ({type(error).__name__})."
            " 컴퓨터마다 같은 버전의 hanstep을 설치했는지 확인해 주세요."
        ) from error
    return result
