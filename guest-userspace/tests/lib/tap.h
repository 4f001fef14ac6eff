/* SPDX-License-Identifier: MIT */
/*
 * Test Anything Protocol for the guest programs: one line a check, the plan at
 * the end. The counters live in shared memory, so a check made in a forked child
 * counts like any other. Not thread safe: only one thread of one process
 * reports at a time.
 */
#ifndef VKFD_TAP_H
#define VKFD_TAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Starts the output and arms a watchdog: a program that has not reached
 * tap_done() after @seconds bails out, which is a failure. Children inherit it. On a
 * slower kernel (VKFD_TIME_SCALE) it has that many times as long.
 */
void tap_begin(unsigned int seconds);

/* One check; returns @pass. */
bool tap_ok(bool pass, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One check that two integers are equal; says both when they are not. */
bool tap_is(int64_t got, int64_t want, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* One check that cannot be made here, with the reason. */
void tap_skip(const char *reason, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A comment line. */
void tap_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Ends the whole program as failed: nothing that follows would make sense. */
void tap_bail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The plan of a program that cannot run at all here; ends it. */
void tap_skip_all(const char *reason) __attribute__((noreturn));

/* Prints the plan; returns the exit status of the program. */
int tap_done(void);

/*
 * Runs @fn in a forked child and waits for it. The child's checks count. A
 * child that ends by a signal or with a status other than 0 is a failed check.
 */
bool tap_child(const char *name, void (*fn)(void *), void *arg);

/* True when VKFD_FULL is set: tests run at full size. */
bool tap_full(void);

#endif /* VKFD_TAP_H */
