// SPDX-License-Identifier: MIT
/*
 * The GPU's BARs go away and come back, again and again, while another CPU reads a
 * register of another device: it reads what that register holds, and the machine
 * goes on. Without KVM a CPU must not use what it remembers of the old address map
 * together with the new one (qemu-device/patches/0002).
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/pci_regs.h>
#include <linux/virtio_pci.h>

#include "gpu_sysfs.h"
#include "tap.h"

#define ROUNDS_FULL	20000u
#define ROUNDS		1000u
#define PCI_DEVICES	"/sys/bus/pci/devices"
/* Where QEMU puts the common configuration of a virtio 1.0 device. */
#define COMMON_BAR	"resource4"

static const volatile uint8_t *common;
static atomic_bool stop;
static atomic_ulong reads;
static unsigned long wrong;
static unsigned int queues;

static unsigned int num_queues(void)
{
	return *(const volatile uint16_t *)(common + VIRTIO_PCI_COMMON_NUMQ);
}

static void *read_on(void *unused)
{
	unsigned int i, pause = 1;

	while (!atomic_load(&stop)) {
		wrong += num_queues() != queues;
		atomic_fetch_add(&reads, 1);
		/* Between reads the CPU does without QEMU's lock, for ever other times. */
		pause = pause * 1103515245u + 12345u;
		for (i = 0; i < pause >> 18; i++)
			atomic_signal_fence(memory_order_seq_cst);
	}
	return unused;
}

/* The first virtio device of the machine. */
static bool map_virtio(void)
{
	char path[512];
	const struct dirent *e;
	unsigned int vendor;
	DIR *dir = opendir(PCI_DEVICES);
	void *map;
	FILE *f;
	int fd;

	while (dir && !common && (e = readdir(dir))) {
		vendor = 0;
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/vendor", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%x", &vendor) != 1)
			vendor = 0;
		fclose(f);
		if (vendor != 0x1af4)
			continue;
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/" COMMON_BAR, e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			common = map;
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	return common;
}

int main(void)
{
	unsigned int i, done = 0, n = getenv("VKFD_FULL") ? ROUNDS_FULL : ROUNDS;
	uint16_t on, off;
	pthread_t t;
	int config;

	tap_begin(600);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	if (!map_virtio())
		tap_skip_all("no other device whose register could be read");
	queues = num_queues();
	tap_ok(queues > 0 && queues < 0xffff, "the other device has %u queues", queues);
	config = gpu_open_config();
	if (!gpu_unbind() || config < 0 || pread(config, &on, 2, PCI_COMMAND) != 2)
		tap_bail("no access to the configuration space");
	on |= PCI_COMMAND_MEMORY;
	off = on & (uint16_t)~PCI_COMMAND_MEMORY;
	if (pthread_create(&t, NULL, read_on, NULL))
		tap_bail("no thread");
	/* Until there were as many reads, too: the other thread may come late. */
	for (i = 0; i < n || atomic_load(&reads) < n; i++)
		done += pwrite(config, &off, 2, PCI_COMMAND) == 2 && pwrite(config, &on, 2, PCI_COMMAND) == 2;
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	tap_is(done, i, "times the BARs went and came");
	tap_is((int64_t)wrong, 0, "the other device was read %lu times, and always gave the same",
	       atomic_load(&reads));
	close(config);
	tap_ok(gpu_bind(), "the driver takes the GPU again");
	return tap_done();
}
