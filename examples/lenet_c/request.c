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

/* The four digits of the escape \uXXXX, behind which it moves; 0 for anything else. */
static unsigned escaped(const char **place) {
    unsigned code = 0;
    int length = 0;
    if (sscanf(*place, "\\u%4x%n", &code, &length) != 1 || length != 6 || !code)
        return 0;
    *place += length;
    return code;
}

/* Appends a code point in UTF-8; returns where the next one begins. */
static char *append(char *text, unsigned code) {
    const int more = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000); /* bytes after the first */
    static const unsigned FIRST[] = {0, 0xC0, 0xE0, 0xF0};
    *text++ = (char)(FIRST[more] | code >> 6 * more);
    for (int left = more - 1; left >= 0; left--)
        *text++ = (char)(0x80 | (code >> 6 * left & 0x3F));
    return text;
}

void text_of(const char *json, const char *object, const char *key, char *text, size_t size) {
    const char *value = value_of(json, object, key), *const last = text + size - 5; /* room for one, and the zero */
    if (*value++ != '"')
        FAIL("the request's %s is not a text", key);
    while (*value != '"') {
        unsigned code = *value == '\\' ? escaped(&value) : 0;
        if (code >= 0xD800 && code < 0xDC00) /* with the next one, a code point beyond 16 bits */
            code = 0x10000 + ((code - 0xD800) << 10 | (escaped(&value) & 0x3FF));
        if (!code && *value == '\\' && strchr("\"\\/", value[1]))
            value++;
        else if (!code && *value == '\\')
            FAIL("the request's %s has characters that this reader does not know", key);
        if (!*value || text > last)
            FAIL("the request's %s is too long", key);
        if (code >= 0xDC80 && code < 0xDD00) /* a byte that is no UTF-8, as Python writes it */
            *text++ = (char)(code & 0xFF);
        else if (code)
            text = append(text, code);
        else
            *text++ = *value++;
    }
    *text = 0;
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
