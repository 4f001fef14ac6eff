/* SPDX-License-Identifier: MIT */
/*
 * The kernel under test from outside: references to the module, how slow it is.
 */
#ifndef VKFD_TEST_DRIVER_H
#define VKFD_TEST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* References to the module: one for each process and each open file. -1 on failure. */
int64_t driver_references(void);
/*
 * Waits until there are no more than @before: what ended processes had is let go of a while
 * later, also what others had that had ended before @before was read. False: there still are.
 */
bool driver_let_go(int64_t before);

/*
 * @full with VKFD_FULL, otherwise @part; on a kernel with checkers, which is many
 * times slower, a sixteenth of that and at least 1.
 */
unsigned int scaled(unsigned int full, unsigned int part);

/* Sets parameter @name of the module: 0 or the negative errno. */
int driver_set_parameter(const char *name, const char *value);

/* Whether boolean parameter @name is on. */
bool driver_flag(const char *name);

/* The module's sched_policy: 0 and 1 scheduler firmware, 2 none; -1 on failure. */
int driver_sched_policy(void);

/*
 * Loads the module anew (VKFD_DRIVER) with this sched_policy, once nobody uses it; its
 * counters start at 0. False, with errno: it cannot be unloaded, or not loaded again.
 */
bool driver_reload(int policy);
/* The same with all @parameters ("name=value name=value"). */
bool driver_reload_with(const char *parameters);

/*
 * PASID of this process in interrupt entries made up for it. 0 where the driver assigns
 * VMIDs and knows the process by that: what the hardware may leave out is left out.
 */
uint32_t driver_entry_pasid(void);

/* The kernel has checkers. */
bool kernel_is_slow(void);

#endif /* VKFD_TEST_DRIVER_H */
