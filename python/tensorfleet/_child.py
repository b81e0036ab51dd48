"""Servers as child processes that are a part of this one: they start, move and end with it.

A child's standard input is a socket to this process (`tensorfleet server --attached`, whose contract is in
runtime/cli/attachment.h). The child ends when this process ends, however it does, and when this process replaces its
program. It has a session of its own, so signals from the terminal come to this process only, as with a server inside it.
"""
from __future__ import annotations

import logging
import os
import shlex
import socket
import subprocess
import threading
import time
from typing import Callable, List, Optional, Sequence, Tuple

from . import _program

log = logging.getLogger("tensorfleet")

# For a child to say that it serves, on a machine that is busy.
_START_SECONDS = 60.0
# A child that ended by itself is started again, but one that cannot live is given up.
_SHORT_LIFE_SECONDS = 5.0
_SHORT_LIVES = 3
# Ports that were free and were taken before the child could have them.
_PORT_TRIES = 5

INVALID_ARGUMENT, UNAVAILABLE, INTERNAL = 3, 14, 13


class ServerError(RuntimeError):
    """A server could not start, or has ended. `code` is the number that gRPC has for such an error."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


def log_level(least: str = "info") -> str:
    """The --log_level of children: TENSORFLEET_LOG_LEVEL, else TensorFlow's own variable, but at least `least`."""
    if os.environ.get("TENSORFLEET_LOG_LEVEL"):
        return os.environ["TENSORFLEET_LOG_LEVEL"]
    order = ["info", "warning", "error", "off"]
    given = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
    level = min(int(given), len(order) - 1) if given.isdigit() else 0
    return order[max(level, order.index(least))]


def free_port(host: str = "") -> int:
    """A port that nobody listens on, at one of this machine's addresses (empty: at all of them)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.bind((host, 0))
        return s.getsockname()[1]


class Child:
    """One server process.

    Args:
        arguments: Those of `tensorfleet server` that say which task it is, for a port.
        port: Where it listens; 0: any free one.
        level: The least of its log that is seen (see `log_level`).
        files: Descriptors that it gets, under their numbers; they belong to it once it has started.
        host: Where the free port is to be free; empty: at all addresses.

    Raises:
        ServerError: It did not start; the message is its own.
        ProgramNotFound: There is no program to start.
    """

    def __init__(self, arguments: Callable[[int], Sequence[str]], port: int = 0, level: str = "info",
                 files: Sequence[int] = (), host: str = ""):
        self._arguments = arguments
        self._level = level
        self._files = tuple(files)
        self._lock = threading.Lock()  # of the line, and of what follows
        self._ended = threading.Event()
        self._why: Optional[ServerError] = None
        self._joined = 0
        self._stopping = False
        self._short_lives = 0
        for attempt in range(_PORT_TRIES):
            self.port = port or free_port(host)
            try:
                self._start()
                break
            except ServerError as e:
                if port or e.code != UNAVAILABLE or attempt == _PORT_TRIES - 1:
                    raise
        _children.append(self)
        threading.Thread(target=self._watch, name="tensorfleet-child", daemon=True).start()

    def _command(self) -> List[str]:
        extra = shlex.split(os.environ.get("TENSORFLEET_SERVER_FLAGS", ""))
        return [_program.find(), "server", "--attached", "--log_level", log_level(self._level),
                *self._arguments(self.port), *extra]

    def _start(self) -> None:
        command = self._command()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._folder = _folder()
            self._process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, start_new_session=True,
                                             pass_fds=self._files)
        except OSError as e:
            ours.close()
            raise ServerError(INTERNAL, "cannot start %s: %s" % (command[0], e)) from e
        finally:
            theirs.close()
        self._line = ours
        # At the end of the interpreter objects go in any order, and sessions say goodbye to a server that must still be there:
        # a second descriptor, which only the kernel closes then, keeps the line.
        self._line_fd = os.dup(ours.fileno())
        self._started = time.monotonic()
        try:
            ours.settimeout(_START_SECONDS)
            self.target = self._expect("serving")
        except BaseException:
            # Ctrl-C too: nothing stays behind that the caller does not know.
            self._process.kill()
            self._process.wait()
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        self._line.close()
        if self._line_fd >= 0:
            os.close(self._line_fd)
        self._line_fd = -1

    def _hear(self) -> Tuple[str, str]:
        """The next message: its word and its text."""
        message = b""
        while True:
            try:
                byte = self._line.recv(1)
            except socket.timeout:
                raise ServerError(UNAVAILABLE, "the server did not answer within %g seconds" % _START_SECONDS) from None
            except OSError:
                byte = b""
            if not byte:
                status = self._process.wait()
                raise ServerError(INTERNAL, "the server %s; what it said is on standard error" % _ending(status))
            if byte == b"\0":
                word, _, text = message.decode(errors="replace").partition(" ")
                return word, text
            message += byte

    def _expect(self, wanted: str) -> str:
        word, text = self._hear()
        if word == "failed":
            code, _, why = text.partition(" ")
            raise ServerError(int(code) if code.isdigit() else INTERNAL, why)
        if word != wanted:
            raise ServerError(INTERNAL, "the server said %r instead of %r" % (word, wanted))
        return text

    def follow(self, folder: str) -> None:
        """Relative paths in graphs mean this folder from now on."""
        with self._lock:
            if self._ended.is_set() or folder == self._folder:
                return
            try:
                self._line.sendall(b"chdir " + os.fsencode(folder) + b"\0")
                self._expect("done")
            except OSError:
                return  # it has ended; the watcher tells
            except ServerError as e:
                log.warning("relative paths in graphs still mean %s: %s", self._folder, e)
            self._folder = folder

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return not self._ended.is_set()

    def join(self) -> None:
        """Waits until it has ended because the job has.

        Raises:
            ServerError: It ended otherwise.
        """
        self._joined += 1
        try:
            while not self._ended.wait(3600):
                pass
        finally:
            self._joined -= 1
        if self._why is not None:
            raise self._why

    def stop(self) -> None:
        """Ends it at once."""
        self._stopping = True
        while True:
            self._process.kill()  # it may be another one by now, which was being started
            if self._ended.wait(0.05):
                return

    def _watch(self) -> None:
        while True:
            status = self._process.wait()
            if self._stopping or status == 0:
                break
            self._why = ServerError(UNAVAILABLE, "the server at %s %s" % (self.target, _ending(status)))
            if not self._revive(self._why):
                break
            self._why = None
        with self._lock:
            self._hang_up()
            for file in self._files:
                os.close(file)
            self._files = ()
        if self in _children:
            _children.remove(self)
        self._ended.set()

    def _revive(self, why: ServerError) -> bool:
        """Starts another server at the address. Without one, sessions on it would wait for ever; it tells them that they are lost."""
        lived = time.monotonic() - self._started
        self._short_lives = self._short_lives + 1 if lived < _SHORT_LIFE_SECONDS else 0
        if not self._joined and self._short_lives < _SHORT_LIVES:
            log.warning("%s; another is started there, and its sessions are told that they are lost", why)
        while not self._joined and not self._stopping and self._short_lives < _SHORT_LIVES:
            try:
                with self._lock:
                    self._hang_up()
                    self._start()
                return True
            except Exception as e:  # pylint: disable=broad-except
                self._short_lives += 1
                log.warning("no server could be started at %s: %s", self.target, e)
        if not self._stopping:
            log.error("%s; it is not started again", why)
        return False

    def _forget(self) -> None:
        """In a forked process: the child is the other process's."""
        self._hang_up()
        self._ended.set()


def _ending(status: int) -> str:
    return "was ended by signal %d" % -status if status < 0 else "ended with exit code %d" % status


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"  # it was deleted


_children: List[Child] = []


def follow_folder() -> None:
    """Tells the children when this process has gone to another folder."""
    folder = _folder()
    for child in list(_children):
        if child._folder != folder:
            child.follow(folder)


def _after_fork() -> None:
    for child in _children:
        child._forget()
    _children.clear()


os.register_at_fork(after_in_child=_after_fork)
