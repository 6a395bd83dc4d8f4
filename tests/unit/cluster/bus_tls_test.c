/* bus_tls_test.c -- links over TLS, of which both ends show a certificate.
 *
 * The test creates its certificate, which is its own authority.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "bus_fixture.h"
#include "clock.h"
#include "unit.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char folder[64], cert_file[96], key_file[96];

static void makeCertificate(void) {
    snprintf(folder, sizeof(folder), "/tmp/bus-tls-test-XXXXXX");
    if (!mkdtemp(folder)) exit(1);
    snprintf(cert_file, sizeof(cert_file), "%s/node.crt", folder);
    snprintf(key_file, sizeof(key_file), "%s/node.key", folder);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"node", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(x, ext, -1);
    X509_EXTENSION_free(ext);
    X509_sign(x, key, EVP_sha256());
    FILE *f = fopen(cert_file, "w");
    PEM_write_X509(f, x);
    fclose(f);
    f = fopen(key_file, "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    X509_free(x);
    EVP_PKEY_free(key);
}

static void removeCertificate(void) {
    unlink(cert_file);
    unlink(key_file);
    rmdir(folder);
}

static tlsContext *contextOf(tlsRole role, bool with_certificate) {
    char err[TLS_ERR_LEN] = "";
    tlsOptions o = {.ca_file = cert_file, .peer = TLS_PEER_VERIFIED};
    if (with_certificate) o.cert_file = cert_file, o.key_file = key_file;
    tlsContext *t = tlsContextCreate(role, &o, err);
    CHECK_EQ_STR(err, "");
    return t;
}

static busSettings tlsSettingsOf(bool with_certificate) {
    busSettings settings = fakeSettings();
    settings.accept_tls = contextOf(TLS_SERVER, true);
    settings.connect_tls = contextOf(TLS_CLIENT, with_certificate);
    return settings;
}

static void dropSettings(busSettings *settings) {
    tlsContextRelease(settings->accept_tls);
    tlsContextRelease(settings->connect_tls);
}

TEST(bus_tls_nodes_exchange_frames) {
    makeCertificate();
    fakeNode a, b;
    busSettings settings = tlsSettingsOf(true);
    int before = openDescriptors();
    fakeStart(&a, &settings, false);
    fakeStart(&b, &settings, false);
    dropSettings(&settings); /* the buses have references of their own */
    fakeConnect(&a, 1, "127.0.0.1", b.port);
    fakeWait(&a, CLUSTER_LINK_UP, 1);
    fakeWait(&b, CLUSTER_ACCEPTED, 1);
    fakeSend(&a, 1, pingFrame(BUS_MEET));
    CHECK_EQ_INT(fakeWait(&b, CLUSTER_FRAME, 1).type, BUS_MEET);
    CHECK_EQ_INT(fakeWait(&a, CLUSTER_FRAME, 1).type, BUS_PONG);
    for (int i = 0; i < 20; i++) { /* more than the sockets take at once */
        fakeSend(&a, 1, publishFrame(900000, 'x'));
        fakeSend(&a, 1, pingFrame(BUS_PING));
        if (fakeWait(&b, CLUSTER_FRAME, 1 + 2 * ((size_t)i + 1)).kind != CLUSTER_FRAME) break;
    }
    CHECK(fakeWaitCounter(&busCounters(b.bus)->received[BUS_PUBLISH], 20));
    CHECK(fakeWaitCounter(&busCounters(a.bus)->received[BUS_PONG], 21));
    fakeClose(&a, 1);
    fakeWait(&b, CLUSTER_LINK_DOWN, 1);
    fakeStop(&a);
    fakeStop(&b);
    CHECK_EQ_INT(openDescriptors(), before);
    removeCertificate();
}

TEST(bus_tls_connections_are_closed_in_each_state) {
    makeCertificate();
    int before = openDescriptors();
    fakeNode n;
    busSettings settings = tlsSettingsOf(true);
    settings.node_timeout_ms = 1000;
    fakeStart(&n, &settings, false);
    int port, listener = peerListen(&port); /* never answers */
    fakeConnect(&n, 1, "127.0.0.1", port);
    fakeConnect(&n, 2, "127.0.0.1", port);
    int one = accept(listener, NULL, NULL), two = accept(listener, NULL, NULL);
    char byte;
    CHECK_EQ_INT(recv(two, &byte, 1, 0), 1); /* the handshake has begun */
    fakeClose(&n, 2);
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 1).link, 1); /* not made in time */
    int silent = peerConnect(n.port), garbage = peerConnect(n.port), cut = peerConnect(n.port);
    peerWrite(garbage, "GET / HTTP/1.1\r\n\r\n", 18);
    close(cut);
    uint64_t start_ms = clockMonotonicMs();
    while (!peerIsClosed(garbage)) continue;
    while (!peerIsClosed(silent)) busMainRuns(n.bus);
    CHECK(clockMonotonicMs() - start_ms >= 900);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_ACCEPTED), 0);
    close(silent), close(garbage), close(one), close(two), close(listener);
    silent = peerConnect(n.port); /* in its handshake when the bus ends */
    usleep(50000);
    fakeStop(&n);
    dropSettings(&settings);
    close(silent);
    CHECK_EQ_INT(openDescriptors(), before);
    removeCertificate();
}

TEST(bus_tls_demands_a_certificate) {
    makeCertificate();
    fakeNode a, b;
    busSettings without = tlsSettingsOf(false), with = tlsSettingsOf(true);
    fakeStart(&a, &without, false);
    fakeStart(&b, &with, false);
    fakeConnect(&a, 1, "127.0.0.1", b.port);
    CHECK_EQ_INT(fakeWait(&a, CLUSTER_LINK_DOWN, 1).link, 1);
    CHECK_EQ_INT(fakeCount(&b, CLUSTER_ACCEPTED), 0);
    busConfigure(a.bus, &with); /* a certificate is set at run time */
    fakeConnect(&a, 2, "127.0.0.1", b.port);
    CHECK(fakeWait(&b, CLUSTER_ACCEPTED, 1).link > CLUSTER_LINK_ACCEPTED);
    fakeStop(&a);
    fakeStop(&b);
    dropSettings(&without);
    dropSettings(&with);
    removeCertificate();
}
