"""Typical mistakes at `suite concurrent`, for tests/suite/cli/mistakes.py."""

SETTING = "--framework fake --data digits --infer-data digits"
BESIDE = f"suite concurrent --train lenet --infer lenet {SETTING}"
TUNE = BESIDE.replace("concurrent", "concurrent tune")
MISTAKES = {
    "suite concurrent --train lenet": "give --train and --infer",
    f"{BESIDE} --rate 0": "--rate a number above 0",
    f"{BESIDE} --rate 1000 --duration 1h": "the longest --duration at this rate",
    f"{BESIDE} --infer-batch '1;4'": "write them with commas",
    f"{BESIDE} --infer-batch 4000": "fewer than a batch of 4000; use a smaller batch",
    f"{BESIDE} --duration 10": "10m for minutes",
    f"{BESIDE} --arrivals bursty": "is not uniform, poisson or an existing file",
    f"{BESIDE} --schedule interleaved": "'managed'",
    f"{BESIDE} --cpus 99999": "usable are",
    f"{BESIDE} --nice -30": "--nice",
    f"{BESIDE} --output twice.txt": "twice.txt exists",
    f"{BESIDE} --infer-batch 0": "the smallest --infer-batch is 1",
    f"{BESIDE} --schedule sliced --share 1": "--share 1 leaves training or inference no time",
    f"{BESIDE} --schedule sliced --slice 1h --duration 2s": "--slice 1h is longer than a",
    f"{BESIDE} --output /proc/records": "/proc/records cannot be made",
    f"{BESIDE} --threads 5000": "--threads 5000 is not possible on",
    f"{BESIDE} --infer-threads 0": "--infer-threads 0 is not possible on",
    "suite concurrent --duration 5s tune --p99 300ms": "Options come after the subcommand",
    "suite concurrent turne --p99 300ms": "Did you mean 'tune'",
    "suite concurrent show empty": "make one with `suite concurrent",
    "suite concurrent show nowhere": "nowhere holds no measurement of simultaneous",
    f"{TUNE} --p99 300": "--p99 '300' is not a duration",
    f"{TUNE} --p99 0ms": "give a limit above 0",
    f"{TUNE} --p99 300ms --max-watts -20": "give a finite power above 0",
    f"{TUNE} --p99 1s --threads 0": "--threads 0 is not possible on",
    f"{TUNE} --p99 1s --threads 1,5000": "--threads 5000 is not possible on",
    f"{TUNE} --p99 1s --minimise joules": "is not one of 'time', 'energy'",
    f"{TUNE} --p99 1s --power-modes MAXM": "There is no power mode 'MAXM'",
}
