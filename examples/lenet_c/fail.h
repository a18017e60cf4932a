/* Errors: one line on standard error, which the harness shows, and exit code 2. */
#ifndef FAIL_H
#define FAIL_H

#include <stdio.h>
#include <stdlib.h>

#define FAIL(...) (fprintf(stderr, "error: "), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(2))

#endif
