// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "copier.h"
#include "gpu.h"
#include "queue.h"
#include "sdma.h"
#include "tap.h"

void copier_open(struct copier *c)
{
	copier_open_nth(c, 0);
}

void copier_open_nth(struct copier *c, unsigned int which)
{
	memset(c, 0, sizeof(*c));
	raw_open_nth(&c->r, 1, which);
	if (raw_queue_create(&c->q, &c->r, KFD_IOC_QUEUE_TYPE_SDMA))
		tap_bail("no SDMA queue");
}

void copier_close(struct copier *c)
{
	raw_queue_destroy(&c->q);
	raw_close(&c->r);
}

static bool finish(struct copier *c)
{
	raw_put_write(&c->q, c->q.word, ++c->jobs);
	raw_submit(&c->q);
	return wait_word(c->q.word, c->jobs, COPIER_MS);
}

bool copier_copy(struct copier *c, uint64_t dst, uint64_t src, uint32_t bytes)
{
	raw_put_copy_va(&c->q, dst, src, bytes);
	return finish(c);
}

bool copier_fill(struct copier *c, uint64_t dst, uint32_t value, uint32_t bytes)
{
	raw_put_fill(&c->q, dst, value, bytes);
	return finish(c);
}

uint64_t copier_available(const struct copier *c)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = c->r.p.gpu_id };

	if (kfd_call(c->r.p.kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY");
	return a.available;
}

uint64_t copier_available_settle(const struct copier *c, uint64_t want)
{
	uint64_t end = now_ns() + COPIER_MS * 1000000ull, now;

	while ((now = copier_available(c)) != want && now_ns() < end)
		sched_yield();
	return now;
}

bool copier_given_back(const struct copier *c, int64_t before)
{
	uint64_t end = now_ns() + COPIER_MS * 1000000ull;
	int64_t now;

	while ((now = (int64_t)copier_available(c)) < before && now_ns() < end)
		sched_yield();
	if (now < before)
		tap_diag("%lld bytes are available, there were %lld", (long long)now, (long long)before);
	return now >= before;
}

static void buffer_at(struct buffer *b, uint64_t size)
{
	*b = (struct buffer) { .va = gpu_va(kfd_reserve_va(size)), .size = size };
}

static void buffer_nowhere(struct buffer *b)
{
	munmap((void *)(uintptr_t)b->va, b->size);
	*b = (struct buffer) { 0 };
}

int buffer_alloc(struct copier *c, struct buffer *b, uint64_t size, uint32_t flags)
{
	int err;

	buffer_at(b, size);
	err = kfd_alloc(&c->r.p, b->va, size, flags, &b->handle, &b->offset);
	if (!err)
		err = kfd_map(&c->r.p, b->handle);
	if (err)
		buffer_free(c, b);
	return err;
}

int buffer_free(struct copier *c, struct buffer *b)
{
	int err = 0;

	if (b->handle) {
		kfd_unmap(&c->r.p, b->handle);
		err = kfd_free(&c->r.p, b->handle);
	}
	if (!err)
		buffer_nowhere(b);
	return err;
}

uint32_t *buffer_map(struct copier *c, const struct buffer *b)
{
	void *at = mmap((void *)(uintptr_t)b->va, b->size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, c->r.p.render, (off_t)b->offset);

	if (at == MAP_FAILED)
		tap_bail("mmap of memory: %m");
	return at;
}

int buffer_export(struct copier *c, const struct buffer *b)
{
	struct kfd_ioctl_export_dmabuf_args a = { .handle = b->handle, .flags = O_CLOEXEC };
	int err = kfd_call(c->r.p.kfd, AMDKFD_IOC_EXPORT_DMABUF, &a);

	return err ? err : (int)a.dmabuf_fd;
}

int buffer_import(struct copier *c, struct buffer *b, int fd, uint64_t size)
{
	struct kfd_ioctl_import_dmabuf_args a = { .gpu_id = c->r.p.gpu_id,
						  .dmabuf_fd = (uint32_t)fd };
	int err;

	buffer_at(b, size);
	a.va_addr = b->va;
	err = kfd_call(c->r.p.kfd, AMDKFD_IOC_IMPORT_DMABUF, &a);
	if (!err) {
		b->handle = a.handle;
		err = kfd_map(&c->r.p, b->handle);
	}
	if (err)
		buffer_free(c, b);
	return err;
}

union fd_space {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

bool fd_send(int sock, int fd)
{
	union fd_space space = { 0 };
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = sizeof(space.space),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1;
}

int fd_receive(int sock)
{
	union fd_space space = { 0 };
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = sizeof(space.space),
	};
	struct cmsghdr *head;
	int fd = -1;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) == 1) {
		head = CMSG_FIRSTHDR(&msg);
		if (head && head->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	}
	return fd;
}
