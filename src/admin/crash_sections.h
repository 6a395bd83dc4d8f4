/* crash_sections.h -- the sections of a crash report about the server and its clients.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_CRASH_SECTIONS_H
#define ADMIN_CRASH_SECTIONS_H

/* Registers the sections. Call at startup. */
void crashSectionsRegister(void);

#endif
