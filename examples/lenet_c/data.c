#include "data.h"

#include <string.h>

#include "fail.h"
#include "model.h"

enum { IMAGES_HEADER = 16, LABELS_HEADER = 8, NPY_PREFIX = 10, NPY_ALIGNMENT = 64 };

static uint8_t *read_idx(const char *directory, const char *prefix, const char *suffix, size_t header, size_t size, int samples) {
    char path[4096];
    uint8_t start[IMAGES_HEADER], *bytes = malloc(size);
    snprintf(path, sizeof path, "%s/%s-%s", directory, prefix, suffix);
    FILE *stream = fopen(path, "rb");
    if (!stream || !bytes || fread(start, 1, header, stream) != header)
        FAIL("%s cannot be read", path);
    const long found = (long)start[4] << 24 | (long)start[5] << 16 | (long)start[6] << 8 | start[7];
    if (found != samples)
        FAIL("%s has %ld samples, the request says %d", path, found, samples);
    if (fread(bytes, 1, size, stream) != size)
        FAIL("%s is cut off", path);
    fclose(stream);
    return bytes;
}

Split read_split(const char *directory, const char *prefix, int samples) {
    const size_t count = (size_t)samples;
    const Split split = {
        read_idx(directory, prefix, "images-idx3-ubyte", IMAGES_HEADER, count * PIXELS, samples),
        read_idx(directory, prefix, "labels-idx1-ubyte", LABELS_HEADER, count, samples),
        samples,
    };
    return split;
}

void normalise(const uint8_t *pixels, double mean, double deviation, REAL *image) {
    const REAL scale = (REAL)(1.0 / (255.0 * deviation)), shift = (REAL)(-mean / deviation);
    for (int i = 0; i < PIXELS; i++)
        image[i] = (REAL)pixels[i] * scale + shift;
}

static FILE *open_npy(const char *folder, const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *stream = fopen(path, mode);
    if (!stream)
        FAIL("%s cannot be opened", path);
    return stream;
}

void read_npy(const char *folder, const char *name, void *values, size_t size) {
    FILE *stream = open_npy(folder, name, "rb");
    uint8_t prefix[NPY_PREFIX];
    if (fread(prefix, 1, sizeof prefix, stream) != sizeof prefix || memcmp(prefix, "\x93NUMPY\x01", 7) != 0)
        FAIL("%s.npy is no array of format 1.0", name);
    if (fseek(stream, prefix[8] | prefix[9] << 8, SEEK_CUR) != 0 || fread(values, 1, size, stream) != size || fgetc(stream) != EOF)
        FAIL("%s.npy has another size than this model's array", name);
    fclose(stream);
}

size_t npy_header(uint8_t *bytes, const char *type, const int *axes, int dimensions) {
    char *header = (char *)bytes + NPY_PREFIX;
    int length = sprintf(header, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int i = 0; i < dimensions; i++)
        length += sprintf(header + length, "%d,", axes[i]);
    length += sprintf(header + length, "), }");
    while ((NPY_PREFIX + length + 1) % NPY_ALIGNMENT)
        header[length++] = ' ';
    header[length++] = '\n';
    const uint8_t prefix[NPY_PREFIX] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
    memcpy(bytes, prefix, NPY_PREFIX);
    return NPY_PREFIX + (size_t)length;
}

void write_npy(const char *folder, const char *name, const REAL *values, const int *axes, int dimensions) {
    uint8_t header[512];
    size_t count = 1;
    for (int i = 0; i < dimensions; i++)
        count *= (size_t)axes[i];
    FILE *stream = open_npy(folder, name, "wb");
    fwrite(header, 1, npy_header(header, "<" DESCR, axes, dimensions), stream);
    fwrite(values, sizeof *values, count, stream);
    if (ferror(stream) || fclose(stream) != 0)
        FAIL("%s.npy cannot be written", name);
}
