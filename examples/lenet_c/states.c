#include "states.h"

#include <string.h>
#include <unistd.h>

#include "data.h"
#include "fail.h"
#include "random.h"

enum { MEMBERS = 2 * ARRAYS + 1, NAME = 80, LOCAL = 30, CENTRAL = 46, END = 22, LARGEST = 120 * 400 * 8 + 512 };

typedef struct {
    char name[NAME];
    uint32_t crc, size, offset;
} Member;

static uint8_t content[LARGEST];

/* The lowest bytes of a number, in the archive's order. */
static void put(uint8_t *place, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        place[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t taken(const uint8_t *place, int bytes) {
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | place[i];
    return value;
}

/* What local and central headers share, from the version that is needed on. */
static void describe(uint8_t *place, const Member *member) {
    put(place, 20, 2);
    put(place + 8, 0x21, 2); /* 1980-01-01 */
    put(place + 10, member->crc, 4);
    put(place + 14, member->size, 4);
    put(place + 18, member->size, 4);
    put(place + 22, (uint32_t)strlen(member->name), 2);
}

/* Write the member of this name, and note where it is. */
static void add(FILE *stream, Member *member, const char *type, int width, const int *axes, int dimensions, const void *values) {
    uint8_t header[LOCAL] = "PK\3\4";
    size_t count = 1, length = npy_header(content, type, axes, dimensions);
    for (int i = 0; i < dimensions; i++)
        count *= (size_t)axes[i];
    memcpy(content + length, values, count * (size_t)width);
    length += count * (size_t)width;
    member->crc = crc32_of(content, length);
    member->size = (uint32_t)length;
    member->offset = (uint32_t)ftell(stream);
    describe(header + 4, member);
    fwrite(header, 1, LOCAL, stream);
    fwrite(member->name, 1, strlen(member->name), stream);
    fwrite(content, 1, length, stream);
}

static void finish(FILE *stream, const Member *members) {
    const uint32_t start = (uint32_t)ftell(stream);
    for (int i = 0; i < MEMBERS; i++) {
        uint8_t header[CENTRAL] = "PK\1\2";
        put(header + 4, 20, 2);
        describe(header + 6, members + i);
        put(header + 42, members[i].offset, 4);
        fwrite(header, 1, CENTRAL, stream);
        fwrite(members[i].name, 1, strlen(members[i].name), stream);
    }
    uint8_t end[END] = "PK\5\6";
    put(end + 8, MEMBERS, 2);
    put(end + 10, MEMBERS, 2);
    put(end + 12, (uint32_t)ftell(stream) - start, 4);
    put(end + 16, start, 4);
    fwrite(end, 1, END, stream);
}

void keep_state(const Model *model, const char *folder, int epoch, int step) {
    char path[4096], unfinished[4096];
    Member members[MEMBERS] = {{.name = "progress.npy"}};
    const int64_t progress[2] = {epoch, step};
    snprintf(path, sizeof path, "%s/epoch_%d.npz", folder, epoch);
    snprintf(unfinished, sizeof unfinished, "%s/.unfinished", folder);
    FILE *stream = fopen(unfinished, "wb");
    if (!stream)
        FAIL("%s cannot be opened", unfinished);
    for (int i = 0; i < 2 * ARRAYS; i++) {
        const Array *array = arrays + i % ARRAYS;
        Member *member = members + 1 + i;
        snprintf(member->name, NAME, "%s/%s.npy", i < ARRAYS ? "parameter" : "velocity", array->name);
        add(stream, member, "<" DESCR, sizeof(REAL), array->axes, array->dimensions, (i < ARRAYS ? model->parameter : model->velocity) + array->offset);
    }
    add(stream, members, "<i8", sizeof *progress, (int[]){2}, 1, progress);
    finish(stream, members);
    if (fflush(stream) != 0 || fsync(fileno(stream)) != 0 || fclose(stream) != 0 || rename(unfinished, path) != 0)
        FAIL("%s cannot be written", path);
}

/* Read the values of the member with this name; they end it. */
static void read_member(FILE *stream, const char *name, void *values, size_t size) {
    uint8_t end[END], header[CENTRAL], local[LOCAL];
    char found[NAME];
    if (fseek(stream, -END, SEEK_END) != 0 || fread(end, 1, END, stream) != END || memcmp(end, "PK\5\6", 4) != 0)
        FAIL("the training state is no zip archive");
    long next = (long)taken(end + 16, 4);
    for (uint32_t i = taken(end + 10, 2); i > 0; i--) {
        if (fseek(stream, next, SEEK_SET) != 0 || fread(header, 1, CENTRAL, stream) != CENTRAL)
            break;
        const uint32_t length = taken(header + 28, 2), bytes = taken(header + 24, 4);
        if (length == strlen(name) && fread(found, 1, length, stream) == length && memcmp(found, name, length) == 0) {
            const long start = (long)taken(header + 42, 4);
            if (bytes < size || fseek(stream, start, SEEK_SET) != 0 || fread(local, 1, LOCAL, stream) != LOCAL)
                break;
            const long data = start + LOCAL + (long)taken(local + 26, 2) + (long)taken(local + 28, 2);
            if (fseek(stream, data + (long)(bytes - size), SEEK_SET) != 0 || fread(values, 1, size, stream) != size)
                break;
            return;
        }
        next += CENTRAL + (long)length + (long)taken(header + 30, 2) + (long)taken(header + 32, 2);
    }
    FAIL("the training state has no %s of this model", name);
}

void restore_state(Model *model, const char *path, int *epoch, int *step) {
    char name[NAME];
    int64_t progress[2];
    FILE *stream = fopen(path, "rb");
    if (!stream)
        FAIL("%s cannot be opened", path);
    for (int i = 0; i < 2 * ARRAYS; i++) {
        const Array *array = arrays + i % ARRAYS;
        snprintf(name, sizeof name, "%s/%s.npy", i < ARRAYS ? "parameter" : "velocity", array->name);
        read_member(stream, name, (i < ARRAYS ? model->parameter : model->velocity) + array->offset, array->size * sizeof(REAL));
    }
    read_member(stream, "progress.npy", progress, sizeof progress);
    fclose(stream);
    *epoch = (int)progress[0];
    *step = (int)progress[1];
}
