/* info_internal.h -- how the sections of INFO are written, for the files of INFO only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_INFO_INTERNAL_H
#define SERVER_INFO_INTERNAL_H

#include "sds.h"

/* Where the text goes: a string, or the crash report. */
typedef struct infoOut {
    sds text;   /* owns; NULL: straight into the crash report, nothing is allocated */
    bool begun; /* a section was written: the next starts with an empty line */
} infoOut;

/* Add one line; its end is added here. */
void infoLine(infoOut *o, const char *fmt, ...) printf_like(2, 3);
/* "field:1048576" and "field_human:1.00M". */
void infoBytes(infoOut *o, const char *field, size_t bytes);

/* info_server.c */
void infoServer(infoOut *o);
void infoTls(infoOut *o);
void infoClients(infoOut *o);
void infoCpu(infoOut *o);
void infoModules(infoOut *o);
void infoCluster(infoOut *o);
void infoClusterInfo(infoOut *o);
void infoScriptingEngines(infoOut *o);
/* info_memory.c */
void infoMemory(infoOut *o);
/* info_stats.c */
void infoPersistence(infoOut *o);
void infoStats(infoOut *o);
void infoReplication(infoOut *o);
void infoCommandstats(infoOut *o);
void infoErrorstats(infoOut *o);
void infoLatencystats(infoOut *o);
void infoKeyspace(infoOut *o);

#endif
