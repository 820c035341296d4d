"""The process from which parsers are forked: it has imported what they need, and reads no documents.

It is a fresh interpreter without our environment, and a fork of it is ready in milliseconds where an interpreter takes
a fifth of a second of computing: a document that brings its parser down costs little more than one that does not.

For each child it is sent two sockets. The child serves the one; on the other the server says how the child ended, and
ends it when that socket is shut. It leaves when there was no child for a while, and at once when our process is gone.
"""

import atexit
import importlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from tsuzuki.parsing.child import LENGTH, serve

STATUS = struct.Struct(">i")


class ChildRequest(msgspec.Struct, frozen=True, array_like=True):
    """A child that is wanted: what it will need, and how much memory it may have."""

    modules: tuple[str, ...]
    """Those of its functions. What they import only when they run stands in their `FOR_PARSERS`: our own process has
    no use for it."""
    memory: int


# -- in our process


class ForkServer:
    """Starts the server when it is needed, and again when it has left."""

    def __init__(self, *, idle_seconds: float = 5.0) -> None:
        """`idle_seconds`: after so long without a child it leaves."""
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def fork(self, request: ChildRequest) -> tuple[socket.socket, socket.socket]:
        """A new child's two sockets, for its work and for its end. Both are at their end when the server had left."""
        ours, theirs = socket.socketpair()
        watch, ending = socket.socketpair()
        body = msgspec.msgpack.encode(request)
        with theirs, ending, self._lock:
            for _ in range(2):
                requests = self._requests or self._start()
                try:
                    socket.send_fds(requests, [LENGTH.pack(len(body)), body], [theirs.fileno(), ending.fileno()])
                    break
                except OSError:
                    self._stop()
        return ours, watch

    def close(self) -> None:
        """End it, and every child that is left."""
        with self._lock:
            self._stop()

    def _start(self) -> socket.socket:
        requests, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-m", __name__, str(self._idle_seconds)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path), "PYTHONUTF8": "1"},
            )
        self._requests = requests
        return requests

    def _stop(self) -> None:
        requests, process, self._requests, self._process = self._requests, self._process, None, None
        if requests is not None and process is not None:
            requests.close()
            process.wait()


FORK_SERVER = ForkServer()
"""One for all pools of this process."""
atexit.register(FORK_SERVER.close)


# -- in its own


class _Server:
    """Forks children on request and reports how they ended."""

    def __init__(self, requests: socket.socket, idle_seconds: float) -> None:
        self._requests = requests
        self._idle_seconds = idle_seconds
        self._children: dict[int, socket.socket] = {}
        self._ready = selectors.DefaultSelector()
        self._wakeup, self._ringing = socket.socketpair()
        for end in (self._wakeup, self._ringing):
            end.settimeout(0)
        self._ready.register(requests, selectors.EVENT_READ, self._serve_requests)
        self._ready.register(self._wakeup, selectors.EVENT_READ, self._reap)

    def run(self) -> None:
        """Until our process is gone, or nobody needs a parser for a while."""
        signal.set_wakeup_fd(self._ringing.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with suppress(EOFError):
            while ready := self._ready.select(None if self._children else self._idle_seconds):
                for key, _ in ready:
                    if key.fileobj in self._ready.get_map():  # it may have gone with what was done before it
                        act: Callable[[], None] = key.data
                        act()
        for pid in list(self._children):
            self._kill(pid)

    def _serve_requests(self) -> None:
        head, handed, *_ = socket.recv_fds(self._requests, LENGTH.size, 2)
        if not head:
            raise EOFError
        (length,) = LENGTH.unpack(head)
        request = msgspec.msgpack.decode(self._requests.recv(length, socket.MSG_WAITALL), type=ChildRequest)
        for name in request.modules:
            with suppress(Exception):  # the call that needs it gets the error
                module = importlib.import_module(name)
                for needed in getattr(module, "FOR_PARSERS", ()):
                    importlib.import_module(needed)
        data, ending = (socket.socket(fileno=one) for one in handed)
        with data:
            self._fork(data, ending, request.memory)

    def _fork(self, data: socket.socket, ending: socket.socket, memory: int) -> None:
        pid = os.fork()
        if pid == 0:
            self._serve(data, ending, memory)
        self._children[pid] = ending
        self._ready.register(ending, selectors.EVENT_READ, lambda: self._kill(pid))

    def _serve(self, data: socket.socket, ending: socket.socket, memory: int) -> None:
        """As the child: it keeps nothing of the server's but the socket that it serves. Does not return."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._ready.close()
            for one in (self._requests, self._wakeup, self._ringing, ending, *self._children.values()):
                one.close()
            serve(data.detach(), memory)
            status = 0
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 1
        finally:
            os._exit(status)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            self._wakeup.recv(4096)
        for pid in list(self._children):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                self._report_exit(pid, status)

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)  # it is not reaped yet: the number is still its own
        self._report_exit(pid, os.waitpid(pid, 0)[1])

    def _report_exit(self, pid: int, status: int) -> None:
        ending = self._children.pop(pid)
        self._ready.unregister(ending)
        with ending, suppress(OSError):
            ending.send(STATUS.pack(os.waitstatus_to_exitcode(status)))


def main() -> None:
    """Serve the process that started this one by the socket that is its standard input."""
    for sent_to_all in (signal.SIGINT, signal.SIGTERM):  # to the whole group: ours decides, and this one goes with it
        signal.signal(sent_to_all, signal.SIG_IGN)
    _Server(socket.socket(fileno=0), float(sys.argv[1])).run()


if __name__ == "__main__":
    main()
