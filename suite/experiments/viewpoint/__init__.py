"""Student and teacher: opens a trained model, lets it label frames, and trains a smaller model on
them while the machine is idle."""
