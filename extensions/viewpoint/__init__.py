"""Student and teacher: a teacher labels what a camera sees from the side, a student learns it."""
