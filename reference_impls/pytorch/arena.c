/* Large tensors from one mapping, best fit, neighbours joined: a preload library for training in little memory.
 *
 * glibc and jemalloc leave gaps between tensors of different sizes, 300 MB and more in ResNet-152; returning every tensor to the kernel (a low
 * M_MMAP_THRESHOLD) closes the gaps and doubles the page faults. Here pages once touched are used again, and free pages are returned to the kernel only
 * where the resident ones would exceed ARENA_LIMIT, a number of bytes in the environment.
 *
 *     cc -O2 -shared -fPIC -o arena.so arena.c -ldl -lpthread && LD_PRELOAD=./arena.so python ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((size_t)256 << 10) /* smaller requests are glibc's */
#define RESERVED ((size_t)64 << 30) /* addresses, not memory */
#define ALIGNMENT ((size_t)4096)
#define BLOCKS 65536
#define PIECE ((size_t)64 << 10) /* the unit of what is resident */

struct block { size_t start, size; int used, next, previous; };

static struct block blocks[BLOCKS]; /* a list in the order of addresses; block 0 is the first */
static int unused[BLOCKS], unused_count;
static char *arena;
static unsigned char resident[RESERVED / PIECE]; /* pieces that were handed out since their pages were last returned */
static size_t resident_bytes, limit_bytes = SIZE_MAX;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*next_posix_memalign)(void **, size_t, size_t);
static void (*next_free)(void *);
static void *(*next_realloc)(void *, size_t);
static size_t (*next_usable)(void *);

static void start(void) {
    next_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next_usable = (size_t (*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    char *mapped = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    blocks[0] = (struct block){0, RESERVED, 0, -1, -1};
    for (int i = BLOCKS - 1; i > 0; i--) unused[unused_count++] = i;
    const char *limit = getenv("ARENA_LIMIT");
    if (limit) limit_bytes = strtoull(limit, NULL, 10);
    arena = mapped;
}

__attribute__((constructor)) static void initialise(void) {
    pthread_mutex_lock(&lock);
    if (!next_free) start();
    pthread_mutex_unlock(&lock);
}

/* The smallest free block that holds the size; of equal ones the lowest. -1: none. */
static int best_fit(size_t size) {
    int best = -1;
    for (int i = 0; i >= 0; i = blocks[i].next)
        if (!blocks[i].used && blocks[i].size >= size && (best < 0 || blocks[i].size < blocks[best].size)) best = i;
    return best;
}

static void touch(size_t first, size_t size) {
    for (size_t piece = first / PIECE; piece <= (first + size - 1) / PIECE; piece++)
        if (!resident[piece]) {
            resident[piece] = 1;
            resident_bytes += PIECE;
        }
}

/* Return the pages of a free block's resident pieces. */
static void release(int i) {
    size_t first = (blocks[i].start + PIECE - 1) / PIECE, end = (blocks[i].start + blocks[i].size) / PIECE;
    for (size_t piece = first; piece < end; piece++) {
        size_t stop = piece;
        while (stop < end && resident[stop]) resident[stop++] = 0;
        if (stop == piece) continue;
        madvise(arena + piece * PIECE, (stop - piece) * PIECE, MADV_DONTNEED);
        resident_bytes -= (stop - piece) * PIECE;
        piece = stop;
    }
}

/* Free blocks from the smallest on: a large one is the likeliest to be asked for again. */
static void stay_below_limit(void) {
    for (size_t size = LARGE; resident_bytes > limit_bytes && size < RESERVED; size *= 2)
        for (int i = 0; i >= 0 && resident_bytes > limit_bytes; i = blocks[i].next)
            if (!blocks[i].used && blocks[i].size < size && blocks[i].next >= 0) release(i);
    if (resident_bytes > limit_bytes)
        for (int i = 0; i >= 0; i = blocks[i].next)
            if (!blocks[i].used && blocks[i].next < 0 && resident_bytes > limit_bytes) {
                /* the free space at the end: only what was touched of it, which lies at its start */
                size_t piece = (blocks[i].start + PIECE - 1) / PIECE, stop = piece;
                while (stop < RESERVED / PIECE && resident[stop]) resident[stop++] = 0;
                if (stop > piece) madvise(arena + piece * PIECE, (stop - piece) * PIECE, MADV_DONTNEED);
                resident_bytes -= (stop - piece) * PIECE;
            }
}

static void *take(size_t size) {
    size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    int found = best_fit(size);
    if (found < 0 || (blocks[found].size > size && !unused_count)) return NULL;
    if (blocks[found].size > size) {
        int rest = unused[--unused_count];
        blocks[rest] = (struct block){blocks[found].start + size, blocks[found].size - size, 0, blocks[found].next, found};
        if (blocks[rest].next >= 0) blocks[blocks[rest].next].previous = rest;
        blocks[found].next = rest;
        blocks[found].size = size;
    }
    blocks[found].used = 1;
    touch(blocks[found].start, size);
    if (resident_bytes > limit_bytes) stay_below_limit();
    return arena + blocks[found].start;
}

static int owned(const void *pointer) { return arena && (const char *)pointer >= arena && (const char *)pointer < arena + RESERVED; }

static int block_of(const void *pointer) {
    size_t start_of = (size_t)((const char *)pointer - arena);
    int i = 0;
    while (i >= 0 && blocks[i].start != start_of) i = blocks[i].next;
    return i;
}

static void join(int left, int right) {
    blocks[left].size += blocks[right].size;
    blocks[left].next = blocks[right].next;
    if (blocks[left].next >= 0) blocks[blocks[left].next].previous = left;
    unused[unused_count++] = right;
}

static void give_back(void *pointer) {
    int i = block_of(pointer);
    if (i < 0) return;
    blocks[i].used = 0;
    if (blocks[i].next >= 0 && !blocks[blocks[i].next].used) join(i, blocks[i].next);
    if (blocks[i].previous >= 0 && !blocks[blocks[i].previous].used) join(blocks[i].previous, i);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    if (!next_posix_memalign) initialise();
    if (arena && size >= LARGE && alignment <= ALIGNMENT) {
        pthread_mutex_lock(&lock);
        void *taken = take(size);
        pthread_mutex_unlock(&lock);
        if (taken) return *pointer = taken, 0;
    }
    return next_posix_memalign(pointer, alignment, size);
}

void free(void *pointer) {
    if (!pointer) return;
    if (owned(pointer)) {
        pthread_mutex_lock(&lock);
        give_back(pointer);
        pthread_mutex_unlock(&lock);
        return;
    }
    if (!next_free) initialise();
    next_free(pointer);
}

size_t malloc_usable_size(void *pointer) {
    if (!owned(pointer)) return next_usable ? next_usable(pointer) : 0;
    pthread_mutex_lock(&lock);
    int i = block_of(pointer);
    pthread_mutex_unlock(&lock);
    return i < 0 ? 0 : blocks[i].size;
}

void *realloc(void *pointer, size_t size) {
    if (!next_realloc) initialise();
    if (!owned(pointer)) return next_realloc(pointer, size);
    size_t old = malloc_usable_size(pointer);
    void *moved = next_realloc(NULL, size);
    if (moved) {
        memcpy(moved, pointer, old < size ? old : size);
        free(pointer);
    }
    return moved;
}
