/* What a run writes: events of log.txt, chained by SHA-256, and rows of steps.csv. */
#ifndef RECORDS_H
#define RECORDS_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC, the clock of all times. */
int64_t now_ns(void);

/* Continue the log that the harness has begun in the folder, and begin the step records. */
void open_records(const char *folder);

/* A point in time, with its value as JSON; `metadata` is JSON too, as in "\"epoch_num\": 1, ", or empty. */
void log_point(const char *key, const char *value, const char *metadata);

/* Beginning or end of an interval: a key that ends with _start or _stop, at the time `at_ns` (0: now). */
void log_interval(const char *key, const char *metadata, int64_t at_ns);

typedef struct {
    int epoch, step, samples;
    int64_t start_ns, fetched_ns, copied_ns, stepped_ns;
    double loss;
} Step;

/* Append an epoch's rows; they are on the storage medium when this returns. */
void write_steps(const Step *steps, int count);

/* Largest resident memory of this process so far, bytes; 0 where the kernel does not tell. */
long long peak_memory_bytes(void);

void close_records(void);

#endif
