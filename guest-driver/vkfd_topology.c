// SPDX-License-Identifier: GPL-2.0-only
/*
 * The topology: node 0 is the CPU with all of the system's memory, nodes from 1 on
 * are the GPUs. Node directories are numbered without gaps, as user space counts
 * them, so they are all made anew when a GPU comes or goes.
 *
 * Names, order and meaning of the values are those of amdkfd's kfd_topology.c; the
 * values are those of a Vega20 with one shader engine.
 */
#include <linux/cpufreq.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/namei.h>
#include <linux/rwsem.h>
#include <linux/sysfs.h>
#include <drm/drm_file.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "vkfd_device.h"
#include "vkfd_peer.h"
#include "vkfd_svm.h"
#include "vkfd_topology.h"
#include "vkfd_topology_sysfs.h"

#define VKFD_SIMD_PER_CU	4
#define VKFD_WAVES_PER_CU	40
#define VKFD_GFX_TARGET_VERSION	90006	/* gfx906 */
#define VKFD_SIMD_ID_BASE	0x80000000u

/* HSA_CAP_*: doorbells of type 2 (64-bit), revision of the part. Nothing else is there. */
#define VKFD_CAP_DOORBELL_TYPE_2_0	0x2000u
#define VKFD_CAP_ASIC_REVISION__SHIFT	22
#define VKFD_CAP_SVMAPI_SUPPORTED	0x8000000u

#define VKFD_HEAP_SYSTEM	0
#define VKFD_HEAP_FB_PUBLIC	1
#define VKFD_HEAP_FB_PRIVATE	2

#define VKFD_CACHE_DATA		0x1
#define VKFD_CACHE_INST		0x2
#define VKFD_CACHE_HSACU	0x8
#define VKFD_SIBLING_MAP_BITS	256

#define VKFD_LINK_PCIE		2
#define VKFD_LINK_WEIGHT	20
/* The flags count; the part makes no 32 or 64-bit PCIe atomics. */
#define VKFD_LINK_FLAGS		(1 << 0 | 1 << 2 | 1 << 3)
/* Who reaches memory of a GPU over PCIe may find what its caches do not hold yet. */
#define VKFD_LINK_NON_COHERENT	(1 << 1)

/* What a compute unit can hold of a queue's waves on gfx9, in bytes. */
#define VKFD_CWSR_PER_CU	(0x40000 /* VGPR */ + 0x4000 /* SGPR */ + \
				 0x10000 /* LDS */ + 0x1000 /* registers */)
#define VKFD_CWSR_HEADER	40
#define VKFD_CTL_STACK_PER_WAVE	8

struct class *vkfd_class;
struct device *vkfd_class_device;

/*
 * Held for writing while node directories are made: generation_id is read under it,
 * so that a reader who gets the same number before and after saw one whole tree.
 */
static DECLARE_RWSEM(vkfd_topology_lock);
static u32 vkfd_generation;			/* vkfd_topology_lock */
static struct vkfd_device *vkfd_gpus[VKFD_MAX_GPUS];	/* by node number - 1; same lock */
static unsigned int vkfd_num_gpus;		/* same lock */
static struct vkfd_tree vkfd_nodes = { LIST_HEAD_INIT(vkfd_nodes.dirs) };

static struct kobject *vkfd_topology_kobj;
static struct kobject *vkfd_nodes_kobj;

static ssize_t generation_id_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u32 generation;

	down_read(&vkfd_topology_lock);
	generation = vkfd_generation;
	up_read(&vkfd_topology_lock);
	return sysfs_emit(buf, "%u\n", generation);
}
static struct kobj_attribute vkfd_attr_generation = __ATTR_RO(generation_id);

static ssize_t system_properties_show(struct kobject *kobj, struct kobj_attribute *attr,
				      char *buf)
{
	return sysfs_emit(buf, "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
}
static struct kobj_attribute vkfd_attr_system = __ATTR_RO(system_properties);

static struct attribute *vkfd_topology_attrs[] = {
	&vkfd_attr_generation.attr,
	&vkfd_attr_system.attr,
	NULL,
};

static const struct attribute_group vkfd_topology_group = {
	.attrs = vkfd_topology_attrs,
};

static unsigned int vkfd_cpu_mhz(void)
{
	unsigned int khz = cpufreq_quick_get_max(0);

#ifdef CONFIG_X86
	/* no cpufreq driver in most VMs */
	if (!khz)
		khz = tsc_khz;
#endif
	return khz / 1000;
}

static int vkfd_file_u32(struct kobject *dir, const char *name, int minor, u32 value)
{
	struct vkfd_text t;

	vkfd_text_init(&t);
	vkfd_text_add(&t, "%u\n", value);
	return vkfd_tree_file(dir, name, minor, &t);
}

static int vkfd_file_str(struct kobject *dir, const char *name, int minor, const char *value)
{
	struct vkfd_text t;

	vkfd_text_init(&t);
	vkfd_text_add(&t, "%s\n", value);
	return vkfd_tree_file(dir, name, minor, &t);
}

/* Directory @number with only a file "properties", as banks, caches and links are. */
static int vkfd_properties_dir(struct kobject *parent, unsigned int number, int minor,
			       struct vkfd_text *t)
{
	struct kobject *dir = vkfd_tree_mkdir(&vkfd_nodes, parent, "%u", number);

	if (IS_ERR(dir)) {
		vkfd_text_free(t);
		return PTR_ERR(dir);
	}
	return vkfd_tree_file(dir, "properties", minor, t);
}

static int vkfd_make_bank(struct kobject *banks, unsigned int number, int minor, u32 heap,
			  u64 size, u32 width, u32 clk)
{
	struct vkfd_text t;

	vkfd_text_init(&t);
	vkfd_text_add(&t, "heap_type %u\nsize_in_bytes %llu\nflags 0\nwidth %u\nmem_clk_max %u\n",
		      heap, size, width, clk);
	return vkfd_properties_dir(banks, number, minor, &t);
}

/**
 * struct vkfd_link - a link between two nodes, as user space is told
 * @from: node number
 * @to: node number
 * @weight: how far; adds up over the links it consists of
 * @mbytes: MB/s
 * @flags: VKFD_LINK_*
 */
struct vkfd_link {
	unsigned int from, to;
	u32 weight;
	u32 mbytes;
	u32 flags;
};

static u32 vkfd_link_mbytes(struct vkfd_device *dev)
{
	return pcie_bandwidth_available(dev->pdev, NULL, NULL, NULL) / 8;
}

static int vkfd_make_link(struct kobject *links, unsigned int number, int minor,
			  const struct vkfd_link *link)
{
	struct vkfd_text t;

	vkfd_text_init(&t);
	vkfd_text_add(&t, "type %u\nversion_major 0\nversion_minor 0\n", VKFD_LINK_PCIE);
	vkfd_text_add(&t, "node_from %u\nnode_to %u\nweight %u\n", link->from, link->to,
		      link->weight);
	vkfd_text_add(&t, "min_latency 0\nmax_latency 0\nmin_bandwidth %u\nmax_bandwidth %u\n",
		      link->mbytes, link->mbytes);
	vkfd_text_add(&t, "recommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\n");
	vkfd_text_add(&t, "flags %u\n", link->flags);
	return vkfd_properties_dir(links, number, minor, &t);
}

/* Links from GPU node @number to those whose memory it reaches, all by way of node 0. */
static int vkfd_make_p2p_links(struct kobject *links, int minor, unsigned int number,
			       unsigned int *count)
{
	struct vkfd_device *dev = vkfd_gpus[number - 1];
	unsigned int i;
	int ret = 0;

	lockdep_assert_held_write(&vkfd_topology_lock);
	*count = 0;
	for (i = 0; i < vkfd_num_gpus && !ret; i++) {
		const struct vkfd_link link = {
			.from = number,
			.to = i + 1,
			.weight = 2 * VKFD_LINK_WEIGHT,
			.mbytes = min(vkfd_link_mbytes(dev), vkfd_link_mbytes(vkfd_gpus[i])),
			.flags = VKFD_LINK_FLAGS | VKFD_LINK_NON_COHERENT,
		};

		if (vkfd_gpus[i] != dev && vkfd_peer_accessible(vkfd_gpus[i], dev))
			ret = vkfd_make_link(links, (*count)++, minor, &link);
	}
	return ret;
}

/* The directories every node has. */
struct vkfd_node_dirs {
	struct kobject *node, *banks, *caches, *io_links, *p2p_links;
};

static int vkfd_make_node(unsigned int number, struct vkfd_node_dirs *d)
{
	d->node = vkfd_tree_mkdir(&vkfd_nodes, vkfd_nodes_kobj, "%u", number);
	if (IS_ERR(d->node))
		return PTR_ERR(d->node);
	d->banks = vkfd_tree_mkdir(&vkfd_nodes, d->node, "mem_banks");
	if (IS_ERR(d->banks))
		return PTR_ERR(d->banks);
	d->caches = vkfd_tree_mkdir(&vkfd_nodes, d->node, "caches");
	if (IS_ERR(d->caches))
		return PTR_ERR(d->caches);
	d->io_links = vkfd_tree_mkdir(&vkfd_nodes, d->node, "io_links");
	if (IS_ERR(d->io_links))
		return PTR_ERR(d->io_links);
	d->p2p_links = vkfd_tree_mkdir(&vkfd_nodes, d->node, "p2p_links");
	return PTR_ERR_OR_ZERO(d->p2p_links);
}

static int vkfd_make_cpu_properties(struct kobject *node)
{
	static const char * const zero_first[] = {
		"cpu_core_id_base", "simd_id_base", "max_waves_per_simd", "lds_size_in_kb",
		"gds_size_in_kb", "num_gws", "wave_front_size", "array_count",
		"simd_arrays_per_engine", "cu_per_simd_array", "simd_per_cu",
		"max_slots_scratch_cu", "gfx_target_version", "vendor_id", "device_id",
		"location_id", "domain", "drm_render_minor", "hive_id", "num_sdma_engines",
		"num_sdma_xgmi_engines", "num_sdma_queues_per_engine", "num_cp_queues",
		"cwsr_size", "ctl_stack_size",
	};
	struct vkfd_text t;
	unsigned int i;

	vkfd_text_init(&t);
	vkfd_text_add(&t, "cpu_cores_count %u\nsimd_count 0\n", num_online_cpus());
	/* caches: 0 lets libhsakmt read the CPU's from sysfs */
	vkfd_text_add(&t, "mem_banks_count 1\ncaches_count 0\n");
	vkfd_text_add(&t, "io_links_count %u\np2p_links_count 0\n", vkfd_num_gpus);
	for (i = 0; i < ARRAY_SIZE(zero_first); i++)
		vkfd_text_add(&t, "%s 0\n", zero_first[i]);
	vkfd_text_add(&t, "max_engine_clk_ccompute %u\n", vkfd_cpu_mhz());
	return vkfd_tree_file(node, "properties", -1, &t);
}

static int vkfd_make_cpu_node(void)
{
	struct vkfd_node_dirs d;
	unsigned int i;
	int ret;

	ret = vkfd_make_node(0, &d);
	if (!ret)
		ret = vkfd_file_u32(d.node, "gpu_id", -1, 0);
	if (!ret)
		ret = vkfd_file_str(d.node, "name", -1, "");
	if (!ret)
		ret = vkfd_make_cpu_properties(d.node);
	if (!ret)
		ret = vkfd_make_bank(d.banks, 0, -1, VKFD_HEAP_SYSTEM,
				     (u64)totalram_pages() * PAGE_SIZE, 0, 0);
	for (i = 0; i < vkfd_num_gpus && !ret; i++) {
		const struct vkfd_link link = {
			.to = i + 1,
			.weight = VKFD_LINK_WEIGHT,
			.mbytes = vkfd_link_mbytes(vkfd_gpus[i]),
			.flags = VKFD_LINK_FLAGS | VKFD_LINK_NON_COHERENT,
		};

		ret = vkfd_make_link(d.io_links, i, -1, &link);
	}
	return ret;
}

/*
 * Context save area and control stack of a queue, as upstream computes them from
 * the waves that fit on the part; user space does the same and allocates it.
 */
static void vkfd_cwsr_sizes(unsigned int num_cu, u32 *cwsr, u32 *ctl_stack)
{
	/* one shader engine, one array: 512 is the limit of the engine */
	u32 waves = min(num_cu * VKFD_WAVES_PER_CU, 512u);

	*ctl_stack = ALIGN(VKFD_CWSR_HEADER + waves * VKFD_CTL_STACK_PER_WAVE + 8, PAGE_SIZE);
	*cwsr = *ctl_stack + ALIGN(num_cu * VKFD_CWSR_PER_CU, PAGE_SIZE);
}

static int vkfd_make_gpu_properties(struct kobject *node, int minor, struct vkfd_device *dev,
				    unsigned int banks, unsigned int caches,
				    unsigned int p2p_links)
{
	u32 cwsr, ctl_stack;
	struct vkfd_text t;

	vkfd_cwsr_sizes(dev->num_cu, &cwsr, &ctl_stack);

	vkfd_text_init(&t);
	vkfd_text_add(&t, "cpu_cores_count 0\nsimd_count %u\n", dev->num_cu * VKFD_SIMD_PER_CU);
	vkfd_text_add(&t, "mem_banks_count %u\ncaches_count %u\n", banks, caches);
	vkfd_text_add(&t, "io_links_count 1\np2p_links_count %u\n", p2p_links);
	vkfd_text_add(&t, "cpu_core_id_base 0\nsimd_id_base %u\n",
		      VKFD_SIMD_ID_BASE + dev->index * 0x1000);
	vkfd_text_add(&t, "max_waves_per_simd %u\n", VKFD_WAVES_PER_CU / VKFD_SIMD_PER_CU);
	vkfd_text_add(&t, "lds_size_in_kb 64\ngds_size_in_kb 0\nnum_gws 0\nwave_front_size 64\n");
	vkfd_text_add(&t, "array_count 1\nsimd_arrays_per_engine 1\ncu_per_simd_array %u\n",
		      dev->num_cu);
	vkfd_text_add(&t, "simd_per_cu %u\nmax_slots_scratch_cu 32\n", VKFD_SIMD_PER_CU);
	vkfd_text_add(&t, "gfx_target_version %u\n", VKFD_GFX_TARGET_VERSION);
	vkfd_text_add(&t, "vendor_id %u\ndevice_id %u\n", dev->pdev->vendor, dev->pdev->device);
	vkfd_text_add(&t, "location_id %u\ndomain %u\n", pci_dev_id(dev->pdev),
		      pci_domain_nr(dev->pdev->bus));
	vkfd_text_add(&t, "drm_render_minor %d\nhive_id 0\n", minor);
	vkfd_text_add(&t, "num_sdma_engines %u\nnum_sdma_xgmi_engines 0\n", VKFD_NUM_SDMA);
	vkfd_text_add(&t, "num_sdma_queues_per_engine %u\nnum_cp_queues %u\n",
		      VKFD_SDMA_NUM_RLC, VKFD_NUM_CP_QUEUES);
	vkfd_text_add(&t, "cwsr_size %u\nctl_stack_size %u\n", cwsr, ctl_stack);
	vkfd_text_add(&t, "max_engine_clk_fcompute %u\nlocal_mem_size 0\n",
		      VKFD_GPU_CLOCK_KHZ / 1000);
	vkfd_text_add(&t, "fw_version %u\n", VKFD_MEC_FW_VERSION);
	vkfd_text_add(&t, "capability %u\ndebug_prop 0\n", VKFD_CAP_DOORBELL_TYPE_2_0 |
		      (vkfd_svm_enabled ? VKFD_CAP_SVMAPI_SUPPORTED : 0) |
		      (u32)dev->rev_id << VKFD_CAP_ASIC_REVISION__SHIFT);
	vkfd_text_add(&t, "sdma_fw_version %u\nunique_id 0\nnum_xcc 1\n", VKFD_SDMA_FW_VERSION);
	vkfd_text_add(&t, "max_engine_clk_ccompute %u\n", vkfd_cpu_mhz());
	return vkfd_tree_file(node, "properties", minor, &t);
}

static int vkfd_make_gpu_banks(struct kobject *banks, int minor, struct vkfd_device *dev,
			       unsigned int *count)
{
	u64 visible = dev->vram.visible, hidden = dev->vram.size - visible;
	u32 clk = VKFD_GPU_CLOCK_KHZ / 1000, width = 4096;
	int ret = 0;

	*count = 0;
	if (visible)
		ret = vkfd_make_bank(banks, (*count)++, minor, VKFD_HEAP_FB_PUBLIC, visible,
				     width, clk);
	if (hidden && !ret)
		ret = vkfd_make_bank(banks, (*count)++, minor, VKFD_HEAP_FB_PRIVATE, hidden,
				     width, clk);
	return ret;
}

/**
 * struct vkfd_cache_kind - one kind of cache of a Vega20
 * @level: 1 or 2
 * @kib: size of one
 * @type: VKFD_CACHE_*
 * @shared_by: compute units that share one
 */
struct vkfd_cache_kind {
	u8 level;
	u32 kib;
	u32 type;
	u32 shared_by;
};

static const struct vkfd_cache_kind vkfd_cache_kinds[] = {
	{ 1, 16, VKFD_CACHE_DATA | VKFD_CACHE_HSACU, 1 },	/* vector L1 */
	{ 1, 32, VKFD_CACHE_INST | VKFD_CACHE_HSACU, 3 },	/* instructions */
	{ 1, 16, VKFD_CACHE_DATA | VKFD_CACHE_HSACU, 3 },	/* scalar L1 */
	{ 2, 8192, VKFD_CACHE_DATA | VKFD_CACHE_HSACU, 16 },
};

static int vkfd_make_gpu_caches(struct kobject *caches, int minor, struct vkfd_device *dev,
				unsigned int *count)
{
	unsigned int i, j, cu, sharers;
	struct vkfd_text t;
	int ret;

	*count = 0;
	for (i = 0; i < ARRAY_SIZE(vkfd_cache_kinds); i++) {
		const struct vkfd_cache_kind *k = &vkfd_cache_kinds[i];

		for (cu = 0; cu < dev->num_cu; cu += k->shared_by) {
			sharers = min(k->shared_by, dev->num_cu - cu);
			vkfd_text_init(&t);
			vkfd_text_add(&t, "processor_id_low %u\nlevel %u\nsize %u\n",
				      VKFD_SIMD_ID_BASE + dev->index * 0x1000 +
				      cu * VKFD_SIMD_PER_CU, k->level, k->kib);
			vkfd_text_add(&t, "cache_line_size 64\ncache_lines_per_tag 0\n");
			vkfd_text_add(&t, "association 0\nlatency 0\ntype %u\nsibling_map ", k->type);
			for (j = 0; j < VKFD_SIBLING_MAP_BITS; j++)
				vkfd_text_add(&t, j ? ",%u" : "%u", j < sharers);
			vkfd_text_add(&t, "\n");
			ret = vkfd_properties_dir(caches, (*count)++, minor, &t);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int vkfd_make_gpu_node(unsigned int number, struct vkfd_device *dev)
{
	const struct vkfd_link link = {
		.from = number,
		.weight = VKFD_LINK_WEIGHT,
		.mbytes = vkfd_link_mbytes(dev),
		.flags = VKFD_LINK_FLAGS,
	};
	unsigned int banks = 0, caches = 0, p2p_links = 0;
	int minor = dev->drm.render->index;
	struct vkfd_node_dirs d;
	int ret;

	ret = vkfd_make_node(number, &d);
	if (!ret)
		ret = vkfd_file_u32(d.node, "gpu_id", minor, dev->gpu_id);
	if (!ret)
		ret = vkfd_file_str(d.node, "name", minor, "vega20");
	if (!ret)
		ret = vkfd_make_gpu_banks(d.banks, minor, dev, &banks);
	if (!ret)
		ret = vkfd_make_gpu_caches(d.caches, minor, dev, &caches);
	if (!ret)
		ret = vkfd_make_link(d.io_links, 0, minor, &link);
	if (!ret)
		ret = vkfd_make_p2p_links(d.p2p_links, minor, number, &p2p_links);
	if (!ret)
		ret = vkfd_make_gpu_properties(d.node, minor, dev, banks, caches, p2p_links);
	return ret;
}

/* All node directories anew. On failure there are none. */
static int vkfd_rebuild_locked(void)
{
	unsigned int i;
	int ret;

	lockdep_assert_held_write(&vkfd_topology_lock);
	vkfd_tree_remove(&vkfd_nodes);
	vkfd_generation++;
	ret = vkfd_make_cpu_node();
	for (i = 0; i < vkfd_num_gpus && !ret; i++)
		ret = vkfd_make_gpu_node(i + 1, vkfd_gpus[i]);
	if (ret)
		vkfd_tree_remove(&vkfd_nodes);
	return ret;
}

int vkfd_topology_add_device(struct vkfd_device *dev)
{
	int ret;

	down_write(&vkfd_topology_lock);
	if (vkfd_num_gpus == VKFD_MAX_GPUS) {
		up_write(&vkfd_topology_lock);
		return -ENOSPC;
	}
	vkfd_gpus[vkfd_num_gpus++] = dev;
	ret = vkfd_rebuild_locked();
	if (ret) {
		vkfd_num_gpus--;
		if (vkfd_rebuild_locked())
			dev_err(&dev->pdev->dev, "topology lost: out of memory\n");
	}
	up_write(&vkfd_topology_lock);
	return ret;
}

void vkfd_topology_remove_device(struct vkfd_device *dev)
{
	unsigned int i;

	down_write(&vkfd_topology_lock);
	for (i = 0; i < vkfd_num_gpus && vkfd_gpus[i] != dev; i++)
		;
	if (i < vkfd_num_gpus) {
		for (vkfd_num_gpus--; i < vkfd_num_gpus; i++)
			vkfd_gpus[i] = vkfd_gpus[i + 1];
		if (vkfd_rebuild_locked())
			dev_err(&dev->pdev->dev, "topology lost: out of memory\n");
	}
	up_write(&vkfd_topology_lock);
}

/*
 * Asking first spares the log the back-trace that sysfs prints for a name that is
 * taken. Only a look: class_create() decides.
 */
static bool vkfd_class_taken(void)
{
	struct path path;

	if (kern_path("/sys/class/kfd", 0, &path))
		return false;
	path_put(&path);
	return true;
}

int vkfd_topology_init(dev_t devt)
{
	int ret;

	if (vkfd_class_taken()) {
		pr_err("vkfd: another driver (amdgpu?) already provides /sys/class/kfd; unload it first\n");
		return -EEXIST;
	}
	vkfd_class = class_create("kfd");
	if (IS_ERR(vkfd_class)) {
		ret = PTR_ERR(vkfd_class);
		pr_err("vkfd: cannot create class kfd: %d%s\n", ret,
		       ret == -EEXIST ? " (amdgpu has it?)" : "");
		return ret;
	}
	vkfd_class_device = device_create(vkfd_class, NULL, devt, NULL, "kfd");
	if (IS_ERR(vkfd_class_device)) {
		ret = PTR_ERR(vkfd_class_device);
		goto err_class;
	}

	vkfd_topology_kobj = kobject_create_and_add("topology", &vkfd_class_device->kobj);
	if (!vkfd_topology_kobj) {
		ret = -ENOMEM;
		goto err_device;
	}
	vkfd_nodes_kobj = kobject_create_and_add("nodes", vkfd_topology_kobj);
	if (!vkfd_nodes_kobj) {
		ret = -ENOMEM;
		goto err_topology;
	}
	down_write(&vkfd_topology_lock);
	ret = vkfd_rebuild_locked();
	up_write(&vkfd_topology_lock);
	if (ret)
		goto err_nodes;
	ret = sysfs_create_group(vkfd_topology_kobj, &vkfd_topology_group);
	if (ret)
		goto err_tree;
	return 0;

err_tree:
	vkfd_tree_remove(&vkfd_nodes);
err_nodes:
	kobject_put(vkfd_nodes_kobj);
err_topology:
	kobject_put(vkfd_topology_kobj);
err_device:
	device_destroy(vkfd_class, devt);
err_class:
	class_destroy(vkfd_class);
	return ret;
}

void vkfd_topology_exit(void)
{
	dev_t devt = vkfd_class_device->devt;

	sysfs_remove_group(vkfd_topology_kobj, &vkfd_topology_group);
	down_write(&vkfd_topology_lock);
	vkfd_tree_remove(&vkfd_nodes);
	up_write(&vkfd_topology_lock);
	kobject_put(vkfd_nodes_kobj);
	kobject_put(vkfd_topology_kobj);
	device_destroy(vkfd_class, devt);
	class_destroy(vkfd_class);
}
