/* Reads values of request.json and probe.json, which the harness writes: a scanner for known keys, no JSON library. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stddef.h>

/* The whole file, with a zero after it. */
char *read_text(const char *path);

/* The value of `key`, within the object `object` (NULL: at the top or anywhere); exits for a key that is missing. */
double number_of(const char *json, const char *object, const char *key);
int is_word(const char *json, const char *object, const char *key, const char *word); /* null, true or false */
void text_of(const char *json, const char *object, const char *key, char *text, size_t size);

/* The numbers of a list, at most `most`; returns how many there are. */
int numbers_of(const char *json, const char *object, const char *key, double *numbers, int most);

#endif
