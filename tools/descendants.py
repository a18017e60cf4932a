"""The descendants of this program: orphans become its children, a signal that would end it raises
KeyboardInterrupt instead, and none is left running."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess

import psutil

from suite.launch.process import PR_SET_CHILD_SUBREAPER

GRACE_S = 10
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def adopt_orphans() -> None:
    """From now on. A signal that is ignored (nohup) stays so."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def succeeds(process: subprocess.Popen[bytes], *beside: subprocess.Popen[bytes]) -> bool:
    """Wait for its end. Those beside it may end before it. Orphans are reaped: tests look whether a
    process has ended."""
    while process.returncode is None:
        ended, status = os.wait()
        for each in (process, *beside):
            if each.pid == ended:
                each.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode == 0


def end_everything() -> None:
    """End all descendants, also those that have left their groups; signals are ignored from now
    on."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    everybody = psutil.Process().children(recursive=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in everybody:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        psutil.wait_procs(everybody, GRACE_S)
        everybody = psutil.Process().children(recursive=True)
        if not everybody:
            return
