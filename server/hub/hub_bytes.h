/* Replies with a file's bytes or headers: whole or a range, from the store or from memory. */
#ifndef CAIRN_SERVER_HUB_BYTES_H
#define CAIRN_SERVER_HUB_BYTES_H

#include "server/ask/hub_repo.h"
#include "server/hub/hub_stream.h"

enum {
	HUB_ETAG_BYTES = 68,    /* 64 digits in quotes */
	HUB_REFRESH_BYTES = 64, /* "/xet-read-token/COMMIT" */
};

/** First member of a route's state, which begins with a call. */
struct hub_bytes {
	struct hub_repo repo;
	bool head, info; /* no bytes are wanted */
	bool has_range;
	struct cairn_byte_range range;
	const char *if_none_match, *if_range; /* the request's; if_range: NULL, or the ETag that the range applies to */
	/* Set by run(): */
	char path[CAIRN_INDEX_PATH_MAX + 1];
	uint64_t size_bytes;
	const char *type;                 /* media type */
	char etag[HUB_ETAG_BYTES];        /* with its quotes */
	char hash[CAIRN_HASH_TEXT_BYTES]; /* for clients that read it from the store; "": they cannot */
	char refresh[HUB_REFRESH_BYTES];  /* after the repository's address: the URL for tokens */
	bool for_good;                    /* the file at this address never changes */
	/* If hub_bytes_wanted(), run() also sets kept or open: */
	uint8_t *kept; /* the whole file, or NULL if the range starts past the end; owned */
	/* Opens the reader, which uses the disk, and sets the call's status. Called on a worker. CAIRN_E_LIMIT: the
	 * range starts past the end. */
	void (*open)(struct hub_bytes *b);
	struct cairn_file_reader *reader; /* owned */
	struct hub_stream *stream;        /* owned; instead of a reader: the bytes are on their way */
	struct cairn_file_extent extent;  /* for kept, reader or stream */
};

/** Makes such a state, as hub_repo_new(), for route_job_ask(): run() only reads a few rows of the index. */
void *hub_bytes_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		    void (*run)(struct hub_call *call));
/** For routes whose state is a struct hub_bytes alone. */
void hub_bytes_free(void *state);

/** Must the bytes be sent? Call once size and etag are known. */
bool hub_bytes_wanted(struct hub_bytes *b);

/** Sends bytes from memory. @param bytes  the whole file; taken over */
void hub_bytes_keep(struct hub_bytes *b, uint8_t *bytes);

#endif
