"""Runs the two processes of `suite viewpoint`, one after the other, and seals their records.

First the teacher with the camera (suite.extensions.viewpoint.programs.teacher), then the student
(suite.extensions.viewpoint.programs.student), which gets the processor only while nothing else
wants it.
"""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from suite.bundle import layout
from suite.catalog.frameworks import Framework, load_framework
from suite.errors import SuiteError
from suite.experiments.linpack_power import PowerRecording
from suite.experiments.machine_load import LoadWatch
from suite.extensions.viewpoint.measuring.options import (
    Options,
    refuse_few_pictures,
    refuse_options,
)
from suite.extensions.viewpoint.measuring.teacher import Teacher, open_teacher
from suite.extensions.viewpoint.measuring.waiting import WaitReporter, cpu_time_s
from suite.extensions.viewpoint.programs.task import STUDENT, Task
from suite.extensions.viewpoint.record.records import SCHEMA, SETTING, Energy, Setting
from suite.extensions.viewpoint.record.results import Results, close
from suite.files.json_file import read_json, write_json
from suite.files.redaction import DATA, OUTPUT, machine_redactor
from suite.launch.child_environment import child_environment, usable_cores
from suite.launch.environments import Environment, find_environment
from suite.launch.placement import Placement
from suite.launch.process import release_process, start_process, terminate_session, wait_for_exit
from suite.machine.limits import when_idle
from suite.machine.system import Software, describe_system

TASK = "task.json"
POLL_S = 0.5
Report = Callable[[str], None]


@dataclass(frozen=True)
class Idling:
    """How the student was kept to an idle machine, and what the machine did meanwhile: fields of
    Setting."""

    idle: str
    foreign_cores: float
    waiting: float | None
    energy: Energy


def teach_and_learn(options: Options, report: Report) -> Results:
    """Label, learn, and seal the records in ``options.output``. Raises SuiteError for what cannot
    be done."""
    refuse_options(options)
    teacher = open_teacher(options)
    refuse_few_pictures(options.tracks, teacher.request.data.eval_samples)
    framework = load_framework(teacher.request.framework)
    environment = find_environment(framework)
    with when_idle():  # refuses a machine or user without cgroups before anything is written
        write_task(options, teacher)
    processes = Processes(options, framework, environment)
    report(
        f"the teacher ({teacher.request.model} after epoch {teacher.epoch} of the run"
        f" {teacher.run_id}) judges {options.tracks} tracks"
    )
    processes.teach()
    report(
        f"the student, {options.student}, learns while the machine is idle; the frames are in"
        f" {options.frames_folder}"
    )
    idling = processes.learn(report)
    _write_records(options, teacher, framework, environment, idling)
    return close(options.output)


def write_task(options: Options, teacher: Teacher) -> None:
    """The task and the request of both processes."""
    for folder in (options.output, options.frames_folder):
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise SuiteError(
                f"The folder {folder} cannot be created: {error.strerror}; choose another --output."
            ) from error
    task = Task(
        options.seed,
        options.tracks,
        options.frames,
        options.sure,
        options.storage_bytes,
        list(options.views_deg),
        options.student,
        options.epochs,
        str(teacher.state.absolute()),
        str(options.frames_folder.absolute()),
        str(options.output.absolute()),
    )
    write_json(options.output / TASK, task._asdict())
    write_json(options.output / contract.REQUEST_NAME, contract.request_to_dict(teacher.request))


class Processes:
    """The teacher's and the student's process, in the framework's environment."""

    def __init__(self, options: Options, framework: Framework, environment: Environment) -> None:
        self._options, self._framework, self._environment = options, framework, environment
        self._output = options.output.absolute()

    def teach(self) -> None:
        """Run the teacher to its end."""
        with ExitStack() as stack:
            process = self._start("teacher", stack)
            release_process(process)
            self._finish("teacher", process)

    def learn(self, report: Report) -> Idling:
        """Run the student to its end, on the idle machine; says so while it waits for that."""
        recording = PowerRecording(self._output, Placement())
        with ExitStack() as stack:
            idle, limit_process = stack.enter_context(when_idle())
            process = self._start("student", stack)
            limit_process(process.pid)
            watch = LoadWatch()
            with recording.recording(process.pid):
                release_process(process)
                _wait_patiently(
                    process, WaitReporter("the student", lambda: cpu_time_s(process.pid), report)
                )
                self._finish("student", process)
            foreign_cores, waiting = watch.foreign_cores(), watch.waiting()
        facts = read_json(self._output / STUDENT)
        power = recording.figures(1.0, (facts["start_ns"], facts["end_ns"]))
        return Idling(
            idle,
            foreign_cores,
            waiting,
            Energy(power.energy_j, power.low_j, power.high_j, power.method, power.reason),
        )

    def _start(self, name: str, stack: ExitStack) -> "subprocess.Popen[bytes]":
        """Start the module, which waits for its release; the stack's end terminates it."""
        words = {
            "implementation": f"{self._framework.module}.implementation",
            "request": self._output / contract.REQUEST_NAME,
            "task": self._output / TASK,
        }
        command = [
            str(self._environment.interpreter),
            "-m",
            f"extensions.viewpoint.programs.{name}",
        ]
        command += [word for option, value in words.items() for word in (f"--{option}", str(value))]
        variables = {**child_environment(self._options.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
        process = start_process(command, variables, self._output / f"{name}.txt")
        stack.callback(terminate_session, process)
        return process

    def _finish(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        found = wait_for_exit(process, self._output / f"{name}.txt")
        if not found.exit_code:
            return
        said = found.last_line.removeprefix("error: ")
        if said == found.last_line:
            raise SuiteError(
                f"The {name} {found.reason}; its output is in {self._output / name}.txt."
            )
        # what was asked for cannot be done: nothing in them is of use
        for folder in (self._output, self._options.frames_folder):
            shutil.rmtree(folder)
        raise SuiteError(said[:1].upper() + said[1:])


def _wait_patiently(process: "subprocess.Popen[bytes]", reporter: WaitReporter) -> None:
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
            return
        reporter.tick()


def _write_records(
    options: Options,
    teacher: Teacher,
    framework: Framework,
    environment: Environment,
    idling: Idling,
) -> None:
    """The setting and the machine; names of folders of this machine are taken out of the other
    records."""
    version = next(
        (environment.packages[name] for name in framework.packages if name in environment.packages),
        None,
    )
    setting = Setting(
        schema=SCHEMA,
        workload=teacher.request.workload,
        framework=framework.name,
        framework_version=version,
        teacher_run=teacher.run_id,
        teacher_manifest=teacher.manifest,
        teacher_epoch=teacher.epoch,
        teacher=teacher.request.model,
        student=options.student,
        seed=options.seed,
        tracks=options.tracks,
        frames=options.frames,
        sure=options.sure,
        storage_bytes=options.storage_bytes,
        views_deg=options.views_deg,
        epochs=options.epochs,
        threads=options.threads,
        cores=usable_cores(),
        idle=idling.idle,
        foreign_cores=idling.foreign_cores,
        waiting=idling.waiting,
        energy=idling.energy,
    )
    write_json(options.output / SETTING, setting)
    data = Path(teacher.request.data.directory)
    write_json(
        options.output / layout.SYSTEM,
        describe_system(
            teacher.request.platform, Software(framework.name, version, environment.packages), data
        ),
    )
    (options.output / TASK).unlink()
    redactor = machine_redactor(
        [(options.output.absolute(), OUTPUT), (data, f"{DATA}/{data.name}")]
    )
    for name in (contract.REQUEST_NAME, "teacher.txt", "student.txt"):
        path = options.output / name
        path.write_text(
            redactor.text(path.read_text(encoding="utf-8", errors="replace")), encoding="utf-8"
        )
