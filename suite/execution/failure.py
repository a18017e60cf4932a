"""Why a run of several ranks failed, as a sentence: which process ended first, on which node, and
by what."""

import signal

from suite.execution.heartbeat import Heartbeat, HeartbeatMonitor
from suite.execution.remote_recorders import RemoteRecorders
from suite.launch.mpirun import is_rank_error
from suite.launch.process import ExitReport, describe_signal, signal_name


def describe_failure(
    report: ExitReport, monitor: HeartbeatMonitor, remote: RemoteRecorders, local_kills: int | None
) -> str:
    """The cause of a job's end, by what the ranks, the nodes' recorders and the launcher report.

    ``local_kills`` is the number of processes that the kernel of this node killed for lack of
    memory during the run; None if unknown.
    """
    paused_s = monitor.longest_pause_s
    if paused_s > monitor.silence_s - monitor.silence_s / 5:
        return (
            f"the harness itself was stopped for {paused_s:.0f} s (by SIGSTOP, a suspended machine"
            " or one too busy), and the ranks end when it does not reply for"
            f" {monitor.silence_s:g} s"
        )
    if is_rank_error(report.last_line):
        return report.last_line.removeprefix("error: ")
    if report.exit_code < 0:
        return (
            f"{remote.launcher}, which starts and watches the ranks, was ended by"
            f" {describe_signal(-report.exit_code)}; with it, every rank ended"
        )
    missing = monitor.first_missing_rank()
    if missing is not None:
        return _never_started(missing, report, remote)
    exited = monitor.first_exited(report.failed)
    if exited is None:
        return f"the job {report.reason}"
    kills = remote.memory_kills(exited.rank, local_kills)
    host, number = report.closed_host, monitor.signal_of(exited, report.failed)
    if host and monitor.host_of(exited.rank) == host and number in (None, signal.SIGKILL):
        return _left(exited, host)
    return _exited(exited, number, report, kills)


def _never_started(missing: str, report: ExitReport, remote: RemoteRecorders) -> str:
    """The host that could not be reached, else the first rank of which nothing was heard."""
    refused = report.refused
    unreached = (refused.host, refused.said) if refused else remote.first_unreached()
    if unreached is not None:
        host, said = unreached
        return (
            f"the host {host} could not be reached ({said}); correct the hostfile, or see `suite"
            " cluster doctor`"
        )
    return (
        f"{missing} never started ({report.last_line}); `suite cluster doctor` says what its node"
        " lacks"
    )


def _exited(exited: Heartbeat, number: int | None, report: ExitReport, kills: int | None) -> str:
    """The rank that ended first, and its signal ``number``, or the last line of output."""
    if number is None:
        return (
            f"{exited} exited before the others:"
            f" {report.last_line if report.is_ranks_own else 'no rank said why'}"
        )
    if number == signal.SIGKILL and kills:
        return (
            f"{exited} was ended by {signal_name(number)} for lack of memory: processes that the"
            f" kernel of that node killed for it: {kills}"
        )
    return f"{exited} was ended by {describe_signal(number)}{report.said_before(number)}"


def _left(exited: Heartbeat, host: str) -> str:
    """The rank that ended first, whose host closed the connection to it."""
    return (
        f"{exited} ended when {host} closed its SSH connection: {host} was switched off or"
        f" restarted, or everything there was ended; `uptime` on {host} tells when it started"
    )
