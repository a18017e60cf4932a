"""Typical mistakes at `suite predict`, for tests/suite/cli/mistakes.py."""

MISTAKES = {
    "suite predict nowhere.csv": "nowhere.csv cannot be read",
}
