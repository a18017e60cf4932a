/* MNIST's IDX files, and NumPy's .npy files of the probe. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>

/* Images and labels as they are in the files. */
typedef struct {
    uint8_t *images, *labels;
    int samples;
} Split;

/* Read `prefix`-images-idx3-ubyte and `prefix`-labels-idx1-ubyte; exits unless they hold `samples` images of 28x28. */
Split read_split(const char *directory, const char *prefix, int samples);

/* One image as the model takes it: pixel / 255, less the mean, by the standard deviation. */
void normalise(const uint8_t *pixels, double mean, double deviation, REAL *image);

/* Read the values of an array of `size` bytes; exits where the file has another size. */
void read_npy(const char *folder, const char *name, void *values, size_t size);

/* Write an array of REAL; `axes` are `dimensions` lengths (0: a scalar). */
void write_npy(const char *folder, const char *name, const REAL *values, const int *axes, int dimensions);

/* Write the beginning of an .npy file in front of its values, of a type such as <f4; returns its length, 512 bytes at most. */
size_t npy_header(uint8_t *bytes, const char *type, const int *axes, int dimensions);

#endif
