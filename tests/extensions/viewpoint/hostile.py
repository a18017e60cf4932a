"""Files of a student and its teacher that hold anything."""

from suite.extensions.viewpoint.programs.task import PREDICTIONS, STEPS, STUDENT, TEACHER, TRACKS
from suite.extensions.viewpoint.record.records import SETTING
from suite.extensions.viewpoint.record.results import FIGURES
from tests.extensions.viewpoint.good_folder import make_viewpoint
from tests.hostile_folder import HostileFolder

HOSTILE = HostileFolder(
    make_viewpoint,
    (FIGURES, SETTING, TRACKS, STEPS, STUDENT, TEACHER, *PREDICTIONS),
    SETTING,
    {
        "tracks": (0, -1, 10**30),
        "frames": (1, 10**30),
        "sure": (0.0, 1.0, 10**400),
        "storage_bytes": (0, -1, 10**30),
        "views_deg": ([], [95], [-5], ["30"], [30] * 17),
        "epochs": (0, 10**30),
        "seed": (-1, 10**30),
        "cores": (0, "two"),
        "energy": (None, {}, {"energy_j": "much"}),
        "foreign_cores": (1e400,),
    },
    (
        b'{"schema": 1, "sure": NaN}',
        b"track,truth,label,confidence,size_bytes\n0,0,0,0." + b"9" * 4000 + b",1\n",
        b"start_ns,end_ns,samples,loss\n-1,-2,-3,-4\n",
        b"view_deg,place,truth,predicted\n",
    ),
    TRACKS,
)
