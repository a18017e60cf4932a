/* SHA-256 (FIPS 180-4), for the chain of the log and the digests of the training state. */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { HEX_LENGTH = 64 };

typedef struct {
    uint32_t hash[8];
    uint8_t block[64];
    uint64_t length;
} Sha256;

void sha256_begin(Sha256 *digest);
void sha256_add(Sha256 *digest, const void *bytes, size_t length);

/* Write 64 hexadecimal digits and a zero. */
void sha256_end(Sha256 *digest, char hex[HEX_LENGTH + 1]);

#endif
