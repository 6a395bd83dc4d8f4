/* web_page.h -- the page that is served: page.html, as it was when the server was built.
 *
 * Threads     webPageInit() once, before any other; the rest any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_PAGE_H
#define WEB_WEB_PAGE_H

#include "slice.h"

/* Work out what depends on the page's bytes. Boot; more than once does no harm. */
void webPageInit(void);
slice webPage(void);
const char *webPageEtag(void); /* with its quotes */
/* Fields of the answer: ETag, Cache-Control, Content-Security-Policy and its kin, each with its end of line. */
const char *webPageFields(void);
/* The same, for a page of other bytes; `out` has room for WEB_PAGE_FIELDS_MAX. For tests. */
#define WEB_PAGE_FIELDS_MAX 1024
void webPageFieldsOf(char *out, slice page, const char *etag);

#endif
