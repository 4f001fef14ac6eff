// SPDX-License-Identifier: MIT
/* Shared virtual memory attributes and XNACK mode. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

/* Attributes whose value is a place: a node outside, a GPU id in the kernel. */
static bool is_access(uint32_t type)
{
	return type == KFD_IOCTL_SVM_ATTR_ACCESS || type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE ||
	       type == KFD_IOCTL_SVM_ATTR_NO_ACCESS;
}

static bool is_location(uint32_t type)
{
	return type == KFD_IOCTL_SVM_ATTR_PREFERRED_LOC ||
	       type == KFD_IOCTL_SVM_ATTR_PREFETCH_LOC;
}

static struct kfd_ioctl_svm_args *make_args(uint64_t addr, uint64_t size, uint32_t op,
					    const void *attrs, uint32_t count)
{
	size_t bytes = (size_t)count * sizeof(struct kfd_ioctl_svm_attribute);
	struct kfd_ioctl_svm_args *args = calloc(1, sizeof(*args) + bytes);

	if (!args)
		return NULL;
	args->start_addr = addr;
	args->size = size;
	args->op = op;
	args->nattr = count;
	if (bytes)
		memcpy(args->attrs, attrs, bytes);
	return args;
}

/* The size field of the request covers the attributes as well. */
static HSAKMT_STATUS call_svm(struct kfd_ioctl_svm_args *args)
{
	size_t bytes = args->nattr * sizeof(args->attrs[0]);

	if (sizeof(*args) + bytes > _IOC_SIZEMASK)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return hsakmt_call(AMDKFD_IOC_SVM + (bytes << _IOC_SIZESHIFT), args);
}

HSAKMT_STATUS hsakmt_svm_set(uint64_t addr, uint64_t size,
			     const struct kfd_ioctl_svm_attribute *attrs, uint32_t count)
{
	struct kfd_ioctl_svm_args *args = make_args(addr, size, KFD_IOCTL_SVM_OP_SET_ATTR, attrs,
						    count);
	HSAKMT_STATUS status;

	if (!args)
		return HSAKMT_STATUS_NO_MEMORY;
	status = call_svm(args);
	free(args);
	return status;
}

static HSAKMT_STATUS check_range(const void *start, uint64_t size)
{
	uint64_t mask = hsakmt_ctx.page_size - 1;

	if (!start || !size || hsakmt_addr(start) & mask || size & mask)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return HSAKMT_STATUS_SUCCESS;
}

/* Node to GPU id in place. @set: locations are translated as well. */
static HSAKMT_STATUS to_gpu_ids(struct kfd_ioctl_svm_args *args, bool set)
{
	for (uint32_t i = 0; i < args->nattr; i++) {
		struct kfd_ioctl_svm_attribute *a = &args->attrs[i];
		HSAKMT_STATUS status;

		if (!is_access(a->type) && !(set && is_location(a->type)))
			continue;
		if (a->type == KFD_IOCTL_SVM_ATTR_PREFERRED_LOC && a->value == INVALID_NODEID) {
			a->value = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
			continue;
		}
		status = hsakmt_node_gpu_id(a->value, &a->value);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;
		if (!a->value && is_access(a->type))	/* a CPU node always has access */
			return HSAKMT_STATUS_INVALID_NODE_UNIT;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSVMSetAttr(void *start_addr, HSAuint64 size, unsigned int nattr,
					     HSA_SVM_ATTRIBUTE *attrs)
{
	struct kfd_ioctl_svm_args *args;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(5);
	status = check_range(start_addr, size);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	args = make_args(hsakmt_addr(start_addr), size, KFD_IOCTL_SVM_OP_SET_ATTR, attrs, nattr);
	if (!args)
		return HSAKMT_STATUS_NO_MEMORY;
	status = to_gpu_ids(args, true);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = call_svm(args);
	free(args);
	return status;
}

/* GPU ids of an answer back to nodes. */
static HSAKMT_STATUS to_nodes(HSA_SVM_ATTRIBUTE *attrs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		HSAKMT_STATUS status;

		if (!is_access(attrs[i].type) && !is_location(attrs[i].type))
			continue;
		if (attrs[i].value == KFD_IOCTL_SVM_LOCATION_SYSMEM)
			continue;	/* node 0 */
		if (attrs[i].value == KFD_IOCTL_SVM_LOCATION_UNDEFINED) {
			attrs[i].value = INVALID_NODEID;
			continue;
		}
		status = hsakmt_gpu_node_id(attrs[i].value, &attrs[i].value);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSVMGetAttr(void *start_addr, HSAuint64 size, unsigned int nattr,
					     HSA_SVM_ATTRIBUTE *attrs)
{
	struct kfd_ioctl_svm_args *args;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(5);
	status = check_range(start_addr, size);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	args = make_args(hsakmt_addr(start_addr), size, KFD_IOCTL_SVM_OP_GET_ATTR, attrs, nattr);
	if (!args)
		return HSAKMT_STATUS_NO_MEMORY;
	status = to_gpu_ids(args, false);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = call_svm(args);
	if (status == HSAKMT_STATUS_SUCCESS) {
		if (nattr)
			memcpy(attrs, args->attrs, nattr * sizeof(*attrs));
		status = to_nodes(attrs, nattr);
	}
	free(args);
	return status;
}

/* In: 0 or 1 to set, -1 to ask. Out: the mode. */
static HSAKMT_STATUS xnack(HSAint32 *mode)
{
	struct kfd_ioctl_set_xnack_mode_args args = { .xnack_enabled = *mode };

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(5);
	if (hsakmt_ioctl(AMDKFD_IOC_SET_XNACK_MODE, &args))
		return errno == EPERM ? HSAKMT_STATUS_NOT_SUPPORTED : HSAKMT_STATUS_ERROR;
	*mode = args.xnack_enabled;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable)
{
	return xnack(&enable);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
	if (!enable)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*enable = -1;
	return xnack(enable);
}
