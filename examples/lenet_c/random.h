/* NumPy's legacy generator (RandomState, MT19937), whose stream is frozen: weights and sample order follow from the seed in every language. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t state[624];
    int next;
} Random;

/* RandomState([first, second]). */
void random_seed(Random *random, uint32_t first, uint32_t second);

/* RandomState.uniform(low, high): one value. */
double random_uniform(Random *random, double low, double high);

/* RandomState.permutation(count). */
void random_permutation(Random *random, int32_t *order, size_t count);

/* zlib.crc32. */
uint32_t crc32_of(const void *bytes, size_t length);

#endif
