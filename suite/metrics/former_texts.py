"""Texts of records whose wording changed: a record with the former text says the same."""

import re

MAX_LENGTH = 1000
"""Longer texts were never written; they are compared as they are."""
FORMER = (
    (
        r"the log has no such number: the run was not finished, or an accelerator worked, whose"
        r" times are not taken",
        r"the log does not contain it: the run was not finished, or it used an accelerator,"
        r" where the model's blocks are not timed",
    ),
    (
        r"share of the run in which some task of the machine waited for it",
        r"share of the run in which at least one task of the machine waited for this resource",
    ),
    (
        r"([\d.]+ s) that the machine was busy less ([\d.]+ s) of the suite's processes: the"
        r" harness with its recorder, and the implementation with its ranks and workers\. Kernel"
        r" threads are foreign;",
        r"busy time of the machine, \1, minus that of the suite's processes, \2: harness,"
        r" recorder, implementation, ranks and workers. Kernel threads count as other programs;",
    ),
    (
        r" are others here, and a replay cannot tell whether rounding explains it",
        r" differ here, and no replay shows whether rounding explains that",
    ),
    (
        r"a run has no whole epoch whose time is known",
        r"a run has no finished epoch with a known time",
    ),
    (r"slowed it, or is different here", r"slowed it, or the machine differs"),
    (
        r"(\d+) fresh runs with this scatter decide it",
        r"with this scatter \1 fresh runs would decide it",
    ),
    (
        r"with this scatter (\d+) fresh runs do not decide it either",
        r"with this scatter even \1 fresh runs would not decide it",
    ),
    (
        r"is neither within the margin nor beyond it",
        r"lies partly within and partly outside the margin",
    ),
    (
        r"^times are of another kind of machine: (.+) of (\S+), and ",
        r"the machines are of different kinds: \1 in \2, and ",
    ),
    (
        r"the machine has no name, as a virtual machine has none: only times of the very same one"
        r" are compared, by its board digest",
        r"the machine does not state its model (virtual machines do not): times are compared only"
        r" if the board digest shows the same machine",
    ),
    (r"\bof what is not counted: ", r"the energy of the time that is not counted is unknown: "),
    (
        r"^(.+) was not read on every channel of its total before the run",
        r"before the run, not every channel of \1 was read",
    ),
    (
        r" does not count it: the work of these cores is missing",
        r" cores do not count it, so their work is missing",
    ),
    (
        r"it counted 0: the processor lacks it",
        r"the count stayed 0: the processor lacks this event",
    ),
    (r"files mapped from then on:", r"files mapped after the framework was loaded:"),
    (
        r"those that a framework computes beyond are in the rest",
        r"gradients of untrained weights are in the rest",
    ),
    (
        r"^none gathers in a memory budget: each weight is updated as soon as its gradient is"
        r" there, which is in the rest",
        r"gradients do not accumulate in a memory budget: each weight is updated as soon as its"
        r" gradient is computed, and that gradient is in the rest",
    ),
    (
        r"^most memory that the run's cgroup was charged with, pages of files that it read first"
        r" included",
        r"highest memory charged to the run's cgroup, including cached pages of files that no"
        r" other cgroup had read before",
    ),
    (
        r"the kernel keeps no peak of it \(memory\.peak: Linux 5\.19\)",
        r"the kernel does not record its peak (memory.peak needs Linux 5.19)",
    ),
    (
        r"^time of all forward and backward passes over the same without the blocks that had run in"
        r" their step before, and without storage: what a budget costs, by recomputation or by"
        r" activations on storage",
        r"time of all forward and backward passes, divided by the same time without recomputed"
        r" blocks and without reading and writing activations on storage: the cost of the memory"
        r" budget",
    ),
    (
        r"the nodes' sensors do not cover the same \(",
        r"the nodes' sensors cover different parts (",
    ),
    (
        r"the run had several nodes and no nodes\.json, the record of their readings",
        r"the run had several nodes, but nodes.json, the record of their readings, is missing",
    ),
    (
        r"the energy until then is in the records of the run before",
        r"the energy before that is in the interrupted run's records",
    ),
    (r"\b1 plausible readings;", r"1 plausible reading;"),
    (
        r" images were not finished when the queue was left: no mean or maximum of latencies",
        r" images were not finished when the measurement ended: latencies have no mean or maximum",
    ),
    (
        r"the ranks did not measure what the nodes' links carry",
        r"the ranks did not measure the throughput of the nodes' links",
    ),
    (
        r"^first bucket's start to last one's end, of the rank that waits the least; mean of the"
        r" epochs",
        r"mean time of an exchange (first bucket's start to last bucket's end) on the rank where it"
        r" is shortest; mean over the epochs",
    ),
    (
        r"^from the first bucket's start to the last bucket's end, on the rank that waits the"
        r" least; mean over the epochs",
        r"mean time of an exchange (first bucket's start to last bucket's end) on the rank where it"
        r" is shortest; mean over the epochs",
    ),
    (r", behind the power conversion", r", measured downstream of the power conversion"),
    (
        r"; ((?:\S+ and )*\S+) together, each by itself in counters\.json",
        r"; sum of \1, which counters.json lists separately",
    ),
    (
        r"CPU time that the hypervisor gave to others",
        r"CPU time that the hypervisor gave to other virtual machines",
    ),
    (r"the memory that all programs have on", r"the memory that all programs use on"),
    (r"peak of rank 0 less the other parts", r"peak of rank 0 minus the other parts"),
    (r"it read (\S+ J), less than (.+) with (\S+ J)", r"it read \1, less than the \3 of \2"),
    (
        r"only studies of nodes have a model",
        r"only a study over the number of nodes has a scaling model",
    ),
    (
        r"a run in synchronised timing has the parts",
        r"only a run with synchronised timing measures the parts of a step",
    ),
    (r"the share of an epoch that computes", r"the share of an epoch that is spent computing"),
    (
        r"no reading lies in the window or on both sides of it",
        r"all readings lie on one side of the window",
    ),
    (
        r"the meter load did not read (\w+(?:\.\w+)?)",
        r"the meter `load` did not read its channel `\1`",
    ),
    (
        r"^(.+) stands out: (?!its )(.+) (\S+) times the median of (\d+) boards\.$",
        r"\1 stands out: its \2 is \3 times the median of \4 boards.",
    ),
    (
        r", (\S+) times the largest measured; ",
        r", \1 times the largest measured number; ",
    ),
    (
        r"; up to (\d+) ranks \((\S+) times\) the confidence interval is within a fifth of",
        r"; up to \1 ranks (\2 times the largest measured number) the confidence interval is at"
        r" most a fifth of",
    ),
    (
        r"^of (\d+) cores over the run$",
        r"CPU time of other programs, divided by the run's length and by \1 cores",
    ),
    (
        r"^the original is ([\d.]+) points better than the fresh runs, ([\d.]+) standard errors$",
        r"the original's accuracy is \1 percentage points above the fresh runs' accuracy, a"
        r" difference of \2 standard errors",
    ),
    (r"\bno reading during the run from ", r"during the run, no reading came from "),
    (
        r"activations were written to storage or read$",
        r"activations were written to storage or read from it",
    ),
    (
        r"; gradients of untrained weights are in the rest$",
        r"; memory_rest_bytes includes the gradients of untrained weights",
    ),
    (
        r"^gradients do not accumulate in a memory budget: (.+) is computed, and that gradient"
        r" is in the rest$",
        r"with a memory budget, \1 is computed; memory_rest_bytes includes that gradient",
    ),
    (
        r"divided by the same time without recomputed blocks and without reading and writing"
        r" activations on storage: ",
        r"divided by that time minus recomputation and transfers of activations to and from"
        r" storage: ",
    ),
    (
        r"; compute_share is the share of an epoch that is spent computing",
        r"; see compute_share instead (share of an epoch spent computing)",
    ),
    (
        r"the disk that holds the data was not read",
        r"the meter `disk` did not read the counters of the data set's disk",
    ),
    (
        r"memory was not read during the run: it was shorter ",
        r"memory was not read: the run was shorter ",
    ),
    (
        r" and no float64 replay can decide, because one of them computes with"
        r" arithmetic of its own",
        r" and a float64 replay can decide only if both compute in float32",
    ),
    (
        r"no epoch after the first has an energy \(fewer than two readings\)",
        r"no epoch after the first has an energy from two or more readings",
    ),
    (r"kept apart because its caches are cold$", r"kept apart because its caches may be cold"),
    (
        r"; add repetitions or numbers of ranks\.$",
        r"; add repetitions, or measure further numbers of ranks.",
    ),
    (
        r" parameters are not identifiable; add numbers of ranks\.$",
        r" parameters are not identifiable; measure further numbers of ranks.",
    ),
    (
        r"^the epochs were too short to read the page cache at their start: ",
        r"in the warm or the cold run, the page cache was not read near the start of any epoch"
        r" after the first: ",
    ),
    (
        r"no epoch after the first has an energy of every node",
        r"no epoch after the first has a known energy on every node",
    ),
    (
        r"(it read \S+ J, less than the \S+ J of [^;,()]+)(?=[;)]|$)",
        r"\1, which it should include",
    ),
    (
        r"\bin the time that is not counted: ",
        r"the energy of the time that is not counted is unknown: ",
    ),
    (
        r" accelerator, on which blocks are not timed",
        r" accelerator, where the model's blocks are not timed",
    ),
    (
        r"so they come from different models; fit each model separately\.",
        r"so they train different networks; fit a scaling model to each network separately.",
    ),
    (
        r"the window is shorter than (\d+) periods of ",
        r"the window is shorter than \1 reading periods of ",
    ),
    (
        r"^the losses of (\S+) differ here, and no replay ",
        r"a fresh run's losses differ from those of \1, and no replay ",
    ),
    (
        r"^the original is faster, but (.+) differ, which may explain it$",
        r"the original is faster, but the runs differ in \1, which may explain it",
    ),
    (
        r"^(the machines are of different kinds: .+) here$",
        r"\1 in the first fresh run",
    ),
    (
        r"(the page cache was not read within \S+ s of this moment)$",
        r"\1 (the run's start or end)",
    ),
    (
        r"the memory that all programs use on the busiest GPU$",
        r"the memory that all programs use on one GPU, over all GPUs",
    ),
    (
        r"no smaps_rollup \(Linux 4\.14\), or another user's process may not be read",
        r"no smaps_rollup (needs Linux 4.14), or another user's process could not be read",
    ),
    (
        r"^from the first steps on, rounding alone changes this run's losses by as much as they"
        r" differ from the replay's$",
        r"fewer than 3 of the compared steps can decide: too few were compared, or rounding alone"
        r" changes their losses too much",
    ),
    (
        r"files mapped after the framework was loaded: the data set, and code of kernels",
        r"files mapped after the framework was loaded that still are after the run: code of"
        r" kernels; memory_rest_bytes includes the mapped data set",
    ),
    (
        r"activations, mini-batches, scratch memory of kernels",
        r"activations, mini-batches, the mapped data set, scratch memory of kernels",
    ),
    (
        r"^epoch 1 was not finished$",  # still written of a run that was not resumed
        r"the run was resumed: epoch 1 is in the interrupted run's records",
    ),
)
"""The former words, and the words that are written now."""


def as_now(text: str) -> str:
    """The text in the words in which it is written now."""
    if len(text) <= MAX_LENGTH:
        for former, now in FORMER:
            text = re.sub(former, now, text)
    return text
