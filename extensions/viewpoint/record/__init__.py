"""What was recorded of a student and its teacher, and what follows from it."""
