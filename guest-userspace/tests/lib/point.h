/* SPDX-License-Identifier: MIT */
/*
 * Makes the driver stop, or fail, where it moves memory: docs/memory.md, "To look at".
 */
#ifndef VKFD_TEST_POINT_H
#define VKFD_TEST_POINT_H

#include <stdbool.h>

/* The next one stops at @name until point_go() / all fail there, until then. End the program on failure. */
void point_hold(const char *name);
void point_fail(const char *name);
/* Waits until that has happened. */
void point_wait(void);
void point_go(void);

#endif /* VKFD_TEST_POINT_H */
