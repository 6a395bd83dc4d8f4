/* aof_manifest_fuzz.c -- feeds any bytes as a manifest and as commands of the log: they are rejected, or what is
 * written from them reads the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_manifest.h"
#include "aof_parse.h"
#include "panic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tryManifest(slice bytes) {
    aofManifestFault fault;
    aofManifest *m = aofManifestParse(bytes, &fault);
    if (!m) {
        serverAssert(fault.error != NULL);
        sdsFree(fault.text);
        return;
    }
    aofManifestSwitchBase(m, "stem", "rdb", bytes.len % 2);
    aofManifestAddIncr(m, "stem");
    sds text = aofManifestText(m);
    if (text) {
        aofManifest *again = aofManifestParse(sdsSlice(text), &fault);
        serverAssert(again && again->count == m->count && again->history == m->history && again->incrs == m->incrs);
        for (size_t i = 0; i < m->count; i++) serverAssert(!sdsCmp(again->files[i].name, m->files[i].name));
        aofManifestFree(again);
    }
    sdsFree(text);
    aofManifestFree(m);
}

static void tryCommands(slice bytes) {
    aofItem item = {.bytes = 0};
    while (bytes.len > 0) {
        aofItemKind kind = aofParse(&item, bytes);
        if (kind == AOF_MORE) serverAssert(item.bytes > bytes.len);
        if (kind != AOF_COMMAND && kind != AOF_ANNOTATION) break;
        serverAssert(item.bytes > 0 && item.bytes <= bytes.len);
        for (size_t i = 0; kind == AOF_COMMAND && i < item.argc; i++)
            serverAssert(item.args[i].ptr >= bytes.ptr &&
                         item.args[i].ptr + item.args[i].len <= bytes.ptr + item.bytes);
        bytes.ptr += item.bytes;
        bytes.len -= item.bytes;
    }
    aofItemFree(&item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    slice bytes = sliceOf(data, size);
    tryManifest(bytes);
    tryCommands(bytes);
    return 0;
}
