/* Xorbs on their way: threads that send what was compressed, while the next one is. */
#ifndef CAIRN_CLI_SENDERS_H
#define CAIRN_CLI_SENDERS_H

#include "cli/common/client.h"
#include "cli/push/watch.h"
#include "xorb/writer.h"

enum { SENDERS_MAX = 16, SENDERS_DEFAULT = 4 };

/** senders_take() and senders_send() are one thread's; the others any thread's. Compresses and sends in at most n + 1
 * buffers of 64 MiB. */
struct senders;

/** @param like  a client of the server, borrowed: each thread gets one like it
 *  @param n  threads at most, 1 to SENDERS_MAX; each is started when there is work for it
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status senders_new(struct senders **out, const struct client *like, unsigned n);

/** Who looks on while senders_end() waits. */
void senders_watch(struct senders *s, const struct watch *watch);

/** Waits for what is being sent; what is not yet is dropped. For CLEANUP(). */
void senders_freep(struct senders **out);

/** An empty writer, lent until senders_send(): waits until one is free. @return NULL: without memory, or something
 *  failed; senders_failure() says what */
struct cairn_xorb_writer *senders_take(struct senders *s);

/** Have what a writer holds sent under this name, unless the server has it; the writer goes back.
 *  @param raw_bytes  what it was before it was compressed
 *  @return CAIRN_OK; CAIRN_E_NOMEM; how an earlier one failed */
CAIRN_MUST_USE enum cairn_status senders_send(struct senders *s, struct cairn_xorb_writer *writer,
					      const struct cairn_hash *xorb, uint64_t raw_bytes,
					      struct cairn_diag *diag);

/** Wait until all is sent. @return CAIRN_OK; CAIRN_E_NOMEM; as client_request(): the first failure */
CAIRN_MUST_USE enum cairn_status senders_end(struct senders *s, struct cairn_diag *diag);

/** What has failed so far. @return CAIRN_OK; as senders_end() */
CAIRN_MUST_USE enum cairn_status senders_failure(struct senders *s, struct cairn_diag *diag);

/** What the server has taken so far. */
struct senders_sums {
	uint64_t bytes, xorbs; /* of those that were sent */
	uint64_t raw_bytes;    /* of all that it has now */
	/* What has left this machine of those that it has not taken yet, and the raw bytes that this is: less than what
	 * was handed to the kernel, which may hold the last of it. */
	uint64_t out_bytes, out_raw_bytes;
};
struct senders_sums senders_sums(struct senders *s);

#endif
