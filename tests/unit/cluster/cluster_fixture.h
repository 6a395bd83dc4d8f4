/* cluster_fixture.h -- a temporary folder and small files, for tests of this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CLUSTER_FIXTURE_H
#define TESTS_CLUSTER_FIXTURE_H

/* Enters an empty temporary folder as the working directory. The next call deletes its contents, and the end of the
 * program the folder. */
void enterEmptyFolder(void);
/* Returns the number of files in it, without those that begin with a dot. */
int filesInFolder(void);
/* Makes a file with this text. */
void putFile(const char *path, const char *text);
/* Returns the text of a small file, valid until the next call; "(none)" if there is none. */
const char *fileText(const char *path);

#endif
