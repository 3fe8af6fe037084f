/* Replying a file's bytes, or what its headers say of it: whole or a range, from the store or from memory. */
#ifndef CAIRN_SERVER_HUB_BYTES_H
#define CAIRN_SERVER_HUB_BYTES_H

#include "server/hub/hub_repo.h"

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
	const char *if_none_match, *if_range; /* the request's; if_range: NULL or the ETag that the range is of */
	/* What run() finds of the file: */
	char path[CAIRN_INDEX_PATH_MAX + 1];
	uint64_t size_bytes;
	const char *type;                 /* media type */
	char etag[HUB_ETAG_BYTES];        /* with its quotes */
	char hash[CAIRN_HASH_TEXT_BYTES]; /* by which clients get it from the store; "": they do not */
	char refresh[HUB_REFRESH_BYTES];  /* behind the repository's address: where they get tokens for that */
	bool for_good;                    /* under this address it will never be another */
	/* And, where hub_bytes_wanted(), one of the two: */
	uint8_t *kept; /* all of it, or none when the range starts past the end; owned */
	/* Called on a worker, opens the reader, which takes the disk, and sets the call's status; CAIRN_E_LIMIT: the
	 * range starts past the end. */
	void (*open)(struct hub_bytes *b);
	struct cairn_file_reader *reader; /* owned */
	struct cairn_file_extent extent;  /* of either */
};

/** Make such a state, as hub_repo_new(), for route_job_look(): run() reads a few rows of the index. */
void *hub_bytes_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		    void (*run)(struct hub_call *call));
/** For routes whose state is this alone. */
void hub_bytes_free(void *state);

/** Are its bytes to be sent, now that size and etag are known? */
bool hub_bytes_wanted(struct hub_bytes *b);

/** Send these. @param bytes  all of the file; taken over */
void hub_bytes_keep(struct hub_bytes *b, uint8_t *bytes);

#endif
