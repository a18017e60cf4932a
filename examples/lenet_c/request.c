#include "request.h"

#include <string.h>

#include "fail.h"

char *read_text(const char *path) {
    FILE *stream = fopen(path, "rb");
    if (!stream)
        FAIL("%s cannot be opened", path);
    size_t length = 0, size = 1 << 16;
    char *text = malloc(size);
    while (text && (length += fread(text + length, 1, size - length - 1, stream)) == size - 1)
        text = realloc(text, size *= 2);
    if (!text || ferror(stream))
        FAIL("%s cannot be read", path);
    text[length] = 0;
    fclose(stream);
    return text;
}

/* Where the value of "key" begins: the first `"key": ` after the first `"object": `. */
static const char *value_of(const char *json, const char *object, const char *key) {
    char quoted[80];
    const char *place = json;
    if (object) {
        snprintf(quoted, sizeof quoted, "\"%s\":", object);
        if (!(place = strstr(json, quoted)))
            FAIL("the request has no %s", object);
    }
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    if (!(place = strstr(place, quoted)))
        FAIL("the request has no %s", key);
    place += strlen(quoted);
    return place + strspn(place, " \n\t");
}

double number_of(const char *json, const char *object, const char *key) {
    const char *value = value_of(json, object, key);
    char *end;
    const double number = strtod(value, &end);
    if (end == value)
        FAIL("the request's %s is not a number", key);
    return number;
}

int is_word(const char *json, const char *object, const char *key, const char *word) {
    return strncmp(value_of(json, object, key), word, strlen(word)) == 0;
}

void text_of(const char *json, const char *object, const char *key, char *text, size_t size) {
    const char *value = value_of(json, object, key);
    if (*value++ != '"')
        FAIL("the request's %s is not a text", key);
    const size_t length = strcspn(value, "\"");
    if (length >= size || memchr(value, '\\', length))
        FAIL("the request's %s is too long, or has characters that this reader does not know", key);
    memcpy(text, value, length);
    text[length] = 0;
}

int numbers_of(const char *json, const char *object, const char *key, double *numbers, int most) {
    const char *value = value_of(json, object, key);
    int count = 0;
    for (value++; *value && *value != ']' && count < most; count++) {
        char *end;
        numbers[count] = strtod(value, &end);
        if (end == value)
            FAIL("the request's %s is not a list of numbers", key);
        value = end + strspn(end, ", \n\t");
    }
    return count;
}
