// SPDX-License-Identifier: MIT
/*
 * vkfd-inject: fault injection and counters of the emulated GPU, through its
 * control page (see inject.h). Exit status: 0 done; 1 the device refuses or is
 * not there; 2 bad options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"

static const char usage[] =
	"usage: vkfd-inject arm SPECS     arm in place of what is armed; SPECS as in\n"
	"                                 'msix:drop@1000/1000;slot:delay:50us@7*3'\n"
	"       vkfd-inject disarm        end every fault\n"
	"       vkfd-inject status        what is armed, what has fired\n"
	"       vkfd-inject counters      counters of the device that are not 0\n"
	"       vkfd-inject unmodelled    registers used that the device does not model\n";

/* In the order of VKFD_CNT_*. */
static const char *const counter_name[VKFD_CNT_MAX] = {
	[VKFD_CNT_UNMODELLED_READ] = "unmodelled-read",
	[VKFD_CNT_UNMODELLED_WRITE] = "unmodelled-write",
	[VKFD_CNT_BAD_ACCESS] = "bad-access",
	[VKFD_CNT_DOORBELL] = "doorbell",
	[VKFD_CNT_DOORBELL_DROPPED] = "doorbell-dropped",
	[VKFD_CNT_PACKET] = "packet",
	[VKFD_CNT_PACKET_SKIPPED] = "packet-skipped",
	[VKFD_CNT_PACKET_BAD] = "packet-bad",
	[VKFD_CNT_IH_ENTRY] = "ih-entry",
	[VKFD_CNT_IH_LOST] = "ih-lost",
	[VKFD_CNT_IH_OVERFLOW] = "ih-overflow",
	[VKFD_CNT_IRQ] = "irq",
	[VKFD_CNT_VM_FAULT] = "vm-fault",
	[VKFD_CNT_DMA_REFUSED] = "dma-refused",
	[VKFD_CNT_PARKED] = "parked",
	[VKFD_CNT_TLB_FLUSH] = "tlb-flush",
	[VKFD_CNT_HDP_FLUSH] = "hdp-flush",
	[VKFD_CNT_GUEST_ERROR] = "guest-error",
	[VKFD_CNT_REG_FAULT] = "reg-fault",
	[VKFD_CNT_INJECTED] = "injected",
	[VKFD_CNT_INJECT_REFUSED] = "inject-refused",
	[VKFD_CNT_DISPATCH_SKIPPED] = "dispatch-skipped",
	[VKFD_CNT_RUNLIST] = "runlist",
	[VKFD_CNT_RUNLIST_BAD] = "runlist-bad",
	[VKFD_CNT_QUEUE_MAP] = "queue-map",
	[VKFD_CNT_QUEUE_UNMAP] = "queue-unmap",
	[VKFD_CNT_QUEUE_LOAD] = "queue-load",
	[VKFD_CNT_QUEUE_SWAP] = "queue-swap",
	[VKFD_CNT_DOORBELL_WAKE] = "doorbell-wake",
};

static int no_device(int err)
{
	fprintf(stderr, "vkfd-inject: no control page: %s\n", strerror(-err));
	return 1;
}

static int arm(const char *specs)
{
	int ret = inject_arm(specs);

	if (ret < 0)
		return no_device(ret);
	if (ret > 0)
		fprintf(stderr, "vkfd-inject: %s\n", inject_error());
	return ret ? 1 : 0;
}

static int status(void)
{
	static const char *const device[] = { "works", "stalled", "hung", "gone" };
	char text[VKFD_INJECT_TEXT_SIZE], *spec = text;
	struct inject_state st;
	uint32_t dev;
	unsigned int i;
	int ret = inject_text(text, sizeof(text));

	if (ret)
		return no_device(ret);
	for (i = 0; inject_status(i, &st); i++) {
		char *end = strchrnul(spec, ';');

		printf("%.*s passages %llu fired %u refused %u\n", (int)(end - spec), spec,
		       (unsigned long long)st.passages, st.fired, st.refused);
		spec = *end ? end + 1 : end;
	}
	if (!i)
		printf("nothing armed\n");
	dev = inject_device();
	printf("held back %u, device %s\n", inject_held(), dev < 4 ? device[dev] : "unknown");
	return 0;
}

static int counters(void)
{
	unsigned int i;

	for (i = 0; i < VKFD_CNT_MAX; i++) {
		uint64_t n = device_counter(i);

		if (n)
			printf("%s %llu\n", counter_name[i], (unsigned long long)n);
	}
	return 0;
}

static int unmodelled(void)
{
	uint32_t reg, reads, writes;
	unsigned int i;

	for (i = 0; device_unmodelled(i, &reg, &reads, &writes); i++)
		printf("0x%05x reads %u writes %u\n", reg, reads, writes);
	return 0;
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";
	int ret;

	if (argc == 2 && !strcmp(cmd, "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc != (strcmp(cmd, "arm") ? 2 : 3)) {
		fputs(usage, stderr);
		return 2;
	}
	ret = inject_open();
	if (ret)
		return no_device(ret);
	if (!strcmp(cmd, "arm"))
		return arm(argv[2]);
	if (!strcmp(cmd, "disarm"))
		return arm("");
	if (!strcmp(cmd, "status"))
		return status();
	if (!strcmp(cmd, "counters"))
		return counters();
	if (!strcmp(cmd, "unmodelled"))
		return unmodelled();
	fprintf(stderr, "vkfd-inject: no command %s\n%s", cmd, usage);
	return 2;
}
