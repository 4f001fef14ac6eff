/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For vkfd_vm.c and vkfd_vm_gem.c: mappings as such.
 */
#ifndef VKFD_VM_INT_H
#define VKFD_VM_INT_H

#include "vkfd_vm.h"

/* Whether [@va, @va + @npages pages) is aligned and in the address space. */
bool vkfd_vm_range_ok(u64 va, u64 npages);

/* A mapping that is in the list of its BO and in no tree, with one reference; or NULL. */
struct vkfd_mapping *vkfd_mapping_create(struct vkfd_vm *vm, const struct vkfd_map_params *params);
/* Without vm->lock. The list: of struct vkfd_mapping.link. */
void vkfd_mapping_put(struct vkfd_mapping *m);
void vkfd_mapping_put_list(struct list_head *list);

/* vkfd_pte_fn: entry @index of struct vkfd_mapping @data. */
u64 vkfd_mapping_pte(void *data, u64 index);

/* TLB of the VM, after its tables were changed. Caller is in vkfd_hw_enter(). Takes bind_lock. */
void vkfd_vm_flush(struct vkfd_vm *vm);

#endif /* VKFD_VM_INT_H */
