/* command_fixture.h -- the commands of the layer, registered once for all test files of a program.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_COMMAND_FIXTURE_H
#define TESTS_COMMAND_FIXTURE_H

#include "command_defs.h"

__attribute__((weak)) bool fixture_has_commands;
static inline void fixtureCommands(void) {
    if (!fixture_has_commands) commandsRegister();
    fixture_has_commands = true;
}

#endif
