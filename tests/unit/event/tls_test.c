/* tls_test.c -- handshakes in pieces, decrypted bytes that were not read, writes to a slow reader, moving between
 * loops, bad options.
 *
 * The test creates its certificates. Where the division into packets matters, a relay between the two ends forwards as
 * many bytes as the test requests.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "clock.h"
#include "tls.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ITERATE_NOW (AE_ALL_EVENTS | AE_DONT_WAIT)

/* ---- Certificates ------------------------------------------------------------------------------------------------ */

static char folder[64];

static char *at(const char *name) {
    static char paths[8][128];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

typedef struct pair {
    EVP_PKEY *key;
    X509 *cert;
} pair;

static void addExtension(X509 *x, int nid, const char *text) {
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, text);
    X509_add_ext(x, ext, -1);
    X509_EXTENSION_free(ext);
}

static void writePair(const char *name, const pair *p, const char *pass) {
    char file[64];
    snprintf(file, sizeof(file), "%s.crt", name);
    FILE *f = fopen(at(file), "w");
    PEM_write_X509(f, p->cert);
    fclose(f);
    snprintf(file, sizeof(file), "%s.key", name);
    f = fopen(at(file), "w");
    PEM_write_PrivateKey(f, p->key, pass ? EVP_aes_128_cbc() : NULL, (const unsigned char *)pass,
                         pass ? (int)strlen(pass) : 0, NULL, NULL);
    fclose(f);
}

static void addUris(X509 *x, slice uri, slice other) {
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    const slice all[] = {uri, other};
    for (size_t i = 0; i < array_len(all); i++) {
        GENERAL_NAME *name = GENERAL_NAME_new();
        ASN1_IA5STRING *text = ASN1_IA5STRING_new();
        ASN1_STRING_set(text, all[i].ptr, (int)all[i].len);
        GENERAL_NAME_set0_value(name, GEN_URI, text);
        sk_GENERAL_NAME_push(names, name);
    }
    X509_add1_ext_i2d(x, NID_subject_alt_name, names, 0, 0);
    GENERAL_NAMES_free(names);
}

typedef struct pairOptions {
    const pair *by; /* the issuer; NULL: signed by itself, which makes it an authority */
    const char *pass;
    slice uris[2];
    long from_s; /* relative to now */
} pairOptions;

static pair makePair(const char *name, slice cn, const pairOptions *o) {
    static long serial = 1000;
    pair p = {.key = EVP_EC_gen("P-256"), .cert = X509_new()};
    X509_set_version(p.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(p.cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(p.cert), o->from_s);
    X509_gmtime_adj(X509_getm_notAfter(p.cert), 86400);
    X509_set_pubkey(p.cert, p.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(p.cert), "CN", MBSTRING_ASC, (const unsigned char *)cn.ptr,
                               (int)cn.len, -1, 0);
    X509_set_issuer_name(p.cert, X509_get_subject_name(o->by ? o->by->cert : p.cert));
    if (!o->by) addExtension(p.cert, NID_basic_constraints, "critical,CA:TRUE");
    if (o->uris[0].len) addUris(p.cert, o->uris[0], o->uris[1]);
    X509_sign(p.cert, o->by ? o->by->key : p.key, EVP_sha256());
    writePair(name, &p, o->pass);
    return p;
}

static void dropPair(pair *p) {
    EVP_PKEY_free(p->key);
    X509_free(p->cert);
}

static void makeCertificates(void) {
    if (folder[0]) return;
    clockInit();
    signal(SIGPIPE, SIG_IGN);
    snprintf(folder, sizeof(folder), "/tmp/tls-test-XXXXXX");
    if (!mkdtemp(folder)) exit(1);
    const pairOptions itself = {.from_s = -3600};
    pair ca = makePair("ca", sliceStr("Test CA"), &itself), other = makePair("other", sliceStr("Other CA"), &itself);
    const pairOptions by_ca = {.by = &ca, .from_s = -3600}, secret = {.by = &ca, .from_s = -3600, .pass = "secret"};
    const pairOptions future = {.by = &ca, .from_s = 3600};
    const pairOptions cut = {.by = &ca, .from_s = -3600, .uris = {sliceOf("urn:alice\0x", 11), sliceStr("urn:bob")}};
    pair server = makePair("server", sliceStr("localhost"), &by_ca);
    pair client = makePair("client", sliceStr("alice"), &by_ca);
    pair locked = makePair("locked", sliceStr("localhost"), &secret);
    pair early = makePair("early", sliceStr("alice"), &future);
    pair nul = makePair("nul", sliceOf("alice\0x", 7), &cut);
    pair *all[] = {&ca, &other, &server, &client, &locked, &early, &nul};
    for (size_t i = 0; i < array_len(all); i++) dropPair(all[i]);
}

static void removeCertificates(void) {
    static const char *const names[] = {"ca", "other", "server", "client", "locked", "early", "nul"};
    char file[64];
    for (size_t i = 0; i < array_len(names); i++) {
        snprintf(file, sizeof(file), "%s.crt", names[i]);
        unlink(at(file));
        snprintf(file, sizeof(file), "%s.key", names[i]);
        unlink(at(file));
    }
    rmdir(folder);
    folder[0] = 0;
}

static tlsOptions serverOptions(void) {
    makeCertificates();
    return (tlsOptions){.cert_file = at("server.crt"), .key_file = at("server.key"), .ca_file = at("ca.crt")};
}

static tlsContext *makeServer(void) {
    char err[TLS_ERR_LEN];
    tlsOptions o = serverOptions();
    tlsContext *t = tlsContextCreate(TLS_SERVER, &o, err);
    if (!CHECK(t != NULL)) exit(1);
    return t;
}

static tlsContext *makeClient(void) {
    char err[TLS_ERR_LEN];
    tlsOptions o = {.ca_file = at("ca.crt"), .peer = TLS_PEER_VERIFIED};
    tlsContext *t = tlsContextCreate(TLS_CLIENT, &o, err);
    if (!CHECK(t != NULL)) exit(1);
    return t;
}

/* ---- Two ends ---------------------------------------------------------------------------------------------------- */

typedef struct end {
    connection *conn;
    int begun, reads;
    char *got;        /* owns; bytes that onReadable has read */
    size_t len, most; /* limit of one read; one read for each event */
} end;

static void onBegun(connection *c) { ((end *)c->owner)->begun++; }

static void onReadable(connection *c) {
    end *e = c->owner;
    e->reads++;
    e->got = zrealloc(e->got, e->len + e->most);
    ssize_t n = connRead(c, e->got + e->len, e->most);
    if (n > 0) e->len += (size_t)n;
    else if (n == 0 || errno != EAGAIN) connSetReadHandler(c, NULL);
}

static void noEvent(connection *c) { unused(c); }

/* Forwards the bytes that have arrived at `from` to `to`, up to `most`. */
static size_t relay(int from, int to, size_t most) {
    char buf[65536];
    ssize_t n = recv(from, buf, most < sizeof(buf) ? most : sizeof(buf), MSG_DONTWAIT);
    if (n <= 0) return 0;
    CHECK(send(to, buf, (size_t)n, MSG_NOSIGNAL) == n);
    return (size_t)n;
}

typedef struct ends {
    aeEventLoop *loop;
    end server, client;
    int server_far, client_far; /* the relay's ends; -1 without a relay */
} ends;

static void openLink(ends *l, tlsContext *server, tlsContext *client, bool relayed) {
    int a[2], b[2] = {-1, -1};
    *l = (ends){.server_far = -1, .client_far = -1};
    l->server.most = l->client.most = 65536;
    l->loop = aeCreateEventLoop(1024);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
    if (relayed) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, b) == 0);
        l->server_far = a[1];
        l->client_far = b[1];
    }
    int client_fd = relayed ? b[0] : a[1];
    anetNonBlock(NULL, a[0]);
    anetNonBlock(NULL, client_fd);
    l->server.conn = connCreateAcceptedTls(a[0], server, &l->server);
    l->client.conn = connCreateTlsClient(client_fd, client, "localhost", &l->client);
    CHECK(connAttach(l->server.conn, l->loop) == C_OK);
    CHECK(connAttach(l->client.conn, l->loop) == C_OK);
    CHECK(connAccept(l->server.conn, onBegun) == C_OK);
    CHECK(connAccept(l->client.conn, onBegun) == C_OK);
    tlsContextRelease(server);
    tlsContextRelease(client);
}

static void iterations(ends *l, int n) {
    while (n-- > 0) aeProcessEvents(l->loop, ITERATE_NOW);
}

static bool bothBegin(ends *l) {
    for (int i = 0; i < 100 && !(l->server.begun && l->client.begun); i++) iterations(l, 1);
    return CHECK(l->server.conn->state == CONN_CONNECTED) && CHECK(l->client.conn->state == CONN_CONNECTED);
}

static void closeLink(ends *l) {
    if (l->server.conn) connClose(l->server.conn);
    if (l->client.conn) connClose(l->client.conn);
    if (l->server_far >= 0) close(l->server_far);
    if (l->client_far >= 0) close(l->client_far);
    aeDeleteEventLoop(l->loop);
    zfree(l->server.got);
    zfree(l->client.got);
}

static ssize_t writeText(connection *c, const char *text, size_t len) {
    struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = len};
    return connWritev(c, &iov, 1);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST(tls_both_ways) {
    ends l;
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), false);
    if (!bothBegin(&l)) return;
    CHECK(l.server.begun == 1 && l.client.begun == 1);
    connSetReadHandler(l.server.conn, onReadable);
    connSetReadHandler(l.client.conn, onReadable);
    CHECK(writeText(l.client.conn, "question", 8) == 8);
    iterations(&l, 3);
    CHECK(l.server.len == 8 && memcmp(l.server.got, "question", 8) == 0);
    CHECK(writeText(l.server.conn, "answer", 6) == 6);
    iterations(&l, 3);
    CHECK(l.client.len == 6 && memcmp(l.client.got, "answer", 6) == 0);
    /* If one side finishes, the other sees the end of input but may still write. */
    connFinish(l.client.conn);
    iterations(&l, 3);
    CHECK(l.server.conn->state == CONN_CLOSED);
    CHECK(writeText(l.server.conn, "last", 4) == 4);
    iterations(&l, 3);
    CHECK(l.client.len == 10 && memcmp(l.client.got + 6, "last", 4) == 0);
    closeLink(&l);
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

#define CROWD 20

/* Peers whose hello has arrived in this order, on one loop; `order` has the servers' ends that have got through. */
typedef struct crowd {
    aeEventLoop *loop;
    int peers[CROWD];
    connection *conns[CROWD];
    int ended[CROWD], order[CROWD], through, failed;
} crowd;

static crowd *present;

static void onCrowdEnd(connection *c) {
    int who = (int)((int *)c->owner - present->ended);
    present->ended[who]++;
    if (c->state == CONN_CONNECTED) present->order[present->through++] = who;
    else present->failed += connTlsWasDropped(c);
}

/* Opens the crowd's connections. The peers are OpenSSL's, without a loop: their hello is in the socket. */
static void gather(crowd *w, SSL **peers) {
    tlsContext *server = makeServer(), *client = makeClient();
    static int crowds;
    *w = (crowd){.loop = aeCreateEventLoop(1024)};
    present = w;
    /* A thread has one loop, but here each test makes one: so no iteration has the number of one before. */
    crowds++;
    while (aeIteration(w->loop) < 1000u * (unsigned)crowds) aeProcessEvents(w->loop, ITERATE_NOW);
    for (int i = 0; i < CROWD; i++) {
        int fds[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
        anetNonBlock(NULL, fds[0]);
        anetNonBlock(NULL, fds[1]);
        w->peers[i] = fds[1];
        w->conns[i] = connCreateAcceptedTls(fds[0], server, &w->ended[i]);
        CHECK(connAttach(w->conns[i], w->loop) == C_OK);
        CHECK(connAccept(w->conns[i], onCrowdEnd) == C_OK);
        peers[i] = tlsContextSession(client);
        SSL_set_fd(peers[i], fds[1]);
        SSL_do_handshake(peers[i]);
    }
    tlsContextRelease(server);
    tlsContextRelease(client);
}

static void disperse(crowd *w, SSL **peers) {
    for (int i = 0; i < CROWD; i++) {
        connClose(w->conns[i]);
        SSL_free(peers[i]);
        close(w->peers[i]);
    }
    aeDeleteEventLoop(w->loop);
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.waiting), 0);
}

static void crowdIterations(crowd *w, SSL **peers, int n) {
    while (n-- > 0) {
        aeProcessEvents(w->loop, ITERATE_NOW);
        for (int i = 0; i < CROWD; i++)
            if (peers[i]) SSL_do_handshake(peers[i]);
    }
}

/* One begins in each iteration: the first that has come, then the newest, until few wait. */
TEST(tls_the_newest_handshake_is_begun_first) {
    crowd w;
    SSL *peers[CROWD];
    uint64_t begun = atomic_load(&tls_handshake_stats.begun);
    gather(&w, peers);
    crowdIterations(&w, peers, 1);
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.begun) - begun, 1);
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.waiting), CROWD - 1);
    crowdIterations(&w, peers, 2 * CROWD);
    if (CHECK_EQ_INT(w.through, CROWD)) {
        CHECK_EQ_INT(w.order[0], 0);
        for (int i = 1; i < CROWD; i++) CHECK_EQ_INT(w.order[i], i <= CROWD - 9 ? CROWD - i : i - (CROWD - 9));
    }
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.begun) - begun, CROWD);
    disperse(&w, peers);
}

TEST(tls_handshakes_of_peers_that_have_gone_are_not_begun) {
    crowd w;
    SSL *peers[CROWD];
    uint64_t begun = atomic_load(&tls_handshake_stats.begun), gone = atomic_load(&tls_handshake_stats.gone);
    gather(&w, peers);
    shutdown(w.peers[1], SHUT_WR); /* before the server has seen its hello */
    crowdIterations(&w, peers, 1);
    CHECK_EQ_INT(w.failed, 1);
    for (int i = 10; i < CROWD; i++) shutdown(w.peers[i], SHUT_WR); /* while they wait */
    crowdIterations(&w, peers, 1);
    CHECK_EQ_INT(w.failed, 1 + CROWD - 10);
    CHECK(strstr(connErrorText(w.conns[12]), "has closed") != NULL);
    crowdIterations(&w, peers, CROWD);
    CHECK_EQ_INT(w.through, 9);
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.begun) - begun, 9);
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.gone) - gone, 1 + CROWD - 10);
    disperse(&w, peers);
}

TEST(tls_handshakes_that_have_waited_too_long_are_not_begun) {
    crowd w;
    SSL *peers[CROWD];
    uint64_t late = atomic_load(&tls_handshake_stats.late);
    gather(&w, peers);
    crowdIterations(&w, peers, 1);
    atomic_store(&tls_handshake_limits.max_wait_ms, 20);
    usleep(40000);
    crowdIterations(&w, peers, 1);
    CHECK_EQ_INT(w.failed, CROWD - 1); /* also the last eight of them */
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.late) - late, CROWD - 1);
    CHECK(strstr(connErrorText(w.conns[CROWD - 1]), "tls-handshake-max-wait") != NULL);
    atomic_store(&tls_handshake_limits.max_wait_ms, 2000);
    disperse(&w, peers);
}

TEST(tls_a_few_handshakes_may_be_late) {
    crowd w;
    SSL *peers[CROWD];
    gather(&w, peers);
    for (int i = 6; i < CROWD; i++) connDetach(w.conns[i]);
    atomic_store(&tls_handshake_limits.max_wait_ms, 20);
    crowdIterations(&w, peers, 1);
    usleep(40000);
    crowdIterations(&w, peers, CROWD);
    CHECK_EQ_INT(w.failed, 0);
    CHECK_EQ_INT(w.through, 6);
    atomic_store(&tls_handshake_limits.max_wait_ms, 2000);
    disperse(&w, peers);
}

/* A connection that waits may move to another loop, and may be closed. */
TEST(tls_a_handshake_that_waits_moves) {
    crowd w;
    SSL *peers[CROWD];
    gather(&w, peers);
    aeEventLoop *other = aeCreateEventLoop(1024), *first = w.loop;
    crowdIterations(&w, peers, 1);
    for (int i = 5; i < CROWD; i++) connDetach(w.conns[i]);
    CHECK_EQ_INT(atomic_load(&tls_handshake_stats.waiting), 4);
    crowdIterations(&w, peers, CROWD);
    CHECK_EQ_INT(w.through, 5);
    w.loop = other;
    for (int i = 5; i < CROWD; i++) {
        CHECK(connAttach(w.conns[i], other) == C_OK);
        CHECK(connAccept(w.conns[i], onCrowdEnd) == C_OK);
    }
    crowdIterations(&w, peers, 2 * CROWD);
    CHECK_EQ_INT(w.through, CROWD);
    for (int i = 0; i < 5; i++) connDetach(w.conns[i]);
    aeDeleteEventLoop(first);
    disperse(&w, peers);
}

/* One byte at a time, in both directions. */
TEST(tls_handshake_in_single_bytes) {
    ends l;
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), true);
    for (int i = 0; i < 100000 && !(l.server.begun && l.client.begun); i++) {
        relay(l.client_far, l.server_far, 1);
        relay(l.server_far, l.client_far, 1);
        iterations(&l, 1);
    }
    CHECK(l.server.conn->state == CONN_CONNECTED);
    CHECK(l.client.conn->state == CONN_CONNECTED);
    connSetReadHandler(l.server.conn, onReadable);
    CHECK(writeText(l.client.conn, "by and by", 9) == 9);
    for (int i = 0; i < 1000 && l.server.len < 9; i++) {
        CHECK(l.server.len == 0); /* nothing of an incomplete record is delivered */
        relay(l.client_far, l.server_far, 1);
        iterations(&l, 2);
    }
    CHECK(l.server.len == 9 && memcmp(l.server.got, "by and by", 9) == 0);
    closeLink(&l);
}

/* A handshake cut off after any number of bytes ends the connection without a hang or crash. */
TEST(tls_handshake_cut_off) {
    makeCertificates();
    bool whole = false;
    for (size_t cut = 0; cut < 4096 && !whole; cut += cut < 16 ? 1 : 37) {
        ends l;
        openLink(&l, makeServer(), makeClient(), true);
        size_t passed = 0;
        for (int i = 0; i < 20; i++) {
            if (passed < cut) passed += relay(l.client_far, l.server_far, cut - passed);
            relay(l.server_far, l.client_far, SIZE_MAX);
            iterations(&l, 1);
        }
        shutdown(l.server_far, SHUT_WR);
        iterations(&l, 3);
        whole = l.server.conn->state == CONN_CONNECTED;
        CHECK(l.server.begun == 1);
        CHECK(whole || l.server.conn->state == CONN_ERROR);
        CHECK(whole || connErrorText(l.server.conn)[0] != 0);
        closeLink(&l);
    }
    CHECK(whole); /* the loop has reached the end of the handshake */
}

/* Decrypted bytes that were not read are delivered without another byte on the socket, also in another loop. */
TEST(tls_pending_bytes_are_read) {
    ends l;
    char text[40000];
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), false);
    if (!bothBegin(&l)) return;
    for (size_t i = 0; i < sizeof(text); i++) text[i] = (char)('a' + i % 23);
    l.server.most = 100;
    connSetReadHandler(l.server.conn, onReadable);
    size_t sent = 0;
    for (int i = 0; i < 1000 && sent < sizeof(text); i++) {
        ssize_t n = writeText(l.client.conn, text + sent, sizeof(text) - sent);
        if (n > 0) sent += (size_t)n;
        iterations(&l, 1);
    }
    CHECK(sent == sizeof(text));
    connClose(l.client.conn); /* no more will come */
    l.client.conn = NULL;
    iterations(&l, 50);
    CHECK(l.server.len > 4000 && l.server.len < 20000);
    connDetach(l.server.conn); /* to another thread */
    aeEventLoop *other = aeCreateEventLoop(1024);
    CHECK(connHasPending(l.server.conn));
    CHECK(connAttach(l.server.conn, other) == C_OK);
    for (int i = 0; i < 1000 && l.server.conn->state == CONN_CONNECTED; i++) aeProcessEvents(other, ITERATE_NOW);
    CHECK(l.server.len == sizeof(text) && memcmp(l.server.got, text, sizeof(text)) == 0);
    CHECK(l.server.conn->state == CONN_CLOSED);
    connDetach(l.server.conn);
    aeDeleteEventLoop(other);
    closeLink(&l);
}

/* Nothing is read while there is no handler; reading continues where it stopped when there is one. */
TEST(tls_pending_waits_for_a_handler) {
    ends l;
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), false);
    if (!bothBegin(&l)) return;
    l.server.most = 4;
    connSetReadHandler(l.server.conn, onReadable);
    CHECK(writeText(l.client.conn, "twelve bytes", 12) == 12);
    iterations(&l, 1);
    CHECK(l.server.len == 4);
    connSetReadHandler(l.server.conn, NULL);
    iterations(&l, 5);
    CHECK(l.server.len == 4);
    connSetReadHandler(l.server.conn, onReadable);
    iterations(&l, 5);
    CHECK(l.server.len == 12);
    int reads = l.server.reads;
    iterations(&l, 5);
    CHECK(l.server.reads == reads); /* and there is no event without input */
    closeLink(&l);
}

/* Random pieces to a slow reader, with a socket that is nearly always full. */
TEST(tls_writes_against_a_slow_reader) {
    ends l;
    size_t total = 3 * 1024 * 1024, sent = 0;
    uint64_t random = unitRandomSeed();
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), false);
    if (!bothBegin(&l)) return;
    char *text = zmalloc(total);
    for (size_t i = 0; i < total; i++) text[i] = (char)unitRandom(&random);
    int small = 4096;
    setsockopt(l.server.conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    l.client.most = 5000;
    connSetReadHandler(l.client.conn, onReadable);
    struct iovec iov[64];
    size_t tried = 0; /* the next writev must begin with the same bytes and offer no fewer */
    int full = 0;
    for (int round = 0; round < 1000000 && l.client.len < total; round++) {
        if (sent < total) {
            int n = 0;
            size_t from = sent;
            while (n < 64 && from < total && (n < 3 || from - sent < tried)) {
                size_t len = unitRandom(&random) % 8 ? unitRandom(&random) % 300 : unitRandom(&random) % 60000;
                if (n == 63 && from + len - sent < tried) len = tried - (from - sent);
                if (len > total - from) len = total - from;
                iov[n++] = (struct iovec){text + from, len};
                from += len;
            }
            ssize_t wrote = connWritev(l.server.conn, iov, n);
            if (wrote < 0) CHECK(errno == EAGAIN);
            if (wrote < 0) full++;
            size_t gone = wrote > 0 ? (size_t)wrote : 0;
            tried = from - sent - gone;
            sent += gone;
        }
        if (round % 3 == 0) iterations(&l, 1);
    }
    CHECK(full > 10);
    CHECK(l.client.len == total && memcmp(l.client.got, text, total) == 0);
    zfree(text);
    closeLink(&l);
}

/* Small pieces share a record, large ones are not copied into more records than they need. */
TEST(tls_gathers_small_pieces) {
    ends l;
    char *text = zcalloc(1, 200000);
    struct iovec iov[200];
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), true);
    for (int i = 0; i < 100 && !(l.server.begun && l.client.begun); i++) {
        relay(l.client_far, l.server_far, SIZE_MAX);
        relay(l.server_far, l.client_far, SIZE_MAX);
        iterations(&l, 1);
    }
    CHECK(l.client.conn->state == CONN_CONNECTED);
    for (int i = 0; i < 200; i++) iov[i] = (struct iovec){text, 10};
    CHECK(connWritev(l.client.conn, iov, 200) == 2000);
    CHECK(relay(l.client_far, l.server_far, SIZE_MAX) < 2000 + 64); /* one record */
    iov[0].iov_len = 10;
    iov[1] = (struct iovec){text, 4 * TLS_RECORD_BYTES - 20};
    iov[2].iov_len = 10;
    CHECK(connWritev(l.client.conn, iov, 3) == 4 * TLS_RECORD_BYTES);
    size_t wire = relay(l.client_far, l.server_far, SIZE_MAX);
    while (1) {
        size_t n = relay(l.client_far, l.server_far, SIZE_MAX);
        if (!n) break;
        wire += n;
    }
    CHECK(wire < 4 * (TLS_RECORD_BYTES + 32)); /* four records */
    zfree(text);
    closeLink(&l);
}

/* A handshake continues in the loop of another thread, at each point where it can stop. */
TEST(tls_moves_during_the_handshake) {
    makeCertificates();
    for (int after = 0; after < 4; after++) {
        ends l;
        openLink(&l, makeServer(), makeClient(), false);
        iterations(&l, after);
        bool begun = l.server.begun;
        connDetach(l.server.conn);
        aeEventLoop *other = aeCreateEventLoop(1024);
        CHECK(connAttach(l.server.conn, other) == C_OK);
        if (!begun) CHECK(connAccept(l.server.conn, onBegun) == C_OK);
        for (int i = 0; i < 20; i++) {
            iterations(&l, 1);
            aeProcessEvents(other, ITERATE_NOW);
        }
        CHECK(l.server.begun == 1 && l.client.begun == 1);
        CHECK(l.server.conn->state == CONN_CONNECTED && l.client.conn->state == CONN_CONNECTED);
        connDetach(l.server.conn);
        aeDeleteEventLoop(other);
        closeLink(&l);
    }
}

/* Handlers set during the handshake are called only after it. */
TEST(tls_handlers_wait_for_the_handshake) {
    ends l;
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), false);
    connSetReadHandler(l.server.conn, onReadable);
    connSetWriteHandler(l.server.conn, noEvent);
    CHECK(writeText(l.server.conn, "x", 1) == -1 && errno == EAGAIN);
    if (!bothBegin(&l)) return;
    CHECK(l.server.reads == 0);
    connSetWriteHandler(l.server.conn, NULL);
    CHECK(writeText(l.client.conn, "hello", 5) == 5);
    iterations(&l, 2);
    CHECK(l.server.len == 5);
    closeLink(&l);
}

TEST(tls_refuses_a_stranger) {
    ends l;
    char err[TLS_ERR_LEN];
    tlsOptions o = serverOptions();
    o.ca_file = at("other.crt");
    o.peer = TLS_PEER_VERIFIED;
    tlsOptions mine = {.ca_file = at("ca.crt"), .cert_file = at("client.crt"), .key_file = at("client.key")};
    openLink(&l, tlsContextCreate(TLS_SERVER, &o, err), tlsContextCreate(TLS_CLIENT, &mine, err), false);
    iterations(&l, 10);
    CHECK(l.server.begun == 1 && l.server.conn->state == CONN_ERROR);
    CHECK(strstr(connErrorText(l.server.conn), "certificate") != NULL);
    CHECK(connTlsPeerNames(l.server.conn, TLS_NAME_CN) == NULL);
    closeLink(&l);
}

/* Opens a server that requires certificates, and a client with the certificate of `name`. */
static void openNamed(ends *l, const char *name) {
    char err[TLS_ERR_LEN], cert[32], key[32];
    snprintf(cert, sizeof(cert), "%s.crt", name);
    snprintf(key, sizeof(key), "%s.key", name);
    tlsOptions o = serverOptions();
    o.peer = TLS_PEER_VERIFIED;
    tlsOptions mine = {.ca_file = at("ca.crt"), .cert_file = at(cert), .key_file = at(key)};
    openLink(l, tlsContextCreate(TLS_SERVER, &o, err), tlsContextCreate(TLS_CLIENT, &mine, err), false);
}

TEST(tls_knows_its_peer) {
    ends l;
    openNamed(&l, "client");
    if (!bothBegin(&l)) return;
    sds names = connTlsPeerNames(l.server.conn, TLS_NAME_CN);
    if (CHECK(names && sdsLen(names) == 6)) CHECK_MEM(names, "alice\0", 6);
    sdsFree(names);
    CHECK(connTlsPeerNames(l.server.conn, TLS_NAME_URI) == NULL);
    closeLink(&l);
}

TEST(tls_a_name_with_a_nul_names_nobody) {
    ends l;
    openNamed(&l, "nul");
    if (!bothBegin(&l)) return;
    CHECK(connTlsPeerNames(l.server.conn, TLS_NAME_CN) == NULL);
    sds names = connTlsPeerNames(l.server.conn, TLS_NAME_URI);
    if (CHECK(names && sdsLen(names) == 8)) CHECK_MEM(names, "urn:bob\0", 8);
    sdsFree(names);
    closeLink(&l);
}

TEST(tls_refuses_a_certificate_before_its_time) {
    ends l;
    openNamed(&l, "early");
    iterations(&l, 10);
    CHECK(l.server.begun == 1 && l.server.conn->state == CONN_ERROR);
    CHECK(strstr(connErrorText(l.server.conn), "not yet valid") != NULL);
    closeLink(&l);
}

TEST(tls_plain_text_is_an_error) {
    ends l;
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), true);
    CHECK(send(l.server_far, "*1\r\n$4\r\nPING\r\n", 14, 0) == 14);
    iterations(&l, 3);
    CHECK(l.server.conn->state == CONN_ERROR);
    CHECK(strstr(connErrorText(l.server.conn), "wrong version number") != NULL);
    closeLink(&l);
}

/* Garbage after the handshake ends the connection, after the bytes that came before it. */
TEST(tls_garbage_is_an_error) {
    ends l;
    makeCertificates();
    openLink(&l, makeServer(), makeClient(), true);
    for (int i = 0; i < 100 && !(l.server.begun && l.client.begun); i++) {
        relay(l.client_far, l.server_far, SIZE_MAX);
        relay(l.server_far, l.client_far, SIZE_MAX);
        iterations(&l, 1);
    }
    connSetReadHandler(l.server.conn, onReadable);
    CHECK(writeText(l.client.conn, "good", 4) == 4);
    relay(l.client_far, l.server_far, SIZE_MAX);
    CHECK(send(l.server_far, "\x17\x03\x03\x00\x20 this is no record that was sealed", 40, 0) == 40);
    iterations(&l, 5);
    CHECK(l.server.len == 4 && memcmp(l.server.got, "good", 4) == 0);
    CHECK(l.server.conn->state == CONN_ERROR);
    closeLink(&l);
}

/* A blocking client, without a loop. */
TEST(tls_client_that_blocks) {
    int fds[2];
    makeCertificates();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    tlsContext *server = makeServer(), *client = makeClient();
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        connection *c = connCreateTlsClient(fds[1], client, NULL, NULL);
        char buf[8];
        connAccept(c, NULL);
        bool good = c->state == CONN_CONNECTED && writeText(c, "ping", 4) == 4 && connRead(c, buf, 8) == 4;
        _exit(good ? 0 : 1);
    }
    close(fds[1]);
    connection *c = connCreateAcceptedTls(fds[0], server, NULL);
    char buf[8];
    connAccept(c, NULL);
    CHECK(c->state == CONN_CONNECTED);
    CHECK(connRead(c, buf, sizeof(buf)) == 4);
    CHECK(writeText(c, "pong", 4) == 4);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    connClose(c);
    tlsContextRelease(server);
    tlsContextRelease(client);
}

static void expectRefused(const tlsOptions *o, const char *text) {
    char err[TLS_ERR_LEN] = "";
    tlsContext *t = tlsContextCreate(TLS_SERVER, o, err);
    CHECK(t == NULL);
    if (!CHECK(strstr(err, text) != NULL)) printf("    %s\n", err);
    tlsContextRelease(t);
}

TEST(tls_options_that_are_refused) {
    tlsOptions o = serverOptions();
    expectRefused(&(tlsOptions){0}, "No tls-cert-file configured!");
    expectRefused(&(tlsOptions){.cert_file = o.cert_file}, "No tls-key-file configured!");
    o.key_file = at("client.key");
    expectRefused(&o, "key values mismatch");
    o = serverOptions();
    o.peer = TLS_PEER_OPTIONAL;
    o.ca_file = "";
    expectRefused(&o, "Either tls-ca-cert-file or tls-ca-cert-dir must be specified");
    o = serverOptions();
    o.protocols = "TLSv1.2 TLSv1.9";
    expectRefused(&o, "Invalid tls-protocols specified.");
    o.protocols = "  ";
    expectRefused(&o, "Invalid tls-protocols specified: it names no protocol.");
    o = serverOptions();
    o.ciphers = "xyz";
    expectRefused(&o, "Failed to configure ciphers: xyz");
    o = serverOptions();
    o.ciphersuites = "xyz";
    expectRefused(&o, "Failed to configure ciphersuites: xyz");
    o = serverOptions();
    o.dh_params_file = at("server.key");
    expectRefused(&o, "failed to read DH params");
    o = serverOptions();
    o.cert_file = o.key_file = at("locked.key");
    o.cert_file = at("locked.crt");
    expectRefused(&o, "Failed to load private key");
    o.key_pass = "wrong";
    expectRefused(&o, "Failed to load private key");
    o.key_pass = "secret";
    char err[TLS_ERR_LEN];
    tlsContext *t = tlsContextCreate(TLS_SERVER, &o, err);
    CHECK(t != NULL);
    CHECK(tlsContextCert(t)->serial != NULL && tlsContextCert(t)->expires_s > 0);
    CHECK(tlsContextCa(t)->serial != NULL);
    tlsContextRelease(t);
    removeCertificates();
}
