/* Mersenne Twister: Matsumoto and Nishimura, ACM TOMACS 8 (1998), initialised by an array as in their mt19937ar.c of 2002. */
#include "random.h"

enum { SIZE = 624, SHIFT = 397 };

static void seed_by_number(Random *random, uint32_t seed) {
    random->state[0] = seed;
    for (int i = 1; i < SIZE; i++)
        random->state[i] = 1812433253u * (random->state[i - 1] ^ (random->state[i - 1] >> 30)) + (uint32_t)i;
    random->next = SIZE;
}

void random_seed(Random *random, uint32_t first, uint32_t second) {
    const uint32_t key[2] = {first, second};
    uint32_t *state = random->state;
    int i = 1, j = 0;
    seed_by_number(random, 19650218u);
    for (int k = SIZE; k; k--) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525u)) + key[j] + (uint32_t)j;
        if (++i >= SIZE) {
            state[0] = state[SIZE - 1];
            i = 1;
        }
        j = (j + 1) % 2;
    }
    for (int k = SIZE - 1; k; k--) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
        if (++i >= SIZE) {
            state[0] = state[SIZE - 1];
            i = 1;
        }
    }
    state[0] = 0x80000000u;
}

static uint32_t mix(uint32_t upper, uint32_t lower) {
    return (((upper & 0x80000000u) | (lower & 0x7fffffffu)) >> 1) ^ ((lower & 1u) ? 0x9908b0dfu : 0u);
}

static uint32_t next(Random *random) {
    uint32_t *state = random->state;
    if (random->next == SIZE) {
        for (int i = 0; i < SIZE; i++)
            state[i] = state[(i + SHIFT) % SIZE] ^ mix(state[i], state[(i + 1) % SIZE]);
        random->next = 0;
    }
    uint32_t value = state[random->next++];
    value ^= value >> 11;
    value ^= (value << 7) & 0x9d2c5680u;
    value ^= (value << 15) & 0xefc60000u;
    return value ^ (value >> 18);
}

double random_uniform(Random *random, double low, double high) {
    const uint32_t a = next(random) >> 5, b = next(random) >> 6;
    return low + (high - low) * ((a * 67108864.0 + b) / 9007199254740992.0);
}

/* A number from 0 to `largest`, by rejection under the smallest mask. */
static uint32_t interval(Random *random, uint32_t largest) {
    uint32_t mask = largest, value;
    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    do
        value = next(random) & mask;
    while (value > largest);
    return value;
}

void random_permutation(Random *random, int32_t *order, size_t count) {
    for (size_t i = 0; i < count; i++)
        order[i] = (int32_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        const uint32_t other = interval(random, (uint32_t)i);
        const int32_t moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
}

uint32_t crc32_of(const void *bytes, size_t length) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < length; i++) {
        crc ^= ((const unsigned char *)bytes)[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1u) ? 0xedb88320u : 0u);
    }
    return ~crc;
}
