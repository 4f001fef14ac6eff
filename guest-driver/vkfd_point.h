/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Points of the driver at which a test makes somebody stop, or fail: what happens there
 * meanwhile is then no matter of luck. debugfs kfd/point: docs/memory.md.
 */
#ifndef VKFD_POINT_H
#define VKFD_POINT_H

struct dentry;

/**
 * enum vkfd_point - where
 * @VKFD_POINT_NONE: nowhere
 * @VKFD_POINT_COPY_OUT: a BO is to leave VRAM: nobody uses it, and it is about to be copied
 * @VKFD_POINT_MOVE_OUT: it is copied, and nobody has been told
 * @VKFD_POINT_MOVE_IN: the same of one that comes back
 * @VKFD_POINT_RESTORE: user memory is about to be looked up
 */
enum vkfd_point {
	VKFD_POINT_NONE,
	VKFD_POINT_COPY_OUT,
	VKFD_POINT_MOVE_OUT,
	VKFD_POINT_MOVE_IN,
	VKFD_POINT_RESTORE,
};

/*
 * 0, after as long as the test wants; -EAGAIN: go on as if it had failed. A task that is
 * killed does not stop. May sleep; what is held is held until the test lets go.
 */
int vkfd_point(enum vkfd_point at);

void vkfd_point_debugfs(struct dentry *dir);

#endif /* VKFD_POINT_H */
