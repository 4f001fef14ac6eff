/* SPDX-License-Identifier: MIT */
/*
 * The control page of the emulated GPU (BAR4), from user space: fault injection
 * and counters. It is mapped through sysfs, so it works under any driver and
 * without one; it needs root. docs/injection.md has the grammar and what each
 * action does.
 *
 * The page is one for all: whoever arms replaces what others armed. One thread
 * of one process at a time.
 */
#ifndef VKFD_TEST_INJECT_H
#define VKFD_TEST_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vkfd/pci.h>

/**
 * struct inject_state - what became of one armed spec
 * @passages: passages of its point since it was armed
 * @fired: how often it acted
 * @refused: how often it was due and could not act: another spec of the list
 *	acted on that passage, or too much is held back already
 */
struct inject_state {
	uint64_t passages;
	uint32_t fired;
	uint32_t refused;
};

/*
 * Maps the page of the first vkfd GPU; the functions below do it when needed.
 * 0; -ENODEV: no such GPU, or a device without fault injection; -EACCES and
 * others: why the page cannot be mapped.
 */
int inject_open(void);

/*
 * Arms @specs ("msix:drop@1000/1000;slot:delay:50us@7") in place of what is
 * armed; "" disarms, which also ends every hang and delivers what is held back.
 * Counts start at 0. Returns 0, a VKFD_INJECT_* code when the device refuses
 * the text (what was armed stays so), or a negative errno of inject_open().
 */
int inject_arm(const char *specs);
int inject_disarm(void);

/* What is wrong with the last text refused: "no such action at 5 ('nap@1')". */
const char *inject_error(void);

/* Number of specs armed, or a negative errno. */
int inject_count(void);

/* State of spec @i in the order of the text; false when there is none. */
bool inject_status(unsigned int i, struct inject_state *st);

/* How often spec @i acted; 0 when there is none. */
uint32_t inject_fired(unsigned int i);

/* Delayed actions the device still holds back. */
uint32_t inject_held(void);

/* VKFD_INJECT_DEVICE_*. */
uint32_t inject_device(void);

/*
 * What is armed, as the device says it, into @buf of @size bytes (at least
 * VKFD_INJECT_TEXT_SIZE for any text). 0 or a negative errno.
 */
int inject_text(char *buf, size_t size);

/* Counter VKFD_CNT_* of the device; 0 without one. */
uint64_t device_counter(unsigned int which);

/* Register @i the device does not model and somebody used; false past the end. */
bool device_unmodelled(unsigned int i, uint32_t *reg, uint32_t *reads, uint32_t *writes);

#endif /* VKFD_TEST_INJECT_H */
