/* crash_sections.h -- what the crash report says about the server and its clients.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_CRASH_SECTIONS_H
#define ADMIN_CRASH_SECTIONS_H

/* Boot. */
void crashSectionsRegister(void);

#endif
