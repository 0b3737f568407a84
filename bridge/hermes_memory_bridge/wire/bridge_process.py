"""A bridge as a process outside the tree of whoever starts it. Standard library only.

Some hosts kill every process below them when they end, whatever its session: they go by parents. So a process that
ends at once makes the bridge, which has init for its parent from then on. No exit code can be waited for any more; the
bridge holds the writing end of a pipe as its standard input, and tells a good end by it.
"""

from __future__ import annotations

import os

from hermes_memory_store.system.own_process import to_isolated_environment

GOOD_END = b"0"
"""What a bridge writes that ends in good order; one that failed closes the pipe without a word."""


class BridgeProcess:
    """A process that was started here and is no child of this one."""

    __slots__ = ("end", "pid", "told")

    def __init__(self, end: int, pid: int) -> None:
        """:param end: the reading end of the pipe that the process holds until it ends"""
        self.end: int | None = end
        self.pid = pid
        self.told: bytes | None = None
        """What it said at its end; None while it runs."""

    def is_running(self) -> bool:
        """Check whether the process has neither ended nor said that it is about to."""
        if self.told is None and self.end is not None:
            try:
                self.told = os.read(self.end, len(GOOD_END))
            except BlockingIOError:
                return True
        return False

    def has_failed(self) -> bool:
        """Check whether the process ended other than in good order."""
        return not self.is_running() and self.told != GOOD_END

    def forget(self) -> None:
        if self.end is not None:
            os.close(self.end)
            self.end = None


def start_bridge_process(command: list[str], log: str) -> BridgeProcess:
    """Start a process that outlives this one and every process above it, its output going to the log.

    :raises OSError: it cannot be started
    """
    environ = to_isolated_environment()
    end, writing_end = os.pipe()
    answer, answers = os.pipe()
    try:
        os.set_blocking(end, False)
        between = os.fork()
        if not between:
            spawn_and_end(command, environ, log, writing_end, answers)
        os.close(answers)
        answers = -1
        pid = int(os.read(answer, 20) or -255)
        reap_process(between)
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid), command[0])
    except BaseException:
        os.close(end)
        raise
    finally:
        for handle in (writing_end, answer, answers):
            if handle >= 0:
                os.close(handle)
    return BridgeProcess(end, pid)


def spawn_and_end(command: list[str], environ: dict[str, str], log: str, writing_end: int, answers: int) -> None:
    """Start the process from the one between; answer with its id, or the number of the error below zero.

    Nothing is imported here: another thread may have held an import's lock when this process was made.
    """
    try:
        tells = (os.POSIX_SPAWN_DUP2, writing_end, 0)
        writes = (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        pid = os.posix_spawn(
            command[0], command, environ, file_actions=[tells, writes, (os.POSIX_SPAWN_DUP2, 1, 2)], setsid=True
        )
        os.write(answers, b"%d" % pid)
    except OSError as error:
        os.write(answers, b"-%d" % (error.errno or 255))
    finally:
        os._exit(0)


def reap_process(process: int) -> None:
    """Wait for a child that ends at once, unless another waiter received it."""
    try:
        os.waitpid(process, 0)
    except ChildProcessError:
        return


def tell_good_end() -> None:
    """Tell whoever started this process by `start_bridge_process`, and still listens, that it ends in good order."""
    import fcntl
    import stat

    try:
        if stat.S_ISFIFO(os.fstat(0).st_mode) and fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
            os.write(0, GOOD_END)
    except OSError:
        return  # nobody listens any more, or standard input is closed
