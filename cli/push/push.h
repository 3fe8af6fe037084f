/* The engine of a push: asks for known chunks, compresses and sends new ones, and registers the files. */
#ifndef CAIRN_CLI_PUSH_H
#define CAIRN_CLI_PUSH_H

#include "cli/common/progress.h"
#include "cli/common/server_options.h"
#include "cli/push/ahead.h"
#include "cli/push/compressor.h"
#include "cli/push/senders.h"
#include "dedupe/placer.h"

#include <pthread.h>

/** Zeroed except for the fields that push_init() sets. Owned by one thread. */
struct push {
	struct client *client;
	struct cairn_placer placer; /* its files are the pushed files, in order */
	pthread_mutex_t lock;       /* guards the known chunks, which the threads of ahead look up */
	struct ahead *ahead;        /* questions in advance; NULL: none */
	struct senders *senders;
	struct compressor *compressor;  /* compresses into the writers of the senders */
	struct cairn_buf answer;        /* body of the current request */
	struct cairn_buf dedupe_answer; /* the last answer, which may be large */
	struct progress progress;       /* begun by the caller */
	bool broken;                    /* the server or memory failed: push no more files */
	uint64_t read_bytes, new_bytes; /* bytes read, and new bytes to send */
	uint64_t queries, hits, shards_sent, shards_new;
};

/** Initialises a push. @param dedupe  ask the server for known chunks */
void push_init(struct push *p, bool dedupe);

/** Ends the push, and clears the progress bar. */
void push_fini(struct push *p);

/** Opens the connections. @param jobs  xorbs that may be sent at the same time: 1 to SENDERS_MAX. @return as
 * server_options_open(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_open(struct push *p, const struct server_options *server, unsigned jobs,
					   struct cairn_diag *diag);

/** Announces the files by index. If dedupe is on, threads ask about their first chunks in advance, several at a time.
 * @param open_file  as ahead_push.open, with ctx. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_ask_ahead(struct push *p, size_t n, int (*open_file)(void *ctx, size_t file),
						void *ctx);

/** Marks the announced file that comes next. Harmless without push_ask_ahead(). */
void push_next(struct push *p, size_t file);

/** Returns the number of questions about chunks so far. */
uint64_t push_queries(const struct push *p);

/** Reads a file and sends its new chunks; push_end() registers the file. @param path  "-": standard input @return as
 * scan_file(). If p->broken is set, the server or memory failed. Else only this file failed, and others may follow */
CAIRN_MUST_USE enum cairn_status push_file(struct push *p, const char *path, struct cairn_diag *diag);

/** Does what push_file() does, for an open file. @param fd  closed, even after a failure @return as push_file() */
CAIRN_MUST_USE enum cairn_status push_fd(struct push *p, int fd, struct cairn_diag *diag);

/** Sends the last xorb and the shards. @return as client_request(), cairn_shards_write() */
CAIRN_MUST_USE enum cairn_status push_end(struct push *p, struct cairn_diag *diag);

/** Returns how many bytes of bodies, and how many xorbs, the server accepted. */
uint64_t push_sent_bytes(const struct push *p);
uint64_t push_sent_xorbs(const struct push *p);

#endif
