/* Large arrays where a plan puts them: a preload library for training in little memory.
 *
 * A step of training asks for the same arrays in the same order every time. glibc and jemalloc leave gaps between them, 300 MB and more in
 * ResNet-152; returning every array to the kernel closes the gaps and doubles the page faults. Here the first two steps return every array, the second
 * one is recorded, and from the third on each array has a place that was planned from all lifetimes. Its pages are used again in every step.
 *
 *     cc -O2 -shared -fPIC -o arena.so arena.c -ldl -lpthread && LD_PRELOAD=./arena.so python ...
 *
 * The program calls arena_step() before each step. An array that the plan does not have, or whose place is taken, is returned to the kernel when it is
 * freed, as in the first steps: a step that differs costs time and is never wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((size_t)64 << 10) /* smaller requests are glibc's */
#define RESERVED ((size_t)64 << 30) /* addresses, not memory, of each of the two mappings */
#define PAGE ((size_t)4096)
#define BLOCKS 65536
#define OBJECTS 65536
#define PLANS 100 /* that are made; the lowest is used */
#define NEARBY 64 /* arrays that a step may leave out before it counts as another one */

/* One array of a step. Times are numbers of requests and frees; an end of 0 outlives the step and has no place, nor has one that was never written:
 * PyTorch's batch normalisation asks for an array twice and uses one. */
struct object { size_t size, offset; unsigned begin, end; int unwritten; };
/* A piece of the mapping whose arrays are returned; block 0 is the first of a list in the order of addresses. */
struct block { size_t start, size; int used, next, previous, object; };

static struct object objects[OBJECTS];
static int object_count, next_object;
static unsigned now;
static struct block blocks[BLOCKS];
static int unused[BLOCKS], unused_count;
static char *returned, *planned; /* the two mappings */
static unsigned char taken[RESERVED / PAGE]; /* pages of the planned mapping */
static unsigned length[RESERVED / PAGE]; /* pages of the array that begins at a page of it */
static size_t live_bytes, peak_bytes, planned_bytes, misses;
static enum { WARMING = 0, RECORDING = 2, REPLAYING = 3 } state;
static int steps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*next_posix_memalign)(void **, size_t, size_t);
static void (*next_free)(void *);
static void *(*next_realloc)(void *, size_t);
static size_t (*next_usable)(void *);

static char *reserve(void) {
    char *mapped = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void start(void) {
    next_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next_usable = (size_t (*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    blocks[0] = (struct block){0, RESERVED, 0, -1, -1, -1};
    for (int i = BLOCKS - 1; i > 0; i--) unused[unused_count++] = i;
    planned = reserve();
    returned = planned ? reserve() : NULL;
}

__attribute__((constructor)) static void initialise(void) {
    pthread_mutex_lock(&lock);
    if (!next_free) start();
    pthread_mutex_unlock(&lock);
}

/* ---- arrays that are returned to the kernel when they are freed ---- */

static int best_fit(size_t size) {
    int best = -1;
    for (int i = 0; i >= 0; i = blocks[i].next)
        if (!blocks[i].used && blocks[i].size >= size && (best < 0 || blocks[i].size < blocks[best].size)) best = i;
    return best;
}

static void *take_returned(size_t size, int object) {
    int found = best_fit(size);
    if (found < 0 || (blocks[found].size > size && !unused_count)) return NULL;
    if (blocks[found].size > size) {
        int rest = unused[--unused_count];
        blocks[rest] = (struct block){blocks[found].start + size, blocks[found].size - size, 0, blocks[found].next, found, -1};
        if (blocks[rest].next >= 0) blocks[blocks[rest].next].previous = rest;
        blocks[found].next = rest;
        blocks[found].size = size;
    }
    blocks[found].used = 1;
    blocks[found].object = object;
    return returned + blocks[found].start;
}

static int block_of(const void *pointer) {
    size_t start_of = (size_t)((const char *)pointer - returned);
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

static int is_unwritten(const char *array, size_t size) {
    static unsigned char resident[RESERVED / PAGE];
    return !mincore((void *)array, size, resident) && !memchr(resident, 1, size / PAGE);
}

static void give_back(int i) {
    if (state == RECORDING && blocks[i].object >= 0) {
        struct object *object = &objects[blocks[i].object];
        object->end = ++now;
        object->unwritten = is_unwritten(returned + blocks[i].start, blocks[i].size);
    }
    madvise(returned + blocks[i].start, blocks[i].size, MADV_DONTNEED);
    live_bytes -= blocks[i].size;
    blocks[i].used = 0;
    if (blocks[i].next >= 0 && !blocks[blocks[i].next].used) join(i, blocks[i].next);
    if (blocks[i].previous >= 0 && !blocks[blocks[i].previous].used) join(blocks[i].previous, i);
}

/* ---- the plan: each array, large ones first, at the lowest place that is free for its whole life; the lowest of several plans ---- */

static int larger(const void *left, const void *right) {
    size_t a = objects[*(const int *)left].size, b = objects[*(const int *)right].size;
    return a == b ? *(const int *)left - *(const int *)right : (a < b) - (a > b);
}

static size_t top_of(int object) { return objects[object].offset + objects[object].size; }

static void place(int object, int *placed, int count) {
    /* placed is in the order of offsets */
    size_t offset = 0;
    int at = 0;
    for (int i = 0; i < count; i++) {
        struct object *other = &objects[placed[i]];
        if (other->end < objects[object].begin || other->begin > objects[object].end) continue;
        if (other->offset >= offset + objects[object].size) break;
        if (other->offset + other->size > offset) offset = other->offset + other->size;
    }
    objects[object].offset = offset;
    while (at < count && objects[placed[at]].offset <= offset) at++;
    memmove(placed + at + 1, placed + at, (size_t)(count - at) * sizeof *placed);
    placed[at] = object;
}

/* Place the arrays in this order; the position in it of the one that ends highest. */
static int place_all(const int *order, int count) {
    static int placed[OBJECTS];
    int highest = 0;
    for (int i = 0; i < count; i++) {
        place(order[i], placed, i);
        if (top_of(order[i]) > top_of(order[highest])) highest = i;
    }
    return highest;
}

/* The array that ended highest comes first in the next plan: it lay above a gap that was too small for it. */
static void make_plan(void) {
    static int order[OBJECTS];
    static size_t lowest[OBJECTS];
    int count = 0;
    for (int i = 0; i < object_count; i++)
        if (objects[i].end && !objects[i].unwritten) order[count++] = i;
    qsort(order, (size_t)count, sizeof *order, larger);
    for (int plan = 0; plan < PLANS && count; plan++) {
        int position = place_all(order, count), highest = order[position];
        if (!plan || top_of(highest) < planned_bytes) {
            planned_bytes = top_of(highest);
            for (int i = 0; i < count; i++) lowest[order[i]] = objects[order[i]].offset;
        }
        memmove(order + 1, order, (size_t)position * sizeof *order);
        order[0] = highest;
    }
    for (int i = 0; i < count; i++) objects[order[i]].offset = lowest[order[i]];
}

static int is_free(size_t page, size_t pages) { return memchr(taken + page, 1, pages) == NULL; }

/* The next array of the plan of this size; -1 if there is none nearby. */
static int next_planned(size_t size) {
    for (int i = next_object; i < object_count && i < next_object + NEARBY; i++)
        if (objects[i].size == size) return next_object = i + 1, i;
    return -1;
}

/* Its place, if it has one that is free. */
static void *take_planned(const struct object *object) {
    size_t page = object->offset / PAGE, pages = object->size / PAGE;
    if (!object->end || object->unwritten || !is_free(page, pages)) return NULL;
    memset(taken + page, 1, pages);
    length[page] = (unsigned)pages;
    return planned + object->offset;
}

/* ---- what the program calls ---- */

/* Begin a step of training: every step asks for the same arrays in the same order. */
void arena_step(void) {
    pthread_mutex_lock(&lock);
    if (state == RECORDING) make_plan();
    steps++;
    state = steps == 2 ? RECORDING : steps > 2 ? REPLAYING : WARMING;
    next_object = 0;
    pthread_mutex_unlock(&lock);
}

/* Bytes of large arrays: now, at their highest so far, and of the plan; and the requests that had no place in the plan. */
void arena_counts(size_t *counts) {
    counts[0] = live_bytes, counts[1] = peak_bytes, counts[2] = planned_bytes, counts[3] = misses;
}

static void *take(size_t size) {
    size = (size + PAGE - 1) & ~(PAGE - 1);
    int next = state == REPLAYING ? next_planned(size) : -1;
    void *found = next < 0 ? NULL : take_planned(&objects[next]);
    if (!found) {
        int object = state == RECORDING && object_count < OBJECTS ? object_count++ : -1;
        if (object >= 0) objects[object] = (struct object){size, 0, ++now, 0};
        if (state == REPLAYING && (next < 0 || !objects[next].unwritten)) misses++;
        found = take_returned(size, object);
    }
    if (found) live_bytes += size;
    if (live_bytes > peak_bytes) peak_bytes = live_bytes;
    return found;
}

static int in(const void *pointer, const char *mapping) {
    return mapping && (const char *)pointer >= mapping && (const char *)pointer < mapping + RESERVED;
}

static size_t page_of(const void *pointer) { return (size_t)((const char *)pointer - planned) / PAGE; }

static size_t size_of(const void *pointer) {
    if (in(pointer, planned)) return length[page_of(pointer)] * PAGE;
    int i = block_of(pointer);
    return i < 0 ? 0 : blocks[i].size;
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    if (!next_posix_memalign) initialise();
    if (returned && size >= LARGE && size < RESERVED && alignment <= PAGE) {
        pthread_mutex_lock(&lock);
        void *found = take(size);
        pthread_mutex_unlock(&lock);
        if (found) return *pointer = found, 0;
    }
    return next_posix_memalign(pointer, alignment, size);
}

void free(void *pointer) {
    if (!pointer) return;
    if (in(pointer, planned)) {
        pthread_mutex_lock(&lock);
        size_t page = page_of(pointer);
        memset(taken + page, 0, length[page]);
        live_bytes -= length[page] * PAGE;
        pthread_mutex_unlock(&lock);
    } else if (in(pointer, returned)) {
        pthread_mutex_lock(&lock);
        int i = block_of(pointer);
        if (i >= 0) give_back(i);
        pthread_mutex_unlock(&lock);
    } else {
        if (!next_free) initialise();
        next_free(pointer);
    }
}

size_t malloc_usable_size(void *pointer) {
    if (!in(pointer, planned) && !in(pointer, returned)) return next_usable ? next_usable(pointer) : 0;
    pthread_mutex_lock(&lock);
    size_t size = size_of(pointer);
    pthread_mutex_unlock(&lock);
    return size;
}

void *realloc(void *pointer, size_t size) {
    if (!next_realloc) initialise();
    if (!in(pointer, planned) && !in(pointer, returned)) return next_realloc(pointer, size);
    size_t old = malloc_usable_size(pointer);
    void *moved = next_realloc(NULL, size);
    if (moved) {
        memcpy(moved, pointer, old < size ? old : size);
        free(pointer);
    }
    return moved;
}
