/* SPDX-License-Identifier: MIT */
/*
 * Entry points of libFuzzer. One program has all targets: VKFD_FUZZ_TARGET says which
 * (an environment variable, since libFuzzer starts itself again for some jobs).
 *   vkfd-fuzz --list            names of the targets
 *   vkfd-fuzz --seeds DIR       write the inputs to begin with
 *   vkfd-fuzz [libFuzzer's options, directories or inputs]
 */
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const FuzzTarget *find(const char *name)
{
    unsigned i;

    for (i = 0; name && fuzz_targets[i]; i++) {
        if (!strcmp(fuzz_targets[i]->name, name)) {
            return fuzz_targets[i];
        }
    }
    return NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("VKFD_FUZZ_TARGET");
    unsigned i;

    if (*argc > 1 && !strcmp((*argv)[1], "--list")) {
        for (i = 0; fuzz_targets[i]; i++) {
            puts(fuzz_targets[i]->name);
        }
        exit(0);
    }
    fz.t = find(name);
    if (!fz.t) {
        fprintf(stderr, "vkfd-fuzz: VKFD_FUZZ_TARGET is %s; --list names the targets\n",
                name ? name : "not set");
        exit(2);
    }
    fuzz_find_opcodes();
    fuzz_machine();
    if (*argc == 3 && !strcmp((*argv)[1], "--seeds")) {
        fuzz_write_seeds((*argv)[2]);
        exit(0);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzInput in = { data, size };

    fuzz_restore();
    if (fz.t->begin) {
        fz.t->begin(&in);
    }
    fuzz_check();
    fuzz_program(&in);
    fuzz_finish();
    return 0;
}
