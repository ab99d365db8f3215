"""Start the sandbox's server as a process, send it its settings, wait until it is warm, and end it.

`sandbox.py Sandbox` makes a `ServerProcess` and replaces it if it is lost. `client.py Child` asks for children over the
server's control socket, and `inside/server.py` answers. What the server may see and use is decided in `bubblewrap.py`,
`server_command.py` and `cgroups.py`.
"""

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
from grader.sandbox.forked_server import ForkedServer
from grader.sandbox.inside import protocol
from grader.sandbox.inside.protocol import CONTROL_FD, ServerSettings
from grader.sandbox.server_command import import_path, python_command, server_environment

_START_SECONDS = 300.0
"""Maximum time between two parts of the server's first message, in `wait_until_warm`. It is long because several
servers at once may import torch from a slow disk."""
_END_SECONDS = 10.0
"""Maximum time until a server that was told to end has ended; after that it is killed."""
_SERVE_CODE = (
    f"from grader.sandbox.inside import isolation; isolation.exit_on_hangup({CONTROL_FD}); "
    "from grader.sandbox.inside.server import main; main()"
)
"""Code that the server's Python executes. `exit_on_hangup` comes first, because the second import takes seconds: it
imports torch."""


class SandboxUnavailable(HanstepError):
    """Submissions cannot be run in a sandbox on this machine; the message says why, in Korean."""


class ServerProcess:
    """The grader's side of a server (`sandbox.inside.server`): its process, and the control socket to it."""

    def __init__(
        self,
        isolate: bool,
        device: str,
        *,
        memory_bytes: int,
        added_packages: Sequence[str] = (),
        forked: bool = False,
    ) -> None:
        """Start the process and return at once; call `send_settings` next, then `wait_until_warm`.

        Args:
            isolate: run it inside bubblewrap.
            device: `cpu` or `cuda`.
            memory_bytes: memory limit of one child, from which the cgroup's limit is derived.
            added_packages: installed packages that submissions can import beside those of the course; has no effect
                without isolation.
            forked: fork this process instead of starting a new one; only without isolation, and only where
                `forked_server.can_fork(device)`, which the caller has asked.

        Raises:
            ValueError: both `isolate` and `forked` are given.
            OSError: a process, a socket or a temporary folder cannot be made.
        """
        if isolate and forked:
            raise ValueError("a forked server cannot be isolated")
        self._is_warm = False
        with ExitStack() as resources:
            # Working directory, HOME and TMPDIR of the server. Inside bubblewrap, /tmp is a new folder; the process
            # that becomes bubblewrap starts in the /tmp of the machine.
            own_folder = "/tmp" if isolate else str(resources.enter_context(temporary_folder()))
            self._errors = resources.enter_context(tempfile.TemporaryFile())
            self.control, server_end = socket.socketpair()
            resources.callback(self.control.close)
            # The server gets a copy of its end. Ours is closed here: as long as it is open, the grader does not see
            # that the server has closed the copy.
            with server_end:
                if forked:
                    self._process: ForkedServer | subprocess.Popen[bytes] = ForkedServer(
                        server_end, self._errors, own_folder
                    )
                else:
                    command = python_command(import_path(isolate=isolate), _SERVE_CODE)
                    if isolate:
                        command = [*bubblewrap.bwrap_command(device, added_packages), *command]
                        command = cgroups.wrap_in_cgroup(command, memory_bytes, resources)
                    self._process = subprocess.Popen(
                        command,
                        stdin=server_end.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=self._errors,
                        cwd=own_folder,
                        env=server_environment(device, own_folder),
                        start_new_session=True,  # Ctrl-C in the terminal must not reach the server
                    )
            self.end_descriptor = self._open_end_descriptor(resources)
            """Descriptor that becomes readable when the process ends (pidfd); None if this system has no such thing."""
            self._resources = resources.pop_all()

    def send_settings(self, settings: ServerSettings) -> None:
        """Send the server its settings and return: they are few enough to wait in the socket until it reads them."""
        with suppress(OSError):  # the server is gone, as `wait_until_warm` will notice
            protocol.send(self.control, asdict(settings))

    @property
    def is_alive(self) -> bool:
        """True if the process was running a moment ago. It may have been killed since."""
        return self._process.poll() is None

    def wait_until_warm(self) -> None:
        """Wait until the server is warm, so that it can fork.

        Raises:
            SandboxUnavailable: it ended, or said nothing for `_START_SECONDS`. The process that was started is killed;
                `close` has to be called all the same.
            ValueError: its first message is broken.
        """
        if self._is_warm:
            return
        self.control.settimeout(_START_SECONDS)
        try:
            protocol.receive_trusted(self.control)
        except (EOFError, OSError) as error:
            self._process.kill()
            self._process.wait()
            self._errors.seek(0)
            last_lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise SandboxUnavailable(
                "\n".join(["샌드박스 서버가 시작되지 않았어요. grader doctor로 확인해 보세요.", *last_lines])
            ) from error
        self._is_warm = True

    def close(self) -> None:
        """Close the control socket, which makes the server end; kill the process that was started if it does not end in
        time."""
        self.control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._resources.close()

    def _open_end_descriptor(self, resources: ExitStack) -> int | None:
        """Open the `end_descriptor`; it is closed with `resources`.

        The control socket alone does not show it: with bubblewrap, the process started here is not the one at the
        socket's other end, and each may be killed without the other.
        """
        # AttributeError: Python has no `os.pidfd_open` here. OSError: the kernel has no such call.
        with suppress(AttributeError, OSError):
            descriptor = os.pidfd_open(self._process.pid)
            resources.callback(os.close, descriptor)
            return descriptor
        return None
