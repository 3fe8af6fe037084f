/* A long file on its way: blocks of it come into a spool in any order, and are taken into the store from the front on,
 * while clients read. For the files of this room. */
#ifndef CAIRN_MIRROR_STREAM_H
#define CAIRN_MIRROR_STREAM_H

#include "hub/ingest.h"
#include "mirror/blocks.h"
#include "mirror/parts.h"

enum {
	MIRROR_BLOCK_TRIES = 6,      /* after the first one */
	MIRROR_BLOCK_AGAIN_MS = 500, /* before a block is tried again; doubles */
	MIRROR_SILENCE_S = 60,
	MIRROR_BLOCKS_OF_ALL = 32,   /* asked for at once, of all files */
	MIRROR_HELD_BACK = 64 << 10, /* of a file's end, until it is proved */
	MIRROR_FOOTER_MAX = 1 << 20, /* of a range at a file's end, of which nothing is held back */
};

/** A block of a file, and the call for it. */
struct mirror_slot {
	struct mirror_call call; /* first */
	struct mirror_stream *s;
	unsigned number;   /* in blocks.asked; set for good */
	bool used, asking; /* used: has a block; asking: the call is under way, and net's thread has it */
	unsigned tries;    /* that failed, without as much as MIRROR_BLOCK_BYTES_MIN between them */
	uint64_t begin_at; /* where the call began */
	int64_t not_before_ms;
	/* Of the call: */
	struct mirror_hop hop;
	unsigned n_hops;
	bool known_hop; /* it went to the stream's hop at once */
	bool fits;      /* its Content-Range was compared */
	bool is_wrong;
};

/** Counted: the fetch, each reader, each call and the work have a reference. */
struct mirror_stream {
	struct cairn_work work; /* first: takes the front into the store */
	struct cairn_mirror *m;
	struct cairn_mirror_want what;
	char path[MIRROR_ADDRESS_BYTES];
	int fd;                      /* of the spool */
	struct cairn_hub_ingest *in; /* the work's */

	/* The mirror's lock guards the rest. */
	unsigned n_refs;
	struct mirror_stream *next;
	struct mirror_fetch *f; /* NULL: it has ended */
	bool has_begun;         /* bytes have come */
	bool works;             /* the work was submitted */
	bool is_here;
	enum cairn_status status; /* with diag: why it failed */
	struct cairn_diag diag;
	struct mirror_blocks blocks;
	struct mirror_slot slots[MIRROR_BLOCKS_AT_ONCE];
	struct mirror_hop hop; /* where the last redirects led; url "": to the path itself */
	uint64_t block_bytes;  /* of the next block */
	uint64_t front;        /* bytes before it are in the store */
	uint64_t kept;         /* bytes before it are no longer in the spool */
	uint64_t asked_bytes;  /* of all blocks so far */
	struct cairn_mirror_reader *readers;
};

/** Is a stream under way, and has not failed? Under the lock. */
static inline bool mirror_stream_goes(const struct mirror_stream *s)
{
	return s->f != NULL;
}

/** Returns the length of the spools. Under the lock. */
uint64_t mirror_spool_bytes(const struct cairn_mirror *m);

/** Makes the stream of a fetch, with one reference. Opens its spool. On a worker.
 * @param run  takes the front into the store @return as cairn_spool_new(); CAIRN_E_BUSY (mirror.stopped) */
CAIRN_MUST_USE enum cairn_status mirror_stream_new(struct mirror_stream **out, struct mirror_fetch *f,
						   void (*run)(struct cairn_work *work), struct cairn_diag *diag);
/** Finds the stream of a content, with a new reference. Under the lock. @return NULL: there is none */
struct mirror_stream *mirror_stream_find(struct cairn_mirror *m, int64_t repo, int64_t content);
/** Gives a reference back. Without the lock. */
void mirror_stream_drop(struct mirror_stream *s);

/** Submits the work, if there is some. Without the lock. */
void mirror_stream_feed(struct mirror_stream *s);
/** Tells those who want the file that its first bytes have come. Once. Without the lock. */
void mirror_stream_begun(struct mirror_stream *s);
/** Ends the stream: the file is here, or has failed. Later calls do nothing. Without the lock. */
void mirror_stream_end(struct mirror_stream *s, enum cairn_status status, const struct cairn_diag *diag);
/** Wakes readers. @param all  also those whose bytes have not come. Without the lock. */
void mirror_stream_wake(struct mirror_stream *s, bool all);

/** Begins a fetch of a long file, whose path is set. */
void mirror_stream_begin(struct mirror_fetch *f);
/** Begins to receive a file of the store, which belongs to the mirrored repository of a want.
 * @return as cairn_hub_lfs_receive(); CAIRN_E_USAGE (xorbs.external) */
CAIRN_MUST_USE enum cairn_status mirror_receive(const struct cairn_mirror *m, const struct cairn_mirror_want *what,
						const uint8_t sha256[static CAIRN_SHA256_BYTES],
						struct cairn_hub_ingest **out, struct cairn_diag *diag);
/** Asks for blocks, of all streams, as far as the limits let it. Without the lock. */
void mirror_ask_blocks(struct cairn_mirror *m);
/** Does what is due. On net's thread. */
void mirror_streams_tick(struct cairn_mirror *m);
/** Ends all streams. After net was stopped. */
void mirror_streams_stop(struct cairn_mirror *m);

/** A reader, of which stream.c knows this. */
struct cairn_mirror_reader {
	struct mirror_stream *s;
	struct cairn_mirror_reader *next;
	uint64_t at, end;
	bool holds_back;         /* the last bytes come when the file is proved */
	bool has_read;           /* at least once */
	int64_t waits_until_ms;  /* it is woken although only a few bytes have come; 0: none have */
	void (*wake)(void *ctx); /* NULL: does not wait */
	void *ctx;
	struct cairn_file_reader *stored; /* owned; once the file is here */
};

/** Returns how many bytes a reader may have now. Under the lock. */
uint64_t mirror_reader_has(const struct cairn_mirror_reader *r);

#endif
