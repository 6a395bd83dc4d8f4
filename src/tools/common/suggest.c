/* suggest.c -- the known word that is most similar to an unknown one.
 *
 * A word is similar if it differs by at most one typing error per three letters (a letter added, missing, wrong, or
 * exchanged with its neighbor), or if it shares three quarters of the typed word, from the start ("--hots" for
 * "--hotkeys"). Of several similar words the one with the fewest errors wins, of equals the first.
 *
 * Tests       tests/unit/tools/suggest_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "suggest.h"
#include <ctype.h>
#include <string.h>

#define WORD_MAX 32

static int suggestLesser(int a, int b) { return a < b ? a : b; }

/* Returns the number of typing errors between two words; two exchanged neighbors are one error. Keeps three rows of the
 * usual table of edit distances. */
static int errorsBetween(const char *a, int a_len, const char *b, int b_len) {
    int rows[3][WORD_MAX + 1];
    for (int j = 0; j <= b_len; j++) rows[0][j] = j;
    for (int i = 1; i <= a_len; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= b_len; j++) {
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 0 : 1;
            row[j] = suggestLesser(suggestLesser(row[j - 1], above[j]) + 1, above[j - 1] + same);
            bool swapped = i > 1 && j > 1 && tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 2]) &&
                           tolower((unsigned char)a[i - 2]) == tolower((unsigned char)b[j - 1]);
            if (swapped) row[j] = suggestLesser(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

static int sharedStart(const char *a, const char *b) {
    int n = 0;
    while (a[n] && tolower((unsigned char)a[n]) == tolower((unsigned char)b[n])) n++;
    return n;
}

void suggestConsider(suggestion *s, const char *candidate) {
    const char *word = s->word + strspn(s->word, "-"), *other = candidate + strspn(candidate, "-");
    size_t word_len = strlen(word), other_len = strlen(other);
    if (word_len < 2 || word_len > WORD_MAX || other_len > WORD_MAX) return;
    int errors = errorsBetween(word, (int)word_len, other, (int)other_len), len = (int)word_len;
    bool near = errors <= (len < 6 ? 1 : len / 3) || (len >= 3 && sharedStart(word, other) * 4 >= len * 3);
    if (!near || (s->best && s->distance <= errors)) return;
    s->best = candidate;
    s->distance = errors;
}
