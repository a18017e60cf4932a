"""Commands that change power modes and are killed at random moments."""
