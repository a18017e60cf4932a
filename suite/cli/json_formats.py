"""The formats of ``--json``: the keys of each, and what they hold. docs/json.md is made from this
table."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class JsonFormat:
    """An object that ``--json`` prints, by its ``name`` and ``version``, which rises when a key
    goes or changes its meaning.

    ``keys`` are its own, or with ``is_list`` those of each object in its list ``rows``;
    ``optional`` ones may be absent.
    """

    name: str
    printed_by: str
    keys: Mapping[str, str]
    is_list: bool = False
    optional: frozenset[str] = frozenset()
    version: int = 1

    @property
    def label(self) -> str:
        """The value of ``format``: ``check/1``."""
        return f"{self.name}/{self.version}"


FORMATS: Mapping[str, JsonFormat] = {
    each.name: each
    for each in (
        JsonFormat(
            "audit",
            "suite audit",
            {
                "schema": "schema of the record, which the bundle or submission holds too",
                "suite_version": "suite",
                "bundle": "run_id and digests of the run",
                "replayer": "what trained again",
                "steps": "number",
                "losses": "of each step",
                "with_other_rate": "losses at a learning rate that is wrong, or null",
                "comparison": "verdict, difference, tolerance",
                "rate_error_found": "smallest error of the rate that would have shown, or null",
                "reason": "why there is nothing to compare, or null",
                "time_s": "what the audit took",
                "state": "audit of a kept state, or null",
            },
        ),
        JsonFormat(
            "audit-draw",
            "suite audit draw",
            {
                "epoch": "drawn epoch",
                "epochs": "number of epochs",
                "head": "the log's last chain value",
                "value": "text that it was drawn with, or null",
            },
        ),
        JsonFormat(
            "check",
            "suite check, submit, package",
            {
                "verdicts": (
                    "list of bundles: path, round, division, complies, witnessed_by, not_applicable"
                    " (checks), findings"
                ),
                "submissions": "list: path, complies, signed_by, findings, verdicts",
                "analyses": (
                    "list of folders with a record of their own (stall analyses, experiments,"
                    " replications): path, complies, findings"
                ),
                "could_not_judge": "sentences",
            },
        ),
        JsonFormat(
            "cluster-doctor",
            "suite cluster doctor",
            {
                "answers": "list: what each host answered",
                "links": "latency and bandwidth between hosts, or null",
                "problems": "list: node, point, sentence, remedy",
            },
        ),
        JsonFormat(
            "data",
            "suite data prepare, verify",
            {
                "name": "of the data set",
                "directory": "where it is",
                "synthetic": "whether it was generated",
                "train_samples": "number",
                "eval_samples": "number",
                "classes": "number",
                "verified": "whether every file has its published checksum",
            },
        ),
        JsonFormat(
            "doctor",
            "suite doctor",
            {
                "what": "the item",
                "there": "whether it is available",
                "found": "what was found",
                "remedy": "what to do; empty where it is available",
            },
            is_list=True,
        ),
        JsonFormat(
            "env-create",
            "suite env create",
            {
                "framework": "its name",
                "interpreter": "Python of the environment",
                "packages": "name and version of each package",
                "other_versions": "list: package, required, and found or null; of --interpreter",
            },
        ),
        JsonFormat(
            "env-plan",
            "suite env create --dry-run",
            {
                "framework": "its name",
                "folder": "where it would be",
                "locked": "whether all versions are exact",
                "index": "of pip, or null",
                "download_bytes": "null where it is unknown",
                "disk_bytes": "null where it is unknown",
                "packages": "list of requirements",
                "interpreter": "that of --interpreter, into which nothing is installed, or null",
                "other_versions": "as in env-create",
            },
        ),
        JsonFormat(
            "error",
            "every command that could not do what it was asked",
            {
                "error": "the sentence that standard error has too",
                "exit_code": "2: could not",
            },
        ),
        JsonFormat(
            "explain",
            "suite explain",
            {
                "id": "of the rule",
                "severity": "invalid, warning or note; several where its checks differ",
                "rule": "one sentence",
                "why": "its reason",
                "fix": "what to do about a finding",
                "divisions": "where it holds",
                "formerly": "other ids of it and of its checks, which closed rounds pin",
                "rounds": "severity by round",
            },
        ),
        JsonFormat(
            "figure",
            "suite figure",
            {
                "figure": "file of the figure",
                "caption": "file of the caption",
                "text": "the caption",
            },
        ),
        JsonFormat(
            "linpack",
            "suite linpack",
            {
                "path": "directory of the record",
                "schema": "schema of the record",
                "kind": "HPL, or LU for SciPy's",
                "program": "what solved it",
                "device": "device profile",
                "cpu_model": "processor, or null",
                "nodes": "number",
                "ranks": "of all nodes",
                "threads_per_rank": "number",
                "blas": "library, or null where it is linked into the program",
                "solution": "problem, time in seconds, GFLOPS, residual",
                "gflops_per_node": "number",
                "power": "joules with their 95 % interval, GFLOPS/W, or null with the reason",
                "output": "file of the program's output",
                "tried": "list of solutions with other block sizes and process grids",
                "triad": "STREAM's bandwidth, or null",
                "load": "cores that other programs used, or null",
            },
        ),
        JsonFormat(
            "linpack-study",
            "suite sweep --study linpack",
            {
                "path": "file of the study",
                "schema": "schema of the record",
                "title": "of the study",
                "device": "device profile",
                "cpu_model": "processor",
                "points": (
                    "list: nodes, ranks, problem, figures of rate, efficiency, share of peak,"
                    " energy and bandwidth, records"
                ),
            },
        ),
        JsonFormat(
            "matrix",
            "suite sweep --vary, --file",
            {
                "path": "the matrix's record",
                "schema": "schema of the record",
                "plan": "what was varied: points, seeds, order",
                "points": "list: name, runs and figures of each point",
                "notes": "sentences",
            },
        ),
        JsonFormat(
            "matrix-requests",
            "suite sweep --vary, --file, with --dry-run",
            {
                "output": "run directory",
                "settings": "values of the varied settings",
                "power_mode": "mode that is set for the run, in words, or null",
                "request": "the request, as in run.json",
            },
            is_list=True,
        ),
        JsonFormat(
            "paper-list",
            "suite paper list",
            {
                "id": "name of a table or panel",
                "paper": "name of its paper",
                "number": "in the paper",
                "title": "what it shows",
                "state": "real, simulated, emulated, calculated or needs",
                "needs": "hardware, or null",
                "differs": "how our setting differs from the paper's, or null",
                "figure": "preset of `suite figure`, where one draws it",
                "runs": "name of its runs, or null",
                "commands": "arguments of `suite` that make them",
                "minutes": "that they take on two cores",
                "has_runs": "whether it can be drawn at once",
                "published_values": (
                    "number of values that the paper's text states, cells of tables left out"
                ),
            },
            is_list=True,
        ),
        JsonFormat(
            "paper-make",
            "suite paper make",
            {
                "id": "of the table or panel",
                "files": "paths",
                "caption": "text",
                "compared": "as in paper-check",
            },
        ),
        JsonFormat(
            "paper-check",
            "suite paper check",
            {
                "id": "of the table or panel",
                "paper": "title",
                "number": "in the paper",
                "differs": "how our setting differs from the paper's, or null",
                "compared": (
                    "list: quantity, published, ours, verdict (agrees, differs, not comparable),"
                    " place, quote, why"
                ),
            },
        ),
        JsonFormat(
            "trace",
            "suite trace",
            {
                "path": "file of the trace",
                "events": "number of its events",
                "left_out": "sentences about what of the run it leaves out",
            },
        ),
        JsonFormat(
            "finish",
            "suite finish",
            {
                "runs": "list: path, status, epochs, was_closed, reason",
                "problems": "sentences of the runs that could not be closed",
            },
        ),
        JsonFormat(
            "implementation-new",
            "suite implementation new",
            {
                "files": "that were written",
                "next": "commands to type next",
            },
        ),
        JsonFormat(
            "implementation-test",
            "suite implementation test",
            {
                "name": "of the point: a rule's id, or a name of its own",
                "demands": "what the contract demands",
                "passed": "true, false, or null where it was not tested",
                "observed": "what was found; empty for a rule that holds",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-data-sets",
            "suite list data-sets",
            {
                "name": "as in --data",
                "title": "its name",
                "layout": "layout of its files",
                "train_samples": "number",
                "eval_samples": "number",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-devices",
            "suite list devices",
            {
                "name": "as in --device",
                "title": "boards that it covers",
                "this_machine": "whether --device auto chooses it here",
                "cpu": "architecture",
                "gpu": "architecture, or null",
                "closed_workloads": "names",
                "power_modes": "names",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-figures",
            "suite list figures",
            {
                "name": "as in `suite figure NAME`",
                "study": "paper",
                "number": "its number there",
                "title": "what it shows",
                "needs": "runs that it needs",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-frameworks",
            "suite list frameworks",
            {
                "name": "as in --framework",
                "title": "its name",
                "interpreter": "Python of its environment, or null",
                "missing": "sentence, or null",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-rounds",
            "suite list rounds",
            {
                "name": "as in --round",
                "title": "its name",
                "suite_versions": "versions whose runs it accepts",
                "workloads": "names",
                "closed": "date, or null",
                "rules": "number of rules",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-rules",
            "suite list rules",
            {
                "id": "as in `suite explain ID`",
                "severity": "invalid, warning or note; several where its checks differ",
                "rule": "one sentence",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-studies",
            "suite list studies",
            {
                "name": "as in --study",
                "title": "what it shows",
                "varies": "the setting",
                "values": "its default values",
                "repetitions": "runs of each value",
            },
            is_list=True,
        ),
        JsonFormat(
            "list-workloads",
            "suite list workloads",
            {
                "name": "as in --workload",
                "title": "model and data set",
                "model": "name of the model",
                "data": "name of the data set",
                "target_accuracy": "ratio; null where none is established",
                "characterisation": (
                    "true where none is: results have no rank, and a closed run has this batch size"
                ),
                "epochs": "epoch budget",
                "batch_size": "samples of a global mini-batch",
                "parameters": "number of trained parameters",
            },
            is_list=True,
        ),
        JsonFormat(
            "new",
            "suite new",
            {
                "files": "that were written",
                "next": "what to do, in sentences",
            },
        ),
        JsonFormat(
            "nonce-lock",
            "suite nonce lock",
            {
                "entry_sha256": "digest to hand in",
                "implementation_sha256": "digest of the implementation",
                "configuration_sha256": "digest of the configuration",
                "organization": "of --org",
                "workload": "its name",
                "framework": "its name",
                "configuration": "the settings that the digest is over",
            },
            is_list=True,
        ),
        JsonFormat(
            "power-attach",
            "suite power attach",
            {
                "bundle": "run directory",
                "understood": "how the trace was read, in a sentence",
                "trace": "numbers of rows and readings",
                "fit": "the trace's clock against the run's",
                "energy_j": "the run's energy as a figure; null with --dry-run",
            },
        ),
        JsonFormat(
            "power-list",
            "suite power list",
            {
                "modes": (
                    "list of nvpmodel's modes: id, name, settings (parameter, argument, value)"
                ),
                "cores": "numbers of all cores",
                "always_on": "numbers of the cores that cannot be taken off line",
                "clocks": (
                    "list: kind, name, files of its limits, unit_hz of their numbers,"
                    " frequencies_hz (empty: not listed), governors"
                ),
                "turbo": "file of the switch, or null",
                "fan": "file of the fan's duty, or null",
                "nvpmodel": "file of the program, or null",
                "jetson_clocks": "file of the program, or null",
            },
        ),
        JsonFormat(
            "power-restore",
            "suite power restore",
            {
                "restored": (
                    "list: wanted (mode that had been set), pid, changed (settings that differed)"
                ),
                "power_mode": "label of what is set now, or null",
            },
        ),
        JsonFormat(
            "power-set",
            "suite power set",
            {
                "wanted": "mode in words",
                "steps": "what is written and called",
                "is_set": "false with --dry-run",
                "power_mode": "label of what is set now, or null",
            },
        ),
        JsonFormat(
            "power-show",
            "suite power show",
            {
                "power_mode": "label of what is set now, or null",
                "power_settings": "as in system.json",
                "set_by_suite": (
                    "list: kind (kept or held), wanted, pid, is_alive, is_complete, changed"
                    " (settings that differ from before)"
                ),
            },
        ),
        JsonFormat(
            "reference-points-compare",
            "suite reference-points compare",
            {
                "epochs_to_target": "of each run; null where it missed",
                "reference": "the reference's",
                "level": "of the test",
                "p_faster": "one-sided",
                "p_slower": "one-sided",
                "p_different": "two-sided",
                "smallest_p": "that this number of runs can give",
            },
        ),
        JsonFormat(
            "reference-points-make",
            "suite reference-points make",
            {
                "path": "file that was written",
            },
            is_list=True,
        ),
        JsonFormat(
            "reference-points-show",
            "suite reference-points show",
            {
                "batch_size": "samples",
                "base_learning_rate": "rate",
                "epochs_to_target": "of each run; null where it missed",
                "expected_epochs": (
                    "all epochs trained over the runs that reached the target, or null"
                ),
                "expected_interval": (
                    "95 % interval of them by bootstrap over runs: low, and high or null for"
                    " infinite; null without expected epochs"
                ),
                "runs": "runs of an entry",
                "level": "of the test",
                "power": "of the test",
                "detectable_factor": "share of the epochs that is detected, or null",
            },
            is_list=True,
        ),
        JsonFormat(
            "refused-request",
            "suite run, of a request that breaks a rule",
            {
                "findings": "list: rule, severity, file, line, expected, observed, fix",
            },
        ),
        JsonFormat(
            "report",
            "suite report",
            {
                "index": "address of the first page in the file system",
            },
        ),
        JsonFormat(
            "quick",
            "suite quick",
            {
                "workload": "name",
                "run": "run directory",
                "epochs": "number that was trained",
                "epoch_s": "mean of epochs 2 to last, s, or null",
                "reached_s": "measured time to the target, s, of a run that reached it; else null",
                "projection": (
                    "projected time to the target with its interval, the epochs it was made from"
                    " and those of the reference, or null"
                ),
                "reason": "why there is no projection, or null",
                "most_epochs": "the workload's own number",
                "estimate": (
                    "time of an epoch with its interval, s, from a number of steps; null where"
                    " three epochs were trained"
                ),
            },
            is_list=True,
        ),
        JsonFormat(
            "reproduce",
            "suite reproduce",
            {
                "folder": "where the fresh runs and the sealed record are",
                "schema": "schema of the record, replication.json",
                "suite_version": "suite",
                "organization": "who made the fresh runs",
                "originals": "list: what each original's bundle says of its run",
                "runs": "list: the same of each fresh run",
                "replays": (
                    "list: verdict of `suite audit` on originals whose losses were not repeated"
                ),
                "comparisons": (
                    "losses, accuracies, times, each with its verdict, reason and numbers; verdict"
                    " of all"
                ),
            },
        ),
        JsonFormat(
            "run",
            "suite run",
            {
                "path": "run directory",
                "status": "finished, interrupted or failed",
                "schema": "schema of the record, which the bundle or submission holds too",
                "epochs": "list: what each epoch took, its loss and accuracy",
                "figures": (
                    "by name: value, unit, source, n, spread, coverage, uncertainty; a value that"
                    " is unknown is null with a reason"
                ),
                "disturbances": "what disturbed the run, by kind",
                "channels": "list: statistics of every channel of every meter",
                "energies": "list: energy by each total, and which counts",
                "ranks": "list: steps, times and memory of each rank",
                "nodes": "list: figures of each node",
            },
            optional=frozenset(("energies", "nodes", "ranks")),
        ),
        JsonFormat(
            "run-requests",
            "suite run --dry-run",
            {
                "run_id": "the run's name",
                "device_evidence": "how the device was recognised",
                "nonce": "nonce and number, or null",
                "meters_left_out": "names",
                "request": "the request, as in run.json",
            },
            is_list=True,
        ),
        JsonFormat(
            "stall-analysis",
            "suite run --stall-analysis",
            {
                "path": "its record",
                "schema": "schema of the record, which the bundle or submission holds too",
                "workload": "its name",
                "framework": "its name",
                "device": "its profile",
                "data": "its data set",
                "runs": "the three runs",
                "figures": "as those of a run",
                "notes": "sentences on their validity",
            },
        ),
        JsonFormat(
            "submissions-status",
            "suite submissions status",
            {
                "path": "submission",
                "round": "the round that it is judged by, or null",
                "round_closed": "date on which that round was closed, or null",
                "organization": "submitting organization, or null",
                "availability": "available, preview or research, or null",
                "runs": "number",
                "complies": "verdict, or null where it could not be judged",
                "violations": "number of invalid findings by rule",
                "to_review": (
                    "list: kind, where, sentence, rule, severity; the last two are null but for"
                    " findings"
                ),
                "objections": (
                    "list: file, state, date, by, against, record, text, run, decision, decided_by"
                ),
                "withdrawals": "list: where, reason",
                "could_not_judge": "sentences",
            },
            is_list=True,
        ),
        JsonFormat(
            "sweep",
            "suite sweep --study",
            {
                "path": "the study's record",
                "schema": "schema of the record, which the bundle or submission holds too",
                "plan": "what was varied and held",
                "points": "list: figures of each value",
                "model": "fitted scaling model, or null",
                "model_reason": "why there is none, or null",
                "notes": "sentences",
            },
        ),
        JsonFormat(
            "sweep-requests",
            "suite sweep --study, with --dry-run",
            {
                "output": "run directory",
                "request": "the request, as in run.json",
            },
            is_list=True,
        ),
        JsonFormat(
            "verify-model",
            "suite verify-model",
            {
                "schema": "schema of the record, which the bundle or submission holds too",
                "suite_version": "suite",
                "workload": "its name",
                "model": "its name",
                "expected_parameters": "number",
                "reference": "what it is compared with",
                "accelerator": "what the implementations computed on",
                "timed_batch_size": "samples of the timed steps' mini-batches",
                "subjects": "list: name, module, parameters, differences, digests, passed",
                "passed": "whether every implementation passes",
            },
        ),
        JsonFormat(
            "verify-ranks",
            "suite verify-ranks",
            {
                "schema": "schema of the record, which the bundle or submission holds too",
                "suite_version": "suite",
                "workload": "its name",
                "subject": "the implementation",
                "ranks": "number",
                "collective": "mpi or native",
                "overlap": "whether exchange overlaps the backward pass",
                "normalisation": "local or synchronised",
                "steps": "number",
                "batch_size": "samples",
                "reference": "what it is compared with",
                "differences": "list: name, difference, tolerance, passed",
                "passed": "whether all differences are within tolerance",
            },
            is_list=True,
        ),
    )
}
