#include "records.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "sha256.h"

enum { LINE = 4096 };

static FILE *log_stream, *steps_stream;
static char chain[HEX_LENGTH + 1], boot[80];

static int64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* The chain value of the last line, its last field; 64 zeros for a log without lines. */
static void read_chain(const char *path) {
    char line[LINE];
    memset(chain, '0', HEX_LENGTH);
    FILE *stream = fopen(path, "r");
    if (!stream)
        return;
    while (fgets(line, sizeof line, stream)) {
        const char *value = strstr(line, "\"chain\": \"");
        if (value && strlen(value) > HEX_LENGTH + 10)
            memcpy(chain, value + 10, HEX_LENGTH);
    }
    fclose(stream);
}

static FILE *open_file(const char *folder, const char *name, const char *mode, int must_be_new) {
    char path[LINE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (must_be_new && access(path, F_OK) == 0)
        FAIL("%s exists; start in a new run directory", path);
    if (!must_be_new)
        read_chain(path);
    FILE *stream = fopen(path, mode);
    if (!stream)
        FAIL("%s cannot be opened", path);
    return stream;
}

void open_records(const char *folder) {
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!stream || !fgets(boot, sizeof boot, stream))
        FAIL("the kernel's boot id cannot be read");
    boot[strcspn(boot, "\n")] = 0;
    fclose(stream);
    steps_stream = open_file(folder, "steps.csv", "w", 1);
    log_stream = open_file(folder, "log.txt", "a", 0);
    fputs("epoch,step,rank,samples,start_ns,fetch_stall_s,copy_s,compute_s,communication_s,loss\n", steps_stream);
    fflush(steps_stream);
}

static void write_event(const char *type, const char *key, const char *value, const char *metadata, int64_t at_ns) {
    char line[LINE];
    const int64_t now = now_ns(), taken = at_ns ? at_ns : now;
    const long long time_ms = (long long)(clock_ns(CLOCK_REALTIME) / 1000000 - (now - taken) / 1000000);
    const int length = snprintf(
        line, sizeof line,
        ":::MLLOG {\"namespace\": \"edge\", \"time_ms\": %lld, \"event_type\": \"%s\", \"key\": \"%s\", \"value\": %s, "
        "\"metadata\": {%s\"mono_ns\": %lld, \"rank\": 0, \"boot\": \"%s\"}}",
        time_ms, type, key, value, metadata, (long long)taken, boot);
    if (length >= LINE)
        FAIL("the event %s is too long", key);
    Sha256 digest;
    sha256_begin(&digest);
    sha256_add(&digest, chain, HEX_LENGTH);
    sha256_add(&digest, line, (size_t)length);
    sha256_end(&digest, chain);
    fprintf(log_stream, "%.*s, \"chain\": \"%s\"}}\n", length - 2, line, chain);
    if (fflush(log_stream) != 0)
        FAIL("log.txt cannot be written");
}

void log_point(const char *key, const char *value, const char *metadata) { write_event("POINT_IN_TIME", key, value, metadata, 0); }

void log_interval(const char *key, const char *metadata, int64_t at_ns) {
    const size_t length = strlen(key);
    const int is_start = length > 6 && strcmp(key + length - 6, "_start") == 0;
    write_event(is_start ? "INTERVAL_START" : "INTERVAL_END", key, "null", metadata, at_ns);
}

void write_steps(const Step *steps, int count) {
    for (int i = 0; i < count; i++) {
        const Step *s = steps + i;
        fprintf(steps_stream, "%d,%d,0,%d,%lld,%.9f,%.9f,%.9f,0.0,%.17g\n", s->epoch, s->step, s->samples, (long long)s->start_ns,
                (double)(s->fetched_ns - s->start_ns) * 1e-9, (double)(s->copied_ns - s->fetched_ns) * 1e-9,
                (double)(s->stepped_ns - s->copied_ns) * 1e-9, s->loss);
    }
    if (fflush(steps_stream) != 0 || fsync(fileno(steps_stream)) != 0)
        FAIL("steps.csv cannot be written");
}

long long peak_memory_bytes(void) {
    char line[LINE];
    long long kib = 0;
    FILE *stream = fopen("/proc/self/status", "r");
    while (stream && fgets(line, sizeof line, stream))
        sscanf(line, "VmHWM: %lld kB", &kib);
    if (stream)
        fclose(stream);
    return kib * 1024;
}

void close_records(void) {
    fsync(fileno(log_stream));
    fclose(log_stream);
    fclose(steps_stream);
}
