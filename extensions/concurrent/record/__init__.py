"""What was measured: arrivals, batches, the queue's records, and what follows from them."""
