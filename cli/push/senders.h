/* Uploads xorbs on several threads while the next xorb is being compressed. */
#ifndef CAIRN_CLI_SENDERS_H
#define CAIRN_CLI_SENDERS_H

#include "cli/common/client.h"
#include "cli/push/watch.h"
#include "xorb/writer.h"

enum { SENDERS_MAX = 16, SENDERS_DEFAULT = 4 };

/** The senders of a push. senders_take() and senders_send() are for one thread, the other calls for any thread. There
 * are at most n + 1 buffers, of 64 MiB each. */
struct senders;

/** Makes the senders. @param like  a client of the server, borrowed: each thread gets one like it @param n  most
 * threads, 1 to SENDERS_MAX; each is started when there is work for it @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status senders_new(struct senders **out, const struct client *like, unsigned n);

/** Sets the watch that is called while senders_end() waits. */
void senders_watch(struct senders *s, const struct watch *watch);

/** Waits for running uploads and drops queued ones. For CLEANUP(). */
void senders_freep(struct senders **out);

/** Lends an empty writer until senders_send(); waits for a free one. @return NULL: no memory, or senders_failure() */
struct cairn_xorb_writer *senders_take(struct senders *s);

/** Sends a writer's content under this name, unless the server has it, and takes the writer back. @param raw_bytes  its
 * length before compression @return CAIRN_OK; CAIRN_E_NOMEM; an earlier failure */
CAIRN_MUST_USE enum cairn_status senders_send(struct senders *s, struct cairn_xorb_writer *writer,
					      const struct cairn_hash *xorb, uint64_t raw_bytes,
					      struct cairn_diag *diag);

/** Waits until all xorbs are sent. @return CAIRN_OK; CAIRN_E_NOMEM; as client_request(): the first failure */
CAIRN_MUST_USE enum cairn_status senders_end(struct senders *s, struct cairn_diag *diag);

/** Returns the first failure so far. @return CAIRN_OK; as senders_end() */
CAIRN_MUST_USE enum cairn_status senders_failure(struct senders *s, struct cairn_diag *diag);

/** Sums over the xorbs that the server has so far. */
struct senders_sums {
	uint64_t bytes, xorbs; /* bytes and xorbs that were sent */
	uint64_t raw_bytes;    /* raw bytes of all xorbs that the server has now */
	/* Bytes sent for xorbs that the server has not confirmed yet, and their raw bytes. Bytes that the kernel may
	 * still have are not counted. */
	uint64_t out_bytes, out_raw_bytes;
};
struct senders_sums senders_sums(struct senders *s);

#endif
