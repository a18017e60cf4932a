#include "sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t value, int by) { return (value >> by) | (value << (32 - by)); }

static void compress(uint32_t hash[8], const uint8_t block[64]) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, hash, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t s1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25), choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t s0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22), major = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t first = v[7] + s1 + choice + K[i] + w[i], second = s0 + major;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        hash[i] += v[i];
}

void sha256_begin(Sha256 *digest) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(digest->hash, first, sizeof first);
    digest->length = 0;
}

void sha256_add(Sha256 *digest, const void *bytes, size_t length) {
    const uint8_t *from = bytes;
    while (length--) {
        digest->block[digest->length++ % 64] = *from++;
        if (digest->length % 64 == 0)
            compress(digest->hash, digest->block);
    }
}

void sha256_end(Sha256 *digest, char hex[HEX_LENGTH + 1]) {
    const uint64_t bits = 8 * digest->length;
    const uint8_t one = 0x80, zero = 0;
    sha256_add(digest, &one, 1);
    while (digest->length % 64 != 56)
        sha256_add(digest, &zero, 1);
    for (int shift = 56; shift >= 0; shift -= 8) {
        const uint8_t byte = (uint8_t)(bits >> shift);
        sha256_add(digest, &byte, 1);
    }
    for (int i = 0; i < 8; i++)
        sprintf(hex + 8 * i, "%08lx", (unsigned long)digest->hash[i]);
}
