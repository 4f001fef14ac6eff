/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where ioctls let themselves be interrupted. One that returns -ERESTARTSYS has done nothing
 * that can be seen, or says in its arguments how far it got and goes on there (MAP and UNMAP,
 * n_success): the kernel starts it again, or the thunk does. That is possible at its
 * beginning, when it waits for the process's lock, and between two GPUs. What is long in
 * between, clearing VRAM, looking up user pages, ends for fatal signals only: started anew
 * for every tick of a profiler it would never end.
 */
#ifndef VKFD_INTERRUPT_H
#define VKFD_INTERRUPT_H

struct dentry;
struct vkfd_process;

/* 0, or -ERESTARTSYS: a signal is pending. Any context that is a task's. */
int vkfd_interrupt_point(void);

/* Takes process->lock: 0, or -ERESTARTSYS and it is not taken. */
int vkfd_process_lock(struct vkfd_process *p);

/*
 * debugfs kfd/interrupt_at: a process that writes N gets SIGUSR1 at the Nth point it passes
 * from then on, and reads how many are left until then; less than 1: it was there, or none
 * is asked for. One process at a time.
 */
void vkfd_interrupt_debugfs(struct dentry *dir);

#endif /* VKFD_INTERRUPT_H */
