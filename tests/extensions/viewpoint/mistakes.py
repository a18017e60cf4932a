"""Typical mistakes at `suite viewpoint`, for tests/suite/cli/mistakes.py."""

MISTAKES = {
    "suite viewpoint": "Missing argument 'run'",
    "suite viewpoint nowhere": "nowhere does not exist",
    "suite viewpoint empty": "train one with `suite run",
    "suite viewpoint empty --views 0..60": "with commas",
    "suite viewpoint empty --sure 90": "choose a probability such as 0.95",
    "suite viewpoint empty --storage lots": "write a number and a unit",
    "suite viewpoint empty --seed 5000000000": "--seed must be at most 4294967295",
}
