// SPDX-License-Identifier: MIT
#include <errno.h>

#include "kfd.h"
#include "kfd_event.h"
#include "tap.h"

uint32_t kfd_event_new(const struct kfd_proc *p, uint32_t type)
{
	struct kfd_ioctl_create_event_args c = { .event_type = type };
	int r = kfd_call(p->kfd, AMDKFD_IOC_CREATE_EVENT, &c);

	if (r)
		tap_bail("no event of type %u: errno %d", type, -r);
	return c.event_id;
}

bool kfd_event_wait(const struct kfd_proc *p, uint32_t id, uint32_t ms, struct kfd_event_data *data)
{
	struct kfd_event_data own, *d = data ? data : &own;
	struct kfd_ioctl_wait_events_args w = {
		.events_ptr = (uint64_t)(uintptr_t)d,
		.num_events = 1,
		.wait_for_all = 1,
		.timeout = ms,
	};
	int r;

	*d = (struct kfd_event_data) { .event_id = id };
	do
		r = kfd_call(p->kfd, AMDKFD_IOC_WAIT_EVENTS, &w);
	while (r == -EINTR);
	return !r && w.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}
