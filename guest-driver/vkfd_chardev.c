// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/kfd: open, the table of ioctls and its dispatcher, mmap.
 *
 * The dispatcher goes by number only. The caller's size decides what is copied in and
 * out: shorter structures of older callers are extended with zeroes, and results go
 * back even if the handler failed, because callers use them (n_success, wait_result).
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/pseudo_fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/kfd_ipc.h>

#include "vkfd_chardev.h"
#include "vkfd_device.h"
#include "vkfd_doorbell.h"
#include "vkfd_event.h"
#include "vkfd_gpu_ioctl.h"
#include "vkfd_ipc.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"
#include "vkfd_queue.h"
#include "vkfd_share.h"
#include "vkfd_smi.h"
#include "vkfd_svm.h"

#define VKFD_FS_MAGIC	0x564b4644	/* "VKFD" */

static int vkfd_major;

/*
 * All open files share the mapping of this inode, whatever device node they came
 * through, so that one call finds every user mapping (as the DRM core does it).
 */
static struct vfsmount *vkfd_mnt;
static struct inode *vkfd_inode;

/* Parts of the interface this driver does without: the answer upstream gives then. */
static int vkfd_ioctl_not_permitted(struct file *filep, struct vkfd_process *p, void *data)
{
	return -EPERM;
}

static int vkfd_ioctl_invalid(struct file *filep, struct vkfd_process *p, void *data)
{
	return -EINVAL;
}

/* A GPU without global wave sync. */
static int vkfd_ioctl_alloc_gws(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_alloc_queue_gws_args *args = data;
	bool exists;

	mutex_lock(&p->lock);
	exists = xa_load(&p->queues.xa, args->queue_id);
	mutex_unlock(&p->lock);
	return exists ? -ENODEV : -EINVAL;
}

/**
 * struct vkfd_ioctl - a row of the table
 * @cmd: number, size and direction as in the UAPI header
 * @fn: handler
 * @validate: checks a structure of variable size, or NULL
 * @privileged: needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN
 */
struct vkfd_ioctl {
	unsigned int cmd;
	vkfd_ioctl_fn fn;
	int (*validate)(void *data, unsigned int usize);
	bool privileged;
};

#define VKFD_IOCTL(name, func, ...) \
	[_IOC_NR(AMDKFD_IOC_##name)] = { .cmd = AMDKFD_IOC_##name, .fn = func, ##__VA_ARGS__ }

static const struct vkfd_ioctl vkfd_ioctls[] = {
	VKFD_IOCTL(GET_VERSION, vkfd_ioctl_get_version),
	VKFD_IOCTL(CREATE_QUEUE, vkfd_ioctl_create_queue),
	VKFD_IOCTL(DESTROY_QUEUE, vkfd_ioctl_destroy_queue),
	VKFD_IOCTL(SET_MEMORY_POLICY, vkfd_ioctl_set_memory_policy),
	VKFD_IOCTL(GET_CLOCK_COUNTERS, vkfd_ioctl_get_clock_counters),
	VKFD_IOCTL(GET_PROCESS_APERTURES, vkfd_ioctl_get_apertures),
	VKFD_IOCTL(UPDATE_QUEUE, vkfd_ioctl_update_queue),
	VKFD_IOCTL(CREATE_EVENT, vkfd_ioctl_create_event),
	VKFD_IOCTL(DESTROY_EVENT, vkfd_ioctl_destroy_event),
	VKFD_IOCTL(SET_EVENT, vkfd_ioctl_set_event),
	VKFD_IOCTL(RESET_EVENT, vkfd_ioctl_reset_event),
	VKFD_IOCTL(WAIT_EVENTS, vkfd_ioctl_wait_events),
	VKFD_IOCTL(DBG_REGISTER_DEPRECATED, vkfd_ioctl_not_permitted),
	VKFD_IOCTL(DBG_UNREGISTER_DEPRECATED, vkfd_ioctl_not_permitted),
	VKFD_IOCTL(DBG_ADDRESS_WATCH_DEPRECATED, vkfd_ioctl_not_permitted),
	VKFD_IOCTL(DBG_WAVE_CONTROL_DEPRECATED, vkfd_ioctl_not_permitted),
	VKFD_IOCTL(SET_SCRATCH_BACKING_VA, vkfd_ioctl_set_scratch_va),
	VKFD_IOCTL(GET_TILE_CONFIG, vkfd_ioctl_get_tile_config),
	VKFD_IOCTL(SET_TRAP_HANDLER, vkfd_ioctl_set_trap_handler),
	VKFD_IOCTL(GET_PROCESS_APERTURES_NEW, vkfd_ioctl_get_apertures_new),
	VKFD_IOCTL(ACQUIRE_VM, vkfd_ioctl_acquire_vm),
	VKFD_IOCTL(ALLOC_MEMORY_OF_GPU, vkfd_ioctl_alloc_memory),
	VKFD_IOCTL(FREE_MEMORY_OF_GPU, vkfd_ioctl_free_memory),
	VKFD_IOCTL(MAP_MEMORY_TO_GPU, vkfd_ioctl_map_memory),
	VKFD_IOCTL(UNMAP_MEMORY_FROM_GPU, vkfd_ioctl_unmap_memory),
	VKFD_IOCTL(SET_CU_MASK, vkfd_ioctl_set_cu_mask),
	/* no CWSR, so no saved state */
	VKFD_IOCTL(GET_QUEUE_WAVE_STATE, vkfd_ioctl_invalid),
	VKFD_IOCTL(GET_DMABUF_INFO, vkfd_ioctl_get_dmabuf_info),
	VKFD_IOCTL(IMPORT_DMABUF, vkfd_ioctl_import_dmabuf),
	VKFD_IOCTL(ALLOC_QUEUE_GWS, vkfd_ioctl_alloc_gws),
	VKFD_IOCTL(SMI_EVENTS, vkfd_ioctl_smi_events),
	VKFD_IOCTL(SVM, vkfd_ioctl_svm, .validate = vkfd_svm_validate),
	VKFD_IOCTL(SET_XNACK_MODE, vkfd_ioctl_set_xnack_mode),
	VKFD_IOCTL(CRIU_OP, vkfd_ioctl_invalid, .privileged = true),
	VKFD_IOCTL(AVAILABLE_MEMORY, vkfd_ioctl_available_memory),
	VKFD_IOCTL(EXPORT_DMABUF, vkfd_ioctl_export_dmabuf),
	VKFD_IOCTL(RUNTIME_ENABLE, vkfd_ioctl_runtime_enable),
	/* upstream has no debugger with queues loaded directly */
	VKFD_IOCTL(DBG_TRAP, vkfd_ioctl_invalid),
	/* ROCm's own, not upstream's */
	VKFD_IOCTL(IPC_IMPORT_HANDLE, vkfd_ioctl_ipc_import),
	VKFD_IOCTL(IPC_EXPORT_HANDLE, vkfd_ioctl_ipc_export),
};

/* The row of @cmd, or NULL. */
static const struct vkfd_ioctl *vkfd_ioctl_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= ARRAY_SIZE(vkfd_ioctls))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(vkfd_ioctls));
	return vkfd_ioctls[nr].fn ? &vkfd_ioctls[nr] : NULL;
}

/* Runs @ioctl on @data, which has room for the larger of @usize and the table's size. */
static int vkfd_ioctl_run(struct file *filep, const struct vkfd_ioctl *ioctl, char *data,
			  unsigned int usize, void __user *arg)
{
	struct vkfd_process *p = filep->private_data;
	unsigned int dir = _IOC_DIR(ioctl->cmd);
	int err;

	if ((dir & _IOC_WRITE) && copy_from_user(data, arg, usize))
		return -EFAULT;

	if (ioctl->validate) {
		err = ioctl->validate(data, usize);
		if (err)
			return err;
	}

	err = ioctl->fn(filep, p, data);

	if ((dir & _IOC_READ) && copy_to_user(arg, data, usize))
		return -EFAULT;
	return err;
}

static long vkfd_chardev_ioctl(struct file *filep, unsigned int cmd, unsigned long arg)
{
	const struct vkfd_ioctl *ioctl = vkfd_ioctl_find(cmd);
	unsigned int usize = _IOC_SIZE(cmd), size;
	struct vkfd_process *p = filep->private_data;
	char on_stack[128] __aligned(8), *data = on_stack;
	long ret;

	if (!ioctl)
		return -ENOTTY;
	/* A forked child, another process that was given the file, or a later program. */
	if (!vkfd_process_is_current(p))
		return -EBADF;
	if (ioctl->privileged && !capable(CAP_CHECKPOINT_RESTORE) && !capable(CAP_SYS_ADMIN))
		return -EACCES;

	/* Both sizes are 14 bits. */
	size = max(usize, _IOC_SIZE(ioctl->cmd));
	if (size > sizeof(on_stack)) {
		data = kzalloc(size, GFP_KERNEL);
		if (!data)
			return -ENOMEM;
	} else {
		memset(on_stack, 0, sizeof(on_stack));
	}

	ret = vkfd_ioctl_run(filep, ioctl, data, usize, (void __user *)arg);

	if (data != on_stack)
		kfree(data);
	return ret;
}

static int vkfd_chardev_open(struct inode *inode, struct file *filep)
{
	struct vkfd_process *p;

	if (iminor(inode))
		return -ENODEV;
	if (in_compat_syscall()) {
		pr_warn_ratelimited("vkfd: process %d is a 32-bit one: not supported\n",
				    task_tgid_nr(current));
		return -EPERM;
	}

	p = vkfd_process_open();
	if (IS_ERR(p))
		return PTR_ERR(p);
	filep->private_data = p;
	filep->f_mapping = vkfd_inode->i_mapping;
	return nonseekable_open(inode, filep);
}

static int vkfd_chardev_release(struct inode *inode, struct file *filep)
{
	vkfd_process_put(filep->private_data);
	return 0;
}

static vm_fault_t vkfd_mmio_fault(struct vm_fault *vmf)
{
	struct vkfd_device *dev = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	phys_addr_t addr;
	int idx;

	if (drm_dev_enter(&dev->drm, &idx)) {
		addr = pci_resource_start(dev->pdev, VKFD_BAR_MMIO) + VKFD_MMIO_REMAP_OFFSET;
		ret = vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK, addr >> PAGE_SHIFT);
		drm_dev_exit(idx);
	}
	return ret;
}

static const struct vm_operations_struct vkfd_mmio_vm_ops = {
	.fault = vkfd_mmio_fault,
};

/* The page with the HDP flush registers. @dev lives while the file does. */
static int vkfd_mmio_mmap(struct vkfd_device *dev, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE || is_cow_mapping(vma->vm_flags))
		return -EINVAL;

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP |
			  VM_NORESERVE);
	vma->vm_page_prot = pgprot_noncached(vm_get_page_prot(vma->vm_flags));
	vma->vm_private_data = dev;
	vma->vm_ops = &vkfd_mmio_vm_ops;
	return 0;
}

/*
 * mmap_lock is held, and process->lock may be held for seconds by who waits for a queue
 * to stop: everything below does without that lock.
 */
static int vkfd_chardev_mmap(struct file *filep, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct vkfd_process *p = filep->private_data;
	struct vkfd_pdd *pdd;

	if (!vkfd_process_is_current(p))
		return -EBADF;

	/* What can be mapped exists only after another ioctl has made the pdd. */
	pdd = vkfd_process_find_pdd(p, VKFD_MMAP_GET_GPU_ID(offset));

	switch (offset & VKFD_MMAP_TYPE_MASK) {
	case VKFD_MMAP_TYPE_DOORBELL:
		return pdd ? vkfd_doorbell_mmap(pdd, vma) : -ENODEV;
	case VKFD_MMAP_TYPE_EVENTS:
		return vkfd_events_mmap(p, vma);
	case VKFD_MMAP_TYPE_MMIO:
		return pdd ? vkfd_mmio_mmap(pdd->dev, vma) : -ENODEV;
	case VKFD_MMAP_TYPE_RESERVED_MEM:
		/* The trap handler's memory of APUs; here the user provides it. */
		return pdd ? -EINVAL : -ENODEV;
	}
	return -EINVAL;
}

static const struct file_operations vkfd_chardev_fops = {
	.owner = THIS_MODULE,
	.open = vkfd_chardev_open,
	.release = vkfd_chardev_release,
	.unlocked_ioctl = vkfd_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = vkfd_chardev_mmap,
};

static int vkfd_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, VKFD_FS_MAGIC) ? 0 : -ENOMEM;
}

/* Without owner: the mount ends with the module and must not keep it. */
static struct file_system_type vkfd_fs_type = {
	.name = "vkfd",
	.init_fs_context = vkfd_fs_init_context,
	.kill_sb = kill_anon_super,
};

static int vkfd_inode_init(void)
{
	vkfd_mnt = kern_mount(&vkfd_fs_type);
	if (IS_ERR(vkfd_mnt))
		return PTR_ERR(vkfd_mnt);
	vkfd_inode = alloc_anon_inode(vkfd_mnt->mnt_sb);
	if (IS_ERR(vkfd_inode)) {
		kern_unmount(vkfd_mnt);
		return PTR_ERR(vkfd_inode);
	}
	return 0;
}

static void vkfd_inode_exit(void)
{
	iput(vkfd_inode);
	kern_unmount(vkfd_mnt);
}

int vkfd_chardev_init(void)
{
	int err;

	err = vkfd_process_init();
	if (err)
		return err;
	err = vkfd_inode_init();
	if (err)
		goto err_process;
	vkfd_major = register_chrdev(0, "kfd", &vkfd_chardev_fops);
	if (vkfd_major < 0) {
		err = vkfd_major;
		goto err_inode;
	}
	return 0;

err_inode:
	vkfd_inode_exit();
err_process:
	vkfd_process_exit();
	return err;
}

void vkfd_chardev_exit(void)
{
	unregister_chrdev(vkfd_major, "kfd");
	vkfd_inode_exit();
	vkfd_process_exit();
}

dev_t vkfd_chardev_devt(void)
{
	return MKDEV(vkfd_major, 0);
}

void vkfd_chardev_unmap(u64 offset, u64 len)
{
	unmap_mapping_range(vkfd_inode->i_mapping, offset, len, 1);
}

void vkfd_chardev_revoke(u32 gpu_id)
{
	const u64 len = 1ull << VKFD_MMAP_GPU_ID_SHIFT;

	vkfd_chardev_unmap(VKFD_MMAP_TYPE_DOORBELL | VKFD_MMAP_GPU_ID(gpu_id), len);
	vkfd_chardev_unmap(VKFD_MMAP_TYPE_MMIO | VKFD_MMAP_GPU_ID(gpu_id), len);
}
