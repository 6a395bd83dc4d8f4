/* chunk_linker.c -- lets compiled scripts find globals and library functions in one lookup each.
 *
 * Scripts see libraries as proxies (protected_table.c), so `bit.band` costs two misses in empty tables and two calls of
 * the metatable's __index, in addition to the two lookups that it needs. The compiler of Lua 5.1 generates two
 * instructions for it:
 *
 *   GETGLOBAL  R, "bit"            GETGLOBAL  R, "bit\0"
 *   GETTABLE   R, R, "band"   ->   GETTABLE   R, R, "band"
 *
 * The second instruction overwrites the register that the first has set, so only that lookup ever sees the value. The
 * linker gives the first instruction another constant, under which it finds the real table. It does the same for
 * `local b = bit` if each instruction within the local's scope that names its register reads a field of it. All other
 * uses get the proxy as before.
 *
 * Lua gives access to compiled code only by lua_dump() and lua_load(), so the code goes through both. Its layout is
 * that of Lua 5.1 on 64-bit machines, which the header of a dump states; with any other header nothing is linked.
 *
 *   function: source, line, last line (4 each), 4 bytes of counts, code, constants, functions, lines, locals, upvalues
 *   each list: count (4), elements;  string: length with the zero byte (8), bytes
 *
 * Not here    the table of names (direct_globals.c).
 * Owns        nothing: both dumps are userdata on the stack of Lua.
 * Threads     main.
 * Invariants  1. A real table is never in a register that the script reads in any other way than to read a field of it.
 *             2. Only functions without OP_SETGLOBAL get the environment: an assignment would bypass the metatable.
 * Cost        once per script, proportional to its length: the libraries and aliases of a function are limited.
 * Tests       tests/unit/script/lua/chunk_linker_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "direct_globals.h"

#include "string_buffer.h"

#include <string.h>

#define LIBRARIES_MAX 16        /* used by one function; others are read through their proxies */
#define ALIASES_MAX 32          /* locals of one function that are examined */
#define LIBRARY_NAME_MAX 16     /* longer strings are not looked up */
#define CONSTANTS_MAX (1 << 18) /* of a function, in Lua */
#define STACK_NEEDED 8

enum {
    OP_MOVE,
    OP_LOADK,
    OP_LOADBOOL,
    OP_LOADNIL,
    OP_GETUPVAL,
    OP_GETGLOBAL,
    OP_GETTABLE,
    OP_SETGLOBAL,
    OP_SETUPVAL,
    OP_SETTABLE,
    OP_NEWTABLE,
    OP_SELF,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_POW,
    OP_UNM,
    OP_NOT,
    OP_LEN,
    OP_CONCAT,
    OP_JMP,
    OP_EQ,
    OP_LT,
    OP_LE,
    OP_TEST,
    OP_TESTSET,
    OP_CALL,
    OP_TAILCALL,
    OP_RETURN,
    OP_FORLOOP,
    OP_FORPREP,
    OP_TFORLOOP,
    OP_SETLIST,
    OP_CLOSE,
    OP_CLOSURE,
    OP_VARARG
};

/* The start of a dump: signature, version 5.1, format 0, little endian, the sizes of int, size_t, instruction and
 * number, and floating-point numbers. */
static const char header[] = {'\x1b', 'L', 'u', 'a', 0x51, 0, 1, 4, 8, 4, 8, 0};
enum { CONSTANT_NIL = 0, CONSTANT_BOOLEAN = 1, CONSTANT_NUMBER = 3, CONSTANT_STRING = 4 };

typedef uint32_t instruction;

static unsigned opcodeOf(instruction i) { return i & 0x3f; }
static unsigned fieldA(instruction i) { return i >> 6 & 0xff; }
static unsigned fieldB(instruction i) { return i >> 23; }
static unsigned fieldC(instruction i) { return i >> 14 & 0x1ff; }
static unsigned fieldBx(instruction i) { return i >> 14; }
static instruction withBx(instruction i, unsigned bx) { return (i & 0x3fff) | bx << 14; }

typedef struct linker {
    lua_State *L;
    int direct;           /* the table's index on the stack */
    const char *at, *end; /* the rest of the dump; borrowed */
    stringBuffer out;     /* the linked dump */
    bool valid;           /* false after the first unexpected byte: the script is left as it is */
    bool assigns;         /* an instruction assigns a global */
    bool linked;          /* an instruction has been changed */
} linker;

typedef struct library {
    uint32_t constant; /* index of its name */
    uint32_t real;     /* index of the name of its real table */
} library;

/* A function of the script while it is copied. */
typedef struct function {
    const char *code; /* borrowed: in the dump */
    uint32_t length;  /* of the code, in instructions */
    size_t code_at;   /* offset of the code in `out` */
    const char *locals;
    uint32_t locals_count;
    library libraries[LIBRARIES_MAX];
    uint32_t libraries_count;
    uint32_t aliases_left;
} function;

/* --- Copying ------------------------------------------------------------------------------------------------------ */

/* Copies the next bytes and returns their address in the dump, or NULL if fewer are left. */
static const char *chunkLinkerCopy(linker *k, size_t size) {
    const char *from = k->at;
    if (!k->valid || size > (size_t)(k->end - k->at)) {
        k->valid = false;
        return NULL;
    }
    stringBufferAdd(&k->out, from, size);
    k->at += size;
    return from;
}

static uint32_t readInt(const char *from) {
    uint32_t n;
    memcpy(&n, from, sizeof(n));
    return n;
}

static uint32_t copyInt(linker *k) {
    const char *from = chunkLinkerCopy(k, sizeof(uint32_t));
    return from ? readInt(from) : 0;
}

/* Copies a string and returns it, the zero byte at its end included. */
static slice copyString(linker *k) {
    uint64_t size = 0;
    const char *from = chunkLinkerCopy(k, sizeof(size));
    if (from) memcpy(&size, from, sizeof(size));
    from = chunkLinkerCopy(k, size);
    return sliceOf(from, from ? size : 0);
}

/* --- Constants ---------------------------------------------------------------------------------------------------- */

/* Returns true if the table has a real table for the library of this name, which ends in a zero byte. */
static bool isLibrary(linker *k, slice name) {
    if (name.len < 2 || name.len > LIBRARY_NAME_MAX) return false;
    lua_pushlstring(k->L, name.ptr, name.len);
    lua_rawget(k->L, k->direct);
    bool found = !lua_isnil(k->L, -1);
    lua_pop(k->L, 1);
    return found;
}

static void addConstant(linker *k, slice name) {
    uint64_t size = name.len + 1;
    stringBufferAddByte(&k->out, CONSTANT_STRING);
    stringBufferAdd(&k->out, &size, sizeof(size));
    stringBufferAdd(&k->out, name.ptr, name.len);
    stringBufferAddByte(&k->out, '\0');
}

/* Copies a constant; returns it if it is a string. */
static slice copyConstant(linker *k) {
    const char *type = chunkLinkerCopy(k, 1);
    switch (type ? *type : CONSTANT_NIL) {
    case CONSTANT_NIL: break;
    case CONSTANT_BOOLEAN: chunkLinkerCopy(k, 1); break;
    case CONSTANT_NUMBER: chunkLinkerCopy(k, sizeof(lua_Number)); break;
    case CONSTANT_STRING: return copyString(k);
    default: k->valid = false;
    }
    return sliceOf(NULL, 0);
}

/* Copies the constants, and appends the names of real tables to the function's own constants. */
static void copyConstants(linker *k, function *f) {
    slice names[LIBRARIES_MAX];
    size_t count_at = k->out.len;
    uint32_t count = copyInt(k);
    for (uint32_t i = 0; i < count && k->valid; i++) {
        slice name = copyConstant(k);
        if (f->libraries_count == LIBRARIES_MAX || !isLibrary(k, name)) continue;
        names[f->libraries_count] = name;
        f->libraries[f->libraries_count++] = (library){.constant = i};
    }
    if (!k->valid) return;
    for (uint32_t i = 0; i < f->libraries_count; i++) {
        f->libraries[i].real = count++;
        addConstant(k, names[i]);
    }
    if (count > CONSTANTS_MAX) k->valid = false;
    memcpy(k->out.bytes + count_at, &count, sizeof(count));
}

/* --- Code --------------------------------------------------------------------------------------------------------- */

static instruction chunkLinkerAt(const function *f, uint32_t pc) { return readInt(f->code + pc * sizeof(instruction)); }

/* Returns the index of the next instruction: some are followed by a data word. */
static uint32_t nextIndex(instruction i, uint32_t pc) {
    return pc + (opcodeOf(i) == OP_SETLIST && fieldC(i) == 0 ? 2 : 1);
}

/* Returns true if the instruction uses the register in any other way than as the table that GETTABLE reads. A range of
 * registers is taken to extend from its first one to the end of the stack. */
static bool usesRegister(instruction i, unsigned r) {
    unsigned a = fieldA(i), b = fieldB(i), c = fieldC(i);
    switch (opcodeOf(i)) {
    case OP_JMP:
    case OP_CLOSE: return false;
    case OP_LOADK:
    case OP_LOADBOOL:
    case OP_GETUPVAL:
    case OP_GETGLOBAL:
    case OP_SETUPVAL:
    case OP_NEWTABLE:
    case OP_TEST:
    case OP_CLOSURE: return a == r;
    case OP_MOVE:
    case OP_UNM:
    case OP_NOT:
    case OP_LEN:
    case OP_TESTSET: return a == r || b == r;
    case OP_GETTABLE: return a == r || c == r;
    case OP_EQ:
    case OP_LT:
    case OP_LE: return b == r || c == r;
    case OP_SETTABLE:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_MOD:
    case OP_POW: return a == r || b == r || c == r;
    case OP_CONCAT: return a == r || (b <= r && r <= c);
    case OP_LOADNIL: return a <= r && r <= b;
    case OP_SELF: return a == r || a + 1 == r || b == r || c == r;
    case OP_RETURN: return b != 1 && a <= r;
    default: return a <= r;
    }
}

typedef struct scope {
    uint32_t begin, end;
} scope;

/* Reads the scope of the local at `p` and returns the address of the next local. */
static const char *readScope(const char *p, scope *s) {
    uint64_t size;
    memcpy(&size, p, sizeof(size));
    p += sizeof(size) + size;
    *s = (scope){.begin = readInt(p), .end = readInt(p + sizeof(uint32_t))};
    return p + 2 * sizeof(uint32_t);
}

/* Finds the scope of the local that gets the value which the instruction puts into register `r`. Returns false if it
 * belongs to no local. */
static bool findScope(const function *f, uint32_t pc, unsigned r, scope *found) {
    const char *p = f->locals;
    uint32_t begin = UINT32_MAX;
    for (uint32_t i = 0; i < f->locals_count; i++) {
        scope s;
        p = readScope(p, &s);
        if (s.begin > pc && s.begin < begin) begin = s.begin;
    }
    p = f->locals;
    for (uint32_t i = 0, live = 0; i < f->locals_count; i++) {
        p = readScope(p, found);
        if (found->begin <= begin && begin < found->end && live++ == r) return found->begin == begin;
    }
    return false;
}

/* Returns true if the value that the instruction puts into `r` is used only to read its fields. */
static bool onlyFieldsAreRead(function *f, uint32_t pc, unsigned r) {
    scope s;
    if (pc + 1 >= f->length) return false;
    instruction next = chunkLinkerAt(f, pc + 1);
    if (opcodeOf(next) == OP_GETTABLE && fieldA(next) == r && fieldB(next) == r) return fieldC(next) != r;
    if (f->aliases_left == 0) return false;
    f->aliases_left--;
    if (!findScope(f, pc, r, &s) || s.end > f->length) return false;
    for (pc++; pc < s.end; pc = nextIndex(chunkLinkerAt(f, pc), pc))
        if (usesRegister(chunkLinkerAt(f, pc), r)) return false;
    return true;
}

static const library *libraryOf(const function *f, unsigned constant) {
    for (uint32_t i = 0; i < f->libraries_count; i++)
        if (f->libraries[i].constant == constant) return &f->libraries[i];
    return NULL;
}

static void linkCode(linker *k, function *f) {
    for (uint32_t pc = 0; pc < f->length; pc = nextIndex(chunkLinkerAt(f, pc), pc)) {
        instruction i = chunkLinkerAt(f, pc);
        if (opcodeOf(i) == OP_SETGLOBAL) k->assigns = true;
        const library *l = opcodeOf(i) == OP_GETGLOBAL ? libraryOf(f, fieldBx(i)) : NULL;
        if (!l || !onlyFieldsAreRead(f, pc, fieldA(i))) continue;
        i = withBx(i, l->real);
        memcpy(k->out.bytes + f->code_at + pc * sizeof(i), &i, sizeof(i));
        k->linked = true;
    }
}

static void copyFunctions(linker *k);

static void copyFunction(linker *k) {
    function f = {.aliases_left = ALIASES_MAX};
    copyString(k);
    chunkLinkerCopy(k, 2 * sizeof(uint32_t) + 4);
    f.length = copyInt(k);
    f.code_at = k->out.len;
    f.code = chunkLinkerCopy(k, f.length * sizeof(instruction));
    copyConstants(k, &f);
    copyFunctions(k);
    chunkLinkerCopy(k, copyInt(k) * sizeof(uint32_t));
    f.locals_count = copyInt(k);
    f.locals = k->at;
    for (uint32_t i = 0; i < f.locals_count && k->valid; i++) {
        copyString(k);
        chunkLinkerCopy(k, 2 * sizeof(uint32_t));
    }
    uint32_t upvalues = copyInt(k);
    for (uint32_t i = 0; i < upvalues && k->valid; i++) copyString(k);
    if (k->valid) linkCode(k, &f);
}

static void copyFunctions(linker *k) {
    uint32_t count = copyInt(k);
    for (uint32_t i = 0; i < count && k->valid && !k->assigns; i++) copyFunction(k);
}

/* --- The script --------------------------------------------------------------------------------------------------- */

/* lua_Writer. */
static int addPiece(lua_State *L, const void *piece, size_t size, void *dump) {
    unused(L);
    stringBufferAdd(dump, piece, size);
    return 0;
}

/* lua_Reader: returns all at once. */
static const char *readLinked(lua_State *L, void *arg, size_t *size) {
    unused(L);
    slice *text = arg;
    *size = text->len;
    text->len = 0;
    return *size ? text->ptr : NULL;
}

/* Pushes the linked script, or nothing if Lua does not load it. */
static void loadLinked(linker *k) {
    slice text = sliceOf(k->out.bytes, k->out.len);
    int result = lua_load(k->L, readLinked, &text, "=linked");
    if (result == LUA_ERRMEM) lua_error(k->L);
    if (result != 0) lua_pop(k->L, 1);
}

void chunkLink(lua_State *L, int direct) {
    stringBuffer dump;
    const int script = lua_gettop(L);
    luaL_checkstack(L, STACK_NEEDED, "cannot link the script");
    stringBufferInit(&dump, L);
    lua_pushvalue(L, script);
    int result = lua_dump(L, addPiece, &dump);
    lua_pop(L, 1);
    linker k = {.L = L, .direct = direct, .at = dump.bytes, .end = dump.bytes + dump.len, .valid = true};
    stringBufferInit(&k.out, L);
    if (result != 0 || dump.len < sizeof(header) ||
        memcmp(chunkLinkerCopy(&k, sizeof(header)), header, sizeof(header)) != 0)
        k.valid = false;
    copyFunction(&k);
    if (k.valid && !k.assigns) {
        lua_pushvalue(L, script);
        if (k.linked) loadLinked(&k);
        lua_pushvalue(L, direct);
        lua_setfenv(L, -2);
        lua_replace(L, script);
    }
    lua_settop(L, script);
}
