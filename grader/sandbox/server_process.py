"""Manage the sandbox's server as a process: start it, tell whether it is alive, and end it."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict

from grader.base.errors import HanstepError
from grader.base.removal import temporary_folder
from grader.sandbox import bubblewrap, cgroups
from grader.sandbox.forked import ForkedServer
from grader.sandbox.inside import frames
from grader.sandbox.inside.frames import Setting
from grader.sandbox.server_command import import_path, python_command, server_environment

_START_SECONDS = 300.0
"""Time to wait until a server is warm: several at once may import torch from a slow disk."""
_END_SECONDS = 10.0
"""Time to wait until a server that was told to end has ended, before it is killed."""
_SERVE = (
    "from grader.sandbox.inside import isolation; isolation.exit_on_hangup(0); "
    "from grader.sandbox.inside.server import main; main()"
)


class SandboxUnavailable(HanstepError):
    """Submissions cannot be run in a sandbox on this machine."""


class Server:
    """The server process that forks children, and the control socket to it."""

    def __init__(
        self,
        isolate: bool,
        device: str,
        *,
        memory_bytes: int,
        added: Sequence[str] = (),
        forked: bool = False,
    ) -> None:
        """Start the process and return at once.

        Args:
            isolate: run it inside bubblewrap.
            device: `cpu` or `cuda`.
            memory_bytes: memory limit of one child, from which the cgroup's limit is derived.
            added: installed packages that submissions can import beside those of the course.
            forked: fork this process instead of starting a new one (only without isolation).
        """
        self._warm = False
        with ExitStack() as stack:
            # Inside bubblewrap, /tmp is a private one of the server.
            home = "/tmp" if isolate else str(stack.enter_context(temporary_folder()))
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            self.control, inside = socket.socketpair()
            stack.callback(self.control.close)
            command = python_command(import_path(isolate=isolate), _SERVE)
            if isolate:
                command = [*bubblewrap.bwrap_command(device, added), *command]
                command = cgroups.wrap_in_cgroup(command, memory_bytes, stack)
            with inside:
                self._process = (
                    ForkedServer(inside, self._errors, home, device)
                    if forked
                    else subprocess.Popen(
                        command,
                        stdin=inside.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=self._errors,
                        cwd=home,
                        env=server_environment(device, home),
                        start_new_session=True,  # Ctrl-C in the terminal must not reach the server
                    )
                )
            self.ended = self._open_end_descriptor(stack)
            """Descriptor that becomes readable when the process ends; None if the system has none."""
            self._resources = stack.pop_all()

    def prepare(self, setting: Setting) -> None:
        """Send the server its setting, which it reads once torch is imported. `ready` notices if it is gone."""
        with suppress(OSError):
            frames.send(self.control, asdict(setting))

    def _open_end_descriptor(self, resources: ExitStack) -> int | None:
        """Open a descriptor that becomes readable when the process ends (pidfd); return None if the system has none.

        The control socket alone does not show it: bubblewrap's outermost process is not the one at its other end.
        """
        with suppress(AttributeError, OSError):
            ended = os.pidfd_open(self._process.pid)
            resources.callback(os.close, ended)
            return ended
        return None

    @property
    def alive(self) -> bool:
        """True while the process runs; something outside may have killed it between two jobs."""
        return self._process.poll() is None

    def ready(self) -> None:
        """Wait until the server is warm and can fork.

        Raises:
            SandboxUnavailable: it ended instead.
        """
        if self._warm:
            return
        self.control.settimeout(_START_SECONDS)
        try:
            frames.receive(self.control)
        except (EOFError, OSError) as error:
            self._process.kill()
            self._process.wait()
            self._errors.seek(0)
            last = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise SandboxUnavailable(
                "\n".join(["샌드박스 서버가 시작되지 않았어요. grader doctor로 확인해 보세요.", *last])
            ) from error
        self._warm = True

    def close(self) -> None:
        """Close the control socket, which makes the server end; kill it if it does not within 10 seconds."""
        self.control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._resources.close()
