/* symbols.c -- names of functions, from the symbol table in the program's own file.
 *
 * dladdr() knows only functions that are exported to shared libraries. To export all of them for the sake of a crash
 * report costs speed: an exported function keeps a body of its own, and the optimizer, which counts bodies, inlines
 * less (5 % of the instructions of a GET or SET). So nothing is exported, and a crash report reads the table that the
 * linker leaves in the file for debuggers. Functions of libraries have the names that dladdr() finds.
 *
 * Source      the layout: System V ABI, chapters "Object Files"; <link.h> has it for this machine's word size.
 * Owns        the mapping of the program's own file, until the end of the process.
 * Invariants  1. Nothing outside the image is read, whatever it contains.
 * Cost        a walk over some thousand symbols for each name.
 * Tests       tests/unit/base/symbols_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set by the linker: the address of the file's first byte in memory. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* Returns whether `n` items of `each` bytes at `at` are within the image. */
static bool symbolsHolds(const symbolFile *f, size_t at, size_t n, size_t each) {
    return at <= f->size && n <= (f->size - at) / each;
}

static bool headerOf(const symbolFile *f, ElfW(Ehdr) * out) {
    if (!symbolsHolds(f, 0, 1, sizeof(*out))) return false;
    memcpy(out, f->image, sizeof(*out));
    unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    return memcmp(out->e_ident, ELFMAG, SELFMAG) == 0 && out->e_ident[EI_CLASS] == class &&
           out->e_shentsize == sizeof(ElfW(Shdr)) && symbolsHolds(f, out->e_shoff, out->e_shnum, sizeof(ElfW(Shdr)));
}

static ElfW(Shdr) sectionOf(const symbolFile *f, const ElfW(Ehdr) * header, size_t i) {
    ElfW(Shdr) s;
    memcpy(&s, f->image + header->e_shoff + i * sizeof(s), sizeof(s));
    return s;
}

/* Finds the symbol table and the table of its names. Returns false if there is none. */
static bool findTables(const symbolFile *f, ElfW(Shdr) * symbols, ElfW(Shdr) * names) {
    ElfW(Ehdr) header;
    if (!headerOf(f, &header)) return false;
    for (size_t i = 0; i < header.e_shnum; i++) {
        *symbols = sectionOf(f, &header, i);
        if (symbols->sh_type != SHT_SYMTAB || symbols->sh_link >= header.e_shnum) continue;
        *names = sectionOf(f, &header, symbols->sh_link);
        return symbolsHolds(f, symbols->sh_offset, symbols->sh_size, 1) &&
               symbolsHolds(f, names->sh_offset, names->sh_size, 1);
    }
    return false;
}

/* Returns the name at `at`, NULL if it does not end within the table. */
static const char *nameAt(const symbolFile *f, const ElfW(Shdr) * names, size_t at) {
    if (at >= names->sh_size) return NULL;
    const char *name = f->image + names->sh_offset + at;
    return memchr(name, '\0', names->sh_size - at) ? name : NULL;
}

bool symbolsFind(const symbolFile *f, const void *address, symbol *out) {
    ElfW(Shdr) symbols, names;
    if ((uintptr_t)address < f->base || !findTables(f, &symbols, &names)) return false;
    size_t offset = (uintptr_t)address - f->base;
    for (size_t i = 0; i < symbols.sh_size / sizeof(ElfW(Sym)); i++) {
        ElfW(Sym) s;
        memcpy(&s, f->image + symbols.sh_offset + i * sizeof(s), sizeof(s));
        if ((s.st_info & 0xf) != STT_FUNC || offset < s.st_value || offset - s.st_value >= s.st_size) continue;
        out->name = nameAt(f, &names, s.st_name);
        out->offset = offset - s.st_value;
        return out->name != NULL;
    }
    return false;
}

bool symbolsOpen(symbolFile *f) {
    struct stat st;
    ElfW(Ehdr) header;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    void *p = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0) p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED) return false;
    f->image = p;
    f->size = (size_t)st.st_size;
    /* The addresses of a position-independent program are relative to the one at which it was loaded. */
    f->base = headerOf(f, &header) && header.e_type == ET_EXEC ? 0 : (uintptr_t)__ehdr_start;
    return true;
}

static symbolFile program_file; /* empty until symbolsLoad(), or if that has failed */

void symbolsLoad(void) {
    if (!program_file.image && !symbolsOpen(&program_file)) program_file = (symbolFile){0};
}

void symbolsDescribe(const void *frame, bool is_return, char text[SYMBOL_TEXT_SIZE]) {
    const char *program = program_invocation_short_name; /* the process title may follow the name */
    const char *at = (const char *)frame - is_return;
    symbol s;
    Dl_info library;
    if (symbolsFind(&program_file, at, &s))
        snprintf(text, SYMBOL_TEXT_SIZE, "%.*s(%.128s+0x%zx)[%p]", (int)strcspn(program, " "), program, s.name,
                 s.offset + is_return, frame);
    else if (dladdr(at, &library) && library.dli_sname)
        snprintf(text, SYMBOL_TEXT_SIZE, "%.64s(%.128s+0x%zx)[%p]", library.dli_fname, library.dli_sname,
                 (size_t)((const char *)frame - (const char *)library.dli_saddr), frame);
    else snprintf(text, SYMBOL_TEXT_SIZE, "[%p]", frame);
}
