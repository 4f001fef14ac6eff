/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lost interrupts, lost pointers, late slots: found by a look every 50 ms, and only
 * while a task sleeps in WAIT_EVENTS. vkfd_recovery.c says how.
 */
#ifndef VKFD_RECOVERY_H
#define VKFD_RECOVERY_H

/* Around the sleep of one task; any number of tasks. May not be called under a spinlock. */
void vkfd_recovery_sleep_begin(void);
void vkfd_recovery_sleep_end(void);

/* Module exit: nobody sleeps any more; waits for the last look to end. */
void vkfd_recovery_exit(void);

#endif /* VKFD_RECOVERY_H */
