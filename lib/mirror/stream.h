/* A stream fetches a long file: its blocks arrive in a spool in any order, and are taken into the store from the
 * beginning on, while clients read. If another daemon fetches the file, the stream follows: clients read the parts that
 * the other daemon makes. For the files of this room. */
#ifndef CAIRN_MIRROR_STREAM_H
#define CAIRN_MIRROR_STREAM_H

#include "cas/serve/file_reader.h"
#include "hub/ingest.h"
#include "index/daemon/lease.h"
#include "mirror/blocks.h"
#include "mirror/known.h"
#include "mirror/parts.h"

enum {
	MIRROR_BLOCK_TRIES = 6,      /* further tries of a block after the first */
	MIRROR_BLOCK_AGAIN_MS = 500, /* wait before the second try; doubles with each */
	MIRROR_SILENCE_S = 60,
	MIRROR_BLOCKS_OF_ALL = 32,   /* blocks requested at once, of all files together */
	MIRROR_HELD_BACK = 64 << 10, /* last bytes of a file, which readers get only when it is proved */
	MIRROR_FOOTER_MAX = 1 << 20, /* a range at a file's end up to this length is not held back */
	MIRROR_FOLLOW_MS = 250,      /* time between look-ups of another daemon's parts */
	MIRROR_TICK_MS = 1000,
};

/** A block of a file, and the call for it. */
struct mirror_slot {
	struct mirror_call call; /* first */
	struct mirror_stream *s;
	unsigned number;   /* index in blocks.asked; never changes */
	bool used, asking; /* used: has a block; asking: its call is in progress, on net's thread */
	unsigned tries;    /* failed tries since MIRROR_BLOCK_BYTES_MIN last arrived */
	uint64_t begin_at; /* offset at which the call began */
	int64_t not_before_ms;
	/* Of the call: */
	struct mirror_hop hop;
	unsigned n_hops;
	bool known_hop; /* the call began at the stream's hop, without a redirect */
	bool fits;      /* its Content-Range was compared */
	bool is_wrong;
	bool is_here;   /* the block is copied from a file in the store; there is no call */
	bool is_packed; /* the block is fetched as ranges of xorbs */
	int64_t began_ms;
	struct cairn_work work;
	struct mirror_pack *pack; /* used by the call and the work; see pack.c */
	void (*brought)(
		struct mirror_slot *slot); /* the block was copied or unpacked, or its rest must be fetched plain */
};

/** Reads the parts of a file in turn. Zeroed: none is open. */
struct mirror_part_reader {
	struct cairn_file_reader *file; /* owned; reads the open part */
	uint64_t at, end;               /* offsets in the file: of the next byte; of the part's end */
};

/** The fetch of a long file, with a count of references: the fetch, each reader, each call and the work have one. */
struct mirror_stream {
	struct cairn_work work; /* first: takes the front into the store */
	struct cairn_mirror *m;
	struct cairn_mirror_want what;
	char path[MIRROR_ADDRESS_BYTES];
	int fd;                         /* descriptor of the spool */
	struct cairn_hub_ingest *in;    /* used only by the work */
	struct mirror_part_reader old;  /* used only by the work: reads the parts of earlier fetches */
	uint64_t old_end;               /* end of those parts; does not change while the stream fetches */
	struct cairn_index_lease lease; /* lease of the file, under which the work writes; set like old_end */
	struct mirror_known known;      /* its header states which threads use it */

	/* The mirror's lock guards the members below. */
	unsigned n_refs;
	struct mirror_stream *next;
	struct mirror_fetch *f;       /* NULL: the stream has ended */
	bool has_begun;               /* bytes have arrived */
	bool works;                   /* the work was submitted, and has not ended */
	bool follows;                 /* the stream does not fetch (yet): its work looks up another daemon's parts */
	int64_t looked_ms, wanted_ms; /* while it follows: last look-up; when it last had a reader or a request */
	bool is_here;
	enum cairn_status status; /* with diag: why the stream failed */
	struct cairn_diag diag;
	struct mirror_blocks blocks;
	struct mirror_slot slots[MIRROR_BLOCKS_AT_ONCE];
	struct mirror_hop hop; /* where the last redirects led; url "": none, use path */
	uint64_t block_bytes;  /* length of the next block */
	uint64_t front;        /* bytes before it were taken into the store */
	uint64_t parts_end;    /* bytes before it are in parts */
	int64_t part_ms;       /* when the last part was made */
	bool takes_no_parts;
	uint64_t kept;        /* bytes before it were removed from the spool */
	uint64_t asked_bytes; /* length of all requested blocks */
	struct cairn_mirror_reader *readers;
};

/** Is a stream in progress? Not after it has succeeded or failed. Called with the lock. */
static inline bool mirror_stream_goes(const struct mirror_stream *s)
{
	return s->f != NULL;
}

/** Is a stream in progress that fetches? Called with the lock. */
static inline bool mirror_stream_fetches(const struct mirror_stream *s)
{
	return s->f != NULL && !s->follows;
}

/** Returns the end of the bytes in the store. It is past the front while the work still reads the parts of earlier
 * fetches. Called with the lock. */
static inline uint64_t mirror_stream_stored(const struct mirror_stream *s)
{
	return s->front > s->parts_end ? s->front : s->parts_end;
}

/** Returns how many bytes the spools of all streams have. Called with the lock. */
uint64_t mirror_spool_bytes(const struct cairn_mirror *m);

/** Makes the stream of a fetch, with a reference for it and one for the work, which the caller runs at once. Opens its
 * spool. The stream follows at first. On a worker.
 * @param run  the work, which calls mirror_follow(), or takes the front into the store @return as cairn_spool_new();
 * CAIRN_E_BUSY (mirror.stopped) */
CAIRN_MUST_USE enum cairn_status mirror_stream_new(struct mirror_stream **out, struct mirror_fetch *f,
						   void (*run)(struct cairn_work *work), struct cairn_diag *diag);
/** Finds the stream of a content, and takes a reference. Called with the lock. @return NULL: there is none */
struct mirror_stream *mirror_stream_find(struct cairn_mirror *m, int64_t repo, int64_t content);
/** Releases a reference. Without the lock. */
void mirror_stream_drop(struct mirror_stream *s);

/** Writes the next bytes of a block into the spool, and wakes readers and work that wait for them. Without the lock.
 * @return false: the stream has ended, or ends because of a failure */
bool mirror_stream_take(struct mirror_slot *slot, uint64_t at, const uint8_t *bytes, size_t len);
/** Writes bytes anywhere in a block into the spool. Without the lock. @return as mirror_stream_take() */
bool mirror_stream_write(struct mirror_slot *slot, uint64_t at, const uint8_t *bytes, size_t len);
/** Wakes readers and work after the next bytes of a block were written into the spool. Without the lock. */
void mirror_stream_came(struct mirror_slot *slot, uint64_t len);
/** Fetches ranges of xorbs and unpacks them into the spool; then calls slot->brought. If that fails, the block is not
 * whole, and is fetched plain. Without the lock. @return false: no memory, and slot->brought is not called */
bool mirror_pack_block(struct mirror_slot *slot);
/** Copies a block from another file into the spool, on a worker; then calls slot->brought. If the copy fails, the rest
 * of the block no longer counts as known, and will be fetched. Without the lock. @return false: too much work waits,
 * and slot->brought is not called */
bool mirror_copy_block(struct mirror_slot *slot);

/** Submits the work, if bytes at the front wait for it, or a look-up is due. Without the lock. */
void mirror_stream_feed(struct mirror_stream *s);
/** Ends the requests that wait for the first bytes of the file, which have arrived. Later calls do nothing. Without the
 * lock. */
void mirror_stream_begun(struct mirror_stream *s);
/** Ends the stream: the file is complete, or has failed. Later calls do nothing. Without the lock. */
void mirror_stream_end(struct mirror_stream *s, enum cairn_status status, const struct cairn_diag *diag);
/** Wakes readers. @param all  even those whose bytes have not arrived. Without the lock. */
void mirror_stream_wake(struct mirror_stream *s, bool all);

/** Begins the fetch of a long file, whose path is set. */
void mirror_stream_begin(struct mirror_fetch *f);
/** Reserves room for the missing bytes of a file, until its fetch ends. Small files, which may go into the index,
 * always fit.
 * @param f  read under the lock; NULL there: the fetch has ended, and reserves none  @param old_end  end of the parts
 *           of earlier fetches; 0: none  @return CAIRN_OK; CAIRN_E_FULL, mirror.room */
CAIRN_MUST_USE enum cairn_status mirror_room_promise(struct cairn_mirror *m, struct mirror_fetch *const *f,
						     const struct cairn_mirror_want *what, uint64_t old_end,
						     struct cairn_diag *diag);
/** May one more file be offered to uploaders? Takes the lock. */
bool mirror_room_offers(struct cairn_mirror *m);
/** Records that bytes of a file have arrived, so that the next measuring may count them. Called with the lock. */
void mirror_room_brought(struct mirror_fetch *f, uint64_t bytes);
/** Releases the room for bytes that did not arrive. Called with the lock. @param is_here  all bytes arrived */
void mirror_room_end(struct mirror_fetch *f, bool is_here);
/** Begins to receive a file into the store, for the mirrored repository of a request.
 * @return as cairn_hub_lfs_receive(); CAIRN_E_USAGE (xorbs.external) */
CAIRN_MUST_USE enum cairn_status mirror_receive(struct cairn_mirror *m, const struct cairn_mirror_want *what,
						const uint8_t sha256[static CAIRN_SHA256_BYTES],
						struct cairn_hub_ingest **out, struct cairn_diag *diag);
/** Requests blocks of all streams, up to the limits. Without the lock. */
void mirror_ask_blocks(struct cairn_mirror *m);
/** Ends streams for which no client waits while the upstream wants a pause. Resumes work, readers and blocks whose time
 * has come. On net's thread. @return milliseconds until the next call */
int mirror_streams_tick(struct cairn_mirror *m);
/** Ends all streams. Call it after mirror_net_stop(). */
void mirror_streams_stop(struct cairn_mirror *m);

/** Looks up another daemon's progress with a stream's file. Ends the stream if the file is complete, records its parts,
 * or lets the stream fetch if no daemon does. Only the work calls it. */
void mirror_follow(struct mirror_stream *s);
/** Ends a stream that follows and has had neither a reader nor a request for a while. Without the lock. */
void mirror_follow_end_if_left(struct mirror_stream *s);

/** Finds where the parts of earlier fetches end. On a worker. @param[out] end  0: there are none @return as every read
 * of the index */
CAIRN_MUST_USE enum cairn_status mirror_parts_find(struct cairn_mirror *m, const struct cairn_mirror_want *what,
						   uint64_t *end);
/** Should the bytes from the last part up to an offset become a part now? Called with the lock. */
bool mirror_part_is_due(const struct mirror_stream *s, uint64_t at);
/** Makes a part of the bytes taken since the last one. Only the work calls it. @return as cairn_hub_ingest_part(),
 * cairn_index_add_part() */
CAIRN_MUST_USE enum cairn_status mirror_part_make(struct mirror_stream *s, struct cairn_diag *diag);
/** Removes all parts of the stream's file. On a worker. */
void mirror_parts_drop(const struct mirror_stream *s);
/** Reads bytes of a part. On a worker.
 *  @return as cairn_file_reader_read(), with bytes; CAIRN_E_NOT_FOUND also: no part has this byte */
CAIRN_MUST_USE enum cairn_status mirror_part_read(const struct mirror_stream *s, struct mirror_part_reader *p,
						  uint64_t at, uint8_t *out, size_t max, size_t *n,
						  struct cairn_diag *diag);
void mirror_part_close(struct mirror_part_reader *p);

/** A client's reader. */
struct cairn_mirror_reader {
	struct mirror_stream *s;
	struct cairn_mirror_reader *next;
	uint64_t at, end;
	bool holds_back;         /* it gets the last bytes when the file is proved */
	bool has_read;           /* it has read at least once */
	bool waits_for_end;      /* its bytes are in parts that are gone: it is woken when the stream ends */
	int64_t waits_until_ms;  /* when it is woken even for a few bytes; 0: none have arrived */
	void (*wake)(void *ctx); /* NULL: it does not wait */
	void *ctx;
	struct mirror_part_reader part;
	struct cairn_file_reader *stored; /* owned; reads the file from the store, when it is complete */
};

/** Returns how many bytes a reader may have now. Called with the lock. */
uint64_t mirror_reader_has(const struct cairn_mirror_reader *r);

#endif
