/* SPDX-License-Identifier: MIT */
/*
 * Waiting until another thread sleeps in the kernel, without guessing times.
 */
#ifndef VKFD_TEST_ASLEEP_H
#define VKFD_TEST_ASLEEP_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns once thread @tid of this process sleeps. The caller knows, by a flag
 * the thread set last, that the next thing it sleeps in is the call of interest.
 * False after @ms milliseconds.
 */
bool wait_asleep(pid_t tid, unsigned int ms);

#endif /* VKFD_TEST_ASLEEP_H */
