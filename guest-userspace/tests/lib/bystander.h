/* SPDX-License-Identifier: MIT */
/*
 * Another process with a queue on the GPU, which goes on whatever happens to the first one.
 */
#ifndef VKFD_TEST_BYSTANDER_H
#define VKFD_TEST_BYSTANDER_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct bystander
 * @to, @from: pipes to it and from it
 * @pid: its id
 */
struct bystander {
	int to[2];
	int from[2];
	pid_t pid;
};

/* Forks it, before the caller opens the device; ends the program on failure. */
void bystander_start(struct bystander *b);
/* It runs a few batches: all of them were done, and nobody told it of a fault. */
bool bystander_runs(struct bystander *b);
/* Lets it end. False: it did not end well. */
bool bystander_end(struct bystander *b);

#endif /* VKFD_TEST_BYSTANDER_H */
