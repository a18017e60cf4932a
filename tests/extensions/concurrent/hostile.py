"""Files of an experiment with training beside inference that hold anything."""

from suite.extensions.concurrent.record.layout import FIGURES, MEASUREMENT
from tests.extensions.concurrent.good_folder import make_experiment
from tests.hostile_folder import HostileFolder

HOSTILE = HostileFolder(
    make_experiment,
    (
        FIGURES,
        f"beside-b4/{MEASUREMENT}",
        f"training-alone/{MEASUREMENT}",
        "beside-b4/batches.csv",
        "beside-b4/noticed.csv",
        "beside-b4/training/step_times.csv",
    ),
    f"beside-b4/{MEASUREMENT}",
    {
        "rate_per_s": (0.0, -1.0, 1e300, 1e-300),
        "duration_s": (0.0, -1.0, 1e300, 1e-9),
        "batch": (0, -4, 10**30),
        "start_ns": (-1, 10**30),
        "window_ns": (0, 10**30),
        "seed": (-1, 10**30),
        "kind": ("trace", "x" * 10_000, ""),
        "deadline_s": (-1.0, 1e300),
        "schedule": ("", "sequential"),
        "trains": (None,),
        "infers": (None,),
    },
    (
        b'{"schema": 1, "rate_per_s": NaN}',
        b"batch,first,images,asked_ns,sent_ns,start_ns,end_ns\n" + b"9" * 400 + b",0,1,0,0,0,0\n",
        b"noticed_ns\n-5\n",
        b"start_ns,end_ns,samples\n1.5,2.5,16\n",
    ),
    "beside-b4/batches.csv",
)
