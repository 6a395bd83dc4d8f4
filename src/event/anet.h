/* anet.h -- sockets: open, listen, accept, options; errors as text.
 *
 * Functions return a descriptor or C_OK; on failure they return C_ERR with errno, and write a text to `err`, which has
 * ANET_ERR_LEN bytes or is NULL.
 *
 * Runs on: any thread; functions that resolve a host name block.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_ANET_H
#define EVENT_ANET_H

#include "platform.h"
#include <sys/types.h>

#define ANET_ERR_LEN 256
#define ANET_ADDR_LEN 46 /* INET6_ADDRSTRLEN */

/* Listens on an IPv4 address, over MPTCP if `mptcp`. `bindaddr` is a host or an address; NULL and "*" mean all. */
int anetTcpServer(char *err, int port, const char *bindaddr, int backlog, bool mptcp);
/* The same for an IPv6 address, without IPv4 (IPV6_V6ONLY); "::*" means all as well. */
int anetTcp6Server(char *err, int port, const char *bindaddr, int backlog, bool mptcp);
/* Listens on a Unix socket, which gets the mode `perm` unless that is 0, and the group unless that is NULL or "". */
int anetUnixServer(char *err, const char *path, mode_t perm, int backlog, const char *group);
/* Accepts one connection, non-blocking and close-on-exec, and writes its address to `ip` (ANET_ADDR_LEN bytes) and
 * `port`; both may be NULL. Repeats after EINTR and ECONNABORTED. On failure errno is EAGAIN if no connection waits,
 * EMFILE or ENFILE if there is no descriptor. */
int anetTcpAccept(char *err, int listen_fd, char *ip, size_t ip_len, int *port);
int anetUnixAccept(char *err, int listen_fd);
/* Connects to the first address of the host that accepts, from `source_addr` unless that is NULL or "". With `nonblock`
 * the connection may still be in progress when the function returns. */
int anetTcpConnect(char *err, const char *host, int port, const char *source_addr, bool nonblock);
/* Like anetTcpConnect(), with MPTCP, over several paths at once; the kernel uses plain TCP if the peer has no MPTCP.
 * Fails if this system has none. */
int anetMptcpConnect(char *err, const char *host, int port, bool nonblock);
int anetUnixConnect(char *err, const char *path, bool nonblock);

int anetNonBlock(char *err, int fd);
int anetCloexec(int fd);
int anetNoDelay(char *err, int fd, bool on); /* TCP_NODELAY */
/* Enables keepalive: three probes, the first after interval_s seconds without traffic, interval_s/3 between probes. */
int anetKeepAlive(char *err, int fd, int interval_s);
/* Set the time after which a blocking write, and a blocking read, fails with EAGAIN. */
int anetSendTimeout(char *err, int fd, long long ms);
int anetRecvTimeout(char *err, int fd, long long ms);
int anetSetMark(char *err, int fd, uint32_t id); /* SO_MARK, for the setting socket-mark-id */
/* Opens a pipe. The flags of each end are O_NONBLOCK, O_CLOEXEC, both or 0. */
int anetPipe(int fds[2], int read_flags, int write_flags);

/* Writes the address of the peer or of the own end to `ip` and `port`; of a Unix socket the path (or "/unixsocket") and
 * 0. On failure writes "?" and 0 and returns C_ERR. */
int anetFdToString(int fd, char *ip, size_t ip_len, int *port, bool peer);
/* Writes "ip:port", or "[ip]:port" if ip has a colon. Returns what snprintf() does. */
int anetFormatAddr(char *out, size_t size, const char *ip, int port);
/* Returns whether the text is a loopback address: in 127.0.0.0/8, ::1, or in ::ffff:127.0.0.0/104. */
bool anetIsLoopback(const char *ip);
/* Returns whether the peer has closed its half of the connection, or all of it, even if unread bytes are left. Systems
 * without POLLRDHUP report all of it only. */
bool anetPeerHasClosed(int fd);
/* Returns the milliseconds since the kernel got the peer's last bytes, read or not; 0 if the system cannot say. */
uint64_t anetLastInputMs(int fd);
/* Returns and clears the pending error of a socket, as an errno value; 0 if there is none. */
int anetGetError(int fd);

#endif
