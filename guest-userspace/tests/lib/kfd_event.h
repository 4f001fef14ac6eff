/* SPDX-License-Identifier: MIT */
/* Events of KFD without a thunk. */
#ifndef VKFD_TEST_KFD_EVENT_H
#define VKFD_TEST_KFD_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/kfd_ioctl.h>

struct kfd_proc;

/* A new event of @type (KFD_IOC_EVENT_*), its id; ends the program on failure. */
uint32_t kfd_event_new(const struct kfd_proc *p, uint32_t type);
/* Waits for it, through signals, for @ms; false: it did not come. @data: what it says, or NULL. */
bool kfd_event_wait(const struct kfd_proc *p, uint32_t id, uint32_t ms, struct kfd_event_data *data);

#endif /* VKFD_TEST_KFD_EVENT_H */
