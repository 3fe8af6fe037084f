/* Xorbs on their way: threads that send what was packed, while the next one is packed. */
#ifndef CAIRN_CLI_SENDERS_H
#define CAIRN_CLI_SENDERS_H

#include "cli/common/client.h"
#include "xorb/writer.h"

enum { SENDERS_MAX = 16, SENDERS_DEFAULT = 4 };

/** senders_take() and senders_send() are one thread's; the others any thread's. Packs and sends in at most n + 1
 * buffers of 64 MiB. */
struct senders;

/** @param like  a client of the server, borrowed: each thread gets one like it
 *  @param n  threads at most, 1 to SENDERS_MAX; each is started when there is work for it
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status senders_new(struct senders **out, const struct client *like, unsigned n);

/** Waits for what is being sent; what is not yet is dropped. For CLEANUP(). */
void senders_freep(struct senders **out);

/** An empty writer, lent until senders_send(): waits until one is free. @return NULL: without memory, or something
 *  failed; senders_end() says what */
struct cairn_xorb_writer *senders_take(struct senders *s);

/** Have what a writer holds sent under this name, unless the server has it; the writer goes back.
 *  @return CAIRN_OK; CAIRN_E_NOMEM; how an earlier one failed */
CAIRN_MUST_USE enum cairn_status senders_send(struct senders *s, struct cairn_xorb_writer *writer,
					      const struct cairn_hash *xorb, struct cairn_diag *diag);

/** Wait until all is sent. @return CAIRN_OK; CAIRN_E_NOMEM; as client_request(): the first failure */
CAIRN_MUST_USE enum cairn_status senders_end(struct senders *s, struct cairn_diag *diag);

/** What the server has taken so far. */
struct senders_sums {
	uint64_t bytes, xorbs;
};
struct senders_sums senders_sums(struct senders *s);

#endif
