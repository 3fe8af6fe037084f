/* Replies with a file's bytes or headers: whole or a range, from the store or from memory. */
#ifndef CAIRN_SERVER_HUB_BYTES_H
#define CAIRN_SERVER_HUB_BYTES_H

#include "server/ask/hub_repo.h"
#include "server/hub/hub_stream.h"

enum {
	HUB_ETAG_BYTES = 68,    /* room for 64 digits in quotes */
	HUB_REFRESH_BYTES = 64, /* room for "/xet-read-token/COMMIT" */
};

/** State of a route that sends a file: the first member of a larger state. */
struct hub_bytes {
	struct hub_repo repo;
	bool head, info; /* the request needs no bytes: a HEAD, or one for headers only */
	bool has_range;
	struct cairn_byte_range range;
	const char *if_none_match, *if_range; /* borrowed; if_range: ETag of the range's version; NULL: none */
	/* run() sets: */
	char path[CAIRN_INDEX_PATH_MAX + 1];
	uint64_t size_bytes;
	const char *type;                 /* media type */
	char etag[HUB_ETAG_BYTES];        /* the ETag, in quotes */
	char hash[CAIRN_HASH_TEXT_BYTES]; /* with which clients read the file from the store; "": they cannot */
	char refresh[HUB_REFRESH_BYTES];  /* appended to the repository's address: where clients get tokens */
	bool for_good;                    /* the file at this address never changes, so caches may keep it */
	/* If hub_bytes_wanted(), run() also sets kept or open: */
	uint8_t *kept; /* the whole file; NULL if the range starts past the end; owned */
	/* Opens the reader, which uses the disk, and sets the call's status. Called on a worker. CAIRN_E_LIMIT: the
	 * range starts past the end. */
	void (*open)(struct hub_bytes *b);
	struct cairn_file_reader *reader; /* owned */
	struct hub_stream *stream;        /* owned; replaces the reader while the file is being fetched */
	struct cairn_file_extent extent;  /* the part that kept, reader or stream has */
};

/** Makes this state, as hub_repo_new() does. The route uses route_job_ask(), because run() only reads a few rows. */
void *hub_bytes_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		    void (*run)(struct hub_call *call));
/** Frees a state that is only a struct hub_bytes. */
void hub_bytes_free(void *state);

/** Must the bytes be sent? Call when size and etag are known. */
bool hub_bytes_wanted(struct hub_bytes *b);

/** Sends bytes from memory. @param bytes  the whole file; taken over */
void hub_bytes_keep(struct hub_bytes *b, uint8_t *bytes);

#endif
