/* setting_text.h -- converts the value of a setting from and to text, with all checks.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_TEXT_H
#define ADMIN_SETTING_TEXT_H

#include "sds.h"
#include "setting.h"

/* Sets the value from the words of a line of the file. A setting of several words also takes them as one word, which is
 * then split like a line, and takes no word as the empty value. Returns false with *err (valid until the next call) if
 * the words are refused; the value is then unchanged. */
bool settingSetWords(const setting *s, sds *words, int count, const char **err) must_check;
/* Returns the text that the value would have after settingSetWords() if its text was `before`. Returns NULL with *err
 * if the words are refused. The value itself is unchanged at the end. The caller owns the text. */
sds settingPreview(const setting *s, const sds before, sds *words, int count, const char **err) must_check;
/* Like settingSetWords(), for the text of CONFIG SET: the text for a setting of several words is split at each
 * blank. */
bool settingSetText(const setting *s, const sds text, const char **err) must_check;
/* Returns whether a value of the setting consists of several words. */
bool settingTakesWords(const setting *s);
/* Sets the value to a text that settingText() returned earlier, without checks. */
void settingRestore(const setting *s, const sds text);
/* Sets the value to the default. */
void settingSetDefault(const setting *s);
/* Returns the value as CONFIG GET shows it. The caller owns the text. */
sds settingText(const setting *s);
/* Appends the value as the file has it: memory sizes in the largest unit that divides them, strings quoted. */
sds settingCatFileText(sds out, const setting *s);

#endif
