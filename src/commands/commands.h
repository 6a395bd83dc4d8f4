/* commands.h -- the handlers that the rows of table/ name; written by dev/make_command_table.py.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_COMMANDS_H
#define COMMANDS_COMMANDS_H

#include "client.h"

/* bitmap.def */
void bitcountCommand(client *c);
void bitfieldCommand(client *c);
void bitfieldRoCommand(client *c);
void bitopCommand(client *c);
void bitposCommand(client *c);
void getbitCommand(client *c);
void setbitCommand(client *c);

/* connection.def */
void authCommand(client *c);
void clientCapaCommand(client *c);
void clientGetnameCommand(client *c);
void clientGetredirCommand(client *c);
void clientHelpCommand(client *c);
void clientIdCommand(client *c);
void clientImportSourceCommand(client *c);
void clientInfoCommand(client *c);
void clientKillCommand(client *c);
void clientListCommand(client *c);
void clientNoEvictCommand(client *c);
void clientNoTouchCommand(client *c);
void clientPauseCommand(client *c);
void clientReplyCommand(client *c);
void clientSetinfoCommand(client *c);
void clientSetnameCommand(client *c);
void clientTrackinginfoCommand(client *c);
void clientUnblockCommand(client *c);
void clientUnpauseCommand(client *c);
void echoCommand(client *c);
void helloCommand(client *c);
void pingCommand(client *c);
void quitCommand(client *c);
void resetCommand(client *c);
void selectCommand(client *c);

/* generic.def */
void copyCommand(client *c);
void delCommand(client *c);
void dumpCommand(client *c);
void existsCommand(client *c);
void expireCommand(client *c);
void expireatCommand(client *c);
void expiretimeCommand(client *c);
void keysCommand(client *c);
void moveCommand(client *c);
void objectEncodingCommand(client *c);
void objectFreqCommand(client *c);
void objectHelpCommand(client *c);
void objectIdletimeCommand(client *c);
void objectRefcountCommand(client *c);
void persistCommand(client *c);
void pexpireCommand(client *c);
void pexpireatCommand(client *c);
void pexpiretimeCommand(client *c);
void pttlCommand(client *c);
void randomkeyCommand(client *c);
void renameCommand(client *c);
void renamenxCommand(client *c);
void restoreCommand(client *c);
void scanCommand(client *c);
void touchCommand(client *c);
void ttlCommand(client *c);
void typeCommand(client *c);
void unlinkCommand(client *c);

/* list.def */
void lindexCommand(client *c);
void linsertCommand(client *c);
void llenCommand(client *c);
void lmoveCommand(client *c);
void lmpopCommand(client *c);
void lpopCommand(client *c);
void lposCommand(client *c);
void lpushCommand(client *c);
void lpushxCommand(client *c);
void lrangeCommand(client *c);
void lremCommand(client *c);
void lsetCommand(client *c);
void ltrimCommand(client *c);
void rpopCommand(client *c);
void rpoplpushCommand(client *c);
void rpushCommand(client *c);
void rpushxCommand(client *c);

/* server.def */
void aclCatCommand(client *c);
void aclGenpassCommand(client *c);
void aclGetuserCommand(client *c);
void aclHelpCommand(client *c);
void aclListCommand(client *c);
void aclUsersCommand(client *c);
void aclWhoamiCommand(client *c);
void commandCommand(client *c);
void commandCountCommand(client *c);
void commandDocsCommand(client *c);
void commandGetkeysCommand(client *c);
void commandGetkeysandflagsCommand(client *c);
void commandHelpCommand(client *c);
void commandInfoCommand(client *c);
void commandListCommand(client *c);
void dbsizeCommand(client *c);
void flushallCommand(client *c);
void flushdbCommand(client *c);
void swapdbCommand(client *c);
void timeCommand(client *c);

/* set.def */
void saddCommand(client *c);
void scardCommand(client *c);
void sdiffCommand(client *c);
void sdiffstoreCommand(client *c);
void sinterCommand(client *c);
void sintercardCommand(client *c);
void sinterstoreCommand(client *c);
void sismemberCommand(client *c);
void smembersCommand(client *c);
void smismemberCommand(client *c);
void smoveCommand(client *c);
void spopCommand(client *c);
void srandmemberCommand(client *c);
void sremCommand(client *c);
void sscanCommand(client *c);
void sunionCommand(client *c);
void sunionstoreCommand(client *c);

/* sorted_set.def */
void zaddCommand(client *c);
void zcardCommand(client *c);
void zcountCommand(client *c);
void zdiffCommand(client *c);
void zdiffstoreCommand(client *c);
void zincrbyCommand(client *c);
void zinterCommand(client *c);
void zintercardCommand(client *c);
void zinterstoreCommand(client *c);
void zlexcountCommand(client *c);
void zmpopCommand(client *c);
void zmscoreCommand(client *c);
void zpopmaxCommand(client *c);
void zpopminCommand(client *c);
void zrandmemberCommand(client *c);
void zrangeCommand(client *c);
void zrangebylexCommand(client *c);
void zrangebyscoreCommand(client *c);
void zrangestoreCommand(client *c);
void zrankCommand(client *c);
void zremCommand(client *c);
void zremrangebylexCommand(client *c);
void zremrangebyrankCommand(client *c);
void zremrangebyscoreCommand(client *c);
void zrevrangeCommand(client *c);
void zrevrangebylexCommand(client *c);
void zrevrangebyscoreCommand(client *c);
void zrevrankCommand(client *c);
void zscanCommand(client *c);
void zscoreCommand(client *c);
void zunionCommand(client *c);
void zunionstoreCommand(client *c);

/* string.def */
void appendCommand(client *c);
void decrCommand(client *c);
void decrbyCommand(client *c);
void delifeqCommand(client *c);
void getCommand(client *c);
void getdelCommand(client *c);
void getexCommand(client *c);
void getrangeCommand(client *c);
void getsetCommand(client *c);
void incrCommand(client *c);
void incrbyCommand(client *c);
void incrbyfloatCommand(client *c);
void lcsCommand(client *c);
void mgetCommand(client *c);
void msetCommand(client *c);
void msetexCommand(client *c);
void msetnxCommand(client *c);
void psetexCommand(client *c);
void setCommand(client *c);
void setexCommand(client *c);
void setnxCommand(client *c);
void setrangeCommand(client *c);
void strlenCommand(client *c);
void substrCommand(client *c);

#endif
