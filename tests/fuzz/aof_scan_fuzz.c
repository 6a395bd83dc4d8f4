/* aof_scan_fuzz.c -- feeds any bytes as a log: the scanner, which reads them through a window, must give the result of
 * the loader's parser, which gets them as a whole.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_parse.h"
#include "aof_scan.h"
#include "panic.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a file of these bytes, the same one each time. */
static int fileOf(slice bytes) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("aof", MFD_CLOEXEC);
    serverAssert(ftruncate(fd, 0) == 0);
    serverAssert(pwrite(fd, bytes.ptr, bytes.len, 0) == (ssize_t)bytes.len);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    slice left = sliceOf(data, size);
    aofItem item = {.bytes = 0};
    aofScanItem seen;
    aofScanner *s = aofScanCreate(fileOf(left), 0, size, "name", "path");
    aofScanKind kind;
    while ((kind = aofScanNext(s, &seen)) == AOF_SCAN_COMMAND || kind == AOF_SCAN_ANNOTATION) {
        aofItemKind parsed = aofParse(&item, left);
        serverAssert(parsed == (kind == AOF_SCAN_COMMAND ? AOF_COMMAND : AOF_ANNOTATION));
        serverAssert(seen.bytes == item.bytes && seen.at == size - left.len && seen.unit <= seen.at);
        if (parsed == AOF_COMMAND) serverAssert(seen.argc == item.argc);
        left.ptr += item.bytes;
        left.len -= item.bytes;
    }
    serverAssert(kind != AOF_SCAN_FAILED && aofScanGood(s) <= size - left.len);
    serverAssert(kind != AOF_SCAN_END || (left.len == 0 && aofScanGood(s) == size && !aofScanFault(s)));
    /* Bytes that stop the scanner stop the parser, except commands of a transaction at a wrong position. */
    if (kind == AOF_SCAN_FAULT && left.len > 0 && !strstr(aofScanFault(s) ? aofScanFault(s) : "", "Unexpected")) {
        aofItemKind parsed = aofParse(&item, left);
        serverAssert(parsed == AOF_MORE || parsed == AOF_BAD);
    }
    aofScanFree(s);
    aofItemFree(&item);
    return 0;
}
