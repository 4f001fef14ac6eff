/* SPDX-License-Identifier: MIT */
/*
 * Attributes of address ranges by ioctl, and the module with that interface on.
 */
#ifndef VKFD_TEST_SVM_H
#define VKFD_TEST_SVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kfd.h"

/*
 * Loads the module with svm=1 and everything else as it was, and back; without effect if the
 * interface is on already. Begin: NULL, or why that is not possible.
 */
const char *svm_begin(void);
void svm_end(void);

/* One attribute for those calls. */
#define SVM_ATTR(type, value) \
	((struct kfd_ioctl_svm_attribute){ KFD_IOCTL_SVM_ATTR_##type, value })

/* 0 or the negative errno. Get: @attrs become the answer. */
int svm_set(const struct kfd_proc *p, const void *at, size_t size,
	    const struct kfd_ioctl_svm_attribute *attrs, uint32_t n);
int svm_get(const struct kfd_proc *p, const void *at, size_t size,
	    struct kfd_ioctl_svm_attribute *attrs, uint32_t n);
/* The same with one attribute. */
int svm_set_one(const struct kfd_proc *p, const void *at, size_t size,
		struct kfd_ioctl_svm_attribute attr);
/* Its value, or for ACCESS its type; ends the program on failure. */
uint32_t svm_value(const struct kfd_proc *p, const void *at, size_t size, uint32_t type);
uint32_t svm_access(const struct kfd_proc *p, const void *at, size_t size);

/*
 * Anonymous memory of @size that begins at a multiple of 16 MiB: in one range as long as it
 * is no longer, and with what granularity cuts out of it known. No huge pages: those the
 * kernel joins and takes apart when it likes, and one that is in use meanwhile does not move.
 * Ends the program if there is none.
 */
char *svm_pages(size_t size);

/* Gives the first GPU access; ends the program on failure. */
void svm_share(const struct kfd_proc *p, const void *at, size_t size);

/* A counter of the ranges of this process, see docs/svm.md. */
int64_t svm_counter(const char *name);
/* Waits until it is @want, and checks that: pages are away while the kernel moves them. */
void svm_counter_is(const char *name, int64_t want, const char *what);

#endif /* VKFD_TEST_SVM_H */
