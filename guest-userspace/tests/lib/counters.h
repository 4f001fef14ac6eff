/* SPDX-License-Identifier: MIT */
/*
 * Counters of the driver: lines "name value" of a file in /sys/kernel/debug/kfd.
 */
#ifndef VKFD_TEST_COUNTERS_H
#define VKFD_TEST_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* First line @name of @file ("ih", "events"); -1 if there is none. Needs root. */
int64_t kfd_counter(const char *file, const char *name);

/*
 * Waits until it is @want: for what is done after a process has ended, which wait() does
 * not wait for. What it is in the end.
 */
int64_t kfd_counter_settle(const char *file, const char *name, int64_t want, unsigned int ms);

/* Waits until it is at least @want; false after @ms milliseconds. */
bool kfd_counter_wait(const char *file, const char *name, int64_t want, unsigned int ms);

#endif /* VKFD_TEST_COUNTERS_H */
