// SPDX-License-Identifier: GPL-2.0-only
/*
 * AMDKFD_IOC_SVM and AMDKFD_IOC_SET_XNACK_MODE.
 *
 * Answers are those of Linux 6.12 on a part with XNACK off, which a Vega20 is. Upstream has
 * the interface only where the kernel can put pages of a process into VRAM; here a module
 * parameter turns it on, and where that cannot be, memory stays where it is.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_process.h"
#include "vkfd_svm.h"
#include "vkfd_svm_vram.h"
#include "vkfd_vm.h"

bool vkfd_svm_enabled;
module_param_named(svm, vkfd_svm_enabled, bool, 0444);
MODULE_PARM_DESC(svm, "SVM interface: attributes of plain memory (default: no)");

#define MAX_GRANULARITY	0x3f

/* Index of GPU @gpu_id; @bound: that can have mappings. -EINVAL. process->lock held. */
static int gpu_index(struct vkfd_process *p, u32 gpu_id, bool bound)
{
	struct vkfd_pdd *pdd;

	pdd = bound ? vkfd_process_get_bound_pdd(p, gpu_id) : vkfd_process_get_pdd(p, gpu_id);
	if (IS_ERR(pdd))
		return -EINVAL;
	return pdd->dev->index;
}

static int check_attr(struct vkfd_process *p, const struct kfd_ioctl_svm_attribute *a)
{
	int index = 0;

	switch (a->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		if (a->value != KFD_IOCTL_SVM_LOCATION_SYSMEM &&
		    a->value != KFD_IOCTL_SVM_LOCATION_UNDEFINED)
			index = gpu_index(p, a->value, false);
		break;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		if (a->value != KFD_IOCTL_SVM_LOCATION_SYSMEM)
			index = gpu_index(p, a->value, false);
		break;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
	case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
		index = gpu_index(p, a->value, true);
		break;
	case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
		index = gpu_index(p, a->value, false);
		break;
	case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
	case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
	case KFD_IOCTL_SVM_ATTR_GRANULARITY:
		break;
	default:
		return -EINVAL;
	}
	return index < 0 ? index : 0;
}

/* What @attrs become by @a, which was checked. process->lock held. */
static void apply_attr(struct vkfd_process *p, struct vkfd_svm_attrs *attrs,
		       const struct kfd_ioctl_svm_attribute *a)
{
	unsigned long gpu;

	switch (a->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		attrs->preferred = a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		attrs->prefetch = a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
	case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
	case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
		gpu = BIT(gpu_index(p, a->value, false));
		attrs->access &= ~gpu;
		attrs->in_place &= ~gpu;
		if (a->type == KFD_IOCTL_SVM_ATTR_ACCESS)
			attrs->access |= gpu;
		else if (a->type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE)
			attrs->in_place |= gpu;
		break;
	case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		attrs->flags |= a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		attrs->flags &= ~a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_GRANULARITY:
		attrs->granularity = min_t(u32, a->value, MAX_GRANULARITY);
		break;
	}
}

static struct vkfd_svm_attrs apply(struct vkfd_process *p, const struct vkfd_svm_attrs *old,
				   const struct kfd_ioctl_svm_args *args)
{
	struct vkfd_svm_attrs attrs = *old;
	u32 i;

	for (i = 0; i < args->nattr; i++)
		apply_attr(p, &attrs, &args->attrs[i]);
	return attrs;
}

static bool same(const struct vkfd_svm_attrs *a, const struct vkfd_svm_attrs *b)
{
	return a->preferred == b->preferred && a->prefetch == b->prefetch &&
	       a->flags == b->flags && a->granularity == b->granularity &&
	       a->access == b->access && a->in_place == b->in_place;
}

/* -EFAULT unless the process has ordinary memory everywhere. Takes mmap_lock. */
static int check_memory(struct mm_struct *mm, u64 addr, u64 size)
{
	const unsigned long device = VM_IO | VM_PFNMAP | VM_MIXEDMAP;
	struct vm_area_struct *vma;
	int err = 0;
	u64 end;

	if (check_add_overflow(addr, size, &end))
		return -EFAULT;
	mmap_read_lock(mm);
	while (!err && addr < end) {
		vma = vma_lookup(mm, addr);
		if (!vma || vma->vm_flags & device)
			err = -EFAULT;
		else
			addr = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return err;
}

/* -EADDRINUSE: something of it is mapped on a GPU otherwise. process->lock held. */
static int check_bos(struct vkfd_process *p, u64 addr, u64 size)
{
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		struct vkfd_pdd *pdd = p->pdds[i];

		if (pdd && pdd->drm_file && vkfd_vm_in_use(pdd->vm, addr, size >> PAGE_SHIFT))
			return -EADDRINUSE;
	}
	return 0;
}

/*
 * Whether SET_ATTR changes something within the part of @r that it is about: then that must
 * be a range of its own. process->lock held.
 */
static bool changes(struct vkfd_process *p, unsigned long at,
		    const struct kfd_ioctl_svm_args *args)
{
	struct vkfd_svm_range *r = vkfd_svm_first(p, at, at);
	struct vkfd_svm_attrs attrs;

	if (!r)
		return false;
	attrs = apply(p, &r->attrs, args);
	return !same(&attrs, &r->attrs);
}

/* A prefetch is done whatever the attribute was. */
static bool is_prefetch(const struct kfd_ioctl_svm_args *args)
{
	u32 i;

	for (i = 0; i < args->nattr; i++)
		if (args->attrs[i].type == KFD_IOCTL_SVM_ATTR_PREFETCH_LOC)
			return true;
	return false;
}

/*
 * Puts the memory of @r where it was prefetched to, as far as that is possible. As upstream,
 * not into VRAM that another GPU would have to reach.
 */
static void prefetch_range(struct vkfd_svm_range *r)
{
	unsigned long gpus = r->attrs.access | r->attrs.in_place;
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		/* As vkfd_process_find_pdd(). */
		struct vkfd_pdd *pdd = smp_load_acquire(&r->process->pdds[i]);

		if (!pdd)
			continue;
		if (r->attrs.prefetch != pdd->dev->gpu_id)
			vkfd_svm_vram_move(r, current->mm, pdd->dev, false,
					   KFD_MIGRATE_TRIGGER_PREFETCH);
		else if (!(gpus & ~BIT(i)))
			vkfd_svm_vram_move(r, current->mm, pdd->dev, true,
					   KFD_MIGRATE_TRIGGER_PREFETCH);
	}
}

/*
 * Ranges for all of the pages from @start to @last, with the new attributes; those that got
 * others than they had, or have not what they should have, into @list. svm.lock held.
 */
static int set_ranges(struct vkfd_process *p, const struct kfd_ioctl_svm_args *args,
		      unsigned long start, unsigned long last, struct list_head *list)
{
	struct vkfd_svm_attrs attrs;
	struct vkfd_svm_range *r;
	int err = 0;
	u32 i;

	mutex_lock(&p->lock);
	for (i = 0; !err && i < args->nattr; i++)
		err = check_attr(p, &args->attrs[i]);
	if (!err)
		err = check_bos(p, args->start_addr, args->size);
	/* Whoever maps a BO does it under process->lock, and finds the ranges from here on. */
	if (!err && changes(p, start, args))
		err = vkfd_svm_split_at(p, start);
	if (!err && changes(p, last, args))
		err = vkfd_svm_split_at(p, last + 1);
	if (!err)
		err = vkfd_svm_add(p, start, last);
	if (err)
		goto unlock;

	for (r = vkfd_svm_first(p, start, last); r; r = vkfd_svm_next(r, start, last)) {
		attrs = apply(p, &r->attrs, args);
		if (same(&attrs, &r->attrs) && (attrs.access | attrs.in_place) == r->gpus &&
		    (!r->gpus || (r->uptodate && !r->missing)) && !is_prefetch(args))
			continue;
		mutex_lock(&p->userptrs.lock);
		if (attrs.flags != r->attrs.flags) {
			r->attrs = attrs;
			vkfd_svm_rewrite(r);
		} else {
			r->attrs = attrs;
		}
		mutex_unlock(&p->userptrs.lock);
		list_add_tail(&r->link, list);
	}
unlock:
	mutex_unlock(&p->lock);
	return err;
}

static int set_attr(struct vkfd_process *p, const struct kfd_ioctl_svm_args *args)
{
	unsigned long start = args->start_addr >> PAGE_SHIFT;
	unsigned long last = start + (args->size >> PAGE_SHIFT) - 1;
	struct vkfd_svm_range *r, *next;
	LIST_HEAD(list);
	int err, ret = 0;

	err = vkfd_svm_trim(p);
	if (!err)
		err = check_memory(current->mm, args->start_addr, args->size);
	if (!err)
		err = set_ranges(p, args, start, last, &list);
	if (err)
		return err;
	/*
	 * As upstream, what has been set stays so if there is no memory for it. All of the
	 * ranges are tried; the last failure counts.
	 */
	list_for_each_entry_safe(r, next, &list, link) {
		list_del_init(&r->link);
		if (is_prefetch(args))
			prefetch_range(r);
		err = vkfd_svm_set_gpus(r, r->attrs.access | r->attrs.in_place);
		if (!err && (!r->uptodate || r->missing))
			err = vkfd_svm_fetch(r, current->mm, true);
		ret = err ?: ret;
		if (err == -EINTR)
			break;
	}
	list_for_each_entry_safe(r, next, &list, link)
		list_del_init(&r->link);
	return ret;
}

/* What is common to the ranges between @start and @last. svm.lock held. */
static void collect(struct vkfd_process *p, unsigned long start, unsigned long last,
		    struct vkfd_svm_attrs *common, u32 *flags_or)
{
	struct vkfd_svm_range *r = vkfd_svm_first(p, start, last);

	if (!r) {
		vkfd_svm_default_attrs(common);
		*flags_or = common->flags;
		return;
	}
	*common = r->attrs;
	*flags_or = r->attrs.flags;
	for (r = vkfd_svm_next(r, start, last); r; r = vkfd_svm_next(r, start, last)) {
		const struct vkfd_svm_attrs *a = &r->attrs;

		if (common->preferred != a->preferred)
			common->preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
		if (common->prefetch != a->prefetch)
			common->prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
		common->granularity = min(common->granularity, a->granularity);
		common->flags &= a->flags;
		*flags_or |= a->flags;
		common->access &= a->access;
		common->in_place &= a->in_place;
	}
}

static int get_one(struct vkfd_process *p, const struct vkfd_svm_attrs *common, u32 flags_or,
		   struct kfd_ioctl_svm_attribute *a)
{
	int index;

	switch (a->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		a->value = common->preferred;
		break;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		a->value = common->prefetch;
		break;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
		mutex_lock(&p->lock);
		index = gpu_index(p, a->value, false);
		mutex_unlock(&p->lock);
		if (index < 0)
			return index;
		if (common->access & BIT(index))
			a->type = KFD_IOCTL_SVM_ATTR_ACCESS;
		else if (common->in_place & BIT(index))
			a->type = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
		else
			a->type = KFD_IOCTL_SVM_ATTR_NO_ACCESS;
		break;
	case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		a->value = common->flags;
		break;
	case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		a->value = ~flags_or;
		break;
	case KFD_IOCTL_SVM_ATTR_GRANULARITY:
		a->value = common->granularity;
		break;
	}
	return 0;
}

static int get_attr(struct vkfd_process *p, struct kfd_ioctl_svm_args *args)
{
	unsigned long start = args->start_addr >> PAGE_SHIFT;
	unsigned long last = start + (args->size >> PAGE_SHIFT) - 1;
	struct vkfd_svm_attrs common;
	u32 i, flags_or;
	int err;

	err = vkfd_svm_trim(p);
	if (!err)
		err = check_memory(current->mm, args->start_addr, args->size);
	if (err)
		return err;
	mutex_lock(&p->lock);
	err = check_bos(p, args->start_addr, args->size);
	mutex_unlock(&p->lock);

	for (i = 0; !err && i < args->nattr; i++)
		/* Access in place, or none, is an answer and no question. */
		if (args->attrs[i].type > KFD_IOCTL_SVM_ATTR_GRANULARITY ||
		    args->attrs[i].type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE ||
		    args->attrs[i].type == KFD_IOCTL_SVM_ATTR_NO_ACCESS)
			err = -EINVAL;
	if (err)
		return err;
	collect(p, start, last, &common, &flags_or);
	for (i = 0; !err && i < args->nattr; i++)
		err = get_one(p, &common, flags_or, &args->attrs[i]);
	return err;
}

int vkfd_ioctl_svm(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_svm_args *args = data;
	int err;

	/* Upstream checks arguments before it says that there is no SVM. */
	if (!PAGE_ALIGNED(args->start_addr) || !PAGE_ALIGNED(args->size) ||
	    !args->start_addr || !args->size)
		return -EINVAL;
	if (!vkfd_svm_enabled)
		return -EPERM;

	if (mutex_lock_killable(&p->svm.lock))
		return -EINTR;
	switch (args->op) {
	case KFD_IOCTL_SVM_OP_SET_ATTR:
		err = set_attr(p, args);
		break;
	case KFD_IOCTL_SVM_OP_GET_ATTR:
		err = get_attr(p, args);
		break;
	default:
		err = -EINVAL;
		break;
	}
	mutex_unlock(&p->svm.lock);
	return err;
}

int vkfd_svm_validate(void *data, unsigned int usize)
{
	struct kfd_ioctl_svm_args *args = data;
	size_t need = struct_size(args, attrs, args->nattr);

	return need == SIZE_MAX || usize < need ? -EINVAL : 0;
}

int vkfd_ioctl_set_xnack_mode(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_set_xnack_mode_args *args = data;
	int err = 0;

	if (!vkfd_svm_enabled)
		return -EPERM;
	if (args->xnack_enabled < 0) {
		args->xnack_enabled = 0;
		return 0;
	}
	mutex_lock(&p->lock);
	/* The part does not retry, and the mode it has may be set. */
	if (!xa_empty(&p->queues.xa))
		err = -EBUSY;
	else if (args->xnack_enabled)
		err = -EPERM;
	mutex_unlock(&p->lock);
	return err;
}
