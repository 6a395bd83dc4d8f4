/* musl_unwind.c -- lets the unwinder of a gcc made for glibc work in programs that are linked with musl.
 *
 * That unwinder asks glibc's _dl_find_object() for the tables of the object that contains an address. The gcc of a
 * distribution that is built on musl does not, so this file is for tests/cross/musl alone.
 *
 * Source  the layout of the result: glibc's manual, "Dynamic Linker Introspection".
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <link.h>
#include <stdint.h>

struct foundObject {
    unsigned long long flags;
    void *map_start, *map_end, *link_map, *eh_frame;
    unsigned long long reserved[7];
};

struct search {
    uintptr_t address;
    struct foundObject *out;
};

static int searchObject(struct dl_phdr_info *info, size_t size, void *arg) {
    struct search *search = arg;
    uintptr_t start = 0, end = 0, tables = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) tables = at;
        if (p->p_type == PT_LOAD && search->address >= at && search->address - at < p->p_memsz) {
            start = at;
            end = at + p->p_memsz;
        }
    }
    if (!end || !tables) return 0;
    *search->out = (struct foundObject){.map_start = (void *)start, .map_end = (void *)end, .eh_frame = (void *)tables};
    return 1;
}

int _dl_find_object(void *address, struct foundObject *out) {
    struct search search = {(uintptr_t)address, out};
    return dl_iterate_phdr(searchObject, &search) ? 0 : -1;
}
