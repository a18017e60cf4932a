"""Opens a trained model, lets it label frames, and trains a smaller one while the machine idles."""
