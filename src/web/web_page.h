/* web_page.h -- the page that the metrics port serves: a copy of page.html, which the build puts into the program.
 *
 * Threads     webPageInit() before any other function; the others: any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_PAGE_H
#define WEB_WEB_PAGE_H

#include "slice.h"

/* Computes what depends on the page's bytes. Call at startup; further calls do no harm. */
void webPageInit(void);
slice webPage(void);           /* the bytes of the page */
const char *webPageEtag(void); /* with its quotes */
/* Returns header fields of the response: ETag, Cache-Control, Content-Security-Policy and others, each with its line
 * end. */
const char *webPageFields(void);
/* Writes the fields for another page to `out`, which has WEB_PAGE_FIELDS_MAX bytes. For tests. */
#define WEB_PAGE_FIELDS_MAX 1024
void webPageFieldsOf(char *out, slice page, const char *etag);

#endif
