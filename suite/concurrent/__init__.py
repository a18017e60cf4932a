"""Training beside inference: arrivals, batches, schedules, the queue's records, and what follows
from them."""
