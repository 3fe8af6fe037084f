/* What a store's backend implements. Only for the files of this folder. */
#ifndef CAIRN_STORE_BACKEND_H
#define CAIRN_STORE_BACKEND_H

#include "store/store.h"

/** The calls of store.h, with the same contracts. Each backend's structs begin with the three below. */
struct cairn_store_backend {
	bool has_packs; /* it is struct store_fs */
	void (*free)(struct cairn_store *s);
	enum cairn_status (*put_begin)(struct cairn_store *s, struct cairn_store_put **out);
	enum cairn_status (*put_write)(struct cairn_store_put *p, const uint8_t *bytes, size_t len);
	/* Does not free p; abort does, in any case. */
	enum cairn_status (*put_commit)(struct cairn_store_put *p, const struct cairn_hash *hash, bool *existed);
	void (*put_abort)(struct cairn_store_put *p);
	enum cairn_status (*get)(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_store_object **out);
	enum cairn_status (*object_read)(struct cairn_store_object *o, uint64_t offset, uint8_t *out, size_t len);
	void (*object_free)(struct cairn_store_object *o);
	enum cairn_status (*stat)(struct cairn_store *s, const struct cairn_hash *hash, uint64_t *bytes);
	enum cairn_status (*remove)(struct cairn_store *s, const struct cairn_hash *hash);
	enum cairn_status (*set_aside)(struct cairn_store *s, const struct cairn_hash *hash);
	enum cairn_status (*each)(struct cairn_store *s,
				  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes),
				  void *ctx);
	uint64_t (*free_bytes)(struct cairn_store *s);
};

struct cairn_store {
	const struct cairn_store_backend *backend;
};

struct cairn_store_put {
	struct cairn_store *store;
	enum cairn_status failed; /* sticky: the first failure of a write; such a put cannot be committed */
};

struct cairn_store_object {
	const struct cairn_store_backend *backend; /* not the store: an object may outlive it */
	uint64_t bytes;
	uint64_t fd_offset; /* of its first byte in the file */
	int fd;             /* -1: none to send from */
};

#endif
