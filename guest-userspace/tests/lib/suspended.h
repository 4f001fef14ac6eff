/* SPDX-License-Identifier: MIT */
/*
 * Suspends and resumes devices with everything frozen, but not the machine. Needs root.
 */
#ifndef VKFD_TEST_SUSPENDED_H
#define VKFD_TEST_SUSPENDED_H

#include <stdbool.h>

/* False: this kernel cannot. */
bool suspend_begin(void);
/* There and back. */
bool suspend_once(void);
void suspend_end(void);

#endif /* VKFD_TEST_SUSPENDED_H */
