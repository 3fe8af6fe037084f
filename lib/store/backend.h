/* The interface that a store's backend implements. Only for the files of this folder. */
#ifndef CAIRN_STORE_BACKEND_H
#define CAIRN_STORE_BACKEND_H

#include "store/pack.h"
#include "store/store.h"

/** The calls of pack.h, with the same contracts, for a store that can have packs. The caller has checked the names. */
struct cairn_store_pack_tier {
	enum cairn_status (*check)(struct cairn_store *s, void (*visit)(void *ctx, const struct cairn_store_pack *pack),
				   void *ctx);
	enum cairn_status (*each)(struct cairn_store *s, void (*visit)(void *ctx, const struct cairn_store_pack *pack),
				  void *ctx);
	enum cairn_status (*tidy)(struct cairn_store *s);
	enum cairn_status (*packing_begin)(struct cairn_store *s, const char *name, struct cairn_store_packing **out,
					   struct cairn_diag *diag);
	bool (*packing_wants)(const struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes);
	enum cairn_status (*packing_add)(struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes,
					 bool *added);
	enum cairn_status (*packing_commit)(struct cairn_store_packing *p, struct cairn_diag *diag);
	enum cairn_status (*packing_each)(struct cairn_store_packing *p,
					  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								     uint64_t bytes),
					  void *ctx);
	enum cairn_status (*packing_drop)(struct cairn_store_packing *p, const struct cairn_hash *hash);
	void (*packing_free)(struct cairn_store_packing *p);
};

/** The calls of store.h, with the same contracts. Each backend's structs begin with those below. */
struct cairn_store_backend {
	const struct cairn_store_pack_tier *packs; /* NULL: no packs */
	bool remote;                               /* cairn_store_is_remote() */
	void (*free)(struct cairn_store *s);
	enum cairn_status (*put_begin)(struct cairn_store *s, struct cairn_store_put **out);
	enum cairn_status (*put_write)(struct cairn_store_put *p, const uint8_t *bytes, size_t len);
	/* Does not free p; the caller always calls abort after it. */
	enum cairn_status (*put_commit)(struct cairn_store_put *p, const struct cairn_hash *hash, bool *existed);
	/* See cairn_store_put_copy(). NULL: the store names no copies; the other calls for named copies are NULL,
	 * too. */
	enum cairn_status (*put_copy)(struct cairn_store_put *p, const struct cairn_hash *hash,
				      struct cairn_copy_id *copy);
	enum cairn_status (*get_named)(struct cairn_store *s, const struct cairn_hash *hash,
				       const struct cairn_copy_id *copy, struct cairn_store_object **out);
	enum cairn_status (*remove_copy)(struct cairn_store *s, const struct cairn_hash *hash,
					 const struct cairn_copy_id *copy, struct cairn_diag *diag);
	enum cairn_status (*each_copy)(struct cairn_store *s, const struct cairn_hash *from,
				       enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								  const struct cairn_copy_id *copy),
				       void *ctx);
	void (*put_abort)(struct cairn_store_put *p);
	enum cairn_status (*get)(struct cairn_store *s, const struct cairn_hash *hash, unsigned n,
				 struct cairn_store_object **out);
	enum cairn_status (*object_read)(struct cairn_store_object *o, uint64_t offset, uint8_t *out, size_t len);
	/* NULL: an open object can always be read. */
	enum cairn_status (*object_prepare)(struct cairn_store_object *o, uint64_t offset, uint64_t len);
	void (*object_free)(struct cairn_store_object *o);
	enum cairn_status (*stat)(struct cairn_store *s, const struct cairn_hash *hash, uint64_t *bytes);
	/* NULL: stat() is always current. */
	enum cairn_status (*unchanged)(struct cairn_store *s, const struct cairn_hash *hash,
				       const struct cairn_copy_id *copy, uint64_t bytes, bool *unchanged);
	enum cairn_status (*confirm)(struct cairn_store *s, const struct cairn_hash *hash, unsigned n);
	enum cairn_status (*remove)(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_diag *diag);
	enum cairn_status (*set_aside)(struct cairn_store *s, const struct cairn_hash *hash);
	enum cairn_status (*each)(struct cairn_store *s,
				  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes),
				  void *ctx);
	void (*room)(struct cairn_store *s, struct cairn_store_room *out);
	void (*traffic)(struct cairn_store *s, struct cairn_store_traffic *out); /* NULL: no service */
	enum cairn_status (*add_address)(struct cairn_store *s, struct cairn_buf *out, const struct cairn_hash *hash,
					 const struct cairn_copy_id *copy, uint64_t bytes, uint64_t first,
					 uint64_t last, uint64_t life_s);            /* NULL: no addresses */
	enum cairn_status (*ready)(struct cairn_store *s, struct cairn_diag *diag);  /* NULL: always */
	enum cairn_status (*reload)(struct cairn_store *s, struct cairn_diag *diag); /* NULL: no credentials */
};

struct cairn_store {
	const struct cairn_store_backend *backend;
};

struct cairn_store_put {
	struct cairn_store *store;
	enum cairn_status failed; /* sticky: the first failure of a write; such a put cannot be committed */
};

struct cairn_store_packing {
	const struct cairn_store_pack_tier *tier;
};

struct cairn_store_object {
	const struct cairn_store_backend *backend; /* not the store, because an object may outlive it */
	uint64_t bytes;
	uint64_t identity;
	struct cairn_copy_id copy;
	uint64_t fd_offset; /* of the object's first byte in the file */
	int fd;             /* -1: no file to send from */
};

/** Mixes words that distinguish an object's bytes into its identity. Each step is reversible, so lists that differ in
 * one word never give the same number. */
static inline uint64_t store_identity(const uint64_t *words, size_t n)
{
	uint64_t mixed = 0;
	for (size_t i = 0; i < n; i++) {
		mixed = (mixed ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		mixed ^= mixed >> 32;
	}
	return mixed;
}

/** Each backend opens its kind of store from the URL without scheme and colon. @return as cairn_store_open() */
enum cairn_status store_fs_open(struct cairn_store **out, const char *dir, const struct cairn_store_options *options,
				struct cairn_diag *diag);
enum cairn_status store_mem_open(struct cairn_store **out, const char *rest, const struct cairn_store_options *options,
				 struct cairn_diag *diag);
enum cairn_status store_s3_open(struct cairn_store **out, const char *rest, const struct cairn_store_options *options,
				struct cairn_diag *diag);

/** See cairn_store_reach(). */
enum cairn_status store_s3_reach(const char *rest, const char *credentials, struct cairn_store_reach *out,
				 struct cairn_diag *diag);

#endif
