/* setting_text.h -- one setting's value as text: read from words, checked, printed.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_TEXT_H
#define ADMIN_SETTING_TEXT_H

#include "sds.h"
#include "setting.h"

/* Store the value that the words of a line of the file spell. A setting of several words takes them also as one word,
 * which is then split as a line is, and takes no word at all as the empty value. False with *err (valid until the next
 * call) when they are refused; nothing is changed then. */
bool settingSetWords(const setting *s, sds *words, int count, const char **err) must_check;
/* The text that the value would have after settingSetWords() if its text was `before`; NULL with *err when the words
 * are refused. Nothing has changed at the end. The caller owns it. */
sds settingForetell(const setting *s, const sds before, sds *words, int count, const char **err) must_check;
/* The same as settingSetWords() for the text that CONFIG SET is given: a setting of several words splits it at each
 * single blank. */
bool settingSetText(const setting *s, const sds text, const char **err) must_check;
/* Whether several words make one value of the setting. */
bool settingTakesWords(const setting *s);
/* Put back a text that settingText() gave, unchecked. */
void settingRestore(const setting *s, const sds text);
/* Store the default. */
void settingSetDefault(const setting *s);
/* The value as CONFIG GET shows it. The caller owns it. */
sds settingText(const setting *s);
/* Append the value to a line of the file: memory in its largest whole unit, strings quoted. */
sds settingCatFileText(sds out, const setting *s);

#endif
