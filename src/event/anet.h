/* anet.h -- sockets: open, listen, accept, options; errors as text.
 *
 * `err` buffers are ANET_ERR_LEN bytes and may be NULL. Functions return a descriptor or C_OK, or C_ERR with errno
 * kept.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_ANET_H
#define EVENT_ANET_H

#include "platform.h"
#include <sys/types.h>

#define ANET_ERR_LEN 256
#define ANET_ADDR_LEN 46 /* INET6_ADDRSTRLEN */

int anetTcpServer(char *err, int port, const char *bindaddr, int backlog, bool mptcp);
int anetTcp6Server(char *err, int port, const char *bindaddr, int backlog, bool mptcp); /* IPV6_V6ONLY */
int anetUnixServer(char *err, const char *path, mode_t perm, int backlog, const char *group);
/* Accept one connection, non-blocking and close-on-exec. `ip` has ANET_ADDR_LEN bytes and may be NULL. C_ERR: errno is
 * EAGAIN when none waits, EMFILE/ENFILE when descriptors ran out. Retries EINTR and ECONNABORTED itself. */
int anetTcpAccept(char *err, int listen_fd, char *ip, size_t ip_len, int *port);
int anetUnixAccept(char *err, int listen_fd);
int anetTcpConnect(char *err, const char *host, int port, const char *source_addr, bool nonblock);
/* Over several paths at once; where both ends know MPTCP, else plain TCP. C_ERR where this system does not. */
int anetMptcpConnect(char *err, const char *host, int port, bool nonblock);
int anetUnixConnect(char *err, const char *path, bool nonblock);

int anetNonBlock(char *err, int fd);
int anetBlock(char *err, int fd);
int anetCloexec(int fd);
int anetNoDelay(char *err, int fd, bool on);
/* First probe after interval_s, then each interval_s/3, three times. */
int anetKeepAlive(char *err, int fd, int interval_s);
int anetSendTimeout(char *err, int fd, long long ms);
int anetRecvTimeout(char *err, int fd, long long ms);
int anetSetMark(char *err, int fd, uint32_t id); /* socket-mark-id */
int anetPipe(int fds[2], int read_flags, int write_flags);

/* Text of an address: ip (or "/unixsocket" path) and port; `peer` or own end. C_ERR writes "?" and 0. */
int anetFdToString(int fd, char *ip, size_t ip_len, int *port, bool peer);
/* "ip:port", or "[ip]:port" when ip has a colon; "path:0" for unix. */
int anetFormatAddr(char *out, size_t size, const char *ip, int port);
/* Whether the text of an address is one of this machine's own: 127/8, ::1, or the former within the latter's form. */
bool anetIsLoopback(const char *ip);
/* 1 readable error on the socket as errno value, 0 none. */
int anetGetError(int fd);
int anetResolve(char *err, const char *host, char *ip, size_t ip_len, bool ip_only);

#endif
