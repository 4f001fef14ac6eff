/* SPDX-License-Identifier: MIT */
/*
 * Swap in memory, by zram, for the time of a test.
 */
#ifndef VKFD_TEST_SWAP_H
#define VKFD_TEST_SWAP_H

#include <stdbool.h>

/* Swap of @bytes; false: the kernel has no zram, or another uses it. */
bool swap_begin(unsigned int bytes);
/* What is in there comes back first. */
bool swap_end(void);

/* Writes @text to @path in one go. */
bool file_put(const char *path, const char *text);

#endif /* VKFD_TEST_SWAP_H */
