/* nodes_file_fuzz.c -- feeds any bytes as cluster-config-file: they are refused, or what is read is written alike.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_file.h"
#include "panic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    nodesFile file, again;
    sds text = sdsNewLen(data, size), error, second_error;
    if (nodesFileParse(sdsSlice(text), &file, &error)) {
        sds first = nodesFileText(&file);
        serverAssert(nodesFileParse(sdsSlice(first), &again, &second_error));
        sds second = nodesFileText(&again);
        serverAssert(sdsCmp(first, second) == 0);
        sdsFree(first);
        sdsFree(second);
        sdsFree(second_error);
        nodesFileFree(&again);
    } else {
        serverAssert(error != NULL);
    }
    sdsFree(error);
    nodesFileFree(&file);
    sdsFree(text);
    return 0;
}
